"""Facts about the components of a tokenizer."""

from __future__ import annotations

import itertools
import unicodedata

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from renderers.tokenizer.engines.huggingface import NFC_KEEPS, prepends_a_space


def test_characters_that_nfc_keeps_are_neither_changed_nor_composed() -> None:
    characters = [chr(code) for code in range(0x110000) if NFC_KEEPS.fullmatch(chr(code))]
    assert len(characters) > 30_000
    decompositions = (unicodedata.decomposition(chr(code)) for code in range(0x110000))
    pairs = [entry.split() for entry in decompositions if entry and not entry.startswith("<")]
    second = {chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2}
    # A virama is a mark, and the only one of its class here, so marks cannot change places.
    assert {unicodedata.combining(character) for character in characters} <= {0, 9}
    assert second.isdisjoint(characters)
    normalize = normalizers.NFC().normalize_str
    for start in range(0, len(characters), 500):
        some = characters[start : start + 500]
        text = "".join(itertools.chain.from_iterable(zip(some, some[::-1], strict=True)))
        assert normalize(text) == text


def test_a_space_may_come_from_a_normalizer_or_a_pre_tokenizer() -> None:
    backend = Tokenizer(models.BPE())
    assert not prepends_a_space(backend)
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.ByteLevel(add_prefix_space=True)])
    assert prepends_a_space(backend)
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    assert not prepends_a_space(backend)
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    assert prepends_a_space(backend)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.normalizer = normalizers.Prepend("▁")
    assert prepends_a_space(backend)
