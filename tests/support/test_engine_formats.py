"""The formats of the scripted server have the fields of real engines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.engine_formats import stream_events, whole_response
from tests.support.recorded import RECORDED
from tests.support.scripted_server import Reply

SCHEMA = json.loads((RECORDED / "sglang-0.5.23.json").read_text(encoding="utf-8"))
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
