"""The formats of the scripted server have the fields of real engines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.engine_formats import stream_events, whole_response
from tests.support.recorded import RECORDED, read_exchanges
from tests.support.scripted_server import Reply

SCHEMA = json.loads((RECORDED / "sglang-0.5.23.json").read_text(encoding="utf-8"))
VLLM = sorted(path.stem for path in RECORDED.glob("vllm-*.json"))
FINISH = {"stop": "FinishStop", "length": "FinishLength", "abort": "FinishAbort"}


@pytest.mark.parametrize("finish_reason", FINISH)
@pytest.mark.parametrize("name", ["sglang", "sglang-incremental"])
def test_responses_of_sglang_have_fields_of_its_schema(name: str, finish_reason: str) -> None:
    reply = Reply([7, 8], top=[{7: -0.5}, {8: -1.0}], finish_reason=finish_reason, chunk=1)
    body: dict[str, Any] = {"input_ids": [1]}
    for response in (whole_response(name, body, reply), *stream_events(name, body, reply)):
        assert set(response) <= set(SCHEMA["GenerateResponse"])
        assert set(response["meta_info"]) <= set(SCHEMA["GenerateMetaInfo"])
        finish = response["meta_info"]["finish_reason"]
        if finish is not None:
            assert set(finish) <= {"type", *SCHEMA[FINISH[finish["type"]]]}
        assert all(
            len(entry) == len(SCHEMA["LogprobEntry"]) for entry in response["meta_info"]["output_token_logprobs"]
        )


def assert_fields(scripted: Any, recorded: Any, path: str = "response") -> None:
    """Check that scripted data have only fields that recorded data have."""
    if isinstance(scripted, dict):
        assert set(scripted) <= set(recorded or {}), path
        for key, item in scripted.items():
            assert_fields(item, recorded[key], f"{path}.{key}")
    elif isinstance(scripted, list) and scripted and recorded:
        assert_fields(scripted[0], recorded[0], f"{path}[]")


@pytest.mark.parametrize("engine", VLLM)
@pytest.mark.parametrize("endpoint", ["generate", "completions"])
def test_responses_of_vllm_have_fields_of_recorded_ones(engine: str, endpoint: str) -> None:
    name = engine.rpartition(".")[0] if endpoint == "generate" else "completions"
    reply = Reply([7, 8, 9, 10], finish_reason="length")
    recorded = read_exchanges(engine)["generate prompt ids" if endpoint == "generate" else "completions tokens as ids"]
    assert_fields(whole_response(name, recorded.request, reply), recorded.json)
    recorded = read_exchanges(engine)[f"{endpoint} stream with usage"]
    events = stream_events(name, recorded.request, reply)
    assert_fields(events[0], recorded.events[0])
    assert_fields(events[-1], recorded.events[-2])
