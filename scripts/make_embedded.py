"""Train the tokenizer of the embedded model on the corpus beside this script. The chat template is not generated.

    python scripts/make_embedded.py [DIRECTORY]

Without a directory, the files of the package are overwritten. Use the `tokenizers` release of the test environment. A
test checks that the script reproduces the committed files.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = Path(__file__).resolve().parent
PACKAGE_FILES = HERE.parent / "src" / "renderers" / "embedded"
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CONTROL_TOKENS = ("<|pad|>", "<|turn|>", "<|end|>")
MARKERS = "<|think|> <|/think|> <|tool|> <|/tool|> <|call|> <|/call|> <|result|> <|/result|>".split()


def make_tokenizer() -> Tokenizer:
    """Train a byte-level BPE on the corpus, and add the special tokens and markers of the template."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        min_frequency=2,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    corpus = (HERE / "embedded_corpus.txt").read_text(encoding="utf-8")
    tokenizer.train_from_iterator([corpus], trainer)
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in CONTROL_TOKENS])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in MARKERS])
    return tokenizer


def main(directory: Path) -> None:
    """Write tokenizer.json and the other model files."""
    tokenizer = make_tokenizer()
    files = {
        "tokenizer_config.json": {"eos_token": "<|end|>", "pad_token": "<|pad|>", "model_max_length": 8192},
        "generation_config.json": {"eos_token_id": [tokenizer.token_to_id("<|end|>")]},
        "config.json": {"model_type": "renderers_embedded"},
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tokenizer.json").write_text(tokenizer.to_str(pretty=False) + "\n", encoding="utf-8")
    for name, value in files.items():
        (directory / name).write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE_FILES)
