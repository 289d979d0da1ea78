"""Special tokens that a caller's own tokenizer does not name are found by its ids and its encoding."""

from __future__ import annotations

import re
from typing import Any

import pytest

from renderers import adopt_tokenizer
from renderers.tokenizer.foreign import ForeignTokenizer
from renderers.tokenizer.foreign_specials import find_unnamed_tokens
from tests.tokenizer.loading.test_adopt import Letters

TOKENS = {"<s>": 1, "</s>": 2, "<bos>": 3, "<eos>": 4, "<|begin_of_text|>": 5, "[gMASK]": 6, "]~b]": 7, "<|user|>": 8}


class Tagged(Letters):
    """A tokenizer of letters with some special tokens, which it does not list."""

    known: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        pattern = "|".join([*map(re.escape, self.known), "."])
        ids = [TOKENS[part] if part in self.known else ord(part) for part in re.findall(pattern, text, re.DOTALL)]
        return [*(TOKENS[text] for text in self.added if add_special_tokens), *ids]

    def decode(self, ids: list[int]) -> str:
        texts = {TOKENS[text]: text for text in self.known}
        return "".join(texts.get(number) or chr(number) for number in ids)

    def convert_tokens_to_ids(self, token: str) -> int | None:  # type: ignore[override]
        return TOKENS[token] if token in self.known else None


def adopted(*known: str, added: tuple[str, ...] = (), **attributes: Any) -> ForeignTokenizer:
    kind = type("Kind", (Tagged,), {"known": known, "added": added, **attributes})
    tokenizer = adopt_tokenizer(kind())
    assert isinstance(tokenizer, ForeignTokenizer)
    return tokenizer


@pytest.mark.parametrize(
    ("tokenizer", "bos"),
    [
        (adopted("<s>", "</s>", added=("<s>",)), "<s>"),
        (adopted("<s>", "<bos>", added=("<bos>",)), "<bos>"),
        (adopted("<|begin_of_text|>"), "<|begin_of_text|>"),
        (adopted("<s>", "<bos>", "<eos>", eos_token="<eos>", eos_token_id=4), "<bos>"),
        (adopted("<s>", "</s>", "<bos>", eos_token="</s>", eos_token_id=2), "<s>"),
        (adopted("<s>", "<bos>"), None),
        (adopted("<eos>", added=("<eos>",), eos_token_id=4), None),
        (adopted("<s>", "<bos>", bos_token_id=3), "<bos>"),
        (adopted("<s>", bos_token=None), None),
        (adopted(), None),
    ],
)
def test_bos_is_named_added_by_encode_or_the_only_well_known_one(tokenizer: ForeignTokenizer, bos: str | None) -> None:
    assert tokenizer.special_tokens_map.get("bos_token") == bos


def test_the_text_of_a_token_with_only_an_id_is_decoded() -> None:
    assert adopted("</s>", eos_token_id=2).special_tokens_map["eos_token"] == "</s>"
    assert "eos_token" not in adopted(eos_token_id=97).special_tokens_map


def test_tokens_that_a_template_reads_are_missing_unless_the_object_has_the_attribute() -> None:
    assert find_unnamed_tokens(adopted("<s>", "<bos>"), {"bos_token", "pad_token"}) == ["bos_token", "pad_token"]
    assert find_unnamed_tokens(adopted("<s>"), {"bos_token"}) == []
    assert find_unnamed_tokens(adopted(bos_token=None, pad_token_id=None), {"bos_token", "pad_token"}) == []


def test_control_texts_of_any_form_are_found_in_the_template() -> None:
    template = "{{ '[gMASK]<sop>' }}]~b]{{ messages[0].content }}{{ '<|' + messages[0].role + '|>' }}"
    vocab = adopted("[gMASK]", "]~b]", "<|user|>", chat_template=template).vocab
    assert vocab.reserved_texts == vocab.control_texts == {"[gMASK]", "]~b]", "<|user|>"}
    assert dict(vocab.added_tokens) == {"[gMASK]": 6, "]~b]": 7, "<|user|>": 8}
