"""`InferenceClient` samples over HTTP, and every fault is an error of its own class."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import errno
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from renderers.client import Completion, InferenceClient, generate, stream
from renderers.client import faults as faults_module
from renderers.client import server_models as server_models_module
from renderers.client import transport as transport_module
from renderers.client.engines.base import SampleRequest
from renderers.errors import (
    EngineConnectionError,
    EngineDisconnectedError,
    EngineError,
    EngineStatusError,
    EngineStreamError,
    EngineTimeoutError,
    MalformedGenerateResponseError,
    OverlongPromptError,
)
from renderers.rollout import Rollout
from tests.client.test_generate import HI, RENDERER, MinimalRenderer, encode
from tests.support.scripted_server import Reply, ScriptedServer, serve

T = TypeVar("T")


def run(server: ScriptedServer, use: Callable[[InferenceClient], Awaitable[T]], **options: Any) -> T:
    """Use a client of a server in an event loop."""

    async def call() -> T:
        async with InferenceClient(server.base_url, **options) as client:
            return await use(client)

    return asyncio.run(call())


def sample(server: ScriptedServer, prompt_ids: Any = (1, 2, 3), **options: Any) -> Completion:
    return run(server, lambda client: client.sample(prompt_ids), **options)


async def collect(client: InferenceClient, **options: Any) -> list[Any]:
    return [item async for item in client.stream([1, 2, 3], **options)]


@pytest.fixture(autouse=True)
def _without_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults_module, "_FIRST_DELAY", 0.001)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def test_a_completion_has_everything_that_the_server_returned() -> None:
    with serve(ScriptedServer([Reply([7, 8], finish_reason="length")])) as server:
        completion = sample(server, engine="vllm", model="test-model", api_key="key", headers={"X-Run": "1"})
    assert (completion.token_ids, completion.logprobs, completion.finish_reason) == ([7, 8], [-0.5, -1.0], "length")
    assert completion.is_truncated
    assert completion.request_id == "generate-tokens-scripted"
    assert completion.weight_versions == (("default", 0, 2),)
    assert completion.usage is not None
    assert completion.usage["total_tokens"] == 5
    assert completion.extras == {"model": "test-model", "created": 1794767444, "output_mode": "tokens"}
    (request,) = server.requests
    assert request.body["model"] == "test-model"
    assert (request.headers["authorization"], request.headers["x-run"]) == ("Bearer key", "1")


def test_options_of_a_request_reach_the_engine() -> None:
    with serve(ScriptedServer([Reply([7])])) as server:
        run(
            server,
            lambda client: client.sample(
                [1], sampling_params={"max_tokens": 5}, model="other", cache_salt="s", priority=1, headers={"X-A": "b"}
            ),
            engine="vllm",
        )
    (request,) = server.requests
    assert request.headers["x-a"] == "b"
    assert request.body == {
        "model": "other",
        "token_ids": [1],
        "cache_salt": "s",
        "priority": 1,
        "sampling_params": {"max_tokens": 5, "logprobs": 1, "skip_special_tokens": False},
    }


def test_the_address_may_end_in_v1() -> None:
    with serve(ScriptedServer([Reply([7])])) as server:

        async def call() -> Completion:
            async with InferenceClient(f"{server.base_url}/v1/", engine="vllm") as client:
                return await client.sample([1])

        assert asyncio.run(call()).token_ids == [7]


def test_the_engine_and_the_context_length_are_found_with_one_request() -> None:
    async def use(client: InferenceClient) -> tuple[str, int | None]:
        first, second, length = await asyncio.gather(client.engine(), client.engine(), client.context_length())
        assert first is second
        return first.name, length

    with serve(ScriptedServer([], max_model_len=77)) as server:
        assert run(server, use) == ("vllm", 77)
    assert [request.path for request in server.requests] == ["/v1/models"]


def test_requests_that_wait_for_the_engine_share_a_failed_lookup() -> None:
    server = ScriptedServer([], models=Reply(status=429))

    async def call() -> list[Any]:
        async with server.running(), InferenceClient(server.base_url, retries=2) as client:
            return await asyncio.gather(*(client.sample([1]) for _ in range(8)), return_exceptions=True)

    asyncio.run(call())
    assert [request.method for request in server.requests] == ["GET"] * 3 + ["POST"] * 8


def test_an_unknown_engine_is_an_error_that_names_the_option() -> None:
    with serve(ScriptedServer([], owned_by="someone")) as server, pytest.raises(EngineError, match="Pass engine="):
        sample(server)
    assert server.samples == []


@pytest.mark.parametrize("models", [Reply(status=500), Reply(status=404), Reply(raw=b"<html>"), Reply(reset=True)])
def test_without_a_list_of_models_the_engine_is_vllm(models: Reply, caplog: pytest.LogCaptureFixture) -> None:
    async def use(client: InferenceClient) -> list[int]:
        first = await client.sample([1])
        return first.token_ids + (await client.sample([1])).token_ids

    with serve(ScriptedServer([Reply([7]), Reply([8])], models=models)) as server:
        assert run(server, use, retries=0) == [7, 8]
    assert [request.path for request in server.requests] == ["/v1/models", *["/inference/v1/generate"] * 2]
    (record,) = caplog.records
    assert f"{server.base_url}: the engine is unknown, so vLLM is tried first. Pass engine=." in record.getMessage()


@pytest.mark.parametrize("use_stream", [False, True])
def test_without_a_list_of_models_sglang_is_found_by_its_endpoint(
    use_stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport_module, "MODELS_TIMEOUT", 0.05)

    async def use(client: InferenceClient) -> str:
        for _ in range(2):
            completion = (await collect(client))[-1] if use_stream else await client.sample([1, 2, 3])
            assert completion.token_ids == [7, 8]
        return (await client.engine()).name

    script = [Reply([7, 8])] * 2
    with serve(ScriptedServer(script, formats=["sglang"], owned_by="sglang", models=Reply(delay=60))) as server:
        assert run(server, use, retries=0) == "sglang"
    paths = [request.path for request in server.requests]
    assert paths == ["/v1/models", "/inference/v1/generate", "/generate", "/generate"]


def test_without_an_endpoint_the_error_is_that_of_vllm() -> None:
    server = ScriptedServer([], formats=["completions"], models=Reply(status=404))
    with serve(server), pytest.raises(EngineStatusError, match="HTTP status 404: Not Found") as caught:
        sample(server)
    assert caught.value.url == f"{server.base_url}/inference/v1/generate"
    assert [request.path for request in server.requests][1:] == ["/inference/v1/generate", "/generate"]


@pytest.mark.parametrize("status", [400, 403, 500])
def test_another_engine_is_not_tried_after_a_status_of_the_endpoint(status: int) -> None:
    server = ScriptedServer([Reply(status=status), Reply([7])], models=Reply(status=404))
    with serve(server), pytest.raises(EngineStatusError, match=f"HTTP status {status}"):
        sample(server)
    assert [request.path for request in server.requests] == ["/v1/models", "/inference/v1/generate"]


def test_media_are_sent_to_vllm_only() -> None:
    request = SampleRequest(prompt_ids=[1], content_parts=[{"type": "image_url"}])
    server = ScriptedServer([], formats=["sglang"], models=Reply(status=404))
    with serve(server), pytest.raises(EngineStatusError, match="HTTP status 404"):
        run(server, lambda client: client.sample_request(request, None))
    assert [request.path for request in server.requests] == ["/v1/models", "/inference/v1/generate"]


def test_an_unknown_model_of_vllm_is_not_looked_for_in_sglang() -> None:
    message = "The model `other` does not exist."
    with serve(ScriptedServer([Reply(status=404, message=message)])) as server:
        with pytest.raises(EngineStatusError, match=message):
            sample(server, model="other")
        with pytest.raises(EngineStatusError, match="no more replies"):
            sample(server, model="other")
    assert [request.path for request in server.requests].count("/generate") == 0


def test_a_failed_list_of_models_is_requested_once_for_the_engine_and_the_context_length() -> None:
    with serve(ScriptedServer([Reply(encode("Hello!<|end|>"))], models=Reply(status=500))) as server:
        run(server, lambda client: generate(client=client, renderer=RENDERER, messages=HI), retries=0)
    assert [request.path for request in server.requests] == ["/v1/models", "/inference/v1/generate"]


def test_the_engine_is_detected_later_if_the_list_of_models_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_models_module, "RECENT", -1.0)
    server = ScriptedServer([], owned_by="sglang", models=Reply(status=404))

    async def use(client: InferenceClient) -> list[str]:
        names = [(await client.engine()).name, (await client.engine()).name]
        server._models = None
        return [*names, (await client.engine()).name]

    with serve(server):
        assert run(server, use) == ["vllm", "vllm", "sglang"]


def test_without_a_connection_the_engine_is_not_the_reason() -> None:
    async def call() -> None:
        async with InferenceClient(f"http://127.0.0.1:{free_port()}", retries=0) as client:
            await client.sample([1])

    with pytest.raises(EngineConnectionError, match="no connection"):
        asyncio.run(call())


def test_the_list_of_models_has_a_short_timeout_of_its_own(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(transport_module, "MODELS_TIMEOUT", 0.05)
    models = Reply(delay=60)
    with serve(ScriptedServer([Reply([7])], models=models)) as server:
        assert sample(server, timeout=None, retries=1).token_ids == [7]
    assert caplog.messages[0].endswith("no response within 0.05 seconds (ReadTimeout)")
    assert [request.method for request in server.requests] == ["GET", "GET", "POST"]


def test_generate_accepts_an_inference_client() -> None:
    with serve(ScriptedServer([Reply(encode("Hello!<|end|>"))])) as server:
        result = run(server, lambda client: generate(client=client, renderer=RENDERER, messages=HI), model="test-model")
    assert (result["content"], result["finish_reason"]) == ("Hello!", "stop")
    assert server.samples[0]["model"] == "test-model"


# ==================
# Faults
# ==================


FAULTS: list[tuple[Reply, type[EngineError], str]] = [
    (Reply(status=400, message="bad value"), EngineStatusError, "HTTP status 400: bad value"),
    (Reply(status=404, message="no model `x`"), EngineStatusError, "HTTP status 404: no model `x`"),
    (Reply(status=500, raw=b"<html>"), EngineStatusError, "HTTP status 500: '<html>'"),
    (Reply(status=503), EngineStatusError, "HTTP status 503: scripted failure"),
    (Reply(status=502, raw=b""), EngineStatusError, "HTTP status 502: the response is empty"),
    (Reply(reset=True), EngineDisconnectedError, "the connection was lost after the request was sent"),
    (Reply([7], delay=5), EngineTimeoutError, "no response within 0.2 seconds"),
]
"""Faults before a response, with the error of each."""
FAULTS_IN_A_BODY: list[tuple[Reply, type[EngineError], str]] = [
    (Reply([7], cut_after=20), EngineDisconnectedError, "the connection was lost after the request was sent"),
    (Reply([7], cut_after=20, reset=True), EngineDisconnectedError, "the connection was lost"),
    (Reply([7, 8], [-0.5]), MalformedGenerateResponseError, "does not match logprob count"),
    (Reply(raw=b"{"), MalformedGenerateResponseError, "the response must be JSON"),
    (Reply(headers={"Content-Encoding": "gzip"}), MalformedGenerateResponseError, "not have its Content-Encoding"),
]
FAULTS_IN_A_STREAM: list[tuple[Reply, type[EngineError], str]] = [
    (Reply([7, 8, 9], events=1), EngineStreamError, "the stream ended after 2 tokens, before the completion did"),
    (Reply([7, 8, 9], events=0), EngineStreamError, "the stream ended after 0 tokens"),
    (
        Reply([7, 8, 9], events=1, stream_error="CUDA error"),
        EngineStreamError,
        "the engine reported an error in the stream: CUDA error",
    ),
    (Reply([7, 8, 9], events=1, reset=True), EngineDisconnectedError, "the connection was lost"),
    (Reply([7, 8, 9], event_delay=5), EngineTimeoutError, "no response within"),
    (Reply([7, 8], choice={"logprobs": None}), MalformedGenerateResponseError, "must be an object, not None"),
    (Reply([7, 8], [-0.5, float("nan")]), MalformedGenerateResponseError, "must be finite"),
    (Reply(raw=b"data: {\n\n"), MalformedGenerateResponseError, "must be JSON"),
    (Reply(raw=b"data: 3\n\n"), MalformedGenerateResponseError, "must be an object"),
]


def check_fault(reply: Reply, kind: type[EngineError], text: str, use: Callable[[InferenceClient], Any]) -> None:
    """Check the error of a fault, and that the request was sent once."""
    timeout = 0.2 if reply.delay or reply.event_delay else 30
    with serve(ScriptedServer([reply, Reply([7])])) as server, pytest.raises(kind, match=text) as caught:
        run(server, use, engine="vllm", timeout=timeout)
    assert len(server.samples) == 1
    assert isinstance(caught.value, EngineError)
    assert caught.value.url == f"{server.base_url}/inference/v1/generate"


@pytest.mark.parametrize(("reply", "kind", "text"), FAULTS + FAULTS_IN_A_BODY)
def test_a_fault_is_an_error_of_its_class_and_the_request_is_not_sent_again(
    reply: Reply, kind: type[EngineError], text: str
) -> None:
    check_fault(reply, kind, text, lambda client: client.sample([1, 2, 3]))


@pytest.mark.parametrize(("reply", "kind", "text"), FAULTS + FAULTS_IN_A_STREAM)
def test_a_stream_that_fails_has_no_completion(reply: Reply, kind: type[EngineError], text: str) -> None:
    items: list[Any] = []

    async def use(client: InferenceClient) -> None:
        items.extend([item async for item in client.stream([1])])

    check_fault(reply, kind, text, use)
    assert not any(isinstance(item, Completion) for item in items)


def test_a_refused_connection_is_tried_again_until_the_server_runs() -> None:
    server = ScriptedServer([Reply([7])])
    server._port = free_port()

    async def call() -> Completion:
        async with InferenceClient(server.base_url, engine="vllm", retries=200) as client:
            pending = asyncio.ensure_future(client.sample([1]))
            await asyncio.sleep(0.05)
            async with server.running():
                return await pending

    assert asyncio.run(call()).token_ids == [7]


def test_without_a_server_there_is_an_error_with_the_number_of_attempts() -> None:
    async def call() -> None:
        async with InferenceClient(f"http://127.0.0.1:{free_port()}", engine="vllm", retries=2) as client:
            await client.sample([1])

    with pytest.raises(EngineConnectionError, match="no connection") as caught:
        asyncio.run(call())
    assert caught.value.__notes__ == ["Failed after 3 attempts."]


def test_an_error_has_the_reason_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **options: Any) -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    async def call() -> None:
        async with InferenceClient("http://127.0.0.1:9", engine="vllm", retries=0) as client:
            monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", fail)
            await client.sample([1])

    with pytest.raises(EngineConnectionError, match="Too many open files"):
        asyncio.run(call())


@pytest.mark.parametrize(
    "refusal",
    [
        Reply(status=429),
        Reply(status=429, headers={"Retry-After": "0"}),
        Reply(status=503, headers={"Retry-After": "0"}),
    ],
)
def test_a_refused_request_is_sent_again(refusal: Reply) -> None:
    with serve(ScriptedServer([refusal, refusal, Reply([7])])) as server:
        assert sample(server, engine="vllm", retries=2).token_ids == [7]
    assert len(server.samples) == 3


@pytest.mark.parametrize("retries", [-1, 1.5, True, None])
def test_a_number_of_retries_must_be_an_int_from_0_on(retries: Any) -> None:
    with pytest.raises(ValueError, match=f"retries must be an int from 0 on, not {retries}"):
        InferenceClient("http://localhost:8000", retries=retries)


def test_retries_are_limited() -> None:
    with (
        serve(ScriptedServer([Reply(status=429)] * 9)) as server,
        pytest.raises(EngineStatusError, match="HTTP status 429") as caught,
    ):
        sample(server, engine="vllm", retries=2)
    assert len(server.samples) == 3
    assert caught.value.__notes__ == ["Failed after 3 attempts."]


def test_the_client_does_not_wait_longer_than_its_limit() -> None:
    refusal = Reply(status=503, headers={"Retry-After": "3600"})
    with serve(ScriptedServer([refusal])) as server, pytest.raises(EngineStatusError) as caught:
        sample(server, engine="vllm")
    assert caught.value.retry_after == 3600


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 3 tokens. However, your request has 3 input tokens.",
        "The decoder prompt (length 3) is longer than the maximum model length of 2. Make sure that it is not.",
        "The input (3 tokens) is longer than the model's context length (2 tokens).",
        "Input length (3 tokens) exceeds the maximum allowed length (2 tokens). Use a shorter input.",
        "Requested token count exceeds the model's maximum context length of 2 tokens. You requested 5 tokens.",
        "The prompt (total length 3) is too long to fit into the model (context length 2).",
    ],
)
def test_a_prompt_that_the_server_refuses_for_its_length_is_overlong(message: str) -> None:
    with (
        serve(ScriptedServer([Reply(status=400, message=message)])) as server,
        pytest.raises(OverlongPromptError, match=r"Prompt length \(3\) exceeds maximum context length") as caught,
    ):
        sample(server, engine="vllm")
    assert message in str(caught.value.__cause__)


@pytest.mark.parametrize("prompt_length", [3, 1])
def test_a_stream_can_report_that_the_prompt_is_too_long(prompt_length: int) -> None:
    message = "The decoder prompt (length 3) is longer than the maximum model length of 2."
    kind = OverlongPromptError if prompt_length == 3 else EngineStreamError
    with serve(ScriptedServer([Reply([7], events=0, stream_error=message)])) as server, pytest.raises(kind) as caught:
        run(server, lambda client: anext(client.stream([1] * prompt_length)), engine="vllm")
    assert message in str(caught.value.__cause__ or caught.value)


@pytest.mark.parametrize("prompt_length", [3, 1])
def test_a_stream_of_sglang_can_report_that_the_prompt_is_too_long(prompt_length: int) -> None:
    message = "Input length (3 tokens) exceeds the maximum allowed length (2 tokens)."
    kind = OverlongPromptError if prompt_length == 3 else EngineStreamError
    reply = Reply(finish_reason="abort", abort_status=400, message=message)
    with serve(ScriptedServer([reply])) as server, pytest.raises(kind) as caught:
        run(server, lambda client: anext(client.stream([1] * prompt_length)), engine="sglang")
    assert message in str(caught.value.__cause__ or caught.value)


def test_a_stream_ends_with_its_last_event_although_the_connection_stays_open() -> None:
    chunk = b'{"choices": [{"index": 0, "token_ids": [], "finish_reason": "stop"}]}'
    raw = b"data: " + chunk + b"\n\ndata: [DONE]\n\n"
    reply = Reply(raw=raw, headers={"Content-Type": "text/event-stream", "Content-Length": str(len(raw) + 9)})
    with serve(ScriptedServer([reply])) as server:
        (completion,) = run(server, collect, engine="vllm", timeout=30)
    assert completion.token_ids == []


def test_the_connection_of_a_stream_is_used_again() -> None:
    server = ScriptedServer([Reply([7, 8, 9])] * 3)

    async def call() -> int:
        async with server.running(), InferenceClient(server.base_url, engine="vllm") as client:
            for _ in range(3):
                await collect(client)
            return len(server._connections)

    assert asyncio.run(call()) == 1


def test_too_many_requested_tokens_are_not_an_overlong_prompt() -> None:
    message = "'max_tokens' is too large: 500. This model's maximum context length is 100 tokens."
    with serve(ScriptedServer([Reply(status=400, message=message)])) as server, pytest.raises(EngineStatusError):
        sample(server, engine="vllm")


def test_a_server_that_restarts_loses_a_request_and_serves_the_next_one() -> None:
    server = ScriptedServer([Reply([7], delay=5), Reply([8])])

    async def call() -> Completion:
        await server.start()
        async with InferenceClient(server.base_url, engine="vllm") as client:
            pending = asyncio.ensure_future(client.sample([1]))
            while not server.samples:
                await asyncio.sleep(0.01)
            await server.stop()
            with pytest.raises(EngineDisconnectedError):
                await pending
            async with server.running():
                return await client.sample([1])

    assert asyncio.run(call()).token_ids == [8]


def test_a_cancelled_request_closes_its_connection() -> None:
    server = ScriptedServer([Reply([7], delay=60), Reply([8])])

    async def call() -> Completion:
        async with server.running(), InferenceClient(server.base_url, engine="vllm") as client:
            pending = asyncio.ensure_future(client.sample([1]))
            while not server.samples:
                await asyncio.sleep(0.01)
            pending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await pending
            return await client.sample([1])

    assert asyncio.run(call()).token_ids == [8]


# ==================
# Streams
# ==================


@pytest.mark.parametrize("format_name", ["vllm-0.31", "vllm-0.32"])
def test_a_stream_yields_ids_as_they_arrive_and_then_the_completion(format_name: str) -> None:
    reply = Reply([7, 8, 9], finish_reason="stop")
    with serve(ScriptedServer([reply, reply], formats=[format_name])) as server:
        whole = sample(server, engine="vllm")
        *chunks, completion = run(server, collect, engine="vllm")
    assert chunks == [[7, 8], [9]]
    for name in ("token_ids", "logprobs", "finish_reason", "usage", "weight_versions", "request_id"):
        assert getattr(completion, name) == getattr(whole, name)


@pytest.mark.parametrize("body", [b"<html>busy</html>", b'{"error": "busy"}', b"\n<p>" + b"busy " * 1000])
def test_a_response_that_is_not_a_stream_of_events_is_quoted(body: bytes) -> None:
    text = "the response must be a stream of events, not '.{,9}(<html>|error|<p>).*busy"
    with serve(ScriptedServer([Reply(raw=body)])) as server, pytest.raises(MalformedGenerateResponseError, match=text):
        run(server, collect, engine="vllm")


@pytest.mark.parametrize("body", [b"", b"\n", b"d", b"\neven", b'data: {"choices"', b": ping\n\n"])
def test_a_stream_that_is_cut_off_before_its_first_event_is_an_error(body: bytes) -> None:
    with serve(ScriptedServer([Reply(raw=body)])) as server, pytest.raises(EngineStreamError, match="after 0 tokens"):
        run(server, collect, engine="vllm")


def test_a_stream_that_is_left_closes_its_connection() -> None:
    server = ScriptedServer([Reply([7, 8, 9], event_delay=0.05), Reply([8])])

    async def call() -> list[Any]:
        async with server.running(), InferenceClient(server.base_url, engine="vllm") as client:
            async with contextlib.aclosing(client.stream([1])) as items:
                async for _ in items:
                    break
            return [await client.sample([1])]

    assert asyncio.run(call())[0].token_ids == [8]


# ==================
# Creation
# ==================


def test_an_address_without_a_scheme_is_an_error() -> None:
    with pytest.raises(ValueError, match="base_url must start with http:// or https://, not 'localhost:8000'"):
        InferenceClient("localhost:8000")


def test_a_missing_http_library_is_an_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "httpx":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r'pip install "renderers\[client\]"'):
        InferenceClient("http://localhost")


def test_a_client_of_another_event_loop_is_an_error() -> None:
    with serve(ScriptedServer([Reply([7])])) as server:
        client = InferenceClient(server.base_url, engine="vllm")

        async def use_and_close() -> None:
            async with client:
                await client.sample([1])

        asyncio.run(use_and_close())
        with pytest.raises(RuntimeError, match="another event loop"):
            asyncio.run(client.sample([1]))


def test_many_requests_at_once_get_their_own_completions() -> None:
    def script(body: Any) -> Reply:
        return Reply([body["token_ids"][0], 5])

    async def use(client: InferenceClient) -> list[Completion]:
        return await asyncio.gather(*(client.sample([number]) for number in range(300)))

    with serve(ScriptedServer(script)) as server:
        completions = run(server, use, engine="vllm")
    assert [completion.token_ids for completion in completions] == [[number, 5] for number in range(300)]


def test_the_event_loop_runs_while_a_long_prompt_is_rendered() -> None:
    """Count the turns of the loop, not seconds."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    class Slow(MinimalRenderer):
        def checkout(self) -> None: ...

        def render(self, *args: Any, **kwargs: Any) -> Any:
            before = turns
            while turns < before + 100:
                time.sleep(0.001)
            return super().render(*args, **kwargs)

    async def use(client: InferenceClient) -> None:
        counting = asyncio.ensure_future(count())
        await generate(client=client, renderer=Slow(), messages=HI)
        counting.cancel()

    with serve(ScriptedServer([Reply([7])])) as server:
        run(server, use, engine="vllm")
    assert turns >= 100


