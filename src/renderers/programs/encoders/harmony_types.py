"""Write JSON schemas as the TypeScript types of Harmony.

The text is that of OpenAI's encoder, character by character: models were trained with its indents and gaps. It writes
`any` for keywords that it does not read, such as `anyOf`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from renderers.core.jsontypes import JsonObject

_NUMBER_TYPES = {"integer": "number"}
_SIMPLE_TYPES = {"number": "number", "integer": "number", "boolean": "boolean"}
_LARGEST_INTEGER, _SMALLEST_INTEGER = 2**64 - 1, -(2**63)
"""Integers beyond these are written as floats."""


def write_description(function: JsonObject) -> str:
    """Return the description of a function tool as comments.

    >>> write_description({"name": "now", "description": "Return the time.\\nIn UTC."})
    '// Return the time.\\n// In UTC.\\n'
    """
    description = str(function.get("description") or "")
    lines = description.removesuffix("\n").split("\n") if description else []
    return "".join(f"// {line.removesuffix(chr(13))}\n" for line in lines)


def declare_function(function: JsonObject, no_parameters: str = "") -> str:
    """Return the declaration of a function tool, without its description.

    >>> declare_function({"name": "now", "description": "Return the time."})
    'type now = () => any;\\n\\n'
    """
    parameters = function.get("parameters")
    parameter = no_parameters if parameters is None else f"_: {write_type(parameters)}"
    return f"type {function['name']} = ({parameter}) => any;\n\n"


def write_type(schema: Any, indent: str = "") -> str:
    """Return the type of a schema. Its lines after the first have an indent.

    >>> write_type({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}})
    '"a" | "b"[]'
    """
    schema = schema if isinstance(schema, dict) else {}
    variants, kind = schema.get("oneOf"), schema.get("type")
    if isinstance(variants, list):
        return "".join(f"\n{indent} | {_write_variant(variant, f'{indent}   ', _json_default)}" for variant in variants)
    if isinstance(kind, list):
        names = [_NUMBER_TYPES.get(name, name) for name in kind if isinstance(name, str)]
        return " | ".join(names) or "any"
    if kind == "object":
        return _write_object(schema, indent)
    if kind == "array":
        return f"{write_type(schema['items'], indent)}[]" if "items" in schema else "Array<any>"
    if kind == "string":
        values = schema.get("enum")
        texts = [f'"{value}"' for value in values if isinstance(value, str)] if isinstance(values, list) else []
        return " | ".join(texts) or "string"
    return _SIMPLE_TYPES.get(kind, "any") if isinstance(kind, str) else "any"


def _write_object(schema: JsonObject, indent: str) -> str:
    description, properties = schema.get("description"), schema.get("properties")
    head = f"{indent}// {description}\n" if isinstance(description, str) else ""
    listed = schema.get("required")
    required = listed if isinstance(listed, list) else []
    items = properties.items() if isinstance(properties, dict) else ()
    body = "".join(_write_property(name, item, name in required, indent) for name, item in items)
    return f"{head}{{\n{body}{indent}}}"


def _write_property(name: str, schema: Any, is_required: bool, indent: str) -> str:
    schema = schema if isinstance(schema, dict) else {}
    comments = "".join(f"{indent}//{comment}\n" for comment in _comments_above(schema))
    label = f"{comments}{indent}{name}{'' if is_required else '?'}:"
    variants = schema.get("oneOf")
    if isinstance(variants, list):
        texts = _write_variants(variants, schema.get("description"), f"{indent}   ")
        return f"{label}\n{''.join(f'{indent} | {text}{chr(10)}' for text in texts)}{indent},\n"
    default = f" // {_default(schema)}" if "default" in schema else ""
    return f"{label} {_write_nullable(schema, f'{indent}    ')},{default}\n"


def _comments_above(schema: JsonObject) -> Iterator[str]:
    """Yield the comments above a property, each with the space before it."""
    title, description, variants = schema.get("title"), schema.get("description"), schema.get("oneOf")
    if isinstance(title, str):
        yield f" {title}"
        yield ""
    if isinstance(description, str) and "oneOf" not in schema:
        yield f" {description}"
    examples = schema.get("examples")
    if isinstance(examples, list) and examples:
        yield " Examples:"
        yield from (f' - "{example}"' for example in examples if isinstance(example, str))
    if isinstance(variants, list):
        first = variants[0].get("description") if variants and isinstance(variants[0], dict) else None
        if isinstance(description, str) and description != first:
            yield f" {description}"
        if "default" in schema:
            yield f" {_default(schema)}"


def _write_variants(schemas: Sequence[Any], above: Any, indent: str) -> Iterator[str]:
    """Yield the variants of a property. `above` is its description, which the first variant does not repeat or add."""
    for number, schema in enumerate(schemas):
        description = schema.get("description") if isinstance(schema, dict) else None
        is_hidden = isinstance(above, str) and (number == 0 or description == above)
        yield _write_variant(schema, indent, _default, with_description=not is_hidden)


def _write_variant(
    schema: Any, indent: str, write_default: Callable[[JsonObject], str], *, with_description: bool = True
) -> str:
    """Return the type of a variant, with its description and default as a comment."""
    schema = schema if isinstance(schema, dict) else {}
    comments = [schema["description"]] if with_description and isinstance(schema.get("description"), str) else []
    comments += [write_default(schema)] if "default" in schema else []
    return _write_nullable(schema, indent) + (f" // {' '.join(comments)}" if comments else "")


def _write_nullable(schema: JsonObject, indent: str) -> str:
    text = write_type(schema, indent)
    return f"{text} | null" if schema.get("nullable") is True and "null" not in text else text


def _is_enum(schema: JsonObject) -> bool:
    return isinstance(schema.get("enum"), list) and bool(schema["enum"])


def _default(schema: JsonObject) -> str:
    """Return the default of a property or of one of its variants."""
    default = schema["default"]
    return f"default: {default}" if isinstance(default, str) and _is_enum(schema) else _json_default(schema)


def _json_default(schema: JsonObject) -> str:
    """Return the default of another variant. A text is escaped only if it is one of several values."""
    default = schema["default"]
    is_raw = isinstance(default, str) and not _is_enum(schema)
    return f'default: "{default}"' if is_raw else f"default: {_write_json(default)}"


def _write_json(value: Any) -> str:
    """Return compact JSON with numbers in the notation of the encoder.

    >>> _write_json({"a": [1, 1e-05, 1e+16]})
    '{"a":[1,0.00001,1e16]}'
    """
    if isinstance(value, dict):
        return "{" + ",".join(f"{_write_json(key)}:{_write_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_write_json, value)) + "]"
    if type(value) is int and not _SMALLEST_INTEGER <= value <= _LARGEST_INTEGER:
        return _write_float(float(value))
    return _write_float(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _write_float(value: float) -> str:
    """Return a number with an exponent only if it is below 1e-5 or at least 1e16, without a sign of the exponent."""
    text = repr(value)
    mantissa, has_exponent, exponent = text.partition("e")
    if not has_exponent:
        return text
    if exponent == "-05":
        sign, digits = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
        return f"{sign}0.0000{digits.replace('.', '')}"
    return f"{mantissa}e{int(exponent)}"
