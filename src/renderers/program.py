"""`Program`: a chat template with the tools of a conversation, as a bridge is proven with it."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from renderers.call_edges import CallEdges, edges_of_calls
from renderers.forms import Data
from renderers.precedents import Heads, heads_of
from renderers.probing import Ways, think_markers
from renderers.proofs import Written
from renderers.questions import ask
from renderers.rendered import InjectedText, TokenRun
from renderers.searches import searched_texts
from renderers.spans import Labelled, Trace
from renderers.writing import Writer

__all__ = ["Program"]


@dataclass(frozen=True)
class Program:
    """What writes messages with some tools, and makes tokens of what is written."""

    writer: Writer
    tools: list[Data] | None
    header: str
    """What an assistant's turn begins with."""

    @functools.cached_property
    def key(self) -> Hashable:
        """All that decides how it writes, beside messages and the words of tools."""
        writer, tokenizer = self.writer, self.writer.tokenizer
        return self._ways, tokenizer.control_texts, tokenizer.stop_texts, writer.content_tokens, writer.conventions

    @functools.cached_property
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
    def searched(self) -> frozenset[str]:
        """The texts that the template looks for in messages."""
        return searched_texts(self._ways.source)

    @property
    def token_of(self) -> Mapping[str, int]:
        """The control tokens by their texts."""
        return self.writer.tokenizer.added_tokens

    @property
    def heads(self) -> Heads | None:
        """What messages begin with, if that can be told."""
        encode = functools.partial(self.writer.tokenizer.encode, add_special_tokens=False)
        return ask(
            ("heads", self.key, self.header),
            lambda: heads_of(self.write, header=self.header, control=self.control, encode=encode),
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

    def encode(
        self, trace: Trace, labels: Sequence[Labelled]
    ) -> tuple[Sequence[int], Sequence[TokenRun], Sequence[InjectedText]]:
        """Returns the ids of a text, their attribution where that is known, and control text of a caller's."""
        if not self.writer.attributes:
            return self.writer.ids(trace), (), ()
        encoded, injected = self.writer.encoded(trace, labels)
        return encoded.ids, encoded.runs, injected
