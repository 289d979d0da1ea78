"""Calls as a name and pairs of keys and values, each between tokens of its own.

    <tool_call>get_weather
    <arg_key>city</arg_key>
    <arg_value>Rome</arg_value>
    </tool_call>

Used by GLM 4.5 and later; since 4.7 without the line breaks. Strings have no quotes, other values are JSON.
"""

from __future__ import annotations

from collections.abc import Sequence

from renderers.parse.response import ToolCallParseStatus
from renderers.parse.schema import ToolSchemas
from renderers.parse.syntax.base import MALFORMED, Attempt, Call, Payload, Syntax, read_parameters, written_values

__all__ = ["GLM"]

_KEY, _KEY_END, _VALUE, _VALUE_END = _INNER = "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"


def write(calls: Sequence[Call]) -> str:
    """Writes calls.

    >>> write([Call("get", {"x": 1})])
    '<tool_call>get\\n<arg_key>x</arg_key>\\n<arg_value>1</arg_value>\\n</tool_call>'
    """
    return "\n".join(_written(call) for call in calls)


def _written(call: Call) -> str:
    values = written_values(call.arguments).items()
    pairs = "".join(f"{_KEY}{key}{_KEY_END}\n{_VALUE}{text}{_VALUE_END}\n" for key, text in values)
    return f"<tool_call>{call.name}\n{pairs}</tool_call>"


def read(payload: Payload, schemas: ToolSchemas) -> Attempt:
    """Reads a call."""
    key_mark, key_end, value_mark, value_end = map(payload.mark, _INNER)
    called, *parts = payload.wire.split(key_mark)
    name = payload.decode(called).strip()
    pairs: list[tuple[str, str]] = []
    whole = True
    for part in parts:
        key, _, rest = part.partition(key_end)
        before, _, rest = rest.partition(value_mark)
        # Where any of the markers is missing, so is this one.
        value, closed, after = rest.rpartition(value_end)
        if closed:
            pairs.append((payload.decode(key).strip(), payload.decode(value)))
        whole = bool(whole and closed and not (before.strip() or after.strip()))
    arguments, status = read_parameters(pairs, name, schemas)
    if not name:
        return Attempt(None, arguments, ToolCallParseStatus.MISSING_NAME)
    return Attempt(name, arguments, status if whole else MALFORMED)


GLM = Syntax(
    key="glm",
    call=("<tool_call>", "</tool_call>"),
    inner=_INNER,
    ends_reasoning=True,
    keeps_text=True,
    knows_tools=True,
    assumes_prompt=True,
    write=write,
    read=read,
)
