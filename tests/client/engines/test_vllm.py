"""Fields of vLLM's responses: compact, packed and top logprobs, masks, versions of weights."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest

from renderers.client.engines.base import SampleRequest
from renderers.client.engines.vllm import VllmEngine
from renderers.errors import MalformedGenerateResponseError


def read(choice: dict[str, Any], **options: Any) -> Any:
    entry = {"token_id": 7, "logprob": -0.5, "rank": 1, "top_logprobs": []}
    base = {"index": 0, "finish_reason": "stop", "token_ids": [7], "logprobs": {"content": [entry]}}
    request = SampleRequest(prompt_ids=[1], **options)
    return VllmEngine().read_response(json.dumps({"choices": [{**base, **choice}]}).encode(), request)


def pack(code: str, values: Any) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}{code}", *values)).decode()


def compact(rows: list[dict[int, float]], **fields: Any) -> dict[str, Any]:
    ids = [token_id for row in rows for token_id in row]
    values = [logprob for row in rows for logprob in row.values()]
    data = struct.pack(f"<{len(ids)}I{len(ids)}f", *ids, *values)
    offsets = [0]
    for row in rows:
        offsets.append(offsets[-1] + len(row))
    packed = {"data": base64.b64encode(data).decode(), "format": "u32-f32-le-v1", "offsets": offsets}
    return {"compact_logprobs": {**packed, "num_top_logprobs": 3, **fields}}


def test_compact_logprobs_are_read() -> None:
    rows = [{7: -3.0, 5: -0.5, 6: -1.5}, {6: -0.25, 5: -2.0, 4: -2.5}]
    choice = {"token_ids": [7, 6], "logprobs": None, **compact(rows)}
    completion = read(choice, top_logprobs=1)
    assert completion.logprobs == [-3.0, -0.25]
    assert (completion.top_ids, completion.top_logprobs) == ([[5], [6]], [[-0.5], [-0.25]])
    assert read(choice).top_ids is None


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"format": "other"}, "format must be 'u32-f32-le-v1', not 'other'"),
        ({"offsets": [0, 2]}, "data has 6 numbers for 2 candidates"),
        ({"offsets": [0]}, "offsets must be 2 ints that start at 0"),
        ({"offsets": [0, 0]}, "offsets must increase"),
        ({"offsets": [0, True]}, "offsets must be 2 ints"),
        ({"num_top_logprobs": None}, "num_top_logprobs must be a number of tokens"),
        ({"data": "?"}, "data must be base64"),
        ({"data": "AAA="}, "data must be base64 of whole 32-bit numbers"),
    ],
)
def test_malformed_compact_logprobs_name_the_field(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(MalformedGenerateResponseError, match=text):
        read({"logprobs": None, **compact([{7: -0.5, 5: -1.0, 6: -2.0}], **fields)})


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({5: -0.5}, "has no logprob for the sampled id 7"),
        ({7: -9999.0}, "does not contain sampling evidence"),
        ({7: float("nan")}, "must be finite"),
        ({7: 1.0}, "must not be positive"),
    ],
)
def test_compact_logprobs_without_evidence_are_an_error(row: dict[int, float], text: str) -> None:
    with pytest.raises(MalformedGenerateResponseError, match=text):
        read({"logprobs": None, **compact([row])})


def test_a_sampled_token_with_two_compact_logprobs_is_an_error() -> None:
    packed = compact([{7: -0.5, 5: -1.0}])
    packed["compact_logprobs"]["data"] = base64.b64encode(struct.pack("<2I2f", 7, 7, -0.5, -1.0)).decode()
    with pytest.raises(MalformedGenerateResponseError, match="two logprobs for the id 7"):
        read({"logprobs": None, **packed})


def test_packed_logprobs_are_read() -> None:
    packed = {"data": pack("f", [-0.5, -0.25]), "shape": [2], "dtype": "float32"}
    completion = read({"token_ids": [7, 8], "logprobs": None, "completion_logprobs": packed})
    assert completion.logprobs == [-0.5, -0.25]


@pytest.mark.parametrize(
    ("packed", "text"),
    [
        ({"data": pack("f", [-0.5]), "dtype": "float64"}, "dtype must be 'float32', not 'float64'"),
        (
            {"data": pack("f", [-0.5, -1.0]), "dtype": "float32"},
            r"count \(1\) does not match logprob count \(2\)",
        ),
        ({"data": pack("f", [-9999.0])}, "does not contain sampling evidence"),
        ({"data": None}, "must be base64"),
    ],
)
def test_malformed_packed_logprobs_name_the_field(packed: dict[str, Any], text: str) -> None:
    with pytest.raises(MalformedGenerateResponseError, match=text):
        read({"logprobs": None, "completion_logprobs": packed})


def test_with_a_sampling_mask_all_allowed_tokens_are_returned() -> None:
    tops = [
        {"token_id": 7, "logprob": -0.6931},
        {"token_id": 5, "logprob": -0.6932},
        {"token_id": 4, "logprob": -9999.0},
    ]
    entry = {"token_id": 7, "logprob": -0.6931, "top_logprobs": tops}
    packed = {
        "counts": {"data": pack("i", [2]), "dtype": "int32", "shape": [1]},
        "ids": {"data": pack("i", [5, 7]), "dtype": "int32", "shape": [2]},
    }
    for mask in ([[5, 7]], packed):
        completion = read({"logprobs": {"content": [entry]}, "sampling_mask": mask}, top_logprobs=1)
        assert completion.top_ids == [[7, 5]]
        assert completion.sampling_mask == mask


@pytest.mark.parametrize(
    ("mask", "text"),
    [
        ([[5, 6]], r"sampling_mask\[0\] must contain the sampled id 7"),
        ([[7], [7]], "sampling_mask has 2 rows for 1 tokens"),
        ([[True]], r"sampling_mask\[0\]\[0\] must be a token id"),
        ([7], r"sampling_mask\[0\] must be an array"),
        ("7", "sampling_mask must be an array"),
        ({"counts": None}, "sampling_mask.counts must be an object"),
        ({"counts": {"dtype": "int64"}}, "dtype must be 'int32'"),
        (
            {"counts": {"data": pack("i", [3]), "dtype": "int32"}, "ids": {"data": pack("i", [7]), "dtype": "int32"}},
            "counts must add up",
        ),
    ],
)
def test_a_malformed_sampling_mask_names_the_field(mask: Any, text: str) -> None:
    with pytest.raises(MalformedGenerateResponseError, match=text):
        read({"sampling_mask": mask})


@pytest.mark.parametrize(
    ("tops", "text"),
    [
        (
            [{"token_id": 7, "logprob": -0.9}] + [{"token_id": i, "logprob": -5.0} for i in (1, 2, 3)],
            "has the logprobs",
        ),
        ([{"token_id": 7, "logprob": -0.5}] * 3, "repeats the id 7"),
        ([{"token": " a", "logprob": -0.5}] * 3, "must have a token id"),
        ([{"token_id": i, "logprob": -i / 10} for i in (1, 2, 3, 4)], "add up to 1.7"),
        (None, "top_logprobs must be an array"),
    ],
)
def test_malformed_top_logprobs_name_the_place(tops: Any, text: str) -> None:
    entry = {"token_id": 7, "logprob": -0.5, "top_logprobs": tops}
    with pytest.raises(MalformedGenerateResponseError, match=text):
        read({"logprobs": {"content": [entry]}}, top_logprobs=2)


@pytest.mark.parametrize(
    "version", [{"version": None, "start": 0, "end": 1}, {"version": "a", "start": 1, "end": 0}, 3]
)
def test_malformed_weight_versions_are_an_error(version: Any) -> None:
    with pytest.raises(MalformedGenerateResponseError, match=r"weight_versions\[0\] must"):
        read({"weight_versions": [version]})


def test_an_empty_completion_needs_no_logprobs() -> None:
    completion = read({"token_ids": [], "logprobs": None})
    assert (completion.token_ids, completion.logprobs) == ([], [])


def test_a_completion_that_is_shorter_than_its_usage_is_an_error() -> None:
    request = SampleRequest(prompt_ids=[1])
    choice = {"token_ids": [7], "finish_reason": "stop", "logprobs": {"content": [{"token_id": 7, "logprob": -0.5}]}}
    raw = json.dumps({"choices": [choice], "usage": {"completion_tokens": 2}}).encode()
    with pytest.raises(MalformedGenerateResponseError, match="counts 2 completion tokens, and returned 1"):
        VllmEngine().read_response(raw, request)
