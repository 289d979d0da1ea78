"""Differences between the ids of both releases."""

from __future__ import annotations

import calendar
import re
from typing import Any

from scripts.compare.differences import Difference
from scripts.compare.entries.base import BROKEN_ARGUMENTS, IDS, Entry, has_role
from scripts.compare.worker import UNKNOWN

__all__ = ["ENTRIES"]

_EMPTY = re.compile(r"<think>\s*</think>\s*|<\|channel>thought\n<channel\|>")
_MONTHS = calendar.month_name[1:]
_RENDERS = ("render", "sample")


def _context(difference: Difference, text: str) -> str:
    """Return the text of a difference with some characters on either side, which can complete a tag."""
    return difference.run.before[-20:] + text + difference.run.after[:14]


def _adds_empty_reasoning(difference: Difference) -> bool:
    """Return whether release 0.1 writes more empty reasoning blocks."""
    new, old = (len(_EMPTY.findall(_context(difference, text))) for text in (difference.new, difference.old))
    return old > new


def _has_none(difference: Difference) -> bool:
    return any(message.get("content", None) is None for message in difference.case.messages)


def _of_developer(difference: Difference) -> bool:
    return has_role(difference, "developer")


def _is_2507(difference: Difference) -> bool:
    return difference.model.endswith("2507")


def _is_date(difference: Difference) -> bool:
    words = " ".join((difference.new, difference.old)).split()
    return "date: " in difference.run.before.lower() and all(word.isdigit() or word in _MONTHS for word in words)


def _texts_of_parts(message: dict[str, Any]) -> bool:
    return isinstance(message.get("content"), list)


_OLD_HARMONY = '`program="harmony-0.1"`'

