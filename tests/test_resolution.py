"""Stop tokens come from the generation config, else EOS, else the template. Conflicts are reported."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from renderers import EMBEDDED, DefaultRendererConfig, create_renderer, load_tokenizer
from renderers.resolution import UNREAD_CALLS, resolve_stops


@dataclass(frozen=True)
class Files:
    stop_token_ids: tuple[int, ...] | None = None
    eos_token_id: int | None = None


CLOSER = ("<|end|>", 7)


@pytest.mark.parametrize(
    ("files", "closer", "expected"),
    [
        (Files((5, 7), 5), CLOSER, ((5, 7), "generation_config", 0)),
        (Files(None, 7), CLOSER, ((7,), "eos_token", 0)),
        (Files(None, None), CLOSER, ((7,), "template", 0)),
        (Files(None, None), None, ((), "nothing", 0)),
        (Files((5,), 5), CLOSER, ((5,), "generation_config", 1)),
        (Files((5,), 6), None, ((5,), "generation_config", 1)),
        (Files(None, 6), CLOSER, ((6,), "eos_token", 1)),
    ],
)
def test_the_first_source_with_stop_tokens_is_used(
    files: Files, closer: tuple[str, int] | None, expected: object
) -> None:
    stops, source, conflicts = resolve_stops(
        record=(), generation_config=files.stop_token_ids or (), eos=files.eos_token_id, end_token=closer
    )
    assert (stops, source, len(conflicts)) == expected


def test_a_conflict_names_the_sources_that_disagree() -> None:
    (conflict,) = resolve_stops(record=(), generation_config=(5,), eos=None, end_token=CLOSER)[2]
    assert "'<|end|>' (7)" in conflict
    assert "generation_config" in conflict


def test_the_embedded_model_has_no_conflicts() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED))
    assert renderer.resolution.conflicts == ()
    assert renderer.get_stop_token_ids() == list(renderer.resolution.stop_token_ids) == [870]
    assert renderer.resolution.stops_from == "generation_config"


def test_a_completion_also_ends_at_a_stop_token_of_the_template(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("moonshotai/Kimi-K2-Instruct"))
    assert "EOS" in renderer.resolution.conflicts[0]
    assert renderer.tokenizer.eos_token_id in renderer.resolution.ends


def test_a_turn_that_does_not_parse_back_is_reported() -> None:
    template = "{% for m in messages %}<|turn|>{{ m.role }}\n{{ m.content }}[FINE]<|end|>{% endfor %}"
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=template)
    assert any("{content}[FINE]'" in conflict for conflict in renderer.resolution.conflicts)


def test_a_record_has_the_format_of_calls_that_its_template_never_writes(hub: object) -> None:
    grammar = create_renderer(load_tokenizer("CohereLabs/c4ai-command-a-03-2025")).resolution.grammar
    assert (grammar.tools, grammar.call) == ("command", ("<|START_ACTION|>", "<|END_ACTION|>"))


UNKNOWN_CALLS = (
    "{% for m in messages %}<|turn|>{{ m.content }}{% for c in m.tool_calls or [] %}"
    "@{{ c.function.name }}@{{ c.function.arguments | tojson }}@{% endfor %}<|end|>{% endfor %}"
)


def test_an_unknown_tool_call_format_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=UNKNOWN_CALLS)
    assert UNREAD_CALLS in renderer.resolution.conflicts
    assert not renderer.supports_tools
    with caplog.at_level("WARNING", logger="renderers"):
        renderer.parse_response([])
        renderer.parse_response([])
    assert caplog.messages == [f"{renderer.tokenizer.name_or_path}: {UNREAD_CALLS}"]


def test_a_known_tool_call_format_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED))
    assert renderer.supports_tools
    renderer.parse_response([])
    assert caplog.messages == []


ENDLESS = "{% for i in range(10 ** 12) %}{% endfor %}"
PLAIN = "{% for m in messages %}<|turn|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"


@pytest.mark.parametrize(
    "template",
    [
        ENDLESS,
        "{% if messages | length > 1 %}" + ENDLESS + "{% endif %}" + PLAIN,
        "{% if tools %}" + ENDLESS + "{% endif %}" + PLAIN,
    ],
    ids=["always", "with a turn", "with tools"],
)
def test_completions_are_content_if_the_template_cannot_be_probed(
    template: str, caplog: pytest.LogCaptureFixture
) -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=template)
    for text in ("<|think|>A<|/think|>Hi", '<|call|>{"name": "get"}<|/call|>', ""):
        assert renderer.parse_response(renderer.tokenizer.encode(text + "<|end|>")).content == text
    assert renderer.get_stop_token_ids() == [870]
    (reason,) = [conflict for conflict in renderer.resolution.conflicts if "could not be probed" in conflict]
    assert "a range of more than" in reason
    assert sum(reason in record.message for record in caplog.records) == 1


def test_a_template_that_ends_only_with_a_switch_is_probed_with_it() -> None:
    template = "{% if not style %}" + ENDLESS + "{% endif %}" + PLAIN
    renderer = create_renderer(
        load_tokenizer(EMBEDDED), chat_template=template, chat_template_kwargs={"style": "brief"}
    )
    assert renderer.parse_response(renderer.tokenizer.encode("Hi<|end|>")).content == "Hi"
    assert not any("could not be probed" in conflict for conflict in renderer.resolution.conflicts)


def test_named_parsers_work_for_a_template_that_cannot_be_probed() -> None:
    config = DefaultRendererConfig(reasoning_parser="think")
    renderer = create_renderer(load_tokenizer(EMBEDDED), config, chat_template=ENDLESS)
    parsed = renderer.parse_response(renderer.tokenizer.encode("<think>A</think>Hi<|end|>"))
    assert (parsed.content, parsed.reasoning_content) == ("Hi", "A")


def test_the_grammar_of_a_template_that_requires_tools_is_inferred_with_tools() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    source = (EMBEDDED / "chat_template.jinja").read_text(encoding="utf-8")
    demanding = "{{ raise_exception('no tools') if not tools }}" + source
    plain = create_renderer(tokenizer, chat_template=source).resolution
    resolution = create_renderer(tokenizer, chat_template=demanding).resolution
    assert resolution.grammar.header == plain.grammar.header
    assert resolution.grammar.reasoning == plain.grammar.reasoning
    assert resolution.end_token_ids == plain.end_token_ids


_ASKS_FOR_REASONING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if thinking %}Write your thoughts between <think></think>.{% endif %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def test_a_template_that_only_asks_for_reasoning_is_a_conflict() -> None:
    renderer = create_renderer(EMBEDDED, chat_template=_ASKS_FOR_REASONING)
    (conflict,) = [one for one in renderer.resolution.conflicts if "<think>" in one]
    assert "reasoning_parser" in conflict
    renderer = create_renderer(EMBEDDED, chat_template=_ASKS_FOR_REASONING, reasoning_parser="granite_thinking_parser")
    assert not [one for one in renderer.resolution.conflicts if "<think>" in one]
    ids = renderer.tokenizer.encode("<think>Hm.</think><response>Hi.</response>", add_special_tokens=False)
    parsed = renderer.parse_response(ids)
    assert (parsed.reasoning_content, parsed.content) == ("Hm.", "Hi.")
