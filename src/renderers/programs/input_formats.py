"""Find out which formats of messages and tools a template accepts, by running it.

The template renders small conversations with a probe word in the place in question. It accepts a format if the word is
in the output and is not part of serialised data, or if the output equals that of an equivalent format.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import json
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from renderers.core.jsontypes import Arguments, JsonObject, exact_key, hashable
from renderers.core.message_types import MEDIA_KINDS
from renderers.core.messages import REASONING_NAMES
from renderers.core.options import DEFAULT_DATE
from renderers.core.probe_words import (
    PROBE_ARGUMENT,
    PROBE_CONTENT,
    PROBE_KEY,
    PROBE_QUESTION,
    PROBE_REASONING,
    PROBE_RESULT,
    PROBE_SYSTEM,
    PROBE_VALUE,
)
from renderers.core.probes import (
    ARGUMENTS,
    ASK,
    CALL_ID,
    LEAD,
    PROBE_TIME,
    TOOL,
    chat_message,
    conversations_with,
    reasoning_fields,
    tool_call,
)
from renderers.errors import TemplateLimitError
from renderers.programs.base import REJECTIONS
from renderers.templating import ChatTemplate, TemplateLimits
from renderers.templating.turn_variables import turn_variables
from renderers.templating.written_variables import written_variables

OPTIONAL_KEYS = ("tool_calls", *REASONING_NAMES)
"""Keys of a message that SDKs add with an empty value."""
EMPTY_VALUES: tuple[Any, ...] = (None, [])
NULL_KEY = "null "
"""The prefix of the name of a format: a key of a message that is None. The format is accepted if it writes no word."""
TEXT_PART_TYPES = ("input_text", "output_text")
"""The types of text parts in OpenAI's Responses API."""

_LONGEST = 40
"""A longer string argument is taken for free text if it is read only before the messages."""
_LARGE = (str, Mapping, list, tuple)
_NUMBER = "73519"
_OTHER_TIME = datetime.datetime(1987, 12, 13, 14, 15, 16, 170819)
"""A time that differs from the default date in every part."""
_NONE_WORDS = ("None", "null")
"""The words that templates write for None."""
_FORMATS_KEPT = 1024
"""How many formats of roles a template's `AcceptedFormats` keeps at most."""


def probe_arguments(template: ChatTemplate, special_tokens: Arguments, arguments: Mapping[str, Any]) -> Arguments:
    """Return the arguments to probe a template with, by name: its special tokens, and the arguments that it reads.

    Everything is probed again for each combination of arguments. So a text that the template only writes, before all
    messages, is replaced by a probe word. Other long texts, lists and objects are left out if they cannot change how
    turns are written. If the template fails without them, they are reduced by `sample_argument`.

    >>> template = ChatTemplate("{{ date + messages[0].content + style }}")
    >>> probe_arguments(template, (("eos_token", "</s>"),), {"style": "!", "date": "1 May", "other": 1})
    (('date', 'probeargument'), ('eos_token', '</s>'), ('style', '!'))
    """
    read = {name: value for name, value in arguments.items() if name in template.arguments}
    if not any(isinstance(value, _LARGE) for value in read.values()):
        return _sorted_pairs(special_tokens, read)
    probed = read | dict.fromkeys(_free_texts(template, special_tokens, read), PROBE_ARGUMENT)
    needed = _without_large(probed, unless=turn_variables(template.source))
    if len(needed) == len(probed):
        return _sorted_pairs(special_tokens, probed)
    sampled = {name: value if name in needed else sample_argument(value) for name, value in probed.items()}
    for reduced in (needed, sampled):
        pairs = _sorted_pairs(special_tokens, reduced)
        if _runs(template.source, template.limits, exact_key(pairs)):
            return pairs
    return _sorted_pairs(special_tokens, probed)


def sample_argument(value: Any) -> Any:
    """Return an argument with probe words in place of its texts. Of a list only the first item is kept.

    >>> sample_argument([{"title": "A", "page": 1}, {"title": "B", "page": 2}])
    [{'title': 'probeargument', 'page': 1}]
    """
    if isinstance(value, str):
        return PROBE_ARGUMENT if value.strip() else value
    if isinstance(value, dict):
        return {name: sample_argument(item) for name, item in value.items()}
    return list(map(sample_argument, value[:1])) if isinstance(value, list) else value


