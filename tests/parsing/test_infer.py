"""Grammars are inferred from templates."""

from __future__ import annotations

import pytest

from renderers import EMBEDDED, create_renderer, load_tokenizer
from renderers.parsing.grammar import SPACES, Edges, Grammar, ReasoningFormat
from renderers.parsing.infer import infer_grammar
from renderers.parsing.tool_formats import TOOL_FORMATS
from renderers.resolution import UNREAD_CALLS

THINK = ("<think>", "</think>")
TRIMMED = Edges(left=SPACES, right=SPACES)
CALL = ("<tool_call>", "</tool_call>")

EXPECTED: dict[str, Grammar] = {
    str(EMBEDDED): Grammar(
        header="<|turn|>assistant\n",
        reasoning=ReasoningFormat(markers=("<|think|>", "<|/think|>")),
        tools="hermes",
        call=("<|call|>", "<|/call|>"),
    ),
    "Qwen/Qwen3-8B": Grammar(
        header="<|im_start|>assistant\n",
        reasoning=ReasoningFormat(
            markers=THINK,
            edges=Edges(lead="\n", trail="\n", left="\n", right="\n"),
            after="\n\n",
            after_empty="\n\n",
        ),
        content=Edges(left="\n"),
        content_before_calls=Edges(trail="\n"),
        tools="hermes",
        call=CALL,
    ),
    "zai-org/GLM-4.5-Air": Grammar(
        header="<|assistant|>",
        lead="\n",
        reasoning=ReasoningFormat(markers=THINK, edges=TRIMMED, after="\n", after_empty="\n"),
        content=TRIMMED,
        content_before_calls=Edges(trail="\n", right=SPACES),
        tools="glm",
        call=CALL,
    ),
    "zai-org/GLM-5": Grammar(
        header="<|assistant|>",
        reasoning=ReasoningFormat(markers=THINK, edges=TRIMMED),
        content=TRIMMED,
        content_before_calls=Edges(right=SPACES),
        tools="glm",
        call=CALL,
        assumes_reasoning=True,
    ),
    "google/gemma-4-31B-it": Grammar(
        header="<|turn>model\n",
        # Only turns with calls show the reasoning.
        reasoning=ReasoningFormat(markers=("<|channel>", "<channel|>"), edges=Edges(lead="thought\n", trail="\n")),
        content=TRIMMED,
        content_before_calls=Edges(right=SPACES),
        tools="gemma",
        call=("<|tool_call>", "<tool_call|>"),
    ),
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": Grammar(
        header="<|im_start|>assistant\n",
        reasoning=ReasoningFormat(markers=THINK, edges=Edges(lead="\n", trail="\n"), after="\n", after_empty=""),
        content=Edges(right=SPACES),
        content_before_calls=Edges(trail="\n", right=SPACES),
        tools="qwen_xml",
        call=CALL,
    ),
    "meta-llama/Llama-3.2-1B-Instruct": Grammar(
        header="<|start_header_id|>assistant<|end_header_id|>\n\n", content=TRIMMED, tools="llama"
    ),
    "moonshotai/Kimi-K2.5": Grammar(
        header="<|im_assistant|>assistant<|im_middle|>",
        reasoning=ReasoningFormat(markers=THINK),
        tools="kimi",
        section=TOOL_FORMATS["kimi"].section,
        call=TOOL_FORMATS["kimi"].call,
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_grammar_is_inferred(name: str, request: pytest.FixtureRequest) -> None:
    if name != str(EMBEDDED):
        request.getfixturevalue("hub")
    pipeline = create_renderer(load_tokenizer(name))._pipeline
    turns, tool_turns = (pipeline.turn_format(with_tools=with_tools) for with_tools in (False, True))
    assert infer_grammar(turns, tool_turns) == EXPECTED[name]


def test_reasoning_that_is_never_rendered_is_inferred_from_the_prompt(hub: object) -> None:
    grammar = create_renderer(load_tokenizer("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B")).resolution.grammar
    assert grammar.reasoning is not None
    assert grammar.reasoning.markers == THINK


def test_a_template_that_fails_on_calls_is_recognised_by_its_markers(hub: object) -> None:
    assert create_renderer(load_tokenizer("moonshotai/Kimi-K2-Instruct")).resolution.grammar.tools == "kimi"


def test_markers_of_several_tags_with_a_word_between_them_are_inferred(hub: object) -> None:
    grammar = create_renderer(load_tokenizer("moonshotai/Kimi-K3")).resolution.grammar
    assert grammar.reasoning is not None
    assert grammar.reasoning.markers == ("<|open|>think<|sep|>", "<|close|>think<|sep|>")
    assert grammar.response == ("<|open|>response<|sep|>", "<|close|>response<|sep|>")
    assert grammar.end == "<|close|>message<|sep|><|end_of_msg|>"
    assert grammar.tools == "kimi_k3"


def test_custom_markers_of_a_template_are_inferred() -> None:
    template = (
        "{% for m in messages %}<|turn|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls or [] %}"
        "[CALL]{{ c.function | tojson }}[/CALL]{% endfor %}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
    )
    grammar = create_renderer(load_tokenizer(EMBEDDED), chat_template=template).resolution.grammar
    assert (grammar.tools, grammar.call, grammar.reasoning) == ("hermes", ("[CALL]", "[/CALL]"), None)


@pytest.mark.parametrize(
    ("before", "after"),
    [("<<call>>", "<</call>>"), ("[[CALL]]", "[[/CALL]]"), ("«", "»"), ("TOOL: ", "\n"), ("```tool\n", "\n```")],
)
def test_a_format_that_reads_only_a_part_of_the_markers_is_not_inferred(before: str, after: str) -> None:
    template = (
        "{% for m in messages %}<|turn|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls or [] %}"
        f"{before}{{{{ c.function | tojson }}}}{after}{{% endfor %}}<|end|>{{% endfor %}}"
        "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
    )
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=template)
    assert not renderer.supports_tools
    assert UNREAD_CALLS in renderer.resolution.conflicts


