"""`Sampler`: the part of an inference client that a rollout needs, and the checks of its results."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol, runtime_checkable

from renderers.client.completion import Completion
from renderers.client.evidence import MISSING_LOGPROB, read_logprob
from renderers.core.text import describe_type
from renderers.core.token_ids import as_ids
from renderers.errors import MalformedGenerateResponseError


class SampleFunction(Protocol):
    """An async function that samples a completion of token ids. It must not change the list of ids."""

    def __call__(self, prompt_ids: list[int], /, *, sampling_params: Mapping[str, Any]) -> Awaitable[Completion]: ...


@runtime_checkable
class Sampler(Protocol):
    """An object that samples completions of token ids, such as an `InferenceClient`."""

    @property
    def sample(self) -> SampleFunction: ...


def as_sample_function(client: Sampler | SampleFunction) -> SampleFunction:
    """Return the method `sample` of a client, or the client itself if it is a function.

    Raises:
        TypeError: The client has no method `sample` and cannot be called.
    """
    if isinstance(client, Sampler):
        return client.sample
    if callable(client):
        return client
    raise TypeError(
        "client must be an InferenceClient, another object with an async method sample, or an async function, not "
        f"{describe_type(client)}"
    )


async def sample_from(
    client: Sampler | SampleFunction, prompt_ids: list[int], sampling_params: Mapping[str, Any]
) -> Completion:
    """Return a checked completion of a prompt.

    Raises:
        TypeError: The client cannot sample, or is synchronous.
        MalformedGenerateResponseError: As `check_completion`.
        Exception: The errors of the client.
    """
    response: object = as_sample_function(client)(prompt_ids, sampling_params=sampling_params)
    if not inspect.isawaitable(response):
        raise TypeError("the client is synchronous. Pass its completions to Rollout.record.")
    return check_completion(await response, prompt_ids)


def check_completion(completion: object, prompt_ids: list[int]) -> Completion:
    """Return a copy of a completion, without the prompt that the engine returned: it must be the one that was sent.

    Raises:
        TypeError: The object is not a completion, or an id is not an int.
        TokenIdError: An id is negative, or above 4,294,967,295.
        MalformedGenerateResponseError: The number of logprobs is not that of the ids, a logprob is not a finite
            number or is positive, or the prompt differs.
    """
    if not isinstance(completion, Completion):
        raise TypeError(f"a sampler must return a Completion, not {describe_type(completion)}")
    ids, logprobs = list(as_ids(completion.token_ids, name="completion.token_ids")), _read_logprobs(completion.logprobs)
    if len(logprobs) != len(ids):
        raise MalformedGenerateResponseError(
            f"the completion has {len(ids)} ids and {len(logprobs)} logprobs. Every sampled id needs one."
        )
    if completion.prompt_ids is not None and completion.prompt_ids != prompt_ids:
        raise MalformedGenerateResponseError(
            f"the engine returned a prompt of {len(completion.prompt_ids)} ids, which differs from the "
            f"{len(prompt_ids)} ids that were sent"
        )
    experts = _without_views(completion.routed_experts)
    return dataclasses.replace(completion, token_ids=ids, logprobs=logprobs, prompt_ids=None, routed_experts=experts)


def _read_logprobs(values: Any) -> list[float]:
    """Return logprobs, such as those of a list or an array, as floats."""
    logprobs = values.tolist() if hasattr(values, "tolist") else list(values)
    if all(type(logprob) is float and MISSING_LOGPROB < logprob <= 0.0 for logprob in logprobs):
        return logprobs
    return [
        read_logprob(logprob.item() if hasattr(logprob, "item") else logprob, name=f"completion.logprobs[{position}]")
        for position, logprob in enumerate(logprobs)
    ]


def _without_views(value: Any) -> Any:
    """Return data with the text of memoryviews, which can be neither pickled nor saved."""
    if not isinstance(value, Mapping):
        return value
    return {key: str(item, "ascii") if isinstance(item, memoryview) else item for key, item in value.items()}
