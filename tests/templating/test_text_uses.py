"""The uses of message texts that a sample may not change are found in the syntax tree of a template."""

from __future__ import annotations

import pytest

from renderers.core.literals import PLAIN_USES, TextUses
from renderers.templating.text_uses import text_uses
from tests.support.parity import CORPUS, HUB

LOOP = "{% for m in messages %}[BODY]{% endfor %}"


def uses(body: str) -> TextUses:
    return text_uses(LOOP.replace("[BODY]", body))


@pytest.mark.parametrize(
    "body",
    [
        "{{ m.role + m.content | trim }}",
        "{{ m.role | upper }}{% if m.role | length > 20 %}x{% endif %}",
        "{% if m.content %}{{ m.content | tojson }}{% endif %}",
        "{% if m.content is string and m.content | length > 0 %}{{ m.content }}{% endif %}",
        "{% if '</think>' in m.content %}{{ m.content.split('</think>')[-1].lstrip('\\n') }}{% endif %}",
        "{% set content = m.content %}{% if content.startswith('<a>') %}{{ content.replace('<a>', '') }}{% endif %}",
        "{% if m.content == 'yes' or m.name in ['Ada', 'Eve'] or m.content != '' %}x{% endif %}",
        "{% for part in m.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}",
        "{% for part in m.content %}{% if 'image' in part %}x{% endif %}{% endfor %}",
        "{% macro show(x) %}{{ x | trim }}{% endmacro %}{% if show(m.content).endswith('</a>') %}x{% endif %}",
        "{% set ns = namespace(text='') %}{% set ns.text = ns.text + m.content %}{{ '</a>' in ns.text }}",
        "{% for call in m.tool_calls %}{{ call.function.name }}{{ call.id == messages[-1].tool_call_id }}{% endfor %}",
        "{% if m.tool_calls | length > 7 %}x{% endif %}",
        "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | join('\\n') }}",
        "{% generation %}{{ m.content }}{% endgeneration %}",
        "{% if m == messages[-1] %}x{% endif %}",
        "{{ m.content.upper() }}{{ m.content | title }}",
        "{% if m.content.startswith('\\n') %}x{% endif %}",
    ],
)
def test_a_template_that_writes_texts_and_tests_literals_allows_samples(body: str) -> None:
    assert uses(body).exact_fields == frozenset()


