"""Tokenizer objects of callers: Rust-backed ones are cloned, others wrapped, and those that lie refused."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from transformers import AutoTokenizer

from renderers import (
    EMBEDDED,
    ForeignTokenizer,
    LoadedTokenizer,
    TokenizerCheckError,
    TokenizerLoadError,
    adopt_tokenizer,
    load_tokenizer,
)
from renderers.core.protocols import Tokenizer
from tests.support.corpus import nasty_texts
from tests.support.models import HUB_AT_HAND

ENCODES = 100_000
THREADS = 8


def test_our_own_is_taken_as_it_is() -> None:
    loaded = load_tokenizer(EMBEDDED)
    assert adopt_tokenizer(loaded) is loaded


def test_a_transformers_tokenizer_brings_its_names_and_templates() -> None:
    theirs = AutoTokenizer.from_pretrained(EMBEDDED)
    adopted = adopt_tokenizer(theirs)
    assert isinstance(adopted, LoadedTokenizer)
    ours = load_tokenizer(EMBEDDED)
    for name in "eos_token_id pad_token_id bos_token_id chat_template all_special_ids".split():
        assert getattr(adopted, name) == getattr(ours, name), name
    for name in "isolating_token_ids byte_level".split():
        assert getattr(adopted.vocab, name) == getattr(ours.vocab, name), name
    assert adopted.name_or_path == str(EMBEDDED)
    assert adopted.source.files == ()
    assert "transformers" in adopted.source.location


def test_a_raw_tokenizer_is_cloned() -> None:
    raw = tokenizers.Tokenizer.from_file(str(EMBEDDED / "tokenizer.json"))
    raw.enable_truncation(2)
    raw.enable_padding(length=50)
    adopted = adopt_tokenizer(raw)
    text = "This is more than two tokens."
    assert adopted.encode(text) == load_tokenizer(EMBEDDED).encode(text)
    raw.add_tokens(["more than"])
    assert adopted.encode(text) == load_tokenizer(EMBEDDED).encode(text)
    assert len(raw.encode(text).ids) == 50


def test_a_transformers_tokenizer_with_several_templates_keeps_them() -> None:
    theirs = AutoTokenizer.from_pretrained(EMBEDDED)
    theirs.chat_template = {"default": "a", "tool_use": "b"}
    assert dict(adopt_tokenizer(theirs).chat_templates) == {"default": "a", "tool_use": "b"}


class Letters:
    """A caller's own tokenizer: a token for each character, and the least surface there is."""

    name_or_path = "letters"
    eos_token_id = 0
    unk_token_id = None
    chat_template = "{{ messages }}"

    def encode(self, text: str) -> list[int]:
        return list(map(ord, text))

    def decode(self, token_ids: list[int]) -> str:
        return "".join(map(chr, token_ids))

    def convert_tokens_to_ids(self, token: str) -> int:
        return ord(token)


class LettersWithStart(Letters):
    """The same with a start token, unless told otherwise."""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return [1] * add_special_tokens + super().encode(text)


@pytest.mark.parametrize("kind", [Letters, LettersWithStart])
def test_any_object_with_the_three_methods_is_wrapped(kind: type[Letters]) -> None:
    adopted = adopt_tokenizer(kind())
    assert isinstance(adopted, ForeignTokenizer)
    assert isinstance(adopted, Tokenizer)
    assert adopt_tokenizer(adopted) is adopted
    assert adopted.encode("ab", add_special_tokens=False) == [97, 98]
    assert adopted.encode("ab") == [1] * (kind is LettersWithStart) + [97, 98]
    assert adopted.decode(iter([97, 98])) == "ab"
    assert adopted.convert_tokens_to_ids("a") == 97
    assert (adopted.name_or_path, adopted.eos_token_id, adopted.unk_token_id) == ("letters", 0, None)
    assert adopted.chat_template == "{{ messages }}"
    assert adopted.vocab.isolating_texts == frozenset()


class AlwaysStarts(Letters):
    def encode(self, text: str, **_: Any) -> list[int]:
        return [1, *super().encode(text)]


class Loses(Letters):
    def encode(self, text: str) -> list[int]:
        return super().encode(text.lower())


class Unfinished(Letters):
    def encode(self, text: str, **_: Any) -> list[int]:
        raise NotImplementedError


class Broken(Letters):
    def decode(self, token_ids: list[int]) -> str:
        vocabulary: dict[int, str] = {}
        return vocabulary[token_ids[0]]