def test_markers_around_content_are_inferred(hub: object) -> None:
    grammar = create_renderer(load_tokenizer("CohereLabs/c4ai-command-a-03-2025")).resolution.grammar
    assert grammar.response == ("<|START_RESPONSE|>", "<|END_RESPONSE|>")


def test_markers_around_a_list_of_calls_are_inferred() -> None:
    template = (
        "{% for m in messages %}<|turn|>{{ m.role }}\n{{ m.content }}{% if m.tool_calls %}<list>["
        "{% for c in m.tool_calls %}{{ c.function | tojson }}{{ ', ' if not loop.last }}{% endfor %}"
        "]</list>{% endif %}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
    )
    grammar = create_renderer(load_tokenizer(EMBEDDED), chat_template=template).resolution.grammar
    assert (grammar.tools, grammar.call) == ("jamba", ("<list>", "</list>"))


def test_reasoning_can_be_opened_by_prompts_only() -> None:
    template = (
        "{% for m in messages %}<|turn|>{{ m.role }}\n"
        "{% if m.reasoning_content %}{{ m.reasoning_content }}\n[ANSWER]\n{% endif %}{{ m.content }}<|end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|turn|>assistant\nMy thoughts:\n{% endif %}"
    )
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=template)
    reasoning = renderer.resolution.grammar.reasoning
    assert reasoning == ReasoningFormat(
        markers=("My thoughts:", "[ANSWER]"), edges=Edges(lead="\n", trail="\n"), after="\n"
    )
    prompt = renderer.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    completion = renderer.tokenizer.encode("They greet.\n[ANSWER]\nHello!<|end|>", add_special_tokens=False)
    parsed = renderer.parse_response(completion, prompt_ids=prompt)
    assert (parsed.reasoning_content, parsed.content) == ("They greet.", "Hello!")
