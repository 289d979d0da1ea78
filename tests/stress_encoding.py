"""Encode millions of random texts in C and with tokenizers: ids and owners of tokens must be equal.

    python -m tests.stress_encoding --cases 5000000

Texts are random mixtures of tokens of the vocabulary, added tokens and parts of them, hand-written edge cases, source
code, runs of one character, marks that are composed or put in order, and characters of all planes of Unicode. Every
text goes to the engine in C, and one in 256 to its twin in Python. One in 32 is also cut into messages and rendered,
with each value of `bpe_engine` in turn: the ids must be those of `tokenizers` for the whole text, and each token must
belong to the message of its first character, by the offsets of `tokenizers`.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tokenizers import Tokenizer

from renderers import (
    EMBEDDED,
    ChatRenderer,
    DefaultRendererConfig,
    RenderedTokens,
    create_renderer,
    load_tokenizer,
)
from renderers.core.native import native
from renderers.core.text import compile_alternation
from renderers.tokenizer.compiled.block import UnfitVocabularyError
from renderers.tokenizer.compiled.twin import encode_in_python
from renderers.tokenizer.encoding.piece_cache import pack_ids
from renderers.tokenizer.engines.huggingface import encode_batch
from renderers.tokenizer.engines.native import NativeEngine
from renderers.tokenizer.vocab import Vocab
from tests.support.corpus import nasty_texts
from tests.support.models import one_model_per_vocabulary
from tests.support.sources import Task, spread
from tests.support.stress_report import run_long_form

__all__ = ["problem_of", "run", "stress"]

BATCH = 1_000
POOL = 1_000
"""The number of random parts that the texts of a batch are made of. Joining parts is cheaper than making them."""
RENDERED = 32
"""One of this many texts is also rendered."""
TWIN = 256
"""One of this many texts is also encoded in Python."""
TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"
ROLES = ("user", "assistant")
PLANES = ((0x20, 0x7F), (0x80, 0x24F), (0x250, 0x2FFF), (0x3000, 0x9FFF), (0xA000, 0xD7FF), (0xE000, 0xFFFF))
MARKED = (
    *(
        "e",
        "é",
        "ȩ",
        "a",
        "q",
        "क",
        "न",
        "ड",
        "ค",
        "ن",
        "ש",
        "\u1100",
        "\u1161",
        "\u11a8",
        "\uac00",
        "\u09c7",
        "\u09be",
        "=",
    ),
    *(
        "\u0301",
        "\u0302",
        "\u0323",
        "\u0327",
        "\u0338",
        "\u0344",
        "\u093c",
        "\u094d",
        "\u0e39",
        "\u0e48",
        "\u0651",
        "\u064e",
    ),
    *("\u05c1", "\u05bc", "\u3099", "\u0958", "\u212b", "\U0001d15f", "\U000110ba", "\u200d", "\ufe0f"),
)
"""Characters that NFC composes, decomposes or puts in order, and others that go with them."""
ASTRAL = ((0x10000, 0x1FAFF), (0x1F300, 0x1FAFF), (0x20000, 0x2FFFF), (0xE0000, 0x10FFFF))


class Subject(NamedTuple):
    """A vocabulary, everything that encodes with it, and the reference."""

    vocab: Vocab
    engine: NativeEngine
    never: re.Pattern[str] | None
    """Matches the special tokens at which text is cut before an engine gets it."""
    renderers: tuple[ChatRenderer, ...]
    """One for each value of `bpe_engine`."""
    truth: Tokenizer


@functools.lru_cache(maxsize=1)
def _subject(name: str) -> Subject:
    tokenizers = [load_tokenizer(name, bpe_engine=engine) for engine in ("tokenizers", "native")]
    renderers = [create_renderer(each, DefaultRendererConfig(), chat_template=TEMPLATE) for each in tokenizers]
    vocab = tokenizers[-1].vocab
    engine = vocab.engines.engine_for([])
    if engine is None:
        raise UnfitVocabularyError(vocab.engines.status.reason)
    return Subject(
        vocab,
        engine,
        compile_alternation(vocab.isolated_texts),
        tuple(renderers),
        # The post-processor would leave out spaces of offsets.
        Tokenizer.from_str(json.dumps({**json.loads(vocab.backend.to_str()), "post_processor": None})),
    )


@functools.lru_cache(maxsize=1)
def _parts() -> list[str]:
    return list(nasty_texts(code_files=20, random_texts=100))


def _random_texts(chance: random.Random, count: int, words: Sequence[str], added: Sequence[str]) -> list[str]:
    parts = [_random_part(chance, words, added) for _ in range(POOL)]
    return ["".join(chance.choices(parts, k=int(14 * chance.random()) + 1)) for _ in range(count)]


def _random_part(chance: random.Random, words: Sequence[str], added: Sequence[str]) -> str:
    kind = chance.randrange(11)
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
    if kind == 8:
        return "".join(chance.choices(MARKED, k=chance.randrange(1, 6)))
    low, high = chance.choice(PLANES if kind == 9 else ASTRAL)
    return "".join(chr(chance.randrange(low, high + 1)) for _ in range(chance.randrange(1, 6)))


def run(task: Task) -> Counter[str]:
    """Encode the texts of one task. Return the number by outcome."""
    name, seed, cases = task
    started = time.process_time()
    counts: Counter[str] = Counter()
    try:
        subject = _subject(name)
    except UnfitVocabularyError as error:
        return Counter({f"WRONG: {name}: {error}": 1})
    chance = random.Random(f"{name} {seed}")
    backend = subject.vocab.backend
    size = backend.get_vocab_size(with_added_tokens=False)
    ids = [[chance.randrange(size)] for _ in range(500)]
    words = [text for text in backend.decode_batch(ids) if "\ufffd" not in text]
    added = sorted(subject.vocab.added_tokens)
    for start in range(0, cases, BATCH):
        texts = _random_texts(chance, min(BATCH, cases - start), words, added)
        counts["texts"] += len(texts)
        wrong = _encode(subject, texts, counts) + _render(subject, texts[::RENDERED], chance, counts)
        counts.update(f"WRONG: {name}, seed {seed}: {problem}" for problem in wrong)
    counts["milliseconds"] += round(1_000 * (time.process_time() - started))
    return counts


def _encode(subject: Subject, texts: Sequence[str], counts: Counter[str]) -> list[str]:
    """Encode the texts that the engine takes. Return a description of each that has other ids than with tokenizers."""
    texts = [text for text in texts if subject.never is None or subject.never.search(text) is None]
    encoded = subject.engine.encode(texts)
    taken = [text for text, ids in zip(texts, encoded, strict=True) if ids is not None]
    found = [ids for ids in encoded if ids is not None]
    due = encode_batch(subject.vocab.backend, taken)
    counts["to tokenizers"] += len(texts) - len(taken)
    counts["tokens"] += sum(map(len, due))
    both = zip(taken, found, map(pack_ids, due), strict=True)
    wrong = [f"native: {text!a}" for text, own, other in both if own != other]
    return wrong + _twin_differs(subject, taken[::TWIN])


def _twin_differs(subject: Subject, texts: list[str]) -> list[str]:
    """Return a description of each text that the twin in Python encodes differently."""
    block, cache = subject.engine.vocabulary.buffer, bytearray()
    own = native.encode_bpe(block, texts, cache, False)
    twin = encode_in_python(block, texts, cache, False)
    return [f"twin: {text!a}" for text, ids, others in zip(texts, own, twin, strict=True) if ids != others]


def _render(subject: Subject, texts: Sequence[str], chance: random.Random, counts: Counter[str]) -> list[str]:
    """Render the texts, each cut into messages. Return a description of each with wrong ids or owners."""
    wrong = []
    for text, renderer in zip(texts, itertools.cycle(subject.renderers), strict=False):
        cuts = sorted(chance.randrange(len(text) + 1) for _ in range(chance.randrange(4)))
        parts = [text[start:end] for start, end in itertools.pairwise((0, *cuts, len(text)))]
        messages = [{"role": role, "content": part} for role, part in zip(itertools.cycle(ROLES), parts, strict=False)]
        problem = problem_of(renderer.render(messages), parts, subject.truth)
        counts["rendered"] += 1
        if problem is not None:
            wrong.append(f"{renderer.tokenizer.bpe_engine.name}: {problem}: {parts!a}")
    return wrong


def _owner(borders: Sequence[int], start: int, end: int) -> int:
    """Return the message of a token: that of its first sampled character, else that of its first character."""
    first, last = bisect.bisect_right(borders, start), bisect.bisect_left(borders, end)
    touched = range(first, last + 1)
    sampled = (index for index in touched if ROLES[index % len(ROLES)] == "assistant" and _length(borders, index))
    return next(sampled, first)


def _length(borders: Sequence[int], index: int) -> int:
    return borders[index] - (borders[index - 1] if index else 0)


def problem_of(rendered: RenderedTokens, parts: Sequence[str], truth: Tokenizer) -> str | None:
    """Return a description of an error in the ids or owners of concatenated messages; None if they are right."""
    encoding = truth.encode("".join(parts), add_special_tokens=False)
    if list(rendered.token_ids) != encoding.ids:
        return "the ids differ"
    ends = [0, *(run.end for run in rendered.runs)]
    if ends[-1] != len(encoding.ids) or any(start >= end for start, end in itertools.pairwise(ends)):
        return "the runs do not tile"
    borders = list(itertools.accumulate(map(len, parts)))
    if list(rendered.message_indices) != [_owner(borders, *offsets) for offsets in encoding.offsets]:
        return "a token belongs to another message than its first character, or than its first sampled one"
    return None


def stress(
    cases: int, *, models: Sequence[str] = (str(EMBEDDED), *one_model_per_vocabulary()), processes: int | None = None
) -> dict[str, Counter[str]]:
    """Encode `cases` texts in total. Return the number by outcome, for each model."""
    return spread(run, cases, models=models, processes=processes)


def main() -> int:
    """Run the long form and print a table. Return 1 if ids differed."""
    columns = ["tokens", "to tokenizers", "rendered"]
    return run_long_form(stress, description=__doc__, cases=5_000_000, what="texts", columns=lambda _: columns)


if __name__ == "__main__":
    sys.exit(main())
