"""Find out which formats of messages and tools a template accepts, by running it.

The template renders small conversations with a rare word in the place in question. It accepts a format if the word is
in the output and is not part of serialised data, or if the output equals that of an equivalent format.
"""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from renderers.core.jsontypes import Arguments, JsonObject
from renderers.core.messages import MEDIA_KINDS, REASONING_NAMES
from renderers.core.probes import ARGUMENTS, ASK, CALL_ID, LEAD, TOOL, conversations_with, tool_call
from renderers.errors import TemplateError, TemplateLimitError
from renderers.templating import ChatTemplate, Limits
from renderers.templating.chat import mentions_variable

OPTIONAL_KEYS = ("tool_calls", *REASONING_NAMES)
"""Keys of a message that SDKs add with an empty value."""
EMPTY_VALUES: tuple[Any, ...] = (None, [])
TEXT_PART_TYPES = ("input_text", "output_text")
"""The types of text parts in OpenAI's Responses API."""

_LONGEST = 40
"""A longer string argument is free text. Delimiters and accepted formats do not depend on it."""
_WORD = "Zyxwort"
_NUMBER = "73519"
_DECOY = "zyxlure"
"""A key with a value that is not text. If it is in the output, the template serialises the part as data."""
_TIME = datetime.datetime(2026, 1, 1)
"""A fixed time, so that outputs of templates that write the time can be compared."""


def probe_arguments(template: ChatTemplate, special_tokens: Arguments, arguments: Mapping[str, Any]) -> Arguments:
    """Return the arguments to probe a template with: its special tokens, plus the arguments that it mentions.

    Everything is probed again for each combination of arguments. So lists and objects are left out, and so are long
    strings unless the template fails without them.

    >>> template = ChatTemplate("{{ messages[0].content + style }}")
    >>> probe_arguments(template, (("eos_token", "</s>"),), {"style": "!", "other": 1})
    (('eos_token', '</s>'), ('style', '!'))
    """
    scalars = {
        name: value
        for name, value in arguments.items()
        if isinstance(value, str | int | float | None) and mentions_variable(template.source, name)
    }
    short = {name: value for name, value in scalars.items() if not isinstance(value, str) or len(value) <= _LONGEST}
    probed = tuple({**dict(special_tokens), **short}.items())
    if len(short) == len(scalars) or _runs(template.source, template.limits, probed):
        return probed
    return tuple({**dict(special_tokens), **scalars}.items())


@functools.lru_cache(maxsize=256)
def _runs(source: str, limits: Limits, arguments: Arguments) -> bool:
    render = functools.partial(_render, ChatTemplate(source, limits=limits, verify=False), dict(arguments))
    try:
        return render([ASK], None) is not None or render([LEAD, ASK], None) is not None
    except TemplateLimitError:
        return False


def accepts_format(template: ChatTemplate, arguments: Arguments, role: str, name: str) -> bool:
    """Return True if a template accepts a format in messages of a role. Each format is probed once.

    >>> accepts_format(ChatTemplate("{{ messages[-1].content | upper }}"), (), "user", "parts")
    False
    """
    return _probe(template.source, template.limits, arguments, role, name)


_Render = Callable[[list[JsonObject], list[JsonObject] | None], str | None]
"""Renders messages and tools. Returns None if the template fails."""


@functools.lru_cache(maxsize=4096)
def _probe(source: str, limits: Limits, arguments: Arguments, role: str, name: str) -> bool:
    """Render small conversations that contain the format in different contexts."""
    render = functools.partial(_render, ChatTemplate(source, limits=limits, verify=False), dict(arguments))
    if render([ASK], None) is None and role != "system" and render([LEAD, ASK], None) is not None:
        # The template requires a system message.
        render = functools.partial(_render_with_lead, render)
    if name in _TOOLS:
        return _shows(render([ASK], _TOOLS[name]), _WORD)
    if name in _EQUIVALENT:
        return all(other in (None, text) for text, other in _render_pairs(role, _EQUIVALENT[name], render))
    if name in _MEDIA:
        return any(
            text != other and None not in (text, other) for text, other in _render_pairs(role, _MEDIA[name], render)
        )
    if name in _WITHOUT_TEXT:
        pairs = list(_render_pairs(role, [(fields, {**fields, "content": ""}) for fields in _FORMATS[name]], render))
        # If a call is written beside an empty text, it must be written without text. Otherwise any output will do.
        word = _WORD if any(_shows(text, _WORD) for pair in pairs for text in pair) else ""
        return all(_shows(text, word) for text, other in pairs if _shows(other, word))
    word = _EXPECTED.get(name, _WORD)
    return any(_shows(text, word) for fields in _FORMATS[name] for text in _render_in_contexts(role, fields, render))


def _render_in_contexts(role: str, fields: JsonObject, render: _Render) -> Iterator[str | None]:
    """Yield the output for a message in all contexts, without and with a tool."""
    for messages in conversations_with({"role": role, **fields}):
        for tools in (None, [TOOL]):
            yield render(messages, tools)


