"""A traced run gives the same text as transformers, and attributes every character of a field to that field."""

from __future__ import annotations

import html
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from renderers.core.spans import Span, Trace
from renderers.errors import TemplateLimitError, TemplateRunError
from renderers.templating import ChatTemplate, TemplateLimits
from tests.support.conversations import CONVERSATIONS, assistant, user
from tests.support.parity import (
    EACH_ONCE,
    Bodies,
    Data,
    Ownership,
    difference,
    distinct_variations,
    mark,
    marked_runs,
    rotated,
    run_reference,
    run_traced,
)

# ==================
# Text
# ==================


@pytest.mark.parametrize("path", EACH_ONCE, ids=lambda path: path.stem)
def test_the_text_equals_that_of_transformers(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    # verify would repeat the comparison below.
    template, rendered = ChatTemplate(source, verify=False), 0
    for name, arguments in distinct_variations(source):
        expected = run_reference(source, CONVERSATIONS[name], **arguments)
        got = run_traced(template, CONVERSATIONS[name], **arguments)
        assert difference(expected, got) is None, (name, arguments)
        if isinstance(got, Trace):
            check_form(got)
            rendered += 1
    assert rendered > 0


def check_form(trace: Trace) -> None:
    """Check that spans are in order, have no gaps, and differ in owner from their neighbours."""
    end = 0
    for span in trace.spans:
        assert span.start == end
        assert span.end >= span.start
        end = span.end
    assert end == len(trace.text)
    assert all(
        (left.message, left.path) != (right.message, right.path) or left.end == left.start or right.end == right.start
        for left, right in itertools.pairwise(trace.spans)
    )


# ==================
# Owners
# ==================

EXCEPTIONS: dict[str, dict[str, int]] = {}
"""Known losses by template: the operation, and the number of characters that lose their field. Currently none."""


@pytest.mark.parametrize("path", EACH_ONCE, ids=lambda path: path.stem)
def test_every_character_of_a_field_is_attributed_to_it(path: Path) -> None:
    template = ChatTemplate(path.read_text(encoding="utf-8"), verify=False)
    ownership = Ownership()
    for trace, messages, others in marked_runs(template, rotated(turns=1)):
        ownership += Bodies(messages, tools=others["tools"], documents=others["documents"]).check(trace)
        check_fields(trace, messages, others)
    assert ownership.strays == EXCEPTIONS.get(path.stem, {})
    assert ownership.characters > 0


def check_fields(trace: Trace, messages: list[Data], others: Data) -> None:
    """Check that every span with a field holds only text of that field."""
    for span in trace.spans:
        if span.path:
            text = trace.text[span.start : span.end]
            keyed = str(span.path[-1]) == text.strip('"')
            value = field(messages, others, span)
            assert keyed or came_from(text, value) or came_from(html.unescape(text), value), (span, text)


def field(messages: list[Data], others: Data, span: Span) -> Any:
    """Return the value of the field of a span."""
    value: Any = messages[span.message] if span.message >= 0 else others
    for key in span.path:
        value = value[key]
    return value


def came_from(text: str, value: Any) -> bool:
    """Return True if a text can be derived from a field: a part of its text or of its JSON."""
    if isinstance(value, str) and (text in value or text.strip() in value or text.lower() in value.lower()):
        return True
    return any(text in rendering for rendering in renderings_of(value))


def renderings_of(value: Any) -> Iterator[str]:
    """Yield the texts that templates render a value to."""
    for in_ascii, indent in itertools.product((False, True), (None, 4)):
        yield json.dumps(value, ensure_ascii=in_ascii, indent=indent)
    yield json.dumps(value, ensure_ascii=False, sort_keys=True)
    yield str(value)
    for sort in (False, True):
        yield json.dumps(value, ensure_ascii=False, sort_keys=sort, separators=(",", ":"))


def ownership_of(source: str) -> Ownership:
    messages = mark([user("Hello there, you"), assistant("Hi")])
    return Bodies(messages).check(ChatTemplate(source).run(messages))


def test_a_field_that_is_emitted_unchanged_owns_all_its_characters() -> None:
    assert ownership_of("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}") == Ownership(
        len("zq00000zq zä00001北q, zq00002zq") + len("zä00003北q"), Counter()
    )


@pytest.mark.parametrize(
    "body",
    [
        "m.content | upper",
        "m.content | tojson(ensure_ascii=true)",
        "m.content.split() | join('+')",
        "[m.content]",
        "{'a': m.content} ~ '.'",
    ],
)
def test_words_keep_their_field_through_every_conversion(body: str) -> None:
    ownership = ownership_of("{% for m in messages %}{{ " + body + " }}{% endfor %}")
    assert ownership.characters >= 4 * len("zq00000zq")
    assert not ownership.strays


@pytest.mark.parametrize(
    "source", ["{{ (messages[0].content ~ messages[1].content) | wordwrap(99) }}", "{{ messages[0] }}"]
)
def test_text_that_loses_its_field_is_counted(source: str) -> None:
    """Text derived from several messages has no owner, and a dump of a message belongs to none of its fields."""
    ownership = ownership_of(source)
    assert ownership.strays == {"content attributed to no field": ownership.characters}
    assert ownership.characters > 0


# ==================
# Lists of a template
# ==================


@pytest.mark.parametrize("source", ["{{ messages.append(1) }}", "{{ messages[0].content.pop() }}", "{{ tools.pop() }}"])
@pytest.mark.parametrize("verify", [True, False])
def test_a_template_cannot_change_a_list_of_the_caller(source: str, verify: bool) -> None:
    messages, tools = [{"role": "user", "content": [1, 2]}], [{"name": "f"}]
    with pytest.raises(TemplateRunError, match="may not change a list"):
        ChatTemplate(source, verify=verify).run(messages, tools=tools)
    assert (messages, tools) == ([{"role": "user", "content": [1, 2]}], [{"name": "f"}])


@pytest.mark.parametrize("verify", [True, False])
def test_a_text_that_a_template_queues_keeps_its_owner(verify: bool) -> None:
    source = (
        "{% set queue = [] %}{% for m in messages %}{% if m.name %}{% set _ = queue.append(m.name) %}"
        "{% else %}{{ queue.pop(0) }}:{{ m.content }}{% endif %}{% endfor %}"
    )
    messages = [{"role": "assistant", "name": "search", "content": ""}, {"role": "tool", "content": "x"}]
    trace = ChatTemplate(source, verify=verify).run(messages)
    assert trace.text == "search:x"
    assert (trace.spans[0].message, trace.spans[0].path) == (0, ("name",))


def test_a_list_that_grows_without_end_exceeds_the_limits() -> None:
    source = "{% set a = [1] %}{% for x in a %}{% set _ = a.append(x) %}{% endfor %}{{ a | length }}"
    try:
        text = ChatTemplate(source, verify=False, limits=TemplateLimits(seconds=5)).run([]).text
    except TemplateLimitError:
        return
    assert int(text) < 10
