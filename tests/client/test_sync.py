"""`SyncInferenceClient` has the methods of the client for code without an event loop."""

from __future__ import annotations

import contextlib
import inspect
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, get_type_hints

import pytest

from renderers.client import InferenceClient, SyncInferenceClient, generate, stream
from renderers.client import sync as sync_module
from renderers.client.sync import SyncTurnStream
from renderers.core.completions import ContentDelta
from renderers.errors import EngineStatusError, EngineStreamError
from tests.client.test_generate import HI, RENDERER, encode
from tests.support.scripted_server import Reply, ScriptedServer, serve


@contextlib.contextmanager
def client_of(*replies: Reply) -> Iterator[SyncInferenceClient]:
    with serve(ScriptedServer(replies)) as server, SyncInferenceClient(server.base_url, model="test-model") as client:
        yield client


def test_a_turn_is_sampled_and_parsed_without_an_event_loop() -> None:
    with client_of(Reply([7]), Reply(encode("Hello!<|end|>"))) as client:
        assert client.sample([1], sampling_params={"max_tokens": 1}).token_ids == [7]
        assert client.generate(renderer=RENDERER, messages=HI)["content"] == "Hello!"
        assert client.context_length() == 4096


def test_a_stream_is_an_iterator_with_a_result() -> None:
    with client_of(Reply(encode("Hello!<|end|>"))) as client:
        with client.stream(renderer=RENDERER, messages=HI) as turn:
            text = "".join(event.text for event in turn if isinstance(event, ContentDelta))
        assert text == turn.result()["content"] == "Hello!"


def test_a_stream_can_be_left_early() -> None:
    with client_of(Reply(encode("Hello!<|end|>"), event_delay=0.02)) as client:
        with client.stream(renderer=RENDERER, messages=HI) as turn:
            next(turn)
        with pytest.raises(EngineStreamError):
            turn.result()


def test_a_closed_client_closes_its_streams(caplog: pytest.LogCaptureFixture) -> None:
    with client_of(Reply(encode("Hello!<|end|>"), event_delay=0.02)) as client:
        turn = client.stream(renderer=RENDERER, messages=HI)
        next(turn)
        client.close()
        turn.close()
    assert [record for record in caplog.records if record.name == "asyncio"] == []


def test_a_stream_can_be_left_while_another_thread_closes_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    with client_of(Reply(encode("Hello!<|end|>"), event_delay=0.02)) as client:
        turn = client.stream(renderer=RENDERER, messages=HI)
        next(turn)
        run = client._run

        def close_first(work: Any) -> Any:
            client.close()
            return run(work)

        monkeypatch.setattr(client, "_run", close_first)
        turn.close()
        with pytest.raises(RuntimeError, match="closed"):
            next(turn)


@pytest.mark.parametrize("read", [next, SyncTurnStream.result])
def test_threads_can_close_a_stream_that_another_thread_reads(read: Any, caplog: pytest.LogCaptureFixture) -> None:
    reply = Reply(encode("Hello!<|end|>"), event_delay=60)
    with client_of(reply, Reply([7])) as client, ThreadPoolExecutor(4) as pool:
        turn = client.stream(renderer=RENDERER, messages=HI)
        reading = pool.submit(read, turn)
        while not turn._reading:
            time.sleep(0.01)
        for closing in [pool.submit(turn.close) for _ in range(3)]:
            closing.result(10)
        with pytest.raises(EngineStreamError, match="the stream was closed before its end"):
            reading.result(10)
        assert list(turn) == []
        with pytest.raises(EngineStreamError, match="has no result"):
            turn.result()
        # The request of the stream may not have reached the server.
        assert client.sample([1]).token_ids in ([7], encode("Hello!<|end|>"))
    assert [record for record in caplog.records if record.name == "asyncio"] == []


def test_errors_are_those_of_the_asynchronous_client() -> None:
    with (
        client_of(Reply(status=400, message="no")) as client,
        pytest.raises(EngineStatusError, match="HTTP status 400: no"),
    ):
        client.sample([1])


def test_threads_share_a_client() -> None:
    with (
        serve(ScriptedServer(lambda body: Reply(body["token_ids"]))) as server,
        SyncInferenceClient(server.base_url, engine="vllm") as client,
        ThreadPoolExecutor(8) as pool,
    ):
        completions = list(pool.map(lambda number: client.sample([number]), range(40)))
    assert [completion.token_ids for completion in completions] == [[number] for number in range(40)]


def test_a_closed_client_ends_its_thread_and_refuses_requests() -> None:
    before = threading.active_count()
    client = SyncInferenceClient("http://localhost:1")
    client.close()
    client.close()
    assert threading.active_count() == before
    with pytest.raises(RuntimeError, match="closed"):
        client.sample([1])


def sample_until_closed(client: SyncInferenceClient, connected: threading.Barrier, errors: list[RuntimeError]) -> None:
    client.sample([1])
    connected.wait(10)
    try:
        while True:
            client.sample([1])
    except RuntimeError as error:
        errors.append(error)


def test_threads_that_sample_end_when_the_client_is_closed() -> None:
    with serve(ScriptedServer(lambda body: Reply([7]))) as server:
        for _ in range(20):
            client = SyncInferenceClient(server.base_url, engine="vllm")
            errors: list[RuntimeError] = []
            connected = threading.Barrier(5)
            work = partial(sample_until_closed, client, connected, errors)
            threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
            for thread in threads:
                thread.start()
            connected.wait(10)
            client.close()
            for thread in threads:
                thread.join(10)
            assert len(errors) == 4
            assert all("closed" in str(error) for error in errors)


def test_threads_can_close_a_client_at_once() -> None:
    with serve(ScriptedServer(lambda body: Reply([7]))) as server, ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            client = SyncInferenceClient(server.base_url, engine="vllm")
            client.sample([1])
            for closing in [pool.submit(client.close) for _ in range(4)]:
                closing.result(10)
            assert not client._thread.is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform cannot fork processes")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_cannot_use_the_client() -> None:
    with client_of(Reply([7])) as client:
        client.sample([1])
        turn = client.stream(renderer=RENDERER, messages=HI)
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                signal.alarm(10)
                for call in (
                    lambda: client.sample([1]),
                    lambda: client.stream(renderer=RENDERER, messages=HI),
                    lambda: next(turn),
                ):
                    with pytest.raises(RuntimeError, match="before the process was forked"):
                        call()
                turn.close()
                client.close()
                status = 0
            os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(
    ("options", "function", "others"),
    [
        (sync_module.ClientOptions, InferenceClient.__init__, {"self", "base_url"}),
        (sync_module.SampleOptions, InferenceClient.sample, {"self", "prompt_ids"}),
        (sync_module.StreamOptions, stream, {"client", "renderer", "messages"}),
        (sync_module.GenerateOptions, generate, {"client", "renderer", "messages"}),
    ],
)
def test_the_options_are_those_of_the_asynchronous_functions(options: Any, function: Any, others: set[str]) -> None:
    assert set(get_type_hints(options)) | others == set(inspect.signature(function).parameters)