ENTRIES = (
    Entry(
        name="tokenization",
        fields=IDS,
        matches=lambda found: found.new == found.old,
        old="text is encoded in several pieces",
        new="text between special tokens is encoded at once",
        reason="the model's tokenizer does so",
    ),
    Entry(
        name="dates",
        fields=IDS,
        families=("gpt-oss", UNKNOWN),
        matches=_is_date,
        old="current date",
        new="always the same date",
        reason="ids do not depend on the day",
        remedy="`date=`",
    ),
    Entry(
        name="`developer` role that the template lacks: dropped",
        fields=IDS,
        families=("qwen3", "glm-4.5", "glm-5", "glm-5.1", "minimax-m2", "deepseek-v3", "deepseek-r1", UNKNOWN),
        matches=lambda found: _of_developer(found) and (found.run.role in ("developer", None) or not found.old),
        old="dropped",
        new="rendered as `system`",
        reason="the OpenAI API uses the role for system messages",
    ),
    Entry(
        name="thinking parts",
        fields=IDS,
        matches=lambda found: found.case.name.startswith("thinking parts"),
        old="dropped, or joined to the text",
        new="reasoning",
        reason="the part type is public",
    ),
    Entry(
        name="data as result",
        fields=IDS,
        matches=lambda found: found.case.name.startswith("data as result"),
        old="as Python prints it, or as parts",
        new="written as JSON",
        reason="tools return data",
    ),
    Entry(
        name="broken JSON in `arguments`",
        fields=IDS,
        matches=lambda found: found.case.name.startswith(("broken arguments", "text as arguments")),
        old="text without quotes, or no arguments",
        new=BROKEN_ARGUMENTS,
        reason="the template decides",
    ),
    Entry(
        name="gpt-oss: results without a name",
        fields=IDS,
        families=("gpt-oss",),
        matches=lambda found: ".unknown" in found.old and found.case.name.startswith("result without name"),
        old="`functions.unknown`",
        new="the name of the call; an error if it is unknown",
        reason="the model reads the name",
        remedy="set `name`",
    ),
    Entry(
        name="Qwen3 2507",
        fields=IDS,
        families=("qwen3",),
        matches=lambda found: _is_2507(found) and has_role(found, "assistant"),
        old="rendered as Qwen3, with reasoning",
        new="its own template, without reasoning",
        reason="follows the template",
    ),
    Entry(
        name="Qwen3 2507: generation prompt",
        fields=IDS,
        families=("qwen3",),
        matches=lambda found: _is_2507(found) and found.settings.get("enable_thinking") is False,
        old="empty reasoning if thinking is off",
        new="none; `enable_thinking` issues an `UnreadSwitchWarning`",
        reason="follows the template",
    ),
    Entry(
        name="empty reasoning in the history",
        fields=IDS,
        families=("qwen3", "qwen3.5", "qwen3.6"),
        matches=_adds_empty_reasoning,
        old="written if thinking is off",
        new="dropped",
        reason="follows the template",
        remedy='`prefill="kept"`',
    ),
    Entry(
        name="`content: None`",
        fields=IDS,
        families=("glm-4.5", "glm-5", "glm-5.1", "minimax-m2"),
        matches=lambda found: _has_none(found) and "None" in found.old and found.old.replace("None", "").strip() == "",
        old="the word `None`",
        new="nothing",
        reason="the word is not part of the message",
        remedy='`none_content="as_template"`',
    ),
    Entry(
        name="GLM-4.5: parallel calls",
        fields=IDS,
        families=("glm-4.5",),
        matches=lambda found: found.new == "\n" and not found.old and found.run.before.endswith("</tool_call>"),
        old="no newline between calls",
        new="a newline",
        reason="follows the template",
    ),
    Entry(
        name="GLM-5.1: reasoning",
        fields=IDS,
        families=("glm-5.1",),
        matches=lambda found: found.new.replace("<think>", "").strip() == found.old.strip(),
        old="trimmed; dropped if it is empty",
        new="written as it is",
        reason="follows the template",
    ),
    Entry(
        name="MiniMax M2: identity",
        fields=IDS,
        families=("minimax-m2",),
        matches=lambda found: "MiniMax-M2.5" in found.old and "model_identity" not in found.settings,
        old="default identity of M2.5",
        new="default identity of the template",
        reason="follows the template",
        remedy="`model_identity=`",
    ),
    Entry(
        name="MiniMax M2: results with text parts",
        fields=IDS,
        families=("minimax-m2",),
        matches=lambda found: found.new == "\n" and not found.old and found.run.role == "tool",
        old="no newline after a part",
        new="a newline",
        reason="follows the template",
    ),
    Entry(
        name="text parts in models without a family in release 0.1",
        fields=IDS,
        families=(UNKNOWN,),
        matches=lambda found: any(map(_texts_of_parts, found.case.messages)),
        old="the template prints or drops the list",
        new="text parts are joined, if the template does not accept a list",
        reason="parts of type `text` are text in every role",
    ),
    Entry(
        name="Llama 3: list as tool result",
        fields=IDS,
        families=("llama-3",),
        matches=lambda found: found.run.role == "tool" and any(map(_texts_of_parts, found.case.messages)),
        old="written as JSON data",
        new="text parts are joined",
        reason="parts of type `text` are text in every role",
        remedy="pass the JSON as text",
    ),
    Entry(
        name="DeepSeek V3: generation prompt",
        fields=IDS,
        families=("deepseek-v3",),
        matches=lambda found: found.new == "<think>\n" and found.run.before.endswith("<｜Assistant｜>"),
        old="`<｜Assistant｜>`",
        new="`<｜Assistant｜><think>\\n`",
        reason="follows the template",
    ),
    Entry(
        name="DeepSeek V3: calls and results",
        fields=IDS,
        families=("deepseek-v3",),
        matches=lambda found: has_role(found, "tool") and found.run.role in ("assistant", "tool", None),
        old="tags and newlines around calls and results of its own",
        new="those of the template",
        reason="follows the template",
    ),
    Entry(
        name="DeepSeek V3: reasoning in content",
        fields=IDS,
        families=("deepseek-v3",),
        matches=lambda found: "</think>" in found.old and "</think>" not in found.new,
        old="kept",
        new="removed from the history",
        reason="follows the template",
    ),
    Entry(
        name="DeepSeek V3: late system messages",
        fields=IDS,
        families=("deepseek-v3",),
        matches=lambda found: has_role(found, "system"),
        old="written as user messages",
        new="moved to the beginning",
        reason="follows the template",
    ),
    Entry(
        name="DeepSeek V4: turns without a user message",
        fields=IDS,
        families=("deepseek-v4",),
        matches=lambda found: found.new.startswith("<｜Assistant｜>") and not found.old,
        old="no header",
        new="a header",
        reason="as in vLLM's encoder",
    ),
    Entry(
        name="gpt-oss: generation prompt",
        fields=IDS,
        families=("gpt-oss",),
        matches=lambda found: found.old == "<|channel|>analysis<|message|>" and not found.new and not found.run.after,
        old="opens the channel `analysis`",
        new="`<|start|>assistant`",
        reason="as in OpenAI's encoder; the model chooses the channel",
        remedy=_OLD_HARMONY,
    ),
    Entry(
        name="gpt-oss: calls",
        fields=IDS,
        families=("gpt-oss",),
        matches=lambda found: found.new == " <|constrain|>json" and not found.old,
        old="without a content type",
        new="`<|constrain|>json`",
        reason="as in OpenAI's template",
        remedy=_OLD_HARMONY,
    ),
    Entry(
        name="gpt-oss: reasoning of the last turn",
        fields=IDS,
        families=("gpt-oss",),
        kinds=_RENDERS,
        matches=lambda found: "analysis<|message|>" in found.new and "analysis" not in found.old,
        old="dropped if the turn has an answer",
        new="kept",
        reason="a render that ends with a turn is for training",
        remedy=_OLD_HARMONY,
    ),
    Entry(
        name="gpt-oss: text with calls",
        fields=IDS,
        families=("gpt-oss",),
        matches=lambda found: found.new.endswith("commentary") and found.old.endswith("final"),
        old="channel `final`",
        new="channel `commentary`; reasoning before the last answer is dropped",
        reason="as in OpenAI's encoder; `final` ends the turn",
        remedy=_OLD_HARMONY,
    ),
    Entry(
        name="gpt-oss: reasoning without an answer",
        fields=IDS,
        families=("gpt-oss",),
        kinds=_RENDERS,
        matches=lambda found: "final<|message|>" in found.new and not found.old,
        old="no message in `final`",
        new="an empty message in `final`",
        reason="the turn ends with its answer",
        remedy=_OLD_HARMONY,
    ),
    Entry(
        name="gpt-oss: later system and developer messages",
        fields=IDS,
        families=("gpt-oss",),
        kinds=_RENDERS,
        matches=lambda found: (
            (has_role(found, "system") or _of_developer(found)) and "Instructions" in found.new + found.old
        ),
        old="moved",
        new="kept in their place, as developer messages; a first developer message is joined with the tools",
        reason="as in OpenAI's encoder",
        remedy=_OLD_HARMONY,
    ),
    Entry(
        name="Gemma 4: thinking mode",
        fields=IDS,
        families=("gemma4",),
        matches=lambda found: found.old == "\n" and not found.new and found.run.before.endswith("<|think|>"),
        old="a newline after `<|think|>`",
        new="none",
        reason="follows the template",
    ),
    Entry(
        name="Gemma 4: null in arguments",
        fields=IDS,
        families=("gemma4",),
        matches=lambda found: (found.new, found.old) == ("None", "null"),
        old="`null`",
        new="`None`",
        reason="follows the template",
    ),
    Entry(
        name="Gemma 4: system message with text parts",
        fields=IDS,
        families=("gemma4",),
        matches=lambda found: found.old == " " and not found.new and found.run.role == "system",
        old="a space after a part",
        new="none",
        reason="follows the template",
    ),
    Entry(
        name="Gemma 4: calls and results",
        fields=IDS,
        families=("gemma4",),
        kinds=_RENDERS,
        matches=lambda found: any("tool_calls" in message for message in found.case.messages),
        old="results follow in the turn of the call",
        new="the form of the template, which differs between 31B and E4B",
        reason="follows the template",
    ),
    Entry(
        name="Gemma 4: reasoning in the history",
        fields=IDS,
        families=("gemma4",),
        matches=lambda found: "<|channel>thought" in found.old or "<channel|>" in found.old,
        old="kept in turns of its own; empty if there is none",
        new="dropped",
        reason="follows the template",
    ),
    Entry(
        name="Gemma 4: consecutive assistant messages",
        fields=IDS,
        families=("gemma4",),
        matches=lambda found: found.new.startswith("<turn|>\n") and not found.old,
        old="joined to one turn",
        new="a turn each",
        reason="follows the template",
    ),
)
