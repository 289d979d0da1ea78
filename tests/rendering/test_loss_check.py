"""The fast check of losses never misses one: it is silent only if nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args
from unittest.mock import Mock

import pytest

from renderers.core.losses import LossKind, LossPolicy
from renderers.core.messages import normalise_messages, normalise_tools
from renderers.core.native import COMPILED
from renderers.errors import MessageError, TemplateError
from renderers.rendering import loss_reports
from renderers.rendering.loss_check import may_lose
from renderers.rendering.pipeline import RenderedText
from renderers.templating import ChatTemplate
from tests.stress_losses import renderer_of
from tests.support.conversations import TOOLS
from tests.support.parity import EACH_ONCE
from tests.support.planting import SHAPES

KINDS: tuple[LossKind, ...] = get_args(LossKind)
SAMPLE = EACH_ONCE[::11]


def render(path: Path, messages: list[dict[str, Any]], *, with_tools: bool) -> RenderedText | None:
    tools = normalise_tools(TOOLS if with_tools else None)
    try:
        pipeline = renderer_of(str(path))._pipeline
        return pipeline.run(normalise_messages(messages), tools=tools, add_generation_prompt=False)
    except (MessageError, TemplateError):
        return None


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.stem)
def test_the_check_misses_no_loss(path: Path) -> None:
    texts = [render(path, messages, with_tools=tools) for messages in SHAPES.values() for tools in (False, True)]
    rendered = [text for text in texts if text is not None]
    for text in rendered:
        for kinds in (KINDS, *((kind,) for kind in KINDS)):
            if text.loss_finder().unwritten(kinds):
                assert may_lose(text.messages, text.items, text.run.written(), kinds)
    assert rendered


def test_a_name_in_an_id_that_is_written_is_no_loss() -> None:
    call = {"id": "functions.search:0", "function": {"name": "search", "arguments": '{"query": "sky"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    path = ("tool_calls", 0, "function", "arguments", "query")
    written: set[Any] = {(0, ("tool_calls", 0, "id")), (0, path)}
    assert not may_lose([message], (), written, KINDS)
    assert may_lose([message], (), {(0, path)}, KINDS)
    call["id"] = "call0"
    assert may_lose([message], (), written, KINDS)


def test_the_check_is_silent_if_everything_is_written() -> None:
    names = ("question", "system", "call", "call and text", "parts", "call without content", "call as text")
    for name in names:
        text = render(EACH_ONCE[0], SHAPES[name], with_tools=name.startswith("call"))
        assert text is not None
        assert not may_lose(text.messages, text.items, text.run.written(), KINDS), name


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.stem)
def test_nothing_is_lost_if_all_is_written(path: Path) -> None:
    for name, messages in SHAPES.items():
        for with_tools in (False, True):
            text = render(path, messages, with_tools=with_tools)
            if text is None or text.run.writes_all is None:
                continue
            for kinds in (KINDS, tuple(kind for kind in KINDS if kind != "reasoning")):
                if text.run.writes_all(text.messages, text.items, with_reasoning="reasoning" in kinds):
                    assert text.loss_finder().unwritten(kinds) == [], name


@pytest.mark.skipif(not COMPILED, reason="the part in C was not built")
@pytest.mark.parametrize("name", ["question", "system", "call", "call and text", "parts", "call as text"])
def test_the_messages_are_not_checked_in_python_if_everything_is_written(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss_reports, "may_lose", Mock(side_effect=AssertionError("checked in Python")))
    text = render(EACH_ONCE[0], SHAPES[name], with_tools=name.startswith("call"))
    assert text is not None
    loss_reports.LossReporter(LossPolicy(), "the template").report(text)


@pytest.mark.skipif(not COMPILED, reason="the part in C was not built")
def test_a_field_of_which_nothing_is_written_is_left_to_python() -> None:
    template = ChatTemplate("{% for m in messages %}{{ m.role }}{{ m.content }}{{ m.thinking }}{% endfor %}")
    call = {"id": "0", "function": {"name": "f", "arguments": {"x": 1}}}
    lost: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi", "name": "Ann"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "assistant", "content": "Hi", "reasoning": "why"},
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Hi"}]},
        {"role": "tool", "content": "Hi", "name": "f"},
    ]
    kept: list[dict[str, Any]] = [
        {"role": "user", "content": " \n"},
        {"role": "assistant", "content": None, "thinking": "why", "tool_calls": []},
        {"role": "tool", "content": "Hi", "tool_call_id": "0"},
    ]
    for message in (*lost, *kept):
        run = template.run([message])
        assert run.writes_all([message], (), with_reasoning=True) == (message in kept), message
    run = template.run(kept)
    assert run.writes_all(kept, (("tools", None), ("documents", [])), with_reasoning=True)
    assert not run.writes_all(kept, (("tools", [1]),), with_reasoning=True)
    assert template.run(lost[2:3]).writes_all(lost[2:3], (), with_reasoning=False)
