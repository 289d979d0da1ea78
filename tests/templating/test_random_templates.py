"""Random templates give the text of Jinja, or fail as it does, and every marked word in the output has its owner."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.utils.chat_template_utils import _compile_jinja_template

from renderers.core.spans import Trace
from renderers.errors import TemplateLimitError, TemplateRefusalError, TemplateRunError, TemplateSourceError
from renderers.templating import ChatTemplate, TemplateLimits
from tests.support.parity import Bodies, mark
from tests.templating.test_template import check_form

Data = dict[str, Any]

CALL = {"id": "c1", "type": "function", "function": {"name": "go", "arguments": {"q": 'a"b', "n": 3, "ok": False}}}
MESSAGES: list[Data] = [
    {"role": "system", "content": " S <b> & x "},
    {"role": "user", "content": "Hi\nthere é", "n": 7, "f": 1.5, "t": True, "z": None, "l": [1, "a", {"k": "v"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL], "d": {"b": "x", "a": [1, 2], "items": "I"}},
    {"role": "tool", "content": "", "name": "go"},
]
TOOLS: list[Data] = [{"type": "function", "function": {"name": "go", "parameters": {"type": "object"}}}]
LIMITS = TemplateLimits(steps=20_000, characters=2**20, seconds=5)

ATOMS = st.sampled_from(
    """'' 'a' 'ab' '<b>' ' x ' '%s' '{}' 0 1 2 -1 1.5 true false none messages messages[0] messages[1] messages[-1]
    messages[1].content messages[0].content messages[1].n messages[1].f messages[1].t messages[1].z messages[1].l
    messages[2].d messages[2].tool_calls messages[2].tool_calls[0].function messages[9] messages[0].nope m m.role
    m.content m.tool_calls m.d x x y y ns ns.a ns.b nothing tools tools[0].function add_generation_prompt k v
    bos_token loop loop.index loop.index0 loop.first loop.last loop.length loop.previtem loop.nextitem loop.revindex
    range(3) dict(a=1) strftime_now""".split()
)
FILTERS = st.sampled_from(
    """trim upper lower title capitalize length list first last reverse string safe e tojson join default('d') d(1,true)
    items dictsort sort unique int float abs sum min max indent indent(2,true) replace('a','bb') map('upper')
    map(attribute='role') selectattr('role') selectattr('role','eq','user') rejectattr('content') select reject
    select('string') batch(2) slice(2) groupby('role') join('-') tojson(indent=2) tojson(sort_keys=true)
    tojson(ensure_ascii=true,separators=(',',':')) format('z') wordcount striptags truncate(5) center(9) round
    attr('items') attr('strip') urlencode forceescape map('length') sum(start=2) xmlattr filesizeformat""".split()
)
TESTS = st.sampled_from(
    """defined undefined none string mapping sequence iterable number integer float boolean true false callable
    even odd lower upper eq(1) in('abc') escaped divisibleby(2) sameas(none) filter test""".split()
)
METHODS = st.sampled_from(
    """strip() lstrip() rstrip('x') strip('ab') split() split('a') split('a',1) rsplit('\\n',1) splitlines() upper()
    lower() title() startswith('a') endswith('b') find('a') count('a') replace('a','b') replace('','-') join(['p','q'])
    format('f') format(a=1) partition('h') removeprefix('a') removesuffix('b') isdigit() zfill(4) center(7) ljust(5)
    items() keys() values() get('role') get('nope','dflt') get('items') copy() index('a') pop() append(1) update({})
    swapcase() expandtabs() casefold() nope() cycle('p','q') changed(1) bit_length() is_integer() islower()""".split()
)
ATTRIBUTES = st.sampled_from(
    "role content name a b items keys n l k grouper list function arguments nope real _x".split()
)
OPERATORS = st.sampled_from(["not in", *"+ + + ~ ~ - * / // % == != < <= > >= in and or".split()])


def extended(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return expressions that are built from others."""
    small = st.sampled_from(["0", "1", "-1", "2", "'a'", "'role'", "x", "none"])
    return st.one_of(
        st.builds("({} {} {})".format, inner, OPERATORS, inner),
        st.builds("({} | {})".format, inner, FILTERS),
        st.builds("({} | {})".format, inner, FILTERS),
        st.builds("({} is {})".format, inner, TESTS),
        st.builds("({} is not {})".format, inner, TESTS),
        st.builds("({}).{}".format, inner, METHODS),
        st.builds("({}).{}".format, inner, ATTRIBUTES),
        st.builds("({})[{}]".format, inner, small),
        st.builds("(x ~ {})[{}:{}]".format, inner, st.sampled_from(["", "1", "-1"]), st.sampled_from(["", "2", "-1"])),
        st.builds("(m.l or [{}])[::{}]".format, inner, st.sampled_from(["-1", "2"])),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("({} if {})".format, inner, inner),
        st.builds("(not {})".format, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("({}, {})".format, inner, inner),
        st.builds("{{'a': {}, 'b': {}}}".format, inner, inner),
        st.builds("f({})".format, inner),
        st.builds("g({}, b={})".format, inner, inner),
        st.builds("('%s-%s' % ({}, {}))".format, inner, inner),
        st.builds("'{{}}/{{x}}'.format({}, x={})".format, inner, inner),
        st.builds("namespace(a={}).a".format, inner),
        st.builds("{} < {} < {}".format, inner, inner, inner),
    )


EXPRESSIONS = st.recursive(ATOMS, extended, max_leaves=5)
TEXTS = st.sampled_from(["a", " b ", "\n", "<x>", "  \n  "])
TARGETS = st.sampled_from(["x", "y", "m", "k"])
ITERABLES = st.one_of(
    st.sampled_from(
        """messages messages[1:] messages[::-1] range(2) [1,2,3] 'ab' tools messages[1].l messages[2].d.items() none
        messages[2].tool_calls m.tool_calls messages[2].d messages|reverse messages|selectattr('content') nothing
        messages[2].d|dictsort x [] m messages[2].tool_calls[0].function.arguments.items()""".split()
    ),
    EXPRESSIONS,
)


SEEN = st.sampled_from(
    """x==1 x y not·x x·is·defined x·is·not·defined y·is·undefined m·is·defined k v ns.a ns.b ns.a==1 ns.b<2 x~y
    f·is·defined loop·is·defined m==x m==1·or·x==1 x·in·[1,none] v·or·x k!=1 m.role=='user'·or·x==1""".split()
).map(lambda test: test.replace("·", " "))
"""Tests of loops on names that their bodies set."""
CHANGES = st.sampled_from(
    [
        *("{% set x = 1 %}", "{% set x = x ~ 'z' %}", "{% set y = x %}", "{% set y %}{{ x }}{% endset %}", "{{ x }}"),
        *("{% set m = 1 %}", "{% set k, v = [v, k] %}", "{% set ns.a = 1 %}", "{% set ns.b = ns.b + 1 %}", "{{ p }}"),
        *(
            "{% if x == 1 %}{% set x = 2 %}{% endif %}",
            "{% macro f(x=x, p=y) %}{{ x }}{{ p }}{% endmacro %}",
            "{{ y }}",
        ),
        *("{{ f() }}", "{{ w() }}{{ w(1) }}{{ w(q=2) }}", "{{ w(1, 2) }}", "{{ k }}{{ v }}", "{{ q }}"),
        *("{% with x = y, y = x %}{{ x }}{% set y = 3 %}{{ y }}{% endwith %}", "{{ ns.a }}{{ ns.b }}"),
    ]
)
LOOPED = st.sampled_from(
    [
        *("{{ loop.index }}", "{{ loop.last }}", "{{ loop.length }}", "{{ loop.nextitem }}", "{{ loop.cycle(1, 2) }}"),
        *("{{ loop.revindex }}", "{{ loop.previtem }}", "{{ m }}", "{% if x == 1 %}{% continue %}{% endif %}"),
        *("{% if ns.b > 1 %}{% break %}{% endif %}", "{% set ns.b = ns.b + loop.index %}", "{% set x = loop.index %}"),
    ]
)
"""Statements in loops."""
DEFAULTS = st.sampled_from(
    """p q x y o none 1 'd' [p] [q,x] p~q q·is·defined p|default(x) ns.a f·is·defined caller·is·defined varargs kwargs
    m (p·or·q)""".split()
).map(lambda default: default.replace("·", " "))


def block(pattern: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return statements from a pattern with `<` and `>` around tags, and `_` for each part."""
    source = pattern.replace("{", "{{").replace("}", "}}").replace("<", "{{% ").replace(">", " %}}").replace("_", "{}")
    return st.builds(source.format, *parts)


def blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return statements that contain others."""
    body = st.lists(inner, max_size=3).map("".join)
    return st.one_of(
        block("<if _>_<endif>", EXPRESSIONS, body),
        block("<if _>_<elif _>_<else>_<endif>", EXPRESSIONS, body, EXPRESSIONS, body, body),
        block("<if _>_<else>_<endif>", st.just("add_generation_prompt"), body, body),
        block("<for m in _>_<endfor>", ITERABLES, body),
        block("<for m in _>_<else>_<endfor>", ITERABLES, body, body),
        block("<for x in _ if _>_<endfor>", ITERABLES, EXPRESSIONS, body),
        block("<for k, v in _>_<endfor>", ITERABLES, body),
        block("<for m in _ recursive>_{{ loop(m.l) if m is mapping }}<endfor>", ITERABLES, body),
        block("<set _>_<endset>", TARGETS, body),
        block("<set x | _>_<endset>", st.sampled_from(["upper", "trim", "length"]), body),
        block("<filter _>_<endfilter>", st.sampled_from(["upper", "trim", "indent", "e"]), body),
        block("<with x = _, y = x>_<endwith>", EXPRESSIONS, body),
        block("<generation>_<endgeneration>", body),
        block("<macro f(a, b='d')>_{{ a }}{{ b }}<endmacro>", body),
        block("<macro h()>_{{ caller(1) if caller }}<endmacro><call(p) h()>_{{ p }}<endcall>", body, body),
    )


def scopes(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return statements with scopes, which read and set the same few names."""
    body = st.lists(inner, min_size=1, max_size=4).map("".join)
    looped = st.lists(inner | LOOPED, min_size=1, max_size=4).map("".join)
    items = st.sampled_from(["messages", "messages[1:]", "[1, 2, 3]", "[x, y, 1]", "'ab'", "range(4)", "x"])
    pairs = st.sampled_from(
        ["[(1, 2), (3, 4)]", "[(x, y), (1, x)]", "messages[2].d.items()", "{'a': x, 'b': 1}.items()"]
    )
    target = st.sampled_from(["m", "m", "x", "y"])
    return st.one_of(
        block("<for _ in _ if _>_<endfor>", target, items, SEEN, looped),
        block("<for _ in _ if _>_<else>_<endfor>", target, items, SEEN, looped, body),
        block("<for k, v in _ if _>_<endfor>", pairs, SEEN, looped),
        block("<for x, y in _ if _>_<endfor>", pairs, SEEN, looped),
        block("<for m in _ if _ recursive>_{{ loop(m.l) if m is mapping and m.l }}<endfor>", items, SEEN, looped),
        block("<for m in _>_<endfor>", items, looped),
        block("<macro w(p=_, q=_)>_<endmacro>{{ w() }}{{ w(1) }}{{ w(q=2) }}", DEFAULTS, DEFAULTS, body),
        block("<macro h(p, q=_)>_{{ caller() if caller }}<endmacro><call h(q=3)>_<endcall>", DEFAULTS, body, body),
        block("<macro h(p=1)>{{ caller(p) }}{{ caller() }}<endmacro><call(p, q=_) h()>_<endcall>", DEFAULTS, body),
        block("<with x = _, y = _>_<endwith>", DEFAULTS, DEFAULTS, body),
        block("<set _>_<endset>", target, body),
        block("<if _>_<else>_<endif>", SEEN, body, body),
        block("<filter upper>_<endfilter>", body),
    )


STATEMENTS = st.recursive(
    st.one_of(
        TEXTS,
        st.builds("{{{{ {} }}}}".format, EXPRESSIONS),
        st.builds("{{{{ {} }}}}".format, EXPRESSIONS),
        st.builds("{{% set {} = {} %}}".format, TARGETS, EXPRESSIONS),
        st.builds("{{% set ns.a = {} %}}".format, EXPRESSIONS),
        st.builds("{{% set x, y = {} %}}".format, EXPRESSIONS),
        st.sampled_from(["{% break %}", "{% continue %}", "{{ raise_exception('no') }}"]),
    ),
    blocks,
    max_leaves=6,
)
PROLOGUE = (
    "{% set ns = namespace(a='', b=0) %}{% macro f(a) %}[{{ a }}]{% endmacro %}"
    "{% macro g(a, b='d') %}{% set x = a %}{{ x }}{{ b }}{% endmacro %}"
)
TEMPLATES = st.lists(STATEMENTS, min_size=1, max_size=4).map(lambda parts: PROLOGUE + "".join(parts))


SCOPED_PROLOGUE = (
    "{% set ns = namespace(a=0, b=0) %}{% macro f() %}{% set ns.b = ns.b + 1 %}{{ x }}{% endmacro %}"
    "{% macro w(p=q, q=p) %}{{ p }}{{ q }}{{ x }}{% endmacro %}"
)
SCOPED = st.recursive(CHANGES, scopes, max_leaves=8)
SCOPED_TEMPLATES = st.lists(SCOPED, min_size=1, max_size=4).map(
    lambda parts: SCOPED_PROLOGUE + "".join(parts) + "{{ x }}{{ y }}{{ ns.a }}{{ ns.b }}"
)


def reference(source: str, **arguments: Any) -> str | Exception:
    """Return the text of transformers, or the exception."""
    try:
        # The filter `indent` changes a list that it is given.
        text: str = _compile_jinja_template(source).render(documents=None, **copy.deepcopy(arguments))
    except Exception as error:
        return error
    return text


def ours(source: str, **arguments: Any) -> Trace | Exception:
    """Return the trace of this package, or the exception."""
    try:
        return ChatTemplate(source, limits=LIMITS, verify=False).run(**arguments)
    except (TemplateLimitError, TemplateRefusalError, TemplateRunError, TemplateSourceError) as error:
        return error


@settings(max_examples=600, deadline=None, derandomize=True)
@given(TEMPLATES, st.booleans())
def test_a_random_template_gives_the_text_of_jinja_or_fails_as_it_does(source: str, prompt: bool) -> None:
    check_text(source, prompt=prompt)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(SCOPED_TEMPLATES, st.booleans())
def test_the_variables_of_random_scopes_have_the_values_of_jinja(source: str, prompt: bool) -> None:
    check_text(source, prompt=prompt)


def check_text(source: str, *, prompt: bool) -> None:
    """Assert that a template gives the text of Jinja, or fails as it does."""
    arguments: Data = {"messages": MESSAGES, "tools": TOOLS, "add_generation_prompt": prompt, "bos_token": "<s>"}
    expected, got = reference(source, **arguments), ours(source, **arguments)
    if isinstance(got, TemplateLimitError):
        return
    if isinstance(expected, Exception):
        assert isinstance(got, Exception), (expected, got)
    elif any(part in expected for part in ("object", " at 0x", "<function")):
        # The text of a method or a generator contains an address.
        return
    else:
        assert isinstance(got, Trace), (expected, got)
        assert got.text == expected
        check_form(got)


VALUES = st.recursive(
    st.sampled_from(["Hello there", "one", 7, 2.5, True, None, ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("pq"), inner, max_size=2),
    max_leaves=4,
)
CONVERSATIONS = st.lists(
    st.builds(
        lambda role, content, extra: {"role": role, "content": content, "extra": extra},
        st.sampled_from(["system", "user", "assistant", "tool"]),
        st.sampled_from(["Hello there", "Some <tag> words", "one\ntwo  three", ""]),
        VALUES,
    ),
    min_size=1,
    max_size=4,
)
FIELD_TEMPLATES = [
    "{% for m in messages %}" + body + "{% endfor %}"
    for body in (
        "<{{ m.role }}>{{ m.content }}|{{ m.extra }}",
        "{{ m['content'] | trim }}{{ m.get('extra') | tojson }}",
        "{% for k, v in m.items() %}{{ k }}={{ v | string }};{% endfor %}",
        "{% for x in m.extra if x %}{{ x }}{% endfor %}{{ m.content.split() | join }}",
        "{% set c = '<' + m.content + '>' %}{{ c[1:-1] | replace('x', 'y') }}{{ c }}",
        "{% macro w(x) %}({{ x }}){% endmacro %}{{ w(m.content) }}{{ w(m.extra) | upper }}",
        "{% set k = m.extra %}{{ k }}{% for p in k if k is mapping %}{{ p }}{{ k[p] }}{% endfor %}",
        "{{ [m] | map(attribute='content') | list }}{{ m.extra | list | tojson if m.extra is iterable }}",
        "{{ '%s' % m.content }}{{ '{}'.format(m.content) }}{{ [m.content, m.extra] | join }}",
        "{{ {'a': m.content, 'b': m.extra} | tojson(indent=2) }}{{ m.extra.p }}{{ m.extra['q'] }}",
        "{{ (m.content | safe) ~ '<' }}{{ m.content }}{{ m.extra | dictsort if m.extra is mapping }}",
    )
]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.sampled_from(FIELD_TEMPLATES), CONVERSATIONS)
def test_every_marked_word_of_a_field_has_its_owner(source: str, conversation: list[Data]) -> None:
    messages = mark(conversation)
    got = ours(source, messages=messages)
    if isinstance(got, Trace):
        assert not Bodies(messages).check(got).strays
