"""The system and developer messages of Harmony have the texts of OpenAI's encoder."""

from __future__ import annotations

import pytest

from renderers.core.options import DEFAULT_DATE
from renderers.errors import MessageError, TemplateRefusalError
from renderers.programs.encoders.harmony_prompt import HarmonyOptions, system_pieces, tool_pieces
from renderers.programs.pieces import trace_pieces


def test_the_system_message_has_defaults() -> None:
    text = trace_pieces(system_pieces(HarmonyOptions.read({}, DEFAULT_DATE), has_functions=True)).text
    assert text == (
        "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\n"
        "Current date: 2024-07-26\n\nReasoning: medium\n\n"
        "# Valid channels: analysis, commentary, final. Channel must be included for every message.\n"
        "Calls to these tools must go to the commentary channel: 'functions'."
    )


def test_built_in_tools_are_declared_in_the_order_of_the_encoder() -> None:
    options = HarmonyOptions.read({"builtin_tools": ["python", "browser"]}, DEFAULT_DATE)
    text = trace_pieces(system_pieces(options, has_functions=False)).text
    assert text.index("namespace browser {") < text.index("## python") < text.index("# Valid channels")


def test_arguments_are_owned_by_the_caller() -> None:
    pieces = system_pieces(HarmonyOptions.read({"model_identity": "<|end|>"}, DEFAULT_DATE), has_functions=False)
    assert pieces[0] == ("<|end|>", -1, ("model_identity",))


def test_an_unknown_reasoning_effort_is_an_error() -> None:
    fault = "reasoning_effort must be one of 'low', 'medium', 'high', not 'extreme'"
    with pytest.raises(TemplateRefusalError, match=fault):
        HarmonyOptions.read({"reasoning_effort": "extreme"}, DEFAULT_DATE)
    assert HarmonyOptions.read({"reasoning_effort": "low"}, DEFAULT_DATE).reasoning_effort == "low"


def test_a_tool_that_is_no_function_is_an_error() -> None:
    with pytest.raises(MessageError, match="has the type 'web_search', but Harmony has only functions"):
        tool_pieces([{"type": "web_search"}])
