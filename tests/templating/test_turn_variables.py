"""The variables that can change how turns are written."""

from __future__ import annotations

import pytest

from renderers.templating.turn_variables import turn_variables

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
}  # fmt: skip
NOT_READ = {
    "before the loop": "{{ x | upper }}" + LOOP,
    "in a loop before it": "{% for d in x %}{{ d.text }}{% endfor %}" + LOOP,
    "in a variable before it": "{% set a = x | tojson %}{% if a %}{{ a }}{% endif %}" + LOOP,
    "after a loop that writes nothing": "{% for m in messages %}{% set a = m %}\n{% endfor %}{{ x }}" + LOOP,
}


@pytest.mark.parametrize("name", READ)
def test_a_variable_that_can_change_turns_is_listed(name: str) -> None:
    assert "x" in turn_variables(READ[name])


@pytest.mark.parametrize("name", NOT_READ)
def test_a_variable_that_is_read_only_before_the_messages_is_not_listed(name: str) -> None:
    assert "x" not in turn_variables(NOT_READ[name])
