"""A program that is not a chat template renders, parses and bridges through the `Program` protocol alone."""

from __future__ import annotations

import datetime
import json
import pickle
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
    DefaultRendererConfig,
    GptOssRendererConfig,
    LoadedTokenizer,
    UnknownSwitchError,
    create_renderer,
    load_tokenizer,
    resolution,
    settings,
    switches,
)
from renderers.core.literals import PLAIN_USES, TemplateLiterals, TextUses
from renderers.core.spans import Path
from renderers.core.text import digest_of
from renderers.errors import MessageError, TemplateRefusalError
from renderers.programs import registry
from renderers.programs.base import Program, ProgramRun, RunProgram
from renderers.programs.pieces import Piece, run_pieces
from renderers.rendering import pipeline
from renderers.templating import ChatTemplate
from tests.support.settings import with_settings

ASK = {"role": "user", "content": "Hi"}
BYE = {"role": "user", "content": "Bye"}
TOOL = {"type": "function", "function": {"name": "get", "description": "", "parameters": {"type": "object"}}}
CALL = {"id": "call00001", "type": "function", "function": {"name": "get", "arguments": {"x": 1}}}

LITERALS = TemplateLiterals(frozenset(), frozenset({"system", "user", "assistant", "tool"}))


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
        arguments: Mapping[str, Any],
        now: datetime.datetime,
    ) -> ProgramRun:
        if continue_final_message:
            raise MessageError("cannot be continued", message=len(messages) - 1)
        pieces: list[Piece] = []
        if tools:
            pieces.append(Piece("<|turn|>system\n"))
            pieces += [Piece(json.dumps(tool), -1, ("tools", index)) for index, tool in enumerate(tools)]
            pieces.append(Piece("<|end|>\n"))
        for index, message in enumerate(messages):
            pieces += _pieces_of(index, message)
        if add_generation_prompt:
            pieces.append(Piece("<|turn|>assistant\n"))
        return run_pieces(pieces, messages)

    def prepare(self, **options: Any) -> RunProgram:
        return lambda messages, tools: self.run(messages, tools=tools, **options)

    def adaptations(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        return ()

    def mentions(self, name: str) -> bool:
        return name in ("tools", "role", "content", "tool_calls")

    def may_write(self, text: str) -> bool:
        return text in ("<|turn|>", "<|end|>", "<|call|>", "<|/call|>")

    def turns_read(self, name: str) -> bool:
        return True

    def probe_arguments(self, arguments: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        return tuple((name, value) for name, value in arguments.items() if self.mentions(name))

    def probe_time(self, arguments: Mapping[str, Any], now: datetime.datetime) -> datetime.datetime:
        return now


def _pieces_of(index: int, message: dict[str, Any]) -> Iterator[Piece]:
    if message["role"] not in ("system", "user", "assistant", "tool"):
        raise TemplateRefusalError(f"there is no role {message['role']}", message=index)
    if not isinstance(message.get("content") or "", str):
        raise MessageError("must be text", message=index, path=("content",))
    yield Piece("<|turn|>", index)
    yield Piece(message["role"], index, ("role",))
    yield Piece("\n", index)
    yield Piece(message.get("content") or "", index, ("content",))
    for number, call in enumerate(message.get("tool_calls") or []):
        path: Path = ("tool_calls", number, "function")
        yield Piece('<|call|>{"name": "', index)
        yield Piece(call["function"]["name"], index, (*path, "name"))
        yield Piece('", "arguments": ', index)
        yield Piece(json.dumps(call["function"]["arguments"]), index, (*path, "arguments"))
        yield Piece("}<|/call|>", index)
    yield Piece("<|end|>\n", index)


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


@dataclass(frozen=True)
class CutoffProgram(PlainProgram):
    """A program with a switch of gpt-oss."""

    def mentions(self, name: str) -> bool:
        return name == "knowledge_cutoff" or super().mentions(name)


@pytest.fixture
def with_harmony(monkeypatch: pytest.MonkeyPatch) -> LoadedTokenizer:
    """Return the embedded tokenizer, and replace the program of gpt-oss."""
    programs = {**registry.PROGRAMS, "harmony": lambda _: CutoffProgram()}
    for module in (pipeline, settings, switches, resolution):
        monkeypatch.setattr(module, "PROGRAMS", programs)
    return load_tokenizer(EXAMPLE_MODEL)


def test_a_family_uses_its_program(with_harmony: LoadedTokenizer) -> None:
    renderer = create_renderer(with_harmony, GptOssRendererConfig(knowledge_cutoff="2025-01"))
    assert (renderer.program, renderer.resolution.program) == ("harmony", "harmony")
    assert renderer.chat_template_kwargs["knowledge_cutoff"] == "2025-01"
    assert not any("not in this release" in conflict for conflict in renderer.resolution.conflicts)


def test_an_unknown_template_that_a_program_replaces_is_a_conflict(with_harmony: LoadedTokenizer) -> None:
    conflicts = create_renderer(with_harmony, GptOssRendererConfig()).resolution.conflicts
    digest = digest_of(str(with_harmony.chat_template))
    assert any(f"the chat template of the model ({digest}) is not known for gpt-oss" in text for text in conflicts)


@pytest.mark.parametrize("by_config", [True, False])
def test_the_template_is_used_on_request(with_harmony: LoadedTokenizer, by_config: bool) -> None:
    template = with_harmony.chat_template
    if by_config:
        config = GptOssRendererConfig(program="template")
        renderers = [
            create_renderer(with_harmony, config),
            create_renderer(with_harmony, config, chat_template=template),
        ]
    else:
        config = GptOssRendererConfig()
        renderers = [
            create_renderer(with_harmony, config, chat_template=template),
            create_renderer(with_harmony, config, program="template"),
            create_renderer(with_harmony, config, program="template", chat_template=template),
        ]
    for renderer in renderers:
        assert (renderer.program, renderer.resolution.program) == ("template", "template")
        assert not any("program" in conflict for conflict in renderer.resolution.conflicts)
        assert pickle.loads(pickle.dumps(renderer)) == renderer


def test_a_switch_that_only_the_program_reads_is_rejected_with_the_template(with_harmony: LoadedTokenizer) -> None:
    config = GptOssRendererConfig(knowledge_cutoff="2025-01", program="template")
    with pytest.raises(ValueError, match="knowledge_cutoff of gpt-oss needs the program 'harmony', which is not used"):
        create_renderer(with_harmony, config)


def test_a_program_can_be_chosen_for_any_model(with_harmony: LoadedTokenizer) -> None:
    assert create_renderer(with_harmony, program="harmony").program == "harmony"
    assert create_renderer(with_harmony, DefaultRendererConfig(program="harmony")).config.program == "harmony"


def test_an_argument_that_the_program_does_not_read_is_an_error(with_harmony: LoadedTokenizer) -> None:
    with pytest.raises(UnknownSwitchError, match="'colour' is neither an option"):
        create_renderer(with_harmony, GptOssRendererConfig(), chat_template_kwargs={"colour": "red"})


def test_an_unknown_program_is_an_error_with_a_suggestion(with_harmony: LoadedTokenizer) -> None:
    with pytest.raises(ValueError, match=r"there is no program 'harmny'. Did you mean 'harmony'\? The programs are"):
        create_renderer(with_harmony, program="harmny")


def test_a_template_and_another_program_contradict_each_other(with_harmony: LoadedTokenizer) -> None:
    with pytest.raises(ValueError, match="chat_template= and program='harmony' contradict each other"):
        create_renderer(with_harmony, program="harmony", chat_template="{{ messages }}")


@pytest.mark.parametrize("options", [{"program": "harmony"}, {"config": GptOssRendererConfig()}])
def test_a_program_whose_special_tokens_are_not_in_the_vocabulary_is_an_error(options: dict[str, Any]) -> None:
    message = "the program 'harmony' writes special tokens that are not in the vocabulary of .*: '<|start|>', "
    with pytest.raises(ValueError, match=message.replace("|", r"\|")) as error:
        create_renderer(load_tokenizer(EXAMPLE_MODEL), **options)
    assert str(error.value).endswith("Pass program='template' to use its chat template.")
