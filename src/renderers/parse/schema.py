"""Values that a model wrote without quotes, read by what the tool's JSON schema says of them.

In formats such as `<parameter=days>3</parameter>` only the schema tells whether 3 is a number or a text. Only types
are looked at: this is no validator.

As in vLLM (its parsers for Qwen3 Coder, MiniMax and GLM; they differ from each other and by version): what is declared
a string is never parsed; `null` is None only where the schema allows null; of several types those that are no string
are tried first; `True`, `False` and `None` are read in any case, numbers by Python's rules, lists and dicts also as
Python writes them; type names of other languages (`int64`, `float`, `dict`) count.

Other than in most of them, on purpose:
- Strings keep the whitespace around them.
- What does not fit stays a text and is said not to fit. `yes` is not made False, and `1` is no boolean.
- Where strings are possible too, only JSON is taken for something else, so `None`, `007` and `+1` stay texts.
- Where the schema says nothing, or the parameter is not in it, JSON is read as JSON, as for GLM; elsewhere there it
  is a string.
- `3.0` is 3 where only integers are allowed, and stays 3.0 where numbers are.
- Numbers that are not finite are no numbers.
- A list or dict that stands in quotes, as JSON of its own text, is not unpacked.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any

from renderers.core.messages import MAX_JSON_DEPTH
from renderers.parse.json_value import JsonError, read_json

__all__ = ["Schema", "ToolSchemas", "read_value"]

_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_EXAMPLES: tuple[Any, ...] = (None, True, 1, 0.5, "", [], {})
_NAMES = {
    "null": "null none nonetype",
    "boolean": "boolean bool",
    "integer": "integer int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 long short unsigned bigint",
    "number": "number num numeric float float16 float32 float64 double decimal",
    "string": "string str text varchar char enum",
    "array": "array arr list tuple set sequence",
    "object": "object dict map mapping",
}
_STRINGS = frozenset({"string"})
_KIND_OF_NAME = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_COMPOSED = ("$ref", "oneOf", "anyOf", "allOf")
_DECIDING = frozenset({*_COMPOSED, "enum", "const", "nullable"})
"""What may say something about a value's type beside `type`."""
_NAME_END = re.compile(r"[^a-z0-9]")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_PYTHON = re.compile(
    r"""(?P<string>'[^'\\]*(?:\\.[^'\\]*)*'?|"[^"\\]*(?:\\.[^"\\]*)*"?)"""
    r"|(?P<word>\b(?:True|False|None)\b)|(?P<comma>(?<=[\w'\"\]}]),)(?=[ \t\n\r]*[\]}])",
    re.DOTALL,
)
"""What Python writes in another way than JSON. A string without an end reaches to the end, not to be tried again."""
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_NOTHING = object()
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "\n": ""}


@dataclasses.dataclass(frozen=True, slots=True)
class Schema:
    """What a JSON schema says about a value.

    `types` are the JSON types that it may be of, where "number" is never without "integer"; `choices` the strings
    that the schema lists. `source` is the schema as the caller sent it, if that says more, and `root` what its
    references are in.
    """

    types: frozenset[str]
    choices: frozenset[str] = frozenset()
    source: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    root: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, source: Any, *, root: Mapping[str, Any] | None = None) -> Schema | None:
        """Returns what a schema says; None where it says nothing about types, or nothing that can be.

        Anything in it that is malformed is as if it was not there. References are looked up in `root`, or else in
        the schema itself.

        >>> Schema.of({"anyOf": [{"type": "null"}, {"enum": ["on", "off"]}]}).types == {"null", "string"}
        True
        """
        if type(source) is not dict and not isinstance(source, Mapping):
            return None
        kind = source.get("type")
        # Nearly all say no more about a value's type than its name.
        if type(kind) is str and kind in _PLAIN and _DECIDING.isdisjoint(source):
            return _PLAIN[kind]
        root = source if root is None else root
        types = frozenset(_kind(one) for one in _EXAMPLES if _fits(one, source, root, {}))
        # What is of no type fits only where nothing is said about types.
        if not types or _fits(math.nan, source, root, {}):
            return None
        values = [one for part in _parts(source, root) for one in _values_of(part)] if "string" in types else []
        return cls(types, frozenset(str.__str__(one) for one in values if isinstance(one, str)), source, root)