def probe_time(template: ChatTemplate, arguments: Arguments, now: datetime.datetime) -> datetime.datetime:
    """Return the time to probe a template with. `arguments` are those of `probe_arguments`.

    It is the default date unless the template uses the time in another way than writing it before all messages.

    >>> day = datetime.datetime(2030, 5, 1)
    >>> probe_time(ChatTemplate("{{ strftime_now('%d %b') + messages[0].content }}"), (), day) == DEFAULT_DATE
    True
    """
    if now == DEFAULT_DATE or "strftime_now" not in template.arguments:
        return DEFAULT_DATE
    # The name and offset of a time zone may be empty.
    if now.tzinfo is not None or "strftime_now" not in written_variables(template.source):
        return now
    return DEFAULT_DATE if _writes_time_first(template.source, template.limits, exact_key(arguments)) else now


def _sorted_pairs(special_tokens: Arguments, arguments: Mapping[str, Any]) -> Arguments:
    # The order does not matter to a template, so it must not matter to a key.
    pairs = sorted({**dict(special_tokens), **arguments}.items(), key=operator.itemgetter(0))
    return tuple((name, hashable(value)) for name, value in pairs)


def _without_large(arguments: Mapping[str, Any], *, unless: Collection[str] = ()) -> dict[str, Any]:
    """Return the arguments that are named, and those that are not long texts, lists or objects."""
    return {
        name: value
        for name, value in arguments.items()
        if name in unless or not isinstance(value, _LARGE) or (isinstance(value, str) and len(value) <= _LONGEST)
    }


