"""Bad inputs raise an error of a documented kind, and the table of them in the docs is current."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from renderers import EXAMPLE_MODEL, RendererPoolError, create_renderer, load_tokenizer
from scripts.bad_inputs import PAGE, page
from tests.support.bad_inputs import CASES, try_all

REAL = ["Qwen/Qwen3-8B", "zai-org/GLM-4.5-Air", "meta-llama/Llama-3.2-1B-Instruct", "openai/gpt-oss-20b"]
KINDS = (TypeError, ValueError, OSError, ImportError, RendererPoolError)
INTERNAL = ("object has no attribute", "not subscriptable", "unhashable type", "NoneType", "not iterable", "has no len")
"""Parts of the texts of Python's own errors."""


def assert_documented(code: str, error: Exception) -> None:
    assert isinstance(error, KINDS), (code, error)
    assert str(error), code
    assert not any(part in str(error) for part in INTERNAL), (code, error)


def test_the_table_of_bad_inputs_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run make bad-inputs"


def test_every_bad_input_raises_a_documented_error() -> None:
    rows = [row for _, row in try_all(create_renderer(load_tokenizer(EXAMPLE_MODEL)))]
    assert len(rows) == len({row.code for row in rows}) == sum(map(len, CASES.values())) >= 120
    for code, error in rows:
        assert error is not None, code
        assert_documented(code, error)


@pytest.mark.parametrize("name", REAL)
def test_a_real_model_raises_a_documented_error_or_none(name: str, hub: object) -> None:
    errors = [row for _, row in try_all(create_renderer(load_tokenizer(name))) if row.error is not None]
    assert len(errors) > 400
    for code, error in errors:
        assert error is not None
        assert_documented(code, error)


def test_an_option_of_create_renderer_is_described_in_our_own_words() -> None:
    codes = [code for code in CASES["Creating a renderer"] if "Config(" not in code]
    rows = dict(row for _, row in try_all(create_renderer(load_tokenizer(EXAMPLE_MODEL))))
    assert [code for code in codes if isinstance(rows[code], ValidationError)] == []
