"""Map fields of messages to channels."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from renderers.core.message_types import MEDIA_KINDS
from renderers.core.messages import REASONING_NAMES
from renderers.core.spans import Channel, Path, Span

RESULT_ROLES = frozenset({"tool", "function", "ipython", "tool_response"})


def span_channel(span: Span, messages: Sequence[Mapping[str, Any]]) -> Channel:
    """Return the channel of a span of rendered messages.

    >>> span_channel(Span(0, 3, 0, ("tool_calls", 0, "function", "name")), [{"role": "assistant"}])
    <Channel.TOOL_NAME: 'tool_name'>
    """
    if span.message < 0:
        return field_channel(span.path, None)
    return field_channel(span.path, messages[span.message]["role"] in RESULT_ROLES)


@functools.lru_cache(maxsize=4096)
def field_channel(path: Path, is_result: bool | None) -> Channel:
    """Return the channel of a field of a message, which may be the result of a tool; of an argument with None.

    >>> field_channel(("content",), True), field_channel(("tools", 0), None)
    (<Channel.TOOL_RESULT: 'tool_result'>, <Channel.TOOL_DEFINITION: 'tool_definition'>)
    """
    if is_result is None:
        return Channel.TOOL_DEFINITION if path[:1] == ("tools",) else Channel.SCAFFOLD
    if not path:
        return Channel.SCAFFOLD
    field = path[0]
    if field == "content":
        if path[-1] == "thinking" and len(path) > 1:
            return Channel.REASONING
        if len(path) > 2 and path[2] in MEDIA_KINDS:
            return Channel.MEDIA
        return Channel.TOOL_RESULT if is_result else Channel.CONTENT
    if field in REASONING_NAMES:
        return Channel.REASONING
    if field == "tool_calls":
        if "arguments" in path:
            return Channel.TOOL_ARGUMENTS
        return {"id": Channel.TOOL_CALL_ID, "name": Channel.TOOL_NAME}.get(str(path[-1]), Channel.SCAFFOLD)
    if field == "tool_call_id":
        return Channel.TOOL_CALL_ID
    return Channel.TOOL_NAME if field == "name" and is_result else Channel.SCAFFOLD
