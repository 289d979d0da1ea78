"""Random chat templates that test texts, histories and calls in unusual ways, and conversations for them."""

from __future__ import annotations

import random
from typing import Any

from renderers.errors import TemplateSourceError
from renderers.templating.text_uses import text_uses

__all__ = ["conversation", "made_up_template"]

Message = dict[str, Any]

LITERALS = ("<x>", "stop", "yes", "###", "ab", "<a>b")
PIECES = (*LITERALS, *"x> < <x a y s # ## b >b word 7 Z YES é".split(), " ", "  ", "\n", "\n\n", "\t", "Longer words")
TEXTS = """m.content m['content'] m.get('content') t ns.t ns['t'] w (m.name·or·'') (m.tool_call_id·or·'') parts[-1]
    acc[-1] b2[-1] d.c d['c'] messages[-1].content messages[loop.index0].content
    (m.content·if·m.role·==·'user'·else·'')""".split()
CHANGES = """(T|trim) (T|trim~L) (L~T) (T~L) (T).strip(L) (T).strip() (T).lstrip() (T).rstrip('\\n')
    (T|lower) (T).upper() (T)[1:] (T)[:3] (T)[:-1] (T)[0] (T)[-1] (T).split(L)[0] (T).split(L)[-1]
    (T).replace(L,L) (T|replace(L,L)) (T|string) (T|first) (T|last) ([T,L]|join(L)) (T|default(L))
    f(T) (T).removeprefix(L) (T).removesuffix(L) (T).partition(L)[2]
    (T|tojson) (T|reverse|join) (T*2) ('%s!'·%·T) ('{}x>'.format(T)) (T).center(9) (T|truncate(6)) (T|indent)
    (T|capitalize) (T|batch(2)|first|join) (T|map('upper')|join) (T|list|join) (T|unique|join) (T|sort|join) ({'k':T}.k)
    ([T][0]) (T·or·L) (T·if·L·in·T·else·T) (T|e) (T|safe) (T).splitlines()[0] (T.strip)() (T['strip']())""".split()
TESTS = """L·in·T L·not·in·T T==L T!=L (T).startswith(L) (T).startswith(L,2) (T).endswith(L) (T).endswith(L,0,3)
    (T|length)>3 (T|length)>12 (T|length)%2==0 (T).count(L)>1 (T).find(L)>=2 (T).isdigit() (T).islower() T not·T
    T·in·[L,L] T·in·'yes·or·no' T>L T==T (T).split(L)|length>2 (T).split()|length>1 (T|wordcount)>2 (T|list|length)>5
    T·is·lower T·is·eq(L) (T).splitlines()|length>1 ns.n>5 ns.n%3==1 ns.k ns.seen==T (T|int)>3 acc|length>4
    (parts|join|length)>20
    L·in·(parts|join) L·in·acc T·in·acc[:-1] {L:1,L:2}.get(T)==1 (T)[:2]·in·['ye','<x'] [T]==[L] (T,1)==(L,1)
    (T).isspace() (T|trim|length)==0 g(T) g(T)=='1' (T|first)=='y'""".split()
HISTORIES = """messages[0].role=='system' messages|length>3 loop.index>2 loop.index>4 loop.last loop.first not·loop.last
    m.role=='user' m.role=='tool' m.tool_calls ns.tools ns.users>1 loop.index%2==0 loop.nextitem·is·defined
    (loop.previtem·is·defined·and·loop.previtem.tool_calls) messages|selectattr('role','equalto','tool')|list|length>0
    messages[-1].role=='user' (loop.nextitem·is·undefined·or·loop.nextitem.role!='tool')""".split()
EFFECTS = ("<|call|>", "M", "M", "{% set ns.k = true %}", "{{ '\\n' }}", "{% set ns.t = ns.t ~ 'x' %}")
MARKS = (
    *("IF", "IF", "IF", "IF", "IF"),
    "{% for c in T %}{% set ns.n = ns.n + 1 %}{% if c == 'x' %}{% set ns.k = true %}{% endif %}{% endfor %}IF",
    "{% for c in T %}{% if loop.index > 9 %}{% set ns.k = true %}{% endif %}{% endfor %}IF",
    "{% set w %}x>{{ T }}{% endset %}IF",
    "{% filter upper %}{{ T }}{% endfilter %}IF",
    "{% set w %}{% filter lower %}{{ T }}{% endfilter %}{% endset %}IF",
    "{% with t = T %}IF{% endwith %}",
    "{{ T if H else '' }}",
    "{% call(u) h(T) %}{% if u == L %}N{% endif %}{% endcall %}",
    "{% set x, y = [T, 1] %}{% if H and x.startswith(L) %}M{% endif %}",
    "{% set ns.f = T.startswith %}{% if H and ns.f(L) %}M{% endif %}",
)
START = """{% set ns = namespace(t='', n=0, k=false, seen='', tools=false, users=0) %}
{%- set acc = [''] %}{% set b2 = acc %}{% macro f(x, y='x>') %}{{ x }}{{ y }}{% endmacro %}
{%- macro g(x) %}{% if x.startswith('ye') %}1{% endif %}{% endmacro %}{% macro h(x) %}{{ caller(x) }}{% endmacro %}
{%- for m in messages %}{% set ns.t = m.content or '' %}{% set _ = acc.append(m.content) %}
{%- set parts = [m.content or '', 'p'] %}{% set d = {'c': m.content or ''} %}{% set t = m.content or '' %}
{%- set w = t %}{% if m.role == 'tool' %}{% set ns.tools = true %}{% endif %}
{%- if m.role == 'user' %}{% set ns.users = ns.users + 1 %}{% endif %}"""
BODIES = ("{{ m.content }}", "{{ m.content | trim }}", "{{ m.content or '' }}")
END = "{% endfor %}{% if add_generation_prompt %}{{ '<|turn|>assistant\\n' }}{% endif %}"
CALLS = "{% for c in m.tool_calls or [] %}{{ '<|call|>' + c.function | tojson + '<|/call|>' }}{% endfor %}"
TRIES = 60
"""How many templates are made at most until one has contents that samples may replace."""


