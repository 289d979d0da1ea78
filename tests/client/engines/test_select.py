"""An engine is chosen by its name, by an object, or by the models of a server."""

from __future__ import annotations

from typing import Any

import pytest

from renderers.client.engines.select import ENGINES, engine_of_server, find_engine
from renderers.client.engines.vllm import VllmEngine


def test_an_engine_is_found_by_name_and_passed_as_an_object() -> None:
    assert list(ENGINES) == ["vllm", "sglang", "openai_completions"]
    for name, engine in ENGINES.items():
        assert find_engine(name) is find_engine(engine) is engine


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'auto', 'vllm', 'sglang', 'openai_completions' or an .* not 'v'"):
        find_engine("v")


def test_another_object_is_an_error() -> None:
    with pytest.raises(TypeError, match="must have the methods of InferenceEngine, unlike an int"):
        find_engine(3)  # type: ignore[arg-type]


def test_a_class_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"must be an object, not a class\. Pass VllmEngine\(\)"):
        find_engine(VllmEngine)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("models", "name"),
    [
        ({"data": [{"id": "a", "owned_by": "vllm"}]}, "vllm"),
        ({"data": [{"id": "a", "owned_by": "me"}, {"id": "b", "owned_by": "sglang"}]}, "sglang"),
        ({"data": [{"id": "a", "owned_by": "me"}]}, None),
        ({"data": [{"id": "a", "owned_by": ["vllm"]}, "b"]}, None),
        ({"data": None}, None),
        ([], None),
    ],
)
def test_a_server_names_its_engine(models: Any, name: str | None) -> None:
    engine = engine_of_server(models)
    assert (engine and engine.name) == name
