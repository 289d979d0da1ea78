"""`LossFinder`: find the parts of the input that a program did not write.

Whether a field was written at all is known from the run, at little cost. How much of it was written is computed from
the trace, when it is asked for.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy
from renderers.core.losses import Loss, LossKind
from renderers.core.spans import Path
from renderers.probing.turn_format import TurnFormat
from renderers.programs.base import ProgramRun
from renderers.rendering.input_fields import (
    CONTENT,
    KNOWN_ROLES,
    OTHER_FIELDS,
    REASONING,
    FieldName,
    InputField,
    fields_of,
    is_word_in,
    name_of,
)
from renderers.rendering.lost_parts import Amount, WrittenData, contains_word, lost_text, lost_texts, squeeze

_PLAIN_KEYS = frozenset({"role", "content"})
_CONTENT_KINDS = frozenset({"content", "text_beside_calls", "tool_result", "media"})
_BRACKET = re.compile(r"[<\[]")
_THINK_MARKERS = ("<think>", "</think>")


class _LostField(NamedTuple):
    """A field that was not written, or the part of it at a path."""

    field: InputField
    path: Path
    amount: Amount


@dataclass(frozen=True)
class LossFinder:
    """The input of a run, and the run."""

    messages: Sequence[JsonObject]
    """The normalised messages of the caller."""
    items: Sequence[tuple[LossKind, Sequence[Any] | None]]
    """The tools and the documents, each with the kind of its losses."""
    run: ProgramRun
    turn_format: Callable[[], TurnFormat]
    """Returns the delimiters of turns, which are needed for media and for reasoning inside of content."""
    first: int = 0
    """The index of the first message that counts. Losses count messages from there on."""

    def unwritten(self, kinds: Collection[LossKind]) -> list[Loss]:
        """Return the losses of some kinds of which nothing was written. A field counts as a whole."""
        written = self._written_names
        losses: list[Loss] = []
        for index in range(self.first, len(self.messages)):
            message = self.messages[index]
            if (index, CONTENT) in written and message.keys() <= _PLAIN_KEYS and type(message["content"]) is str:
                continue
            fields = self._fields(index)
            losses += dict.fromkeys(self._losses_of(index, fields, list(self._unwritten_fields(index, fields))))
        for kind, items in self.items:
            if items and (-1, (kind,)) not in written:
                losses.append(Loss(kind, None, (kind,), "all"))
        return [loss for loss in losses if loss.kind in kinds and loss.amount == "all"]

    def losses(self) -> list[Loss]:
        """Return all losses in order: those of tools and documents, then those of messages."""
        losses: list[Loss] = []
        for kind, items in self.items:
            data = WrittenData(self._texts.of(-1), is_schema=kind == "tools")
            lost = data.lost_parts([_bare(item) for item in items or ()], (kind,))
            losses += [Loss(kind, None, _path_as_given(part.path, items or ()), part.amount) for part in lost]
        for index in range(self.first, len(self.messages)):
            fields = self._fields(index)
            losses += dict.fromkeys(self._losses_of(index, fields, list(self._lost_fields(index, fields))))
        return losses

    def _fields(self, index: int) -> list[InputField]:
        message = self.messages[index]
        name = message.get("name")
        called = self._called | {name} if name and self._is_in_content(index, name) else self._called
        return list(fields_of(message, called, self._reasoning_markers(index)))

    def _is_in_content(self, index: int, name: str) -> bool:
        """Return True if an assistant wrote a name before a message. A call that cannot be parsed stays in the content.

        The turns before the last one of an assistant do not count.
        """
        turns = (message for message in reversed(self.messages[:index]) if message["role"] == "assistant")
        return any(is_word_in(name, turn.get("content")) for turn in itertools.islice(turns, 1))

    def _reasoning_markers(self, index: int) -> tuple[str, str] | None:
        """Return the markers of reasoning in the content of an assistant; None if its content has none.

        A template that writes no reasoning may know the closing marker, to write only the text after it.
        """
        message = self.messages[index]
        content = message.get("content")
        if message["role"] != "assistant" or not content or not _BRACKET.search(str(content)):
            return None
        markers, program = self.turn_format().think_markers, self.turn_format().key.program
        if markers is None and _THINK_MARKERS[1] in program.literals.within:
            return _THINK_MARKERS
        return markers

    @lazy
    def _called(self) -> frozenset[str]:
        """The names of all calls."""
        calls = (call for message in self.messages for call in message.get("tool_calls") or ())
        return frozenset((call.get("function") or call)["name"] for call in calls)

    def _losses_of(self, index: int, fields: Sequence[InputField], lost: Sequence[_LostField]) -> Iterator[Loss]:
        """Yield the losses of a message: one for the whole message or a whole call, else one for each field."""
        number = index - self.first
        gone = [part.field for part in lost if part.amount == "all" and part.path == part.field.path]
        if fields and len(gone) == len(fields) and self._has_content(index, fields):
            yield Loss(self._kind_of_message(index, fields), number, (), "all")
            return
        by_call = Counter(field.name[:2] for field in fields if field.name[0] == "tool_calls")
        gone_by_call = Counter(field.name[:2] for field in gone)
        written_parts = Counter(field.path for field in fields) - Counter(field.path for field in gone)
        reported = set()
        for field, path, amount in lost:
            call = field.name[:2]
            if by_call[call] and by_call[call] == gone_by_call[call] and not self._writes_id(index, call):
                if call not in reported:
                    reported.add(call)
                    yield Loss("tool_calls", number, call, "all")
            elif not (field.name[2:] == ("name",) and self._is_in_id(index, field)):
                # Reasoning in a text has the path of the text.
                yield Loss(field.kind, number, path, "some" if written_parts[path] else amount)

    def _has_content(self, index: int, fields: Sequence[InputField]) -> bool:
        """Return True if a message is lost as a whole when none of its fields is written.

        Templates drop the reasoning or the calls of an assistant by design. Those of an unknown role are lost because
        of the role.
        """
        if any(field.kind in _CONTENT_KINDS or field.path[0] in OTHER_FIELDS for field in fields):
            return True
        return self.messages[index]["role"] not in KNOWN_ROLES and any(field.path != ("name",) for field in fields)

    def _kind_of_message(self, index: int, fields: Sequence[InputField]) -> LossKind:
        """Return the kind of a message of which nothing was written: a result if it follows a call."""
        is_result = any(field.kind == "tool_result" for field in fields)
        return "tool_result" if is_result and any(map(_has_calls, self.messages[:index])) else "message"

    def _is_in_id(self, index: int, name: InputField) -> bool:
        """Return True if the name of a call is part of its id, and the id was written."""
        call = self.messages[index]["tool_calls"][name.path[1]]
        return is_word_in(name.value, call.get("id")) and self._writes_id(index, name.path)

    def writes_id_of(self, loss: Loss) -> bool:
        """Return True if a loss is a part of a call, and the id of the call was written."""
        return loss.message is not None and self._writes_id(self.first + loss.message, loss.path)

    def _writes_id(self, index: int, path: Path) -> bool:
        return (index, (*path[:2], "id")) in self._written_names

    # ==================
    # Whether a field was written
    # ==================

    @lazy
    def _written_names(self) -> frozenset[tuple[int, FieldName]]:
        return frozenset((message, name_of(path)) for message, path in self.run.written())

    def _unwritten_fields(self, index: int, fields: Sequence[InputField]) -> Iterator[_LostField]:
        """Yield the fields of a message of which nothing was written.

        Several fields of one name, such as the parts of content, are compared with the written text, unless each has
        text of its own.
        """
        sizes = Counter(field.name for field in fields)
        shared = {field.name for field in fields if sizes[field.name] > 1 and not self._has_own_text(index, field.path)}
        lost = self._lost_fields(index, fields) if shared else ()
        gone = [part.field for part in lost if part.amount == "all" and part.path == part.field.path]
        for field in fields:
            if field in gone if field.name in shared else not self._is_written(index, field):
                yield _LostField(field, field.path, "all")

    def _has_own_text(self, index: int, path: Path) -> bool:
        """Return True if text was written of a part of the caller's message, and of no other part.

        A program may read another list of parts, or their joined text. Then the paths are not the caller's.
        """
        key = str(path[0])
        given, read = self.messages[index].get(key), self.run.messages[index].get(key)
        if isinstance(given, list) and not (isinstance(read, list) and len(read) == len(given)):
            return False
        return (index, path) in self._written_paths

    @lazy
    def _written_paths(self) -> frozenset[tuple[int, Path]]:
        """The paths of fields and of parts of content with text. A thinking part may be one that a program added."""
        paths = [
            (message, path)
            for message, path in self.run.written()
            if path[:1] != ("content",) or path[-1] != "thinking"
        ]
        return frozenset((message, path[:size]) for message, path in paths for size in (1, 2))

    def _is_written(self, index: int, field: InputField) -> bool:
        """Return True if any text of a field was written, or text that belongs to a container of the field."""
        if field.kind == "media":
            return not self._is_lost_medium(index, field)
        names = self._written_names
        return any((index, field.name[:size]) in names for size in range(len(field.name) + 1))

    def _is_lost_medium(self, index: int, field: InputField) -> bool:
        """Return True if a message has fewer placeholders than media of a kind up to a part, and no text of it."""
        if self._has_own_text(index, field.path):
            return False
        message = self.messages[index]
        placeholder = self.turn_format().placeholder(message["role"], field.value)
        media = [other for other in self._fields(index) if other.kind == "media" and other.value == field.value]
        text = self._texts.whole.get(index, "")
        return text.count(placeholder) <= media.index(field) if placeholder else not text

    # ==================
    # How much of a field was written
    # ==================

    @lazy
    def _texts(self) -> _WrittenTexts:
        return _WrittenTexts(self.run)

    def _lost_fields(self, index: int, fields: Sequence[InputField]) -> Iterator[_LostField]:
        """Yield the fields of a message that were not written, and those that were written in part."""
        sizes = Counter(field.name for field in fields)
        for field in fields:
            if field.kind == "media":
                if self._is_lost_medium(index, field):
                    yield _LostField(field, field.path, "all")
            elif isinstance(field.value, str) and field.name[-1] != "arguments":
                parts = [other for other in fields if other.name == field.name] if sizes[field.name] > 1 else None
                amount = self._texts.lost_text(index, field, parts)
                if amount is not None:
                    yield _LostField(field, field.path, amount)
            else:
                yield from self._lost_data(index, field)

    def _lost_data(self, index: int, field: InputField) -> Iterator[_LostField]:
        """Yield the parts of JSON data, or of the arguments of a call, that were not written."""
        parsed = parse_object(field.value)
        data = WrittenData(self._texts.of(index), above=self._texts.above(index, field.name))
        lost = data.lost_parts(parsed, field.name)
        if parsed is field.value:
            for part in lost:
                yield _LostField(field, (*field.path, *part.path[len(field.name) :]), part.amount)
        elif lost:
            yield _LostField(field, field.path, lost[0].amount if lost[0].path == field.name else "some")


class _WrittenTexts:
    """The text of each field in the output of a run."""

    def __init__(self, run: ProgramRun) -> None:
        self._by_path: dict[int, dict[Path, str]] = defaultdict(dict)
        self._own: dict[tuple[int, FieldName], str] = defaultdict(str)
        self._around: dict[tuple[int, FieldName], str] = defaultdict(str)
        self._lost_by_part: dict[tuple[int, FieldName], list[Amount | None]] = {}
        self.whole: dict[int, str] = defaultdict(str)
        """All text of each message."""
        self._coarse = {message for message, path in run.written() if not path}
        last: tuple[int, FieldName] | None = None
        between = ""
        for start, end, message, path in run.trace.spans:
            text = run.text[start:end]
            self.whole[message] += text
            texts, place = self._by_path[message], _without_function(path)
            texts[place] = texts.get(place, "") + text
            if not path:
                between += text
                continue
            key = message, name_of(path)
            self._own[key] += text
            self._around[key] += between + text if key == last else text
            between, last = "", key

    def of(self, message: int) -> Mapping[Path, str]:
        """Return the texts of a message by path. A path in a call does not contain `function`."""
        return self._by_path[message]

    def above(self, message: int, name: FieldName) -> str:
        """Return the text that belongs to the containers of a field."""
        texts = self.of(message)
        containers = (name[:size] for size in range(len(name)) if size or message in self._coarse)
        return "".join([texts.get(container, "") for container in containers])

    def lost_text(self, message: int, field: InputField, parts: Sequence[InputField] | None) -> Amount | None:
        """Return how much of a text is missing. `parts` are all texts of its name if there are several."""
        key = message, field.name
        own, around = self._own[key], self._around[key]
        if parts is None:
            lost = lost_text(field.value, own, around)
        else:
            if key not in self._lost_by_part:
                values = [str(part.value) for part in parts]
                self._lost_by_part[key] = lost_texts(values, own, around, copies=field.name == REASONING)
            lost = self._lost_by_part[key][parts.index(field)]
        return None if lost and contains_word(squeeze(self.above(message, field.name)), field.value) else lost


def _has_calls(message: JsonObject) -> bool:
    return bool(message.get("tool_calls"))


def _without_function(path: Path) -> Path:
    """Return the path of a part of a call or a tool as if it had no `function`."""
    has_function = path[:1] in (("tool_calls",), ("tools",)) and path[2:3] == ("function",)
    return (*path[:2], *path[3:]) if has_function else path


def _bare(tool: Any) -> Any:
    function = tool.get("function") if isinstance(tool, dict) else None
    return function if isinstance(function, dict) else tool


def _path_as_given(path: Path, tools: Sequence[Any]) -> Path:
    is_inside = len(path) > 2 and isinstance(path[1], int) and _bare(tools[path[1]]) is not tools[path[1]]
    return (*path[:2], "function", *path[2:]) if is_inside else path


def parse_object(value: Any) -> Any:
    """Return the data of arguments that are the JSON text of an object. Other values are returned unchanged."""
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, dict) else value
