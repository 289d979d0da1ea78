"""The Rust library of Hugging Face: batch encoding, its errors, and the JSON of its components."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from renderers.core.lazy import lazy_pattern
from renderers.core.text import describe_type
from renderers.errors import UnencodableTextError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_SURROGATE = lazy_pattern("[\ud800-\udfff]")


def encode_batch(backend: Tokenizer, texts: list[str]) -> list[list[int]]:
    """Encode each text on its own, adding no special tokens. The call releases the GIL."""
    try:
        return [encoding.ids for encoding in backend.encode_batch_fast(texts, add_special_tokens=False)]
    except TypeError:
        for text in texts:
            check_text(text)
        raise


def check_text(text: object) -> None:
    """Raise `TypeError` or `UnencodableTextError` with the reason why the Rust library rejects a text."""
    if not isinstance(text, str):
        raise TypeError(f"a text to encode must be a str, not {describe_type(text)}") from None
    if surrogate := _SURROGATE.search(text):
        raise UnencodableTextError.at(f"character {surrogate.start()} of the text", surrogate[0]) from None


def component_json(component: Any) -> Any:
    """Return the JSON of a component of a tokenizer, such as its normalizer; None if there is no such component."""
    return None if component is None else json.loads(component.__getstate__())


def component_types(component: Any) -> list[str]:
    """Return the types of a component of a tokenizer, with sequences flattened."""
    return [] if component is None else _types_in(component_json(component))


def _types_in(state: Mapping[str, Any]) -> list[str]:
    parts = next((state[key] for key in ("normalizers", "pretokenizers", "decoders") if key in state), None)
    return [state["type"]] if parts is None else [kind for part in parts for kind in _types_in(part)]


def prepends_a_space(backend: Tokenizer) -> bool:
    """Return True if a tokenizer may add a space before a text, so that its ids depend on the text before it."""
    normalizer, pre_tokenizer = component_json(backend.normalizer), component_json(backend.pre_tokenizer)
    return "Prepend" in component_types(backend.normalizer) or _adds_a_space(normalizer) or _adds_a_space(pre_tokenizer)


def _adds_a_space(state: Any) -> bool:
    if isinstance(state, list):
        return any(map(_adds_a_space, state))
    if not isinstance(state, dict):
        return False
    scheme = state.get("prepend_scheme", "never")
    return bool(state.get("add_prefix_space")) or scheme != "never" or any(map(_adds_a_space, state.values()))
