"""Where tokens are in a text is known from what they decode to."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from renderers import EMBEDDED, ForeignTokenizer, UnencodableTextError, create_renderer, load_tokenizer
from renderers.tokenizer.encoding.alignment import UnalignedError, aligned_offsets
from tests.support.corpus import nasty_texts
from tests.support.models import one_model_per_vocabulary, unpack_hub


class Bare:
    """A caller's tokenizer with nothing but what is needed."""

    unk_token_id = None

    def __init__(self, name: str) -> None:
        self._own = load_tokenizer(name)
        self.name_or_path, self.eos_token_id = name, self._own.eos_token_id
        self.chat_template = self._own.chat_template

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return self._own.encode(text, add_special_tokens=add_special_tokens)

    def decode(self, ids: Sequence[int], **_: Any) -> str:
        return self._own.decode(ids)

    def convert_tokens_to_ids(self, token: str) -> Any:
        return self._own.convert_tokens_to_ids(token)


def in_bytes(ids: Sequence[int]) -> str:
    return bytes(ids).decode(errors="replace")


@given(st.text())
@example("\ufffd")
@example("\ufffd\ufffda\ufffd")
def test_bytes_of_a_character_have_its_place(text: str) -> None:
    offsets = aligned_offsets(list(text.encode()), text, decode=in_bytes)
    places = [(at, at + 1) for at, character in enumerate(text) for _ in character.encode()]
    assert offsets == places


def test_a_character_that_is_composed_to_an_ascii_one_has_its_place() -> None:
    assert aligned_offsets([0, 1], "\u212a!", decode=lambda ids: "".join("K!"[at] for at in ids)) == [(0, 1), (1, 2)]


class Strict:
    """A token for each byte; half a character is an error, and where tokens are is not told."""

    name_or_path, eos_token_id, unk_token_id = "strict", None, None
    chat_template = "-{{ messages[0].content }}"

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def decode(self, ids: list[int]) -> str:
        return bytes(ids).decode()

    def convert_tokens_to_ids(self, token: str) -> int:
        raise KeyError(token)


class Slow(Strict):
    def __call__(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("offsets are for fast tokenizers")


class Other(Strict):
    def __call__(self, *_: Any, **__: Any) -> Any:
        return {"offset_mapping": [(0, 1)]}


@pytest.mark.parametrize("kind", [Strict, Slow, Other])
def test_a_class_that_does_not_tell_where_its_tokens_are_is_asked_what_they_are(kind: type[Strict]) -> None:
    rendered = create_renderer(kind()).render([{"role": "user", "content": "日x"}])
    assert rendered.token_ids == list("-日x".encode())
    assert rendered.message_indices == [-1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("ids", "text", "why"),
    [
        (b"ab", "ac", "token 1 is 'b', but the text has 'c'"),
        (b"ab", "abc", "the tokens end before 'c'"),
        (b"\xc3", "é", "the tokens from 0 on do not form characters of the text"),
        (b"\x80" * 9, "é", "the tokens from 0 on do not form characters of the text"),
    ],
)
def test_what_is_not_the_text_is_said(ids: bytes, text: str, why: str) -> None:
    with pytest.raises(UnalignedError, match=why):
        aligned_offsets(list(ids), text, decode=in_bytes)


MODELS = [str(EMBEDDED), *(name for name in one_model_per_vocabulary() if "Qwen3-8B" in name or "GLM-4.5-Air" in name)]


@pytest.mark.parametrize("model", MODELS)
def test_the_least_tokenizer_gives_what_ours_gives(model: str) -> None:
    if model != str(EMBEDDED):
        unpack_hub()
    ours, theirs = create_renderer(load_tokenizer(model)), create_renderer(Bare(model))
    assert isinstance(theirs.tokenizer, ForeignTokenizer)
    assert theirs.get_stop_token_ids() == ours.get_stop_token_ids()
    for text in ["ünï 👍🏽 日本", *itertools.islice(nasty_texts(code_files=0, random_texts=20), 60)]:
        messages = [
            {"role": "user", "content": text},
            {"role": "assistant", "content": "Hm 👍", "reasoning_content": "Ja."},
        ]
        try:
            mine = ours.render(messages)
        except UnencodableTextError:
            continue
        rendered = theirs.render(messages)
        assert rendered.token_ids == mine.token_ids
        if rendered.sampled_mask or unicodedata.is_normalized("NFC", text):
            assert rendered.sampled_mask == mine.sampled_mask
            assert rendered.message_indices == mine.message_indices
    prompt = ours.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    completion = [*ours.tokenizer.encode("Hello!", add_special_tokens=False), ours.get_stop_token_ids()[0]]
    new = [{"role": "user", "content": "Bye"}]
    extended, bridged = (renderer.bridge_to_next_turn(prompt, completion, new) for renderer in (ours, theirs))
    if extended is None or bridged is None:
        assert extended is bridged
        return
    assert (bridged.token_ids, bridged.runs) == (extended.token_ids, extended.runs)
    # As in release 0.1, this list is empty for a tokenizer without offsets.
    assert bridged.is_content == []
