"""Find the sampled text of each turn of a text, in C or in Python.

A turn starts after its header, the text of the generation prompt (`rendering.header`), and ends with its stop token.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from renderers.core.native import native
from renderers.core.spans import TokenMatch, Trace
from renderers.core.text import compile_alternation
from renderers.probing.turn_format import TurnFormat, TurnHeader
from renderers.rendering.header import TurnPlace, header_end
from renderers.rendering.span_labels import MessageSpans, Region, Turn

Headers = tuple[TurnHeader, ...]
_NO_MARKERS = (None, None)


class TurnRules(NamedTuple):
    """Everything that determines the turns of a text besides its headers."""

    special_tokens: frozenset[str]
    end_token: str | None
    stop_tokens: frozenset[str]
    """The stop tokens of the model; empty if unknown."""
    think_markers: tuple[str, str] | None
    inline_reasoning: bool
    """True if markers inside of content open and close reasoning."""

    @classmethod
    def of_format(cls, turn_format: TurnFormat, *, stop_tokens: frozenset[str], inline_reasoning: bool) -> TurnRules:
        """Return the rules of a turn format."""
        special_tokens, end_token = turn_format.key.special_tokens, turn_format.end_token
        return cls(special_tokens, end_token, stop_tokens, turn_format.think_markers, inline_reasoning)

    @property
    def in_c(self) -> tuple[frozenset[str], frozenset[str], str | None, tuple[str | None, str | None]]:
        """The rules as the C extension takes them."""
        return self.special_tokens, self.stop_tokens, self.end_token, self.think_markers or _NO_MARKERS


def find_turns(
    trace: Trace,
    places: list[MessageSpans | None],
    headers: list[Headers | None],
    *,
    rules: TurnRules,
    tokens: list[TokenMatch] | None = None,
    adjust: Callable[[Turn], Turn] | None = None,
) -> list[Turn | None]:
    """Return the turn of each message with headers; None for the others.

    `tokens` are all special tokens in the text, if none can overlap another one. `adjust` changes the sampled text of a
    turn before its reasoning is found.
    """
    if native is None or tokens is None or adjust is not None or not rules.inline_reasoning:
        turns: Sequence[Turn | bool | None] = [None if own is None else False for own in headers]
    else:
        turns = native.find_turns(trace.text, trace.spans, places, headers, tokens, rules.in_c, _TYPES)
    if False not in turns:
        return turns  # type: ignore[return-value]
    finder = TurnFinder(trace, rules)
    return [
        finder.find(places[index], headers[index], adjust) if turn is False else turn  # type: ignore[arg-type, misc]
        for index, turn in enumerate(turns)
    ]


_TYPES = (Turn, Region)


@functools.lru_cache(maxsize=64)
def are_disjoint(special_tokens: frozenset[str], all_tokens: frozenset[str]) -> bool:
    """Return True if no text can have two of all tokens that overlap, and special tokens are among them.

    Then the special tokens in a part of a text are those of the whole text that are in this part.

    >>> tokens = frozenset({"<a>", "</a>", "/b"})
    >>> are_disjoint(frozenset({"<a>"}), tokens), are_disjoint(frozenset(), tokens | {">b"})
    (True, False)
    """
    if not special_tokens <= all_tokens or "" in all_tokens:
        return False
    starts, ordered = {token[0] for token in all_tokens}, sorted(all_tokens)
    if any(longer.startswith(shorter) for shorter, longer in itertools.pairwise(ordered)):
        return False
    suffixes = {token[at:] for token in ordered for at in range(1, len(token)) if token[at] in starts}
    return not any(_overlaps(suffix, all_tokens, ordered) for suffix in suffixes)


def _overlaps(suffix: str, tokens: frozenset[str], ordered: Sequence[str]) -> bool:
    """Return True if a token starts with the rest of another one, or is within it."""
    following = bisect.bisect_left(ordered, suffix)
    if following < len(ordered) and ordered[following].startswith(suffix):
        return True
    return any(suffix[:size] in tokens for size in range(1, len(suffix)))


class TurnFinder:
    """Finds the sampled text of turns in one trace."""

    def __init__(self, trace: Trace, rules: TurnRules) -> None:
        self._trace, self._text, self._rules = trace, trace.text, rules
        self._special_tokens = compile_alternation(rules.special_tokens)

    def find(self, own: MessageSpans, headers: Headers, adjust: Callable[[Turn], Turn] | None = None) -> Turn:
        """Return the turn of a message with some spans, with its reasoning."""
        start, own_end, next_span, previous_body, first_body, last_body, role, content = own
        body = own_end if first_body < 0 else first_body
        header = header_end(self._text, TurnPlace(previous_body, start, body, own_end, role), headers)
        last = max(last_body, header)
        end = self._end(last, max(own_end, last), next_span)
        turn = Turn(start, header, end, tuple(self._inner_prompts(header, end, headers)))
        return self._with_reasoning(turn if adjust is None else adjust(turn), content)

    def _inner_prompts(self, start: int, end: int, headers: Headers) -> Iterator[tuple[int, int]]:
        """Yield the generation prompts after stop tokens within a turn, as between two calls of gpt-oss."""
        prompt = headers[0].generation_prompt if headers else ""
        text = self._text
        # Faster than a search for the stop tokens before it: nearly all turns have none.
        if not prompt or text.find(prompt, start, end) < 0:
            return
        pattern = compile_alternation(frozenset(token + prompt for token in self._rules.stop_tokens))
        for match in pattern.finditer(text, start, end) if pattern else ():
            yield match.end() - len(prompt), match.end()

    def _end(self, last: int, end: int, next_span: int) -> int:
        """Return the end of a turn with its last body, its text, and the first span after it."""
        if self._special_tokens is not None:
            end_token, stop_tokens, token = self._rules.end_token, self._rules.stop_tokens, None
            for token in self._special_tokens.finditer(self._text, last, end):
                if token[0] == end_token:
                    return token.end()
            following = self._following_token(end, next_span)
            # Any token can stop the turn if no stop token is known.
            if following is not None and (following[0] in stop_tokens if stop_tokens else end_token is None):
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

    def _with_reasoning(self, turn: Turn, content: int) -> Turn:
        """Return a turn with the reasoning at its start. Its content starts at a place, or is missing with -1.

        Reasoning that is not closed extends to the end of the turn.
        """
        if self._rules.think_markers is None:
            return turn
        opening, closing = self._rules.think_markers
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
        text, inline = self._text, self._rules.inline_reasoning
        position = text.find(marker, start, end)
        while position >= 0 and not inline and self._trace.spans_in(position, position + 1)[0].path:
            position = text.find(marker, position + 1, end)
        return position if position >= 0 else None
