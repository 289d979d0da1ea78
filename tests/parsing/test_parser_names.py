"""Every parser name of release 0.1, vLLM and SGLang has one meaning, or is known as unread."""

from __future__ import annotations

import pytest

from renderers import EMBEDDED, create_renderer, load_tokenizer
from renderers.parsing.grammar import Grammar, ParserOverrides, apply_overrides
from renderers.parsing.parser_names import (
    REASONING_PARSERS,
    TOOL_PARSERS,
    UNREAD_REASONING_PARSERS,
    UNREAD_TOOL_PARSERS,
)
from renderers.parsing.tool_formats import TOOL_FORMATS

VLLM_TOOL_PARSERS = (
    "apertus cohere_command3 cohere_command4 deepseek_v3 deepseek_v31 deepseek_v32 deepseek_v4 deepseek_v41 dots "
    "ernie45 functiongemma gemma4 gigachat3 glm45 glm47 granite granite-20b-fc granite4 hermes hf hunyuan_a13b hy_v3 "
    "hy_v4 inkling internlm jamba k2_horizon kimi_k2 kimi_k3 lfm2 ling3 llama3_json llama4_json llama4_pythonic "
    "longcat mimo minicpm5 minimax_m2 minimax_m3 mistral muse_glimmer olmo3 openai phi4_mini_json plamo3 poolside_v1 "
    "pythonic qwen3_coder qwen3_json qwen3_xml seed_oss step3 step3p5 xlam"
).split()
VLLM_REASONING_PARSERS = (
    "cohere_command3 cohere_command4 deepseek_r1 deepseek_v3 deepseek_v4 deepseek_v41 ernie45 gemma4 glm45 glm47 "
    "granite granite_thinking_parser hf holo2 hunyuan_a13b hy_v3 hy_v4 inkling k2_horizon kimi_k2 kimi_k3 ling3 mimo "
    "minicpmv minimax_m2 minimax_m2_append_think minimax_m3 mistral muse_glimmer nemotron_v3 olmo3 openai_gptoss "
    "plamo3 poolside_v1 qwen3 seed_oss step3 step3p5"
).split()
SGLANG_TOOL_PARSERS = (
    "apertus2509 beam cohere_command4 deepseekv3 deepseekv31 deepseekv32 deepseekv4 deepseekv41 dots glm glm45 glm47 "
    "gpt-oss k2_horizon kimi_k2 kimi_k3 lfm2 ling3 llama3 mimo minicpm5 mistral muse poolside_v1 pythonic qwen qwen25 "
    "qwen3_coder spark25 step3 step3p5 minimax-m2 minimax-m3 nanbeige trinity interns1 hermes hunyuan gigachat3 "
    "gigachat35 gemma4 inkling iquest_q1 response_template"
).split()
SGLANG_REASONING_PARSERS = (
    "apertus2509 beam deepseek-r1 deepseek-v3 deepseek-v4 deepseek-v41 dots glm45 ling3 hunyuan gpt-oss k2_horizon "
    "kimi kimi_k2 kimi_k3 mimo muse poolside_v1 qwen3 qwen3-thinking minimax minimax-append-think minimax-m3 nanbeige "
    "step3 step3p5 mistral nemotron_3 granite_thinking_parser interns1 gemma4 gigachat35 inkling iquest_q1 "
    "cohere_command4 response_template"
).split()


def test_every_name_of_the_engines_is_a_parser_or_known_as_unread() -> None:
    tools, reasoning = {*VLLM_TOOL_PARSERS, *SGLANG_TOOL_PARSERS}, {*VLLM_REASONING_PARSERS, *SGLANG_REASONING_PARSERS}
    assert tools <= TOOL_PARSERS.keys() | UNREAD_TOOL_PARSERS
    assert reasoning <= REASONING_PARSERS.keys() | UNREAD_REASONING_PARSERS
    assert tools >= UNREAD_TOOL_PARSERS
    assert reasoning >= UNREAD_REASONING_PARSERS


def test_a_name_is_not_both_read_and_unread() -> None:
    assert not TOOL_PARSERS.keys() & UNREAD_TOOL_PARSERS
    assert not REASONING_PARSERS.keys() & UNREAD_REASONING_PARSERS


def test_every_tool_format_is_a_name_and_every_name_has_a_format() -> None:
    assert TOOL_FORMATS.keys() <= TOOL_PARSERS.keys()
    assert {parser.tools for parser in TOOL_PARSERS.values()} <= TOOL_FORMATS.keys()
    assert {parser.tools for parser in REASONING_PARSERS.values() if parser.tools} <= TOOL_FORMATS.keys()


def test_the_parsers_of_release_0_1_exist() -> None:
    assert {"qwen3", "qwen3.5", "glm", "deepseek-v3"} <= TOOL_PARSERS.keys()
    assert "think" in REASONING_PARSERS


@pytest.mark.parametrize("name", TOOL_PARSERS)
def test_a_named_tool_parser_sets_the_format_and_its_markers(name: str) -> None:
    grammar = apply_overrides(Grammar(), ParserOverrides(tool_parser=name))
    parser = TOOL_PARSERS[name]
    assert grammar.tools == parser.tools
    assert grammar.call == (parser.call or TOOL_FORMATS[parser.tools].call)


@pytest.mark.parametrize("name", REASONING_PARSERS)
def test_a_named_reasoning_parser_sets_markers_or_the_format_of_messages(name: str) -> None:
    grammar = apply_overrides(Grammar(), ParserOverrides(reasoning_parser=name))
    parser = REASONING_PARSERS[name]
    assert grammar.tools == parser.tools
    assert (grammar.reasoning.markers if grammar.reasoning else None) == parser.markers


def test_a_misspelt_name_is_an_error_with_close_names() -> None:
    with pytest.raises(ValueError, match=r"there is no tool_parser 'hermess'\. Did you mean 'hermes'"):
        create_renderer(load_tokenizer(EMBEDDED), tool_parser="hermess")


def test_the_name_of_an_unread_format_is_an_error_of_its_own() -> None:
    with pytest.raises(ValueError, match="a format that is not read"):
        create_renderer(load_tokenizer(EMBEDDED), tool_parser="spark25")


def test_names_override_the_format_of_a_family() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), tool_parser="longcat", reasoning_parser="mistral")
    grammar = renderer.resolution.grammar
    assert (grammar.tools, grammar.call) == ("hermes", ("<longcat_tool_call>", "</longcat_tool_call>"))
    assert grammar.reasoning is not None
    assert grammar.reasoning.markers == ("[THINK]", "[/THINK]")
    assert renderer.config.tool_parser == "longcat"
