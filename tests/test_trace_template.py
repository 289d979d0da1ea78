"""A traced run gives the text of transformers' own environment, and every body character the field it came from."""

from __future__ import annotations

import datetime
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import pytest
from transformers.utils.chat_template_utils import _compile_jinja_template

from renderers import EMBEDDED
from renderers.errors import TemplateRefusalError, TemplateRunError
from renderers.spans import Span, Trace
from renderers.trace import ChatTemplate
from tests.conversations import CONVERSATIONS, TOOLS
from tests.models import SHARED

NOW = datetime.datetime(2026, 11, 15, 12, 30)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
HUB = sorted((SHARED / "hub" / "templates").glob("*.jinja"))
CORPUS = sorted((SHARED / "corpus").glob("*.jinja"))
TEMPLATES = [EMBEDDED / "chat_template.jinja", *HUB, *CORPUS]
SWITCHES: list[dict[str, Any]] = [{}, {"enable_thinking": False}, {"enable_thinking": True, "thinking": True}]


def variations(*, most: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the name of a conversation and the other arguments, in all combinations."""
    for name, tools, prompt, switches in itertools.product(
        itertools.islice(CONVERSATIONS, most), (None, TOOLS), (False, True), SWITCHES
    ):
        yield name, {"tools": tools, "add_generation_prompt": prompt, **TOKENS, **switches}


def theirs(source: str, messages: list[dict[str, Any]], **arguments: Any) -> str | Exception:
    try:
        text: str = _compile_jinja_template(source).render(
            messages=messages, documents=None, strftime_now=NOW.strftime, **arguments
        )
    except Exception as error:
        return error
    return text


def ours(template: ChatTemplate, messages: list[dict[str, Any]], **arguments: Any) -> Trace | Exception:
    try:
        return template.run(messages, now=NOW, **arguments)
    except Exception as error:
        return error


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_the_text_is_that_of_transformers_and_bodies_belong_to_their_fields(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    template, counts = ChatTemplate(source), Counter[str]()
    for name, arguments in variations():
        messages = CONVERSATIONS[name]
        expected = theirs(source, messages, **arguments)
        got = ours(template, messages, **arguments)
        if isinstance(expected, Exception):
            assert isinstance(got, TemplateRefusalError | TemplateRunError), (name, arguments, got, expected)
            if type(expected) is jinja2.TemplateError:
                assert isinstance(got, TemplateRefusalError)
                assert got.reason == str(expected)
            counts["refused"] += 1
            continue
        assert isinstance(got, Trace), (name, arguments, got)
        assert got.text == expected, (name, arguments)
        check_form(got)
        if path not in CORPUS:
            check_owners(got, messages)
        counts["rendered"] += 1
    assert counts["rendered"] > 0 or path.stem in NEVER_RENDER


NEVER_RENDER = {"llamacpp__CohereForAI-c4ai-command-r-plus-tool_use", "llamacpp__fireworks-ai-llama-3-firefunction-v2"}


def check_form(trace: Trace) -> None:
    """Spans are in order, without a gap, and neighbours have different owners."""
    at = 0
    for span in trace.spans:
        assert span.start == at
        assert span.end >= span.start
        at = span.end
    assert at == len(trace.text)
    assert all(
        (one.message, one.path) != (other.message, other.path) or one.end == one.start or other.end == other.start
        for one, other in itertools.pairwise(trace.spans)
    )


def field(messages: list[dict[str, Any]], span: Span) -> Any:
    """Returns the value of the field that a span names."""
    value: Any = messages[span.message] if span.message >= 0 else {"tools": TOOLS}
    for key in span.path:
        value = value[key]
    return value


def came_from(text: str, value: Any) -> bool:
    """Says whether a text can have come from a field: a part of it, or of its JSON, or of one of its keys."""
    if isinstance(value, str) and (text in value or text.strip() in value or text.lower() in value.lower()):
        return True
    forms = [json.dumps(value, ensure_ascii=ascii_, indent=indent) for ascii_ in (False, True) for indent in (None, 4)]
    forms += [json.dumps(value, ensure_ascii=False, sort_keys=True), str(value)]
    forms += [json.dumps(value, ensure_ascii=False, sort_keys=sort, separators=(",", ":")) for sort in (False, True)]
    return any(text in form for form in forms)


def check_owners(trace: Trace, messages: list[dict[str, Any]]) -> None:
    """Every span that names a field has text of that field."""
    for span in trace.spans:
        if span.path:
            text = trace.text[span.start : span.end]
            keyed = str(span.path[-1]) == text.strip('"')
            assert keyed or came_from(text, field(messages, span)), (span, text)
