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


def _kimi(calls: Sequence[Call]) -> str:
    texts = []
    for number, call in enumerate(calls):
        header = call.id or f"functions.{call.name}:{number}"
        body = f"<|tool_call_argument_begin|>{_dump(call.arguments)}"
        texts.append(f"<|tool_call_begin|>{header}{body}<|tool_call_end|>")
    return f"<|tool_calls_section_begin|>{''.join(texts)}<|tool_calls_section_end|>"


def _deepseek_v3(calls: Sequence[Call]) -> str:
    bodies = [f"function<｜tool▁sep｜>{call.name}\n```json\n{_dump(call.arguments)}\n```" for call in calls]
    return _deepseek_section("\n", bodies)


def _deepseek_v31(calls: Sequence[Call]) -> str:
    return _deepseek_section("", [f"{call.name}<｜tool▁sep｜>{_dump(call.arguments)}" for call in calls])


def _deepseek_section(separator: str, bodies: Sequence[str]) -> str:
    texts = [f"<｜tool▁call▁begin｜>{body}<｜tool▁call▁end｜>" for body in bodies]
    return f"<｜tool▁calls▁begin｜>{separator.join(texts)}<｜tool▁calls▁end｜>"


def _minimax(calls: Sequence[Call]) -> str:
    texts = []
    for call in calls:
        parameters = [f'<parameter name="{key}">{text}</parameter>\n' for key, text in _unquoted(call)]
        texts.append(f'<invoke name="{call.name}">\n{"".join(parameters)}</invoke>')
    return "\n".join(["<minimax:tool_call>", *texts, "</minimax:tool_call>"])


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
    "kimi": _kimi,
    "deepseek_v3": _deepseek_v3,
    "deepseek_v31": _deepseek_v31,
    "minimax": _minimax,
    "jamba": _list_of("<tool_calls>", "</tool_calls>"),
    "mistral_list": _list_of("[TOOL_CALLS]", ""),
    "mistral": _mistral,
    "command": _command,
    "command_r": _command_r,
    "granite": _list_of("<|tool_call|>", ""),
    "phi4_mini": _list_of("functools", ""),
    "llama": _llama,
    "harmony": _harmony,
}
assert _FORMATTERS.keys() == TOOL_FORMATS.keys()