_PLAIN = {
    kind: Schema(frozenset({kind, *(("integer",) if kind == "number" else ())}))
    for kind in _NAMES.keys() - {"array", "object"}
}
"""What a schema says that is the name of a type without parts."""


class ToolSchemas:
    """What tools say about their parameters, flat or in a `{"type": "function", "function": ...}`; read when asked for.

    Anything malformed is as if it was not there. Of tools with the same name the first counts.

    >>> tools = ToolSchemas([{"name": "f", "parameters": {"properties": {"days": {"type": "integer"}}}}])
    >>> tools.names, tools.parameter("f", "days").types
    (dict_keys(['f']), frozenset({'integer'}))
    """

    def __init__(self, tools: Sequence[Any] | None) -> None:
        self._tools = tools
        self._read: dict[str, Mapping[str, Any]] | None = None

    @property
    def names(self) -> Set[str] | None:
        """The names of the tools; None where no tools were given."""
        return None if self._tools is None else self._roots.keys()

    @property
    def _roots(self) -> dict[str, Mapping[str, Any]]:
        """The schema of each tool's parameters, by its name."""
        if self._read is None:
            roots: dict[str, Mapping[str, Any]] = {}
            for tool in _sequence(self._tools):
                outer = _mapping(tool)
                function = _mapping(outer.get("function")) or outer
                name = function.get("name")
                if isinstance(name, str):
                    roots.setdefault(name, _mapping(function.get("parameters")))
            self._read = roots
        return self._read

    def parameter(self, tool: str, name: str) -> Schema | None:
        """Returns what is said about a parameter of a tool; None where nothing is known about it."""
        root = self._roots.get(tool)
        if root is None:
            return None
        properties = root.get("properties")
        if type(properties) is dict and name in properties and root.keys().isdisjoint(_COMPOSED):
            return Schema.of(properties[name], root=root)
        parts = list(_parts(root, root))
        sources = [part["properties"][name] for part in parts if name in _mapping(part.get("properties"))]
        if not sources:
            sources = [part["additionalProperties"] for part in parts if _mapping(part.get("additionalProperties"))]
        if not sources:
            return None
        return Schema.of(sources[0] if len(sources) == 1 else {"anyOf": sources}, root=root)


def read_value(text: str, schema: Schema | None) -> tuple[Any, bool]:
    """Returns the value that a text stands for, and whether it fits what the schema says.

    A text that fits nothing that the schema allows stays as it is. So does one for a string, with the whitespace
    around it, which is left out of account for anything else. In lists and dicts types are looked at as well, down
    to 100 steps; where they do not fit, the value is still what was written. Never raises; the time is linear in the
    text.

    >>> read_value("3", Schema.of({"type": "integer"})), read_value("3", Schema.of({"type": "string"}))
    ((3, True), ('3', True))
    >>> read_value("three", Schema.of({"type": "integer"}))
    ('three', False)
    >>> read_value("{'a': [None]}", Schema.of({"type": "object"}))
    ({'a': [None]}, True)
    """
    if schema is None:
        value = next(_readings(text.strip(), loose=False), text)
        return (value if _kind(value) else text), True
    if schema.types == _STRINGS or text in schema.choices:
        return text, True
    strings = "string" in schema.types
    wanted = schema.types - _STRINGS
    for value in _readings(text.strip(), loose=not strings):
        if _kind(value) in wanted:
            fits = schema.source is None or _fits(value, schema.source, schema.root, {})
            return (text, True) if strings and not fits else (value, fits)
    return text, strings


def _readings(text: str, *, loose: bool) -> Iterator[Any]:
    """Yields what a text can be read as: JSON, and loosely as well what Python would read."""
    value = _json_of(text)
    if value is not _NOTHING:
        yield value
    if not loose:
        return
    if text.lower() in _WORDS:
        yield _WORDS[text.lower()]
    with suppress(ValueError):
        # Not by a float, which has not all digits of a long one.
        whole, _, rest = text.partition(".")
        yield int(whole if not rest.strip("0") else text)
    with suppress(ValueError):
        yield float(text)
    if text.startswith(("[", "{")):
        value = _json_of(_PYTHON.sub(_in_json, text))
        if value is not _NOTHING:
            yield value


def _json_of(text: str) -> Any:
    """Returns the value that a text is as JSON, or a sign that it is none."""
    try:
        return read_json(text)
    except JsonError:
        return _NOTHING