def _free_texts(template: ChatTemplate, special_tokens: Arguments, arguments: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the texts that the template only writes, and only before all messages.

    The delimiters of turns and the accepted formats are the same for all such texts that are not empty.
    """
    texts = ((name, value.strip()) for name, value in arguments.items() if isinstance(value, str))
    # A text of the source is one of few values, such as "high".
    unknown = (name for name, text in texts if text not in template.source)
    names = [name for name in unknown if name in written_variables(template.source) and not name.endswith("_token")]
    if not names:
        return frozenset()
    words = {name: f"{PROBE_ARGUMENT}{number}" for number, name in enumerate(sorted(names))}
    probed = _sorted_pairs(special_tokens, _without_large({**arguments, **words}))
    return _written_first(template.source, template.limits, exact_key(probed), tuple(words.items()))


_Key = tuple[tuple[str, str, Any], ...]
"""The result of `exact_key` for the arguments of a template."""


@functools.lru_cache(maxsize=256)
def _runs(source: str, limits: TemplateLimits, arguments: _Key) -> bool:
    render = _renderer(source, limits, arguments)
    try:
        return render([ASK], None) is not None or render([LEAD, ASK], None) is not None
    except TemplateLimitError:
        return False


@functools.lru_cache(maxsize=256)
def _written_first(
    source: str, limits: TemplateLimits, arguments: _Key, words: tuple[tuple[str, str], ...]
) -> frozenset[str]:
    """Return the names of arguments with a word that the template writes, and never after the text of a message."""
    # The template may change the case of a word.
    texts = [text.lower() for text in _render_varied(_renderer(source, limits, arguments)) if text is not None]
    return frozenset(
        name
        for name, word in words
        if any(word in text for text in texts) and all(text.rfind(word) < _first_body(text) for text in texts)
    )


@functools.lru_cache(maxsize=256)
def _writes_time_first(source: str, limits: TemplateLimits, arguments: _Key) -> bool:
    """Return True if a template never writes the time after the text of a message."""
    texts = [_render_varied(_renderer(source, limits, arguments, now)) for now in (DEFAULT_DATE, _OTHER_TIME)]
    ends = [[text and text[_first_body(text) :] for text in varied] for varied in texts]
    return ends[0] == ends[1] and any(ends[0])


def _render_varied(render: Callable[..., str | None]) -> list[str | None]:
    """Return the texts of conversations of several kinds; None for those that are rejected."""
    calls, thought = {"tool_calls": [tool_call("f", ARGUMENTS[0])]}, reasoning_fields(PROBE_REASONING)
    fields: list[JsonObject] = [{}, calls, thought, thought | calls]
    answers = [chat_message("assistant", PROBE_CONTENT, **each) for each in fields]
    varied = map(conversations_with, (*answers, chat_message("tool", PROBE_RESULT)))
    conversations = [[ASK], [LEAD, ASK], *itertools.chain.from_iterable(varied)]
    try:
        return list(itertools.starmap(render, itertools.product(conversations, (None, [TOOL]), (False, True))))
    except TemplateLimitError:
        return []


def _first_body(text: str) -> int:
    """Return the offset of the first text of a message; 0 if there is none."""
    return min((start for body in (PROBE_SYSTEM, PROBE_QUESTION) if (start := text.find(body)) >= 0), default=0)


def _renderer(
    source: str, limits: TemplateLimits, arguments: _Key, now: datetime.datetime = PROBE_TIME
) -> Callable[..., str | None]:
    """Return a function that renders messages and tools. It returns None if the template rejects them."""
    template = ChatTemplate(source, limits=limits, verify=False)
    given = {name: value for name, _, value in arguments}

    def render(messages: list[JsonObject], tools: list[JsonObject] | None, prompt: bool = False) -> str | None:
        try:
            return template.run(messages, tools=tools, add_generation_prompt=prompt, now=now, **given).text
        except REJECTIONS:
            return None

    return render


class AcceptedFormats(dict[tuple[str, str], bool]):
    """Whether a template accepts a format in messages of a role. Each format is probed on first access.

    >>> AcceptedFormats(ChatTemplate("{{ messages[-1].content | upper }}"), ())["user", "parts"]
    False
    """

    def __init__(self, template: ChatTemplate, arguments: Arguments) -> None:
        super().__init__()
        self._probed = template.source, template.limits, exact_key(arguments)

    def __missing__(self, key: tuple[str, str]) -> bool:
        if len(self) >= _FORMATS_KEPT:
            # A caller may pass any number of roles.
            self.clear()
        return self.setdefault(key, _probe(*self._probed, *key))


@functools.lru_cache(maxsize=4096)
def _probe(source: str, limits: TemplateLimits, arguments: _Key, role: str, name: str) -> bool:
    render = _renderer(source, limits, arguments)
    # The template may require a system message.
    needs_lead = render([ASK], None) is None and role != "system" and render([LEAD, ASK], None) is not None
    lead = [LEAD] if needs_lead else []
    if name in _TOOLS:
        return _shows(render([*lead, ASK], _TOOLS[name]), PROBE_VALUE)

    def outputs(fields: JsonObject) -> Iterator[str | None]:
        for messages in conversations_with({"role": role, **fields}):
            for tools in (None, [TOOL]):
                yield render([*lead, *messages], tools)

    if name.startswith(NULL_KEY):
        key = name.removeprefix(NULL_KEY)
        compared = zip(outputs({"content": PROBE_VALUE, key: None}), outputs({"content": PROBE_VALUE}), strict=True)
        return not _writes_word(compared)
    if name in _FORMATS:
        expected = _EXPECTED.get(name, PROBE_VALUE)
        return any(_shows(text, expected) for fields in _FORMATS[name] for text in outputs(fields))
    pairs = (pair for first, second in _PAIRS[name] for pair in zip(outputs(first), outputs(second), strict=True))
    if name in _MEDIA:
        return any(text != other and None not in (text, other) for text, other in pairs)
    if name in _EQUIVALENT:
        return all(other in (None, text) for text, other in pairs)
    if name in _SILENT:
        return not _writes_word(pairs)
    if name in _BROKEN:
        return all(text is not None for text, other in pairs if other is not None)
    without_text = list(pairs)
    # If a call is written beside an empty text, it must be written without text. Otherwise any output will do.
    expected = PROBE_VALUE if any(_shows(text, PROBE_VALUE) for pair in without_text for text in pair) else ""
    return all(_shows(text, expected) for text, other in without_text if _shows(other, expected))


def _shows(text: str | None, expected: str) -> bool:
    """Return True if an output contains a text, and not as part of serialised data. White space does not count."""
    squeezed = "".join(text.split()) if text is not None else None
    return squeezed is not None and expected in squeezed and not any(trap in squeezed for trap in _TRAPS)


def _writes_word(pairs: Iterable[tuple[str | None, str | None]]) -> bool:
    """Return True if an output has a word for None that the other output of its pair does not have."""
    rendered = ((text, other) for text, other in pairs if text is not None and other is not None)
    return any(text.count(word) > other.count(word) for text, other in rendered for word in _NONE_WORDS)


_TRAPS = (PROBE_KEY, f'\\"{PROBE_VALUE}', "{'x':")
"""Texts in outputs of templates that serialise a part or a call as data."""
_SPEC = TOOL["function"] | {"name": PROBE_VALUE}
_TOOLS: dict[str, list[JsonObject]] = {"bare tool": [_SPEC], "wrapped tool": [{"type": "function", "function": _SPEC}]}
_CALLS = [[tool_call(PROBE_VALUE, arguments)] for arguments in ARGUMENTS]
_BARE_CALLS = [[{"id": CALL_ID, "name": PROBE_VALUE, "arguments": arguments}] for arguments in ARGUMENTS]
_CALLS_WITH_VALUE, _CALLS_WITH_TEXT = (
    [{"content": content, "tool_calls": [tool_call("f", arguments)]} for content in ("", None)]
    for arguments in ({"x": PROBE_VALUE}, json.dumps({"x": PROBE_VALUE}))
)
_FORMATS: dict[str, list[JsonObject]] = {
    "text": [{"content": PROBE_VALUE}],
    "parts": [{"content": [{"type": "text", "text": PROBE_VALUE, PROBE_KEY: 0}]}],
    "thinking part": [
        {"content": [{"type": "thinking", "thinking": PROBE_VALUE, PROBE_KEY: 0}, {"type": "text", "text": "T"}]}
    ],
    "object": [{"content": {"x": PROBE_VALUE}}],
    "number": [{"content": int(_NUMBER)}],
    "reasoning": [{"content": "T", **reasoning_fields(PROBE_VALUE)}],
    "call": [{"content": content, "tool_calls": calls} for calls in _CALLS for content in ("", None)],
    "bare call": [{"content": "", "tool_calls": calls} for calls in _BARE_CALLS],
    "arguments": _CALLS_WITH_VALUE,
    "arguments as JSON": _CALLS_WITH_VALUE,
    "arguments within JSON": _CALLS_WITH_VALUE,
    "arguments as text": _CALLS_WITH_TEXT,
}
"""Messages of each format, without the role. A format is accepted if the probe word is in the output in any context."""

_JSON = '{"x":"' + PROBE_VALUE + '"}'
_EXPECTED = {"object": _JSON, "number": _NUMBER, "arguments as JSON": _JSON, "arguments within JSON": f":{_JSON}"}
"""The text that has to be in the output instead of the probe word."""

_Pairs = dict[str, list[tuple[JsonObject, JsonObject]]]
_PART, _THOUGHT = {"type": "text", "text": PROBE_VALUE}, {"type": "thinking", "thinking": PROBE_VALUE}
_EMPTY_KEYS: _Pairs = {
    f"{key} {empty}": [
        ({"content": content, key: empty}, {"content": content}) for content in (PROBE_VALUE, None, [_PART])
    ]
    for key in OPTIONAL_KEYS
    for empty in EMPTY_VALUES
}
_EQUIVALENT: _Pairs = {
    "string among parts": [({"content": [PROBE_VALUE]}, {"content": [_PART]})],
    "part of another type": [
        ({"content": [part]}, {"content": [_PART]})
        for part in ({"text": PROBE_VALUE}, *({"type": type_, "text": PROBE_VALUE} for type_ in TEXT_PART_TYPES))
    ],
    "part with nulls": [({"content": [{**_PART, **dict.fromkeys(MEDIA_KINDS)}]}, {"content": [_PART]})],
    "thinking in parts": [({"content": [{**_THOUGHT, "thinking": [_PART]}]}, {"content": [_THOUGHT]})],
    **_EMPTY_KEYS,
}
"""Messages of each format with an equivalent one. A format is accepted if both give the same output in all contexts."""

_MEDIA: _Pairs = {
    name: [({"content": [_PART, part]}, {"content": [_PART]})]
    for kind in MEDIA_KINDS
    for name, part in {f"{kind} part": {"type": kind, kind: "x"}, f"{kind} alone": {kind: "x"}}.items()
}
"""Messages with and without a media part. A format is accepted if the part changes the output."""

_WITHOUT_TEXT: dict[str, list[JsonObject]] = {
    "none": [{"content": None}],
    "none beside calls": [{"content": None, "tool_calls": calls} for calls in _CALLS],
    "missing": [{}],
    "missing beside calls": [{"tool_calls": calls} for calls in _CALLS],
}
_SILENT: _Pairs = {
    f"silent {name}": [
        ({**fields, **reasoning}, {**fields, **reasoning, "content": ""})
        for fields in _WITHOUT_TEXT[name]
        for reasoning in ({}, reasoning_fields("R"))
    ]
    for name in ("none", "none beside calls")
} | {
    "silent call id": [
        ({"tool_calls": [{**call, "id": None}]}, {"tool_calls": [{**call, "id": CALL_ID}]}) for (call,) in _CALLS
    ]
}
"""Messages with a value of None, and with another value. A format is accepted if None is not written as a word."""

_BROKEN: _Pairs = {
    "broken arguments": [
        ({"content": "", "tool_calls": [tool_call("f", '{"x": ')]}, {"content": "", "tool_calls": [tool_call("f", {})]})
    ]
}
"""Calls with broken JSON, and with an object. A format is accepted if it is rendered wherever the other one is."""

_PAIRS: _Pairs = (
    _EQUIVALENT
    | _MEDIA
    | _SILENT
    | _BROKEN
    | {name: [(fields, {**fields, "content": ""}) for fields in forms] for name, forms in _WITHOUT_TEXT.items()}
)
"""All formats that are compared with another one. Messages without text are compared with an empty text."""
