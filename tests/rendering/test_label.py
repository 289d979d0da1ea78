"""A turn is sampled from the end of its header up to and including its stop token."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from renderers import EMBEDDED, SamplingConventions, create_renderer, load_tokenizer
from renderers.core.channels import span_channel
from renderers.core.spans import Channel, Span
from renderers.rendering.label import label
from renderers.templating import ChatTemplate
from tests.support.conversations import TOOLS
from tests.support.models import hub_models
from tests.support.turn_formats import NOW, format_of

CONTROL = frozenset({"<s>", "<end>", "</s>", "<user>", "<model>", "<tool>", "<call>", "</call>"})
PLAIN = (
    "{% for m in messages %}<s>{{ m.role }}\n{{ m.content }}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)
THINKS = (
    "{% for m in messages %}<s>{{ m.role }}\n"
    "{% if m.role == 'assistant' and (loop.last or m.reasoning_content) %}"
    "<think>\n{{ m.reasoning_content }}\n</think>\n{% endif %}{{ m.content }}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n<think>\n"
    "{% if enable_thinking is false %}\n</think>\n{% endif %}{% endif %}"
)
UNCLOSED = (
    "{% for m in messages %}{{ '<model>' if m.role == 'assistant' else '<user>' }}{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<call>{{ c.function.name }}</call>{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %}<model>{% endif %}"
)
LAST_EOS = PLAIN.replace("{% endfor %}", "{% endfor %}{% if not add_generation_prompt %}</s>{% endif %}", 1)


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def sampled(
    source: str,
    *messages: dict[str, Any],
    stops: frozenset[str] = frozenset(),
    conventions: SamplingConventions | None = None,
    **switches: Any,
) -> list[str]:
    """Return the sampled runs of text."""
    template = ChatTemplate(source)
    trace = template.run(messages, now=NOW, **switches)
    arguments = {name: value for name, value in switches.items() if name != "add_generation_prompt"}
    labels = label(
        trace,
        messages,
        turn_format=format_of(source, arguments=arguments, special_tokens=CONTROL),
        stop_tokens=stops,
        conventions=conventions or SamplingConventions(),
    )
    assert [(span.start, span.end) for span in labels] == sorted((span.start, span.end) for span in labels)
    assert "".join(trace.text[span.start : span.end] for span in labels) == trace.text
    parts = itertools.groupby((span for span in labels if span.start < span.end), key=lambda span: span.sampled)
    return ["".join(trace.text[span.start : span.end] for span in run) for is_sampled, run in parts if is_sampled]


def test_a_turn_is_sampled_from_its_header_to_its_stop_token() -> None:
    assert sampled(PLAIN, user("Q"), assistant("A"), user("Q"), assistant("")) == ["A<end>", "<end>"]


def test_a_conversation_can_begin_with_an_assistant_turn() -> None:
    assert sampled(PLAIN, assistant("A"), user("Q")) == ["A<end>"]


def test_reasoning_markers_of_the_generation_prompt_are_not_sampled() -> None:
    turns = (user("Q"), assistant("A", reasoning_content="R"))
    assert sampled(THINKS, *turns) == ["R\n</think>\nA<end>"]
    assert sampled(THINKS, *turns, enable_thinking=False) == ["R\n</think>\nA<end>"]


def test_an_earlier_turn_without_the_opened_marker_is_sampled_from_the_role_on() -> None:
    assert sampled(THINKS, user("Q"), assistant("A"), user("Q")) == ["A<end>"]


def test_an_unclosed_turn_is_stopped_by_the_next_header() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": {}}}
    assert sampled(UNCLOSED, user("Q"), assistant("A"), user("Q")) == ["A<user>"]
    assert sampled(UNCLOSED, user("Q"), assistant("", tool_calls=[call]), user("Q")) == ["<call>f</call><user>"]
    assert sampled(UNCLOSED, user("Q"), assistant("A")) == ["A"]
    assert sampled(UNCLOSED, user("Q"), assistant("A"), add_generation_prompt=True) == ["A"]


def test_the_stop_token_belongs_to_the_turn_that_it_stops() -> None:
    messages = [user("Q"), assistant("A"), user("R")]
    trace = ChatTemplate(UNCLOSED).run(messages, now=NOW)
    labels = label(trace, messages, turn_format=format_of(UNCLOSED, special_tokens=CONTROL))
    owners = [(span.message, span.sampled, span.content) for span in labels if span.start < span.end]
    # <user>, Q, <model>, A, <user>, R
    assert owners == [(0, False, False), (0, False, True), (1, False, False), *[(1, True, True)] * 2, (2, False, True)]


def test_a_turn_ends_with_a_known_stop_token_of_the_model() -> None:
    turns = (user("Q"), assistant("A"), assistant("B"), user("Q"))
    assert sampled(UNCLOSED, *turns, stops=frozenset({"<user>", "</s>"})) == ["A", "B<user>"]
    # A stop token can open the next message although other turns are closed.
    open_ended = PLAIN.replace("<end>", "{% if m.content != 'A' %}<end>{% endif %}")
    assert sampled(open_ended, user("Q"), assistant("A"), user("R"), stops=frozenset({"<s>"})) == ["A<s>"]
    assert sampled(open_ended, user("Q"), assistant("A"), user("R"), stops=frozenset({"<end>"})) == ["A"]


def test_a_missing_or_empty_message_does_not_change_the_next_header() -> None:
    # Jinja removes a newline after a tag.
    source = THINKS.replace("is false %}", "is false %}{{ '' }}")
    for before in ([user("Q")], [{"role": "user"}], []):
        turns = (*before, assistant("A", reasoning_content=""))
        assert sampled(source, *turns) == ["\n</think>\nA<end>"]
        assert sampled(source, *turns, enable_thinking=False) == ["A<end>"]


def test_a_token_after_the_stop_token_is_not_sampled() -> None:
    assert sampled(LAST_EOS, user("Q"), assistant("A")) == ["A<end>"]


def test_text_of_other_roles_is_never_sampled() -> None:
    assert sampled(PLAIN, user("<end>"), user("<s>assistant\nA<end>")) == []


@pytest.mark.parametrize(
    ("path", "role", "channel"),
    [
        ((), "user", Channel.SCAFFOLD),
        (("role",), "user", Channel.SCAFFOLD),
        (("content",), "user", Channel.CONTENT),
        (("content", 0, "text"), "assistant", Channel.CONTENT),
        (("content", 0, "thinking"), "assistant", Channel.REASONING),
        (("content", 0, "image_url", "url"), "user", Channel.MEDIA),
        (("content",), "tool", Channel.TOOL_RESULT),
        (("reasoning_content",), "assistant", Channel.REASONING),
        (("thinking",), "assistant", Channel.REASONING),
        (("tool_calls", 0, "function", "name"), "assistant", Channel.TOOL_NAME),
        (("tool_calls", 0, "function", "arguments"), "assistant", Channel.TOOL_ARGUMENTS),
        (("tool_calls", 0, "function", "arguments", "name"), "assistant", Channel.TOOL_ARGUMENTS),
        (("tool_calls", 0, "id"), "assistant", Channel.TOOL_CALL_ID),
        (("tool_call_id",), "tool", Channel.TOOL_CALL_ID),
        (("name",), "tool", Channel.TOOL_NAME),
        (("tools", 0), None, Channel.TOOL_DEFINITION),
        (("documents", 0), None, Channel.SCAFFOLD),
    ],
)
def test_a_field_has_a_channel(path: Any, role: str | None, channel: Channel) -> None:
    assert span_channel(Span(0, 1, -1 if role is None else 0, path), [{"role": role}]) is channel


CALL = {"id": "call00001", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
CYCLE = [
    user("Q1"),
    assistant("", reasoning_content="R1", tool_calls=[CALL]),
    {"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": "Rain"},
    assistant("A1"),
    user("Q2"),
    assistant("A2"),
]
SAMPLED = {
    "Qwen/Qwen3-8B": [
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call><|im_end|>',
        "A1<|im_end|>",
        "<think>\n\n</think>\n\nA2<|im_end|>",
    ],
    "Qwen/Qwen3.8-27B": [
        (
            "R1\n</think>\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n"
            "</tool_call><|im_end|>"
        ),
        # The last line break of the prompt and the first of the turn are one token.
        "\n\n</think>\n\nA1<|im_end|>",
        "\n\n</think>\n\nA2<|im_end|>",
    ],
    "zai-org/GLM-4.5-Air": [
        (
            "\n<think></think>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>"
            "<|observation|>"
        ),
        "\n<think></think>\nA1<|user|>",
        "\n<think></think>\nA2",
    ],
    "deepseek-ai/DeepSeek-V3.1": [
        (
            '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris"}<｜tool▁call▁end｜>'
            "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>"
        ),
        "A1<｜end▁of▁sentence｜>",
        "A2<｜end▁of▁sentence｜>",
    ],
    "meta-llama/Llama-3.2-1B-Instruct": [
        '{"name": "get_weather", "parameters": {"city": "Paris"}}<|eot_id|>',
        "A1<|eot_id|>",
        "A2<|eot_id|>",
    ],
    "mistralai/Mistral-Small-3.2-24B-Instruct-2506": [
        '[TOOL_CALLS]get_weather[CALL_ID]call00001[ARGS]{"city": "Paris"}</s>',
        "A1</s>",
        "A2</s>",
    ],
    "MiniMaxAI/MiniMax-M2": [
        (
            '\n\n<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Paris</parameter>\n'
            "</invoke>\n</minimax:tool_call>[e~["
        ),
        "A1[e~[",
        "A2[e~[",
    ],
}


@pytest.mark.parametrize("name", [name for name in SAMPLED if name in hub_models()] or ["none"])
def test_the_sampled_tokens_of_real_models(hub: Path, name: str) -> None:
    renderer = create_renderer(load_tokenizer(name))
    rendered = renderer.render(CYCLE, tools=TOOLS)
    marked = zip(rendered.token_ids, rendered.sampled_mask, strict=True)
    runs = itertools.groupby(marked, key=lambda pair: pair[1])
    assert SAMPLED[name] == [
        renderer.tokenizer.decode([token for token, _ in same]) for is_sampled, same in runs if is_sampled
    ]


HEADERS = (
    "{% for m in messages %}<s>{{ m.role }}{% if m.role == 'assistant' %}<call>final</call>{% endif %}"
    "{{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<s>assistant{% endif %}"
)


def test_a_call_that_is_written_as_json_has_a_name_and_arguments() -> None:
    source = (
        "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ c | tojson }}{% endfor %}<end>{% endfor %}"
    )
    call = {"id": "c1", "function": {"name": "f", "arguments": {"x": 1}}}
    messages = [user("Q"), assistant("", tool_calls=[call])]
    trace = ChatTemplate(source).run(messages)
    labels = label(trace, messages, turn_format=format_of(source, special_tokens=CONTROL))
    parts = [(span.channel, trace.text[span.start : span.end]) for span in labels if span.message == 1]
    assert parts == [
        (Channel.CONTENT, ""),
        (Channel.SCAFFOLD, '{"id": "'),
        (Channel.TOOL_CALL_ID, "c1"),
        (Channel.SCAFFOLD, '", "function": '),
        (Channel.SCAFFOLD, '{"name": "'),
        (Channel.TOOL_NAME, "f"),
        (Channel.SCAFFOLD, '", "arguments": '),
        (Channel.TOOL_ARGUMENTS, '{"x": 1}'),
        (Channel.SCAFFOLD, "}"),
        (Channel.SCAFFOLD, "}"),
        (Channel.SCAFFOLD, "<end>"),
    ]


def test_a_convention_can_count_markers_of_the_prompt_as_sampled() -> None:
    turn = assistant("A", reasoning_content="R")
    assert sampled(THINKS, user("Q"), turn) == ["R\n</think>\nA<end>"]
    conventions = SamplingConventions(sampled_from="<think>")
    assert sampled(THINKS, user("Q"), turn, conventions=conventions) == ["<think>\nR\n</think>\nA<end>"]
    assert sampled(PLAIN, user("Q"), assistant("A"), conventions=conventions) == ["A<end>"]


def test_a_convention_can_count_headers_as_prompted_but_never_a_body() -> None:
    turn = assistant("<call>final</call>A")
    assert sampled(HEADERS, user("Q"), turn) == ["<call>final</call><call>final</call>A<end>"]
    conventions = SamplingConventions(prompted="<call>.*?</call>")
    assert sampled(HEADERS, user("Q"), turn, conventions=conventions) == ["<call>final</call>A<end>"]
    assert sampled(PLAIN, user("Q"), assistant("\nA"), conventions=SamplingConventions(prompted=r"\A\n")) == [
        "\nA<end>"
    ]


def test_a_convention_can_count_the_name_of_a_call_in_a_header_as_prompted() -> None:
    source = (
        "{% for m in messages %}<s>{{ m.role }}\n{% for c in m.tool_calls or [] %}<call>{{ c.function.name }}</call>"
        "{{ c.function.arguments }}{% endfor %}{{ m.content }}<end>\n{% endfor %}"
        "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
    )
    turn = assistant("A", tool_calls=[{"id": "c1", "function": {"name": "f", "arguments": "{}"}}])
    for pattern, expected in (("<call>.*?</call>", "{}A<end>"), ("f", "<call>f</call>{}A<end>")):
        assert sampled(source, user("Q"), turn, conventions=SamplingConventions(prompted=pattern)) == [expected]


def channels(source: str, *messages: dict[str, Any], inline: bool = True) -> list[tuple[Channel, str]]:
    """Return the text of the last message in runs, each with its channel."""
    template = ChatTemplate(source)
    trace = template.run(messages, now=NOW)
    labels = label(
        trace,
        messages,
        turn_format=format_of(source, special_tokens=CONTROL),
        inline_reasoning=inline,
    )
    own = [span for span in labels if span.message == len(messages) - 1 and span.start < span.end]
    return [
        (channel, "".join(trace.text[span.start : span.end] for span in run))
        for channel, run in itertools.groupby(own, key=lambda span: span.channel)
    ]


REASONS = (
    "{% for m in messages %}<s>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n{% endif %}"
    "{{ m.content }}<end>\n{% endfor %}{% if add_generation_prompt %}<s>assistant\n<think>\n{% endif %}"
)


def test_reasoning_within_content_is_reasoning_at_the_beginning_of_a_turn() -> None:
    turn = assistant("<think>\nR\n</think>\nA <think>x</think>")
    assert channels(REASONS, user("Q"), turn)[1:-1] == [
        (Channel.REASONING, "\nR\n"),
        (Channel.SCAFFOLD, "</think>"),
        (Channel.CONTENT, "\nA <think>x</think>"),
    ]
    assert channels(REASONS, user("Q"), assistant("A <think>x</think>"))[1:-1] == [
        (Channel.CONTENT, "A <think>x</think>")
    ]
    assert channels(REASONS, user("Q"), assistant("<think>R"))[1:-1] == [(Channel.REASONING, "R")]
    assert channels(REASONS, user("Q"), assistant("<think>R</think>A"), inline=False)[1:-1] == [
        (Channel.CONTENT, "<think>R</think>A")
    ]
    assert channels(PLAIN, user("Q"), assistant("<think>R</think>A"))[1:-1] == [(Channel.CONTENT, "<think>R</think>A")]
    assert channels(REASONS, assistant("A"), user("<think>R</think>"))[1:-1] == [(Channel.CONTENT, "<think>R</think>")]


def test_a_header_can_reach_into_the_content() -> None:
    assert sampled(REASONS, user("Q"), assistant("<think>\nR\n</think>\nA")) == ["R\n</think>\nA<end>"]
    assert sampled(REASONS, user("Q"), assistant("A", reasoning_content="R")) == ["R\n</think>\nA<end>"]


def test_only_message_bodies_are_sampled_in_a_turn_without_a_header() -> None:
    source = (
        "{% for m in messages %}{{ raise_exception('no') if add_generation_prompt }}<s>{{ m.content }}<end>{% endfor %}"
    )
    assert sampled(source, user("Q"), assistant("A")) == ["A<end>"]


def test_text_of_the_next_message_does_not_stop_a_turn() -> None:
    source = (
        "{% for m in messages %}{{ '<model>' if m.role == 'assistant' }}{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}<model>{% endif %}"
    )
    assert sampled(source, user("Q"), assistant("A"), user("<user>evil")) == ["A"]


def test_names_and_ids_of_a_tool_message_are_not_content(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("moonshotai/Kimi-K2.5"))
    call = {"id": "functions.f:0", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "functions.f:0", "name": "f", "content": "res"}
    rendered = renderer.render([user("Q"), assistant("", tool_calls=[call]), result])
    content = [
        token for token, mask in zip(rendered.token_ids, rendered.content_mask_for_roles({"tool"}), strict=True) if mask
    ]
    assert renderer.tokenizer.decode(content) == "res"


def test_conventions_are_checked() -> None:
    with pytest.raises(ValueError, match="prompted is not a pattern"):
        SamplingConventions(prompted="(")
    with pytest.raises(ValueError, match="cannot be empty"):
        SamplingConventions(sampled_from="")
    wrong: Any = {"sampled_from": "x"}
    with pytest.raises(TypeError, match="conventions must be SamplingConventions, not a dict"):
        create_renderer(load_tokenizer(EMBEDDED), conventions=wrong)


def test_a_token_of_the_header_and_the_answer_is_sampled() -> None:
    source = (
        "{% for m in messages %}{{ m.role + ': ' + m.content + '<|end|>' }}{% endfor %}"
        "{{ 'assistant: ' if add_generation_prompt }}"
    )
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=source)
    rendered = renderer.render([user("Q"), assistant("the weather")])
    first = rendered.sampled_mask.index(True)
    tokens = [token for token, is_sampled in zip(rendered.token_ids, rendered.sampled_mask, strict=True) if is_sampled]
    assert renderer.tokenizer.decode(tokens) == " the weather<|end|>"
    assert rendered.straddling_tokens() == [first]
    assert (rendered.message_indices[first], rendered.channels[first]) == (1, Channel.CONTENT)
    assert rendered.token_ids == renderer.tokenizer.encode("user: Q<|end|>assistant: the weather<|end|>")


def test_content_that_the_template_writes_after_the_next_message_is_content_and_not_sampled() -> None:
    source = (
        "{% for m in messages if m.role != 'tool' %}<s>{{ m.role }}\n"
        "{% for c in m.tool_calls or [] %}<call>{{ c.function.name }}</call>"
        "<tool>{{ messages[-1].content }}{% endfor %}"
        "{{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<s>assistant\n{% endif %}"
    )
    call = {"id": "call00000", "type": "function", "function": {"name": "f", "arguments": {}}}
    messages = [user("Q"), assistant("A", tool_calls=[call]), {"role": "tool", "content": "R"}]
    trace = ChatTemplate(source).run(messages)
    labels = label(trace, messages, turn_format=format_of(source, special_tokens=CONTROL))
    own = [(trace.text[span.start : span.end], span.sampled, span.content) for span in labels if span.message == 1]
    assert own[-3:] == [("</call><tool>", True, True), ("A", False, True), ("<end>", False, False)]
    assert sampled(source, *messages) == ["<call>f</call><tool>"]


def test_text_that_replace_writes_into_a_body_is_part_of_it() -> None:
    source = PLAIN.replace("{{ m.content }}", "{{ m.content | replace('. ', '.\\n') }}")
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=source)
    rendered = renderer.render([user("One. Two. x")])
    pairs = zip(rendered.channels, rendered.is_content, strict=True)
    body = [channel for channel, is_content in pairs if is_content]
    assert (
        renderer.tokenizer.decode(
            [token for token, is_content in zip(rendered.token_ids, rendered.is_content, strict=True) if is_content]
        )
        == "One.\nTwo.\nx"
    )
    assert set(body) == {Channel.CONTENT}
