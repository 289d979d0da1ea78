"""Calls of DeepSeek V3.2, V4 and V4.1 in DSML: elements with a flag for strings, in a section.

    <｜DSML｜tool_calls>
    <｜DSML｜invoke name="get_weather">
    <｜DSML｜parameter name="city" string="true">Rome</｜DSML｜parameter>
    <｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>
    </｜DSML｜invoke>
    </｜DSML｜tool_calls>

A value with `string="true"` is text without quotes, any other value is JSON. V3.2 names the section `function_calls`,
V4 names it `tool_calls`. V4.1 writes a space before each name, and names the section ` calls`.

Models write values with the flag of another type: the value has the type of the schema, if its text fits only that.
They also leave out the flag, closing tags, or the name of the section, and write all arguments as one parameter
with the name `arguments` or `input`, or as one JSON object without a parameter. A value without a flag has the type in
the schema of the tool. If that is not known, and if a parameter has no closing tag, the status is
`MALFORMED_STRUCTURE`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from renderers.core.completions import ParsedToolCall, RecoveryKind
from renderers.core.lazy import lazy_pattern
from renderers.parsing.lenient_json import JsonError, read_json
from renderers.parsing.schema import Schema, read_value
from renderers.parsing.tool_formats.base import (
    INVALID,
    MALFORMED,
    MISSING_NAME,
    OK,
    CallHead,
    MarkerPair,
    Payload,
    ToolFormat,
    failed_call,
    named_call,
    recovered,
    unwrapped,
)
from renderers.parsing.tool_formats.json_calls import read_arguments
from renderers.parsing.tool_formats.tags import value_end

_DSML = "｜DSML｜"
_NAME = lazy_pattern(r'([^"\n]*)"\s*>')
_KEY = lazy_pattern(r'(.*?)" string="(true|false)">', re.DOTALL)
_OTHER_KEY = lazy_pattern(r'(.*?)"(?:\s+string="([^"\n]*)")?\s*>', re.DOTALL)
"""A key without a flag, or with other values or spaces."""


class _Parameter(NamedTuple):
    """A parameter as byte text. `flag` is None without the attribute `string`."""

    key: str
    flag: str | None
    value: str
    well_formed: bool
    """True if the parameter has its closing tag, and nothing else is between it and the next one."""
    repeated: bool = False
    """True if the closing tag occurs twice in a row."""


def _pair(name: str) -> MarkerPair:
    return f"<{_DSML}{name}>", f"</{_DSML}{name}>"


def _read(payload: Payload, *, opener: str, closer: str) -> ParsedToolCall:
    name_match = _NAME.match(payload.byte_text)
    if name_match is None:
        return failed_call(MALFORMED)
    name = payload.decode(name_match[1]).strip()
    if not name:
        return failed_call(MISSING_NAME)
    values: dict[str, Any] = {}
    status, first, marks = OK, name_match.end(), (payload.mark(opener), payload.mark(closer))
    parameters = list(_parameters(payload.byte_text, first, *marks))
    before_all = payload.byte_text[first:].partition(marks[0])[0]
    if not parameters and before_all.lstrip().startswith("{"):
        arguments = read_arguments(payload.decode(before_all))
        return recovered(named_call(name, *arguments), RecoveryKind.OTHER_SYNTAX)
    well_formed = not before_all.strip() and all(parameter.well_formed for parameter in parameters)
    repeated = any(parameter.repeated for parameter in parameters)
    recoveries: tuple[RecoveryKind, ...] = (RecoveryKind.REPEATED_MARKER,) if repeated else ()
    for byte_key, flag, byte_value, *_ in parameters:
        key, text = payload.decode(byte_key), payload.decode(byte_value)
        well_formed = well_formed and key not in values
        schema = payload.schemas.parameter(name, key)
        if flag in _READERS:
            values[key], fits, recovery = _READERS[flag](text, schema)
        else:
            values[key], fits = read_value(text, schema)
            well_formed = well_formed and schema is not None
            recovery = RecoveryKind.UNTYPED_VALUE
        status = status if fits else INVALID
        if recovery is not None and recovery not in recoveries:
            recoveries += (recovery,)
    return unwrapped(named_call(name, values, status if well_formed else MALFORMED, recoveries), payload.schemas)


def _parameters(byte_text: str, start: int, opener: str, closer: str) -> Iterator[_Parameter]:
    """Yield the parameters from a position on.

    A value ends at the last closing tag before the next parameter, so it can contain the text of that tag, unless only
    whitespace is between the last ones.
    """
    opening = byte_text.find(opener, start)
    while opening >= 0:
        key_start = opening + len(opener)
        opening = byte_text.find(opener, key_start)
        bound = opening if opening >= 0 else len(byte_text)
        key = _KEY.match(byte_text, key_start, bound) or _OTHER_KEY.match(byte_text, key_start, bound)
        if key is None:
            yield _Parameter(byte_text[key_start:bound].rstrip(), None, "", well_formed=False)
            continue
        closing = byte_text.rfind(closer, key.end(), bound)
        if closing < 0:
            value = byte_text[key.end() : bound].removesuffix("\n")
            yield _Parameter(key[1], key[2], value, well_formed=False)
        else:
            after = byte_text[closing + len(closer) : bound]
            end, repeated, ambiguous = value_end(byte_text, key.end(), closing, closer)
            well_formed = not ambiguous and not after.strip()
            yield _Parameter(key[1], key[2], byte_text[key.end() : end], well_formed, repeated)


class _Value(NamedTuple):
    """A value, whether it fits its flag or the schema, and its difference from the format."""

    value: Any
    fits: bool = True
    recovery: RecoveryKind | None = None


def _read_string(text: str, schema: Schema | None) -> _Value:
    """Read a value with the flag of strings. It is another value if the schema allows no string, and if it fits."""
    if schema is not None and "string" not in schema.types:
        value, fits = read_value(text, schema)
        if fits:
            return _Value(value, recovery=RecoveryKind.VALUE_QUOTES)
    return _Value(text)


def _read_json(text: str, schema: Schema | None) -> _Value:
    """Read a value with the flag of JSON. Text that is not JSON is a string if the schema allows one."""
    try:
        return _Value(read_json(text))
    except JsonError:
        if schema is not None and "string" in schema.types:
            return _Value(text, recovery=RecoveryKind.VALUE_QUOTES)
        return _Value(text, fits=False)


_READERS = {"true": _read_string, "false": _read_json}
"""The functions that read a value, by its flag."""


def _read_head(payload: Payload) -> CallHead:
    match = _NAME.match(payload.byte_text)
    return CallHead() if match is None else CallHead(payload.decode(match[1]).strip(), match.end())


def _dsml(key: str, *, section: str, other_sections: tuple[str, ...] = (), space: str = "") -> ToolFormat:
    value = f'<{_DSML}{space}parameter name="', f"</{_DSML}{space}parameter>"
    return ToolFormat(
        key=key,
        section=_pair(section),
        other_sections=tuple(map(_pair, other_sections)),
        call=(f'<{_DSML}{space}invoke name="', f"</{_DSML}{space}invoke>"),
        value=value,
        inner=(_DSML,),
        padding="\n",
        separates_calls=True,
        keeps_text=True,
        assumes_prompt=True,
        read=functools.partial(_read, opener=value[0], closer=value[1]),
        read_head=_read_head,
    )


DEEPSEEK_V32 = _dsml("deepseek_v32", section="function_calls", other_sections=("tool_calls",))
DEEPSEEK_V4 = _dsml("deepseek_v4", section="tool_calls", other_sections=("function_calls", "toolcalls", "tool"))
DEEPSEEK_V41 = _dsml("deepseek_v41", section=" calls", space=" ")
