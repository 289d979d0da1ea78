"""The generated code reads fields once, leaves out what no text needs, and holds no name of a template unchecked."""

from __future__ import annotations

import ast
import gc

import pytest

from renderers.errors import TemplateRefusalError, TemplateRunError, TemplateSourceError
from renderers.templating import ChatTemplate
from renderers.templating.compiler import _Compiler
from renderers.templating.limits import LIMITS
from renderers.templating.sandbox import ChatEnvironment
from renderers.templating.syntax import parse_template

MESSAGES = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}]


def code(source: str) -> str:
    return _Compiler(parse_template(source, LIMITS)).source()


def test_a_field_of_a_message_that_is_read_repeatedly_is_read_once() -> None:
    loop = "{% for m in messages %}{% if m.role == 'a' or m['role'] == 'b' %}{{ m.role }}{% endif %}{% endfor %}"
    assert code(loop).count(".get('role'") == 1
    assigned = loop.replace("{% if", "{% set m = m.x %}{% if")
    assert code(assigned).count(".get('role'") == 3


@pytest.mark.parametrize(
    "source",
    [
        "{% for m in messages[1:] %}{{ m.content }}{% endfor %}",
        "{% set list = messages %}{% for m in list %}{{ m.content }}{% endfor %}",
        "{% if x %}{% set messages = messages[1:] %}{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}",
    ],
)
def test_messages_are_known_through_slices_and_assignments(source: str) -> None:
    assert "enter_message" in code(source)
    assert "attribute(" not in code(source)


def test_a_loop_that_emits_nothing_opens_no_scope() -> None:
    quiet = "{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
    assert "enter" not in code("{% set ns = namespace(last=0) %}" + quiet)
    assert "enter" in code("{% set ns = namespace(last='') %}" + quiet.replace("loop.index0", "'a' ~ m.role"))


@pytest.mark.parametrize(
    ("loop", "ends"),
    [
        ("{% for m in messages %}{% if not n.x %}{{ m }}{% endif %}{% endfor %}", True),
        ("{% for m in messages %}{% if n.x or n.y %}{% elif m.z %}{{ m }}{% else %}b{% endif %}{% endfor %}", True),
        ("{% for m in messages %}{% if not n.x %}{{ m }}{% else %}{% endif %}{% endfor %}", True),
        ("{% for m in messages %}{% if not n.x %}{{ m }}{% else %}a{% endif %}{% endfor %}", False),
        ("{% for m in messages %}{% if not n.x %}{{ m }}{% endif %} {% endfor %}", False),
        ("{% for m in messages %}{% if not n.x %}{{ m }}{% endif %}{{ raise_exception('no') }}{% endfor %}", False),
        ("{% for m in messages %}{% if not n.x and m.y %}{{ m }}{% endif %}{% endfor %}", False),
        ("{% for m in messages %}{% if not y %}{{ m }}{% endif %}{% endfor %}", False),
        ("{% for m in messages %}{% if m.y %}{% elif n.x %}{% endif %}{% endfor %}", False),
        ("{% for n in messages %}{% if not n.x %}{{ n }}{% endif %}{% endfor %}", False),
        ("{% for m in messages %}{% if not n.x %}{% set n = m %}{% endif %}{% endfor %}", False),
        ("{% for m, o in messages %}{% if not n.x %}{{ m }}{% endif %}{% endfor %}", False),
        ("{% for m in messages %}{% if not n.x %}{{ m }}{% endif %}{% else %}e{% endfor %}", False),
        ("{% for m in messages if m.y %}{% if not n.x %}{{ m }}{% endif %}{% endfor %}", False),
    ],
)
def test_a_loop_ends_when_the_rest_of_its_iterations_does_nothing(loop: str, ends: bool) -> None:
    assert ("break" in code("{% set n = namespace(x=false, y=true) %}" + loop)) is ends


def test_a_macro_in_a_sum_of_texts_writes_to_the_output_itself() -> None:
    macro = "{% macro f(m) %}<{{ m.content }}>{% endmacro %}"
    loop = "{% for m in messages %}{{ SUM }}{% endfor %}"
    added = macro + loop.replace("SUM", "'a' + f(m) + m.role + f(m)")
    assert "text_of" not in code(added)
    assert "text_of" in code(macro + "{% set x = 'a' + f(messages[0]) %}{{ x }}")
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": ""}]
    apart = macro + loop.replace("SUM", "'a' }}{{ f(m) }}{{ m.role }}{{ f(m)")
    assert ChatTemplate(added).run(messages).spans == ChatTemplate(apart).run(messages).spans
    with pytest.raises(TemplateRunError, match="TypeError"):
        ChatTemplate(macro + loop.replace("SUM", "'a' + f(m) + 1")).run(messages)


