"""Build and check a `Vocab` from file contents."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from renderers.errors import TokenizerFileError, TokenizerLoadError
from renderers.tokenizer.loading.files import FilesChangedError, TokenizerFiles, digest
from renderers.tokenizer.loading.model_files import ModelFiles, read_model_files
from renderers.tokenizer.loading.validate import check_tokenizer, find_isolating_tokens, is_byte_level
from renderers.tokenizer.loading.vocabulary import build_vocabulary
from renderers.tokenizer.tokenizer import TokenizerSource
from renderers.tokenizer.vocab import Vocab, shared_vocab


def build(files: TokenizerFiles, contents: Mapping[str, bytes]) -> Vocab:
    """Return the vocabulary of these file contents, building and checking it unless the process has it already.

    Raises:
        TokenizerLoadError: A file is damaged, or the files contradict each other.
    """

    def work() -> Vocab:
        beside = ", ".join(file for file in files.paths if file != files.vocabulary)
        with only_load_errors(name=files.name, file=beside):
            model_files = read_model_files(contents, name=files.name)
        with only_load_errors(name=files.name, file=files.vocabulary):
            return assemble(
                contents[files.vocabulary], model_files, file=files.vocabulary, name=files.name, digest=content_digest
            )

    content_digest = digest(contents)
    return shared_vocab(content_digest, build=work)


def source_of(files: TokenizerFiles, digest_of_contents: str) -> TokenizerSource:
    """Return the source of a tokenizer that is loaded from files."""
    return TokenizerSource(
        location=files.location,
        commit=files.commit,
        files=tuple(files.paths),
        missing=files.missing,
        digest=digest_of_contents,
    )


@contextlib.contextmanager
def only_load_errors(*, name: str, file: str) -> Iterator[None]:
    """Convert any error caused by a damaged file to a `TokenizerFileError`.

    A panic of the Rust library is converted too, although it is no `Exception`. `KeyboardInterrupt` and `MemoryError`
    are not converted.
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


def assemble(content: bytes, model_files: ModelFiles, *, file: str, name: str, digest: str) -> Vocab:
    """Build a `Vocab` from a vocabulary file and the other files of the model, and check that they agree."""
    vocabulary = build_vocabulary(content, file=file, model_files=model_files, name=name)
    tokenizer = vocabulary.tokenizer
    roles = {**vocabulary.special_tokens, **model_files.special_tokens}
    named = {*roles.values(), *model_files.extra_special_tokens}
    check_tokenizer(
        tokenizer,
        declared={**vocabulary.declared, **model_files.added_tokens},
        special_tokens=named,
        stop_token_ids=model_files.stop_token_ids or (),
        name=name,
        file=file,
    )
    added = tokenizer.get_added_tokens_decoder()
    special = {number for number, token in added.items() if token.special}
    special.update(number for text in named if (number := tokenizer.token_to_id(text)) is not None)
    return Vocab(
        digest=digest,
        backend=tokenizer,
        special_tokens_map=roles,
        added_tokens={token.content: number for number, token in added.items()},
        special_ids=frozenset(special),
        chat_templates=model_files.chat_templates,
        stop_token_ids=model_files.stop_token_ids,
        takes_images=model_files.takes_images,
        takes_audio=model_files.takes_audio,
        isolating_token_ids=find_isolating_tokens(tokenizer),
        byte_level=is_byte_level(tokenizer),
    )
