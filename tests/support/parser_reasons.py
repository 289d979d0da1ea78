"""The reasons of differences between our reading of a completion and that of vLLM's parsers.

A reason is a fact about the two readings that can be checked, and a text for the table. A reason that explains no
recorded case is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.normalise import AssistantTurn
    from tests.support.parser_agreement import Outcome

__all__ = ["REASONS", "Reason"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A reason to read completions of some formats in another way than vLLM."""

    key: str
    text: str
    holds: Callable[[Outcome], bool]
    """Return True for an outcome that the reason explains."""
    formats: tuple[str, ...] = ()
    """The formats that it is about. Default: all."""

    def applies(self, outcome: Outcome) -> bool:
        """Return True if the reason explains a difference."""
        return (not self.formats or outcome.case.format in self.formats) and self.holds(outcome)


def _skips_text_after_calls(outcome: Outcome) -> bool:
    expected = outcome.expected
    skipped = "".join(text.text for text in outcome.parsed.skipped).strip()
    return bool(skipped) and skipped == expected.content and outcome.actual.tool_calls == expected.tool_calls


def _reads_more_calls(outcome: Outcome) -> bool:
    return not outcome.expected.tool_calls and all(call.name for call in outcome.parsed.tool_calls)


def _differs_in_types(outcome: Outcome) -> bool:
    (actual, expected) = outcome.actual, outcome.expected
    return (actual.content, _keys(actual)) == (expected.content, _keys(expected))


def _keys(turn: AssistantTurn) -> list[tuple[str, list[str]]]:
    return [(name, sorted(arguments)) for name, arguments in turn.tool_calls]


REASONS: tuple[Reason, ...] = (
    Reason(
        key="harmony-headers",
        text="A header that no marker ends is skipped, with its reason. vLLM returns it as text of the answer.",
        holds=lambda outcome: "<|channel|>" in outcome.expected.content and "<|" not in outcome.actual.content,
        formats=("harmony",),
    ),
    Reason(
        key="harmony-built-in-tools",
        text="A message to a built-in tool is a call. vLLM leaves it out of the message, because its server runs it.",
        holds=lambda outcome: {call[0] for call in outcome.actual.tool_calls} == {"browser"},
        formats=("harmony",),
    ),
    Reason(
        key="dsml cut off",
        text="A parameter with its closing tag is complete. vLLM's stream leaves its JSON open.",
        holds=lambda outcome: any(isinstance(arguments, str) for _, arguments in outcome.expected.tool_calls),
        formats=("deepseek_v32",),
    ),
    Reason(
        key="dsml flags",
        text="The model marks each value as a string or as JSON, as quotes do in JSON. The schema of the tool does "
        "not override the mark, and numbers keep their form: the parsed call renders to the same tokens.",
        holds=_differs_in_types,
        formats=("deepseek_v32",),
    ),
    Reason(
        key="dsml section",
        text="Calls in a section with the name of another model are read, as malformed. vLLM leaves them in the "
        "content.",
        holds=_reads_more_calls,
        formats=("deepseek_v4",),
    ),
    Reason(
        key="deepseek text after calls",
        text="Text after calls is in `skipped`: the format has no place for it.",
        holds=_skips_text_after_calls,
        formats=("deepseek_v4",),
    ),
    Reason(
        key="deepseek section without calls",
        text="A section without the markers of a call is a broken call. Its text is in `skipped`.",
        holds=lambda outcome: [call.name for call in outcome.parsed.tool_calls] == [None],
        formats=("deepseek_v3",),
    ),
)
"""All reasons. The first one that applies counts."""
