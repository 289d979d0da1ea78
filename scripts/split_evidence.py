"""Counts which tokens of a vocabulary the file's own split pattern can give, and which GPT-2's can.

    python scripts/split_evidence.py MODEL [MODEL ...]

A vocabulary is trained on the pieces that its pattern cuts text into, so a token whose text is cut into several
pieces could never have been learnt. Where a tokenizer class and a tokenizer.json disagree about the pattern, the counts
say which of them the vocabulary was made with.
"""

from __future__ import annotations

import sys

from tokenizers import Tokenizer, pre_tokenizers

from renderers import load_tokenizer
from renderers.tokenizer.locate import locate
from renderers.tokenizer.ranks import BYTE_SYMBOLS

GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def whole_texts(model: str) -> list[str]:
    """Returns the texts of all ordinary tokens that are whole characters."""
    tokenizer = load_tokenizer(model)
    to_byte = {symbol: byte for byte, symbol in enumerate(BYTE_SYMBOLS)}
    texts = []
    for token in tokenizer.get_vocab().keys() - tokenizer.added_tokens.keys():
        try:
            texts.append(bytes(to_byte[symbol] for symbol in token).decode("utf-8"))
        except UnicodeDecodeError:
            continue
    return texts


def one_piece(texts: list[str], pattern: pre_tokenizers.PreTokenizer) -> set[str]:
    """Returns the texts that a pattern leaves whole."""
    return {text for text in texts if len(pattern.pre_tokenize_str(text)) == 1}


def main(models: list[str]) -> int:
    """Prints a line for each model."""
    for model in models:
        files = locate(model, None)
        own = Tokenizer.from_file(str(files.paths["tokenizer.json"])).pre_tokenizer
        texts = whole_texts(model)
        by_own, by_gpt2 = one_piece(texts, own), one_piece(texts, GPT2)
        print(
            f"{model}: of {len(texts)} tokens, the file's own pattern leaves {len(by_own)} whole and GPT-2's "
            f"{len(by_gpt2)}; only the own {len(by_own - by_gpt2)}, only GPT-2's {len(by_gpt2 - by_own)}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
