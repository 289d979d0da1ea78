"""Choose the engine of a server: by its name, or by the models that the server lists."""

from __future__ import annotations

from typing import Any

from renderers.client.engines.base import InferenceEngine
from renderers.client.engines.openai_completions import OpenAICompletionsEngine
from renderers.client.engines.sglang import SglangEngine
from renderers.client.engines.vllm import VllmEngine
from renderers.core.text import describe_type

__all__ = ["ENGINES", "engine_of_server", "find_engine"]

_ALL: tuple[InferenceEngine, ...] = (VllmEngine(), SglangEngine(), OpenAICompletionsEngine())
ENGINES = {engine.name: engine for engine in _ALL}
"""The engines by name."""


def find_engine(engine: str | InferenceEngine) -> InferenceEngine:
    """Return an engine by its name, or an object that is one.

    Raises:
        TypeError: The object lacks a method of `InferenceEngine`, or is a class.
        ValueError: There is no engine of that name.

    >>> find_engine("vllm").name
    'vllm'
    """
    if isinstance(engine, str):
        if engine not in ENGINES:
            names = ", ".join(map(repr, ("auto", *ENGINES)))
            raise ValueError(f"engine must be one of {names} or an InferenceEngine, not {engine!r}")
        return ENGINES[engine]
    if isinstance(engine, type):
        raise TypeError(f"engine must be an object, not a class. Pass {engine.__name__}().")
    if not isinstance(engine, InferenceEngine):
        raise TypeError(f"engine must have the methods of InferenceEngine, unlike {describe_type(engine)}")
    return engine


def engine_of_server(models: Any) -> InferenceEngine | None:
    """Return the engine that `/v1/models` names as the owner of its models. None if it names another owner.

    >>> engine_of_server({"data": [{"id": "a", "owned_by": "vllm"}]}).name
    'vllm'
    """
    cards = models.get("data") if isinstance(models, dict) else None
    owners = (card.get("owned_by") for card in cards if isinstance(card, dict)) if isinstance(cards, list) else ()
    return next((ENGINES[owner] for owner in owners if isinstance(owner, str) and owner in ENGINES), None)
