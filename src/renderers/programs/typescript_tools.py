"""Declare tools in TypeScript for templates that read `tools_ts_str`, and sort their keys.

The tokenizer code of Kimi K2 sorts the keys of tools. That of K2.5 also passes their declarations to its template:

    # Tools

    ## functions
    namespace functions {
    // Search the web.
    type search = (_: {
      // maxLength: 80
      query: string,
      // Default: 5
      limit?: number
    }) => any;
    }

Required parameters come first. The `$defs` of a schema become interfaces.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from renderers.core.jsontypes import JsonObject
from renderers.core.tool_list import ToolList
from renderers.errors import MessageError
from renderers.templating.texts import mixed_text
from renderers.templating.values import NO_MESSAGE, Run

DECLARATIONS = "tools_ts_str"
"""The template variable with the declarations. A caller that passes it, even as an empty text, declares the tools."""

_INDENT = "  "
_HEAD = "# Tools\n\n## functions\nnamespace functions {\n"
_DEFINITION = "#/$defs/"
_ROOT = "parameters"
"""The name of the interface of a schema that refers to itself."""
_SCALARS = {"integer": "number"}
_UNION_TYPES = {
    **{name: name for name in ("string", "number", "boolean", "null")},
    "integer": "number",
    "array": "Array<any>",
    "object": "{}",
}
_CONSTRAINTS = {
    "string": ("maxLength", "minLength", "pattern"),
    "number": ("maximum", "minimum"),
    "integer": ("maximum", "minimum"),
    "array": ("maxItems", "minItems"),
}


class DeclaredTools(NamedTuple):
    """Tools as Kimi's tokenizer code passes them to a template."""

    tools: list[JsonObject]
    """The tools with sorted keys."""
    declarations: str
    """The declarations, as a text of the tools. Empty if there are none, so that the template writes JSON."""


def declare_tools(tools: list[JsonObject]) -> DeclaredTools:
    """Sort the keys of tools, and declare them in TypeScript.

    A schema that TypeScript declarations do not support, such as one with only `oneOf`, leaves all tools to JSON.

    >>> print(declare_tools([{"name": "stop", "description": "End."}]).declarations)
    # Tools
    <BLANKLINE>
    ## functions
    namespace functions {
    // End.
    type stop = (_: {}) => any;
    }
    <BLANKLINE>
    """
    if type(tools) is ToolList:
        return tools.derive("typescript", lambda: _declare_tools(tools))
    return _declare_tools(tools)


def _declare_tools(tools: list[JsonObject]) -> DeclaredTools:
    ordered = sort_tools(tools)
    try:
        declared = [(number, text) for number, tool in enumerate(ordered) if (text := _declare_tool(tool)) is not None]
    except (_UnsupportedSchemaError, RecursionError):
        declared = []
    return DeclaredTools(ordered, _join(declared))


def sort_tools(tools: list[JsonObject]) -> list[JsonObject]:
    """Sort the keys of tools, as the tokenizer code of all Kimi K2 models does.

    Raises:
        MessageError: A tool is nested too deeply.

    >>> sort_tools([{"name": "stop", "description": "End."}])
    [{'description': 'End.', 'name': 'stop'}]
    """
    if type(tools) is ToolList:
        return tools.derive("sorted", lambda: ToolList(sort_tools(list(tools))))
    try:
        return [_sort_keys(tool) for tool in tools]
    except RecursionError:
        raise MessageError("is nested too deeply", path=("tools",)) from None


def _sort_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    return [_sort_keys(item) for item in value] if isinstance(value, list) else value


def _join(declared: list[tuple[int, str]]) -> str:
    """Return the text of all declarations. Each belongs to its tool."""
    if not declared:
        return ""
    text = _HEAD
    runs: list[Run] = [(len(text), NO_MESSAGE)]
    for number, declaration in declared:
        text += declaration
        runs.append((len(text), (-1, ("tools", number))))
        text += "\n"
        runs.append((len(text), NO_MESSAGE))
    text += "}\n"
    runs[-1] = len(text), NO_MESSAGE
    return mixed_text(text, tuple(runs))


def _declare_tool(tool: JsonObject) -> str | None:
    """Return the declaration of a tool, with or without a `function` wrapper. None if it is not a function."""
    if tool.get("type", "function") != "function":
        return None
    function = tool.get("function", tool)
    if not isinstance(function, dict):
        raise _UnsupportedSchemaError
    return _FunctionDeclaration(function.get("parameters") or {}).write(function) if function else None


class _UnsupportedSchemaError(Exception):
    """A schema has no declaration."""


