"""Which forms of messages and tools a template takes, found by running it.

The template is given small conversations with a rare word in the place in question. It takes the form if the word comes
out, and not as a part of data; or if it writes the same as for a form that means the same.
"""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from renderers.core.messages import MEDIA_KINDS, REASONING_NAMES
from renderers.errors import MessageError, TemplateError, TemplateLimitError, TemplateRefusalError, TemplateRunError
from renderers.templating import ChatTemplate, Limits

__all__ = [
    "ASK",
    "EMPTY",
    "NOT_TAKEN",
    "OPTIONAL",
    "OTHER_TEXTS",
    "TOOL",
    "Data",
    "Given",
    "all_given",
    "around",
    "given_to",
    "takes_form",
]

Data = dict[str, Any]
NOT_TAKEN = (MessageError, TemplateRefusalError, TemplateRunError)
"""What is raised where a template does not take messages: tried ones may be such."""
Given = tuple[tuple[str, Any], ...]
"""What the template is given beside messages and tools, control tokens and switches, as hashable pairs."""

OPTIONAL = ("tool_calls", *REASONING_NAMES)
"""Keys of a message that may be there only to say that there is nothing."""
EMPTY: tuple[Any, ...] = (None, [])
"""What they say then."""
OTHER_TEXTS = ("input_text", "output_text")
"""What OpenAI's Responses API calls parts that are text."""

_WORD = "Zyxwort"
_NUMBER = "73519"
_DECOY = "zyxlure"
"""A key whose value is no text: where it shows up, the template writes data instead of text."""


def given_to(template: ChatTemplate, tokens: Mapping[str, str], switches: Mapping[str, Any]) -> Given:
    """Returns what a template is to be tried with: its control tokens, and switches if it refuses to run without.

    Lists and objects among the switches are left out.

    >>> given_to(ChatTemplate("{{ messages[0].content }}"), {"eos_token": "</s>"}, {"style": "brief"})
    (('eos_token', '</s>'),)
    """
    alone = tuple(tokens.items())
    if not switches or _runs(template.source, template.limits, alone):
        return alone
    return all_given(tokens, switches)


def all_given(tokens: Mapping[str, str], switches: Mapping[str, Any]) -> Given:
    """Returns control tokens and those switches that are not lists or objects."""
    given = {**tokens, **switches}
    return tuple((name, value) for name, value in given.items() if isinstance(value, str | int | float | None))


@functools.lru_cache(maxsize=256)
def _runs(source: str, limits: Limits, given: Given) -> bool:
    write = functools.partial(_written, ChatTemplate(source, limits=limits, verify=False), dict(given))
    return write([ASK], None) is not None or write([_LEAD, ASK], None) is not None


def takes_form(template: ChatTemplate, given: Given, role: str, form: str) -> bool:
    """Says whether a template takes a form of what a role says; each is tried once.

    >>> takes_form(ChatTemplate("{{ messages[-1].content | upper }}"), (), "user", "parts")
    False
    """
    return _tried(template.source, template.limits, given, role, form)


Write = Callable[[list[Data], list[Data] | None], str | None]
"""Gives what the template writes for messages and tools; None where it fails."""


@functools.lru_cache(maxsize=4096)
def _tried(source: str, limits: Limits, given: Given, role: str, form: str) -> bool:
    """Runs small conversations with the form in different surroundings."""
    write = functools.partial(_written, ChatTemplate(source, limits=limits, verify=False), dict(given))
    if write([ASK], None) is None and role != "system" and write([_LEAD, ASK], None) is not None:
        # The template wants a system message, whatever follows.
        write = functools.partial(_led, write)
    if form in _TOOLS:
        return _shows(write([ASK], _TOOLS[form]), _WORD)
    if form in _SAME:
        return all(other in (None, one) for one, other in _both(role, _SAME[form], write))
    if form in _MEDIA:
        return any(one != other and None not in (one, other) for one, other in _both(role, _MEDIA[form], write))
    if form in _WITHOUT_TEXT:
        pairs = list(_both(role, [(said, {**said, "content": ""}) for said in _FORMS[form]], write))
        # Wherever a call is shown beside an empty text, it must be shown beside nothing; else any text will do.
        word = _WORD if any(_shows(text, _WORD) for pair in pairs for text in pair) else ""
        return all(_shows(one, word) for one, other in pairs if _shows(other, word))
    word = _WORDS.get(form, _WORD)
    return any(_shows(text, word) for said in _FORMS[form] for text in _texts(role, said, write))


def _texts(role: str, said: Data, write: Write) -> Iterator[str | None]:
    """Yields what is written of a message in all surroundings, without and with a tool."""
    for messages in around({"role": role, **said}):
        for tools in (None, [TOOL]):
            yield write(messages, tools)


def _both(role: str, pairs: list[tuple[Data, Data]], write: Write) -> Iterator[tuple[str | None, str | None]]:
    """Yields what is written of the first and of the second of each pair in the same surroundings."""
    for one, other in pairs:
        yield from zip(_texts(role, one, write), _texts(role, other, write), strict=True)


def _call(name: str, arguments: Any) -> Data:
    return {"id": "call00000", "type": "function", "function": {"name": name, "arguments": arguments}}


