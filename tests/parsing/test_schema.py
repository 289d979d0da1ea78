"""Values without quotes are converted to the types of the schema. A value that does not fit stays a string."""

from __future__ import annotations

import enum
import json
import math
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from renderers.parsing.schema import Schema, ToolSchemas, read_value

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
BOOLEAN = {"type": "boolean"}
ARRAY = {"type": "array"}
OBJECT = {"type": "object"}
OR_NULL = {"type": ["string", "null"]}
NUMBERS = {"type": "array", "items": INTEGER}
TREE = {
    "$ref": "#/$defs/Node",
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"size": INTEGER, "inner": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        }
    },
}

CASES: list[tuple[Any, str, Any, bool]] = [
    # Strings are never parsed, and never stripped.
    (STRING, "3", "3", True),
    (STRING, "null", "null", True),
    (STRING, ' "a" \n', ' "a" \n', True),
    (STRING, "", "", True),
    ({"type": "str"}, "[1]", "[1]", True),
    ({"enum": ["1", "2"]}, "1", "1", True),
    ({"enum": ["1", "2"]}, "3", "3", True),
    ({"const": "true"}, "true", "true", True),
    ({"type": " Text "}, "1", "1", True),
    # Integers.
    (INTEGER, "3", 3, True),
    (INTEGER, " -3\n", -3, True),
    (INTEGER, "3.0", 3, True),
    (INTEGER, "12345678901234567890.00", 12345678901234567890, True),
    (INTEGER, "+007", 7, True),
    (INTEGER, "3.5", "3.5", False),
    (INTEGER, "three ", "three ", False),
    (INTEGER, '"3"', '"3"', False),
    (INTEGER, "true", "true", False),
    (INTEGER, "null", "null", False),
    (INTEGER, "", "", False),
    (INTEGER, "9" * 5000, "9" * 5000, False),
    ({"type": "int64"}, "3", 3, True),
    ({"type": "unsigned int"}, "3", 3, True),
    ({"enum": [1, 2]}, "2", 2, True),
    ({"const": 1}, "a", "a", False),
    ({"type": "integer", "enum": ["1", "2"]}, "1", 1, True),
    # Numbers.
    (NUMBER, "3", 3, True),
    (NUMBER, "3.0", 3.0, True),
    (NUMBER, "-1e3", -1000.0, True),
    (NUMBER, ".5", 0.5, True),
    (NUMBER, "NaN", "NaN", False),
    (NUMBER, "-inf", "-inf", False),
    (NUMBER, "1e999", "1e999", False),
    (NUMBER, "1,5", "1,5", False),
    (NUMBER, "1" * 5000 + ".5", "1" * 5000 + ".5", False),
    ({"type": "Double"}, "0.5", 0.5, True),
    ({"enum": [0.5, 1.5]}, "1", 1, True),
    # Booleans and null.
    (BOOLEAN, "true", True, True),
    (BOOLEAN, " False ", False, True),
    (BOOLEAN, "TRUE", True, True),
    (BOOLEAN, "1", "1", False),
    (BOOLEAN, "yes", "yes", False),
    (BOOLEAN, "None", "None", False),
    ({"type": "bool"}, "true", True, True),
    ({"type": "null"}, "None", None, True),
    ({"type": ["integer", "null"]}, "NULL", None, True),
    ({"type": "integer", "nullable": True}, "null", None, True),
    ({"type": "integer", "nullable": True}, "4", 4, True),
    ({"type": "integer", "nullable": "yes"}, "null", "null", False),
    # Lists and dicts, also as Python writes them.
    (ARRAY, "[1, null]", [1, None], True),
    (ARRAY, '["a\nb"]', ["a\nb"], True),
    (ARRAY, "[1, 'a', None, True,]", [1, "a", None, True], True),
    (ARRAY, "[true, None]", [True, None], True),
    (
        ARRAY,
        """['it\\'s', "it's", '"', '\\x41\\u00e9\\U0001f600\\n\\d\\\\']""",
        ["it's", "it's", '"', "Aé😀\n\\d\\"],
        True,
    ),
    (ARRAY, "['True, None', 'a,]']", ["True, None", "a,]"], True),
    (ARRAY, "['\\ud800']", "['\\ud800']", False),
    (ARRAY, "['\\U99999999']", ["\\U99999999"], True),
    (ARRAY, "[,]", "[,]", False),
    (ARRAY, "['a' 'b']", "['a' 'b']", False),
    (ARRAY, "[b'a']", "[b'a']", False),
    (ARRAY, "['a", "['a", False),
    (ARRAY, "['", "['", False),
    (ARRAY, "[1, x]", "[1, x]", False),
    (ARRAY, "(1, 2)", "(1, 2)", False),
    (ARRAY, "{}", "{}", False),
    (ARRAY, "1, 2", "1, 2", False),
    (ARRAY, "[" * 200 + "'a'" + "]" * 200, "[" * 200 + "'a'" + "]" * 200, False),
    ({"type": "list[int]"}, "[1]", [1], True),
    (OBJECT, "{'a': {'b': [False]}}", {"a": {"b": [False]}}, True),
    (OBJECT, "{1: 2}", "{1: 2}", False),
    (OBJECT, "[]", "[]", False),
    (OBJECT, "hello", "hello", False),
    ({"type": "dict"}, '{"a": 1}', {"a": 1}, True),
    # Types in lists and dicts count; the value is what was written.
    (NUMBERS, "[1, 2.0]", [1, 2.0], True),
    (NUMBERS, '[1, "2"]', [1, "2"], False),
    (NUMBERS, "[1.5]", [1.5], False),
    ({"type": "array", "prefixItems": [STRING], "items": INTEGER}, '["a", 1]', ["a", 1], True),
    ({"type": "array", "items": [STRING]}, "[1]", [1], True),
    ({"type": "object", "properties": {"a": INTEGER}}, '{"a": 1, "b": "x"}', {"a": 1, "b": "x"}, True),
    ({"type": "object", "properties": {"a": INTEGER}}, '{"a": "x"}', {"a": "x"}, False),
    ({"type": "object", "additionalProperties": INTEGER}, '{"a": "x"}', {"a": "x"}, False),
    ({"type": "object", "additionalProperties": False}, '{"a": "x"}', {"a": "x"}, True),
    ({"type": "object", "patternProperties": {}, "additionalProperties": INTEGER}, '{"a": "x"}', {"a": "x"}, True),
    (TREE, '{"inner": [{"inner": []}, {"size": 3}]}', {"inner": [{"inner": []}, {"size": 3}]}, True),
    (TREE, '{"inner": [{"inner": [{"size": "x"}]}]}', {"inner": [{"inner": [{"size": "x"}]}]}, False),
    # Where strings are possible too, only JSON is something else.
    (OR_NULL, "null", None, True),
    (OR_NULL, "None", "None", True),
    (OR_NULL, "NULL", "NULL", True),
    (OR_NULL, "", "", True),
    (OR_NULL, "3", "3", True),
    ({"type": "string", "nullable": True}, "null", None, True),
    ({"type": ["integer", "string"]}, "3", 3, True),
    ({"type": ["integer", "string"]}, "3.0", "3.0", True),
    ({"type": ["integer", "string"]}, "007", "007", True),
    ({"type": ["number", "string"]}, " 1e3 ", 1000.0, True),
    ({"type": ["number", "string"]}, " a ", " a ", True),
    ({"type": ["number", "string"]}, "NaN", "NaN", True),
    ({"type": ["boolean", "string"]}, "true", True, True),
    ({"type": ["boolean", "string"]}, "True", "True", True),
    ({"type": ["array", "string"]}, "[1]", [1], True),
    ({"type": ["array", "string"]}, "['a']", "['a']", True),
    ({"type": ["array", "string"]}, '"a"', '"a"', True),
    ({"anyOf": [NUMBERS, STRING]}, "[1]", [1], True),
    ({"anyOf": [NUMBERS, STRING]}, '["a"]', '["a"]', True),
    ({"enum": ["1", 1, 2, None, "null"]}, "1", "1", True),
    ({"enum": ["1", 1, 2, None, "null"]}, "2", 2, True),
    ({"enum": ["1", 1, 2, None, "null"]}, "null", "null", True),
    ({"anyOf": [{"enum": ["5"]}, INTEGER]}, "5", "5", True),
    ({"anyOf": [{"const": "5"}, INTEGER]}, "6", 6, True),
    # Schemas put together of others.
    ({"anyOf": [INTEGER, {"type": "null"}]}, "None", None, True),
    ({"oneOf": [BOOLEAN, ARRAY]}, "[True]", [True], True),
    ({"allOf": [{"type": ["integer", "string"]}, INTEGER]}, "+5", 5, True),
    ({"allOf": [{"$ref": "#/$defs/n"}], "$defs": {"n": INTEGER}}, "5", 5, True),
    ({"$ref": "#/definitions/n", "definitions": {"n": BOOLEAN}}, "True", True, True),
    ({"$ref": "#/$defs/a~1b~0", "$defs": {"a/b~": INTEGER}}, "5", 5, True),
    ({"anyOf": [{"$ref": "#"}, INTEGER]}, "5", 5, True),
    ({"type": ["string", "null"], "anyOf": [{"$ref": "#"}]}, "null", None, True),
    # Schemas that say nothing: JSON, or else a text.
    ({}, "[1]", [1], True),
    ({}, ' "a" ', "a", True),
    ({}, " a ", " a ", True),
    ({}, "None", "None", True),
    ({}, "NaN", "NaN", True),
    ({}, "['a']", "['a']", True),
    ({"description": "x", "default": 1}, "007", "007", True),
    ({"type": "any"}, "1", 1, True),
    ({"type": ["what", 3]}, "1", 1, True),
    ({"allOf": [STRING, INTEGER]}, "1", 1, True),
    ({"anyOf": [STRING, {}]}, "1", 1, True),
    ({"$ref": "#/$defs/gone"}, "1", 1, True),
    ({"$ref": "https://example.org/schema"}, "1", 1, True),
    ({"properties": {"a": {"$ref": "#b"}}, "type": "object"}, '{"a": 1}', {"a": 1}, True),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "1", 1, True),
    (True, "1", 1, True),
    (None, "a", "a", True),
]


