"""File contents to a checked `LoadedTokenizer`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from renderers.errors import TokenizerFileError, TokenizerLoadError
from renderers.tokenizer.check import check_tokenizer, find_walls, is_byte_level
from renderers.tokenizer.companions import Companions, read_companions
from renderers.tokenizer.files import FilesChangedError, TokenizerFiles, digest
from renderers.tokenizer.loaded import LoadedTokenizer
from renderers.tokenizer.shapes import Source
from renderers.tokenizer.vocabulary import build_vocabulary

__all__ = ["assemble", "build", "only_load_errors", "source_of"]


def build(files: TokenizerFiles, contents: Mapping[str, bytes]) -> LoadedTokenizer:
    """Builds and checks the tokenizer that these contents describe, or raises a `TokenizerLoadError`."""
    beside = ", ".join(file for file in files.paths if file != files.vocabulary)
    with only_load_errors(name=files.name, file=beside):
        companions = read_companions(contents, name=files.name)
    with only_load_errors(name=files.name, file=files.vocabulary):
        return assemble(
            contents[files.vocabulary],
            companions,
            file=files.vocabulary,
            name=files.name,
            source=source_of(files, digest(contents)),
        )


def source_of(files: TokenizerFiles, digest_of_contents: str) -> Source:
    """Returns where a tokenizer came from, by its files."""
    return Source(
        location=files.location,
        commit=files.commit,
        files=tuple(files.paths),
        missing=files.missing,
        digest=digest_of_contents,
    )


@contextlib.contextmanager
def only_load_errors(*, name: str, file: str) -> Iterator[None]:
    """Turns whatever a broken file sets off, in the Rust side or here, into a `TokenizerFileError`.

    A Rust panic is not an Exception, and is turned too; a Ctrl-C stays one, and so does running out of memory.
    """
    try:
        yield
    except (TokenizerLoadError, FilesChangedError, MemoryError):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise TokenizerFileError(
            f"cannot be understood ({type(error).__name__}: {error}). It may be damaged: download it again.",
            name=name,
            file=file,
        ) from error


def assemble(content: bytes, companions: Companions, *, file: str, name: str, source: Source) -> LoadedTokenizer:
    """Puts a vocabulary and its companions together, and checks that they agree."""
    vocabulary = build_vocabulary(content, file=file, companions=companions, name=name)
    tokenizer = vocabulary.tokenizer
    roles = {**vocabulary.special_tokens, **companions.special_tokens}
    named = {*roles.values(), *companions.extra_special_tokens}
    check_tokenizer(
        tokenizer,
        declared={**vocabulary.declared, **companions.added_tokens},
        special_tokens=named,
        stop_token_ids=companions.stop_token_ids or (),
        name=name,
        file=file,
    )
    added = tokenizer.get_added_tokens_decoder()
    special = {number for number, token in added.items() if token.special}
    special.update(number for text in named if (number := tokenizer.token_to_id(text)) is not None)
    return LoadedTokenizer(
        name_or_path=name,
        source=source,
        special_tokens_map=roles,
        added_tokens={token.content: number for number, token in added.items()},
        special_ids=frozenset(special),
        chat_templates=companions.chat_templates,
        stop_token_ids=companions.stop_token_ids,
        takes_images=companions.takes_images,
        takes_audio=companions.takes_audio,
        wall_ids=find_walls(tokenizer),
        byte_level=is_byte_level(tokenizer),
        _backend=tokenizer,
    )
