"""Derive the syntax of calls from a rendered turn: the keys of JSON objects, or the tags around names and values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy_pattern
from renderers.core.probes import tool_call
from renderers.core.text import common_prefix_length
from renderers.parsing.lenient_json import JsonError, read_json, read_json_prefix
from renderers.parsing.rendered_turns import RenderedTurn
from renderers.parsing.tool_formats import MarkerPair
from renderers.parsing.tool_formats.base import CallKeys
from renderers.parsing.tool_formats.functionary import FUNCTIONARY
from renderers.parsing.tool_formats.glm import GLM, PairTags
from renderers.parsing.tool_formats.minimax import MINIMAX
from renderers.parsing.tool_formats.qwen_xml import QWEN_XML
from renderers.parsing.tool_formats.tags import Tags


def written_keys(turn: RenderedTurn, name: str, arguments: JsonObject) -> CallKeys | None:
    """Return the keys of the first JSON object with the name and the arguments of a call. None if there is none."""
    text, position = turn.trace.text, turn.start
    while (position := text.find("{", position)) >= 0:
        try:
            value, _ = read_json_prefix(text, position)
        except JsonError:
            value = None
        keys = _keys_of(value, name, arguments)
        if keys is not None:
            return keys
        position += 1
    return None


def _keys_of(value: Any, name: str, arguments: JsonObject) -> CallKeys | None:
    """Return the keys of the name and the arguments in an object, or in an object within it."""
    for wrapper, inner in (("", value), *(value.items() if isinstance(value, dict) else ())):
        if not isinstance(inner, dict):
            continue
        names = [key for key, item in inner.items() if item == name]
        objects = [key for key, item in inner.items() if item == arguments or _is_text_of(item, arguments)]
        if names and objects:
            return CallKeys(names[0], objects[0], wrapper)
    return None


def _is_text_of(value: Any, arguments: JsonObject) -> bool:
    try:
        return isinstance(value, str) and bool(read_json(value) == arguments)
    except JsonError:
        return False


class WrittenTags(NamedTuple):
    """The tags of calls, with the markers around all calls and around each, and the key of the format to read them."""

    tools: str
    section: MarkerPair | None
    call: MarkerPair
    tags: Tags | PairTags


_NAMES, _KEYS, _VALUES = (
    [f"probe{word}{letter}" for letter in letters]
    for word, letters in (("function", "ab"), ("key", "ab"), ("value", "abcd"))
)
_WORDS = [
    *(_NAMES[0], _KEYS[0], _VALUES[0], _KEYS[1], _VALUES[1]),
    *(_NAMES[1], _KEYS[0], _VALUES[2], _KEYS[1], _VALUES[3]),
]
"""The words of two calls with two parameters each, in the order in which a template writes them."""
_IN_ORDER = re.compile("(.*)" + "(.*?)".join(_WORDS) + "(.*)", re.DOTALL)
_TAG = lazy_pattern(r"<[^<>]+>")
_BEFORE_WORD, _AFTER_WORD = lazy_pattern(r"<[^<>]*\Z"), lazy_pattern(r"[^<>\w\s]*>")
_JSON_TO_NEXT = lazy_pattern(r'\s*\{\s*"')
"""The text from the end of a tag to the first key of a JSON object."""


class _Texts(NamedTuple):
    """The texts beside the words of two calls."""

    before: str
    to_key: str
    """From a name to its first key."""
    to_value: str
    to_next: str
    """From a value to the next key."""
    between: str
    """From the last value of a call to the name of the next one."""
    after: str


def written_tags(
    render: Callable[[list[JsonObject]], RenderedTurn], header: str, *, end_token: str | None
) -> WrittenTags | None:
    """Return the tags of calls with the name in a tag or after a marker. None if there are none.

    The text between the words of a turn has to be the same in all places with the same meaning. `render` returns a turn
    with some calls.
    """
    calls = [
        tool_call(name, dict(zip(_KEYS, _VALUES[at : at + 2], strict=True)), call_id=f"call0000{at}")
        for name, at in zip(_NAMES, (0, 2), strict=True)
    ]
    match = _IN_ORDER.fullmatch(render(calls).text_after(header))
    if match is None:
        return None
    before, *first, between, to_key, to_value, to_next, to_last, after = match.groups()
    if first != [to_key, to_value, to_next, to_last] or to_value != to_last:
        return None
    texts = _Texts(before, to_key, to_value, to_next, between, after)
    return _named_tags(texts, end_token) or _pair_tags(texts, end_token)


def _named_tags(texts: _Texts, end_token: str | None) -> WrittenTags | None:
    """Return tags that contain the name and the keys, or only the name if the arguments are JSON."""
    before, to_key, to_value, to_next, between, _ = texts
    name_end, key_end = _AFTER_WORD.match(to_key), _AFTER_WORD.match(to_value)
    key_open, function = _BEFORE_WORD.search(to_key), _BEFORE_WORD.search(between)
    if name_end is None or function is None or not before.endswith(function[0]):
        return None
    if _JSON_TO_NEXT.fullmatch(to_key, name_end.end()):
        tags = Tags(function[0], "", "", "", name_end=name_end[0])
        return _with_markers(tags, texts, '"}', end_token)
    close = _TAG.search(to_next)
    if key_end is None or key_open is None or close is None:
        return None
    padding, start = to_value[key_end.end() :], to_next[: close.start()]
    line_end = to_next[close.end() :].removesuffix(key_open[0])
    if f"{to_key[name_end.end() : key_open.start()]}{padding}{start}{line_end}".strip():
        return None
    tags = Tags(
        function[0],
        key_open[0],
        key_end[0],
        close[0],
        padding=padding if padding == start else "",
        lines="\n" in line_end,
        name_end=name_end[0],
    )
    return _with_markers(tags, texts, start + close[0], end_token)


def _pair_tags(texts: _Texts, end_token: str | None) -> WrittenTags | None:
    """Return a tag around each key and another one around each value, with the name after the marker of a call."""
    tags = [tag for text in (texts.to_key, texts.to_value, texts.to_next) for tag in _TAG.findall(text)]
    if len(tags) != 5 or tags[0] != tags[4]:
        return None
    pairs = PairTags(*tags[:4])
    spaces = (_TAG.sub("", text) for text in (texts.to_key, texts.to_value, texts.to_next))
    return None if "".join(spaces).strip() else _with_markers(pairs, texts, pairs.value_end, end_token)


def _with_markers(tags: Tags | PairTags, texts: _Texts, value_end: str, end_token: str | None) -> WrittenTags | None:
    """Return tags with the markers around calls. `value_end` is the text after the last value of a call."""
    function = tags.function if isinstance(tags, Tags) else ""
    if not (texts.between.startswith(value_end) and texts.after.startswith(value_end)):
        return None
    beside = texts.before.removesuffix(function), texts.between.removesuffix(function), texts.after
    before, between, after = (
        _TAG.findall(text) for text in (beside[0], *(text[len(value_end) :] for text in beside[1:]))
    )
    # The markers that close a call are the same between two calls and after them.
    count = common_prefix_length(between, after)
    closers, openers = between[:count], between[count:]
    outer = before[: len(before) - len(openers)]
    if not closers or len(openers) > 1 or len(closers) > 1 + len(openers) or [*outer, *openers] != before:
        return None
    has_section = bool(outer) and len(after) > count and after[count] != end_token
    section = (outer[-1], after[count]) if has_section else None
    if isinstance(tags, PairTags):
        return WrittenTags(GLM.key, section, (openers[0], closers[0]), tags) if openers else None
    if not openers:
        tools = MINIMAX.key if tags.open else FUNCTIONARY.key
        return WrittenTags(tools, section, (function, closers[0]), tags._replace(function=""))
    end = closers[0] if len(closers) > 1 else ""
    return WrittenTags(QWEN_XML.key, section, (openers[0], closers[-1]), tags._replace(end=end)) if tags.open else None
