"""Send token ids to an inference engine and read the sampled ids back."""

from __future__ import annotations

from renderers.client.completion import Completion, WeightVersion
from renderers.client.context_length import context_lengths as _max_prompt_len_cache
from renderers.client.engines.base import CompletionReader, EngineRequest, InferenceEngine, SampleRequest
from renderers.client.generate import TurnStream, generate, stream
from renderers.client.offload import maybe_offload as _maybe_offload
from renderers.client.response import parse_generate_response
from renderers.client.sync import SyncInferenceClient, SyncTurnStream
from renderers.client.transport import InferenceClient
from renderers.errors import MalformedGenerateResponseError, OverlongPromptError

# Names with an underscore are imported by code that was written for release 0.1.
__all__ = [
    "Completion",
    "CompletionReader",
    "EngineRequest",
    "InferenceClient",
    "InferenceEngine",
    "MalformedGenerateResponseError",
    "OverlongPromptError",
    "SampleRequest",
    "SyncInferenceClient",
    "SyncTurnStream",
    "TurnStream",
    "WeightVersion",
    "_max_prompt_len_cache",
    "_maybe_offload",
    "generate",
    "parse_generate_response",
    "stream",
]
