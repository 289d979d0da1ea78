"""`Program`: a chat template with the tools of a conversation, as a bridge is proven with it."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from renderers.bridging.call_shape import CallEdges, edges_of_calls
from renderers.bridging.last_speaker import Heads, heads_of
from renderers.bridging.proofs import Written
from renderers.core.lazy import lazy
from renderers.core.spans import LabelledSpan, Trace
from renderers.core.tokens import InjectedText, TokenRun
from renderers.probing.literals import Searches, searches_of
from renderers.probing.turn_format import Ways, think_markers
from renderers.programs.input_formats import Data
from renderers.questions import ask
from renderers.rendering.pipeline import Writer

__all__ = ["Program"]


@dataclass(frozen=True)
class Program:
    """What writes messages with some tools, and makes tokens of what is written."""

    writer: Writer
    tools: list[Data] | None
    header: str
    """What an assistant's turn begins with."""

    @lazy
    def key(self) -> Hashable:
        """All that decides how it writes, beside messages and the words of tools."""
        writer, tokenizer = self.writer, self.writer.tokenizer
        # The ways are the same for switches that are lists, or long texts.
        template = self._ways, repr(writer.switches), writer.content_tokens, writer.conventions, writer.prefill
        return (*template, tokenizer.control_texts, tokenizer.stop_texts, tokenizer.known_by)

    @lazy
    def _ways(self) -> Ways:
        return self.writer.ways(tools=self.tools is not None)

    @property
    def think_markers(self) -> tuple[str, str] | None:
        """What reasoning stands between, if the template writes any."""
        return think_markers(self._ways)

    @property
    def control(self) -> frozenset[str]:
        """The texts of control tokens."""
        return self.writer.tokenizer.reserved_texts

    @property
    def stops(self) -> frozenset[str]:
        """The texts of the tokens that the model is known to stop with."""
        return self.writer.tokenizer.stop_texts

    @property
    def searches(self) -> Searches:
        """What the template looks for in messages."""
        return searches_of(self._ways.source)

    @property
    def token_of(self) -> Mapping[str, int]:
        """The control tokens by their texts."""
        return self.writer.tokenizer.added_tokens

    @property
    def heads(self) -> Heads | None:
        """What messages begin with, if that can be told."""
        return ask(
            ("heads", self.key, self.header),
            lambda: heads_of(self.write, header=self.header, control=self.control, encode=self.ids),
        )

    @property
    def call_edges(self) -> CallEdges:
        """What a turn that is but a call begins and ends with."""
        return ask(
            ("edges of calls", self.key),
            lambda: edges_of_calls(self.write, markers=self.think_markers, control=self.control),
        )

    def write(self, messages: Sequence[Data], prompt: bool) -> Written:
        """Writes messages, with a generation prompt or without."""
        run = self.writer.run(list(messages), tools=self.tools, add_generation_prompt=prompt)
        return Written(run.trace, functools.partial(self.writer.labels, run))

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the text of ids."""
        return self.writer.tokenizer.decode(ids)

    def ids(self, text: str) -> list[int]:
        """Returns the ids of a text."""
        return self.writer.tokenizer.encode(text, add_special_tokens=False)

    def joins(self, ids: Sequence[Any], text: str) -> bool:
        """Says whether the last of some ids stay as they are where a text follows them."""
        if not all(type(number) is int and number >= 0 for number in ids):
            return False
        joined = [*ids[-2:], *self.ids(text)]
        return self.ids(self.decode(ids) + text)[-len(joined) :] == joined

    def encode(
        self, trace: Trace, labels: Sequence[LabelledSpan]
    ) -> tuple[Sequence[int], Sequence[TokenRun], Sequence[InjectedText]]:
        """Returns the ids of a text, their attribution where that is known, and control text of a caller's."""
        encoded, injected = self.writer.encoded(trace, labels)
        return encoded.ids, encoded.runs, injected
