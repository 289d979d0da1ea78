"""Calls as a name and pairs of keys and values, each between markers.

    <tool_call>get_weather
    <arg_key>city</arg_key>
    <arg_value>Rome</arg_value>
    </tool_call>

Used by GLM 4.5 and later, and by Laguna; since GLM 4.7 without the line breaks. Strings have no quotes, other values
are JSON. Hy3 has a marker after the name, and markers around all calls of a turn:

    <tool_calls><tool_call>get_weather<tool_sep>
    <arg_key>city</arg_key>
    <arg_value>Rome</arg_value>
    </tool_call></tool_calls>

All markers of the open weights of Hy3 end with `:opensource`, as in `<tool_calls:opensource>`. Models also write a JSON
object with a name and arguments between the markers of a call, or a list of these.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from renderers.core.completions import ParsedToolCall, RecoveryKind
from renderers.parsing.tool_formats.base import CallHead, MarkerPair, Payload, ToolFormat, call_of_values, recovered
from renderers.parsing.tool_formats.json_calls import begins_json, list_calls_in, read_json_call
from renderers.parsing.tool_formats.tags import value_end


class PairTags(NamedTuple):
    """The markers around a key and around a value, and the marker after the name if there is one."""

    key: str
    key_end: str
    value: str
    value_end: str
    separator: str = ""


def read_pairs(payload: Payload, *, tags: PairTags) -> ParsedToolCall:
    """Parse a call with markers around its keys and its values."""
    key_marker, key_end, value_marker, closer, name_end = map(payload.mark, tags)
    byte_name, *parts = payload.byte_text.split(key_marker)
    after_name, recoveries = "", list[RecoveryKind]()
    if name_end:
        byte_name, separator, after_name = byte_name.partition(name_end)
        if not separator:
            recoveries.append(RecoveryKind.MISSING_SEPARATOR)
    name = payload.decode(byte_name).strip()
    if not parts and begins_json(name):
        return recovered(read_json_call(payload), RecoveryKind.OTHER_SYNTAX)
    pairs: list[tuple[str, str]] = []
    well_formed = not after_name.strip()
    for part in parts:
        key, _, rest = part.partition(key_end)
        before, _, rest = rest.partition(value_marker)
        # If any of the earlier markers is missing, this one is missing too.
        value, closing, after = rest.rpartition(closer)
        if closer in value:
            end, repeated, ambiguous = value_end(value, 0, len(value), closer)
            value, well_formed = value[:end], well_formed and not ambiguous
            if repeated and RecoveryKind.REPEATED_MARKER not in recoveries:
                recoveries.append(RecoveryKind.REPEATED_MARKER)
        if closing:
            pairs.append((payload.decode(key).strip(), payload.decode(value)))
        # A key with two values. A value can contain the marker that ends it.
        is_single = value_marker not in value and value_marker not in key and not (name_end and name_end in key)
        well_formed = bool(well_formed and closing and is_single and not (before.strip() or after.strip()))
    return call_of_values(name, pairs, payload.schemas, well_formed=well_formed, recoveries=tuple(recoveries))


def read_pairs_head(payload: Payload, *, tags: PairTags) -> CallHead:
    """Parse the name of such a call. The marker after the name ends it, or else that of the first key."""
    name, end = payload.head(tags.separator or tags.key)
    return CallHead() if name is None else CallHead(name.strip(), end)


def _pair(name: str, suffix: str = "") -> MarkerPair:
    return f"<{name}{suffix}>", f"</{name}{suffix}>"


def _hy3(key: str, suffix: str) -> ToolFormat:
    """Return the format of Hy3 with a suffix in all markers."""
    tags = PairTags(*_pair("arg_key", suffix), *_pair("arg_value", suffix), f"<tool_sep{suffix}>")
    return ToolFormat(
        key=key,
        section=_pair("tool_calls", suffix),
        call=_pair("tool_call", suffix),
        value=_pair("arg_value", suffix),
        inner=tags,
        separates_calls=True,
        rejects_unknown_tools=True,
        read=functools.partial(read_pairs, tags=tags),
        read_head=functools.partial(read_pairs_head, tags=tags),
        find=list_calls_in,
    )


_TAGS = PairTags(*_pair("arg_key"), *_pair("arg_value"))
GLM = ToolFormat(
    key="glm",
    call=_pair("tool_call"),
    value=_pair("arg_value"),
    inner=_TAGS[:4],
    separates_calls=True,
    keeps_text=True,
    rejects_unknown_tools=True,
    assumes_prompt=True,
    read=functools.partial(read_pairs, tags=_TAGS),
    read_head=functools.partial(read_pairs_head, tags=_TAGS),
    find=list_calls_in,
)
HY3 = _hy3("hy3", ":opensource")
HY3_PLAIN = _hy3("hy3_plain", "")
