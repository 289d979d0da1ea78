"""`InferenceEngine`: the wire format of one kind of inference server, without any input or output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from renderers.client.completion import Completion
from renderers.core.jsontypes import JsonObject

__all__ = ["CompletionReader", "EngineRequest", "InferenceEngine", "SampleRequest"]


@dataclass(frozen=True, kw_only=True)
class SampleRequest:
    """A prompt, and how to sample one completion of it, in the names of no engine in particular."""

    prompt_ids: list[int]
    model: str | None = None
    sampling_params: Mapping[str, Any] = field(default_factory=dict)
    """With vLLM's names: `max_tokens`, `temperature`, `stop_token_ids`. Without `logprobs` and `n`."""
    top_logprobs: int = 0
    """The number of most probable tokens to return for each position."""
    cache_salt: str | None = None
    priority: int | None = None
    features: Mapping[str, Any] | None = None
    """Processed images and other media, in the form of the engine."""
    content_parts: Sequence[Mapping[str, Any]] = ()
    """The media of the prompt in order, for an engine that processes them itself."""
    stream: bool = False


class EngineRequest(NamedTuple):
    """A path on the server, which starts at its root, and the JSON body to post to it."""

    path: str
    body: JsonObject


class CompletionReader(Protocol):
    """Reads the events of one stream."""

    def feed(self, data: str) -> list[int]:
        """Return the ids that an event adds.

        Raises:
            EngineStreamError: The event reports an error.
            MalformedGenerateResponseError: The event cannot be read.
        """
        ...

    def close(self) -> Completion:
        """Return the completion of all events.

        Raises:
            EngineStreamError: The completion has not ended.
            MalformedGenerateResponseError: The ids and the logprobs do not match.
        """
        ...


@runtime_checkable
class InferenceEngine(Protocol):
    """The wire format of one kind of inference server. Objects of your own work as well as those of this package."""

    @property
    def name(self) -> str: ...

    def build_request(self, request: SampleRequest) -> EngineRequest:
        """Return the path and the body of a request."""
        ...

    def read_response(self, raw: bytes, request: SampleRequest) -> Completion:
        """Return the completion of a response body.

        Raises:
            MalformedGenerateResponseError: A field is missing, or contradicts the sampled tokens.
        """
        ...

    def open_stream(self, request: SampleRequest) -> CompletionReader:
        """Return a reader for the events of the response to a request with `stream`."""
        ...
