"""Every limit on a template raises a TemplateLimitError with its name, before the work is done."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import pytest

from renderers.errors import TemplateLimitError, TemplateSourceError
from renderers.templating import ChatTemplate, TemplateLimits
from renderers.templating.limits import Budget
from renderers.templating.sizes import bits_of_binary, size_of_method, size_of_percent, size_of_text, weight

MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": "ab\ncd\tef", "n": 12}]
C = "messages[0].content"
HUGE = 10**12

TOO_MANY_CHARACTERS = [
    f"{{{{ 'a' * {HUGE} }}}}",
    f"{{{{ {HUGE} * {C} }}}}",
    f"{{{{ [1] * {HUGE} }}}}",
    f"{{{{ ('a' | safe) * {HUGE} }}}}",
    "{% set ns = namespace(x='aa') %}{% for i in range(90) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "{% set ns = namespace(x='aa') %}{% for i in range(90) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(90) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(90) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}",
    "{% set ns = namespace(x=1) %}{% for i in range(90) %}{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}",
    f"{{{{ '%{HUGE}s' % {C} }}}}",
    f"{{{{ '%.{HUGE}f' % 1.5 }}}}",
    f"{{{{ '%*d' % ({HUGE}, 1) }}}}",
    f"{{{{ '%(x){HUGE}d' % {{'x': 1}} }}}}",
    f"{{{{ '%{HUGE}s' | format({C}) }}}}",
    f"{{{{ '{{:>{HUGE}}}'.format(1) }}}}",
    f"{{{{ '{{:{{w}}}}'.format(1, w={HUGE}) }}}}",
    f"{{{{ '{{a:{HUGE}}}'.format_map({{'a': 1}}) }}}}",
    f"{{% set f = '{{a:{HUGE}}}'.format_map %}}{{{{ f({{'a': 1}}) }}}}",
    f"{{{{ ('{{:{HUGE}}}' | attr('format'))(1) }}}}",
    f"{{{{ {C}.center({HUGE}) }}}}",
    f"{{{{ {C}.ljust({HUGE}) }}}}",
    f"{{{{ {C}.rjust({HUGE}, '-') }}}}",
    f"{{{{ {C}.zfill({HUGE}) }}}}",
    f"{{{{ {C}.expandtabs({HUGE}) }}}}",
    f"{{{{ {C} | center({HUGE}) }}}}",
    f"{{{{ {C} | indent({HUGE}) }}}}",
    f"{{{{ {C} | indent(width={HUGE}) }}}}",
    f"{{{{ [1] | tojson(indent={HUGE}) }}}}",
    f"{{{{ '{{:{{w}}}}'.format(1, w='{HUGE}') }}}}",
    f"{{{{ '{{:{{w[0]}}}}'.format(1, w=[{HUGE}]) }}}}",
    f"{{{{ '%(a(b)){HUGE}d' % {{'a(b)': 1}} }}}}",
    f"{{{{ 1 | round({HUGE}, 'ceil') }}}}",
    "{% set x = 'a' * 100000 %}{{ x | replace(new=x, old='a') }}",
    "{% set x = '1' * 100000 %}{{ x | replace(1, x) }}{{ ([1] * 100000) | replace('1', x) }}",
    "{% set x = 'a' * 100000 %}{{ ('a\r' * 10000) | indent(x) }}",
    "{% set x = 'a' * 100000 %}{{ ('www.a.bc ' * 10000) | urlize(rel=x) }}",
    "{% set x = 'a' * 100000 %}{{ ('\x00' * 10000).translate([x]) }}",
    "{% set x = 'a' * 100000 %}{{ x.join(([1] * 10000) | map('string')) }}",
    "{% set x = 'a' * 100000 %}{{ ([0] * 10000) | tojson(separators=(x, ':')) }}",
    (
        "{% set ns = namespace(x=[0] * 1000) %}{% for i in range(90) %}{% set ns.x = [ns.x] %}{% endfor %}"
        "{{ ns.x | tojson(indent=900) }}"
    ),
    "{{ (',' * 8000000).split(',') | length }}",
    "{{ ([[0] * 20000] * 4000) | sum(start=[]) | length }}",
    "{% set ns = namespace(x=0) %}{% for i in range(90) %}{% set ns.x = namespace(a=ns.x, b=ns.x) %}{% endfor %}",
    "{% set ns = namespace(x=0) %}{% for i in range(90) %}{% set ns.x = dict(a=ns.x, b=ns.x) %}{% endfor %}",
    "{% set ns = namespace(x=0) %}{% for i in range(90) %}{% set ns.x = {1: ns.x, 2: ns.x}.items() %}{% endfor %}",
    "{% macro f(a, b) %}{{ a == b or f([a, a], [b, b]) }}{% endmacro %}{{ f([1], [2]) }}",
    "{% set a = 'ab' * 30000000 %}{% for i in range(500) %}{% if 'aab' in a %}{% endif %}{% endfor %}",
    "{% set a = 'ab' * 30000000 %}{% for i in range(30) %}{% set x = a[1:] %}{% endfor %}",
    "{{ (messages[0].content * 5000000).replace('a', 'xyz') | length }}",
    "{% set a = 'ab' * 30000000 %}{% for i in range(500) %}{% if 'aab' is in(a) %}{% endif %}{% endfor %}",
    "{% set a = 'ab' * 30000000 %}{{ range(500) | map('string') | select('in', a) | list }}",
    "{% set x = 'a' * 100000 %}{{ x.replace('a', x) }}",
    "{% set x = 'a' * 100000 %}{{ x | replace('a', x) }}",
    "{% set x = 'a' * 100000 %}{{ x.replace('', x) }}",
    "{% set x = 'a' * 100000 %}{{ x.join([x] * 100000) }}",
    "{% set x = 'a' * 100000 %}{{ ([x] * 100000) | join }}",
    "{% set x = 'a' * 100000 %}{{ range(100000) | map('string') | join(x) }}",
    "{% set x = 'a' * 100000 %}{{ x.translate({97: x}) }}",
    "{% set x = 'a ' * 100000 %}{{ x | wordwrap(1, true, x) }}",
    "{% set x = 'a' * 100000 %}{% for i in range(100000) %}{{ x }}{% endfor %}",
    "{% set x = 'a' * 100000 %}{{ x.join(dict.fromkeys(range(10000) | map('string')).keys()) }}",
    f"{{{{ '{{:{{w.x}}}}'.format(1, w=namespace(x={HUGE})) }}}}",
    "{{ ([[0] * 20000] * 4000) | select | sum(start=[]) | length }}",
    "{{ ([{'a': [0] * 20000}] * 4000) | sum('a', []) | length }}",
    (
        "{% set ns = namespace(x=0) %}{% for i in range(20) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}"
        "{{ ns.x | tojson(indent=8) }}"
    ),
    "{% set ns = namespace(x=0) %}{% for i in range(90) %}{% set ns.x = {}.fromkeys('abc', ns.x) %}{% endfor %}",
    "{% set ns = namespace(x=0) %}{% for i in range(90) %}{% set ns.x = dict.fromkeys('abc', ns.x) %}{% endfor %}",
    "{% set ns = namespace(x=0) %}{% for i in range(90) %}{% set ns.x = [1] | batch(9, ns.x) | list %}{% endfor %}",
    "{% macro m() %}{{ m(varargs, varargs) }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m() %}{{ m(a=kwargs, b=kwargs) }}{% endmacro %}{{ m(a=1) }}",
    "{{ ('{0}' * 10000).format('a' * 100000) }}",
    "{{ ('{a}' * 10000).format(a='a' * 100000) }}",
    "{{ ('%(x)s' * 10000) % {'x': 'a' * 100000} }}",
    "{{ ('%(x)s' * 10000) | format(x='a' * 100000) }}",
    "{% set a = [0] * 100000 %}{% for i in range(100) %}{% set x = a[1:] %}{% endfor %}",
    "{% set a = ['x' * 100000 ~ 'y'] * 100000 %}{{ ('x' * 100000) in a }}",
    "{% set a = ['x' * 100000 ~ 'y'] * 100000 %}{{ a.count('x' * 100000) }}",
    "{% set a = ['x' * 100000] * 10000 %}{{ a | sort | length }}",
    "{% set a = ['x' * 100000] * 10000 %}{{ a | map('string') | max }}",
    "{{ {'x' * 10000: ['yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy'] * 10000} | pprint }}",
    "{% set x = '<' * 1000000 %}{% for i in range(60) %}{% set y = x | e %}{% endfor %}",
    "{% set x = '1' * 50000000 %}{% for i in range(9) %}{% set y = x | float %}{% endfor %}",
    "{% set x = 'a' * 80000000 %}{% for i in range(9) %}{% set y = ''.maketrans(x, x) %}{% endfor %}",
    "{% set x = 'a' * 5000000 %}{{ x.strip('b' * 5000000 ~ 'a') | length }}",
    "{% set x = 'a' * 5000000 %}{{ x | trim('b' * 5000000 ~ 'a') | length }}",
    "{{ ((messages[0].content ~ 'x') * 50000000) | length }}",
    "{% set ns = namespace(s='') %}{% for i in range(16000) %}{% set ns.s = messages[0].n ~ 'x' ~ ns.s %}{% endfor %}",
    "{{ '{0:{1}}'.format('a', 3000000000.0) | length }}",
    "{{ strftime_now('%999999999Y') | length }}",
    "{{ ('a' * 5000000) | wordwrap(1) | length }}",
    "{{ ('http://a.b/' ~ '(' * 100000 ~ ')' * 100000) | urlize | length }}",
    "{{ ('ab ' * 20000000) | wordcount }}",
    (
        "{% set ns = namespace(a={1: 2}, b={1: 2}) %}{% for i in range(19) %}{% set ns.a = {1: ns.a, 2: ns.a} %}"
        "{% set ns.b = {1: ns.b, 2: ns.b} %}{% endfor %}{% for i in range(999) %}{% if ns.a == ns.b %}{% endif %}"
        "{% endfor %}"
    ),
    "{% macro m() %}{% for i in range(100000) %}{{ 'a' * 100000 }}{% endfor %}{% endmacro %}{{ m() | length }}",
]


@pytest.mark.parametrize("source", TOO_MANY_CHARACTERS)
def test_a_template_that_amplifies_its_input_is_stopped_before_it_does(source: str) -> None:
    with pytest.raises(TemplateLimitError) as caught:
        ChatTemplate(source).run(MESSAGES)
    assert caught.value.limit == "characters"


@pytest.mark.parametrize(
    "source",
    [
        "{{ 10 ** (10 ** 10) }}",
        "{{ messages[0].n ** 100000000 }}",
        "{{ ('f' * 100000) | int(0, 16) }}",
        "{% set ns = namespace(x=9) %}{% for i in range(90) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
        "{% set ns = namespace(x=9) %}{% for i in range(90) %}{% set ns.x = ns.x ** ns.x %}{% endfor %}",
    ],
)
def test_an_integer_that_is_too_large_is_refused_before_it_is_created(source: str) -> None:
    with pytest.raises(TemplateLimitError, match="a number of more than 65,536 bits") as caught:
        ChatTemplate(source).run([{"role": "user", "n": 10}])
    assert caught.value.limit == "bits"


TOO_MANY_STEPS = [
    "{% for i in range(900) %}{% for j in range(900) %}{% endfor %}{% endfor %}",
    "{% macro m() %}{% endmacro %}{% for i in range(20000) %}{{ m() }}{% endfor %}",
    "{% for i in range(20000) %}{{ i | string }}{% endfor %}",
    "{% for i in range(9000) %}{{ 'x'.upper() }}{{ 1 }}{{ 2 }}{% endfor %}",
    "{% for i in range(500) %}{{ range(100) | list }}{% endfor %}",
    "{% for i in range(100000) recursive %}{% endfor %}",
    f"{{{{ [1] | batch({HUGE}, 0) | list }}}}",
    f"{{{{ [1] | slice({HUGE}) | list }}}}",
    "{% for i in range(500) %}{% for j in range(100) if false %}{% endfor %}{% endfor %}",
    "{{ range(10000) | select | select | select | list | length }}",
    "{% set a = [0] * 9000 %}{% for i in range(9) %}{% set x = a.copy() %}{% endfor %}",
    "{% for i in range(9) %}{% if 'x' in range(9000) %}{% endif %}{% endfor %}",
    "{% for i in range(3000) %}" + "{% if i < 0 %}{% endif %}" * 500 + "{% endfor %}",
    "{% set a = [[0] * 10000] %}{% for i in range(9) %}{% if i in a %}{% endif %}{% endfor %}",
    "{{ range(500) | map(attribute='real.' * 100 ~ 'real') | list | length }}",
    "{{ range(500) | map('int') | map(attribute='real.' * 100 ~ 'real') | list | length }}",
    "{% set a = ([0],) * 1000 %}{% for i in range(500) %}{% set x = [a] %}{{ dict(a=x) }}{% endfor %}",
]


@pytest.mark.parametrize("source", TOO_MANY_STEPS)
def test_loops_macros_filters_calls_and_output_are_charged_as_steps(source: str) -> None:
    with pytest.raises(TemplateLimitError, match="takes more than 30,000 steps") as caught:
        ChatTemplate(source, limits=TemplateLimits(steps=30_000)).run(MESSAGES)
    assert (caught.value.limit, caught.value.most) == ("steps", 30_000)


@pytest.mark.parametrize("arguments", ["100001", f"{10**30}", "0, -200000, -1", f"0, {10**40}, 2"])
def test_a_range_is_limited(arguments: str) -> None:
    with pytest.raises(TemplateLimitError, match="a range of more than 100,000") as caught:
        ChatTemplate(f"{{% for i in range({arguments}) %}}{{% endfor %}}").run(MESSAGES)
    assert caught.value.limit == "range"


def test_the_largest_allowed_range_works() -> None:
    assert ChatTemplate("{{ range(100000) | length }}{{ range(5, 0) | list }}").run(MESSAGES).text == "100000[]"


def test_an_infinite_recursion_of_a_macro_is_stopped() -> None:
    with pytest.raises(TemplateLimitError) as caught:
        ChatTemplate("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").run(MESSAGES)
    assert caught.value.limit == "recursion"


def test_a_memory_error_becomes_a_limit_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object) -> int:
        raise MemoryError

    template = ChatTemplate("{{ messages[0].n * 2 }}")
    monkeypatch.setattr("renderers.templating.operators.bits_of_binary", exhausted)
    with pytest.raises(TemplateLimitError) as caught:
        template.run(MESSAGES)
    assert caught.value.limit == "memory"


def test_time_is_limited() -> None:
    template = ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}", limits=TemplateLimits(seconds=-1))
    with pytest.raises(TemplateLimitError, match="takes more than -1 seconds") as caught:
        template.run(MESSAGES)
    assert caught.value.limit == "seconds"


def test_the_clock_is_checked_repeatedly(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    monkeypatch.setattr("renderers.templating.limits.time.thread_time", lambda: next(clock))
    with pytest.raises(TemplateLimitError, match="takes more than 30 seconds"):
        ChatTemplate("{% for i in range(90000) %}{% endfor %}").run(MESSAGES)
    clock = itertools.count()
    with pytest.raises(TemplateLimitError, match="takes more than 30 seconds"):
        ChatTemplate("{% for i in range(99) %}{% set x = 'a' * 2000000 %}{% endfor %}").run(MESSAGES)
    clock = itertools.count()
    ChatTemplate("{% for m in messages %}{% for i in range(9) %}{% endfor %}{% endfor %}").run(MESSAGES * 900)


def test_a_source_that_is_too_long_is_refused() -> None:
    with pytest.raises(TemplateLimitError, match="is longer than 262,144 characters") as caught:
        ChatTemplate("a" * (2**18 + 1))
    assert caught.value.limit == "source"


@pytest.mark.parametrize(
    "source",
    [
        "{% if true %}" * 101 + "{% endif %}" * 101,
        "{% for x in [1] %}" * 101 + "{% endfor %}" * 101,
        "{{ " + "(" * 101 + "1" + ")" * 101 + " }}",
        "{{ " + "[" * 5000 + "]" * 5000 + " }}",
        "{{ " + "{1: " * 101 + "1" + "}" * 101 + " }}",
    ],
)
def test_a_source_that_is_too_deeply_nested_is_refused(source: str) -> None:
    with pytest.raises(TemplateLimitError, match="too deeply nested") as caught:
        ChatTemplate(source)
    assert caught.value.limit == "nesting"


@pytest.mark.parametrize(
    "source",
    [
        "{{ " + "not " * 100_000 + "1 }}",
        "{{ 1" + " + 1" * 20_000 + " }}",
        "{{ x" + ".x" * 5_000 + " }}",
        "{{ x" + " | upper" * 5_000 + " }}",
        "{{ " + "1 if x else " * 5_000 + "1 }}",
        "{{ " + "-" * 50_000 + "1 }}",
        "{% if x %}" + "{% elif x %}" * 5_000 + "{% endif %}{{ x }}" + "{% for x in y %}" * 30 + "{% endfor %}" * 30,
    ],
)
def test_a_source_that_exceeds_the_python_compiler_is_refused(source: str) -> None:
    with pytest.raises((TemplateLimitError, TemplateSourceError)):
        ChatTemplate(source).run(MESSAGES)


@pytest.mark.parametrize("source", ["{{ 1", "{% for %}", "{% endif %}", "{{ x | nothing }}", "{{ {1 }}"])
def test_a_source_with_a_syntax_error_is_refused(source: str) -> None:
    with pytest.raises(TemplateSourceError, match="the chat template has a syntax error at line 1: "):
        ChatTemplate(source)


def test_a_limit_error_names_the_message_that_was_being_rendered() -> None:
    template = ChatTemplate("{% for m in messages %}{% if loop.last %}{{ 'a' * 10 ** 12 }}{% endif %}{% endfor %}")
    with pytest.raises(TemplateLimitError) as caught:
        template.run([*MESSAGES, {"role": "assistant", "content": ""}])
    assert caught.value.message == 1
    unpickled = pickle.loads(pickle.dumps(caught.value))
    assert (str(unpickled), unpickled.limit, unpickled.most, unpickled.message) == (
        str(caught.value),
        "characters",
        2**28,
        1,
    )


def test_a_budget_covers_a_whole_run_and_is_not_shared_between_runs() -> None:
    budget = Budget(TemplateLimits(characters=10))
    budget.charge(6)
    with pytest.raises(TemplateLimitError):
        budget.charge(6)
    template = ChatTemplate("{{ messages[0].content * 1000 }}", limits=TemplateLimits(characters=30_000))
    assert {len(template.run(MESSAGES).text) for _ in range(20)} == {8_000}


@pytest.mark.parametrize("values", [("%s 20261116 %5.2f", 1.5), ("%%10d %d", 7), ("10 % 3", ())])
def test_numbers_in_the_text_of_a_format_are_not_widths(values: tuple[str, Any]) -> None:
    assert size_of_percent(*values) < 100


def test_sizes_are_upper_bounds() -> None:
    assert bits_of_binary("**", 2, 100) >= (2**100).bit_length()
    assert bits_of_binary("*", 2**50, 2**50) >= (2**100).bit_length()
    assert bits_of_binary("+", "a", "b") == 0
    assert size_of_method("ljust", "a", (9,)) >= 9
    assert size_of_text({"a": [1, "b"]}) >= len("{'a': [1, 'b']}") - 6
    assert weight([[1], (2, {"a": 3})]) == (8, 11)


def test_limits_grow_with_the_conversation_to_allow_a_loop_over_all_messages_per_message() -> None:
    adds = "{% for m in messages %}{% set ns.x = ns.x ~ m.content %}{% endfor %}"
    builds = "{% set ns = namespace(x='') %}" + adds + "{{ ns.x }}"
    pairs = "{% for m in messages %}{% for n in messages %}{% endfor %}{% endfor %}"
    messages = [{"role": "user", "content": "word " * 10}] * 200
    limits = TemplateLimits(characters=20_000, steps=1_000)
    assert ChatTemplate(builds, limits=limits).run(messages).text == "word " * 2_000
    assert ChatTemplate(pairs, limits=limits).run(messages).text == ""
    with pytest.raises(TemplateLimitError):
        ChatTemplate("{{ 'a' * 20001 }}", limits=limits).run(messages)
    with pytest.raises(TemplateLimitError):
        ChatTemplate("{% for i in range(2000) %}{% endfor %}", limits=limits).run(messages[:1])


def test_a_template_may_loop_over_the_characters_of_a_long_text() -> None:
    messages = [{"role": "user", "content": "a" * 3_000}]
    limits = TemplateLimits(steps=100)
    assert ChatTemplate("{{ messages[0].content | length }}" * 5, limits=limits).run(messages).text == "3000" * 5
    loop = "{% for c in messages[0].content %}{% endfor %}"
    assert ChatTemplate(loop, limits=limits).run(messages).text == ""
