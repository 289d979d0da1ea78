"""Differences between parsed responses."""

from __future__ import annotations

from typing import Any

from scripts.compare.differences import Difference
from scripts.compare.entries.base import Entry, stripped
from scripts.compare.worker import UNKNOWN

__all__ = ["ENTRIES"]

_PARSE = ("parse",)
_TEXTS = ("content", "reasoning_content")
_ALL = (*_TEXTS, "reasoning_complete", "tool_calls", "arguments", "status", "id", "token_span", "raw")


def _is(difference: Difference, *variants: str) -> bool:
    """Return whether the completion of a case is one of these variants."""
    return any(f", {variant}" in difference.case.name for variant in variants)


def _is_odd(difference: Difference) -> bool:
    """Return whether the completion is one of the odd texts of a tool format."""
    return difference.case.name.startswith("text ")


def _lost_opening(difference: Difference) -> bool:
    """Return whether a call has lost its opening marker, and only release 0.1 has its text in the content."""
    return _is(difference, "token lost") and "</function>" in difference.old and "</function>" not in difference.new


def _text_before_section_end(content: str) -> str:
    return content.removesuffix("</｜DSML｜tool_calls>").strip()


def _has_prompt(difference: Difference) -> bool:
    return difference.case.arguments["prompt_ids"] is not None


def _text(value: Any) -> str:
    return value or ""


