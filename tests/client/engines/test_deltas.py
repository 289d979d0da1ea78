"""Tests of `renderers.client.engines.deltas`."""

from __future__ import annotations

import json
from typing import Any

from renderers.client.engines.base import SampleRequest
from renderers.client.engines.deltas import DeltaReader
from renderers.client.engines.sglang import SglangEngine


def test_lists_are_extended_in_place_so_that_long_streams_are_read_in_linear_time() -> None:
    reader = DeltaReader(lambda payload: None)  # type: ignore[arg-type, return-value]
    lists = []
    for number in range(3):
        logprobs = {"content": [{"token_id": number, "logprob": -0.5}]}
        choice = {"token_ids": [number], "logprobs": logprobs, "sampling_mask": [[number]]}
        reader.feed(json.dumps({"choices": [choice]}))
        joined = reader._choice
        lists.append([joined["token_ids"], joined["logprobs"]["content"], joined["sampling_mask"]])
    for first, last in zip(lists[0], lists[-1], strict=True):
        assert first is last
        assert len(last) == 3


def test_lists_of_an_incremental_sglang_server_are_extended_in_place() -> None:
    reader: Any = SglangEngine().open_stream(SampleRequest(prompt_ids=[1]))
    lists = []
    for number in range(3):
        meta = {"completion_tokens": number + 1, "output_token_logprobs": [[-0.5, number, None]]}
        reader.feed(json.dumps({"output_ids": [number], "meta_info": meta}))
        lists.append(reader._per_token["output_token_logprobs"])
    assert lists[0] is lists[-1]
    assert len(lists[-1]) == 3