@pytest.mark.parametrize(("source", "text", "value", "fits"), CASES)
def test_a_text_is_converted_to_the_type_of_the_schema(source: Any, text: str, value: Any, fits: bool) -> None:
    got, fitting = read_value(text, Schema.parse(source))
    assert (repr(got), fitting) == (repr(value), fits)


def typed(value: Any) -> dict[str, Any]:
    """Return a schema for a value, with the types of all its parts."""
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: typed(item) for key, item in value.items()}}
    if isinstance(value, list):
        return {"type": "array", "items": {"anyOf": [typed(item) for item in value]}}
    names = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return {"type": names[type(value)]}


FINITE = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(max_size=5) | st.text(alphabet="'\"\\nux{}[],:TrueNone \t\n\x07é😀", max_size=8)
DATA = st.recursive(
    FINITE | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=300, deadline=None)
@given(DATA, st.sampled_from([json.dumps, str]), st.sampled_from(["", " ", "\n"]))
@example(["\x07\x0b\x0c\x08", "\r\n\t", "\u2028\x7f", "\\'\""], str, "")
@example({"a": True, "b": [None, False]}, str, "\n")
def test_rendered_values_are_parsed_back(value: Any, write: Any, space: str) -> None:
    if isinstance(value, str):
        assert read_value(value, Schema.parse(STRING)) == (value, True)
        return
    text = space + write(value) + space
    assert repr(read_value(text, Schema.parse(typed(value)))) == repr((value, True))


