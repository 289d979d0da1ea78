"""Tools are declared in TypeScript as by the tokenizer code of Kimi K2.5."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from renderers.core.tool_list import ToolList
from renderers.errors import MessageError
from renderers.programs.template import TemplateProgram
from renderers.programs.typescript_tools import declare_tools, sort_tools
from renderers.templating import ChatTemplate
from tests.stress_declarations import RECORDED
from tests.support.parity import NOW
from tests.support.tool_schemas import random_tools

Data = dict[str, Any]

ASK = [{"role": "user", "content": "Hi"}]
TEMPLATE = ChatTemplate(
    "{% if tools_ts_str %}{{ tools_ts_str }}{% else %}{{ tools | tojson }}{% endif %}|{{ messages[0].content }}"
)
PROGRAM = TemplateProgram(TEMPLATE, ())
CASES = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]


def tool(schema: Data, **function: Any) -> Data:
    parameters = {"type": "object", "properties": {"x": schema}}
    return {"type": "function", "function": {"name": "f", "parameters": parameters, **function}}


def run(tools: list[Data] | None, **arguments: Any) -> Any:
    return PROGRAM.run(ASK, tools=tools, arguments=arguments, now=NOW)


@pytest.mark.parametrize(("tools", "declarations"), CASES, ids=map(str, range(len(CASES))))
def test_declarations_equal_those_of_the_reference(tools: list[Data], declarations: str) -> None:
    assert declare_tools(tools).declarations == declarations


def test_the_recorded_tools_include_some_without_declarations() -> None:
    assert 0 < sum(not declarations for _, declarations in CASES) < len(CASES) / 2


def test_each_declaration_belongs_to_its_tool() -> None:
    tools = [tool({"type": "string", "description": "First."}), tool({"type": "integer", "description": "Second."})]
    trace = run(tools).trace
    texts = {span.path: trace.text[span.start : span.end] for span in trace.spans if span.path[:1] == ("tools",)}
    assert texts.keys() == {("tools", 0), ("tools", 1)}
    assert "First." in texts["tools", 0]
    assert "Second." in texts["tools", 1]
    assert all(text.startswith("type f = (_: {") and text.endswith("}) => any;") for text in texts.values())


def test_tools_without_declarations_are_json_with_sorted_keys() -> None:
    tools = [tool({"oneOf": [{"type": "string"}]}, description="D")]
    text = run(tools).text
    assert text == json.dumps(sort_tools(tools)) + "|Hi"
    assert text.index("description") < text.index("name")


def test_a_caller_can_pass_declarations_or_choose_json() -> None:
    tools = [tool({"type": "string"})]
    assert run(tools, tools_ts_str="declared").text == "declared|Hi"
    assert run(tools, tools_ts_str="").text == json.dumps(tools) + "|Hi"


def test_there_are_no_declarations_without_tools() -> None:
    assert run(None).text == "null|Hi"
    assert run([]).text == "[]|Hi"


def test_a_verified_run_has_the_same_text() -> None:
    verified = TemplateProgram(ChatTemplate(TEMPLATE.source, verify=True), ())
    tools = [tool({"type": "string"})]
    assert verified.run(ASK, tools=tools, arguments={}, now=NOW).text == run(tools).text


def test_tools_that_are_not_functions_are_left_out() -> None:
    builtin = {"type": "builtin_function", "name": "web"}
    assert declare_tools([builtin]).declarations == ""
    assert "web" not in declare_tools([builtin, tool({"type": "string"})]).declarations


@pytest.mark.parametrize(
    "schema",
    [
        {"description": "without a type"},
        {"const": 1},
        {"$ref": "#/definitions/Node"},
        {"$ref": "#/$defs/Missing"},
        {"$ref": 5},
        {"type": ["string", "any"]},
        {"type": "array", "items": [{"type": "string"}]},
        {"type": "object", "properties": []},
        {"type": "object", "required": 5},
        {"type": "object", "additionalProperties": "x"},
        {"type": "object", "$defs": {"Node": True}},
        {"anyOf": None},
        {"enum": "ab"},
        {"type": "string", "description": 5},
        None,
        "string",
    ],
    ids=str,
)
def test_unsupported_schemas_have_no_declarations(schema: Any) -> None:
    assert declare_tools([tool(schema)]).declarations == ""


@pytest.mark.parametrize("parameters", [True, "x", 5], ids=str)
def test_parameters_that_are_no_object_have_no_declarations(parameters: Any) -> None:
    assert declare_tools([{"name": "f", "parameters": parameters}]).declarations == ""


def test_a_deep_schema_is_an_error() -> None:
    schema: Data = {"type": "string"}
    for _ in range(600):
        schema = {"type": "array", "items": schema}
    with pytest.raises(MessageError, match="tools is nested too deeply"):
        declare_tools([tool(schema)])


def test_the_input_is_unchanged_and_shared_lists_are_declared_once() -> None:
    rng = random.Random(3)
    for _ in range(50):
        tools = random_tools(rng)
        before = json.dumps(tools)
        shared = ToolList(tools)
        assert declare_tools(shared) is declare_tools(shared)
        assert declare_tools(shared) == declare_tools(tools)
        assert json.dumps(tools) == before
