"""The fast check of losses never misses one, and it agrees with `losses`. Its versions in C and in Python are equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers import EXAMPLE_MODEL, LossError, create_renderer, load_tokenizer
from renderers.core.losses import LossKind, LossPolicy
from renderers.core.messages import normalise_messages, normalise_tools
from renderers.core.native import COMPILED, native
from renderers.core.spans import Span, Trace
from renderers.errors import MessageError, TemplateError
from renderers.programs.base import ProgramRun
from renderers.rendering import loss_check, loss_reports
from renderers.rendering.loss_check import may_lose
from renderers.rendering.pipeline import RenderedText
from renderers.templating import ChatTemplate
from renderers.templating.scopes import TEXT_TYPES
from renderers.templating.texts import field_text
from renderers.templating.values import MixedText
from tests.stress_losses import renderer_of
from tests.support.conversations import TOOLS
from tests.support.parity import EACH_ONCE, mark
from tests.support.planting import SHAPES

KINDS: tuple[LossKind, ...] = get_args(LossKind)
SOME_KINDS: tuple[tuple[LossKind, ...], ...] = (
    KINDS,
    *((kind,) for kind in KINDS),
    tuple(kind for kind in KINDS if kind not in ("name", "text_beside_calls", "reasoning")),
    tuple(kind for kind in KINDS if kind not in ("text_beside_calls", "tool_calls")),
)
SAMPLE = EACH_ONCE[::11]


def render(path: Path, messages: list[dict[str, Any]], *, with_tools: bool) -> RenderedText | None:
    tools = normalise_tools(TOOLS if with_tools else None)
    try:
        pipeline = renderer_of(str(path))._pipeline
        return pipeline.run(normalise_messages(messages), tools=tools, add_generation_prompt=False)
    except (MessageError, TemplateError):
        return None


def check(text: RenderedText, kinds: tuple[LossKind, ...] = KINDS) -> bool:
    return may_lose(text.run, text.messages, text.items, kinds)


def written(messages: list[dict[str, Any]], *fields: tuple[int, tuple[str | int, ...]]) -> ProgramRun:
    """Return a run that wrote one character of each field."""
    spans = tuple(Span(number, number + 1, *field) for number, field in enumerate(fields))
    trace = Trace("x" * len(fields), spans)
    return ProgramRun(trace.text, messages, lambda: trace)


# ==================
# Agreement with the losses
# ==================


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.stem)
def test_a_field_is_reported_if_all_of_it_is_lost(path: Path) -> None:
    shapes = mark([list(SHAPES.values())])[0]
    texts = [render(path, messages, with_tools=tools) for messages in shapes for tools in (False, True)]
    rendered = [text for text in texts if text is not None]
    for text in rendered:
        finder = text.loss_finder()
        # Of tools and documents, only the whole list is reported.
        is_field = {loss: loss.message is not None or len(loss.path) == 1 for loss in finder.losses()}
        lost = [loss for loss in is_field if loss.amount == "all" and is_field[loss]]
        for kinds in SOME_KINDS:
            unwritten = finder.unwritten(kinds)
            assert set(unwritten) == {loss for loss in lost if loss.kind in kinds}
            assert check(text, kinds) or not unwritten
    assert rendered


PARTS = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
WRITES_PARTS = (
    "{% for m in messages %}<|turn|>{{ m.role }}\n{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for part in m.content %}{% if CONDITION %}{{ part.text }}{% endif %}{% endfor %}{% endif %}"
    "<|end|>\n{% endfor %}"
)
WRITES_CALLS_OR_CONTENT = (
    "{% for m in messages %}<|turn|>{{ m.role }}\n{% if m.tool_calls %}{% for c in m.tool_calls %}"
    "<|call|>{{ c.function | tojson }}<|/call|>{% endfor %}{% else %}{{ m.content }}{% endif %}<|end|>\n{% endfor %}"
)


@pytest.mark.parametrize(
    ("source", "message", "path"),
    [
        (WRITES_PARTS, {"role": "user", "content": PARTS, "name": "Ann"}, ("name",)),
        (WRITES_PARTS, {"role": "user", "content": PARTS[:1], "name": "Ann"}, ("name",)),
        (WRITES_PARTS, {"role": "assistant", "content": PARTS, "reasoning_content": "Hm."}, ("reasoning_content",)),
        (WRITES_PARTS.replace("CONDITION", "loop.first"), {"role": "user", "content": PARTS}, ("content", 1)),
        (WRITES_PARTS.replace("CONDITION", "loop.last"), {"role": "user", "content": PARTS}, ("content", 0)),
        (
            "{% for m in messages %}{{ m.content.split('two')[0] }}{% endfor %}",
            {"role": "user", "content": PARTS},
            ("content", 1),
        ),
        (
            WRITES_CALLS_OR_CONTENT,
            {"role": "assistant", "content": "Hi", "reasoning_content": "Hm.", "tool_calls": [CALL]},
            ("reasoning_content",),
        ),
    ],
)
def test_a_field_of_a_message_with_parts_or_calls_is_reported(
    source: str, message: dict[str, Any], path: tuple[str | int, ...]
) -> None:
    renderer = create_renderer(
        load_tokenizer(EXAMPLE_MODEL),
        chat_template=source.replace("CONDITION", "true"),
        on_loss={"default": "error", "text_beside_calls": "ignore"},
    )
    with pytest.raises(LossError) as caught:
        renderer.render_ids([message])
    assert caught.value.path == path


# ==================
# The rule
# ==================


def test_a_name_in_an_id_that_is_written_is_not_a_loss() -> None:
    call = {"id": "functions.search:0", "function": {"name": "search", "arguments": '{"query": "sky"}'}}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    name, arguments = (0, ("tool_calls", 0, "id")), (0, ("tool_calls", 0, "function", "arguments", "query"))
    assert not may_lose(written(messages, name, arguments), messages, (), KINDS)
    assert may_lose(written(messages, arguments), messages, (), KINDS)
    call["id"] = "call0"
    assert may_lose(written(messages, name, arguments), messages, (), KINDS)


def test_the_check_is_silent_if_everything_is_written() -> None:
    names = ("question", "system", "call", "call and text", "parts", "call without content", "call as text")
    for name in names:
        text = render(EACH_ONCE[0], SHAPES[name], with_tools=name.startswith("call"))
        assert text is not None
        assert not check(text), name


@pytest.mark.parametrize("name", ["question", "system", "call", "call and text", "parts", "call as text"])
def test_losses_are_not_searched_for_if_everything_is_written(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = render(EACH_ONCE[0], SHAPES[name], with_tools=name.startswith("call"))
    assert text is not None
    monkeypatch.setattr(RenderedText, "loss_finder", Mock(side_effect=AssertionError("searched")))
    loss_reports.LossReporter(LossPolicy(), "the template").report(text)


@pytest.mark.parametrize("source", ["{{ m.content }}", "{{ m.content | trim }}"])
def test_losses_are_not_searched_for_if_the_joined_text_of_parts_is_written(source: str) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": " \n"}, *PARTS, {"type": "text", "text": " "}]}]
    joined = [{"role": "user", "content": " \nonetwo "}]
    trace = ChatTemplate(f"{{% for m in messages %}}{source}{{% endfor %}}").run(joined)
    assert not may_lose(ProgramRun(trace.text, joined, lambda: trace, trace.pieces), messages, (), KINDS)
    short = ChatTemplate("{% for m in messages %}{{ m.content[:6] }}{% endfor %}").run(joined)
    assert may_lose(ProgramRun(short.text, joined, lambda: short, short.pieces), messages, (), KINDS)


def test_a_field_of_which_nothing_is_written_may_be_lost() -> None:
    template = ChatTemplate("{% for m in messages %}{{ m.role }}{{ m.content }}{{ m.thinking }}{% endfor %}")
    call = {"id": "0", "function": {"name": "f", "arguments": {"x": 1}}}
    lost: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi", "name": "Ann"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "assistant", "content": "Hi", "reasoning": "why"},
        {"role": "assistant", "content": "Hi", "reasoning": "why", "thinking": "how"},
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Hi"}]},
        {"role": "tool", "content": "Hi", "name": "f"},
    ]
    kept: list[dict[str, Any]] = [
        {"role": "user", "content": " \n"},
        {"role": "assistant", "content": None, "thinking": "why", "tool_calls": []},
        {"role": "tool", "content": "Hi", "tool_call_id": "0"},
    ]

    def is_lost(messages: list[dict[str, Any]], items: loss_check.Items, kinds: tuple[LossKind, ...] = KINDS) -> bool:
        trace = template.run(messages)
        return may_lose(ProgramRun(trace.text, messages, lambda: trace, trace.pieces), messages, items, kinds)

    for message in (*lost, *kept):
        assert is_lost([message], ()) == (message in lost), message
    assert not is_lost(kept, (("tools", None), ("documents", [])))
    assert is_lost(kept, (("tools", [1]),))
    assert not is_lost(kept, (("tools", [1]),), ("documents",))
    assert not is_lost(lost[2:3], (), ("name",))


# ==================
# The versions in C and in Python
# ==================

TEXTS = st.sampled_from(
    ["", " ", "\n\t", "\x85", "f", "g", "Hi there", " x ", "{}", " { } ", "{x}", "functions.f:0", "ff"]
)
VALUES = st.one_of(TEXTS, st.sampled_from([None, 0, 1, True, {}, {"a": 1}, [], [1]]))
PARTS_OF_CONTENT = st.one_of(
    TEXTS,
    st.fixed_dictionaries({}, optional={"type": st.sampled_from(["text", "image", None]), "text": VALUES}),
)
CALLS = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "id": VALUES,
            "function": st.fixed_dictionaries({}, optional={"name": VALUES, "arguments": VALUES}),
        },
    ),
    VALUES,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "human"])},
        optional={
            "content": st.one_of(VALUES, st.lists(PARTS_OF_CONTENT, max_size=3)),
            "tool_calls": st.one_of(st.none(), st.lists(CALLS, max_size=2)),
            "name": VALUES,
            "reasoning_content": VALUES,
            "thinking": VALUES,
            "refusal": VALUES,
            "other": VALUES,
        },
    ),
    max_size=3,
)
NUMBERS = st.integers(0, 2)
PATHS = st.one_of(
    st.sampled_from(
        [(), ("content",), ("name",), ("thinking",), ("reasoning",), ("role",), ("tools",), ("tool_calls",)]
    ),
    st.tuples(st.just("content"), NUMBERS, st.sampled_from(["text", "thinking"])),
    st.tuples(st.just("tool_calls"), NUMBERS, st.sampled_from(["id", "name", "arguments"])),
    st.tuples(
        st.just("tool_calls"),
        NUMBERS,
        st.just("function"),
        st.sampled_from(["name", "arguments"]),
        st.sampled_from("ab"),
    ),
    st.tuples(st.just("tool_calls"), NUMBERS, st.just("function"), st.just("name")),
)
OWNERS = st.tuples(st.integers(-1, 3), PATHS)
FIELD_TEXTS = st.builds(lambda text, owner: field_text(text, owner), st.sampled_from(["", "x", "Hi there"]), OWNERS)


@st.composite
def mixed_texts(draw: st.DrawFn) -> str:
    owners = draw(st.lists(st.one_of(st.none(), OWNERS), min_size=1, max_size=3))
    text = MixedText("ab" * len(owners))
    text._runs = tuple((2 * number, owner) for number, owner in enumerate(owners, start=1))
    return text


@pytest.mark.skipif(not COMPILED, reason="the part in C was not built")
@given(
    pieces=st.lists(st.one_of(st.just("<"), FIELD_TEXTS, mixed_texts()), max_size=12),
    messages=MESSAGES,
    items=st.sampled_from([(), (("tools", None), ("documents", [1])), (("tools", [1]),)]),
    kinds=st.sets(st.sampled_from(KINDS)),
)
def test_the_check_in_c_is_the_check_in_python(
    pieces: list[str], messages: list[dict[str, Any]], items: loss_check.Items, kinds: set[LossKind]
) -> None:
    arguments = pieces, messages, items, kinds, TEXT_TYPES, loss_check._WORDS
    assert native.may_lose(*arguments) == loss_check._check_pieces(*arguments)
