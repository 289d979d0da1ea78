"""The reasons of differences between our reading of a completion and that of vLLM's parsers.

A reason is a fact about the two readings that can be checked, and a text for the table. A reason that explains no
recorded case is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from renderers.core.completions import ToolCallParseStatus

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


def _reads_more_calls(outcome: Outcome) -> bool:
    calls = outcome.parsed.tool_calls
    return bool(calls) and not outcome.expected.tool_calls and all(call.name for call in calls)


def _differs_in_types(outcome: Outcome) -> bool:
    (actual, expected) = outcome.actual, outcome.expected
    return (actual.content, _keys(actual)) == (expected.content, _keys(expected))


def _keys(turn: AssistantTurn) -> list[tuple[str, list[str]]]:
    return [(name, sorted(arguments)) for name, arguments in turn.tool_calls]


def _calls_unknown_tool(outcome: Outcome) -> bool:
    return any(call.status is ToolCallParseStatus.UNKNOWN_TOOL for call in outcome.parsed.tool_calls)


def _keeps_markers(outcome: Outcome) -> bool:
    text = outcome.actual.content
    return "think>" in text and text.replace("<think>", "").replace("</think>", "").strip() == outcome.expected.content


def _keeps_text_beside_calls(outcome: Outcome) -> bool:
    actual, expected = outcome.actual, outcome.expected
    return bool(actual.content) and not expected.content and actual.tool_calls == expected.tool_calls


TAGGED_REASONS: tuple[Reason, ...] = (
    Reason(
        key="citations",
        text="The marks of citations, `<co>` and `</co: …>`, are text of the model and stay in the message. vLLM takes "
        "them out.",
        holds=lambda outcome: re.sub(r"</?co[^>]*>", "", outcome.actual.content) == outcome.expected.content,
        formats=("cohere",),
    ),
    Reason(
        key="types without a schema",
        text="Without a schema, text that is JSON is a JSON value, as the templates write it. vLLM returns strings.",
        holds=_differs_in_types,
        formats=("gemma4", "minimax_m2", "step3"),
    ),
    Reason(
        key="unknown tools",
        text="A call of a tool that is not in the prompt has the status `unknown_tool` and its own name. vLLM replaces "
        "some names by those of other tools.",
        holds=_calls_unknown_tool,
        formats=("minicpm5",),
    ),
    Reason(
        key="markers after reasoning",
        text="A marker of reasoning after the end of the reasoning is text. vLLM removes it.",
        holds=_keeps_markers,
        formats=("qwen3_xml", "step3p5"),
    ),
    Reason(
        key="tag without an end",
        text="A line break or another tag ends a name in a tag without an end. vLLM's name contains the next tag.",
        holds=lambda outcome: any("<" in name for name, _ in outcome.expected.tool_calls),
        formats=("qwen3_xml",),
    ),
    Reason(
        key="call outside of a section",
        text="A call without the markers around all calls is read. vLLM leaves it in the content.",
        holds=_reads_more_calls,
        formats=("step3",),
    ),
    Reason(
        key="text beside calls",
        text="Text before and after calls is content. vLLM drops it.",
        holds=_keeps_text_beside_calls,
        formats=("minicpm5",),
    ),
    Reason(
        key="undeclared parameters",
        text="Parameters are returned as the model wrote them, whether the tool has them or not, and the last one of "
        "a name counts. vLLM renames, unwraps or drops them, or leaves the call in the content.",
        holds=lambda outcome: all(call.status is ToolCallParseStatus.OK for call in outcome.parsed.tool_calls),
        formats=("minicpm5",),
    ),
    Reason(
        key="dots text",
        text="A closing marker without an opening marker, and the beginning of a marker, are text. vLLM removes them.",
        holds=lambda outcome: outcome.actual.content.startswith(outcome.expected.content),
        formats=("dots",),
    ),
    Reason(
        key="reasoning that is not closed",
        text="Reasoning that is not closed is reasoning, whether thinking is requested or not.",
        holds=lambda outcome: outcome.actual.reasoning_content == outcome.expected.content,
        formats=("ling3",),
    ),
)
"""The reasons for formats with tags, and for Gemma."""


def _is_content_in_ours(outcome: Outcome) -> bool:
    return bool(outcome.expected.tool_calls) and not outcome.parsed.tool_calls


def _has_fragment(outcome: Outcome) -> bool:
    cut = ("<|action_start|", "<|tool_call_start|", "<|python_start|", '"arguments', "<tool_call>")
    return outcome.expected.content.endswith(cut)


def _has_same_names(outcome: Outcome) -> bool:
    names = [[name for name, _ in turn.tool_calls] for turn in (outcome.actual, outcome.expected)]
    return names[0] == names[1]


LIST_REASONS: tuple[Reason, ...] = (
    Reason(
        key="an error in the test",
        text="vLLM's test makes its own parser fail, so the record has no call.",
        holds=lambda outcome: outcome.case.test.endswith("exception_returns_none"),
        formats=("mistral",),
    ),
    Reason(
        key="the last piece of a stream",
        text="The record has only the last piece of a stream, and the call of the pieces before it.",
        holds=lambda outcome: outcome.text == "]",
        formats=("xlam",),
    ),
    Reason(
        key="fragments of a stream",
        text="vLLM's stream emits the beginning of a marker or of the JSON as content, before it recognises the call.",
        holds=_has_fragment,
        formats=("internlm2", "lfm2", "llama4_pythonic", "xlam", "granite"),
    ),
    Reason(
        key="calls that vLLM drops",
        text="An object for a list, a list for an object and an object without arguments are calls. vLLM drops them or "
        "leaves them in the content.",
        holds=_reads_more_calls,
        formats=("granite", "granite_20b_fc", "phi4mini"),
    ),
    Reason(
        key="calls within answers",
        text="Without tools in the prompt, JSON within an answer, in a code fence after text or without the marker of "
        "the format is content: answers quote JSON.",
        holds=_is_content_in_ours,
        formats=("granite", "llama3_json", "xlam"),
    ),
    Reason(
        key="other markers of reasoning",
        text="Only the markers of the template enclose reasoning. vLLM also reads `<think>` as text.",
        holds=lambda outcome: "<think>" in outcome.actual.content and bool(outcome.expected.reasoning_content),
        formats=("mistral",),
    ),
    Reason(
        key="arguments of calls that are not complete",
        text="The arguments of a call are those of its object, if that is complete. vLLM's streams lose those of a "
        "second call, or take them from a broken object.",
        holds=_has_same_names,
        formats=("apertus", "granite"),
    ),
    Reason(
        key="content beside calls",
        text="Content before and after calls is kept. vLLM drops it.",
        holds=_keeps_text_beside_calls,
        formats=("lfm2", "phi4mini"),
    ),
)
"""Differences in the formats with lists of calls, with JSON without markers and with calls in the syntax of Python."""


REASONS: tuple[Reason, ...] = (
    *LIST_REASONS,
    *TAGGED_REASONS,
    Reason(
        key="harmony-headers",
        text="A header that no marker ends is skipped, with its reason. vLLM returns it as text of the answer.",
        holds=lambda outcome: "<|channel|>" in outcome.expected.content and "<|" not in outcome.actual.content,
        formats=("harmony",),
    ),
    Reason(
        key="dsml flags",
        text="JSON with the flag of JSON is a JSON value: `null` is not the string `null`, even if the schema requires "
        "a string.",
        holds=_differs_in_types,
        formats=("deepseek_v32",),
    ),
    Reason(
        key="dsml sections",
        text="A section with the name of another version is read. vLLM leaves it in the content.",
        holds=_reads_more_calls,
        formats=("deepseek_v4",),
    ),
    Reason(
        key="deepseek section without calls",
        text="A section without the markers of a call is a broken call, with its text.",
        holds=lambda outcome: [call.name for call in outcome.parsed.tool_calls] == [None],
        formats=("deepseek_v3",),
    ),
    Reason(
        key="kimi ids without an index",
        text="A call with an id without a colon is a call. vLLM drops it without notice.",
        holds=lambda outcome: {*map(repr, outcome.expected.tool_calls)} < {*map(repr, outcome.actual.tool_calls)},
        formats=("kimi_k2",),
    ),
    Reason(
        key="kimi_k3 spaces in markers",
        text="Markers with spaces around their word are text: no template writes them.",
        holds=lambda outcome: "> response <" in outcome.actual.content,
        formats=("kimi_k3",),
    ),
    Reason(
        key="arguments that were not written",
        text="A call that is cut off before its arguments has None. vLLM's stream gives an empty object.",
        holds=lambda outcome: [arguments for _, arguments in outcome.actual.tool_calls] == [None],
        formats=("inkling",),
    ),
    Reason(
        key="muse doubled names",
        text="A name that repeats itself as its namespace is shortened if the short name is that of a tool. The case "
        "has no tools. There, vLLM shortens it, but not in streams.",
        holds=lambda outcome: any(name == "get_weather.get_weather" for name, _ in outcome.actual.tool_calls),
        formats=("muse_glimmer",),
    ),
)
"""All reasons. The first one that applies counts."""