def test_a_loop_that_assigns_numbers_from_variables_opens_no_scope() -> None:
    quiet = "{% for m in messages[::-1] %}{% set i = messages | length - loop.index %}{% set ns.last = i %}{% endfor %}"
    assert "enter" not in code("{% set ns = namespace(last=0) %}" + quiet)
    assert "enter" in code(
        "{% set ns = namespace(last=0) %}" + quiet.replace("%}{% set ns", "%}{% set i = m.x %}{% set ns")
    )


@pytest.mark.parametrize("jump", ["break", "continue"])
@pytest.mark.parametrize(
    "block",
    [
        "{% for x in [] %}{% else %}{% jump %}{% endfor %}",
        "{% for x in [] %}{% else %}{% if m %}{% jump %}{% endif %}{% endfor %}",
        "{% with a = 1 %}{% jump %}{% endwith %}",
        "{% filter upper %}{% jump %}{% endfilter %}",
        "{% set a %}{% jump %}{% endset %}",
    ],
)
def test_no_statement_jumps_out_of_a_generation_block_as_in_jinja(block: str, jump: str) -> None:
    source = "{% for m in messages %}{% generation %}BLOCK{% endgeneration %}x{% endfor %}"
    source = source.replace("BLOCK", block.replace("jump", jump))
    with pytest.raises(SyntaxError):
        ChatEnvironment().from_string(source)
    with pytest.raises(TemplateSourceError, match="in `generation`"):
        ChatTemplate(source)


def test_a_loop_in_a_generation_block_may_jump() -> None:
    loop = "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}x{% endfor %}"
    source = f"{{% generation %}}{loop}{{% endgeneration %}}"
    assert ChatTemplate(source, verify=True).run(MESSAGES).text == "x"


def test_sums_of_texts_become_pieces_and_constants_are_merged() -> None:
    assert "out.append('a' 'b' 'c')" in code("a{{ 'b' + 'c' }}")
    assert "concatenate" not in code("{% for m in messages %}{{ '<' + m.content + '>' ~ m.role }}{% endfor %}")


def test_code_has_no_attribute_or_name_that_a_template_chose() -> None:
    source = "{{ x.evil }}{{ x['evil2'] }}{{ x.evil3() }}{% set evil4 = 1 %}{{ x | attr('evil5') }}{{ f(evil6=1) }}"
    for node in ast.walk(ast.parse(code(source))):
        names = [getattr(node, "attr", ""), getattr(node, "id", "")]
        assert not any(name.startswith("evil") for name in names)


def test_code_is_the_same_in_every_process() -> None:
    source = "{% if x %}{% set a = 1 %}{% set b = 1 %}{% set c = 1 %}{% endif %}{{ a }}{{ b }}{{ c }}"
    assert [name for name in ("a", "b", "c") if name in code(source)] == ["a", "b", "c"]
    assert code(source) == code(source)


@pytest.mark.parametrize(
    "source",
    [
        "{% for m in messages %}{% if loop.last %}{{ raise_exception('no') }}{% endif %}{% endfor %}",
        "{% for i in range(2) %}{% set m = messages[i] %}{% if i %}{{ m.x.y }}{% endif %}{% endfor %}",
        "{% macro f(m) %}{{ m.x.y }}{% endmacro %}{% for m in messages %}{{ f(m) if loop.last }}{% endfor %}",
        "{% for m in messages %}{% for c in 'ab' %}{{ m.x.y if m.role == 'assistant' }}{% endfor %}{% endfor %}",
    ],
)
def test_an_error_names_the_message_of_the_innermost_loop(source: str) -> None:
    with pytest.raises((TemplateRefusalError, TemplateRunError)) as caught:
        ChatTemplate(source, verify=False).run(MESSAGES)
    assert caught.value.message == 1


def test_an_error_after_a_loop_names_no_message() -> None:
    with pytest.raises(TemplateRunError) as caught:
        ChatTemplate("{% for m in messages %}{{ m.role }}{% endfor %}{{ x.y }}").run(MESSAGES)
    assert caught.value.message is None


@pytest.mark.parametrize(
    "source",
    [
        "{% if true %}{% for m in messages %}{{ m.content }}{% endfor %}{% endif %}",
        "{% macro f(n) %}{{ f(n - 1) if n }}{{ messages[0].content }}{% endmacro %}{{ f(2) }}",
        "{% macro f(n) %}{{ g(n) if n }}{% endmacro %}{% macro g(n) %}{{ n }}{{ f(n - 1) }}{% endmacro %}{{ f(2) }}",
    ],
)
def test_a_run_leaves_nothing_for_the_garbage_collector(source: str) -> None:
    template = ChatTemplate(source, verify=False)

    def run() -> None:
        assert template.run(MESSAGES).spans

    run()
    gc.collect()
    gc.disable()
    try:
        run()
        assert gc.collect() == 0
    finally:
        gc.enable()