@pytest.mark.parametrize(
    "body",
    [
        "{% if m.content | length > 100 %}x{% endif %}",
        "{{ m.content | length }}",
        "{% if '\\n' in m.content %}x{% endif %}",
        "{% if ' ' in m.content %}x{% endif %}",
        "{% if m.content | lower == 'yes' %}x{% endif %}",
        "{% if 'stop!' in m.content.lower() %}x{% endif %}",
        "{% if m.content.isdigit() %}x{% endif %}",
        "{% if m.content | int > 10 %}x{% endif %}",
        "{% if m.content.split() | length > 3 %}x{% endif %}",
        "{% if m.content.splitlines() | length > 1 %}x{% endif %}",
        "{% if m.content > 'zzz' %}x{% endif %}",
        "{% set word = 'ma' ~ 'gic' %}{% if word in m.content %}x{% endif %}",
        "{% if m.content in 'yes or no' %}x{% endif %}",
        "{% if m.content[0] == '<' %}x{% endif %}",
        "{% if m.content[:3] == 'Now' %}x{% endif %}",
        "{% if m.content == messages[0].content %}x{% endif %}",
        "{% if m.content | wordcount > 3 %}x{% endif %}",
        "{% if m.content is eq 3 %}x{% endif %}",
        "{% macro size(x) %}{% if x | length > 99 %}x{% endif %}{% endmacro %}{{ size(m.content) }}",
        "{% set ns = namespace(text='') %}{% set ns.text = m.content %}{{ ns.text | length > 99 }}",
        "{% set parts = [] %}{% set _ = parts.append(m.content) %}{{ (parts | join).isdigit() }}",
        "{% with x = m.content %}{{ x.isupper() }}{% endwith %}",
        "{% set x %}{{ m.content }}{% endset %}{{ x | length > 99 }}",
        "{{ messages | selectattr('content', 'gt', 'x') | list }}",
        "{{ messages | map(attribute='content') | map('length') | sum }}",
        "{{ {'a': 1}.get(m.content | lower) }}",
        "{{ (m.content ~ '') | length > 99 }}",
        "{% filter length %}{{ m.content }}{% endfilter %}",
        "{% for c in m.content %}{{ c == '!' }}{% endfor %}",
        "{% set ns = namespace(n=0) %}{% for c in m.content %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n > 99 }}",
        "{% for c in m.content %}{% if loop.index > 99 %}x{% endif %}{% endfor %}",
        "{{ {'c': m.content}.c | length > 99 }}",
        "{{ {'m': {'c': m}}.m.c.content | length > 99 }}",
        "{{ dict(c=m.content).c | length > 99 }}",
        "{% set f = m.content.isdigit %}{{ f() }}",
        "{% macro f() %}{{ kwargs.x | length > 99 }}{% endmacro %}{{ f(x=m.content) }}",
        "{{ (m.content[2:5] ~ '') == '<a>' }}",
        "{% macro f(x) %}{{ x[2:5] }}{% endmacro %}{{ f(m.content) == '<a>' }}",
        "{% macro f(x) %}{{ x | lower }}{% endmacro %}{{ '<a>' in f(m.content) }}",
        "{{ m.content.startswith('<a>', 2) }}",
        "{{ m.content.endswith('<a>', 0, 3) }}",
        "{% for c in m.content %}.{% endfor %}",
        "{% for c in m.content %}{% if loop.last %}x{% endif %}{% endfor %}",
        "{% set ns = namespace(n='') %}{% for c in m.content %}{% set ns.n = ns.n ~ c %}{% endfor %}{{ ns.n == '' }}",
        "{% set l = [] %}{% for c in m.content %}{% set _ = l.append(1) %}{% endfor %}{{ l | length > 9 }}",
        "{% for p in m.content %}{% if loop.previtem == 'a' %}x{% endif %}{% endfor %}",
        "{% set ns = namespace(t='') %}{% set ns.t = m.content %}{{ ns['t'].isdigit() }}",
        "{% set ns = namespace(t='') %}{% set ns.t = m.content %}{{ ns[m.role].isdigit() }}",
        "{% set a = [] %}{% set b = a %}{% set _ = b.append(m.content) %}{{ a[0].isdigit() }}",
        "{% set a = [] %}{% set b = {'k': a} %}{% set _ = b.k.append(m.content) %}{{ a[0].isdigit() }}",
        "{% set d = {'a': ''} %}{% set _ = d.update(a=m.content) %}{{ d.a.isdigit() }}",
        "{{ m.content['isdigit']() }}",
        "{% set ns = namespace(f=1) %}{% set ns.f = m.content.isdigit %}{{ ns.f() }}",
        "{% set ns = namespace({'t': m.content}) %}{{ ns.t.isdigit() }}",
        "{% set outer = loop %}{{ outer.previtem.content.isdigit() }}",
        "{% set x, y = [m.content, 1] %}{{ x | length > 99 }}",
        "{% set x | lower %}{{ m.content }}{% endset %}{{ 'stop!' in x }}",
        "{% set x %}{% filter lower %}{{ m.content }}{% endfilter %}{% endset %}{{ 'stop!' in x }}",
        "{{ ([m.content] | map('upper') | first) == 'YES!' }}",
        "{{ (m.content | list | join('-')) == 'a-b' }}",
        "{{ (m.content | safe ~ m.content) == '&lt;' }}",
        "{{ ([m.content] | string) == 'x!' }}",
        "{% set d = {m.content: 1} %}{{ d | length > 1 }}",
        "{% macro f(x) %}{% endmacro %}{% macro f(y) %}{{ y.isdigit() }}{% endmacro %}{{ f(m.content) }}",
    ],
)
def test_any_other_use_makes_a_field_exact(body: str) -> None:
    fields = uses(body).exact_fields
    assert fields is None or {"content", "text"} <= fields


