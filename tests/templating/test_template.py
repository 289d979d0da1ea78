"""A traced run gives the text of transformers' own environment, and every body character the field it came from."""

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
from renderers.templating import ChatTemplate
from tests.support.conversations import CONVERSATIONS, assistant, user
from tests.support.parity import (
    EACH_ONCE,
    Bodies,
    Data,
    Ownership,
    difference,
    mark,
    marked_runs,
    ours,
    rotated,
    telling_variations,
    theirs,
)

# ==================
# The text
# ==================


@pytest.mark.parametrize("path", EACH_ONCE, ids=lambda path: path.stem)
def test_the_text_is_that_of_transformers(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    # Not verified: the comparison is the one below.
    template, rendered = ChatTemplate(source, verify=False), 0
    for name, arguments in telling_variations(source):
        expected = theirs(source, CONVERSATIONS[name], **arguments)
        got = ours(template, CONVERSATIONS[name], **arguments)
        assert difference(expected, got) is None, (name, arguments)
        if isinstance(got, Trace):
            check_form(got)
            rendered += 1
    assert rendered > 0


def check_form(trace: Trace) -> None:
    """Spans are in order, without a gap, and neighbours have different owners."""
    at = 0
    for span in trace.spans:
        assert span.start == at
        assert span.end >= span.start
        at = span.end
    assert at == len(trace.text)
    assert all(
        (one.message, one.path) != (other.message, other.path) or one.end == one.start or other.end == other.start
        for one, other in itertools.pairwise(trace.spans)
    )


# ==================
# The owners
# ==================

EXCEPTIONS: dict[str, dict[str, int]] = {}
"""What loses its field, by template: the operation, and how many characters lose it. No template of the hub does."""


@pytest.mark.parametrize("path", EACH_ONCE, ids=lambda path: path.stem)
def test_every_character_of_a_body_belongs_to_its_field(path: Path) -> None:
    template = ChatTemplate(path.read_text(encoding="utf-8"), verify=False)
    found = Ownership()
    for trace, messages, others in marked_runs(template, rotated(turns=1)):
        found += Bodies(messages, tools=others["tools"], documents=others["documents"]).check(trace)
        check_fields(trace, messages, others)
    assert found.strays == EXCEPTIONS.get(path.stem, {})
    assert found.characters > 0


def check_fields(trace: Trace, messages: list[Data], others: Data) -> None:
    """Every span that names a field has text of that field, and nothing of the template's."""
    for span in trace.spans:
        if span.path:
            text = trace.text[span.start : span.end]
            keyed = str(span.path[-1]) == text.strip('"')
            value = field(messages, others, span)
            assert keyed or came_from(text, value) or came_from(html.unescape(text), value), (span, text)


def field(messages: list[Data], others: Data, span: Span) -> Any:
    """Returns the value of the field that a span names."""
    value: Any = messages[span.message] if span.message >= 0 else others
    for key in span.path:
        value = value[key]
    return value


def came_from(text: str, value: Any) -> bool:
    """Says whether a text can have come from a field: a part of it, or of its JSON, or of one of its keys."""
    if isinstance(value, str) and (text in value or text.strip() in value or text.lower() in value.lower()):
        return True
    return any(text in form for form in forms_of(value))


def forms_of(value: Any) -> Iterator[str]:
    """Yields the texts that templates make of a value."""
    for in_ascii, indent in itertools.product((False, True), (None, 4)):
        yield json.dumps(value, ensure_ascii=in_ascii, indent=indent)
    yield json.dumps(value, ensure_ascii=False, sort_keys=True)
    yield str(value)
    for sort in (False, True):
        yield json.dumps(value, ensure_ascii=False, sort_keys=sort, separators=(",", ":"))


def ownership(source: str) -> Ownership:
    messages = mark([user("Hello there, you"), assistant("Hi")])
    return Bodies(messages).check(ChatTemplate(source).run(messages))


def test_a_body_that_is_written_as_it_is_has_all_its_characters() -> None:
    assert ownership("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}") == Ownership(
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
def test_words_keep_their_field_however_they_are_written(body: str) -> None:
    found = ownership("{% for m in messages %}{{ " + body + " }}{% endfor %}")
    assert found.characters >= 4 * len("zq00000zq")
    assert not found.strays


@pytest.mark.parametrize(
    "source", ["{{ (messages[0].content ~ messages[1].content) | wordwrap(99) }}", "{{ messages[0] }}"]
)
def test_a_body_without_its_field_is_found(source: str) -> None:
    """What several messages went into has no owner, and a message as a whole is none of its fields."""
    found = ownership(source)
    assert found.strays == {"content given to no field": found.characters}
    assert found.characters > 0
