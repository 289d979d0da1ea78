"""Compare template runs with transformers, and check the owner of every character of the input.

The reference for a text is the template as compiled by transformers. The reference for an owner is the text itself:
`mark` replaces every word of a conversation by a unique number, so that a word in the output identifies its field.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jinja2
import jinja2.meta
from transformers.utils.chat_template_utils import _compile_jinja_template

from renderers import EMBEDDED
from renderers.core.spans import Path as FieldPath
from renderers.core.spans import Trace
from renderers.errors import MessageError, TemplateRefusalError, TemplateRunError
from renderers.programs.adapt import InputAdapter
from renderers.templating import ChatTemplate
from tests.support.conversations import CONVERSATIONS, TOOLS
from tests.support.models import SHARED, hub_models
from tests.support.reference import lists_can_change

__all__ = [
    "CORPUS",
    "DOCUMENTS",
    "EACH_ONCE",
    "HUB",
    "LARGE",
    "MARK",
    "NOW",
    "OF_MODELS",
    "PLAIN_TOOL",
    "REQUIRED",
    "SWITCHES",
    "TEMPLATES",
    "TOKENS",
    "TOOL_SETS",
    "Bodies",
    "Data",
    "Ownership",
    "difference",
    "distinct_variations",
    "mark",
    "marked_runs",
    "own_switches",
    "rotated",
    "run_reference",
    "run_traced",
    "variations",
]

Data = dict[str, Any]

NOW = datetime.datetime(2026, 11, 15, 12, 30)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
HUB = sorted((SHARED / "hub" / "templates").glob("*.jinja"))
CORPUS = sorted((SHARED / "corpus").glob("*.jinja"))
TEMPLATES = [EMBEDDED / "chat_template.jinja", *HUB, *CORPUS]
_HUB_TEXTS = {path.read_bytes(): path.stem for path in HUB}
EACH_ONCE = [path for path in TEMPLATES if path not in CORPUS or path.read_bytes() not in _HUB_TEXTS]
"""All templates, without those of the corpus that are equal to one of the hub."""
_OF_MODELS = {model["template"] for model in hub_models().values()}
OF_MODELS = [path for path in CORPUS if _HUB_TEXTS.get(path.read_bytes(), "") in _OF_MODELS]
"""Templates of the corpus that are equal to that of a model of the hub. Some templates of the hub have no model."""
PLAIN_TOOL: Data = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Looks a word up.",
        "parameters": {
            "type": "object",
            "properties": {"word": {"type": "string", "description": "Any word.", "enum": ["this", "that"]}},
            "required": ["word"],
        },
    },
}
"""A tool that every template accepts: gpt-oss fails on a number as a default, Command R+ without descriptions."""
TOOL_SETS: list[list[Data] | None] = [None, TOOLS, [PLAIN_TOOL]]
REQUIRED = {"functions": "[]", "datetime": "today"}
"""Template arguments that Firefunction requires and no other template reads."""
DOCUMENTS: list[Data] = [{"doc_id": 1, "title": "Rain", "text": "It rains in Rome."}, {"title": "Sky", "text": "Blue."}]
LARGE = {"long", "many"}
"""Conversations that test the size of the input only."""
SWITCHES: list[Data] = [{}, {"enable_thinking": False}, {"enable_thinking": True, "thinking": True}]


# ==================
# Texts
# ==================


def variations(*, switches: Iterable[Data] = SWITCHES) -> Iterator[tuple[str, Data]]:
    """Yield the name of a conversation and the render arguments, in all combinations."""
    for name, tools, prompt, switch in itertools.product(CONVERSATIONS, TOOL_SETS, (False, True), switches):
        yield name, {"tools": tools, "add_generation_prompt": prompt, **TOKENS, **REQUIRED, **switch}


def distinct_variations(source: str) -> Iterable[tuple[str, Data]]:
    """Return variations without those that are equivalent for a template. `make parity` runs all of them."""
    return {_variation_key(source, name, arguments): (name, arguments) for name, arguments in variations()}.values()


def _variation_key(source: str, name: str, arguments: Data) -> tuple[Any, ...]:
    """Return a key that is equal for equivalent runs.

    Large conversations are run once per prompt. Switches are combined with one set of tools only, and switches that the
    template does not name are not part of the key.
    """
    tools, prompt = arguments["tools"], arguments["add_generation_prompt"]
    if name in LARGE:
        return name, prompt
    read = [(key, arguments.get(key)) for switch in SWITCHES for key in switch if key in source]
    return name, prompt, len(tools or ()), *(read if tools is not TOOLS else ())


def rotated(*, turns: int, switches: Iterable[Data] = SWITCHES) -> Iterator[tuple[str, Data]]:
    """Yield each conversation `turns` times with different tools, rotating through prompts and switches."""
    settings = list(switches)
    choices = list(itertools.product(TOOL_SETS, (False, True), settings))
    for at, name in enumerate(CONVERSATIONS):
        for turn in range(turns):
            # The step moves on to the next tools and to the next switches.
            tools, prompt, switch = choices[(at + turn * (2 * len(settings) + 1)) % len(choices)]
            yield name, {"tools": tools, "add_generation_prompt": prompt, **REQUIRED, **switch}


def run_reference(source: str, messages: list[Data], **arguments: Any) -> str | Exception:
    """Return the text that transformers renders, or the exception. The template can append to lists."""
    try:
        with lists_can_change():
            text: str = _compile_jinja_template(source).render(
                messages=messages, **{"documents": None, "strftime_now": NOW.strftime, **arguments}
            )
    except Exception as error:
        return error
    return text


def run_traced(template: ChatTemplate, messages: list[Data], **arguments: Any) -> Trace | Exception:
    """Return the trace of a run of this package, or the exception."""
    try:
        return template.run(messages, now=NOW, **arguments)
    except Exception as error:
        return error


def difference(expected: str | Exception, got: Trace | Exception) -> str | None:
    """Return a description of how two runs differ; None if the texts or the refusals are equal."""
    if isinstance(expected, str):
        if isinstance(got, Trace) and got.text == expected:
            return None
        return f"transformers gives {expected!r}, this package {got!r}"
    if not isinstance(got, TemplateRefusalError | TemplateRunError):
        return f"transformers raises {expected!r}, this package gives {got!r}"
    # Only raise_exception raises exactly this class.
    if type(expected) is jinja2.TemplateError and not (
        isinstance(got, TemplateRefusalError) and got.reason == str(expected)
    ):
        return f"the template raises {expected}, this package {got}"
    return None


# ==================
# Switches
# ==================

_FLAG = re.compile(r".*thinking|(?:add|clear|drop|enable|include|keep|preserve|preserved|skip|truncate|use)_\w+")
_VALUES: dict[str, tuple[Any, ...]] = {
    "reasoning_effort": ("low", "high"),
    "thinking_effort": ("low", "high"),
    "thinking_budget": (0, 512),
    "low_effort": (True,),
    "medium_effort": (True,),
}


def own_switches(source: str) -> list[Data]:
    """Return settings for a template: none, each value of each switch that it reads, and all flags at once.

    >>> own_switches("{{ reasoning_effort }}")[2:]
    [{'enable_thinking': True}, {'reasoning_effort': 'low'}, {'reasoning_effort': 'high'}]
    """
    environment = _compile_jinja_template(source).environment
    names = sorted({"enable_thinking", *jinja2.meta.find_undeclared_variables(environment.parse(source))})
    flags = [name for name in names if _FLAG.fullmatch(name) and name != "add_generation_prompt"]
    single = [{name: value} for name in flags for value in (False, True)]
    single += [{name: value} for name in names for value in _VALUES.get(name, ())]
    together = [dict.fromkeys(flags, value) for value in (False, True)] if len(flags) > 1 else []
    return [{}, *single, *together]


# ==================
# Numbered words
# ==================

_WORDS = re.compile(r"<[^>]*>|[^\W\d]\w*")
_KEPT_WORDS = {"null", "true", "false"}
_KEPT_FIELDS = {"role", "type"}
_SHARED_FIELDS = {"id", "tool_call_id", "required"}
MARK = re.compile(r"(?i:(?:zq|z(?:ä|\\+u00[ce]4)|77)(\d{5})(?:zq|(?:北|\\+u5317)q|77))")
"""A numbered word, even if a template escaped its letters or changed their case."""


def mark(value: Any) -> Any:
    """Return messages, tools or both with a number in every word, so that no two fields share a word.

    Roles, types, tags and the standard keys stay. An id is the same word in a call and in its result, and so is a
    parameter in `properties` and in `required`, because templates look these up. Every second word has letters that
    JSON escapes.

    >>> mark([{"role": "user", "content": "Hi <b>there</b>", "tool_call_id": "call00000"}])
    [{'role': 'user', 'content': 'zq00000zq <b>zä00001北q</b>', 'tool_call_id': 'zq00002zq'}]
    """
    return _Marker().value(value, key="", inside=False)


class _Marker:
    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._shared: dict[str, str] = {}

    def value(self, value: Any, *, key: str, inside: bool) -> Any:
        """Mark the value of a key; `inside` is True within the arguments of a call."""
        inside = inside or key == "arguments"
        if isinstance(value, str):
            return self._text(value, "" if inside else key)
        if isinstance(value, list):
            return [self.value(item, key=key, inside=inside) for item in value]
        if isinstance(value, dict):
            own = self._word if inside else self._shared_word if key == "properties" else str
            below = {name: "" if inside or key == "properties" else name for name in value}
            return {own(name): self.value(item, key=below[name], inside=inside) for name, item in value.items()}
        if isinstance(value, bool) or value is None:
            return value
        return type(value)(f"77{next(self._numbers):05}77" + (".5" if isinstance(value, float) else ""))

    def _text(self, text: str, key: str) -> str:
        if key in _KEPT_FIELDS:
            return text
        if key in _SHARED_FIELDS:
            return self._shared_word(text)
        return _WORDS.sub(lambda match: self._word(match[0]), text)

    def _word(self, word: str) -> str:
        if word.startswith("<") or word in _KEPT_WORDS:
            return word
        number = next(self._numbers)
        return f"zä{number:05}北q" if number % 2 else f"zq{number:05}zq"

    def _shared_word(self, word: str) -> str:
        if word not in self._shared:
            # Mistral templates require ids of nine letters and digits.
            self._shared[word] = f"zq{next(self._numbers):05}zq"
        return self._shared[word]


# ==================
# Owners
# ==================

Place = tuple[int, FieldPath]
"""The index of a message, -1 for none, and a path in it, as in a span."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """The number of characters of marked fields in a text, and of those with a wrong owner, by kind of error."""

    characters: int = 0
    strays: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Ownership) -> Ownership:
        return Ownership(self.characters + other.characters, self.strays + other.strays)


class Bodies:
    """The fields of the marked words of a conversation. `others` are the other arguments: tools, documents."""

    def __init__(self, messages: list[Data], **others: Any) -> None:
        self._words: defaultdict[str, set[Place]] = defaultdict(set)
        self._texts: defaultdict[str, set[Place]] = defaultdict(set)
        for at, message in enumerate(messages):
            self._collect(message, at, ())
        for name, value in others.items():
            self._collect(value, -1, (name,))

    def check(self, trace: Trace) -> Ownership:
        """Check that every character of a field belongs to the field, or to a container of it."""
        total, strays = 0, Counter[str]()
        for start, end, places in self._bodies_in(trace.text):
            for owner, characters in _owners(trace, start, end):
                total += characters
                if not any(_contains(owner, place) for place in places):
                    strays[_stray(places, owner)] += characters
        return Ownership(total, strays)

    def _bodies_in(self, text: str) -> Iterator[tuple[int, int, set[Place]]]:
        """Yield the start and end of each field that is emitted unchanged, and of other words, with their places."""
        # A field is found as a whole to check the characters between its words, too.
        found = [(at, at + len(body), body) for body in self._texts for at in _occurrences(body, text)]
        ends = [0]
        for start, end, body in sorted(found):
            if start >= ends[-1]:
                ends += (start, end)
                yield start, end, self._texts[body]
        for word in MARK.finditer(text):
            # Between the start and the end of a field, the number of places before is even.
            if bisect_right(ends, word.start()) % 2:
                yield *word.span(), self._words[word[1]]

    def _collect(self, value: Any, message: int, path: FieldPath) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                self._collect(key, message, (*path, key))
                self._collect(item, message, (*path, key))
        elif isinstance(value, list):
            for at, item in enumerate(value):
                self._collect(item, message, (*path, at))
        else:
            text = str(value)
            for word in MARK.finditer(text):
                self._words[word[1]].add((message, path))
            # Templates split text at tags such as <think>, and emit their own tag instead.
            if MARK.search(text) and not MARK.fullmatch(text) and "<" not in text:
                self._texts[text.strip()].add((message, path))


def _occurrences(part: str, text: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))


def _owners(trace: Trace, start: int, end: int) -> Iterator[tuple[Place, int]]:
    """Yield the owners of a range of text, with the number of characters of each."""
    first = bisect_right(trace.spans, start, key=lambda span: span.end)
    for span in itertools.takewhile(lambda span: span.start < end, trace.spans[first:]):
        if span.start < span.end:
            yield (span.message, span.path), min(end, span.end) - max(start, span.start)


def _contains(owner: Place, place: Place) -> bool:
    """Return True if an owner is the field of a place, or a container of it."""
    return owner[0] == place[0] and owner[1] != () and owner[1] == place[1][: len(owner[1])]


def _stray(places: set[Place], owner: Place) -> str:
    fields = " or ".join(sorted({_general(path) for _, path in places}))
    return f"{fields} attributed to {_general(owner[1]) or 'no field'}"


def _general(path: FieldPath) -> str:
    return ".".join("#" if isinstance(key, int) or MARK.fullmatch(key) else key for key in path)


def marked_runs(
    template: ChatTemplate, variations: Iterable[tuple[str, Data]]
) -> Iterator[tuple[Trace, list[Data], Data]]:
    """Run a template on marked conversations. Yield trace, messages and other arguments of each successful run.

    Messages and tools are passed as they are and, if it differs, in the input format of the template.
    """
    tokens = tuple(TOKENS.items())
    for name, arguments in variations:
        documents = DOCUMENTS if arguments["tools"] is TOOLS else None
        messages, tools, documents = mark([CONVERSATIONS[name], arguments["tools"], documents])
        forms = [(messages, tools)]
        with contextlib.suppress(MessageError):
            adapted = (
                InputAdapter(template, tokens).messages(messages),
                InputAdapter(template, tokens).tools(tools),
            )
            forms += [adapted] if adapted != forms[0] else []
        for messages, tools in forms:
            others = {**arguments, "tools": tools, "documents": documents}
            trace = run_traced(template, messages, **{**TOKENS, **others})
            if isinstance(trace, Trace):
                yield trace, messages, others
