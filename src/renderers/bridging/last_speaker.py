"""`RoleHeaders`: the headers of messages as token ids, to find the role of the last message in a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from renderers.bridging.context import BridgeContext
from renderers.bridging.sample_histories import HistoryFeature, sample_histories
from renderers.core.spans import Path
from renderers.core.text import compile_alternation
from renderers.programs.base import REJECTIONS

_CHUNK = 512
"""How many ids of a prompt are searched at a time, from its end on."""
_HEADER_PATHS: tuple[Path, ...] = ((), ("role",))


class RoleHeaders(NamedTuple):
    """The ids of message headers, each from a special token on."""

    assistant: tuple[int, ...]
    others: tuple[tuple[int, ...], ...]
    """The headers of user messages and tool results."""


def role_headers(context: BridgeContext) -> RoleHeaders | None:
    """Return the headers of messages; None if no special token begins them or two of them are equal."""
    pattern = compile_alternation(context.special_tokens)
    first_token = pattern.search(context.header) if pattern else None
    if pattern is None or first_token is None:
        return None
    texts = [context.header[first_token.start() :]]
    for history in sample_histories():
        if history.features not in ({HistoryFeature.TURN}, {HistoryFeature.RESULT}):
            continue
        try:
            turn = context.render(history.messages, turn=1, prompt=False)
        except REJECTIONS:
            continue
        later = (span for span in turn.trace.spans if span.start >= turn.end)
        bodies = [span.start for span in later if span.path not in _HEADER_PATHS]
        if turn.end and bodies:
            following = turn.trace.text[turn.end : bodies[0]]
            token = pattern.search(following)
            # The token that ends the turn may begin the next message as well.
            texts.append(following[token.start() :] if token else turn.stop + following)
    # Whitespace at the end may be in a token with the text after it.
    assistant, *others = (tuple(context.encode(text.rstrip())) for text in texts)
    # The last token may merge with the text after it. It is left out unless it is needed.
    others = [other if assistant[: len(other) - 1] == other[:-1] else other[:-1] for other in others]
    return RoleHeaders(assistant, tuple(others)) if all(others) and assistant not in others else None


def ends_with_assistant_message(prompt: Sequence[int], headers: RoleHeaders) -> bool:
    """Return True if the message before the open assistant turn is also an assistant message.

    >>> headers = RoleHeaders(assistant=(1, 2), others=((1, 3),))
    >>> ends_with_assistant_message([1, 3, 9, 1, 2, 8, 1, 2], headers)
    True
    >>> ends_with_assistant_message([1, 2, 8, 1, 3, 9, 1, 2], headers)
    False
    """
    end, assistant_headers = len(prompt), 0
    longest = max(map(len, (headers.assistant, *headers.others)))
    while end > 0:
        start = max(0, end - _CHUNK)
        # A header that begins before the end of the chunk may extend beyond it.
        chunk = list(prompt[start : end + longest - 1])
        places = _find_headers(chunk, headers)
        for place in sorted((place for place in places if place < end - start), reverse=True):
            if not places[place]:
                return False
            assistant_headers += 1
            if assistant_headers == 2:
                return True
        end = start
    return False


def _find_headers(ids: Sequence[int], headers: RoleHeaders) -> dict[int, bool]:
    """Return the places of headers, each with True if it is the assistant's."""
    places = {}
    for header in (*headers.others, headers.assistant):
        place = -1
        for _ in range(ids.count(header[0])):
            place = ids.index(header[0], place + 1)
            if tuple(ids[place : place + len(header)]) == header:
                places[place] = header is headers.assistant
    return places
