"""Check the completions of all engines and samplers, also of those that are not part of this package."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from renderers.client.completion import Completion
from renderers.client.engines.base import InferenceEngine, SampleRequest
from renderers.client.evidence import MISSING_LOGPROB, check_count, read_logprob
from renderers.client.sampling import check_prompt
from renderers.core.text import describe_type
from renderers.core.token_ids import as_ids
from renderers.errors import EngineError, MalformedGenerateResponseError, OverlongPromptError

__all__ = ["check_completion", "read_checked_response", "reading_errors", "without_views"]


def check_completion(completion: object) -> Completion:
    """Return a completion with new lists of its ids and logprobs, as ints and floats.

    Raises:
        TypeError: The object is not a completion, or an id is not an int.
        TokenIdError: An id is negative, or above 4,294,967,295.
        MalformedGenerateResponseError: The number of logprobs is not that of the ids, or a logprob is not a finite
            number, is positive, or is the mark of engines for a missing one.
        EngineError: The finish reason is `"error"`.
    """
    if not isinstance(completion, Completion):
        raise TypeError(f"a sampler must return a Completion, not {describe_type(completion)}")
    if completion.finish_reason == "error":
        raise EngineError("the request failed in the engine (finish_reason 'error'). Its ids are not a completion.")
    ids = list(as_ids(completion.token_ids, name="completion.token_ids"))
    logprobs = _read_logprobs(completion.logprobs)
    check_count(ids, logprobs)
    return replace(completion, token_ids=ids, logprobs=logprobs)


def _read_logprobs(values: Any) -> list[float]:
    """Return logprobs, such as those of a list or an array, as floats."""
    logprobs: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)
    if all(type(logprob) is float and MISSING_LOGPROB < logprob <= 0.0 for logprob in logprobs):
        return logprobs
    return [
        read_logprob(logprob.item() if hasattr(logprob, "item") else logprob, name=f"completion.logprobs[{index}]")
        for index, logprob in enumerate(logprobs)
    ]


def read_checked_response(engine: InferenceEngine, raw: bytes, request: SampleRequest) -> Completion:
    """Return the checked completion of a response body.

    Raises:
        MalformedGenerateResponseError: The engine cannot read the response, or the completion is not usable.
    """
    with reading_errors(engine):
        completion = check_completion(engine.read_response(raw, request))
    check_prompt(completion, request)
    return completion


@contextlib.contextmanager
def reading_errors(engine: InferenceEngine) -> Iterator[None]:
    """Raise errors about a response, such as a `KeyError` of a custom engine, as errors of this package."""
    try:
        yield
    except (EngineError, OverlongPromptError):
        raise
    except Exception as error:
        raise MalformedGenerateResponseError(
            f"the engine {engine.name!r} cannot read the response: {type(error).__name__}: {error}"
        ) from error


def without_views(completion: Completion) -> Completion:
    """Return a completion with texts in place of memoryviews, which cannot be pickled or written as JSON."""
    experts = completion.routed_experts
    if not isinstance(experts, Mapping) or not any(isinstance(value, memoryview) for value in experts.values()):
        return completion
    texts = {key: str(value, "utf-8") if isinstance(value, memoryview) else value for key, value in experts.items()}
    return replace(completion, routed_experts=texts)
