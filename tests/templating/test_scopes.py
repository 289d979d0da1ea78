"""Template text between the fields belongs to the message that was being rendered."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
from renderers.core.native import COMPILED, native
from renderers.core.spans import Span, Trace, written_fields
from renderers.templating import ChatTemplate, scopes
from renderers.templating.texts import field_text
from renderers.templating.values import MixedText
from renderers.templating.wrapping import wrap_message

SYSTEM = {"role": "system", "content": "S"}
USER = {"role": "user", "content": "U"}
ASSISTANT = {"role": "assistant", "content": "A", "tool_calls": [{"name": "f", "arguments": {"k": "v"}}]}
TOOL = {"role": "tool", "content": "R"}


def describe(trace: Trace) -> str:
    """Return a trace as `0:text`, with fields in brackets. Adjacent spans of a message are grouped."""
    parts: list[str] = []
    last: int | None = None
    for span in trace.spans:
        text = trace.text[span.start : span.end]
        if span.message != last:
            parts.append(f" {span.message}:")
            last = span.message
        parts.append(f"[{text}]" if span.path else text)
    return "".join(parts).strip()


def run(source: str, *messages: dict[str, Any], **arguments: Any) -> str:
    return describe(ChatTemplate(source).run(messages, **arguments))


def test_an_iteration_belongs_to_its_message() -> None:
    source = "{% for m in messages %}<{{ m.content }}>{% endfor %}"
    assert run(source, USER, ASSISTANT) == "0:<[U]> 1:<[A]>"


@pytest.mark.parametrize(
    "loop",
    [
        "{% for m in messages[0:] %}<{{ m.content }}>{% endfor %}",
        "{% for m in messages | list %}<{{ m.content }}>{% endfor %}",
        "{% for m in messages if m.role != 'x' %}<{{ m.content }}>{% endfor %}",
        "{% for m in messages | selectattr('role', 'ne', 'x') %}<{{ m.content }}>{% endfor %}",
        "{% for i in range(messages | length) %}{% set m = messages[i] %}<{{ m.content }}>{% endfor %}",
        "{% for i in range(messages | length) %}<{% set m = messages[i] %}{{ m.content }}>{% endfor %}",
        "{% for pair in messages | batch(1) %}<{{ pair[0].content }}>{% endfor %}",
        "{% macro say(m) %}<{{ m.content }}>{% endmacro %}{% for m in messages %}{{ say(m) }}{% endfor %}",
        "{% macro all() %}{% for m in messages %}<{{ m.content }}>{% endfor %}{% endmacro %}{{ all() }}",
        "{% for m in messages %}{% set x %}<{{ m.content }}>{% endset %}{{ x }}{% endfor %}",
        "{% for m in messages %}{% set x = '<' + m.content + '>' %}{{ x }}{% endfor %}",
        "{% for m in messages %}{% filter trim %}<{{ m.content }}>{% endfilter %}{% endfor %}",
        "{% for m in messages %}{% generation %}<{{ m.content }}>{% endgeneration %}{% endfor %}",
        (
            "{% set ns = namespace(x='') %}{% for m in messages %}{% set ns.x = ns.x ~ '<' ~ m.content ~ '>' %}"
            "{% endfor %}{{ ns.x }}"
        ),
        (
            "{% set ns = namespace(x=[]) %}{% for m in messages %}{% set ns.x = ns.x + [{'content': m.content}] %}"
            "{% endfor %}{% for m in ns.x %}<{{ m.content }}>{% endfor %}"
        ),
        "{% for m in messages %}<{{ m.content }}{% if loop.first %}>{% continue %}{% endif %}>{% endfor %}",
        "{% for m in messages %}{% for c in 'ab' %}{% break %}{% endfor %}<{{ m.content }}>{% endfor %}",
    ],
)
def test_every_way_to_loop_over_messages_attributes_the_text_to_its_message(loop: str) -> None:
    assert run(loop, USER, ASSISTANT) == "0:<[U]> 1:<[A]>"


def test_a_loop_inside_an_iteration_belongs_to_the_same_message() -> None:
    source = "{% for m in messages %}<{% for c in m.tool_calls %}({{ c.name }}){% endfor %}>{% endfor %}"
    assert run(source, USER, ASSISTANT) == "0:<> 1:<([f])>"


def test_a_message_rendered_inside_the_iteration_of_another_owns_its_delimiters() -> None:
    source = (
        "{% for m in messages %}{% if m.role != 'tool' %}<{{ m.content }}"
        "{% for r in messages[loop.index :] %}{% if r.role != 'tool' %}{% break %}{% endif %}({{ r.content }})"
        "{% endfor %}>{% endif %}{% endfor %}"
    )
    assert run(source, USER, ASSISTANT, TOOL) == "0:<[U]> 1:<[A] 2:([R]) 1:>"


def test_a_field_looked_up_in_another_message_belongs_to_it_but_the_text_around_does_not() -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'tool' %}{% for c in messages[loop.index0 - 1].tool_calls %}"
        "<name={{ c.name }}>{% endfor %}{{ m.content }}{% endif %}{% endfor %}"
    )
    assert run(source, ASSISTANT, TOOL) == "1:<name= 0:[f] 1:>[R]"


def test_a_branch_belongs_to_the_only_message_with_text_in_it() -> None:
    source = (
        "{% if tools %}<tools>{% if messages[0].role == 'system' %}{{ messages[0].content }}{% endif %}"
        "{{ tools[0].name }}</tools>{% endif %}{% for m in messages %}({{ m.content }}){% endfor %}"
    )
    assert run(source, SYSTEM, USER, tools=[{"name": "T"}]) == "0:<tools>[S] -1:[T] 0:</tools>([S]) 1:([U])"
    assert run(source, USER, tools=[{"name": "T"}]) == "-1:<tools>[T]</tools> 0:([U])"


def test_text_before_a_leading_system_message_belongs_to_it() -> None:
    source = (
        "<sys>{{ messages[0].content if messages[0].role == 'system' else 'default' }}</sys>{{ messages[-1].content }}"
    )
    assert run(source, SYSTEM, USER) == "0:<sys>[S]</sys> 1:[U]"
    assert run(source, USER) == "-1:<sys>default</sys> 0:[U]"


def test_text_before_a_turn_that_a_loop_opens_belongs_to_no_message() -> None:
    loop = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    source = "[BOS]{% if tools %}<system>{{ tools[0].name }}</tools>{% endif %}" + loop
    assert run(source, SYSTEM, USER) == "-1:[BOS] 0:<[system]>[S] 1:<[user]>[U]"
    assert run(source, SYSTEM, tools=[{"name": "T"}]) == "-1:[BOS]<system>[T]</tools> 0:<[system]>[S]"
    # A blank does not open a turn.
    assert run("<sys>" + loop.replace("<{{ m.role }}>", " "), SYSTEM, USER) == "0:<sys> [S] 1: [U]"


def test_an_empty_system_message_owns_its_delimiters() -> None:
    source = "<sys>{{ messages[0].content | trim }}</sys>{% for m in messages[1:] %}({{ m.content }}){% endfor %}"
    assert run(source, SYSTEM | {"content": " \n"}, USER) == "0:<sys>[]</sys> 1:([U])"


def test_text_after_a_message_belongs_to_it() -> None:
    assert (
        run("{{ messages[0].content }}<mid>{{ messages[1].content }}<end>", USER, ASSISTANT) == "0:[U]<mid> 1:[A]<end>"
    )


@pytest.mark.parametrize(
    "prompt",
    [
        "{% if add_generation_prompt %}<gen>{% endif %}",
        "{% if add_generation_prompt and messages[-1].role == 'user' %}<gen>{% endif %}",
        "{% if not add_generation_prompt %}<no>{% else %}<gen>{% endif %}",
        "{% if not add_generation_prompt %}<no>{% elif messages %}<gen>{% endif %}",
        "{{ '<gen>' if add_generation_prompt else '' }}",
        "{{ '' if not add_generation_prompt else '<gen>' }}",
        "{{ '' if x or not add_generation_prompt else '<gen>' }}",
        "{% set p = '' %}{% if add_generation_prompt %}{% set p = '<gen>' %}{% endif %}{{ p }}",
        "{% macro g() %}{% if add_generation_prompt %}<gen>{% endif %}{% endmacro %}{{ g() }}",
    ],
)
def test_the_generation_prompt_belongs_to_no_message(prompt: str) -> None:
    source = "{% for m in messages %}<{{ m.content }}>{% endfor %}" + prompt
    assert run(source, USER, add_generation_prompt=True) == "0:<[U]> -1:<gen>"


def test_a_generation_prompt_inside_the_last_iteration_belongs_to_no_message() -> None:
    prompt = "{% if loop.last and add_generation_prompt %}<gen>{% endif %}"
    source = "{% for m in messages %}<{{ m.content }}>" + prompt + "{% endfor %}"
    assert run(source, USER, add_generation_prompt=True) == "0:<[U]> -1:<gen>"


def test_a_loop_that_continues_in_a_generation_prompt_leaves_it() -> None:
    prompt = "{% if add_generation_prompt and k == 'p' %}<gen>{% continue %}{% endif %}"
    source = "{% for m in messages %}{% for k, v in m.d.items() %}" + prompt + "<{{ v }}>{% endfor %}{% endfor %}"
    message = {"role": "user", "d": {"p": "x", "q": "y"}}
    assert run(source, message, add_generation_prompt=True) == "-1:<gen> 0:<[y]>"


def test_text_that_is_also_emitted_without_a_generation_prompt_is_not_part_of_it() -> None:
    source = (
        "{% for m in messages %}<{{ m.content }}{% if not loop.last or add_generation_prompt %}>{% endif %}{% endfor %}"
    )
    assert run(source, USER, ASSISTANT, add_generation_prompt=True) == "0:<[U]> 1:<[A]>"


@pytest.mark.parametrize("source", ["{{ bos_token }}<{{ messages[0].content }}", "<s><{{ messages[0].content }}"])
def test_a_bos_token_at_the_beginning_belongs_to_no_message(source: str) -> None:
    assert run(source, SYSTEM, bos_token="<s>") == "-1:<s> 0:<[S]"
    assert run(source, SYSTEM, bos_token="") in ("0:<[S]", "0:<s><[S]")


def test_only_the_first_of_several_bos_tokens_belongs_to_no_message() -> None:
    source = "{% for m in messages %}{{ bos_token }}{{ m.content }}{{ eos_token }}{% endfor %}"
    assert run(source, USER, ASSISTANT, bos_token="<s>", eos_token="</s>") == "-1:<s> 0:[U]</s> 1:<s>[A]</s>"


def test_an_argument_of_the_template_is_a_field_of_no_message() -> None:
    trace = ChatTemplate("<{{ persona }}{{ docs[0].text }}>").run([USER], persona="P", docs=[{"text": "D"}])
    assert [(span.message, span.path) for span in trace.spans] == [
        (-1, ()),
        (-1, ("persona",)),
        (-1, ("docs", 0, "text")),
        (-1, ()),
    ]


def test_a_recursive_loop_gives_the_right_text_and_a_coarse_owner() -> None:
    tree = {"role": "user", "content": "U", "kids": [{"content": "V", "kids": []}]}
    source = "{% for m in messages recursive %}<{{ m.content }}{{ loop(m.kids) }}>{% endfor %}"
    trace = ChatTemplate(source).run([tree])
    assert trace.text == "<U<V>>"
    assert [span.message for span in trace.spans if span.path] == [0, 0]


def test_booleans_and_none_belong_to_the_message() -> None:
    source = "{% for m in messages %}{{ m.flag }}{{ m.none }}{% endfor %}"
    assert run(source, {"role": "user", "flag": True, "none": None}) == "0:TrueNone"


def test_adjacent_spans_have_different_owners() -> None:
    trace = ChatTemplate("{% for m in messages %}a{{ 'b' }}{{ m.content }}{% endfor %}").run([USER])
    assert [(span.start, span.end) for span in trace.spans] == [(0, 2), (2, 3)]


BLANK_BEFORE_TURN = ["{{ ' ' }}{% if true %}<u>{% endif %}", " <u>", "{{ ' ' ~ '<u>' }}", "{{ ' ' }}{{ '<u>' }}"]


@pytest.mark.parametrize("opening", BLANK_BEFORE_TURN)
def test_it_does_not_matter_how_the_text_before_a_turn_is_cut_into_pieces(opening: str) -> None:
    source = "<tools>{% for m in messages %}" + opening + "{{ m.content }}{% endfor %}"
    assert run(source, SYSTEM, USER) == "-1:<tools> 0: <u>[S] 1: <u>[U]"


def test_spans_are_settled_on_first_access_only(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def settle(*args: Any, **kwargs: Any) -> tuple[()]:
        calls.append(1)
        return ()

    monkeypatch.setattr("renderers.templating.template.settle_spans", settle)
    trace = ChatTemplate("{{ messages[0].content }}").run([USER])
    assert (trace.text, calls) == ("U", [])
    assert trace.spans == trace.spans == ()
    assert calls == [1]


def test_ids_are_rendered_without_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
    renderer.render([USER])

    def fail(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("spans were settled")

    monkeypatch.setattr("renderers.templating.template.settle_spans", fail)
    assert renderer.render_ids([{"role": "user", "content": "Hello"}])
    turn = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "He"}]
    assert renderer.render_ids(turn, continue_final_message=True)


def test_a_trace_can_be_pickled() -> None:
    trace = ChatTemplate("{% for m in messages %}<{{ m.content }}>{% endfor %}").run([USER])
    copy = pickle.loads(pickle.dumps(trace))
    assert (copy.text, copy.spans) == (trace.text, trace.spans)


# ==================
# Written fields
# ==================

FIELDS = [
    "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{{ m.content }}{% endfor %}",
    "{{ messages[0].content ~ '-' ~ messages[1].content }}{{ tools | tojson }}{{ messages[0].missing }}",
    "{% macro f(m) %}[{{ m.content | upper }}]{% endmacro %}{% for m in messages %}{{ f(m) ~ '' }}{% endfor %}",
    "{% for m in messages %}{{ m.tool_calls | default([]) | tojson }}{{ m | tojson }}{{ m }}{{ m.empty }}{% endfor %}",
    "{% set x %}{% for m in messages %}{{ m.content }}{% endfor %}{% endset %}{{ x[1:] }}",
]


@pytest.mark.parametrize("source", FIELDS)
def test_written_fields_are_those_of_the_spans(source: str) -> None:
    messages: list[dict[str, Any]] = [{**USER, "empty": ""}, ASSISTANT, {**TOOL, "content": " R R "}]
    trace = ChatTemplate(source).run(messages, tools=[{"name": "f"}])
    for end in (len(trace.text), 3, 0):
        part = trace.truncate(end)
        assert {field for field in part.written_fields() if field[1]} == written_fields(part)
    assert trace.written_fields() == trace.truncate(len(trace.text)).written_fields() != set()


def test_a_field_without_text_is_not_written() -> None:
    trace = ChatTemplate("{{ messages[0].content }}{{ messages[0].name }}-").run([{"content": "", "name": ""}])
    assert trace.written_fields() == set()


def test_the_json_of_a_message_is_text_of_the_message() -> None:
    trace = ChatTemplate("{{ messages[0] | tojson }}").run([{"role": "user", "content": "Hi"}])
    assert trace.written_fields() == {(0, ()), (0, ("role",)), (0, ("content",))}


# ==================
# The twins in C
# ==================

needs_c = pytest.mark.skipif(not COMPILED, reason="the part in C was not built")
OWNERS = st.tuples(st.integers(-1, 2), st.sampled_from([(), ("content",), ("tool_calls", 0)]))
SHORT = st.sampled_from(["", " ", "a", "bc", "北"])
RUN = st.tuples(SHORT, st.none() | st.integers(0, 5) | OWNERS)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("text"), SHORT),
        st.tuples(st.just("field"), SHORT, OWNERS),
        st.tuples(st.just("mixed"), st.lists(RUN, max_size=3)),
        st.tuples(st.just("message"), st.integers(0, 5), st.integers(0, 2)),
        st.tuples(st.just("iteration"), st.integers(0, 5)),
        st.tuples(st.just("branch"), st.integers(0, 5), st.booleans()),
        st.tuples(st.just("return"), st.integers(0, 5)),
    ),
    max_size=14,
)


def output_of(steps: list[Any]) -> tuple[list[str], list[scopes.Scope]]:
    """Return the pieces of an output, and its scopes. Numbers in the steps stand for scopes that were opened before."""
    pieces: list[str] = []
    opened = [scopes.root_scope()]
    owners: dict[Any, Any] = {}
    for kind, *details in steps:
        outer = opened[details[0] % len(opened)] if isinstance(details[0], int) else opened[0]
        if kind == "text":
            pieces.append(details[0])
        elif kind == "field":
            pieces.append(field_text(details[0], owners.setdefault(details[1], details[1])))
        elif kind == "mixed":
            runs, text = [], ""
            for part, owner in details[0]:
                text += part
                runs.append((len(text), opened[owner % len(opened)] if isinstance(owner, int) else owner))
            made = str.__new__(MixedText, text)
            made._runs = tuple(runs)
            pieces.append(made)
        elif kind == "message":
            opened.append(scopes.enter_message(outer, wrap_message({}, details[1]), pieces))
        elif kind == "iteration":
            opened.append(scopes.enter_iteration(outer, None, pieces, outer, is_assigned=True))
        elif kind == "branch":
            opened.append(scopes.enter_branch(outer, pieces, details[1]))
        else:
            pieces.append(outer)
    return pieces, opened


@needs_c
@given(STEPS, st.lists(st.sampled_from(["system", "user", 5]), min_size=3, max_size=3))
def test_an_output_is_settled_alike_in_c_and_in_python(steps: list[Any], roles: list[Any]) -> None:
    found = []
    for settle in (native.settle, scopes.settle_in_python):
        pieces, opened = output_of(steps)
        spans = settle("".join(pieces), pieces, opened[0], roles, scopes._LEADING_ROLES, scopes._TYPES)
        assert {type(span) for span in spans} <= {Span}
        found.append((spans, [getattr(scope, "body_messages", None) for scope in opened]))
    assert found[0] == found[1]


@needs_c
@given(STEPS)
def test_written_fields_are_found_alike_in_c_and_in_python(steps: list[Any]) -> None:
    pieces, _ = output_of(steps)
    fields = native.written_fields(pieces, scopes.TEXT_TYPES)
    assert fields == scopes._collect_fields(pieces, scopes.TEXT_TYPES)
    with pytest.raises(TypeError):
        native.written_fields(tuple(pieces), scopes.TEXT_TYPES)  # type: ignore[arg-type]


@needs_c
@pytest.mark.parametrize("runs", [None, (1,), ((1,),), (("1", None),)])
def test_runs_of_other_shapes_are_refused_in_c(runs: Any) -> None:
    text = str.__new__(MixedText, "a")
    text._runs = runs
    with pytest.raises(TypeError):
        native.written_fields([text], scopes.TEXT_TYPES)


@needs_c
def test_outputs_of_other_shapes_are_refused_in_c() -> None:
    root, types = scopes.root_scope(), scopes._TYPES

    def settle(pieces: Any, *, text: Any = "a", outer: Any = root, roles: Any = (), kinds: Any = types) -> None:
        settle_in_c: Any = native.settle
        with pytest.raises((TypeError, AttributeError, OverflowError, IndexError)):
            settle_in_c(text, pieces, outer, [*roles], scopes._LEADING_ROLES, kinds)

    broken = field_text("a", (0, ()))
    for owner in (None, (0,), ("0", ()), (2**70, ()), 5):
        broken._owner = owner  # type: ignore[assignment]
        settle([scopes.enter_branch(root, [], False), broken])
    for runs in (None, (1,), ((1,),), (("1", None),), ((1, 5),)):
        text = str.__new__(MixedText, "a")
        text._runs = runs  # type: ignore[assignment]
        settle([text])
    for pieces in ((), [1], [b"a"]):
        settle(pieces)
    settle([field_text("a", (0, ()))])
    settle([], text=b"a")
    settle(["a"], outer=5)
    for kinds in ((), (*types[:3], str), (*types[:3], "Span"), list(types)):
        settle([], kinds=kinds)


@needs_c
@given(st.integers(0, 3), st.booleans())
def test_a_scope_of_a_message_is_the_same_in_c_and_in_python(index: int, in_branch: bool) -> None:
    root = scopes.root_scope()
    outer = scopes.enter_branch(root, [], False) if in_branch else root
    message, names = wrap_message({"role": "user"}, index), ("parent", "owner", "message")
    made = []
    for enter in (scopes.enter_message, scopes._enter_message):
        output: list[str] = []
        scope = enter(outer, message, output)
        assert output[0] is scope
        made.append([type(scope), *(getattr(scope, name) for name in names)])
    assert made[0] == made[1]
    assert made[0][1] is outer


@needs_c
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ((), "outer", "message", []),
        ((int, "parent", "owner", "message", "_owner"), scopes.root_scope(), wrap_message({}, 0), []),
        (scopes._SCOPE, scopes.root_scope(), wrap_message({}, 0), ()),
    ],
)
def test_other_arguments_are_no_scope(arguments: Any) -> None:
    from renderers.core._native import enter_message

    with pytest.raises(TypeError):
        enter_message(*arguments)


@needs_c
def test_a_scope_of_a_message_needs_a_message() -> None:
    messages: list[Any] = [{}, "text"]
    for message in messages:
        output: list[str] = []
        with pytest.raises(AttributeError):
            scopes.enter_message(scopes.root_scope(), message, output)
        assert not output


def test_an_iteration_that_emits_nothing_enters_no_scope() -> None:
    source = (
        "{%- for m in messages %}[{{ m.role }}"
        "{%- for k in range(9) %}{% if k == 3 %}{% set other = messages[0] %}<{{ other.content }}>{% endif %}"
        "{%- endfor %}]{% endfor %}"
    )
    trace = ChatTemplate(source).run([USER, USER])
    assert trace.text == "[user<U>][user<U>]"
    assert [(span.message, trace.text[span.start : span.end]) for span in trace.spans if not span.path] == [
        *((0, "["), (0, "<"), (0, ">]"), (1, "["), (0, "<"), (0, ">"), (1, "]"))
    ]
    # For each message: its own, that of the one iteration, and the way back. Then the end of the loop.
    assert sum(isinstance(piece, scopes.Scope) for piece in trace.pieces) == 7