@settings(max_examples=200, deadline=None)
@given(DATA.filter(lambda value: not isinstance(value, str)), DATA)
def test_a_value_fits_only_its_own_type_and_stays_a_text_for_others(value: Any, other: Any) -> None:
    kind, declared = typed(value)["type"], typed(other)["type"]
    text = json.dumps(value)
    read, fits = read_value(text, Schema.parse({"type": declared}))
    whole = declared == "integer" and kind == "number" and text.endswith(".0")
    assert fits == (kind == declared or declared == "string" or (kind, declared) == ("integer", "number") or whole)
    assert read == (value if fits and declared != "string" else text)


WORDS = [
    *("type", "properties", "items", "anyOf", "oneOf", "allOf", "enum", "const", "$ref", "$defs", "nullable"),
    *("additionalProperties", "prefixItems", "function", "name", "parameters", "a"),
]
NAMES = [*("string", "integer", "number", "boolean", "null", "array", "object", "int64", "#", "#/$defs/a", "a", "")]
GARBAGE = st.recursive(
    FINITE | st.sampled_from(NAMES) | st.text(max_size=3) | st.just(math.nan),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=15,
)
WRITTEN = st.text() | DATA.map(json.dumps) | DATA.map(str) | st.text(alphabet="[]{}'\",:\\ 1aTrue\ud800", max_size=12)


@settings(max_examples=500, deadline=None)
@given(WRITTEN, st.dictionaries(st.sampled_from(WORDS), GARBAGE, max_size=6) | GARBAGE)
def test_no_text_and_no_schema_raises(text: str, source: Any) -> None:
    schema = Schema.parse(source)
    value, fits = read_value(text, schema)
    assert fits or value == text or isinstance(value, list | dict)
    if schema is not None and "string" in schema.types:
        assert fits


@settings(max_examples=300, deadline=None)
@given(GARBAGE, WRITTEN)
def test_no_tools_raise(tools: Any, text: str) -> None:
    for given_tools in (tools, [tools], [{"name": "a", "parameters": tools}], [{"function": tools}]):
        schemas = ToolSchemas(given_tools)
        for name in schemas.names or ():
            read_value(text, schemas.parameter(name, "a"))


