"""The proof finds engines that are wrong anywhere, and limits the harm of one that is wrong for a character."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from renderers.tokenizer.engines import proof as module
from renderers.tokenizer.engines.proof import ProvenCharacters, differing, probe_texts

WORDS = [f"word{number}" for number in range(200)]


def truth(texts: list[str]) -> list[list[int]]:
    """Encode a text to its bytes."""
    return [list(text.encode()) for text in texts]


def engine_with(fault: Callable[[str], bool]) -> Callable[[list[str]], Sequence[Sequence[int]]]:
    return lambda texts: [[0] if fault(text) else ids for text, ids in zip(texts, truth(texts), strict=True)]


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
    "an added token": lambda text: "\n<tool>\n" in text,
    "a cut-off added token": lambda text: " <tool x" in text,
    "code": lambda text: "\treturn" in text,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    texts = probe_texts(words=WORDS, added=["<tool>"])
    assert differing(engine_with(FAULTS[fault]), truth, texts)


def test_the_probes_are_the_same_in_every_process_and_contain_each_ascii_pair() -> None:
    texts = probe_texts(words=WORDS)
    assert texts == probe_texts(words=WORDS)
    joined = "\x00".join(texts)
    assert all(chr(first) + chr(second) in joined for first in range(1, 128) for second in range(1, 128))


def characters_with(fault: Callable[[str], bool]) -> tuple[ProvenCharacters, list[list[str]]]:
    calls: list[list[str]] = []

    def compare(texts: list[str]) -> list[str]:
        calls.append(texts)
        return [text for text in texts if fault(text)]

    return ProvenCharacters(compare), calls


def test_a_character_is_tried_once_and_ascii_never() -> None:
    characters, calls = characters_with(lambda text: False)
    assert characters.contain("plain ASCII\n")
    assert not calls
    assert all(map(characters.contain, ("é", "naïve é", "ï")))
    assert [len(texts) for texts in calls] == [1, 1]


def test_characters_above_the_first_plane_are_tried_in_rows() -> None:
    characters, calls = characters_with(lambda text: False)
    assert characters.contain("\U0001f642 \U0001f64f")
    assert characters.contain("\U0001f640")
    assert [len(texts) for texts in calls] == [16]


def test_a_wrong_character_is_refused_in_any_text_and_the_others_are_not() -> None:
    characters, calls = characters_with(lambda text: "\u180e" in text)
    assert not characters.contain("é\u180e")
    assert characters.refused == {"\u180e"}
    assert characters.contain("é")
    assert not characters.contain("a\u180e")
    assert len(calls) == 1


def test_a_fault_next_to_one_kind_of_character_is_found() -> None:
    for context in ("  {}", "1{}2", "{0}{0}", "b  {}  C", "\n{}\n", "{}'s", " {}x"):
        wrong = context.format("ж")
        characters, _ = characters_with(lambda text, wrong=wrong: wrong in text)  # type: ignore[misc]
        assert not characters.contain("ж"), context


def test_combining_marks_are_tried_with_others() -> None:
    characters, _ = characters_with(lambda text: "\u0316\u0301" in text)
    assert not characters.contain("\u0316")


def test_a_lone_surrogate_is_not_proven_and_not_tried() -> None:
    characters, calls = characters_with(lambda text: False)
    assert not characters.contain("a\ud800")
    assert not calls


def test_characters_that_mean_something_in_a_pattern_are_proven_as_themselves() -> None:
    characters, _ = characters_with(lambda text: False)
    assert characters.contain("^]-\\[é")
    assert characters.contain("é^")
    characters.contain("àáâãäåæçèêë")
    assert characters._pattern.fullmatch("é^]-\\[") is not None
    assert characters._pattern.fullmatch("ж") is None


def test_many_new_characters_do_not_compile_a_pattern_each(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    only = module._only

    def counting(characters: list[str]) -> re.Pattern[str]:
        compiled.append(1)
        return only(characters)

    monkeypatch.setattr(module, "_only", counting)
    characters, _ = characters_with(lambda text: False)
    assert all(characters.contain(chr(code)) for code in range(0x4E00, 0x6E00))
    assert len(compiled) < 100


def test_threads_share_it() -> None:
    characters, _ = characters_with(lambda text: "ж" in text)
    texts = [chr(0x400 + number % 100) for number in range(2_000)]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(characters.contain, texts)) == ["ж" not in text for text in texts]
    assert characters.refused == {"ж"}
