"""Compare the sampled mask with the `{% generation %}` tags in hand-tagged templates."""

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
from renderers.programs.adapt import InputAdapter
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
    # The template writes tool responses and the next message inside the turn with the call. After a response its
    # generation prompt is empty, but the next turn has a header.
    "trl__diffusion_gemma_training": Counter({"+<|turn>model\n": 3, "+<|tool_response>": 1, "-I look.<turn|>\n": 1}),
}
"""Known differences that are neither at the start nor at the end of a tag, by template."""


@dataclass(kw_only=True)
class Agreement:
    """The agreement of the sampled text with the tags of a template, in characters."""

    renders: int = 0
    same: int = 0
    head: Counter[str] = field(default_factory=Counter)
    """Text at the start of tags that is not sampled: it is part of the generation prompt."""
    tail: Counter[str] = field(default_factory=Counter)
    """Text at the end of tags that is not sampled: it follows the stop token."""
    other: Counter[str] = field(default_factory=Counter)
    """Any other difference. `+` is sampled and not tagged, `-` is tagged and not sampled."""


def compare_with_tags(path: Path) -> Agreement:
    """Render the test conversations with a template, and compare the sampled text with the tagged text."""
    source = path.read_text(encoding="utf-8")
    tokenizer, template = stand_in(path), ChatTemplate(source, verify=False)
    tokens: dict[str, Any] = {
        name: text for name, text in tokenizer.special_tokens_map.items() if isinstance(text, str)
    }
    control = frozenset(tokenizer.get_added_vocab())
    agreement = Agreement()
    for name, arguments in rotated(turns=1):
        switches: dict[str, Any] = {
            key: value for key, value in arguments.items() if key not in ("tools", "add_generation_prompt")
        }
        probe = probe_arguments(template, tuple(tokens.items()), switches)
        try:
            messages = InputAdapter(template, probe).messages(normalise_messages(CONVERSATIONS[name]))
            tools = InputAdapter(template, probe).tools(normalise_tools(arguments["tools"]))
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
        sampled = _marked(len(text), [(span.start, span.end) for span in labels if span.sampled])
        tagged = _marked(len(text), tags)
        agreement.renders += 1
        agreement.same += sum(mask == tag for mask, tag in zip(sampled, tagged, strict=True))
        for start, end in _differences(sampled, tagged):
            piece = text[start:end]
            if sampled[start]:
                agreement.other[f"+{piece}"] += 1
            elif end < len(text) and sampled[end] and not (start and sampled[start - 1]):
                agreement.head[piece] += 1
            elif start and sampled[start - 1]:
                agreement.tail[piece] += 1
            else:
                agreement.other[f"-{piece}"] += 1
    return agreement


def _marked(size: int, spans: Any) -> bytearray:
    marks = bytearray(size)
    for start, end in spans:
        marks[start:end] = b"\1" * (end - start)
    return marks


def _differences(sampled: bytearray, tagged: bytearray) -> Iterator[tuple[int, int]]:
    at = 0
    for (differs, _), run in itertools.groupby(
        zip(sampled, tagged, strict=True), key=lambda pair: (pair[0] != pair[1], pair[0])
    ):
        size = sum(1 for _ in run)
        if differs:
            yield at, at + size
        at += size