_LEAD, ASK = {"role": "system", "content": "S"}, {"role": "user", "content": "Q"}
_OBJECT, _TEXT = {"x": "y"}, '{"x": "y"}'
_SPEC = {"name": _WORD, "description": "d", "parameters": {"type": "object", "properties": {}}}
_WRAPPED = {"type": "function", "function": _SPEC}
TOOL = {"type": "function", "function": _SPEC | {"name": "f"}}
"""A tool that calls in conversations to try something out with are for."""
_TOOLS: dict[str, list[Data]] = {"bare tool": [_SPEC], "wrapped tool": [_WRAPPED]}
_WITHOUT_TEXT = {"none", "none beside calls", "missing", "missing beside calls"}
_FORMS: dict[str, list[Data]] = {
    "text": [{"content": _WORD}],
    "parts": [{"content": [{"type": "text", "text": _WORD, _DECOY: 0}]}],
    "thinking part": [
        {"content": [{"type": "thinking", "thinking": _WORD, _DECOY: 0}, {"type": "text", "text": "T"}]},
    ],
    "object": [{"content": {"x": _WORD}}],
    "number": [{"content": int(_NUMBER)}],
    "reasoning": [{"content": "T", "reasoning_content": _WORD, "thinking": _WORD}],
    "none": [{"content": None}],
    "none beside calls": [{"content": None, "tool_calls": [_call(_WORD, form)]} for form in (_OBJECT, _TEXT)],
    "missing": [{}],
    "missing beside calls": [{"tool_calls": [_call(_WORD, form)]} for form in (_OBJECT, _TEXT)],
    "call": [
        {"content": content, "tool_calls": [_call(_WORD, form)]} for form in (_OBJECT, _TEXT) for content in ("", None)
    ],
    "bare call": [
        {"content": "", "tool_calls": [{"id": "call00000", "name": _WORD, "arguments": form}]}
        for form in (_OBJECT, _TEXT)
    ],
    "arguments": [{"content": content, "tool_calls": [_call("f", {"x": _WORD})]} for content in ("", None)],
    "arguments as text": [
        {"content": content, "tool_calls": [_call("f", json.dumps({"x": _WORD}))]} for content in ("", None)
    ],
}
_FORMS["arguments as JSON"] = _FORMS["arguments within JSON"] = _FORMS["arguments"]
"""What a message of a form looks like, beside its role: it is taken where the word is shown in any surroundings."""

_JSON = '{"x":"' + _WORD + '"}'
_WORDS = {"object": _JSON, "number": _NUMBER, "arguments as JSON": _JSON, "arguments within JSON": f":{_JSON}"}
"""What has to be shown instead of the word, without regard to spaces."""

_PART = {"type": "text", "text": _WORD}
_CONTENTS: dict[str, list[tuple[Any, Any]]] = {
    "string among parts": [([_WORD], [_PART])],
    "part of another type": [
        ([{"text": _WORD}], [_PART]),
        *(([{"type": type_, "text": _WORD}], [_PART]) for type_ in OTHER_TEXTS),
    ],
    "part with nulls": [([{**_PART, **dict.fromkeys(MEDIA_KINDS)}], [_PART])],
    "thinking in parts": [([{"type": "thinking", "thinking": [_PART]}], [{"type": "thinking", "thinking": _WORD}])],
}
_SAME: dict[str, list[tuple[Data, Data]]] = {
    **{
        f"{key} {empty}": [({"content": said, key: empty}, {"content": said}) for said in (_WORD, None, [_PART])]
        for key in OPTIONAL
        for empty in EMPTY
    },
    **{form: [({"content": one}, {"content": other}) for one, other in _CONTENTS[form]] for form in _CONTENTS},
}
"""What a message of a form looks like, and one that has to be written the same way in all surroundings."""

_MEDIA: dict[str, list[tuple[Data, Data]]] = {
    form: [({"content": [_PART, part]}, {"content": [_PART]})]
    for kind in MEDIA_KINDS
    for form, part in {f"{kind} part": {"type": kind, kind: "x"}, f"{kind} alone": {kind: "x"}}.items()
}
"""What a message with a part that is not text looks like, and one without: it is taken where it makes a difference."""


def around(message: Data) -> list[list[Data]]:
    """Returns conversations with a message in them."""
    result = {"role": "tool", "tool_call_id": "call00000", "name": "f", "content": "R"}
    match message["role"]:
        case "system" | "developer":
            return [[message, ASK]]
        case "user":
            return [[message]]
        case "tool":
            calls = [
                {"role": "assistant", "content": "", "tool_calls": [_call("f", form)]} for form in (_OBJECT, _TEXT)
            ]
            return [[ASK, call, result | message] for call in calls]
        case _ if message.get("tool_calls"):
            return [[ASK, message], [ASK, message, result], [ASK, message, result, ASK]]
        case _:
            return [[ASK, message], [ASK, message, ASK]]


def _led(write: Write, messages: list[Data], tools: list[Data] | None) -> str | None:
    return write([_LEAD, *messages], tools)


def _written(template: ChatTemplate, given: Data, messages: list[Data], tools: list[Data] | None) -> str | None:
    try:
        # Always the same time, so that two texts of a template that writes the time can be compared.
        return template.run(messages, tools=tools, now=datetime.datetime(2026, 1, 1), **given).text
    except TemplateLimitError:
        # It would not do better with anything else.
        raise
    except TemplateError:
        return None


def _shows(text: str | None, word: str) -> bool:
    """Says whether a text has the word in it, and not as a part of data."""
    if text is None:
        return False
    squeezed = "".join(text.split())
    return word in squeezed and not any(trap in squeezed for trap in (_DECOY, f'\\"{_WORD}', "{'x':"))