def _in_json(found: re.Match[str]) -> str:
    """Writes a piece of a Python literal in JSON. What is broken stays broken, and is no JSON then."""
    if found["comma"]:
        return ""
    if found["word"]:
        return json.dumps(_WORDS[found["word"].lower()])
    string = found["string"]
    if len(string) < 2 or string[-1] != string[0]:
        return string
    return json.dumps(_ESCAPE.sub(_unescaped, string[1:-1]))


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code is None:
        return _ESCAPED.get(found[4], found[4] if found[4] in "\\'\"" else found[0])
    return chr(int(code, 16)) if int(code, 16) < 0x110000 else found[0]


def _fits(
    value: Any, schema: Any, root: Mapping[str, Any], known: dict[tuple[int | str, int], bool], steps: int = 0
) -> bool:
    """Says whether a value is of the types that a schema says; what cannot be told fits.

    `known` are the answers that there are, by the value (what is no container: by its type) and the schema.
    """
    if not isinstance(schema, Mapping) or steps > MAX_JSON_DEPTH:
        return True
    kind = _kind(value)
    if kind == "number" and value.is_integer():
        kind = "integer"
    question = (id(value) if kind in ("array", "object") else kind, id(schema))
    if question in known:
        return known[question]
    # A schema that leads back to itself says no more by that.
    known[question] = True
    kinds = _kinds_of(schema)
    if kind == "null" and schema.get("nullable") is True:
        return True
    known[question] = not kinds or kind in kinds
    # One frame for each step, not three: the data may be deep, and so may be the stack already.
    for alternatives in _conditions(value, kind, schema, root) if known[question] else ():
        for part, source in alternatives:
            if _fits(part, source, root, known, steps + 1):
                break
        else:
            known[question] = False
            break
    return known[question]


def _conditions(
    value: Any, kind: str, schema: Mapping[str, Any], root: Mapping[str, Any]
) -> Iterator[list[tuple[Any, Any]]]:
    """Yields what has to be so for a value to fit: parts of it and schemas for them, of which one has to fit."""
    for source in (_target(schema.get("$ref"), root), *_listed(schema, "allOf")):
        yield [(value, source)]
    for key in ("anyOf", "oneOf"):
        sources = _listed(schema, key)
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
    """Returns the JSON types that a schema names, or else those of the values that it lists; none for any."""
    said = schema.get("type")
    names = [name.strip().lower() for name in (said, *_listed(schema, "type")) if isinstance(name, str)]
    kinds = {_KIND_OF_NAME.get(_NAME_END.split(name, maxsplit=1)[0], "") for name in names} - {""}
    if not kinds:
        kinds = {_kind(one) for one in _values_of(schema)} - {""}
    return kinds | {"integer"} if "number" in kinds else kinds


def _values_of(schema: Mapping[str, Any]) -> list[Any]:
    """Returns the values that a schema lists as the only ones."""
    return [*_listed(schema, "enum"), *([schema["const"]] if "const" in schema else [])]


def _kind(value: Any) -> str:
    """Returns the JSON type of a value; none for what is not JSON, as a number that is not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return _KINDS.get(type(value)) or next((_KINDS[kind] for kind in type(value).__mro__ if kind in _KINDS), "")


def _parts(schema: Any, root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields a schema and all that it is put together of."""
    waiting, seen = [schema], set()
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping) and id(part) not in seen:
            seen.add(id(part))
            yield part
            waiting.append(_target(part.get("$ref"), root))
            for key in _COMPOSED[1:]:
                waiting.extend(_listed(part, key))


def _target(reference: Any, root: Mapping[str, Any]) -> Any:
    """Returns what a reference such as `#/$defs/Place` leads to; None where that is nothing."""
    if not isinstance(reference, str) or not (reference + "/").startswith("#/"):
        return None
    target: Any = root
    for step in reference.split("/")[1:]:
        target = _mapping(target).get(step.replace("~1", "/").replace("~0", "~"))
    return target


def _listed(schema: Mapping[str, Any], key: str) -> Sequence[Any]:
    return _sequence(schema.get(key))


def _sequence(value: Any) -> Sequence[Any]:
    return value if type(value) is list or (isinstance(value, Sequence) and not isinstance(value, str | bytes)) else ()


def _mapping(value: Any) -> Mapping[str, Any]:
    # Asking an abstract class takes long.
    return value if type(value) is dict or isinstance(value, Mapping) else {}
