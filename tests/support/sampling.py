"""What is sampled, compared with the `{% generation %}` tags that people put into templates by hand."""

from __future__ import annotations

import datetime
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transformers.utils.chat_template_utils import _compile_jinja_template, _render_with_assistant_indices

from renderers import MessageError, TemplateError
from renderers.core.messages import normalise_messages, normalise_tools
from renderers.programs.adapt import adapt_messages, adapt_tools
from renderers.programs.input_formats import probe_arguments
from renderers.rendering.label import label
from renderers.templating import ChatTemplate
from tests.support.conversations import CONVERSATIONS
from tests.support.parity import CORPUS, rotated
from tests.support.standin import stand_in
from tests.support.turn_formats import format_of

__all__ = ["KNOWN", "TAGGED", "Agreement", "compare_with_tags"]

NOW = datetime.datetime(2026, 11, 15)
TAGGED = [path for path in CORPUS if re.search(r"\{%-?\s*generation\b", path.read_text(encoding="utf-8"))]


KNOWN: dict[str, Counter[str]] = {
    # It writes tool responses, and what the next message says, within the turn that called.
    "trl__diffusion_gemma_training": Counter({"+<|tool_response>": 1, "-I look.<turn|>\n": 1}),
}
"""Differences that are neither the head nor the tail of a tag."""


@dataclass(kw_only=True)
class Agreement:
    """How far our sampled text and the tags of a template agree, in characters."""

    renders: int = 0
    same: int = 0
    head: Counter[str] = field(default_factory=Counter)
    """What tags begin with and we do not: it stands in the generation prompt."""
    tail: Counter[str] = field(default_factory=Counter)
    """What tags end with and we do not: it follows the stop token."""
    other: Counter[str] = field(default_factory=Counter)
    """Any other difference: with a `+` what we have and the tags have not."""


def compare_with_tags(path: Path) -> Agreement:
    """Renders the tests' conversations with a template, and compares what is sampled with what is tagged."""
    source = path.read_text(encoding="utf-8")
    tokenizer, template = stand_in(path), ChatTemplate(source, verify=False)
    tokens: dict[str, Any] = {
        name: text for name, text in tokenizer.special_tokens_map.items() if isinstance(text, str)
    }
    control = frozenset(tokenizer.get_added_vocab())
    found = Agreement()
    for name, arguments in rotated(turns=1):
        switches: dict[str, Any] = {
            key: value for key, value in arguments.items() if key not in ("tools", "add_generation_prompt")
        }
        given = probe_arguments(template, tuple(tokens.items()), switches)
        try:
            messages = adapt_messages(template, normalise_messages(CONVERSATIONS[name]), arguments=given)
            tools = adapt_tools(template, normalise_tools(arguments["tools"]), arguments=given)
            trace = template.run(messages, tools=tools, now=NOW, **tokens, **switches)
        except (MessageError, TemplateError):
            continue
        text, tags = _render_with_assistant_indices(
            compiled_template=_compile_jinja_template(source),
            messages=messages,
            tools=tools,
            documents=None,
            add_generation_prompt=False,
            strftime_now=NOW.strftime,
            **tokens,
            **switches,
        )
        assert text == trace.text
        labels = label(
            trace,
            messages,
            turn_format=format_of(source, tokens, switches, with_tools=tools is not None, special_tokens=control),
        )
        ours = _marked(len(text), [(one.start, one.end) for one in labels if one.sampled])
        theirs = _marked(len(text), tags)
        found.renders += 1
        found.same += sum(one == other for one, other in zip(ours, theirs, strict=True))
        for start, end in _differences(ours, theirs):
            words = text[start:end]
            if ours[start]:
                found.other[f"+{words}"] += 1
            elif end < len(text) and ours[end] and not (start and ours[start - 1]):
                found.head[words] += 1
            elif start and ours[start - 1]:
                found.tail[words] += 1
            else:
                found.other[f"-{words}"] += 1
    return found


def _marked(size: int, spans: Any) -> bytearray:
    marks = bytearray(size)
    for start, end in spans:
        marks[start:end] = b"\1" * (end - start)
    return marks


def _differences(ours: bytearray, theirs: bytearray) -> Iterator[tuple[int, int]]:
    at = 0
    for (differs, _), same in itertools.groupby(
        zip(ours, theirs, strict=True), key=lambda pair: (pair[0] != pair[1], pair[0])
    ):
        size = sum(1 for _ in same)
        if differs:
            yield at, at + size
        at += size
