"""SGLang's own schema accepts the requests that are built for it."""

from __future__ import annotations

import json
from typing import Any

from renderers.client import SampleRequest
from renderers.client.engines.sglang import SglangEngine
from tests.engine.sglang_schema import SGLANG, check_requests
from tests.support.recorded import RECORDED

PARAMS: list[dict[str, Any]] = [
    {},
    {
        "max_tokens": 16,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 20,
        "min_p": 0.1,
        "seed": 7,
        "stop_token_ids": [1, 2],
    },
    {"min_tokens": 2, "stop": ["a"], "ignore_eos": True, "repetition_penalty": 1.1, "logit_bias": {"5": 1.0}},
    {"return_routed_experts": True, "lora_path": "a", "rid": "b"},
]


def test_requests_are_accepted_by_the_schema_of_sglang(record_property: Any) -> None:
    requests = [
        SampleRequest(prompt_ids=[1, 2, 3], model="m", sampling_params=params, top_logprobs=top, stream=stream)
        for params in PARAMS
        for top in (0, 3)
        for stream in (False, True)
    ]
    bodies = [SglangEngine().build_request(request).body for request in requests]
    assert check_requests(bodies).errors == [None] * len(bodies)
    record_property("requests", len(bodies))


def test_the_schema_of_sglang_refuses_names_of_other_engines() -> None:
    [error] = check_requests([{"input_ids": [1], "sampling_params": {"max_tokens": 1}}]).errors
    assert error is not None
    assert "max_tokens" in error


def test_the_recorded_fields_are_those_of_the_schema_of_sglang() -> None:
    path = RECORDED / f"{SGLANG.replace('==', '-')}.json"
    assert json.loads(path.read_text(encoding="utf-8")) == check_requests([]).fields
