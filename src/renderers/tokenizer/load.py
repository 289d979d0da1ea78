"""`load_tokenizer`: always the fast tokenizer, whoever asks and how many at once, or a clear `OSError`."""

from __future__ import annotations

import os
import time

from renderers.errors import TokenizerFileError
from renderers.tokenizer.build import build, only_load_errors, source_of
from renderers.tokenizer.files import FilesChangedError, TokenizerFiles
from renderers.tokenizer.heap import give_back_freed_memory
from renderers.tokenizer.loaded import LoadedTokenizer
from renderers.tokenizer.locate import locate
from renderers.tokenizer.once import Once

__all__ = ["load_tokenizer"]

_BUILT: Once[LoadedTokenizer] = Once(keep=8)
"""By the vocabulary's path."""

_SEEN: Once[LoadedTokenizer] = Once(keep=8)
"""By the name and revision that callers asked for, so that each of them gets the same object every time."""

_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Seconds between attempts while somebody writes to the files."""


def load_tokenizer(model_name_or_path: str | os.PathLike[str], *, revision: str | None = None) -> LoadedTokenizer:
    """Loads the tokenizer of a directory, a vocabulary file or a Hugging Face repository.

    Local paths come first, then the Hugging Face cache, then the hub. No code of a repository is run, and
    no other tokenizer is taken where one cannot be built. Files are built once in a process and shared,
    until they change on disk.

    Args:
        model_name_or_path: A directory with a vocabulary file, such a file, or a repository's name.
        revision: A branch, tag or commit of the repository. Without one, the commit pinned for it in
            `TRUSTED_REVISIONS`, else its main branch. A local path has no revisions.

    Raises:
        TokenizerLoadError: An `OSError` that names what is missing or broken and says what to do.

    >>> from renderers import EMBEDDED
    >>> load_tokenizer(EMBEDDED).eos_token
    '<|end|>'
    """
    name = os.fspath(model_name_or_path)
    if not isinstance(name, str) or not isinstance(revision, str | None):
        raise TypeError("a name or path, and a revision, must be text")
    for pause in (*_PAUSES, None):
        try:
            with only_load_errors(name=name, file=""):
                return _load(locate(name, revision), revision)
        except FilesChangedError:
            if pause is not None:
                time.sleep(pause)
    raise TokenizerFileError("is being written to all the time. Wait until the download or copy is done.", name=name)


def _load(files: TokenizerFiles, revision: str | None) -> LoadedTokenizer:
    seen = files.identity()

    def work() -> LoadedTokenizer:
        loaded = build(files, files.read(as_of=seen))
        give_back_freed_memory()
        return loaded

    def view() -> LoadedTokenizer:
        # The files may have been built for another name: a repository and its folder are the same files.
        built = _BUILT.get(files.paths[files.vocabulary], version=seen, work=work)
        return built.seen_as(files.name, revision, source_of(files, built.source.digest))

    found = (seen, files.location, files.commit, tuple(files.missing.items()))
    return _SEEN.get((files.name, revision), version=found, work=view)