class _FunctionDeclaration:
    """Writes the declaration of one function, and collects its interfaces."""

    def __init__(self, parameters: Any) -> None:
        self._parameters = _object(parameters)
        self._interfaces: dict[str, JsonObject] = {}
        self._refers_to_itself = False

    def write(self, function: JsonObject) -> str:
        parameters, lines = self._object_type(self._parameters, ""), []
        if self._refers_to_itself:
            # This interface has all parameters in one order, and no others.
            root = {key: value for key, value in self._parameters.items() if key != "additionalProperties"}
            lines.append(f"interface {_ROOT} {self._object_type(root, '', required_first=False)}")
            parameters = _ROOT
        lines += [f"{comment}interface {name} {text}" for name, comment, text in self._interface_texts()]
        description = function.get("description")
        if description:
            lines.append(_comment_lines(description, ""))
        return "\n".join([*lines, f"type {function.get('name', 'function')} = (_: {parameters}) => any;"])

    def _interface_texts(self) -> Iterator[tuple[str, str, str]]:
        """Yield the name, the comment and the type of each interface. Interfaces may refer to further ones."""
        written: set[str] = set()
        while names := [name for name in self._interfaces if name not in written]:
            for name in names:
                schema = self._interfaces[name]
                description = schema.get("description")
                comment = _comment_lines(description, "") + "\n" if description else ""
                yield name, comment, self._type(schema, "")
            written.update(names)

    def _type(self, schema: Any, indent: str) -> str:
        """Return the type of a value, without its comment. `indent` is that of the line."""
        if isinstance(schema, bool):
            return "any" if schema else "null"
        if schema == {}:
            return "any"
        if "$ref" in _object(schema):
            return self._reference(schema["$ref"])
        if "anyOf" in schema:
            return " | ".join([self._type(option, indent) for option in _list(schema["anyOf"])])
        if "enum" in schema:
            return " | ".join([_literal(value) for value in _list(schema["enum"])])
        kind = schema["type"] if "type" in schema else _unsupported()
        if isinstance(kind, list):
            if not all(isinstance(name, str) and name in _UNION_TYPES for name in kind):
                _unsupported()
            return " | ".join([_UNION_TYPES[name] for name in kind])
        if kind == "object":
            return self._object_type(schema, indent)
        if kind == "array":
            return self._array_type(schema, indent)
        return _SCALARS.get(kind, kind) if isinstance(kind, str) else str(kind)

    def _reference(self, reference: Any) -> str:
        if reference == "#":
            self._refers_to_itself = True
            return _ROOT
        if not isinstance(reference, str) or not reference.startswith(_DEFINITION):
            _unsupported()
        name: str = reference.removeprefix(_DEFINITION)
        return name if name in self._interfaces else _unsupported()

    def _array_type(self, schema: JsonObject, indent: str) -> str:
        items = schema.get("items")
        if not items:
            return "Array<any>"
        inner = indent + _INDENT
        comment = _comment(items, inner)
        if not comment:
            return f"Array<{self._type(items, indent)}>"
        return f"Array<\n{comment}{inner}{self._type(items, inner)}\n{indent}>"

    def _object_type(self, schema: JsonObject, indent: str, *, required_first: bool = True) -> str:
        for name, definition in _object(schema.get("$defs", {})).items():
            self._interfaces[name] = _object(definition)
        properties, required = _object(schema.get("properties", {})), schema.get("required", [])
        if not isinstance(required, list | str | dict):
            _unsupported()
        inner = indent + _INDENT
        fields = {name: self._type(properties[name], inner) for name in sorted(properties)}
        ordered = sorted(fields, key=lambda name: required_first and name not in required)
        lines = [
            f"{_comment(properties[name], inner, with_default=True)}{inner}"
            f"{name}{'' if name in required else '?'}: {fields[name]}"
            for name in ordered
        ]
        others = schema.get("additionalProperties")
        if others is not None:
            lines.append(f"{inner}[k: string]: {'never' if others is False else self._type(others, inner)}")
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}" if lines else "{}"


def _comment(schema: Any, indent: str, *, with_default: bool = False) -> str:
    """Return the lines with the description, the constraints and the default of a value."""
    if not isinstance(schema, dict):
        return ""
    lines = [_comment_lines(schema["description"], indent)] if schema.get("description") else []
    constraints = [f"{key}: {schema[key]}" for key in _constraint_keys(schema) if key in schema]
    if constraints:
        lines.append(f"{indent}// {', '.join(constraints)}")
    if with_default and schema.get("default") is not None:
        lines.append(f"{indent}// Default: {json.dumps(schema['default'], ensure_ascii=False)}")
    return "".join([line + "\n" for line in lines])


def _constraint_keys(schema: JsonObject) -> tuple[str, ...]:
    """Return the keys of the constraints that are written. References, unions and enumerations have none."""
    kind = schema.get("type")
    if not isinstance(kind, str) or not schema.keys().isdisjoint({"$ref", "anyOf", "enum"}):
        return ()
    return _CONSTRAINTS.get(kind, ())


def _comment_lines(description: Any, indent: str) -> str:
    if not isinstance(description, str):
        _unsupported()
    return "\n".join([f"{indent}// {line}" if line else "" for line in description.split("\n")])


def _literal(value: Any) -> str:
    # Kimi's tokenizer code escapes nothing in strings of enumerations.
    return f'"{value}"' if isinstance(value, str) else json.dumps(value)


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else _unsupported()


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else _unsupported()


def _unsupported() -> Any:
    raise _UnsupportedSchemaError