def test_only_the_fields_that_are_used_so_are_exact() -> None:
    assert uses("{{ m.content }}{{ m.name | length > 20 }}").exact_fields == frozenset({"name"})
    assert uses("{{ m | string | length > 20 }}").exact_fields is None


def test_small_lengths_ids_and_counts_of_messages_are_found() -> None:
    plain = PLAIN_USES._replace(tested=frozenset(), joins_texts=False)
    assert uses("{{ m.content | length == 2 }}") == plain._replace(short_length=2)
    assert uses("{{ m.tool_call_id | length != 9 }}") == plain._replace(id_lengths=True, counts=frozenset({9}))
    assert uses("{{ messages | length > 9 or loop.index0 == 12 }}") == plain._replace(counts=frozenset({9, 12}))
    assert uses("{{ messages[12] is defined or '13' in messages[-20:] }}").counts == frozenset({12, 13, 20})
    assert uses("{{ loop.index | string | length > 1 }}").counts == frozenset({10})
    counter = "{% set ns = namespace(n=0) %}{% set ns.n = ns.n + 1 %}{{ ns.n > 7 }}"
    assert uses(counter) == plain._replace(counts=frozenset({7}))


@pytest.mark.parametrize(
    ("body", "tested"),
    [
        ("{{ m.content.split('<a>') | join(', ') }}", {"<a>"}),
        ("{{ raise_exception('No.') if m.content == 'yes' }}", {"yes"}),
        ("{{ tools[0].type.split(' | ') }}{{ m.content | default('none') | replace('&', '&amp;') }}", set()),
        ("{% macro f(x, tag, end) %}{{ tag in x }}{{ end }}{% endmacro %}{{ f(m.content, '<a>', '<b>') }}", {"<a>"}),
        ("{% set tag = '<a>' %}{% if m.content.startswith(tag) %}x{% endif %}", {"<a>"}),
    ],
)
def test_only_literals_that_texts_are_tested_against_are_found(body: str, tested: set[str]) -> None:
    assert uses(body).tested == frozenset(tested)


def test_a_test_of_a_text_that_is_joined_from_others_is_found() -> None:
    assert uses("{{ '<a>' in m.content ~ m.name }}").joins_texts
    assert not uses("{{ '<a>' in m.content }}{{ m.content ~ m.name }}").joins_texts


EXACT_CONTENT = {
    "llamacpp__Apertus-8B-Instruct",
    "llamacpp__Cohere2MoE",
    "llamacpp__GigaChat3-10B-A1.8B",
    "llamacpp__LFM2.5-8B-A1B",
    "llamacpp__LFM2.5-Instruct",
    "llamacpp__StepFun3.5-Flash",
    "llamacpp__muse-glimmer",
    "trl__cohere2",
    "trl__cohere2_training",
    "trl__tiny_aya_chat_template",
}


def test_most_templates_need_no_exact_texts() -> None:
    found = set()
    for path in (*HUB, *CORPUS):
        fields = text_uses(path.read_text(encoding="utf-8")).exact_fields
        if fields is None or "content" in fields or "tool_call_id" in fields:
            found.add(path.stem)
    assert found <= EXACT_CONTENT


def test_no_text_is_tested_against_the_name_of_a_filter() -> None:
    macro = "{% macro f(x) %}{{ 'yes' if x == '<a>' }}{% endmacro %}"
    assert uses(macro + "{{ f(m.content) }}{{ f(m.names | map('upper') | first) }}").tested == frozenset({"<a>"})
