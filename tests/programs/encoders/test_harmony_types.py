"""JSON schemas are written as OpenAI's encoder writes them. The expected texts are its own."""

from __future__ import annotations

from typing import Any

import pytest

from renderers.programs.encoders.harmony_types import declare_function, write_description, write_type

NESTED = {
    "type": "object",
    "description": "od",
    "properties": {"y": {"type": "string", "description": "yd", "default": "z"}},
}
TYPES: list[tuple[Any, str]] = [
    ({}, "any"),
    (None, "any"),
    ({"type": "object"}, "{\n}"),
    ({"type": ["object", "null"]}, "object | null"),
    ({"type": ["integer", 3]}, "number"),
    ({"type": "array"}, "Array<any>"),
    ({"type": "array", "items": {"type": ["string", "null"]}}, "string | null[]"),
    ({"type": "string", "enum": ["a", "b", 1]}, '"a" | "b"'),
    ({"type": "string", "enum": [1]}, "string"),
    ({"anyOf": [{"type": "string"}]}, "any"),
    (
        {"type": "object", "properties": {"a": NESTED}},
        '{\n// od\na?:     // od\n{\n    // yd\n    y?: string, // default: "z"\n    },\n}',
    ),
    ({"oneOf": [{"type": "string"}, {"type": "integer", "description": "i"}]}, "\n | string\n | number // i"),
]
PROPERTIES: list[tuple[Any, str]] = [
    (
        {"type": "string", "title": "T", "description": "d", "examples": ["x", 1]},
        '// T\n//\n// d\n// Examples:\n// - "x"\na?: string,\n',
    ),
    ({"type": "string", "nullable": True, "default": None}, "a?: string | null, // default: null\n"),
    ({"type": "string", "enum": ["q"], "default": "q"}, 'a?: "q", // default: q\n'),
    (
        {"default": {"k": [1, "é", 1e-05, 1e20, 2**64]}},
        'a?: any, // default: {"k":[1,"é",0.00001,1e20,1.8446744073709552e19]}\n',
    ),
    (
        {
            "oneOf": [{"type": "string", "description": "same", "default": "x"}, {"type": "integer"}],
            "description": "same",
        },
        'a?:\n | string // default: "x"\n | number\n,\n',
    ),
    (
        {
            "oneOf": [{"type": "string", "description": "s"}, {"type": "integer", "description": "i"}],
            "description": "d",
            "default": 5,
        },
        "// d\n// default: 5\na?:\n | string\n | number // i\n,\n",
    ),
]


@pytest.mark.parametrize(("schema", "text"), TYPES)
def test_a_schema_is_written_as_a_type(schema: Any, text: str) -> None:
    assert write_type(schema) == text


@pytest.mark.parametrize(("schema", "text"), PROPERTIES)
def test_a_property_is_written_with_its_comments(schema: Any, text: str) -> None:
    assert write_type({"type": "object", "properties": {"a": schema}}) == f"{{\n{text}}}"


def test_required_properties_have_no_question_mark() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", 5]}
    assert write_type(schema) == "{\na: any,\nb?: any,\n}"


def test_a_function_is_declared_with_its_parameters() -> None:
    assert declare_function({"name": "f"}) == "type f = () => any;\n\n"
    assert declare_function({"name": "f", "parameters": {"type": "object"}}) == "type f = (_: {\n}) => any;\n\n"


@pytest.mark.parametrize(
    ("description", "text"), [("", ""), (None, ""), ("\n", "// \n"), ("a\r\n\nb\n", "// a\n// \n// b\n")]
)
def test_each_line_of_a_description_is_a_comment(description: str | None, text: str) -> None:
    assert write_description({"name": "f", "description": description}) == text
