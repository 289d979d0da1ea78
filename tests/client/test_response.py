"""`parse_generate_response` reads JSON without decoding large base64 fields."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from renderers.client import parse_generate_response
from renderers.errors import MalformedGenerateResponseError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["data", "routed_experts", "compact_logprobs", "choices", "a"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


def plain(value: Any) -> Any:
    """Return data with texts in place of memoryviews."""
    if isinstance(value, memoryview):
        return bytes(value).decode()
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(st.sampled_from(["choices", "routed_experts", "data", "b"]), JSON, max_size=2))
def test_the_data_are_those_of_the_body(payload: dict[str, Any]) -> None:
    for raw in (json.dumps(payload).encode(), json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()):
        assert plain(parse_generate_response(raw)) == payload


def test_large_fields_are_views_of_the_body() -> None:
    blob = "A" * 1_000
    payload = {
        "choices": [
            {"routed_experts": {"data": blob, "shape": [1]}, "compact_logprobs": {"data": "BB", "format": "x"}},
            {"routed_experts": {"data": "C"}},
        ]
    }
    raw = json.dumps(payload).encode()
    parsed = parse_generate_response(raw)
    data = parsed["choices"][0]["routed_experts"]["data"]
    assert isinstance(data, memoryview)
    assert data.obj is raw
    assert plain(parsed) == payload


def test_a_text_that_looks_like_a_field_is_kept() -> None:
    payload = {"text": '"routed_experts":{"data":"AAAA"}', "choices": [{"routed_experts": {"data": "B"}}]}
    assert plain(parse_generate_response(json.dumps(payload).encode())) == payload


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff", b'{"choices": [{"routed_experts": {"data": "A"'])
def test_a_body_that_is_no_object_is_an_error(raw: bytes) -> None:
    with pytest.raises(MalformedGenerateResponseError, match="the response must be"):
        parse_generate_response(raw)
