"""Format tool calls as models write them: one function per tool format, the inverse of its `read`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from renderers.parsing.tool_formats import TOOL_FORMATS


class Call(NamedTuple):
    """A tool call to format."""

    name: str
    arguments: Mapping[str, Any]
    id: str = ""


def format_calls(key: str, calls: Sequence[Call]) -> str:
    """Format calls in a tool format.

    >>> format_calls("llama", [Call("get", {"x": 1})])
    '{"name": "get", "parameters": {"x": 1}}'
    """
    return _FORMATTERS[key](calls)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _unquoted(call: Call) -> list[tuple[str, str]]:
    return [(key, value if isinstance(value, str) else _dump(value)) for key, value in call.arguments.items()]


def _hermes(calls: Sequence[Call]) -> str:
    objects = (_dump({"name": call.name, "arguments": dict(call.arguments)}) for call in calls)
    return "\n".join(f"<tool_call>\n{text}\n</tool_call>" for text in objects)


def _xml(calls: Sequence[Call], markers: tuple[str, str], padding: str) -> str:
    texts = []
    for call in calls:
        parameters = [f"<parameter={key}>{padding}{text}{padding}</parameter>\n" for key, text in _unquoted(call)]
        texts.append(f"{markers[0]}\n<function={call.name}>\n{''.join(parameters)}</function>\n{markers[1]}")
    return "\n".join(texts)


def _glm(calls: Sequence[Call]) -> str:
    texts = []
    for call in calls:
        pairs = [f"<arg_key>{key}</arg_key>\n<arg_value>{text}</arg_value>\n" for key, text in _unquoted(call)]
        texts.append(f"<tool_call>{call.name}\n{''.join(pairs)}</tool_call>")
    return "\n".join(texts)


def _hy3(calls: Sequence[Call], suffix: str) -> str:
    texts = []
    for call in calls:
        pairs = [
            f"<arg_key{suffix}>{key}</arg_key{suffix}>\n<arg_value{suffix}>{text}</arg_value{suffix}>\n"
            for key, text in _unquoted(call)
        ]
        texts.append(f"<tool_call{suffix}>{call.name}<tool_sep{suffix}>\n{''.join(pairs)}</tool_call{suffix}>\n")
    return f"<tool_calls{suffix}>\n{''.join(texts)}</tool_calls{suffix}>"


def _kimi(calls: Sequence[Call]) -> str:
    texts = []
    for number, call in enumerate(calls):
        header = call.id or f"functions.{call.name}:{number}"
        body = f"<|tool_call_argument_begin|>{_dump(call.arguments)}"
        texts.append(f"<|tool_call_begin|>{header}{body}<|tool_call_end|>")
    return f"<|tool_calls_section_begin|>{''.join(texts)}<|tool_calls_section_end|>"


def _kimi_k3(calls: Sequence[Call]) -> str:
    kinds = {bool: "boolean", type(None): "null", int: "number", float: "number", str: "string", dict: "object"}
    texts = []
    for number, call in enumerate(calls, 1):
        pairs = zip(_unquoted(call), call.arguments.values(), strict=True)
        arguments = [
            f'<|open|>argument key="{_attribute(key)}" type="{kinds.get(type(value), "array")}"<|sep|>{text}'
            "<|close|>argument<|sep|>"
            for (key, text), value in pairs
        ]
        opener = f'<|open|>call tool="{_attribute(call.name)}" index="{number}"<|sep|>'
        texts.append(f"{opener}{''.join(arguments)}<|close|>call<|sep|>")
    return f"<|open|>tools<|sep|>{''.join(texts)}<|close|>tools<|sep|>"


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")


def _inkling(calls: Sequence[Call]) -> str:
    bodies = (_dump({"name": call.name, "args": dict(call.arguments)}) for call in calls)
    names = (call.name for call in calls)
    pairs = zip(names, bodies, strict=True)
    return "<|message_model|>".join(f"{name}<|content_invoke_tool_json|>{body}<|end_message|>" for name, body in pairs)


def _atem(calls: Sequence[Call]) -> str:
    texts = []
    for call in calls:
        parameters = [f'<atem:parameter name="{key}">{text}</atem:parameter>\n' for key, text in _unquoted(call)]
        block = f'<atem:function_calls>\n<atem:invoke name="{call.name}">\n{"".join(parameters)}</atem:invoke>\n'
        texts.append(f" to={call.name}<|message|>{block}</atem:function_calls><|eom|>")
    return "<|start|>assistant".join(texts)


def _solar(calls: Sequence[Call]) -> str:
    heads = [f"<|tool_call:begin|>{call.id or ''}<|tool_call:name|>{call.name}<|tool_call:args|>" for call in calls]
    bodies = [f"{_dump(dict(call.arguments))}<|tool_call:end|>" for call in calls]
    return f"<|tool_calls|>{''.join(map(str.__add__, heads, bodies))}<|calls|>"


def _deepseek_v3(calls: Sequence[Call]) -> str:
    bodies = [f"function<｜tool▁sep｜>{call.name}\n```json\n{_dump(call.arguments)}\n```" for call in calls]
    return _deepseek_section("\n", bodies)


def _deepseek_v31(calls: Sequence[Call]) -> str:
    return _deepseek_section("", [f"{call.name}<｜tool▁sep｜>{_dump(call.arguments)}" for call in calls])


def _deepseek_section(separator: str, bodies: Sequence[str]) -> str:
    texts = [f"<｜tool▁call▁begin｜>{body}<｜tool▁call▁end｜>" for body in bodies]
    return f"<｜tool▁calls▁begin｜>{separator.join(texts)}<｜tool▁calls▁end｜>"


def _dsml(calls: Sequence[Call], section: str, space: str = "") -> str:
    tag, texts = f"｜DSML｜{space}", []
    for call in calls:
        parameters = [
            f'<{tag}parameter name="{key}" string="{json.dumps(isinstance(call.arguments[key], str))}">{text}'
            f"</{tag}parameter>"
            for key, text in _unquoted(call)
        ]
        lines = "\n".join(parameters)
        texts.append(f'<{tag}invoke name="{call.name}">\n{lines}\n</{tag}invoke>')
    return "\n".join([f"<｜DSML｜{section}>", *texts, f"</｜DSML｜{section}>"])


def _minimax(calls: Sequence[Call]) -> str:
    texts = []
    for call in calls:
        parameters = [f'<parameter name="{key}">{text}</parameter>\n' for key, text in _unquoted(call)]
        texts.append(f'<invoke name="{call.name}">\n{"".join(parameters)}</invoke>')
    return "\n".join(["<minimax:tool_call>", *texts, "</minimax:tool_call>"])


def _elements(value: Any) -> str:
    """Format a value as the elements of MiniMax M3."""
    if isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, list):
        members = [("item", item) for item in value]
    else:
        return value if isinstance(value, str) else _dump(value)
    namespace = "]<]minimax[>["
    return "".join(f"{namespace}<{key}>{_elements(item)}{namespace}</{key}>" for key, item in members)


def _minimax_m3(calls: Sequence[Call]) -> str:
    namespace = "]<]minimax[>["
    texts = [
        f'{namespace}<invoke name="{call.name}">{_elements(dict(call.arguments))}{namespace}</invoke>\n'
        for call in calls
    ]
    return f"{namespace}<tool_call>\n{''.join(texts)}{namespace}</tool_call>"


def _step3(calls: Sequence[Call]) -> str:
    texts = []
    for call in calls:
        values = [f'<steptml:parameter name="{key}">{text}</steptml:parameter>' for key, text in _unquoted(call)]
        body = f'<steptml:invoke name="{call.name}">{"".join(values)}</steptml:invoke>'
        texts.append(f"<｜tool_call_begin｜>function<｜tool_sep｜>{body}<｜tool_call_end｜>")
    return f"<｜tool_calls_begin｜>{''.join(texts)}<｜tool_calls_end｜>"


def _minicpm(calls: Sequence[Call]) -> str:
    texts = []
    for call in calls:
        values = []
        for key, text in _unquoted(call):
            quoted = isinstance(call.arguments[key], str) and any(character in text for character in "<&\n")
            values.append(f'<param name="{key}">{f"<![CDATA[{text}]]>" if quoted else text}</param>')
        texts.append(f'<function name="{call.name}">{"".join(values)}</function>')
    return "\n".join(texts)


def _dots(calls: Sequence[Call]) -> str:
    texts = []
    for call in calls:
        values = [f'<parameter name="{key}">{text}</parameter>' for key, text in _unquoted(call)]
        texts.append(f'<dots_function_call><invoke name="{call.name}">{"".join(values)}</invoke></dots_function_call>')
    return "".join(texts)


def _braces(value: Any, quote: str) -> str:
    """Format a value as Gemma does. Keys that are not words have quotes."""
    if isinstance(value, dict):
        keys = (key if key.isidentifier() else f"{quote}{key}{quote}" for key in value)
        items = zip(keys, value.values(), strict=True)
        return "{" + ",".join(f"{key}:{_braces(item, quote)}" for key, item in items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_braces(item, quote) for item in value) + "]"
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    return "None" if value is None else _dump(value)


def _gemma(calls: Sequence[Call], markers: tuple[str, str], quote: str) -> str:
    bodies = (f"call:{call.name}{_braces(dict(call.arguments), quote)}" for call in calls)
    return "".join(f"{markers[0]}{body}{markers[1]}" for body in bodies)


def _llama(calls: Sequence[Call]) -> str:
    return "; ".join(_dump({"name": call.name, "parameters": dict(call.arguments)}) for call in calls)


def _harmony(calls: Sequence[Call]) -> str:
    texts = (
        f"<|channel|>commentary to=functions.{call.name} <|constrain|>json<|message|>{_dump(call.arguments)}"
        for call in calls
    )
    return "<|call|><|start|>assistant".join(texts) + "<|call|>"


def _list_of(opener: str, closer: str) -> Callable[[Sequence[Call]], str]:
    """Return a function that formats calls as a JSON list between markers."""

    def format_list(calls: Sequence[Call]) -> str:
        objects = [
            {"name": call.name, "arguments": dict(call.arguments), **({"id": call.id} if call.id else {})}
            for call in calls
        ]
        return opener + _dump(objects) + closer

    return format_list


def _pythonic(calls: Sequence[Call]) -> list[str]:
    return [f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})" for call in calls]


def _apertus(calls: Sequence[Call]) -> str:
    return f"<|tools_prefix|>{_dump([{call.name: dict(call.arguments)} for call in calls])}<|tools_suffix|>"


def _gigachat(calls: Sequence[Call]) -> str:
    objects = (_dump({"name": call.name, "arguments": dict(call.arguments)}) for call in calls)
    return "".join(f"<|function_call|>{text}" for text in objects)


def _mistral(calls: Sequence[Call]) -> str:
    return "".join(f"[TOOL_CALLS]{call.name}[ARGS]{_dump(dict(call.arguments))}" for call in calls)


def _command(calls: Sequence[Call]) -> str:
    objects = [
        _dump({"tool_call_id": call.id or str(number), "tool_name": call.name, "parameters": dict(call.arguments)})
        for number, call in enumerate(calls)
    ]
    return "<|START_ACTION|>[\n    " + ",\n    ".join(objects) + "\n]<|END_ACTION|>"


def _command_r(calls: Sequence[Call]) -> str:
    objects = [_dump({"tool_name": call.name, "parameters": dict(call.arguments)}) for call in calls]
    return "Action:\n```json\n[\n    " + ",\n    ".join(objects) + "\n]```"


_FORMATTERS: dict[str, Callable[[Sequence[Call]], str]] = {
    "hermes": _hermes,
    "qwen_xml": lambda calls: _xml(calls, ("<tool_call>", "</tool_call>"), "\n"),
    "seed_xml": lambda calls: _xml(calls, ("<seed:tool_call>", "</seed:tool_call>"), ""),
    "glm": _glm,
    "hy3": lambda calls: _hy3(calls, ":opensource"),
    "hy3_plain": lambda calls: _hy3(calls, ""),
    "kimi": _kimi,
    "kimi_k3": _kimi_k3,
    "inkling": _inkling,
    "atem": _atem,
    "solar": _solar,
    "deepseek_v3": _deepseek_v3,
    "deepseek_v31": _deepseek_v31,
    "deepseek_v32": lambda calls: _dsml(calls, "function_calls"),
    "deepseek_v4": lambda calls: _dsml(calls, "tool_calls"),
    "deepseek_v41": lambda calls: _dsml(calls, " calls", " "),
    "minimax": _minimax,
    "jamba": _list_of("<tool_calls>", "</tool_calls>"),
    "mistral_list": _list_of("[TOOL_CALLS]", ""),
    "mistral": _mistral,
    "command": _command,
    "command_r": _command_r,
    "granite": _list_of("<|tool_call|>", ""),
    "phi4_mini": _list_of("functools", ""),
    "minimax_m3": _minimax_m3,
    "step3": _step3,
    "minicpm": _minicpm,
    "dots": _dots,
    "gemma": lambda calls: _gemma(calls, ("<|tool_call>", "<tool_call|>"), '<|"|>'),
    "functiongemma": lambda calls: _gemma(calls, ("<start_function_call>", "<end_function_call>"), "<escape>"),
    "apertus": _apertus,
    "gigachat": _gigachat,
    "functionary": lambda calls: "".join(f"<function={call.name}>{_dump(call.arguments)}</function>" for call in calls),
    "lfm2": lambda calls: f"<|tool_call_start|>[{', '.join(_pythonic(calls))}]<|tool_call_end|>",
    "olmo": lambda calls: "<function_calls>" + "\n".join(_pythonic(calls)) + "</function_calls>",
    "pythonic": lambda calls: f"[{', '.join(_pythonic(calls))}]",
    "xlam": _list_of("", ""),
    "llama": _llama,
    "harmony": _harmony,
}
assert _FORMATTERS.keys() == TOOL_FORMATS.keys()
