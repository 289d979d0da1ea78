"""Programs are built by name from a tokenizer and the options of a renderer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from renderers import EXAMPLE_MODEL, LoadedTokenizer, load_tokenizer
from renderers.errors import TemplateMissingError
from renderers.programs.registry import PROGRAMS, ProgramRequest
from renderers.programs.template import TemplateProgram
from renderers.templating import LIMITS


def build(tokenizer: LoadedTokenizer, *, chat_template: str | None = None, with_tools: bool = False) -> TemplateProgram:
    request = ProgramRequest(tokenizer, chat_template, with_tools, LIMITS, verify=True)
    program = PROGRAMS["template"](request)
    assert isinstance(program, TemplateProgram)
    return program


def tokenizer_with(chat_templates: dict[str, str]) -> LoadedTokenizer:
    """Return the attributes of a tokenizer that a program is built from."""
    fields = SimpleNamespace(name_or_path="some/model", chat_templates=chat_templates, special_tokens_map={})
    return cast(LoadedTokenizer, fields)


def test_a_program_has_the_template_and_the_special_tokens_of_the_tokenizer() -> None:
    tokenizer = load_tokenizer(EXAMPLE_MODEL)
    program = build(tokenizer)
    assert program.template.source == tokenizer.chat_template
    assert dict(program.special_tokens) == tokenizer.special_tokens_map
    assert program.template.verify
    assert program == build(tokenizer)
    assert hash(program) == hash(build(tokenizer))


def test_a_template_of_the_caller_comes_first() -> None:
    assert build(load_tokenizer(EXAMPLE_MODEL), chat_template="{{ messages }}").template.source == "{{ messages }}"


def test_conversations_with_tools_use_the_template_for_tools() -> None:
    tokenizer = tokenizer_with({"default": "plain", "tool_use": "tools"})
    assert build(tokenizer).template.source == "plain"
    assert build(tokenizer, with_tools=True).template.source == "tools"


def test_a_tokenizer_without_a_template_is_rejected() -> None:
    with pytest.raises(TemplateMissingError, match="has no chat template"):
        build(tokenizer_with({}))


def test_the_programs_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        PROGRAMS["other"] = PROGRAMS["template"]  # type: ignore[index]
