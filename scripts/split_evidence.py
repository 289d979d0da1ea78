"""Count the tokens of a vocabulary that the split pattern of its file can produce, and those that GPT-2's can.

    python scripts/split_evidence.py MODEL [MODEL ...]

A vocabulary is trained on the pieces into which its pattern splits text. A token that the pattern splits into several
pieces cannot have been learnt. If a tokenizer class and a tokenizer.json have different patterns, the counts show which
of them the vocabulary was trained with.
"""

from __future__ import annotations

import sys

from tokenizers import Tokenizer, pre_tokenizers

from renderers import load_tokenizer
from renderers.tokenizer.encoding.byte_text import BYTE_SYMBOLS
from renderers.tokenizer.loading.locate import locate

GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def token_texts(model: str) -> list[str]:
    """Return the texts of all ordinary tokens that are valid UTF-8."""
    tokenizer = load_tokenizer(model)
    to_byte = {symbol: byte for byte, symbol in enumerate(BYTE_SYMBOLS)}
    texts = []
    for token in tokenizer.get_vocab().keys() - tokenizer.added_tokens.keys():
        try:
            texts.append(bytes(to_byte[symbol] for symbol in token).decode("utf-8"))
        except UnicodeDecodeError:
            continue
    return texts


def unsplit(texts: list[str], pattern: pre_tokenizers.PreTokenizer) -> set[str]:
    """Return the texts that a pattern does not split."""
    return {text for text in texts if len(pattern.pre_tokenize_str(text)) == 1}


def main(models: list[str]) -> int:
    """Print a line for each model."""
    for model in models:
        files = locate(model, None)
        own = Tokenizer.from_file(str(files.paths["tokenizer.json"])).pre_tokenizer
        texts = token_texts(model)
        by_own, by_gpt2 = unsplit(texts, own), unsplit(texts, GPT2)
        print(
            f"{model}: of {len(texts)} tokens, the file's own pattern leaves {len(by_own)} whole and GPT-2's "
            f"{len(by_gpt2)}; only the own {len(by_own - by_gpt2)}, only GPT-2's {len(by_gpt2 - by_own)}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
