"""Evidence about a server that does not come from our client: scores, running requests, prompts."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Sequence
from typing import Any

from tests.engine.server import EngineServer

__all__ = ["assert_logprobs_match", "post", "wait_until_idle"]

_TOLERANCE = 1e-2
"""Sampling and scoring add in another order."""
_IDLE_SECONDS = 60


def post(server: EngineServer, path: str, body: Any) -> Any:
    """Post JSON, and return the JSON of the response."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(server.url + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


def assert_logprobs_match(
    server: EngineServer,
    prompt_ids: Sequence[int],
    completion_ids: Sequence[int],
    logprobs: Sequence[float],
    *,
    only: Sequence[bool] | None = None,
) -> None:
    """Check the logprobs of a completion, or of some of its tokens: the engine scores the tokens again, as a prompt."""
    ids = [*prompt_ids, *completion_ids]
    params = {"max_tokens": 1, "prompt_logprobs": 0}
    body = {"model": server.model, "token_ids": ids, "sampling_params": params}
    scores = post(server, "/inference/v1/generate", body)["prompt_logprobs"][len(prompt_ids) :]
    assert len(logprobs) == len(completion_ids) == len(scores)
    for position, (token, logprob, score) in enumerate(zip(completion_ids, logprobs, scores, strict=True)):
        if only is None or only[position]:
            assert abs(score[str(token)]["logprob"] - logprob) < _TOLERANCE


def wait_until_idle(server: EngineServer) -> None:
    """Wait until the server has no request. Fail if it keeps one."""
    deadline = time.monotonic() + _IDLE_SECONDS
    while _running_requests(server):
        assert time.monotonic() < deadline, "the server still runs a request that was cancelled"
        time.sleep(0.2)


def _running_requests(server: EngineServer) -> float:
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=30) as response:
        text = response.read().decode()
    pattern = r"^vllm:num_requests_(?:running|waiting)\{[^}]*\} (\S+)$"
    counts = re.findall(pattern, text, re.MULTILINE)
    assert counts, "the server reports no number of requests"
    return sum(map(float, counts))
