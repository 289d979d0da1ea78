"""Compare the sampled text of a turn with the generation prompt before it.

The reference is the template itself: the text that it renders for a conversation with the turn, against the text that
it renders for the messages before the turn with a generation prompt.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from renderers import ChatRenderer, MessageError, TemplateError, create_renderer
from renderers.core.messages import normalise_messages, normalise_tools
from renderers.core.spans import LabelledSpan, Span
from renderers.core.text import LEXEME
from renderers.rendering.pipeline import RenderedText
from tests.support.conversations import CONVERSATIONS
from tests.support.parity import LARGE, PLAIN_TOOL, REQUIRED, SWITCHES
from tests.support.standin import stand_in

__all__ = ["faults_of_template"]

Setting = tuple[str, bool, dict[str, Any]]
"""The name of a conversation, whether there are tools, and the switches."""


def settings_of(source: str, *, every: int) -> Iterator[Setting]:
    """Yield every n-th combination of conversation, tools and switches that a template reads."""
    switches = [switch for switch in SWITCHES if not switch or any(name in source for name in switch)]
    required = {name: value for name, value in REQUIRED.items() if name in source}
    names = [name for name in CONVERSATIONS if name not in LARGE]
    for name, with_tools, switch in itertools.islice(itertools.product(names, (False, True), switches), 0, None, every):
        yield name, with_tools, {**required, **switch}


def faults_of_template(path: Path, *, every: int = 1) -> Counter[str]:
    """Return what is wrong with the sampled text of turns that a template renders, with the number of turns."""
    renderer, source = create_renderer(stand_in(path)), path.read_text(encoding="utf-8")
    faults: Counter[str] = Counter()
    for name, with_tools, switch in settings_of(source, every=every):
        tools = normalise_tools([PLAIN_TOOL]) if with_tools else None
        messages = normalise_messages(CONVERSATIONS[name])
        for index, message in enumerate(messages):
            if message["role"] != "assistant" or not index:
                continue
            prompts = [run(renderer, messages[:index], tools, switch | other, prompt=True) for other in SWITCHES]
            prompt = prompts[0]
            if prompt is None or _continues_a_message(prompt, index):
                continue
            for end in sorted({index + 1, len(messages)}):
                full = run(renderer, messages[:end], tools, switch, prompt=False)
                if full is None:
                    continue
                same = full.text.startswith(prompt.text)
                fault = fault_after(prompt, full, index) if same else fault_beside(prompts, full, index)
                if fault is not None:
                    faults[f"{name}, message {index} of {end}: {fault}"] += 1
    return faults


def run(
    renderer: ChatRenderer, messages: list[Any], tools: Any, switch: dict[str, Any], *, prompt: bool
) -> RenderedText | None:
    try:
        return renderer._pipeline.run(messages, tools=tools, add_generation_prompt=prompt, arguments=switch)
    except (MessageError, TemplateError):
        return None


def _continues_a_message(prompt: RenderedText, index: int) -> bool:
    """Return True if a prompt ends with the text of the previous message, for the model to continue it."""
    last = [span for span in prompt.trace.spans if span.start < span.end][-1]
    return last.message == index - 1 and bool(last.path)


def sampled_spans(full: RenderedText, index: int) -> list[LabelledSpan]:
    return [span for span in full.labels if span.message == index and span.sampled and span.start < span.end]


def fault_after(prompt: RenderedText, full: RenderedText, index: int) -> str | None:
    """Return what is wrong with a turn of a text that starts with the prompt: all of it after the prompt is sampled."""
    text, spans, start = full.text, full.trace.spans, len(prompt.text)
    later = next((span.start for span in spans if span.message > index and span.start >= start), len(text))
    last = max([start, *(span.end for span in bodies_of(spans, index) if span.end <= later)])
    following = next((span.start for span in spans if span.message > index and span.start >= last and span.path), None)
    token = full.turn_format.end_token
    stop = text.find(token, last, following) if token else -1
    end = stop + len(token or "") if stop >= 0 else last
    marked = {place for span in sampled_spans(full, index) for place in range(span.start, span.end)}
    if marked and min(marked) < start:
        return f"text of the prompt is sampled: {text[min(marked) : start]!r}"
    missing = [place for place in range(start, end) if place not in marked]
    if missing:
        return f"text of the turn is not sampled: {text[missing[0] : missing[-1] + 1]!r}"
    if stop >= 0 and max(marked) >= end:
        return f"text after the stop token is sampled: {text[end : max(marked) + 1]!r}"
    return None


def fault_beside(prompts: list[RenderedText | None], full: RenderedText, index: int) -> str | None:
    """Return what is wrong with a turn of a text that differs from the prompt.

    The end of the prompt is not known here, but sampled text before the first body must not repeat its markers and
    words. A turn with reasoning may be sampled with another setting of thinking: then only those count that the prompt
    has with every setting.
    """
    message = full.run.messages[index]
    thinks = "reasoning_content" in message or "think>" in str(message.get("content"))
    added = [set(words_of(added_text(prompt))) for prompt in prompts[: None if thinks else 1] if prompt is not None]
    sampled, bodies = sampled_spans(full, index), bodies_of(full.trace.spans, index)
    before = full.text[sampled[0].start : bodies[0].start] if sampled and bodies else ""
    repeated = [word for word in words_of(before) if all(word in words for words in added)]
    return f"text of the prompt is sampled: {repeated}" if repeated else None


def added_text(prompt: RenderedText) -> str:
    """Return the text that the generation prompt adds."""
    return prompt.text[max((span.end for span in prompt.trace.spans if span.message >= 0), default=0) :]


def words_of(text: str) -> list[str]:
    """Return the markers and words in a text."""
    return [word for word in LEXEME.findall(text) if len(word) > 1]


def bodies_of(spans: Sequence[Span], index: int) -> list[Span]:
    """Return the text of the fields of a message, without its role."""
    fields = (span for span in spans if span.message == index and span.path[:1] != ("role",))
    return [span for span in fields if span.path and span.start < span.end]
