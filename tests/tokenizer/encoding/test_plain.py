"""An encoder without control tokens shares its vocabulary, keeps layout, and refuses what it cannot do."""

from __future__ import annotations

import pytest
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from renderers.tokenizer.encoding.piece_cache import unpack_ids
from renderers.tokenizer.encoding.plain import PlainEncoder
from tests.support.standin import byte_tokenizer


def encoder(backend: Tokenizer, *reserved: str) -> PlainEncoder:
    ids = {text: backend.token_to_id(text) for text in reserved}
    known = {text: number for text, number in ids.items() if number}
    return PlainEncoder(backend, None, reserved=known, isolated=frozenset())


def test_reserved_texts_become_ordinary_tokens_and_the_rest_keeps_its_ids() -> None:
    backend = byte_tokenizer(["<end>"])
    backend.add_tokens([AddedToken("\n\n", normalized=False)])
    assert backend.encode("a<end>\n\n").ids == [97, 256, 257]
    plain = encoder(backend, "<end>")
    assert list(unpack_ids(plain.encode(["a<end>\n\n"], first={0})[0])) == [97, *b"<end>", 257]
    places = plain.places("a<end>\n\n", first=False)
    assert (places.starts[-1], places.ends[-1]) == (6, 8)
    assert backend.encode("<end>").ids == [256]


def test_only_the_first_text_has_the_space_that_a_first_text_gets() -> None:
    backend = Tokenizer(models.BPE({"▁": 0, "a": 1}, []))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    backend.add_special_tokens([AddedToken("<end>", normalized=False)])
    assert backend.encode("a<end>a").ids == [0, 1, 2, 1]
    plain = encoder(backend, "<end>")
    assert [list(unpack_ids(piece)) for piece in plain.encode(["a", "a"], first={0})] == [[0, 1], [1]]
    assert [list(unpack_ids(piece)) for piece in plain.encode(["a", "a"], first=())] == [[1], [1]]


def test_a_vocabulary_that_comes_to_a_control_token_by_itself_is_refused() -> None:
    backend = Tokenizer(models.WordLevel({"<end>": 1, "a": 0, "?": 2}, unk_token="?"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens([AddedToken("<end>", normalized=False)])
    with pytest.raises(TypeError, match="no encoding of '<end>' but its special token"):
        encoder(backend, "<end>")