def _fill(pattern: str, chance: random.Random, depth: int) -> str:
    """Return a pattern with literals, texts, tests and histories in place of its capital letters."""
    filled, quoted = "", False
    for character in pattern.replace("·", " "):
        quoted ^= character == "'"
        if character == "L" and not quoted:
            literal = chance.choice((*LITERALS, *LITERALS, "x>", " ", "\n", "a", ""))
            filled += repr(literal)
        elif character == "T" and not quoted:
            deeper = depth > 0 and chance.random() < 0.6
            filled += _fill(chance.choice(CHANGES if deeper else TEXTS), chance, depth - 1)
        elif character == "H" and not quoted:
            filled += f"({_fill(chance.choice(HISTORIES), chance, 0)})"
        else:
            filled += character
    return filled


def _branch(chance: random.Random) -> str:
    """Return a statement that has an effect if a text has some property, after some histories."""
    tests = [_fill(chance.choice(TESTS), chance, 2) for _ in range(chance.choice((1, 1, 2)))]
    condition = chance.choice((" and ", " or ")).join(f"({test})" for test in tests)
    return f"{{% if {_fill('H', chance, 0)} and ({condition}) %}}{chance.choice(EFFECTS)}{{% endif %}}"


def _mark(chance: random.Random) -> str:
    parts = [_fill(part, chance, 1) for part in chance.choice(MARKS).split("IF")]
    return _branch(chance).join(parts)


def _any_template(chance: random.Random) -> str:
    marks = "".join(_mark(chance) for _ in range(chance.choice((1, 1, 2))))
    if chance.random() < 0.7:
        marks = "{% if m.role != 'assistant' %}" + marks + "{% endif %}"
    start = START.replace("acc.append", "b2.append") if chance.random() < 0.2 else START
    body = chance.choice(BODIES)
    body = f"{marks}{body}" if chance.random() < 0.6 else f"{body}{marks}"
    return f"{start}{{{{ '<|turn|>' + m.role + '\\n' }}}}{body}{CALLS}<|end|>{END}"


def made_up_template(chance: random.Random) -> str:
    """Return a random template, in most cases one with contents that the samples of a proof may replace."""
    for _ in range(TRIES):
        source = _any_template(chance)
        try:
            fields = text_uses(source).exact_fields
        except TemplateSourceError:
            continue
        if fields is not None and "content" not in fields:
            break
    return source


def _text(chance: random.Random) -> str:
    return "".join(chance.choices(PIECES, k=chance.choice((1, 1, 2, 2, 3, 4))))


def _call(name: str, call_id: str) -> Message:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": {"k": "v"}}}


def _history(chance: random.Random) -> list[Message]:
    """Return earlier messages with ordinary texts."""

    def message(role: str, **fields: Any) -> Message:
        words = ("Morningtime", "Elsewhere", "Somethings", "Whatevers")
        return {"role": role, "content": chance.choice(words), **fields}

    messages = [message("system")] if chance.random() < 0.35 else []
    messages.append(message("user"))
    for number in range(chance.choice((0, 0, 1, 1, 2, 3))):
        if chance.random() < 0.5:
            calls = {"content": "", "tool_calls": [_call("zeta", f"idzz{number}")]}
            messages += [message("assistant", **calls), message("tool", tool_call_id=f"idzz{number}", name="zeta")]
        if chance.random() < 0.8:
            messages += [message("assistant"), message("user")]
    return messages


def conversation(chance: random.Random) -> tuple[list[Message], Message, list[Message]]:
    """Return an ordinary history, a turn, and messages that follow it with texts that templates test."""
    turn: Message = {"role": "assistant", "content": chance.choice((_text(chance), "Sure thing.", "Sure thing."))}
    new: list[Message] = [{"role": "user", "content": _text(chance)}]
    if chance.random() < 0.4:
        turn |= {"tool_calls": [_call("look", "c9")]} | ({"content": ""} if chance.random() < 0.6 else {})
        links = {key: value for key, value in (("tool_call_id", "c9"), ("name", "look")) if chance.random() < 0.7}
        new = [{"role": "tool", "content": _text(chance), **links}, *new][: chance.choice((1, 1, 2))]
    elif chance.random() < 0.2:
        new.append({"role": "user", "content": _text(chance), "name": _text(chance)})
    return _history(chance), turn, new
