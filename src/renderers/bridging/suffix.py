"""The text that new messages add, with its labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from renderers.bridging.context import RenderedTurn
from renderers.bridging.outcomes import Outcome
from renderers.bridging.refusal import BridgeEvidence
from renderers.core.lazy import lazy
from renderers.core.spans import Channel, LabelledSpan, Path, Span, Trace
from renderers.rendering.labelled_text import LabelledText
from renderers.rendering.pipeline import PipelineSettings


class Suffix(NamedTuple):
    """The text that new messages add."""

    lead: str
    """The text before it that closes the turn."""
    begins_with_stop: bool
    """True if the first token is the stop token of the turn, which the completion contains."""
    evidence: tuple[BridgeEvidence, ...]
    likely: tuple[Outcome, ...]
    """The outcomes of the evidence."""
    followed: RenderedTurn
    """The run that the text is taken from."""
    end: int
    """Where the turn of the run ends."""

    @property
    def text(self) -> str:
        return self.lead + self.followed.rendered.text[self.end :]


class SuffixPiece(NamedTuple):
    """A piece of a suffix with its label. No piece is sampled."""

    text: str
    message: int
    """The number of the new message; -1 for text of no new message."""
    path: Path
    channel: Channel
    content: bool


def read_suffix(followed: RenderedTurn, end: int) -> list[SuffixPiece]:
    """Return the pieces after the turn of a run, which ends at `end`."""
    text, turn = followed.trace.text, followed.message
    return [
        SuffixPiece(
            text[max(start, end) : stop], max(message - turn - 1, -1), path, channel, content and message > turn
        )
        for start, stop, message, path, channel, _, content in followed.rendered.labels
        if stop > end
    ]


@dataclass(frozen=True)
class SuffixText(LabelledText):
    """The text of a suffix. Its trace and labels are computed on first access."""

    settings: PipelineSettings
    lead: str
    """The text before it, which the template wrote."""
    followed: RenderedTurn
    """The run that the text is taken from."""
    end: int
    """Where the turn of the run ends."""
    tool_names: ClassVar[tuple[str, ...]] = ()

    @lazy
    def text(self) -> str:
        """The text."""
        return self.lead + self.followed.rendered.text[self.end :]

    @lazy
    def labels(self) -> tuple[LabelledSpan, ...]:
        """The pieces with their places."""
        pieces = read_suffix(self.followed, self.end)
        if self.lead:
            pieces.insert(0, SuffixPiece(self.lead, -1, (), Channel.SCAFFOLD, content=False))
        labels, end = [], 0
        for text, message, path, channel, content in pieces:
            start, end = end, end + len(text)
            labels.append(LabelledSpan(start, end, message, path, channel, False, content))
        return tuple(labels)

    @lazy
    def trace(self) -> Trace:
        """The text with the origin of every character."""
        return Trace(self.text, tuple([Span(*label[:4]) for label in self.labels]))
