"""Label rendered text: which channel each span is in, and whether the model samples it.

A turn starts after its header, the text of the generation prompt (`rendering.header`), and ends with its stop token.
`label` decides which text of a render is sampled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from renderers.core.channels import RESULT_ROLES
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import media_parts
from renderers.core.options import SamplingConventions
from renderers.core.spans import LabelledSpan, Trace
from renderers.core.text import compile_alternation
from renderers.probing.turn_format import TurnFormat, TurnHeader
from renderers.rendering.header import TurnPlace, header_end
from renderers.rendering.span_labels import Media, MessageSpans, Region, Turn, index_spans, label_spans

_DEFAULT_CONVENTIONS = SamplingConventions()


def label(
    trace: Trace,
    messages: Sequence[JsonObject],
    *,
    turn_format: TurnFormat,
    stop_tokens: frozenset[str] = frozenset(),
    conventions: SamplingConventions = _DEFAULT_CONVENTIONS,
    inline_reasoning: bool = True,
) -> tuple[LabelledSpan, ...]:
    """Return the spans of a trace with their channels and sampled flags.

    `stop_tokens` are the texts of the model's stop tokens, empty if unknown. A stop token that the template writes
    at the start of the next message belongs to the message that it ends. `conventions` can move the boundaries of
    sampled text.

    Content at the start of a turn that is enclosed in the template's reasoning markers is reasoning. With
    `inline_reasoning`, markers inside the content count as well.
    """
    channels, message_spans = index_spans(trace.spans, [message["role"] in RESULT_ROLES for message in messages])
    finder = _TurnFinder(trace, turn_format, stop_tokens, inline_reasoning=inline_reasoning)
    moves_borders = conventions != _DEFAULT_CONVENTIONS
    turns: list[Turn | None] = []
    media: Media = {}
    previous_role = ""
    for index, message in enumerate(messages):
        role, own, turn = message["role"], message_spans[index], None
        # Most contents are texts.
        if type(message.get("content")) is not str and (parts := media_parts(message)):
            texts = (turn_format.placeholder(role, kind) for kind in set(parts.values()))
            media[index] = compile_alternation(frozenset(filter(None, texts)))
        if role == "assistant" and own is not None:
            turn = finder.find(own, turn_format.headers(previous_role))
            if moves_borders:
                turn = _apply_conventions(turn, conventions, trace.text)
            turn = finder.with_reasoning(turn, own.content)
        turns.append(turn)
        previous_role = role
    return label_spans(trace, channels, turns, media)


def _apply_conventions(turn: Turn, conventions: SamplingConventions, text: str) -> Turn:
    if conventions.sampled_from is not None:
        position = text.find(conventions.sampled_from, turn.first, turn.start)
        turn = turn._replace(start=position if position >= 0 else turn.start)
    if conventions.prompted is not None:
        matches = re.finditer(conventions.prompted, text[turn.start : turn.end])
        prompted = tuple((turn.start + match.start(), turn.start + match.end()) for match in matches)
        turn = turn._replace(prompted=turn.prompted + prompted)
    return turn


class _TurnFinder:
    """Finds the sampled text of turns in one trace."""

    def __init__(
        self, trace: Trace, turn_format: TurnFormat, stop_tokens: frozenset[str], *, inline_reasoning: bool
    ) -> None:
        self._trace, self._text = trace, trace.text
        self._special_tokens = compile_alternation(turn_format.key.special_tokens)
        self._end_token, self._stop_tokens = turn_format.end_token, stop_tokens
        self._think_markers, self._inline_reasoning = turn_format.think_markers, inline_reasoning

    def find(self, own: MessageSpans, headers: tuple[TurnHeader, ...]) -> Turn:
        """Return the turn of a message with some spans."""
        start, own_end, next_span, previous_body, first_body, last_body, role, _ = own
        body = own_end if first_body < 0 else first_body
        header = header_end(self._text, TurnPlace(previous_body, start, body, own_end, role), headers)
        last = max(last_body, header)
        end = self._end(last, max(own_end, last), next_span)
        return Turn(start, header, end, tuple(self._inner_prompts(header, end, headers)))

    def _inner_prompts(self, start: int, end: int, headers: tuple[TurnHeader, ...]) -> Iterator[tuple[int, int]]:
        """Yield the generation prompts after stop tokens within a turn, as between two calls of gpt-oss."""
        prompt = headers[0].generation_prompt if headers else ""
        text = self._text
        # Faster than a search for the stop tokens before it: nearly all turns have none.
        if not prompt or text.find(prompt, start, end) < 0:
            return
        pattern = compile_alternation(frozenset(token + prompt for token in self._stop_tokens))
        for match in pattern.finditer(text, start, end) if pattern else ():
            yield match.end() - len(prompt), match.end()

    def _end(self, last: int, end: int, next_span: int) -> int:
        """Return the end of a turn with its last body, its text, and the first span after it."""
        if self._special_tokens is not None:
            token = None
            for token in self._special_tokens.finditer(self._text, last, end):
                if token[0] == self._end_token:
                    return token.end()
            following = self._following_token(end, next_span)
            # Any token can stop the turn if no stop token is known.
            if following is not None and (
                following[0] in self._stop_tokens if self._stop_tokens else self._end_token is None
            ):
                return following.end()
            if token is not None:
                return token.end()
        return last + len(self._text[last:end].rstrip())

    def _following_token(self, end: int, next_span: int) -> re.Match[str] | None:
        """Return the token that opens the next message: without an end token, the model stops by emitting it."""
        spans = self._trace.spans
        later = (spans[number] for number in range(next_span, len(spans)))
        follows = next((span for span in later if span.start < span.end), None)
        is_message = follows is not None and follows.message >= 0 and not follows.path
        return self._special_tokens.match(self._text, end) if is_message and self._special_tokens else None

    def with_reasoning(self, turn: Turn, content: int) -> Turn:
        """Return a turn with the reasoning at its start. Its content starts at a place, or is missing with -1.

        Reasoning that is not closed extends to the end of the turn.
        """
        if self._think_markers is None:
            return turn
        opening, closing = self._think_markers
        first, sampled, turn_end, prompted, _ = turn
        open_start = self._find_marker(opening, first, turn_end)
        content_start = content if content >= 0 else turn_end
        if open_start is None or self._text[min(content_start, open_start) : open_start].strip():
            return turn
        start = open_start + len(opening)
        end = self._find_marker(closing, start, turn_end)
        ends = (turn_end, turn_end) if end is None else (end, end + len(closing))
        return Turn(first, sampled, turn_end, prompted, Region(open_start, start, *ends))

    def _find_marker(self, marker: str, start: int, end: int) -> int | None:
        """Return the first position of a marker in template text or, with `inline_reasoning`, in a body."""
        text, inline = self._text, self._inline_reasoning
        position = text.find(marker, start, end)
        while position >= 0 and not inline and self._trace.spans_in(position, position + 1)[0].path:
            position = text.find(marker, position + 1, end)
        return position if position >= 0 else None