@pytest.mark.parametrize("kind", [Unfinished, Broken])
def test_a_tokenizer_whose_methods_fail_is_refused_with_our_error(kind: type[Letters]) -> None:
    with pytest.raises(TokenizerLoadError, match=rf"{kind.__name__} .*(NotImplementedError|KeyError)"):
        adopt_tokenizer(kind())


def test_a_backend_that_cannot_be_written_down_is_refused_with_our_error() -> None:
    class Spaces:
        def pre_tokenize(self, text: Any) -> None: ...

    raw = tokenizers.Tokenizer.from_file(str(EMBEDDED / "tokenizer.json"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(Spaces())
    with pytest.raises(TokenizerLoadError, match="Tokenizer cannot be understood"):
        adopt_tokenizer(raw)


def test_a_name_for_a_special_token_that_is_not_there_is_refused() -> None:
    theirs = AutoTokenizer.from_pretrained(EMBEDDED)
    theirs.pad_token = "<nope>"
    with pytest.raises(TokenizerLoadError, match=r"does not contain '<nope>', which is named"):
        adopt_tokenizer(theirs)


def test_equal_tokenizers_share_a_clone_whatever_is_switched_on_for_the_moment() -> None:
    theirs = AutoTokenizer.from_pretrained(EMBEDDED)
    first = adopt_tokenizer(theirs)
    theirs("a longer text", truncation=True, max_length=2, padding="max_length")
    theirs.backend_tokenizer.enable_truncation(2)
    assert adopt_tokenizer(theirs) is first
    theirs.chat_template = "another"
    second = adopt_tokenizer(theirs)
    assert second.chat_template == "another"
    assert isinstance(first, LoadedTokenizer)
    assert isinstance(second, LoadedTokenizer)
    assert second.source.digest != first.source.digest


@pytest.mark.parametrize(
    ("kind", "says"), [(AlwaysStarts, r"encodes the empty string to \[1\]"), (Loses, "back as 'is it all there")]
)
def test_a_tokenizer_that_adds_or_loses_is_refused(kind: type[Letters], says: str) -> None:
    with pytest.raises(TokenizerCheckError, match=f"{kind.__name__} .*{says}"):
        adopt_tokenizer(kind())


@pytest.mark.parametrize("kind", [str, Path])
def test_a_name_or_a_path_is_loaded(kind: type, tmp_path: Path) -> None:
    assert adopt_tokenizer(kind(EMBEDDED)) is load_tokenizer(EMBEDDED)
    with pytest.raises(TokenizerLoadError, match="nowhere"):
        adopt_tokenizer(kind(tmp_path / "nowhere"))


def test_what_is_no_tokenizer_is_a_type_error_that_lists_what_is_lacking() -> None:
    with pytest.raises(TypeError, match=r"builtins.int cannot be used .* no encode, decode, convert_tokens_to_ids"):
        adopt_tokenizer(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="NoneType"):
        adopt_tokenizer(None)  # type: ignore[arg-type]


def test_a_caller_who_truncates_in_other_threads_cannot_change_our_ids(request: pytest.FixtureRequest) -> None:
    name: str | Path = EMBEDDED
    if HUB_AT_HAND:
        request.getfixturevalue("hub")
        name = "Qwen/Qwen3-8B"
    theirs = AutoTokenizer.from_pretrained(name)
    adopted = adopt_tokenizer(theirs)
    texts = [text for text in nasty_texts(code_files=0, random_texts=150) if len(text) < 200]
    expected = [load_tokenizer(name).encode(text, add_special_tokens=False) for text in texts]
    done, hostile_calls = threading.Event(), itertools.count()
    enough = threading.Event()

    def truncate() -> None:
        while not done.is_set():
            theirs("a longer text than two tokens", truncation=True, max_length=2, padding="max_length")
            if next(hostile_calls) > 100:
                enough.set()

    def work(worker: int) -> int:
        wrong = 0
        turns = itertools.count()
        while (turn := next(turns)) < ENCODES // THREADS or not enough.is_set():
            at = (worker + turn) % len(texts)
            wrong += adopted.encode(texts[at], add_special_tokens=False) != expected[at]
        return wrong

    hostile = [threading.Thread(target=truncate) for _ in range(2)]
    for thread in hostile:
        thread.start()
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            wrong = sum(pool.map(work, range(THREADS)))
    finally:
        done.set()
        for thread in hostile:
            thread.join()
    assert wrong == 0
    assert next(hostile_calls) > 100
