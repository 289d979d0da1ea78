"""The keys and the tags of calls are read off the turns of templates that no format was written for."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import EMBEDDED, ChatRenderer, create_renderer, load_tokenizer
from renderers.cli.models import describe_grammar
from renderers.core.completions import RecoveryKind, ToolCallDelta
from renderers.parsing.evidence import RoundTrip
from renderers.parsing.grammar import Grammar
from renderers.parsing.response_template import read_response_template, write_response_template
from renderers.parsing.tool_formats.base import CallKeys
from renderers.parsing.tool_formats.glm import PairTags
from renderers.parsing.tool_formats.tags import Tags

START = "{% for m in messages %}<|turn|>{{ m.role }}\n{{ m.content }}{% if m.tool_calls %}"
END = "{% endif %}<|end|>\n{% endfor %}{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
ALL, EACH = (
    "{% for c in m.tool_calls %}CALL{% endfor %}",
    "{% for k, v in c.function.arguments.items() %}ITEM{% endfor %}",
)
NAME, ARGUMENTS, VALUE = "{{ c.function.name }}", "c.function.arguments", "{{ v if v is string else v | tojson }}"


def renderer_of(calls: str) -> ChatRenderer:
    """Return a renderer with a made-up template that writes calls in some way."""
    return create_renderer(load_tokenizer(EMBEDDED), chat_template=START + calls + END, on_loss="ignore")


def objects(name: str, arguments: str) -> str:
    """Return the template text for the JSON object of a call."""
    return f"{{{{ {{'{name}': c.function.name, '{arguments}': {ARGUMENTS}}} | tojson }}}}"


def each(call: str, item: str = "") -> str:
    """Return the template text for all calls, and for their parameters in the place of `ITEMS`."""
    return ALL.replace("CALL", call.replace("ITEMS", EACH.replace("ITEM", item)))


LIST = "<calls>[" + each(objects("tool", "input") + "{{ ', ' if not loop.last }}") + "]</calls>"
INVOKE = each(f'<invoke name="{NAME}">\nITEMS</invoke>\n', f'<parameter name="{{{{ k }}}}">{VALUE}</parameter>\n')
KEYS: dict[str, tuple[str, str, tuple[str, str] | None, CallKeys]] = {
    "object": (
        each(f"<tool_call>{objects('tool_name', 'parameters')}</tool_call>"),
        *("hermes", ("<tool_call>", "</tool_call>"), CallKeys("tool_name", "parameters")),
    ),
    "other words": (
        each(f"<call>\n{objects('function', 'args')}\n</call>\n"),
        *("hermes", ("<call>", "</call>"), CallKeys("function", "args")),
    ),
    "whole calls": (
        each("<call>{{ c | tojson }}</call>"),
        *("hermes", ("<call>", "</call>"), CallKeys("name", "arguments", "function")),
    ),
    "list": (LIST, "jamba", ("<calls>", "</calls>"), CallKeys("tool", "input")),
    "bare list": (LIST[7:-8], "xlam", None, CallKeys("tool", "input")),
    "bare list with one other key": (
        "[" + each(objects("name", "parameters") + "{{ ', ' if not loop.last }}") + "]",
        *("xlam", None, CallKeys("name", "parameters")),
    ),
    "names in a key of ids": (
        each(f"<call>{objects('id', 'args')}</call>"),
        *("hermes", ("<call>", "</call>"), CallKeys("id", "args")),
    ),
    "arguments in a key of ids": (
        each(f"<call>{objects('type', 'tool_call_id')}</call>"),
        *("hermes", ("<call>", "</call>"), CallKeys("type", "tool_call_id")),
    ),
}
TOOLS = [{"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}]
TAGS: dict[str, tuple[str, Grammar]] = {
    "names in attributes": (
        f"<function_calls>\n{INVOKE}</function_calls>",
        Grammar(
            tools="minimax",
            section=("<function_calls>", "</function_calls>"),
            call=('<invoke name="', "</invoke>"),
            tags=Tags("", '<parameter name="', '">', "</parameter>", name_end='">'),
        ),
    ),
    "no section": (
        each(f"<use tool='{NAME}'>ITEMS</use>", f"<arg key='{{{{ k }}}}'>{VALUE}</arg>"),
        Grammar(
            tools="minimax",
            call=("<use tool='", "</use>"),
            tags=Tags("", "<arg key='", "'>", "</arg>", lines=False, name_end="'>"),
        ),
    ),
    "two levels": (
        each(f"<|call|>\n<fn={NAME}>\nITEMS</fn>\n<|/call|>\n", f'<p name="{{{{ k }}}}">\n{VALUE}\n</p>\n'),
        Grammar(
            tools="qwen_xml",
            call=("<|call|>", "<|/call|>"),
            tags=Tags("<fn=", '<p name="', '">', "</p>", "</fn>", padding="\n", name_end=">"),
        ),
    ),
    "pairs": (
        each(f"<tc>{NAME}\nITEMS</tc>", f"<k>{{{{ k }}}}</k><v>{VALUE}</v>\n"),
        Grammar(tools="glm", call=("<tc>", "</tc>"), tags=PairTags("<k>", "</k>", "<v>", "</v>")),
    ),
    "JSON after a name": (
        each(f'<tool name="{NAME}">{{{{ {ARGUMENTS} | tojson }}}}</tool>'),
        Grammar(tools="functionary", call=('<tool name="', "</tool>"), tags=Tags("", "", "", "", name_end='">')),
    ),
}
READ = {"a call", "two calls", "no arguments", "typed arguments", "code in arguments", "strings like numbers"}


def assert_read(renderer: ChatRenderer) -> None:
    """Check that the template's calls are read, and that nothing in them is a difference from the format."""
    outcomes = {name: item.outcome for name, item in renderer.resolution.evidence.items()}
    assert {name for name in READ if outcomes[name] is not RoundTrip.EXACT} == set()
    call = {"id": "call00000", "type": "function", "function": {"name": "look", "arguments": {"at": "é"}}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "", "tool_calls": [call, call]},
    ]
    prompt = renderer.render_ids(messages[:1], add_generation_prompt=True)
    ids = renderer.render_ids(messages)[len(prompt) :]
    parsed = renderer.parse_response(ids, prompt_ids=prompt)
    assert [(call.name, call.arguments, call.recoveries) for call in parsed.tool_calls] == [
        ("look", {"at": "é"}, ())
    ] * 2
    parser = renderer.parser(prompt_ids=prompt)
    for token in ids:
        parser.feed([token])
    assert parser.close() == parsed