def _render_pairs(
    role: str, pairs: list[tuple[JsonObject, JsonObject]], render: _Render
) -> Iterator[tuple[str | None, str | None]]:
    """Yield the outputs for both messages of each pair in the same contexts."""
    for first, second in pairs:
        yield from zip(_render_in_contexts(role, first, render), _render_in_contexts(role, second, render), strict=True)


_SPEC = TOOL["function"] | {"name": _WORD}
_TOOLS: dict[str, list[JsonObject]] = {
    "bare tool": [_SPEC],
    "wrapped tool": [{"type": "function", "function": _SPEC}],
}
_WITHOUT_TEXT = {"none", "none beside calls", "missing", "missing beside calls"}
_FORMATS: dict[str, list[JsonObject]] = {
    "text": [{"content": _WORD}],
    "parts": [{"content": [{"type": "text", "text": _WORD, _DECOY: 0}]}],
    "thinking part": [
        {"content": [{"type": "thinking", "thinking": _WORD, _DECOY: 0}, {"type": "text", "text": "T"}]},
    ],
    "object": [{"content": {"x": _WORD}}],
    "number": [{"content": int(_NUMBER)}],
    "reasoning": [{"content": "T", "reasoning_content": _WORD, "thinking": _WORD}],
    "none": [{"content": None}],
    "none beside calls": [{"content": None, "tool_calls": [tool_call(_WORD, arguments)]} for arguments in ARGUMENTS],
    "missing": [{}],
    "missing beside calls": [{"tool_calls": [tool_call(_WORD, arguments)]} for arguments in ARGUMENTS],
    "call": [
        {"content": content, "tool_calls": [tool_call(_WORD, arguments)]}
        for arguments in ARGUMENTS
        for content in ("", None)
    ],
    "bare call": [
        {"content": "", "tool_calls": [{"id": CALL_ID, "name": _WORD, "arguments": arguments}]}
        for arguments in ARGUMENTS
    ],
    "arguments": [{"content": content, "tool_calls": [tool_call("f", {"x": _WORD})]} for content in ("", None)],
    "arguments as text": [
        {"content": content, "tool_calls": [tool_call("f", json.dumps({"x": _WORD}))]} for content in ("", None)
    ],
}
_FORMATS["arguments as JSON"] = _FORMATS["arguments within JSON"] = _FORMATS["arguments"]
"""Messages of each format, without the role. A format is accepted if the word is in the output in any context."""

_JSON = '{"x":"' + _WORD + '"}'
_EXPECTED = {"object": _JSON, "number": _NUMBER, "arguments as JSON": _JSON, "arguments within JSON": f":{_JSON}"}
"""The text that has to be in the output instead of the word, ignoring white space."""

_PART = {"type": "text", "text": _WORD}
_CONTENTS: dict[str, list[tuple[Any, Any]]] = {
    "string among parts": [([_WORD], [_PART])],
    "part of another type": [
        ([{"text": _WORD}], [_PART]),
        *(([{"type": type_, "text": _WORD}], [_PART]) for type_ in TEXT_PART_TYPES),
    ],
    "part with nulls": [([{**_PART, **dict.fromkeys(MEDIA_KINDS)}], [_PART])],
    "thinking in parts": [([{"type": "thinking", "thinking": [_PART]}], [{"type": "thinking", "thinking": _WORD}])],
}
_EQUIVALENT: dict[str, list[tuple[JsonObject, JsonObject]]] = {
    **{
        f"{key} {empty}": [
            ({"content": content, key: empty}, {"content": content}) for content in (_WORD, None, [_PART])
        ]
        for key in OPTIONAL_KEYS
        for empty in EMPTY_VALUES
    },
    **{
        name: [({"content": content}, {"content": other}) for content, other in pairs]
        for name, pairs in _CONTENTS.items()
    },
}
"""Messages of each format with an equivalent one. A format is accepted if both give the same output in all contexts."""

_MEDIA: dict[str, list[tuple[JsonObject, JsonObject]]] = {
    name: [({"content": [_PART, part]}, {"content": [_PART]})]
    for kind in MEDIA_KINDS
    for name, part in {f"{kind} part": {"type": kind, kind: "x"}, f"{kind} alone": {kind: "x"}}.items()
}
"""Messages with and without a media part. A format is accepted if the part changes the output."""


def _render_with_lead(render: _Render, messages: list[JsonObject], tools: list[JsonObject] | None) -> str | None:
    return render([LEAD, *messages], tools)


def _render(
    template: ChatTemplate, arguments: JsonObject, messages: list[JsonObject], tools: list[JsonObject] | None
) -> str | None:
    try:
        return template.run(messages, tools=tools, now=_TIME, **arguments).text
    except TemplateLimitError:
        # No other format would avoid the limit.
        raise
    except TemplateError:
        return None


def _shows(text: str | None, word: str) -> bool:
    """Return True if a text contains the word, and not as part of serialised data."""
    if text is None:
        return False
    squeezed = "".join(text.split())
    return word in squeezed and not any(trap in squeezed for trap in (_DECOY, f'\\"{_WORD}', "{'x':"))
