"""`BridgeContext`: the template, tools and arguments that a bridge is proven with, and the proofs made with them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from renderers.bridging.call_shape import CallDelimiters, probe_call_delimiters
from renderers.bridging.last_speaker import RoleHeaders, probe_role_headers
from renderers.bridging.message_kind import FieldRules
from renderers.bridging.proofs import History, RenderedHistory, render_histories
from renderers.core.bounded_table import BoundedTable
from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy
from renderers.probing.turn_format import TurnFormat
from renderers.rendering.pipeline import RenderPipeline

__all__ = ["BridgeContext", "clear_proof_caches", "pipeline_key"]

_CONTEXTS_KEPT = 128
_PROOFS_KEPT = 64
"""How many proofs of a context are kept at least: one for each kind of turn and new messages."""

Result = TypeVar("Result")
_PROOFS: BoundedTable[BoundedTable[Any]] = BoundedTable(keep=_CONTEXTS_KEPT)
"""The proofs of each context, by its key."""


def clear_proof_caches() -> None:
    """Drop all proofs of bridges, as in a new process."""
    _PROOFS.clear()


def pipeline_key(pipeline: RenderPipeline, *, with_tools: bool) -> Hashable:
    """Return everything that determines how a pipeline renders messages, except the content of the tools."""
    settings, vocab = pipeline.settings, pipeline.settings.tokenizer.vocab
    return (
        pipeline.turn_format(with_tools=with_tools).key,
        # Lists and long texts among the arguments are not in the probe key.
        repr(pipeline.arguments),
        settings.content_tokens,
        settings.conventions,
        settings.prefill,
        vocab.stop_texts,
        vocab.fingerprint,
    )


@dataclass(frozen=True)
class BridgeContext:
    """A render pipeline with the tools of a conversation.

    Its key is everything that a proof can depend on beside the turn and the new messages. Contexts with equal keys
    share their proofs.
    """

    pipeline: RenderPipeline
    tools: list[JsonObject] | None
    header: str
    """The text that an assistant turn begins with."""

    @lazy
    def key(self) -> Hashable:
        """Everything that determines the output of the template, except the messages."""
        return pipeline_key(self.pipeline, with_tools=self.tools is not None), repr(self.tools), self.header

    @lazy
    def _proofs(self) -> BoundedTable[Any]:
        return _PROOFS.get(self.key, lambda: BoundedTable(keep=_PROOFS_KEPT))

    def remember(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return a result that depends on this context and on `key` alone, computed once."""
        return cast(Result, self._proofs.get(key, compute))

    def render(self, messages: Sequence[JsonObject], add_generation_prompt: bool) -> RenderedHistory:
        """Render messages with the tools of this context."""
        run = self.pipeline.run(list(messages), tools=self.tools, add_generation_prompt=add_generation_prompt)
        return RenderedHistory(run.trace, lambda: run.labels)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, without special tokens around it."""
        return self.pipeline.settings.tokenizer.encode(text, add_special_tokens=False)

    @lazy
    def turn_format(self) -> TurnFormat:
        """The delimiters of turns with these tools."""
        return self.pipeline.turn_format(with_tools=self.tools is not None)

    @property
    def think_markers(self) -> tuple[str, str] | None:
        """The markers around reasoning; None if the template writes no reasoning."""
        return self.turn_format.think_markers

    @lazy
    def field_rules(self) -> FieldRules:
        """The rules that reduce a new message to its kind."""
        return self.remember("field rules", self._find_field_rules)

    def _find_field_rules(self) -> FieldRules:
        program = self.turn_format.key.program
        arguments = {**self.pipeline.settings.tokenizer.special_tokens_map, **self.pipeline.arguments}
        literals = program.literals.with_texts(frozenset(_texts_in(arguments)))
        return FieldRules(program.readable_fields, literals)

    @property
    def histories(self) -> tuple[History, ...]:
        """The sample histories as the template renders them."""
        return self.remember(
            "histories",
            lambda: render_histories(self.render, control=self.pipeline.settings.tokenizer.vocab.reserved_texts),
        )

    @property
    def role_headers(self) -> RoleHeaders | None:
        """The headers of messages; None if they are not determined."""
        return self.remember(
            "role headers",
            lambda: probe_role_headers(
                self.render,
                header=self.header,
                control=self.pipeline.settings.tokenizer.vocab.reserved_texts,
                encode=self.encode,
            ),
        )

    @property
    def call_delimiters(self) -> CallDelimiters:
        """The delimiters of a turn that consists of tool calls."""
        return self.remember(
            "call delimiters",
            lambda: probe_call_delimiters(
                self.render, markers=self.think_markers, control=self.pipeline.settings.tokenizer.vocab.reserved_texts
            ),
        )


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in the values of nested data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_in(item)
