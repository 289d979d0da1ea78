"""Tests of `renderers.rollout.sampler`."""

from __future__ import annotations

import asyncio
import math
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import openai
import pytest

from renderers.client import InferenceClient, SyncInferenceClient
from renderers.client.completion import Completion
from renderers.errors import MalformedGenerateResponseError, TokenIdError
from renderers.rollout.sampler import Sampler, as_sample_function, check_client, check_reply, sample_from
from tests.support.scripted_server import Reply, ScriptedServer, serve


def completion(**changes: Any) -> Completion:
    return Completion(**{"token_ids": [5, 6], "logprobs": [-1.0, -2.0], "finish_reason": "stop", **changes})


async def sample(prompt_ids: list[int], *, sampling_params: Any) -> Completion:
    return completion()


class Client:
    async def sample(self, prompt_ids: list[int], *, sampling_params: Any, timeout: float = 1.0) -> Completion:
        return completion()


def test_a_function_and_a_method_sample() -> None:
    client = Client()
    assert isinstance(client, Sampler)
    assert as_sample_function(client) == client.sample
    assert as_sample_function(sample) is sample


def test_an_openai_client_samples() -> None:
    async def call(server: ScriptedServer) -> Completion:
        async with openai.AsyncOpenAI(base_url=f"{server.base_url}/v1", api_key="key", max_retries=0) as client:
            return await sample_from(check_client(client), [1, 2], {"max_tokens": 5})

    with serve(ScriptedServer([Reply([5, 6])])) as server:
        assert asyncio.run(call(server)).token_ids == [5, 6]
    [body] = server.samples
    assert body["token_ids"] == [1, 2]
    assert body["sampling_params"]["max_tokens"] == 5


def test_an_openai_client_samples_from_the_model() -> None:
    async def call(server: ScriptedServer) -> None:
        async with openai.AsyncOpenAI(base_url=f"{server.base_url}/v1", api_key="key", max_retries=0) as client:
            await sample_from(check_client(client, model="adapter"), [1, 2], {}, model="adapter")
            await sample_from(client, [1, 2], {})

    with serve(ScriptedServer([Reply([5, 6]), Reply([5, 6])])) as server:
        asyncio.run(call(server))
    assert [body.get("model") for body in server.samples] == ["adapter", None]


def test_a_prompt_that_a_server_refuses_raises_the_error_of_the_openai_client() -> None:
    async def call(server: ScriptedServer) -> None:
        async with openai.AsyncOpenAI(base_url=f"{server.base_url}/v1", api_key="key", max_retries=0) as client:
            await sample_from(client, [1, 2], {})

    message = "This model's maximum context length is 1 tokens."
    with serve(ScriptedServer([Reply(status=400, message=message)])) as server, pytest.raises(openai.BadRequestError):
        asyncio.run(call(server))


@pytest.mark.parametrize("client", [sample, Client(), InferenceClient("http://localhost:9", model="other")])
def test_other_clients_have_their_own_model(client: Any) -> None:
    with pytest.raises(ValueError, match=r"model='adapter' is for AsyncOpenAI clients, and the client is "):
        check_client(client, model="adapter")
    assert check_client(client) is client


SYNCHRONOUS = openai.OpenAI(base_url="http://localhost:9", api_key="key")


OTHERS = [
    None,
    3,
    "http://localhost:8000",
    SYNCHRONOUS,
    SimpleNamespace(post=1),
    SimpleNamespace(post=1, base_url="http://localhost:9"),
    httpx.AsyncClient(),
]


@pytest.mark.parametrize("client", OTHERS)
def test_other_objects_are_no_clients(client: Any) -> None:
    with pytest.raises(TypeError, match=r"client must be an InferenceClient, an AsyncOpenAI client, .*, not "):
        as_sample_function(client)


def test_a_client_is_asked_for_a_completion_of_the_prompt() -> None:
    assert asyncio.run(sample_from(Client(), [1, 2], {})) == completion()


def test_a_synchronous_client_is_an_error() -> None:
    def synchronous(prompt_ids: list[int], *, sampling_params: Any) -> Any:
        return completion()

    with pytest.raises(TypeError, match=r"the client is synchronous\. Pass its completions to Rollout\.record"):
        asyncio.run(sample_from(synchronous, [1, 2], {}))


def test_a_client_of_this_package_that_is_synchronous_is_rejected_before_it_samples() -> None:
    with SyncInferenceClient("http://localhost:9") as client:
        for wrong in (client, client.sample):
            with pytest.raises(TypeError, match="a SyncInferenceClient cannot sample for"):
                check_client(wrong)  # type: ignore[type-var]
    assert check_client(None) is None
    assert check_client(sample) is sample


def test_a_checked_completion_shares_no_list_with_the_sampler() -> None:
    given = completion(prompt_ids=[1, 2])
    checked = check_reply(given, [1, 2])
    given.token_ids.clear()
    given.logprobs.clear()
    assert checked == completion()


@pytest.mark.parametrize(
    "logprobs", [np.array([-1.0, -2.0], dtype=np.float32), [np.float32(-1), -2], (-1.0, -2.0), [-1, -2]]
)
def test_logprobs_of_other_number_types_are_floats(logprobs: Any) -> None:
    checked = check_reply(completion(logprobs=logprobs), [1, 2]).logprobs
    assert checked == [-1.0, -2.0]
    assert {*map(type, checked)} == {float}


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"logprobs": []}, MalformedGenerateResponseError, r"token count \(2\) does not match logprob count \(0\)"),
        ({"logprobs": [-1.0, None]}, MalformedGenerateResponseError, r"completion.logprobs\[1\] must be a number"),
        ({"logprobs": [-1.0, "-1.0"]}, MalformedGenerateResponseError, r"completion.logprobs\[1\] must be a number"),
        ({"logprobs": [math.nan, -1.0]}, MalformedGenerateResponseError, r"completion.logprobs\[0\] must be finite"),
        ({"logprobs": [-math.inf, -1.0]}, MalformedGenerateResponseError, r"completion.logprobs\[0\] must be finite"),
        ({"logprobs": [-1.0, 5.0]}, MalformedGenerateResponseError, r"completion.logprobs\[1\] must not be positive"),
        ({"logprobs": [-1.0, -9999.0]}, MalformedGenerateResponseError, "engines write it for a missing logprob"),
        ({"prompt_ids": [1, 3]}, MalformedGenerateResponseError, "a prompt of 2 ids, which differs from the 2 ids"),
        ({"token_ids": [5, -6]}, TokenIdError, r"completion.token_ids\[1\] is -6"),
        ({"token_ids": [5, "6"]}, TypeError, r"completion.token_ids\[1\] must be an int"),
    ],
)
def test_a_completion_that_cannot_be_used_is_an_error(
    changes: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        check_reply(completion(**changes), [1, 2])


def test_an_object_of_another_type_is_an_error() -> None:
    with pytest.raises(TypeError, match="a sampler must return a Completion, not"):
        check_reply({"token_ids": [5]}, [1, 2])
