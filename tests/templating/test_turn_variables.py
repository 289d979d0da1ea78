"""The variables that can change how turns are written."""

from __future__ import annotations

import pytest

from renderers.templating.turn_variables import turn_variables, turns_read_items

LOOP = "{% for m in messages %}{{ m.content }}{% endfor %}"
READ = {
    "within the loop": "{% for m in messages %}{{ x ~ m.content }}{% endfor %}",
    "after the loop": LOOP + "{{ x }}",
    "in the items of the loop": "{% for m in messages[x:] %}{{ m.content }}{% endfor %}",
    "in a condition around the loop": "{% if x %}" + LOOP + "{% endif %}",
    "in the other branch": "{% if true %}" + LOOP + "{% else %}{{ x }}{% endif %}",
    "through a variable": "{% set a = x %}{% set b = a %}" + LOOP + "{{ b }}",
    "through a condition": "{% if x %}{% set a = 1 %}{% endif %}" + LOOP + "{{ a }}",
    "through a namespace": "{% set ns = namespace() %}{% set ns.a = x %}" + LOOP + "{{ ns.a }}",
    "through a list": "{% set l = [] %}{% set _ = l.append(x) %}" + LOOP + "{{ l }}",
    "through a block": "{% set a %}{{ x }}{% endset %}" + LOOP + "{{ a }}",
    "through a macro": "{% macro f() %}{{ x }}{% endmacro %}" + LOOP + "{{ f() }}",
    "through a loop over other data": "{% set ns = namespace() %}{% for i in x %}{% set ns.a = i %}{% endfor %}" + LOOP
    + "{{ ns.a }}",
    "after a loop over derived messages": "{% set rest = messages[1:] %}{% for m in rest %}{{ m }}{% endfor %}{{ x }}",
    "without a loop": "{{ x }}{{ messages[0].content }}",
    "in a list of a namespace": "{% set ns = namespace(l=[]) %}{% set _ = ns.l.append(x) %}" + LOOP + "{{ ns.l }}",
    "through another name of a list": "{% set l = [] %}{% set k = l %}{% set _ = k.append(x) %}" + LOOP + "{{ l }}",
    "after a loop within another": "{% for i in [1] %}" + LOOP + "{% endfor %}{{ x }}" + LOOP,
    "after a macro that writes messages": "{% macro f(ms) %}{% for m in ms %}{{ m.content }}{% endfor %}{% endmacro %}"
    "{{ f(messages) }}{{ x }}" + LOOP,
}  # fmt: skip
NOT_READ = {
    "before the loop": "{{ x | upper }}" + LOOP,
    "in a loop before it": "{% for d in x %}{{ d.text }}{% endfor %}" + LOOP,
    "in a variable before it": "{% set a = x | tojson %}{% if a %}{{ a }}{% endif %}" + LOOP,
    "in a loop before it, as a name of its own": "{% for m in x %}{{ m }}{% endfor %}" + LOOP,
    "after the parts of the first message": "{% for p in messages[0].content %}{{ p.text }}{% endfor %}{{ x }}" + LOOP,
    "after a loop that writes nothing": "{% for m in messages %}{% set a = m %}\n{% endfor %}{{ x }}" + LOOP,
}


@pytest.mark.parametrize("name", READ)
def test_a_variable_that_can_change_turns_is_listed(name: str) -> None:
    assert "x" in turn_variables(READ[name])


@pytest.mark.parametrize("name", NOT_READ)
def test_a_variable_that_is_read_only_before_the_messages_is_not_listed(name: str) -> None:
    assert "x" not in turn_variables(NOT_READ[name])


TESTS = [
    "x",
    "not x",
    "x and style",
    "x | length",
    "x | length > 0",
    "x is defined",
    "x is not none",
    "x is not mapping",
]
ITEMS = ["x[0]", "x | length > 1", "x == y", "x | first is defined", "x is sameas y", "'a' in x"]


@pytest.mark.parametrize("test", TESTS)
def test_a_test_whether_a_list_exists_reads_no_item(test: str) -> None:
    for template in (
        f"{{% for m in messages %}}{{{{ m.content if {test} }}}}{{% endfor %}}",
        f"{{{{ x }}}}{{% if {test} %}}{{% set a = 1 %}}{{% endif %}}{LOOP}{{{{ a }}}}",
    ):
        assert not turns_read_items(template, frozenset({"x"}))
        assert "x" in turn_variables(template)


@pytest.mark.parametrize("test", ITEMS)
def test_other_tests_read_items(test: str) -> None:
    assert turns_read_items(f"{{% for m in messages %}}{{{{ m.content if {test} }}}}{{% endfor %}}", frozenset({"x"}))


@pytest.mark.parametrize("name", READ)
def test_a_list_that_is_read_in_turns_is_read_with_its_items(name: str) -> None:
    # Two of the cases only test whether the list exists.
    if "condition" not in name:
        assert turns_read_items(READ[name], frozenset({"x"}))


def test_a_test_of_a_list_that_was_replaced_reads_its_items() -> None:
    chosen = "{% set x = x | selectattr('strict') | list %}"
    assert turns_read_items(chosen + "{% for m in messages %}{{ m.content if x }}{% endfor %}", frozenset({"x"}))
