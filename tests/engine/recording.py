"""The requests that are recorded with each version of vLLM."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

from renderers import create_renderer, load_tokenizer
from tests.engine.installation import MODEL, TOKENIZER
from tests.engine.server import EngineServer
from tests.support.recorded import Exchange

__all__ = ["CONTEXT_LENGTH", "record_all", "record_disabled", "send"]

Data = dict[str, Any]

CONTEXT_LENGTH = 128
"""The maximum number of tokens of the recorded server. Small, so that an overlong prompt is short."""
_GENERATE = "/inference/v1/generate"
_COMPLETIONS = "/v1/completions"
_TURN = (
    "<think>\nLook it up.\n</think>\n\n"
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call><|im_end|>'
)


def record_all(server: EngineServer) -> Iterator[Exchange]:
    """Send all requests to a server with the scale-out endpoints."""
    yield send(server, "models", "/v1/models")
    for name, body in _generate_bodies().items():
        yield send(server, f"generate {name}", _GENERATE, body)
    for name, body in _completions_bodies().items():
        yield send(server, f"completions {name}", _COMPLETIONS, body)
    yield send(server, "abort", "/inference/v1/abort_requests", {"request_ids": ["recorded"]})


def record_disabled(server: EngineServer) -> Iterator[Exchange]:
    """Send a request to a server without the scale-out endpoints."""
    yield send(server, "generate disabled", _GENERATE, _generate_bodies()["length"])


def _generate_bodies() -> dict[str, Data]:
    prompt, turn, stops = _ids()
    greedy: Data = {"max_tokens": 4, "temperature": 0, "logprobs": 1}

    def body(sampling_params: Data, **fields: Any) -> Data:
        return {
            "model": MODEL,
            "request_id": "recorded",
            "token_ids": prompt,
            "sampling_params": sampling_params,
            **fields,
        }

    def forced(ids: list[int], **sampling_params: Any) -> Data:
        params = {"max_tokens": 64, "logprobs": 1, "stop_token_ids": stops, **sampling_params}
        return {**params, "extra_args": {"forced_ids": ids}}

    with_usage = {"stream": True, "stream_options": {"include_usage": True}, "return_token_ids": True}
    return {
        "length": body(greedy),
        "top logprobs": body({**greedy, "logprobs": 3}),
        "no logprobs": body({"max_tokens": 4, "temperature": 0}),
        "logprobs 0": body({**greedy, "logprobs": 0}),
        "prompt ids": body(greedy, return_token_ids=True),
        "several choices": body({**greedy, "n": 2, "temperature": 1, "seed": 1}),
        "tool call": body(forced(turn)),
        "cut tool call": body(forced(turn, max_tokens=20)),
        "end of sequence": body({**forced(turn[-3:]), "stop_token_ids": []}),
        "stop token": body(forced([*turn[:3], stops[1]])),
        "id beyond the tokenizer": body(forced([151_900, stops[0]])),
        "stream": body(greedy, stream=True),
        "stream with usage": body(greedy, **with_usage),
        "stream of a tool call": body(forced(turn), **with_usage),
        "overlong": {**body(greedy), "token_ids": [0] * (CONTEXT_LENGTH + 1)},
        "full context": {**body(greedy), "token_ids": [0] * (CONTEXT_LENGTH - 2)},
        "overlong stream": {**body(greedy, stream=True), "token_ids": [0] * (CONTEXT_LENGTH + 1)},
        "unknown model": body(greedy) | {"model": "unknown"},
        "id out of vocabulary": body(greedy) | {"token_ids": [999_999]},
        "empty prompt": body(greedy) | {"token_ids": []},
        "negative id": body(greedy) | {"token_ids": [-1]},
        "bad sampling parameter": body({**greedy, "temperature": -1}),
        "no sampling parameters": {"model": MODEL, "token_ids": prompt},
    }


def _completions_bodies() -> dict[str, Data]:
    prompt, turn, stops = _ids()
    plain: Data = {
        "model": MODEL,
        "prompt": prompt,
        "max_tokens": 4,
        "temperature": 0,
        "logprobs": 1,
        "return_token_ids": True,
    }
    forced = {**plain, "max_tokens": 64, "stop_token_ids": stops, "vllm_xargs": {"forced_ids": turn}}
    return {
        "length": plain,
        "tokens as ids": {**plain, "return_tokens_as_token_ids": True},
        "top logprobs": {**plain, "logprobs": 3, "return_tokens_as_token_ids": True},
        "no logprobs": {key: value for key, value in plain.items() if key != "logprobs"},
        "tool call": {**forced, "return_tokens_as_token_ids": True, "skip_special_tokens": False},
        "stream": {**plain, "stream": True},
        "stream with usage": {
            **plain,
            "return_tokens_as_token_ids": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        },
        "overlong": {**plain, "prompt": [0] * (CONTEXT_LENGTH + 1)},
        "unknown model": {**plain, "model": "unknown"},
        "id out of vocabulary": {**plain, "prompt": [999_999]},
    }


def _ids() -> tuple[list[int], list[int], list[int]]:
    """Return the ids of a prompt and of a turn, and the stop tokens."""
    renderer = create_renderer(load_tokenizer(TOKENIZER))
    prompt = renderer.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    turn = renderer.tokenizer.encode(_TURN, add_special_tokens=False)
    return prompt, turn, renderer.get_stop_token_ids()


def send(server: EngineServer, name: str, path: str, body: Data | None = None) -> Exchange:
    """Send a request, with GET if it has no body, and return it with the response."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server.url + path, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            status, headers, text = response.status, response.headers, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            status, headers, text = error.code, error.headers, error.read().decode()
    return Exchange(
        name=name,
        method="GET" if body is None else "POST",
        path=path,
        request=body,
        status=status,
        content_type=headers.get("content-type", ""),
        body=text,
    )