def test_a_closed_client_says_so_before_anything_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    with serve(ScriptedServer([])) as server:

        async def use(**options: Any) -> list[str]:
            client = InferenceClient(server.base_url, **options)
            await client.aclose()
            turn = stream(client=client, renderer=RENDERER, messages=HI)
            texts = []
            for call in (
                generate(client=client, renderer=RENDERER, messages=HI),
                generate(client=client, renderer=RENDERER, messages=HI, max_prompt_len=100),
                turn.result(),
                client.sample([1]),
                collect(client),
                client.context_length(),
                Rollout(RENDERER, client, HI).generate(),
            ):
                with pytest.raises(RuntimeError) as caught:
                    await call
                texts.append(str(caught.value))
            return texts

        closed = "this InferenceClient is closed. Create another one."
        assert asyncio.run(use()) == [closed] * 7
        assert asyncio.run(use(engine="vllm")) == [closed] * 7
        assert server.requests == []
    assert caplog.text == ""


def test_a_client_that_is_closed_between_two_attempts_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(ScriptedServer([Reply(status=429)])) as server:

        async def use() -> None:
            client = InferenceClient(server.base_url, engine="vllm")

            async def close(delay: float) -> None:
                await client.aclose()

            monkeypatch.setattr(asyncio, "sleep", close)
            await client.sample([1])

        with pytest.raises(RuntimeError, match="this InferenceClient is closed"):
            asyncio.run(use())


def test_the_text_of_an_error_about_a_response_has_the_address() -> None:
    with serve(ScriptedServer([Reply(raw=b"no JSON"), Reply([1], logprobs=[])])) as server:
        for _ in range(2):
            with pytest.raises(MalformedGenerateResponseError) as caught:
                sample(server, engine="vllm")
            url = f"{server.base_url}/inference/v1/generate"
            assert (caught.value.url, str(caught.value).partition(": ")[0]) == (url, url)


@pytest.mark.parametrize("use", [lambda client: client.sample([1]), collect])
def test_a_request_that_failed_in_the_engine_is_an_error_with_the_address(use: Any) -> None:
    with serve(ScriptedServer([Reply([1], finish_reason="error")])) as server:
        with pytest.raises(EngineError, match="/inference/v1/generate: the request failed in the engine"):
            run(server, use, engine="vllm")
        assert len(server.samples) == 1
