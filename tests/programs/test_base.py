"""A program that is not a chat template renders, parses and bridges through the `Program` protocol alone."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from renderers import (
    EXAMPLE_MODEL,
    Bridge,
    BridgeRefusal,
    Channel,
    ChatRenderer,
    GptOssRendererConfig,
    create_renderer,
    load_tokenizer,
    settings,
)
from renderers.core.literals import PLAIN_USES, TemplateLiterals, TextUses
from renderers.core.spans import Path, Span, Trace
from renderers.errors import MessageError, TemplateRefusalError
from renderers.programs import registry
from renderers.programs.base import Program, ProgramRun
from renderers.rendering import pipeline
from renderers.templating import ChatTemplate
from tests.support.settings import with_settings

ASK = {"role": "user", "content": "Hi"}
BYE = {"role": "user", "content": "Bye"}
TOOL = {"type": "function", "function": {"name": "get", "description": "", "parameters": {"type": "object"}}}
CALL = {"id": "call00001", "type": "function", "function": {"name": "get", "arguments": {"x": 1}}}

LITERALS = TemplateLiterals(frozenset(), frozenset({"system", "user", "assistant", "tool"}))

Piece = tuple[str, int, Path]
"""A text with the index of its message and the path of its field."""


@dataclass(frozen=True)
class PlainProgram:
    """A chat format in Python. It reads the role, the content and the tool calls of a message."""

    digest: str = "plain"
    literals: TemplateLiterals = LITERALS
    text_uses: TextUses = PLAIN_USES
    readable_fields: frozenset[str] | None = frozenset({"role", "content", "tool_calls"})

    def run(
        self,
        messages: list[dict[str, Any]],
        *,
        tools: list[dict[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        arguments: Mapping[str, Any],  # noqa: ARG002 - a part of the protocol
        now: datetime.datetime,  # noqa: ARG002 - a part of the protocol
    ) -> ProgramRun:
        if continue_final_message:
            raise MessageError("cannot be continued", message=len(messages) - 1)
        pieces: list[Piece] = []
        if tools:
            pieces.append(("<|turn|>system\n", -1, ()))
            pieces += [(json.dumps(tool), -1, ("tools", index)) for index, tool in enumerate(tools)]
            pieces.append(("<|end|>\n", -1, ()))
        for index, message in enumerate(messages):
            pieces += _pieces_of(index, message)
        if add_generation_prompt:
            pieces.append(("<|turn|>assistant\n", -1, ()))
        return ProgramRun("".join(text for text, _, _ in pieces), messages, lambda: _trace_of(pieces))

    def adaptations(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:  # noqa: ARG002 - a part of the protocol
        return ()

    def mentions(self, name: str) -> bool:
        return name in ("tools", "role", "content", "tool_calls")

    def may_write(self, text: str) -> bool:
        return text in ("<|turn|>", "<|end|>", "<|call|>", "<|/call|>")

    def probe_arguments(self, arguments: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        return tuple((name, value) for name, value in arguments.items() if self.mentions(name))

    def probe_time(self, arguments: Mapping[str, Any], now: datetime.datetime) -> datetime.datetime:  # noqa: ARG002
        return now


def _pieces_of(index: int, message: dict[str, Any]) -> Iterator[Piece]:
    if message["role"] not in ("system", "user", "assistant", "tool"):
        raise TemplateRefusalError(f"there is no role {message['role']}", message=index)
    if not isinstance(message.get("content") or "", str):
        raise MessageError("must be text", message=index, path=("content",))
    yield "<|turn|>", index, ()
    yield message["role"], index, ("role",)
    yield "\n", index, ()
    yield message.get("content") or "", index, ("content",)
    for number, call in enumerate(message.get("tool_calls") or []):
        path: Path = ("tool_calls", number, "function")
        yield '<|call|>{"name": "', index, ()
        yield call["function"]["name"], index, (*path, "name")
        yield '", "arguments": ', index, ()
        yield json.dumps(call["function"]["arguments"]), index, (*path, "arguments")
        yield "}<|/call|>", index, ()
    yield "<|end|>\n", index, ()


def _trace_of(pieces: list[Piece]) -> Trace:
    spans: list[Span] = []
    for text, message, path in pieces:
        start = spans[-1].end if spans else 0
        if spans and spans[-1][2:] == (message, path):
            spans[-1] = spans[-1]._replace(end=start + len(text))
        else:
            spans.append(Span(start, start + len(text), message, path))
    return Trace("".join(text for text, _, _ in pieces), tuple(spans))


def build_plain_program(_: registry.ProgramRequest) -> Program:
    return PlainProgram()


@pytest.fixture
def renderer(monkeypatch: pytest.MonkeyPatch) -> ChatRenderer:
    """Return a renderer of the embedded model with the plain program. No template may be made or run beside it."""
    programs = {**registry.PROGRAMS, "plain": build_plain_program}
    for module in (registry, pipeline):
        monkeypatch.setattr(module, "PROGRAMS", programs)
    embedded = create_renderer(load_tokenizer(EXAMPLE_MODEL))

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a chat template is used")

    monkeypatch.setattr(ChatTemplate, "__post_init__", refuse)
    monkeypatch.setattr(ChatTemplate, "run", refuse)
    return with_settings(embedded, program="plain")


def test_it_renders_with_attribution(renderer: ChatRenderer) -> None:
    turn = {"role": "assistant", "content": "I look.", "tool_calls": [CALL]}
    rendered = renderer.render([ASK, turn, {"role": "tool", "tool_call_id": "call00001", "content": "7"}], tools=[TOOL])
    decode = renderer.tokenizer.decode
    assert decode(rendered.token_ids) == (
        f"<|turn|>system\n{json.dumps(TOOL)}<|end|>\n<|turn|>user\nHi<|end|>\n<|turn|>assistant\nI look."
        '<|call|>{"name": "get", "arguments": {"x": 1}}<|/call|><|end|>\n<|turn|>tool\n7<|end|>\n'
    )
    sampled = [token for token, sampled in zip(rendered.token_ids, rendered.sampled_mask, strict=True) if sampled]
    assert decode(sampled) == 'I look.<|call|>{"name": "get", "arguments": {"x": 1}}<|/call|><|end|>'
    assert {-1, 0, 1, 2} == set(rendered.message_indices)
    assert {Channel.TOOL_NAME, Channel.TOOL_ARGUMENTS, Channel.TOOL_RESULT, Channel.TOOL_DEFINITION} <= set(
        rendered.channels
    )


def test_its_completions_are_parsed(renderer: ChatRenderer) -> None:
    text = 'I look.<|call|>{"name": "get", "arguments": {"x": 1}}<|/call|><|end|>'
    parsed = renderer.parse_response(renderer.tokenizer.encode(text), tools=[TOOL])
    assert parsed.content == "I look."
    assert [(call.name, call.arguments) for call in parsed.tool_calls] == [("get", {"x": 1})]
    assert renderer.tokenizer.decode(renderer.get_stop_token_ids()) == "<|end|>"


@pytest.mark.parametrize(
    ("completion", "new"),
    [
        ("Hello!<|end|>", BYE),
        ('<|call|>{"name": "get", "arguments": {}}<|/call|><|end|>', {"role": "tool", "content": "7"}),
        ("Hel", BYE),
    ],
)
def test_it_bridges_to_the_next_turn(renderer: ChatRenderer, completion: str, new: dict[str, Any]) -> None:
    prompt = renderer.render_ids([ASK], add_generation_prompt=True)
    sampled = renderer.tokenizer.encode(completion)
    bridge = renderer.bridge(prompt, sampled, [new])
    assert isinstance(bridge, Bridge), bridge
    assert bridge.matches_rerender
    tokens = bridge.tokens.token_ids
    assert tokens[: len(prompt) + len(sampled)] == [*prompt, *sampled]
    closed = completion if completion.endswith("<|end|>") else f"{completion}<|end|>"
    assert renderer.tokenizer.decode(tokens[len(prompt) :]) == (
        f"{closed}\n<|turn|>{new['role']}\n{new['content']}<|end|>\n<|turn|>assistant\n"
    )
    assert renderer.is_prefix_stable


def test_a_message_that_it_rejects_is_refused_with_its_reason(renderer: ChatRenderer) -> None:
    prompt = renderer.render_ids([ASK], add_generation_prompt=True)
    refusal = renderer.bridge(prompt, renderer.tokenizer.encode("Hello!<|end|>"), [{"role": "judge", "content": "No"}])
    assert isinstance(refusal, BridgeRefusal)
    assert refusal.detail == "the template rejects new message 0: there is no role judge. Fix the messages."


def test_it_has_no_template(renderer: ChatRenderer) -> None:
    with pytest.raises(TypeError, match="not a chat template"):
        renderer.template()


def test_a_family_uses_its_program_unless_the_caller_passes_a_template(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = {**registry.PROGRAMS, "harmony": lambda _: PlainProgram()}
    for module in (pipeline, settings):
        monkeypatch.setattr(module, "PROGRAMS", programs)
    tokenizer = load_tokenizer(EXAMPLE_MODEL)
    renderer = create_renderer(tokenizer, GptOssRendererConfig(knowledge_cutoff="2025-01"))
    assert renderer.settings.program == "harmony"
    assert renderer.chat_template_kwargs["knowledge_cutoff"] == "2025-01"
    assert not any("not in this release" in conflict for conflict in renderer.resolution.conflicts)
    template = create_renderer(tokenizer, GptOssRendererConfig(), chat_template=tokenizer.chat_template)
    assert template.settings.program == "template"
    assert any("not in this release" in conflict for conflict in template.resolution.conflicts)
