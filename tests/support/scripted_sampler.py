"""A sampler that returns scripted completions and keeps its requests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from renderers import ChatRenderer
from renderers.client.completion import Completion, WeightVersion

__all__ = ["ScriptedSampler", "encode"]


def encode(renderer: ChatRenderer, text: str) -> list[int]:
    """Return the ids of a sampled text."""
    return renderer.tokenizer.encode(text, add_special_tokens=False)


@dataclass
class ScriptedSampler:
    """Return completions in order. An exception among them is raised. Every sampled token gets another logprob."""

    renderer: ChatRenderer
    script: Iterable[str | list[int] | Completion | BaseException]
    requests: list[tuple[list[int], dict[str, Any]]] = field(default_factory=list)
    """A copy of the prompt and the sampling parameters of each request."""
    completions: list[Completion] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._script = iter(self.script)
        self._sampled = 0

    async def sample(self, prompt_ids: list[int], *, sampling_params: Mapping[str, Any]) -> Completion:
        """Return the next completion."""
        self.requests.append((list(prompt_ids), dict(sampling_params)))
        await asyncio.sleep(0)
        reply = next(self._script)
        if isinstance(reply, BaseException):
            raise reply
        if not isinstance(reply, Completion):
            reply = self.complete(encode(self.renderer, reply) if isinstance(reply, str) else reply)
        self.completions.append(reply)
        return reply

    def complete(self, ids: list[int], finish_reason: str | None = None) -> Completion:
        """Return a completion with logprobs that no other token has."""
        logprobs = [-(self._sampled + position) / 1024 for position in range(1, len(ids) + 1)]
        self._sampled += len(ids)
        has_stop = ids[-1:] and ids[-1] in self.renderer.get_stop_token_ids()
        return Completion(
            token_ids=ids,
            logprobs=logprobs,
            finish_reason=finish_reason or ("stop" if has_stop else "length"),
            weight_versions=(WeightVersion(str(self._sampled % 3), 0, len(ids)),) if ids else (),
        )