@pytest.mark.parametrize("name", KEYS)
def test_keys_are_derived(name: str) -> None:
    template, tools, call, keys = KEYS[name]
    renderer = renderer_of(template)
    grammar = renderer.resolution.grammar
    assert (grammar.tools, grammar.call, grammar.keys, grammar.tags) == (tools, call, keys, None)
    assert f"with the keys {keys.name}, {keys.arguments}" in describe_grammar(grammar)
    assert_read(renderer)


@pytest.mark.parametrize("name", TAGS)
def test_tags_are_derived(name: str) -> None:
    template, expected = TAGS[name]
    renderer = renderer_of(template)
    grammar = renderer.resolution.grammar
    assert (grammar.tools, grammar.section, grammar.call) == (expected.tools, expected.section, expected.call)
    assert (grammar.keys, grammar.tags) == (None, expected.tags)
    assert "with the tags" in describe_grammar(grammar)
    assert_read(renderer)


def test_the_keys_of_a_format_are_not_repeated() -> None:
    assert renderer_of(each(f"<call>{objects('name', 'arguments')}</call>")).resolution.grammar.keys is None


@pytest.mark.parametrize("fence", ["", "```json\n", "```json\n\n"])
def test_a_bare_list_with_the_usual_keys_is_not_a_call_in_content(fence: str) -> None:
    calls = "[" + each(objects("name", "arguments") + "{{ ', ' if not loop.last }}") + "]"
    renderer = renderer_of(fence + calls + fence[:3])
    grammar = renderer.resolution.grammar
    assert (grammar.tools, grammar.call, grammar.keys) == ("xlam", None, None)
    text = f'{fence}[{{"name": "look", "arguments": {{"at": "é"}}}}]{fence[:3]}<|end|>'
    ids = renderer.tokenizer.encode(text, add_special_tokens=False)
    for tools in (None, TOOLS):
        parsed = renderer.parse_response(ids, tools=tools)
        assert [(call.name, call.arguments) for call in parsed.tool_calls] == [("look", {"at": "é"})]
        assert parsed.tool_calls[0].recoveries == ((RecoveryKind.CODE_FENCE,) if fence else ())
        assert parsed.content == ""


def test_a_bare_object_is_not_a_list() -> None:
    calls = each(objects("name", "parameters") + "{{ '; ' if not loop.last }}")
    grammar = renderer_of(calls).resolution.grammar
    assert (grammar.tools, grammar.keys) == ("llama", None)


@pytest.mark.parametrize(("name", "arguments"), [("name", "arguments"), ("tool", "input"), ("größe", "ärger")])
def test_calls_within_content_have_the_keys_of_the_template(name: str, arguments: str) -> None:
    renderer = renderer_of("[" + each(objects(name, arguments) + "{{ ', ' if not loop.last }}") + "]")
    for keys in {(name, arguments), ("name", "arguments")}:
        written = f'{{"{keys[0]}": "look", "{keys[1]}": {{"at": "é"}}}}'
        for end in ("", "<|end|>"):
            ids = renderer.tokenizer.encode(f"Look.\n[{written}, {written}] é{end}", add_special_tokens=False)
            parsed = renderer.parse_response(ids, tools=TOOLS)
            assert [(call.name, call.arguments) for call in parsed.tool_calls] == [("look", {"at": "é"})] * 2
            recoveries = {*parsed.tool_calls[0].recoveries, *parsed.tool_calls[1].recoveries}
            others = set() if keys == (name, arguments) else {RecoveryKind.OTHER_SYNTAX}
            assert recoveries == {RecoveryKind.CALL_IN_CONTENT, *others}
            assert parsed.content == "Look.\n é"
            parser = renderer.parser(tools=TOOLS)
            for token in ids:
                parser.feed([token])
            assert parser.close() == parsed


