"""`Sampler`: the part of an inference client that a rollout needs, and the checks of its results."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from renderers.client.completion import Completion
from renderers.client.completion_checks import check_completion, without_views
from renderers.client.engines.vllm import VllmEngine
from renderers.client.openai_client import OpenAISampler, is_async_openai
from renderers.client.sync import SyncInferenceClient
from renderers.core.text import describe_type
from renderers.errors import MalformedGenerateResponseError


class SampleFunction(Protocol):
    """An async function that samples a completion of token ids."""

    def __call__(self, prompt_ids: list[int], /, *, sampling_params: Mapping[str, Any]) -> Awaitable[Completion]: ...


@runtime_checkable
class Sampler(Protocol):
    """An object that samples completions of token ids, such as an `InferenceClient`."""

    @property
    def sample(self) -> SampleFunction: ...


class OpenAIClient(Protocol):
    """The part of an `AsyncOpenAI` client that sends requests."""

    @property
    def base_url(self) -> Any: ...
    @property
    def post(self) -> Any: ...


RolloutClient: TypeAlias = Sampler | SampleFunction | OpenAIClient
"""The clients that a rollout can sample with."""
C = TypeVar("C", bound=RolloutClient | None)


def as_sample_function(client: RolloutClient, *, model: str | None = None) -> SampleFunction:
    """Return the method `sample` of a client, or the client itself if it is a function.

    An `AsyncOpenAI` client samples from a model of a vLLM server; from its base model if `model` is None.

    Raises:
        TypeError: The client has no method `sample`, cannot be called, and is no `AsyncOpenAI` client.
        ValueError: There is a model, and the client is no `AsyncOpenAI` client.
    """
    if isinstance(client, Sampler) or callable(client):
        if model is not None:
            raise ValueError(
                f"model={model!r} is for AsyncOpenAI clients, and the client is {describe_type(client)}. Pass the "
                "model to the InferenceClient or choose it in the function, and set the model of the rollout to None."
            )
        return client.sample if isinstance(client, Sampler) else client
    if is_async_openai(client):
        return OpenAISampler(client, VllmEngine(), model=model).sample
    raise TypeError(
        "client must be an InferenceClient, an AsyncOpenAI client, another object with an async method sample, or an "
        f"async function, not {describe_type(client)}"
    )


def check_client(client: C, *, model: str | None = None) -> C:
    """Return a client that can sample for `Rollout.generate`, or None.

    Raises:
        TypeError: The client cannot sample, or is a `SyncInferenceClient`.
        ValueError: As `as_sample_function`.
    """
    if isinstance(client, SyncInferenceClient) or isinstance(getattr(client, "__self__", None), SyncInferenceClient):
        raise TypeError(
            "a SyncInferenceClient cannot sample for Rollout.generate. Pass client=None and its completions to "
            "Rollout.record, or use an InferenceClient."
        )
    if client is not None:
        as_sample_function(client, model=model)
    return client


async def sample_from(
    client: RolloutClient, prompt_ids: list[int], sampling_params: Mapping[str, Any], *, model: str | None = None
) -> Completion:
    """Return a checked completion of a prompt.

    Raises:
        TypeError: The client cannot sample, or is synchronous.
        ValueError: As `as_sample_function`.
        MalformedGenerateResponseError: As `check_reply`.
        Exception: The errors of the client.
    """
    # A function that changes its list would change the recorded prompt.
    response: object = as_sample_function(client, model=model)(list(prompt_ids), sampling_params=sampling_params)
    if not inspect.isawaitable(response):
        raise TypeError("the client is synchronous. Pass its completions to Rollout.record.")
    return check_reply(await response, prompt_ids)


def check_reply(completion: object, prompt_ids: list[int]) -> Completion:
    """Return a copy of a completion, without the prompt that the engine returned: it must be the one that was sent.

    Raises:
        TypeError, TokenIdError, MalformedGenerateResponseError: As `check_completion` of the client.
        MalformedGenerateResponseError: The prompt differs.
    """
    checked = without_views(check_completion(completion))
    if checked.prompt_ids is not None and checked.prompt_ids != prompt_ids:
        raise MalformedGenerateResponseError(
            f"the engine returned a prompt of {len(checked.prompt_ids)} ids, which differs from the "
            f"{len(prompt_ids)} ids that were sent"
        )
    return dataclasses.replace(checked, prompt_ids=None)
