"""Write the compiled vocabulary of a tokenizer to the cache folder before it is needed."""

from __future__ import annotations

from pathlib import Path

from renderers.tokenizer.compiled.compile import compile_vocabulary
from renderers.tokenizer.storage.store import save_or_raise
from renderers.tokenizer.tokenizer import LoadedTokenizer
from renderers.tokenizer.vocab import writer_of


def compile_ahead(tokenizer: LoadedTokenizer) -> Path:
    """Compile the vocabulary of a tokenizer that was loaded from files, and write it to the cache folder.

    Returns the path of the file, which is written again if it is there already.

    Raises:
        OSError: It cannot be written.
        ValueError: The vocabulary cannot be compiled. The message is the reason.
    """
    vocab = tokenizer.vocab
    compiled = compile_vocabulary(vocab.backend, isolated=vocab.isolated_texts)
    return writer_of(vocab, save_or_raise)(compiled)