ENTRIES = (
    Entry(
        name="completions of models without a family in release 0.1",
        fields=_ALL,
        kinds=_PARSE,
        families=(UNKNOWN,),
        old="all text is content; calls need `tool_parser`",
        new="parsed in the format of the template",
        reason="the format is inferred",
    ),
    Entry(
        name="gpt-oss: completions",
        fields=_ALL,
        kinds=_PARSE,
        families=("gpt-oss",),
        matches=lambda found: not (_is(found, "opened") and _has_prompt(found)),
        old="all text is content, except after a prompt that opens the channel `analysis`",
        new="parsed, after either prompt",
        reason="OpenAI's prompt ends there",
    ),
    Entry(
        name="whitespace",
        fields=(*_TEXTS, "raw"),
        kinds=_PARSE,
        matches=lambda found: None not in (found.new, found.old) and stripped(found.new) == stripped(found.old),
        old="trimmed, except for the padding of GLM-4.5 and DeepSeek V4",
        new="kept, except for the padding that the template writes",
        reason="text of the model is not changed",
        remedy="`.strip()`",
    ),
    Entry(
        name="closing think marker at the start",
        fields=("content",),
        kinds=_PARSE,
        matches=lambda found: found.old.startswith("</think>") and not found.new.startswith("</think>"),
        old="content",
        new="a marker, in no field",
        reason="it closes the reasoning that a prompt has opened",
    ),
    Entry(
        name="empty reasoning",
        fields=("reasoning_content",),
        kinds=_PARSE,
        matches=lambda found: not _text(found.new).strip() and not _text(found.old).strip(),
        old='`""` or None',
        new="None",
        reason="one value for one fact",
    ),
    Entry(
        name="`raw` of calls in a section",
        fields=("raw", "token_span"),
        kinds=_PARSE,
        families=("minimax-m2", "deepseek-v4"),
        old="MiniMax: the whole section, shared by its calls; DeepSeek V4: with the markers of the call",
        new="the text between the markers of the call",
        reason="one rule for all formats",
    ),
    Entry(
        name="values without a schema that are not JSON",
        fields=("status",),
        kinds=_PARSE,
        matches=lambda found: (found.new, found.old) == ("ok", "invalid_json"),
        old="`invalid_json`",
        new="text, `ok`",
        reason="these formats write strings without quotes",
    ),
    Entry(
        name="truncated calls",
        fields=("tool_calls", "arguments", "status"),
        kinds=_PARSE,
        matches=lambda found: _is(found, "truncated"),
        old="mostly without name and arguments; content for Llama 3",
        new="parsed as far as possible, `unclosed_block`",
        reason="a trainer can see which call was meant",
    ),
    Entry(
        name="calls with a damaged structure",
        fields=("content", "tool_calls", "arguments", "status", "token_span", "raw"),
        kinds=_PARSE,
        matches=lambda found: (
            _is(found, "token lost") or _is_odd(found) if found.field != "content" else _lost_opening(found)
        ),
        old="calls and arguments after the damage are dropped, or the text of a call is content; some are `ok`",
        new="all calls and arguments are kept; the status shows the damage",
        reason="text of the model is not lost, and a broken call is not `ok`",
    ),
    Entry(
        name="Llama 3: calls with text, several calls, broken calls",
        fields=("content", "tool_calls"),
        kinds=_PARSE,
        families=("llama-3",),
        matches=lambda found: found.new == [] or '{"' in str(found.old) or bool(found.new),
        old="content",
        new="calls of known tools, with a status",
        reason="the text of a call is not an answer",
    ),
    Entry(
        name="calls inside open reasoning",
        fields=("reasoning_content", "reasoning_complete", "tool_calls", "content"),
        kinds=_PARSE,
        families=("deepseek-v3", "deepseek-r1"),
        matches=lambda found: bool(found.case.arguments["tools"]) and not _is(found, "twice"),
        old="reasoning",
        new="calls, which end the reasoning",
        reason="the text of a call is not reasoning",
    ),
    Entry(
        name="completions without prompt ids",
        fields=(*_TEXTS, "reasoning_complete", "tool_calls"),
        kinds=_PARSE,
        families=("glm-4.5", "glm-5", "glm-5.1", "deepseek-v4"),
        matches=lambda found: not _has_prompt(found) and "enable_thinking" in found.settings,
        old="config switches decide whether reasoning is open",
        new="as after the generation prompt of the renderer",
        reason="one rule for all families",
        remedy="pass `prompt_ids`",
    ),
    Entry(
        name="think block after a closed one",
        fields=(*_TEXTS, "reasoning_complete"),
        kinds=_PARSE,
        families=("qwen3",),
        matches=lambda found: found.settings.get("enable_thinking") is False and _has_prompt(found),
        old="reasoning",
        new="content",
        reason="the prompt has closed the reasoning",
        remedy="pass no `prompt_ids`",
    ),
    Entry(
        name="Gemma 4: `None` in arguments",
        fields=("arguments",),
        kinds=_PARSE,
        families=("gemma4",),
        matches=lambda found: "'None'" in str(found.old) and str(found.old).replace("'None'", "None") == str(found.new),
        old="the text `None`",
        new="null",
        reason="the template writes null as `None`",
    ),
    Entry(
        name="Gemma 4: truncated header of a thought",
        fields=("reasoning_content",),
        kinds=_PARSE,
        families=("gemma4",),
        matches=lambda found: _is(found, "truncated") and found.new is None and "thought".startswith(found.old),
        old="reasoning",
        new="in no field",
        reason="the header is not text of the thought",
    ),
    Entry(
        name="DeepSeek V4: closing marker without a section",
        fields=("content",),
        kinds=_PARSE,
        families=("deepseek-v4",),
        matches=lambda found: _is(found, "token lost") and _text_before_section_end(found.new) == found.old.strip(),
        old="dropped",
        new="content",
        reason="text of the model is not lost",
    ),
    Entry(
        name="Gemma 4: thought that does not begin the completion",
        fields=_TEXTS,
        kinds=_PARSE,
        families=("gemma4",),
        matches=lambda found: _is(found, "text before", "twice"),
        old="content, or dropped",
        new="reasoning",
        reason="the channel has markers of its own",
    ),
    Entry(
        name="text and think blocks after calls or after the answer",
        fields=(*_TEXTS, "reasoning_complete", "tool_calls"),
        kinds=_PARSE,
        matches=lambda found: _is(found, "text after", "twice") or _is_odd(found),
        old="text after calls is skipped by most families; a later think block is reasoning, or loses its markers",
        new="content, where the template can write text after calls",
        reason="text of the model is not lost",
    ),
    Entry(
        name="GLM-4.5: newline or text before the think block",
        fields=(*_TEXTS, "reasoning_complete"),
        kinds=_PARSE,
        families=("glm-4.5",),
        matches=lambda found: _is(found, "text before", "token lost", "truncated"),
        old="reasoning",
        new="content, with the think block",
        reason="reasoning begins with its marker",
    ),
    Entry(
        name="ids without a token",
        fields=("token_span", "raw", "content"),
        kinds=_PARSE,
        matches=lambda found: _is(found, "unknown id"),
        old="part of a call, or an error",
        new="listed in `skipped`",
        reason="they have no text",
    ),
)