def test_tools_may_be_flat_or_wrapped_and_malformed_ones_are_ignored() -> None:
    parameters = {"type": "object", "properties": {"n": INTEGER, "any": {}, "bad": 3}}
    tools = [
        {"name": "flat", "parameters": parameters},
        {"type": "function", "function": {"name": "inner", "parameters": MappingProxyType(parameters)}},
        {"name": "bare"},
        {"name": "odd", "parameters": "none"},
        {"name": 3},
        {"function": None},
        "text",
        None,
        {"name": "flat", "parameters": {"properties": {"n": STRING}}},
    ]
    schemas = ToolSchemas(tools)
    assert set(schemas.names or ()) == {"flat", "inner", "bare", "odd"}
    for name in ("flat", "inner"):
        assert read_value("3", schemas.parameter(name, "n")) == (3, True)
        assert schemas.parameter(name, "any") is schemas.parameter(name, "bad") is None
        assert schemas.parameter(name, "missing") is None
    assert schemas.parameter("bare", "n") is schemas.parameter("odd", "n") is schemas.parameter("gone", "n") is None


def test_no_tools_differ_from_an_empty_list() -> None:
    assert ToolSchemas(None).names is None
    assert ToolSchemas([]).names == frozenset()
    assert ToolSchemas(None).parameter("f", "x") is None


def test_parameters_are_found_through_references_and_alternatives() -> None:
    root = {
        "$ref": "#/$defs/Arguments",
        "$defs": {
            "Arguments": {"anyOf": [{"properties": {"x": INTEGER}}, {"properties": {"x": BOOLEAN, "y": STRING}}]},
            "Unit": {"enum": ["C", "F"]},
        },
        "properties": {"unit": {"$ref": "#/$defs/Unit"}},
        "additionalProperties": NUMBER,
    }
    schemas = ToolSchemas([{"name": "f", "parameters": root}])
    found = {name: schemas.parameter("f", name) for name in ("x", "y", "unit", "other")}
    assert {name: schema and set(schema.types) for name, schema in found.items()} == {
        "x": {"integer", "boolean"},
        "y": {"string"},
        "unit": {"string"},
        "other": {"integer", "number"},
    }


def test_subclasses_of_strings_and_lists_are_accepted() -> None:
    class Unit(str, enum.Enum):  # noqa: UP042
        C = "1"

    assert read_value("1", Schema.parse({"enum": [Unit.C, 5]})) == ("1", True)
    assert read_value("None", Schema.parse({"type": ("integer", "null")})) == (None, True)


def test_recursive_schemas_with_branches_are_checked_once() -> None:
    definitions: dict[str, Any] = {f"{n}": {"anyOf": [{"$ref": f"#/$defs/{n + 1}"}] * 3} for n in range(10)}
    definitions["10"] = {"type": "array", "items": {"$ref": "#/$defs/0"}}
    schema = Schema.parse({"$ref": "#/$defs/0", "$defs": definitions})
    assert schema is not None
    assert schema.types == {"array"}
    assert read_value("[" * 50 + "]" * 50, schema)[1]
    assert read_value("[[1], 1]", schema) == ([[1], 1], False)
    twice = {"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "array", "items": {"$ref": "#"}}]}
    assert read_value("[" * 25 + "1" + "]" * 25, Schema.parse(twice))[1] is False


def test_a_schema_that_is_endless_in_python_does_not_hang() -> None:
    endless: dict[str, Any] = {"type": "array"}
    endless["items"] = endless["anyOf"] = endless
    endless["anyOf"] = [endless, {"type": "array", "items": endless}]
    assert read_value("[[[]]]", Schema.parse(endless)) == ([[[]]], True)
    deep: Any = INTEGER
    for _ in range(100_000):
        deep = {"anyOf": [deep]}
    assert read_value("1", Schema.parse(deep)) == (1, True)
    while deep is not INTEGER:
        # Bit by bit: Python's own way to let go of it calls itself.
        deep = deep["anyOf"][0]


@pytest.mark.parametrize("unit", ["[", "{", "'", "\\'", '\\"', "[],", "1,", "-", "True,", ", ", "'a':", "{'a':", "9"])
@pytest.mark.parametrize("start", ["", "[", "['", '["'])
def test_hundreds_of_thousands_of_characters_are_parsed(start: str, unit: str) -> None:
    text = start + unit * (200_000 // len(unit))
    for source in ({"type": ["array", "object"]}, NUMBER, OR_NULL):
        value, fits = read_value(text, Schema.parse(source))
        assert value == text or fits
