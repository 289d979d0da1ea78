"""`load_tokenizer`: load, build, check and cache tokenizers, from any number of threads."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from renderers.core.native import COMPILED
from renderers.core.options import BpeEngineName
from renderers.core.text import describe_type
from renderers.errors import TokenizerFileError, TokenizerLoadError
from renderers.tokenizer.engines.select import check_engine
from renderers.tokenizer.lazy_tokenizer import LazyTokenizer
from renderers.tokenizer.loading.files import FilesChangedError, TokenizerFiles, digest, only_load_errors, with_place
from renderers.tokenizer.loading.locate import locate
from renderers.tokenizer.loading.model_files import ModelFiles, read_model_files
from renderers.tokenizer.loading.single_flight import CACHED_TOKENIZERS, SingleFlight
from renderers.tokenizer.loading.validate import check_tokenizer, find_isolating_tokens, is_byte_level
from renderers.tokenizer.loading.vocabulary import build_vocabulary
from renderers.tokenizer.storage.container import DamagedFileError
from renderers.tokenizer.storage.store import log_damage
from renderers.tokenizer.stored import TOKENIZER, read_stored
from renderers.tokenizer.tokenizer import LoadedTokenizer, TokenizerSource
from renderers.tokenizer.vocab import Vocab, shared_vocab, vocab_from_stored, vocab_with_engine

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TOKENIZERS: SingleFlight[LoadedTokenizer] = SingleFlight(keep=CACHED_TOKENIZERS, weak=True)
"""By name, revision and engine: the same arguments give the same object."""

_VOCABS_BY_PATH: SingleFlight[Vocab] = SingleFlight(keep=0, weak=True)
"""By the path of the vocabulary file: files that did not change are not read again under another name."""

_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 0.0)
"""Seconds after each attempt, while the files are being written."""


def load_tokenizer(
    model_name_or_path: str | os.PathLike[str], *, revision: str | None = None, bpe_engine: BpeEngineName = "auto"
) -> LoadedTokenizer:
    """Load the tokenizer of a directory, a vocabulary file or a Hugging Face repository.

    Local paths take precedence over the Hugging Face cache, and the cache over the hub. No code of a repository is
    run. A tokenizer that cannot be built is an error: nothing else is loaded in its place.

    Tokenizers are cached. Files are read again only if they changed on disk. A tokenizer that is in use anywhere in
    the process is always found. Of those that are no longer in use, the latest 16 stay in memory, some 100 MB each.
    The environment variable `RENDERERS_CACHED_TOKENIZERS` sets another number. It is read once, at import.

    Args:
        model_name_or_path: A directory with a vocabulary file, a vocabulary file, or the name of a repository.
        revision: A branch, tag or commit of the repository. Without one, the commit pinned for it in
            `TRUSTED_REVISIONS`, else its main branch. A local path has no revisions.
        bpe_engine: The engine that encodes text for renderers. `"tokenizers"`: the library of Hugging Face. `"native"`:
            the engine in C, many times as fast, for which the vocabulary is compiled at the first text. `"auto"`: the
            engine in C, once enough text was encoded to repay the compilation, and if the C extension is installed.
            The ids are the same, which is tested for each vocabulary; `LoadedTokenizer.bpe_engine` shows the result.

    Raises:
        ModuleNotFoundError: The engine is not installed.
        TokenizerLoadError: An `OSError`. The message names the missing or damaged file and a remedy.

    >>> from renderers import EXAMPLE_MODEL
    >>> load_tokenizer(EXAMPLE_MODEL).eos_token
    '<|end|>'
    """
    for value, allowed in ((model_name_or_path, str | os.PathLike), (revision, str | None)):
        if not isinstance(value, allowed):
            raise TypeError(f"the name and the revision of a tokenizer must be strings, not {describe_type(value)}")
    name = os.fspath(model_name_or_path)
    check_engine(bpe_engine)
    for pause in _PAUSES:
        try:
            return _load(locate(name, revision), revision, bpe_engine)
        except FilesChangedError:
            time.sleep(pause)
        except TokenizerLoadError as error:
            raise with_place(error, name=name)  # noqa: B904 - it keeps the cause of the original
        except OSError as error:
            # No working directory, ...
            raise TokenizerFileError(f"cannot be read ({type(error).__name__}: {error}).", name=name) from error
    raise TokenizerFileError("keeps changing on disk. Wait until the download or copy is complete.", name=name)


def _load(files: TokenizerFiles, revision: str | None, bpe_engine: BpeEngineName) -> LoadedTokenizer:
    identity = files.identity()

    def read() -> Vocab:
        return build(files, files.read(as_of=identity))

    def make() -> LoadedTokenizer:
        vocab = _VOCABS_BY_PATH.get(files.paths[files.vocabulary], version=identity, work=read)
        vocab = vocab_with_engine(vocab, bpe_engine)
        source = TokenizerSource(files.location, files.commit, tuple(files.paths), files.missing, vocab.digest)
        return LoadedTokenizer(name_or_path=files.name, revision=revision, source=source, vocab=vocab)

    version = (identity, files.location, files.commit, tuple(files.missing.items()))
    return _TOKENIZERS.get((files.name, revision, bpe_engine), version=version, work=make)


def build(files: TokenizerFiles, contents: Mapping[str, bytes]) -> Vocab:
    """Return the vocabulary of these file contents, building and checking it unless the process has it already."""
    content_digest = digest(contents)

    def work() -> Vocab:
        stored = find_stored_vocab(content_digest, otherwise=partial(_build_again, files, content_digest))
        if stored is not None:
            return stored
        with only_load_errors(file=", ".join(file for file in files.paths if file != files.vocabulary)):
            model_files = read_model_files(contents)
        with only_load_errors(file=files.vocabulary):
            vocab = assemble(contents[files.vocabulary], model_files, file=files.vocabulary, digest=content_digest)
        return replace(vocab, is_storable=True)

    return shared_vocab(content_digest, build=work)


def find_stored_vocab(digest: str, *, otherwise: Callable[[], Tokenizer]) -> Vocab | None:
    """Return the vocabulary of these files from the cache folder, without building its tokenizer; None if not there.

    Its files were checked before it was written. `otherwise` builds the tokenizer if the file is damaged later.
    """
    # Without the C extension, its tokenizer is needed for the first text.
    content = read_stored(digest) if COMPILED else None
    if content is None:
        return None
    stored, container = content

    def build() -> Tokenizer:
        from tokenizers import Tokenizer

        try:
            serialized = bytes(container.section(TOKENIZER))
        except DamagedFileError as error:
            log_damage(digest, error)
            return otherwise()
        tokenizer = Tokenizer.from_buffer(serialized)
        release_freed_memory()
        return tokenizer

    return vocab_from_stored(digest, stored, LazyTokenizer(digest, build))


def _build_again(files: TokenizerFiles, due: str) -> Tokenizer:
    """Build the tokenizer of files that were loaded before. `TokenizerFileError` if they changed since."""
    try:
        contents = files.read(as_of=files.identity())
    except FilesChangedError:
        contents = {}
    if digest(contents) != due:
        raise TokenizerFileError("changed since it was loaded. Load it again.", name=files.name)
    with only_load_errors(file=files.vocabulary, name=files.name):
        return build_vocabulary(contents[files.vocabulary], files.vocabulary, read_model_files(contents)).tokenizer


def assemble(content: bytes, model_files: ModelFiles, *, file: str, digest: str) -> Vocab:
    """Build a `Vocab` from a vocabulary file and the other files of the model, and check that they agree."""
    vocabulary = build_vocabulary(content, file, model_files)
    release_freed_memory()
    tokenizer = vocabulary.tokenizer
    roles = {**vocabulary.special_tokens, **model_files.special_tokens}
    named = {*roles.values(), *model_files.extra_special_tokens}
    declared = {**vocabulary.declared, **model_files.added_tokens}
    check_tokenizer(tokenizer, declared, special_tokens=named, stop_token_ids=model_files.stop_token_ids or ())
    added = tokenizer.get_added_tokens_decoder()
    special = {number for number, token in added.items() if token.special}
    special.update(number for text in named if (number := tokenizer.token_to_id(text)) is not None)
    return Vocab(
        digest=digest,
        truth=LazyTokenizer(digest, lambda: tokenizer),
        special_tokens_map=roles,
        added_tokens={token.content: number for number, token in added.items()},
        special_ids=frozenset(special),
        chat_templates=model_files.chat_templates,
        stop_token_ids=model_files.stop_token_ids,
        takes_images=model_files.takes_images,
        takes_audio=model_files.takes_audio,
        isolating_token_ids=find_isolating_tokens(tokenizer),
        byte_level=is_byte_level(tokenizer),
        response_template=model_files.response_template,
    )


def release_freed_memory() -> None:
    """Return the heap memory that parsing a vocabulary freed, tens of megabytes, to the system. Only with glibc."""
    if sys.platform.startswith("linux"):
        # An interpreter may be built without ctypes, and another C library has no such function.
        with contextlib.suppress(ImportError, AttributeError):
            import ctypes

            ctypes.CDLL(None).malloc_trim(0)
