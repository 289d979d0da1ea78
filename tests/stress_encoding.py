"""Encode millions of random texts with fastokens and with tokenizers: every text that is taken has the same ids.

    python -m tests.stress_encoding --cases 5000000

Texts are random mixtures of tokens of the vocabulary, added tokens and parts of them, hand-written edge cases, source
code, runs of one character, and characters of all planes of Unicode.
"""

from __future__ import annotations

import functools
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence

from renderers import EMBEDDED, load_tokenizer
from renderers.core.text import compile_alternation
from renderers.tokenizer.engines.fastokens import FastokensEngine, UnfitEngineError, fastokens_engine
from renderers.tokenizer.vocab import Vocab
from tests.support.corpus import nasty_texts
from tests.support.models import one_model_per_vocabulary
from tests.support.sources import Task, spread
from tests.support.stress_report import run_long_form

__all__ = ["run", "stress"]

BATCH = 500
PLANES = ((0x20, 0x7F), (0x80, 0x24F), (0x250, 0x2FFF), (0x3000, 0x9FFF), (0xA000, 0xD7FF), (0xE000, 0xFFFF))
ASTRAL = ((0x10000, 0x1FAFF), (0x1F300, 0x1FAFF), (0x20000, 0x2FFFF), (0xE0000, 0x10FFFF))


@functools.lru_cache(maxsize=1)
def _subject(name: str) -> tuple[Vocab, FastokensEngine, re.Pattern[str] | None]:
    vocab = load_tokenizer(name).vocab
    engine = fastokens_engine(vocab.backend, digest=vocab.digest, isolated=vocab.isolated_texts)
    return vocab, engine, compile_alternation(vocab.isolated_texts)


@functools.lru_cache(maxsize=1)
def _parts() -> list[str]:
    return list(nasty_texts(code_files=20, random_texts=100))


def _random_text(chance: random.Random, words: Sequence[str], added: Sequence[str]) -> str:
    return "".join(_random_part(chance, words, added) for _ in range(chance.randrange(1, 14)))


def _random_part(chance: random.Random, words: Sequence[str], added: Sequence[str]) -> str:
    kind = chance.randrange(10)
    if kind < 4 and words:
        return chance.choice((" ", "", "\n", "", "'", "  "))[: chance.randrange(3)] + chance.choice(words)
    if kind < 6:
        part = chance.choice(_parts())
        start = chance.randrange(len(part) + 1)
        return part[start : start + chance.randrange(1, 40)]
    if kind == 6 and added:
        token = chance.choice(added)
        return token[chance.randrange(2) : len(token) - chance.randrange(2)]
    if kind == 7:
        return chance.choice(" \n\t\r0a.-='é中🙂\u0301") * chance.randrange(1, 40)
    low, high = chance.choice(PLANES if kind == 8 else ASTRAL)
    return "".join(chr(chance.randrange(low, high + 1)) for _ in range(chance.randrange(1, 6)))


def run(task: Task) -> Counter[str]:
    """Encode the texts of one task. Return the number by outcome."""
    name, seed, cases = task
    started = time.process_time()
    counts: Counter[str] = Counter()
    try:
        vocab, engine, never = _subject(name)
    except UnfitEngineError as error:
        return Counter({f"WRONG: {name}: {error}": 1})
    chance = random.Random(f"{name} {seed}")
    size = vocab.backend.get_vocab_size(with_added_tokens=False)
    ids = [[chance.randrange(size)] for _ in range(500)]
    words = [text for text in vocab.backend.decode_batch(ids) if "\ufffd" not in text]
    added = sorted(vocab.added_tokens)
    for start in range(0, cases, BATCH):
        texts = [_random_text(chance, words, added) for _ in range(min(BATCH, cases - start))]
        counts["texts"] += len(texts)
        texts = [text for text in texts if never is None or never.search(text) is None]
        taken = [text for text in texts if engine.takes(text)]
        counts["to tokenizers"] += len(texts) - len(taken)
        due = vocab.backend.encode_batch_fast(taken, add_special_tokens=False)
        for text, found, encoding in zip(taken, engine.encode(taken).split(), due, strict=True):
            counts["tokens"] += len(found)
            if found.tolist() != encoding.ids:
                counts[f"WRONG: {name}: {text!a}"] += 1
    counts["milliseconds"] += round(1_000 * (time.process_time() - started))
    return counts


def stress(
    cases: int, *, models: Sequence[str] = (str(EMBEDDED), *one_model_per_vocabulary()), processes: int | None = None
) -> dict[str, Counter[str]]:
    """Encode `cases` texts in total. Return the number by outcome, for each model."""
    return spread(run, cases, models=models, processes=processes)


def main() -> int:
    """Run the long form and print a table. Return 1 if ids differed."""
    columns = ["tokens", "to tokenizers"]
    return run_long_form(stress, description=__doc__, cases=5_000_000, what="texts", columns=lambda _: columns)


if __name__ == "__main__":
    sys.exit(main())
