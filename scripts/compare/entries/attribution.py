"""Differences between the masks and message indices of equal ids."""

from __future__ import annotations

import re

from scripts.compare.entries.base import MASKS, NEMOTRON, OWNER, Entry, is_added, is_removed
from scripts.compare.worker import UNKNOWN

__all__ = ["ENTRIES"]

_THINK = re.compile(r"<think>\n{0,2}(?:</think>\n{0,2})?")
_HEADS = ("assistant\n", "<|assistant|>\n", "]~b]ai\n")
_CONVENTIONS = '`conventions="0.1"`'
_MODEL_SAMPLES = "the generation prompt ends before it, so the model samples it"

ENTRIES = (
    Entry(
        name="prefilled think",
        fields=MASKS,
        families=("qwen3", "qwen3.5", "qwen3.6", "qwen3.8", "glm-4.5", "minimax-m2", *NEMOTRON),
        matches=lambda found: (
            is_removed(found) and _THINK.fullmatch(found.run.text) is not None and found.run.before.endswith(_HEADS)
        ),
        old="`<think>` is sampled, and `<think></think>` if thinking is off",
        new="not sampled if the generation prompt writes it",
        reason="the model receives this text; a newline of the prompt that shares a token with the next one is sampled",
        remedy=_CONVENTIONS,
    ),
    Entry(
        name="newline after the header",
        fields=MASKS,
        families=("glm-4.5", "minimax-m2"),
        matches=lambda found: (
            is_added(found)
            and found.run.text in ("\n", "\n\n")
            and found.run.before.endswith(("<|assistant|>", "]~b]ai"))
        ),
        old="not sampled",
        new="sampled",
        reason=_MODEL_SAMPLES,
        remedy=_CONVENTIONS,
    ),
    Entry(
        name="gpt-oss: channel headers",
        fields=MASKS,
        families=("gpt-oss",),
        matches=lambda found: (
            is_added(found)
            and re.fullmatch(r"(?:<\|start\|>assistant)?<\|channel\|>\w+<\|message\|>", found.run.text) is not None
        ),
        old="not sampled",
        new="sampled",
        reason=_MODEL_SAMPLES,
        remedy=f'{_CONVENTIONS} and `program="harmony-0.1"`',
    ),
    Entry(
        name="gpt-oss: headings around instructions",
        fields=("is_content",),
        families=("gpt-oss",),
        matches=lambda found: is_removed(found) and found.run.text.strip() in ("Instructions", "# Instructions", "#"),
        old="content",
        new="scaffold",
        reason="content is text from the caller",
    ),
    Entry(
        name="gpt-oss: system message and tools",
        fields=OWNER,
        families=("gpt-oss",),
        matches=lambda found: found.new == -1 and found.run.text.startswith(("<|start|>system", "# Tools")),
        old="belong to the first system message",
        new="belong to no message",
        reason="no message has this text",
    ),
    Entry(
        name="quotes around results",
        fields=("is_content", "loss_mask"),
        families=("llama-3", "gemma4"),
        matches=lambda found: is_removed(found) and re.fullmatch(r'"\W?|(?:<\|"\|>)+', found.run.text) is not None,
        old="content",
        new="scaffold; a token that starts with a quote belongs to the quote",
        reason="content is text from the caller",
    ),
    Entry(
        name="tokens of a tag and a text",
        fields=("is_content",),
        families=("minimax-m2",),
        matches=lambda found: is_removed(found) and found.run.role == "tool" and found.run.text.startswith(">"),
        old="content",
        new="scaffold, as the first character",
        reason="one rule for all tokens with several owners",
    ),
    Entry(
        name="tool definitions",
        fields=OWNER,
        matches=lambda found: found.new == -1 and found.run.channels == {"tool_definition"},
        old="belong to the surrounding message for some families",
        new="belong to no message",
        reason="they come from `tools`",
    ),
    Entry(
        name="BOS token and default system message",
        fields=OWNER,
        families=("minimax-m2",),
        matches=lambda found: found.new == -1 and not found.run.before and found.run.text.startswith("]~!b["),
        old="belong to the first system message",
        new="belong to no message",
        reason="one rule for all families",
    ),
    Entry(
        name="dates in system messages",
        fields=OWNER,
        families=("llama-3",),
        matches=lambda found: found.new == -1 and found.run.before.endswith("Date: "),
        old="belong to the system message",
        new="belong to no message",
        reason="the date is a template argument",
    ),
    Entry(
        name="joined system messages",
        fields=OWNER,
        families=("deepseek-v3", "deepseek-r1"),
        matches=lambda found: found.run.role == found.run.old_role == "system" and found.run.channels == {"content"},
        old="all text belongs to the first",
        new="each part belongs to its own message",
        reason="exact owners",
    ),
    Entry(
        name="closing tag of tool outputs",
        fields=OWNER,
        families=("deepseek-v3",),
        matches=lambda found: (found.run.role, found.run.text) == ("assistant", "<｜tool▁outputs▁end｜>"),
        old="belongs to the tool message",
        new="belongs to the next message",
        reason="the template writes it while it processes that message",
    ),
    Entry(
        name="tool name taken from the call",
        fields=OWNER,
        families=("gemma4",),
        matches=lambda found: (
            found.run.before.endswith("<|tool_response>response:") and found.run.role in ("assistant", None)
        ),
        old="belongs to the tool message",
        new="belongs to the message with the call; to no message in a bridge",
        reason="the template copies it from the call",
    ),
    Entry(
        name="masks of models without a family in release 0.1",
        fields=MASKS,
        families=(UNKNOWN,),
        old="empty lists; `role_to_mask` selects whole messages",
        new="full attribution, inferred from the template",
        reason="works with any template",
    ),
    Entry(
        name="message indices of models without a family in release 0.1",
        fields=OWNER,
        families=(UNKNOWN,),
        old="found by rendering parts of the conversation",
        new="exact owners",
        reason="they come from the run of the template",
    ),
)
