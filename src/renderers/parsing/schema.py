"""Convert values that a model wrote without quotes, by the types in the tool's JSON schema.

In formats such as `<parameter=days>3</parameter>` only the schema determines if 3 is a number or a
string. The rules are those that vLLM's parsers for such formats have in common, and stricter where
these guess: a string keeps its whitespace, a value that does not fit stays a string and is reported,
and if strings are possible too, only JSON is converted (`None`, `007` and `+1` stay strings). Without
a type in the schema JSON is parsed as JSON. Only types are checked: this is not a validator.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

from renderers.core.lazy import lazy, lazy_pattern
from renderers.core.messages import MAX_JSON_DEPTH
from renderers.core.tool_list import ToolList
from renderers.parsing.lenient_json import read_json

_NAMES = {
    "null": "null none nonetype",
    "boolean": "boolean bool",
    "integer": "integer int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 long short unsigned bigint",
    "number": "number num numeric float float16 float32 float64 double decimal",
    "string": "string str text varchar char enum",
    "array": "array arr list tuple set sequence",
    "object": "object dict map mapping",
}
_KINDS = dict(zip((type(None), bool, int, float, str, list, dict), _NAMES, strict=True))
_EXAMPLES: tuple[Any, ...] = (None, True, 1, 0.5, "", [], {})
_STRINGS = frozenset({"string"})
_ALL_KINDS = frozenset(_NAMES)
_KIND_OF_NAME = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_ALTERNATIVES = ("oneOf", "anyOf", "allOf")
_COMPOSED = frozenset({"$ref", *_ALTERNATIVES})
_DECIDING = _COMPOSED | {"enum", "const", "nullable"}
"""The keywords besides `type` that can restrict the type of a value."""
_WRITTEN_NAME = lazy_pattern(r"(?:functions\.)?(.+?)(?::[0-9]+)?", re.DOTALL)
_NAME_END = lazy_pattern(r"[^a-z0-9]")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_PYTHON = lazy_pattern(
    r"""(?P<string>'[^'\\]*(?:\\.[^'\\]*)*'?|"[^"\\]*(?:\\.[^"\\]*)*"?)"""
    r"|(?P<word>\b(?:True|False|None)\b)|(?P<comma>(?<=[\w'\"\]}]),)(?=[ \t\n\r]*[\]}])",
    re.DOTALL,
)
"""The parts of Python literals that differ from JSON. A string without an end matches up to the end of the text,
so that it is not tried again from its next character."""
_ESCAPE = lazy_pattern(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "\n": ""}


@dataclasses.dataclass(frozen=True, slots=True)
class Schema:
    """The types that a JSON schema allows for a value.

    `types` are JSON types, in which "number" always comes with "integer". `choices` are the strings
    that the schema enumerates. `source` is the schema as the caller passed it, if it has more than
    types, and `root` the schema in which its references are resolved.
    """

    types: frozenset[str]
    choices: frozenset[str] = frozenset()
    source: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    root: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, source: Any, *, root: Mapping[str, Any] | None = None) -> Schema | None:
        """Parse a schema. Return None if it does not restrict types, or allows none.

        Malformed parts are ignored. References are resolved in `root`, or else in the schema itself.

        >>> Schema.parse({"anyOf": [{"type": "null"}, {"enum": ["on", "off"]}]}).types == {"null", "string"}
        True
        """
        if type(source) is not dict and not isinstance(source, Mapping):
            return None
        kind = source.get("type")
        # Nearly all schemas of parameters have a plain type and nothing else about it.
        if type(kind) is str and kind in _PLAIN and _DECIDING.isdisjoint(source):
            return _PLAIN[kind]
        root = source if root is None else root
        types = frozenset(_kind(example) for example in _EXAMPLES if _fits(example, source, root, {}))
        # A value without a JSON type fits only if the schema does not restrict types.
        if not types or _fits(math.nan, source, root, {}):
            return None
        values = [value for part in _parts(source, root) for value in _values_of(part)] if "string" in types else []
        return cls(types, frozenset(str.__str__(value) for value in values if isinstance(value, str)), source, root)

    def member(self, name: str) -> Schema | None:
        """Return the schema of a member of an object. None if its types are unknown.

        >>> Schema.parse({"type": "object", "properties": {"days": {"type": "integer"}}}).member("days").types
        frozenset({'integer'})
        """
        return None if self.source is None else _member(self.source, self.root, name)

    def item(self) -> Schema | None:
        """Return the schema of the items of a list. None if their types are unknown.

        >>> Schema.parse({"type": "array", "items": {"type": "integer"}}).item().types
        frozenset({'integer'})
        """
        parts = () if self.source is None else _parts(self.source, self.root)
        items = [part["items"] for part in parts if _mapping(part.get("items"))]
        return Schema.parse({"anyOf": items}, root=self.root)


_PLAIN = {
    kind: Schema(frozenset({kind, *(("integer",) if kind == "number" else ())}))
    for kind in _NAMES.keys() - {"array", "object"}
}
"""The schemas of types without parts."""


_MOST_KEPT = 256
"""How many written names of tools, or of parameters of a tool, have their schemas kept. A model may write any name."""


class ToolSchemas:
    """The schemas of the parameters of tools, flat or in a `{"type": "function", "function": ...}`. Parsed lazily.

    Malformed parts are ignored. Of tools with the same name the first counts.

    >>> tools = ToolSchemas([{"name": "f", "parameters": {"properties": {"days": {"type": "integer"}}}}])
    >>> tools.names, tools.parameter("f", "days").types
    (dict_keys(['f']), frozenset({'integer'}))
    """

    def __init__(self, tools: Sequence[Any] | None) -> None:
        self._tools = tools
        self._members: dict[str, _Members] = {}

    @property
    def names(self) -> Set[str] | None:
        """The names of the tools. None if there is no list of tools."""
        return None if self._tools is None else self.functions.keys()

    def __contains__(self, name: object) -> bool:
        """Return True if there is a tool of that name."""
        return name in self.functions

    @lazy
    def functions(self) -> dict[str, Mapping[str, Any]]:
        """The function of each tool, with its parameters, by the tool's name."""
        functions: dict[str, Mapping[str, Any]] = {}
        for tool in _sequence(self._tools):
            function = tool.get("function") if type(tool) is dict else None
            if not function or type(function) is not dict:
                outer = _mapping(tool)
                function = _mapping(outer.get("function")) or outer
            name = function.get("name")
            if isinstance(name, str) and name not in functions:
                functions[name] = function
        return functions

    def _root(self, tool: str) -> Mapping[str, Any] | None:
        """Return the schema of the parameters of a tool. None if the tool is unknown."""
        functions = self.functions
        function = functions.get(tool) or functions.get(self.resolve(tool))
        return None if function is None else _mapping(function.get("parameters"))

    def properties(self, tool: str) -> Set[str]:
        """Return the names of the parameters of a tool. Empty if the tool or its parameters are unknown."""
        return _mapping(_mapping(self._root(tool)).get("properties")).keys()

    def resolve(self, name: str) -> str:
        """Return the name of the tool that a written name refers to, or the written name if there is no such tool.

        Models write the namespace `functions.` before a name and an index after it, even in formats without these.

        >>> ToolSchemas([{"name": "look"}]).resolve("functions.look:0")
        'look'
        """
        functions = self.functions
        if not functions or name in functions:
            return name
        match = _WRITTEN_NAME.fullmatch(name)
        return match[1] if match and match[1] in functions else name

    def parameters(self, tool: str) -> Callable[[str], Schema | None]:
        """Return a function that returns the schema of a parameter; None if the tool or its types are unknown.

        >>> tools = ToolSchemas([{"name": "f", "parameters": {"properties": {"days": {"type": "integer"}}}}])
        >>> tools.parameters("f")("days").types
        frozenset({'integer'})
        """
        members = self._members.get(tool)
        if members is None:
            root = self._root(tool)
            if root is None:
                return _unknown
            members = _Members(root)
            if len(self._members) < _MOST_KEPT:
                self._members[tool] = members
        return members.__getitem__

    def parameter(self, tool: str, name: str) -> Schema | None:
        """Return the schema of a parameter. None if the tool or its types are unknown."""
        return self.parameters(tool)(name)


class _Members(dict[str, Schema | None]):
    """The schemas of the members of an object with a schema, parsed when first needed. None if types are unknown."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        super().__init__()
        self._root = root
        self._properties = _plain_properties(root)

    def __missing__(self, name: str) -> Schema | None:
        if name in self._properties:
            schema = Schema.parse(self._properties[name], root=self._root)
        else:
            schema = _member(self._root, self._root, name)
        if len(self) < _MOST_KEPT:
            self[name] = schema
        return schema


def schemas_of(tools: Sequence[Any] | None) -> ToolSchemas:
    """Return the schemas of tools. Calls that share a list of tools share its schemas.

    >>> tools = ToolList([{"name": "search"}])
    >>> schemas_of(tools) is schemas_of(tools)
    True
    """
    # A copy, because the list would be part of a cycle.
    return tools.derive("schemas", lambda: ToolSchemas(list(tools))) if type(tools) is ToolList else ToolSchemas(tools)


def _unknown(_: str) -> None:
    return None


def _plain_properties(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schemas of the members of an object, if these depend on nothing else. Empty otherwise."""
    properties = source.get("properties")
    return properties if type(properties) is dict and _COMPOSED.isdisjoint(source) else {}


def _member(source: Mapping[str, Any], root: Mapping[str, Any], name: str) -> Schema | None:
    """Return the schema of a member of an object with a schema. None if its types are unknown."""
    properties = _plain_properties(source)
    if name in properties:
        return Schema.parse(properties[name], root=root)
    parts = list(_parts(source, root))
    named = [part["properties"][name] for part in parts if name in _mapping(part.get("properties"))]
    others = [part["additionalProperties"] for part in parts if _mapping(part.get("additionalProperties"))]
    return Schema.parse({"anyOf": named or others}, root=root)


NO_SCHEMAS = ToolSchemas(None)


def read_value(text: str, schema: Schema | None) -> tuple[Any, bool]:
    """Convert a text to a type that a schema allows. Return the value, and True if it fits the schema.

    A text that fits no allowed type is returned unchanged. Types within lists and dicts are checked as
    well. A list or dict that does not fit is returned all the same. Never raises. Takes linear time.

    >>> read_value("3", Schema.parse({"type": "integer"})), read_value("3", Schema.parse({"type": "string"}))
    ((3, True), ('3', True))
    >>> read_value("three", Schema.parse({"type": "integer"}))
    ('three', False)
    >>> read_value("{'a': [None]}", Schema.parse({"type": "object"}))
    ({'a': [None]}, True)
    """
    if schema is None:
        wanted, strings = _ALL_KINDS, True
    elif schema.types == _STRINGS or text in schema.choices:
        return text, True
    else:
        wanted, strings = schema.types - _STRINGS, "string" in schema.types
    stripped = text.strip()
    for read in _READERS[:1] if strings else _READERS:
        try:
            value = read(stripped)
        except (ValueError, KeyError):
            continue
        if _kind(value) in wanted:
            fits = schema is None or schema.source is None or _fits(value, schema.source, schema.root, {})
            return (text, True) if strings and not fits else (value, fits)
    return text, strings


def _read_integer(text: str) -> int:
    # Not by a float, which loses the digits of a large integer.
    integer, _, fraction = text.partition(".")
    return int(text if fraction.strip("0") else integer)


def _read_python(text: str) -> Any:
    return read_json(_PYTHON.sub(_in_json, text))


_READERS: tuple[Callable[[str], Any], ...] = (
    read_json,
    lambda text: _WORDS[text.lower()],
    _read_integer,
    float,
    _read_python,
)
"""Convert a text, or raise. If strings are possible too, only the first one counts."""


def _in_json(match: re.Match[str]) -> str:
    """Convert a part of a Python literal to JSON. A broken string stays broken, so that it is not valid JSON."""
    if match["comma"]:
        return ""
    if match["word"]:
        return json.dumps(_WORDS[match["word"].lower()])
    string = match["string"]
    if len(string) < 2 or string[-1] != string[0]:
        return string
    return json.dumps(unescape_python(string[1:-1]))


def unescape_python(text: str) -> str:
    r"""Return the value of a Python string, from the text between its quotes.

    >>> unescape_python(r"it\'s \x41")
    "it's A"
    """
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code is None:
        return _ESCAPED.get(match[4], match[4] if match[4] in "\\'\"" else match[0])
    return chr(int(code, 16)) if int(code, 16) < 0x110000 else match[0]


def _fits(
    value: Any, schema: Any, root: Mapping[str, Any], known: dict[tuple[int | str, int], bool], steps: int = 0
) -> bool:
    """Return True if a value has the types that a schema requires. Undecidable cases count as fitting.

    `known` holds the results so far, by the schema and the value, or the type of a value that is not
    a container.
    """
    if not isinstance(schema, Mapping) or steps > MAX_JSON_DEPTH:
        return True
    kind = _kind(value)
    if kind == "number" and value.is_integer():
        kind = "integer"
    key = (id(value) if kind in ("array", "object") else kind, id(schema))
    if key in known:
        return known[key]
    # A reference of a schema to itself adds no restriction.
    known[key] = True
    kinds = _kinds_of(schema)
    if kind == "null" and schema.get("nullable") is True:
        return True
    known[key] = not kinds or kind in kinds
    # One stack frame for each step: the data may be deep, and so may the stack be already.
    for alternatives in _conditions(value, kind, schema, root) if known[key] else ():
        for part, source in alternatives:
            if _fits(part, source, root, known, steps + 1):
                break
        else:
            known[key] = False
            break
    return known[key]


def _conditions(
    value: Any, kind: str, schema: Mapping[str, Any], root: Mapping[str, Any]
) -> Iterator[list[tuple[Any, Any]]]:
    """Yield the conditions for a value to fit: lists of parts with their schemas, one of which has to fit."""
    for source in (_target(schema.get("$ref"), root), *_sequence(schema.get("allOf"))):
        yield [(value, source)]
    for key in ("anyOf", "oneOf"):
        sources = _sequence(schema.get(key))
        if sources:
            yield [(value, source) for source in sources]
    if kind == "object":
        named = _mapping(schema.get("properties"))
        others = None if "patternProperties" in schema else schema.get("additionalProperties")
        for key, item in value.items():
            yield [(item, named.get(key, others))]
    if kind == "array" and "prefixItems" not in schema and _mapping(schema.get("items")):
        for item in value:
            yield [(item, schema["items"])]


def _kinds_of(schema: Mapping[str, Any]) -> set[str]:
    """Return the JSON types that a schema names, or else those of its enumerated values. Empty for any type."""
    types = schema.get("type")
    names = [name.strip().lower() for name in (types, *_sequence(schema.get("type"))) if isinstance(name, str)]
    kinds = {_KIND_OF_NAME.get(_NAME_END.split(name, maxsplit=1)[0], "") for name in names} - {""}
    if not kinds:
        kinds = {_kind(value) for value in _values_of(schema)} - {""}
    return kinds | {"integer"} if "number" in kinds else kinds


def _values_of(schema: Mapping[str, Any]) -> list[Any]:
    return [*_sequence(schema.get("enum")), *([schema["const"]] if "const" in schema else [])]


def _kind(value: Any) -> str:
    """Return the JSON type of a value. Empty for values that are not JSON, such as numbers that are not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return _KINDS.get(type(value)) or next((_KINDS[kind] for kind in type(value).__mro__ if kind in _KINDS), "")


def _parts(schema: Any, root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and, recursively, the schemas that it is composed of."""
    pending, seen = [schema], set()
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping) and id(part) not in seen:
            seen.add(id(part))
            yield part
            pending.append(_target(part.get("$ref"), root))
            pending.extend(source for key in _ALTERNATIVES for source in _sequence(part.get(key)))


def _target(reference: Any, root: Mapping[str, Any]) -> Any:
    """Return the target of a reference such as `#/$defs/Place`. None if there is none."""
    if not isinstance(reference, str) or not (reference + "/").startswith("#/"):
        return None
    target: Any = root
    for step in reference.split("/")[1:]:
        target = _mapping(target).get(step.replace("~1", "/").replace("~0", "~"))
    return target


def _sequence(value: Any) -> Sequence[Any]:
    return value if type(value) is list or (isinstance(value, Sequence) and not isinstance(value, str | bytes)) else ()


def _mapping(value: Any) -> Mapping[str, Any]:
    # A check against an abstract class is slow.
    return value if type(value) is dict or isinstance(value, Mapping) else {}