@pytest.mark.parametrize("name", ["names in a key of ids", "arguments in a key of ids"])
def test_a_key_of_the_name_or_the_arguments_is_not_that_of_an_id(name: str) -> None:
    template, *_, keys = KEYS[name]
    renderer = renderer_of(template)
    for arguments in ('{"at": 1}', '"{}"'):
        text = f'<call>{{"{keys.name}": "look", "{keys.arguments}": {arguments}}}</call><|end|>'
        parsed = renderer.parse_response(renderer.tokenizer.encode(text, add_special_tokens=False))
        assert [(call.id, call.name) for call in parsed.tool_calls] == [(None, "look")]


def test_an_id_beside_a_name_in_another_key_of_ids_is_read() -> None:
    renderer = renderer_of(KEYS["names in a key of ids"][0])
    text = '<call>{"tool_call_id": "c1", "id": "look", "args": {}}</call>'
    parsed = renderer.parse_response(renderer.tokenizer.encode(text, add_special_tokens=False))
    assert [(call.id, call.name) for call in parsed.tool_calls] == [("c1", "look")]
    inner = objects("id", "args")[3:-12]
    renderer = renderer_of(each(f"<call>{{{{ {{'id': c.id, 'call': {inner}}} | tojson }}}}</call>"))
    assert renderer.resolution.grammar.keys == CallKeys("id", "args", "call")
    text = '<call>{"id": "c1", "call": {"id": "look", "args": {}}}</call>'
    parsed = renderer.parse_response(renderer.tokenizer.encode(text, add_special_tokens=False))
    assert [(call.id, call.name) for call in parsed.tool_calls] == [("c1", "look")]


@pytest.mark.parametrize("name", ["object", "whole calls", "names in a key of ids", "arguments in a key of ids"])
def test_a_stream_has_names_and_arguments_in_derived_keys(name: str) -> None:
    renderer = renderer_of(KEYS[name][0])
    call = {"id": "call00000", "type": "function", "function": {"name": "look", "arguments": {"at": "x"}}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    prompt = renderer.render_ids(messages[:1], add_generation_prompt=True)
    parser = renderer.parser(prompt_ids=prompt)
    events = [event for token in renderer.render_ids(messages)[len(prompt) :] for event in parser.feed([token])]
    deltas = [event for event in events if isinstance(event, ToolCallDelta)]
    assert [event.name for event in deltas if event.name] == ["look"]
    assert "".join(event.arguments for event in deltas) == '{"at": "x"}'


def test_a_bare_call_within_an_object_does_not_need_tools() -> None:
    renderer = renderer_of(each("{{ c | tojson }}{{ '\n' if not loop.last }}"))
    grammar = renderer.resolution.grammar
    assert (grammar.tools, grammar.keys) == ("llama", CallKeys("name", "arguments", "function"))
    text = '{"id": "c1", "type": "function", "function": {"name": "look", "arguments": {"at": "é"}}}'
    for tools in (None, TOOLS):
        parsed = renderer.parse_response(renderer.tokenizer.encode(text, add_special_tokens=False), tools=tools)
        assert [(call.id, call.name, call.recoveries) for call in parsed.tool_calls] == [("c1", "look", ())]


def test_calls_with_the_usual_keys_list_a_difference() -> None:
    renderer = renderer_of(KEYS["other words"][0])
    ids = renderer.tokenizer.encode('<call>{"name": "look", "arguments": {}}</call>', add_special_tokens=False)
    (call,) = renderer.parse_response(ids).tool_calls
    assert (call.name, call.arguments, call.recoveries) == ("look", {}, (RecoveryKind.OTHER_SYNTAX,))


@pytest.mark.parametrize("call", ["<call>{{ c.function.name }}</call>", "{{ c.function.name }}: {{ c.id }}"])
def test_calls_without_arguments_are_not_read(call: str) -> None:
    assert renderer_of(each(call)).resolution.grammar.tools is None


@pytest.mark.parametrize("name", ["object", "other words", "whole calls", "list"])
def test_a_response_template_has_the_keys(name: str) -> None:
    grammar = renderer_of(KEYS[name][0]).resolution.grammar
    read = read_response_template(write_response_template(grammar))
    assert (read.tools, read.call, read.keys) == (grammar.tools, grammar.call, grammar.keys)


def test_a_response_template_has_no_other_tags() -> None:
    with pytest.raises(ValueError, match="other tags"):
        write_response_template(renderer_of(TAGS["pairs"][0]).resolution.grammar)
