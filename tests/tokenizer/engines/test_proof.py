"""The probe texts contain everything that engines get wrong."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from renderers.tokenizer.engines.proof import contexts_of, probe_texts

WORDS = [f"word{number}" for number in range(200)]

FAULTS: dict[str, Callable[[str], bool]] = {
    "empty text": lambda text: not text,
    "a contraction in capitals": lambda text: "'VE" in text,
    "a run of 33 spaces": lambda text: " " * 33 in text,
    "a run of 1,000 digits": lambda text: "0" * 1_000 in text,
    "carriage returns": lambda text: "\r\n\r\n" in text,
    "a byte": lambda text: "\x1f" in text,
    "a pair of ASCII characters": lambda text: "q@" in text,
    "tabs after a letter": lambda text: re.search("a\t\t\t", text) is not None,
    "Chinese": lambda text: "狐" in text,
    "Arabic": lambda text: "الثعلب" in text,
    "Hindi": lambda text: "लोमड़ी" in text,
    "an emoji of several characters": lambda text: "👩\u200d👩" in text,
    "new emoji": lambda text: "\U0001fae8" in text,
    "a mark that is composed": lambda text: "o\u0301" in text,
    "a word of the vocabulary": lambda text: "word7 " in text,
    "code": lambda text: "\treturn" in text,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    assert any(map(FAULTS[fault], probe_texts(words=WORDS)))


def test_the_probes_are_the_same_in_every_process_and_contain_each_ascii_pair() -> None:
    texts = probe_texts(words=WORDS)
    assert texts == probe_texts(words=WORDS)
    joined = "\x00".join(texts)
    assert all(chr(first) + chr(second) in joined for first in range(1, 128) for second in range(1, 128))


def test_a_character_is_next_to_every_kind() -> None:
    text = contexts_of("é")
    assert all(part in text for part in ("aéb", "  é  ", "1é2", "éé", ".é!", "\né\n", "é's", " éx"))
    assert "\u0301\u0323" not in text
    assert "e\u0300\u0301\u0323\u0300" in contexts_of("\u0300")
