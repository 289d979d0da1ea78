"""Describe Python functions as tools: a JSON schema from the signature, the type hints and the docstring.

The schemas of usual functions equal those of transformers, so that they are rendered to the same ids.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import re
import types
from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy_pattern
from renderers.core.spans import Path
from renderers.errors import MessageError

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)
_HEADING = lazy_pattern(r"(Args|Returns|Raises):\s*")
_ARGUMENT = lazy_pattern(r"(\w+)\s*(?:\([^()]*\))?:\s*(.*)")
_CHOICES = lazy_pattern(r"\(choices:\s*(.*?)\)\s*$", re.IGNORECASE)
_LEFT_OUT = ("title", "default", "properties")
_SCALARS = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}
"""The names of the types of scalars in JSON schemas."""
_MARKED = {"any": True}
"""The schema of `Any` in `list[Any]` and `dict[str, Any]`. Pydantic describes these like `list` and `dict`."""
_UNPASSABLE = {
    inspect.Parameter.VAR_POSITIONAL: "collects positional arguments",
    inspect.Parameter.VAR_KEYWORD: "collects keyword arguments",
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only",
}
_DESCRIBED: WeakKeyDictionary[types.FunctionType, JsonObject] = WeakKeyDictionary()
"""The tools of functions, as long as these exist: a schema takes milliseconds."""


class Docstring(NamedTuple):
    """The parts of a docstring in Google style that describe a function, its arguments and its result."""

    description: str
    arguments: dict[str, str]
    returns: str


def is_function_tool(value: object) -> bool:
    """Return True for a function, a method, or a pydantic model class, which `describe_function` accepts."""
    if isinstance(value, types.MethodType):
        value = value.__func__
    return isinstance(value, _FUNCTIONS) or (isinstance(value, type) and hasattr(value, "model_json_schema"))


def describe_function(value: Any, *, path: Path = ()) -> JsonObject:
    """Return the tool of a function, a method or a pydantic model class, as `transformers` describes functions.

    Parameters that have a default are not required. Descriptions come from the docstring, or from a pydantic `Field`.

    Raises:
        MessageError: There is no docstring, a parameter has no type hint, or a type has no JSON schema.

    >>> def look(city: str, days: int = 1):
    ...     '''Look at the sky.
    ...
    ...     Args:
    ...         city: The city.
    ...     '''
    >>> describe_function(look)["function"]["parameters"]["properties"]
    {'city': {'type': 'string', 'description': 'The city.'}, 'days': {'type': 'integer'}}
    """
    function = getattr(value, "__func__", value)
    described = _DESCRIBED.get(function)
    if described is None:
        name = str(getattr(value, "__name__", "function"))
        try:
            described = _DESCRIBED[function] = _describe(value, name)
        except Exception as error:
            # Type hints are code of the caller.
            raise MessageError(f"{name!r} cannot be described as a tool: {error}", path=path) from error
    return copy.deepcopy(described)


def _describe(value: Any, name: str) -> JsonObject:
    docstring = read_docstring(inspect.getdoc(value) or "")
    if not docstring.description or (isinstance(value, type) and not value.__doc__):
        raise ValueError("it has no docstring, which is the description of the tool")
    hints: dict[str, Any] = {}
    if isinstance(value, type):
        parameters = _tidy(value.model_json_schema())  # type: ignore[attr-defined]
        parameters.pop("description", None)
    else:
        hints = get_type_hints(value, include_extras=True)
        parameters = _parameters(value, hints)
    for key, schema in parameters.get("properties", {}).items():
        text = docstring.arguments.get(key, "")
        choices = _CHOICES.search(text)
        if choices is not None:
            schema["enum"], text = _read_choices(choices[1], key), text[: choices.start()].strip()
        _add_description(schema, text)
    function = {"name": name, "description": docstring.description, "parameters": parameters}
    if "return" in hints:
        function |= _return_schema(hints["return"], docstring.returns)
    return {"type": "function", "function": function}


def _parameters(function: Any, hints: dict[str, Any]) -> JsonObject:
    """Return the schema of the parameters of a function."""
    # Pydantic takes longer to import than the rest of a renderer.
    from pydantic import TypeAdapter

    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if not fields and name in ("self", "cls") and name not in hints:
            continue
        if parameter.kind in _UNPASSABLE:
            raise ValueError(f"the parameter {name!r} {_UNPASSABLE[parameter.kind]}, and calls pass arguments by name")
        if name not in hints:
            raise ValueError(f"the parameter {name!r} has no type hint")
        default = () if parameter.default is parameter.empty else (dataclasses.field(default=None),)
        fields[name] = (name, _mark_any(hints[name]), *default)
    parameters = dataclasses.make_dataclass("Parameters", fields.values(), kw_only=True)
    return _tidy(TypeAdapter(parameters).json_schema())


def _return_schema(hint: Any, description: str) -> JsonObject:
    """Return the schema of the result, which models never write. It is empty if the type has no schema."""
    from pydantic import PydanticUserError, TypeAdapter

    try:
        schema = _tidy(TypeAdapter(_mark_any(hint)).json_schema())
    except PydanticUserError:
        return {}
    _add_description(schema, description)
    return {"return": schema}


def _mark_any(hint: Any) -> Any:
    """Return a type hint in which every `Any` that is an argument of a list or dict has the schema `_MARKED`."""
    from pydantic import WithJsonSchema

    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Annotated[_mark_any(arguments[0]), *arguments[1:]]
    if origin not in (list, dict, tuple, Union, types.UnionType) or not arguments:
        return hint
    any_type = Annotated[Any, WithJsonSchema(_MARKED)] if origin in (list, dict) else Any
    marked = tuple([any_type if argument is Any else _mark_any(argument) for argument in arguments])
    return Union[marked] if origin in (Union, types.UnionType) else origin[marked]  # noqa: UP007


def _add_description(schema: JsonObject, text: str) -> None:
    """Add a description at the end of a schema, or keep that of a pydantic `Field` if the text is empty."""
    text = text or schema.pop("description", "")
    schema.pop("description", None)
    if text:
        schema["description"] = text


def _read_choices(text: str, name: str) -> list[Any]:
    try:
        choices: Any = json.loads(text)
    except ValueError:
        choices = None
    if not isinstance(choices, list):
        raise ValueError(f"the choices of {name!r} are not a JSON list: {text}")
    return choices


def _tidy(schema: JsonObject) -> JsonObject:
    """Return a schema of pydantic in the form of transformers: without titles and defaults, and with types inline."""
    definitions = schema.pop("$defs", {})
    recursive: set[str] = set()

    def tidy(value: Any, around: tuple[str, ...]) -> Any:
        if isinstance(value, list):
            return [tidy(item, around) for item in value]
        if not isinstance(value, dict):
            return value
        name = value.get("$ref", "").removeprefix("#/$defs/")
        if name in around:
            recursive.add(name)
            return value
        if name:
            value = {**definitions[name], **{key: item for key, item in value.items() if key != "$ref"}}
            around = (*around, name)
        plain = {key: tidy(item, around) for key, item in value.items() if key not in _LEFT_OUT}
        if "properties" in value:
            plain["properties"] = {key: tidy(item, around) for key, item in value["properties"].items()}
        return _as_transformers(plain)

    tidied: JsonObject = tidy(schema, ())
    if recursive:
        # A type that contains itself cannot be inline.
        tidied["$defs"] = {name: tidy(definitions[name], (name,)) for name in sorted(recursive)}
    return tidied


def _as_transformers(schema: JsonObject) -> JsonObject:
    """Return a schema with the keywords of transformers: `nullable`, `enum`, lists of types."""
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    if "type" not in schema and all(type(value) in _SCALARS for value in schema.get("enum", [[]])):
        schema["type"] = _one_or_list(dict.fromkeys(_SCALARS[type(value)] for value in schema["enum"]))
    for key, empty in (("items", {}), ("additionalProperties", True)):
        if schema.get(key) == empty:
            del schema[key]
        elif schema.get(key) == _MARKED:
            schema[key] = {}
    if schema.get("minItems") == schema.get("maxItems") == len(schema.get("prefixItems", ())):
        # A tuple.
        del schema["minItems"], schema["maxItems"]
    if "anyOf" in schema:
        choices = schema.pop("anyOf")
        others = [choice for choice in choices if choice != {"type": "null"}]
        if len(others) == 1:
            schema = {**others[0], **schema}
        elif all(choice.keys() == {"type"} and isinstance(choice["type"], str) for choice in others):
            schema["type"] = _one_or_list(sorted({choice["type"] for choice in others}))
        else:
            schema["anyOf"] = others
        if len(others) < len(choices):
            schema["nullable"] = True
    # The order of the keys is visible in prompts.
    nullable = {"nullable": schema.pop("nullable")} if "nullable" in schema else {}
    first: JsonObject = {key: schema[key] for key in ("type", "properties", "required") if key in schema}
    return {**first, **schema, **nullable}


def _one_or_list(names: Iterable[str]) -> str | list[str]:
    listed = list(names)
    return listed[0] if len(listed) == 1 else listed


def read_docstring(text: str) -> Docstring:
    """Read a docstring in Google style.

    >>> read_docstring("Look.\\n\\nArgs:\\n    city: The city\\n        to look at.\\n\\nReturns:\\n    The weather.")
    Docstring(description='Look.', arguments={'city': 'The city to look at.'}, returns='The weather.')
    """
    sections: dict[str, list[str]] = {"": [], "Args": [], "Returns": [], "Raises": []}
    heading = ""
    for line in inspect.cleandoc(text).splitlines():
        match = _HEADING.fullmatch(line)
        heading = match[1] if match else heading
        if not match:
            sections[heading].append(line)
    arguments: dict[str, str] = {}
    indent, name = None, None
    for line in filter(str.strip, sections["Args"]):
        depth = len(line) - len(line.lstrip())
        entry = _ARGUMENT.fullmatch(line.strip())
        indent = depth if indent is None else indent
        if entry and depth <= indent:
            name, arguments[entry[1]] = entry[1], entry[2].strip()
        elif name is not None:
            arguments[name] = f"{arguments[name]} {line.strip()}".strip()
    return Docstring("\n".join(sections[""]).strip(), arguments, "\n".join(sections["Returns"]).strip())
