"""A template that tests texts, and only after some histories, is bridged to the ids of a render or refused."""

from __future__ import annotations

from typing import Any

import pytest

from renderers import EMBEDDED, Bridge, create_renderer, load_tokenizer

SYSTEM, ASK = {"role": "system", "content": "Brief."}, {"role": "user", "content": "Question"}
TURN = {"role": "assistant", "content": "Answer"}
COUNTED = "{% set ns.n = 0 %}{% set ns.t = '' %}{% for c in m.content %}BODY{% endfor %}"
RAISED = "{% set ns.n = ns.n + 1 %}"


def template_of(setup: str, test: str) -> str:
    """Return a template that marks messages for which a test holds, if there is a system message."""
    mark = "{% if messages[0].role == 'system' and " + test + " %}<|call|>{% endif %}"
    body = "{{ '<|turn|>' + m.role + '\\n' }}" + setup + mark + "{{ m.content }}<|end|>"
    start = "{% set ns = namespace(n=0, t='') %}{% set a = [''] %}{% set b = a %}"
    prompt = "{% if add_generation_prompt %}{{ '<|turn|>assistant\\n' }}{% endif %}"
    return start + "{% for m in messages %}" + body + "{% endfor %}" + prompt


@pytest.mark.parametrize(
    ("setup", "test", "text"),
    [
        # Parts of literals next to whitespace, or to another literal that is split at or removed.
        ("", "'<x>' in (m.content | trim ~ 'x>')", "Look: < "),
        ("", "'<x>' in ('<' ~ m.content | trim)", " x> it"),
        ("", "'yes!' in ((m.content | trim) ~ '!')", "oh yes\n"),
        ("{% set t = (m.content | trim) ~ '\n' if loop.index > 2 else m.content %}", "'yes\\n' in t", "oh yes "),
        ("", "'<x>' in m.content.split('##')[0] ~ 'x>'", "Look: <## it"),
        ("", "'<x>' in m.content.replace('##', '')", "Look: <##x> it"),
        ("", "'<x>' in m.content.split('##') | join", "Look: <##x> it"),
        ("", "'a\\n\\n\\nb' in m.content ~ 'b'", "Look: a\n\n\n"),
        ("", "(m.content | first) ~ 'x>' == '<x>'", "<other"),
        # Positions and lengths.
        ("", "m.content.startswith('<x>', 2)", "my<x> it"),
        ("", "m.content.endswith('<x>', 0, 5)", "my<x> it is"),
        ("", "m.content | length > 3", "a   "),
        # Counted characters.
        (COUNTED.replace("BODY", RAISED), "ns.n > 20", "a" * 30),
        (COUNTED.replace("BODY", "{% if true %}" + RAISED + "{% endif %}"), "ns.n > 20", "a" * 30),
        (COUNTED.replace("BODY", "{% set ns.t = ns.t ~ 'z' %}"), "'zzzzzzzzzzzzzzzzzzzzz' in ns.t", "a" * 30),
        (COUNTED.replace("BODY", "{% set _ = a.append(1) %}"), "a | length > 70", "a" * 90),
        (COUNTED.replace("BODY", "{% if loop.length > 20 %}{% set ns.n = 1 %}{% endif %}"), "ns.n", "a" * 30),
        # Texts that reach a test by another name.
        ("{% set ns.t = m.content %}", "ns['t'].isdigit()", "12"),
        ("{% set _ = b.append(m.content) %}", "a[-1].isdigit()", "12"),
        ("{% set ns.t = m.content.isdigit %}", "ns.t()", "12"),
        ("", "m.content['isdigit']()", "12"),
        ("{% set x, y = [m.content, 1] %}", "x | length > 20", "a" * 30),
        ("{% set x %}{% filter lower %}{{ m.content }}{% endfilter %}{% endset %}", "'stop!' in x", "STOP!"),
        ("{% set x | lower %}{{ m.content }}{% endset %}", "'stop!' in x", "STOP!"),
        ("{% set outer = loop %}", "outer.previtem and outer.previtem.content.isdigit()", "12"),
        ("", "([m.content] | map('upper') | first) == 'YES'", "yes"),
    ],
)
def test_a_test_of_a_text_after_some_histories_only(setup: str, test: str, text: str) -> None:
    check_bridges(template_of(setup, test), TURN, {"role": "user", "content": text})


@pytest.mark.parametrize(
    ("test", "text"),
    [
        ("loop.index0 and loop.previtem.content.endswith('\\n')", "Answer\n"),
        ("loop.index0 and loop.previtem.content.startswith(' ')", " Answer"),
        ("loop.index0 and loop.previtem.content.startswith(('-', '\\t'))", "\tAnswer"),
        ("loop.index0 and loop.previtem.content.endswith(' ')", " "),
    ],
)
@pytest.mark.parametrize("role", ["user", "tool"])
def test_a_test_of_whitespace_at_the_ends_of_the_turn(test: str, text: str, role: str) -> None:
    check_bridges(template_of("", test), {"role": "assistant", "content": text}, {"role": role, "content": "Look"})


def check_bridges(source: str, turn: dict[str, Any], following: dict[str, Any]) -> None:
    """Bridge a turn after two histories, and compare the ids with those of a render. The template marks one of them."""
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=source)
    new = [following, {"role": "user", "content": "Go"}]
    marked = False
    for history in ([ASK], [SYSTEM, ASK]):
        prompt = renderer.render_ids(history, add_generation_prompt=True)
        completion = renderer.render_ids([*history, turn])[len(prompt) :]
        expected = renderer.render_ids([*history, turn, *new], add_generation_prompt=True)
        marked |= renderer.tokenizer.added_tokens["<|call|>"] in expected
        bridged = renderer.bridge(prompt, completion, new)
        assert not isinstance(bridged, Bridge) or bridged.tokens.token_ids == expected
    assert marked
