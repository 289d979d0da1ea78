"""Every character has the owner that it had when the golden spans were recorded, and every error its message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.conversations import CONVERSATIONS
from tests.support.span_goldens import (
    DIGESTS,
    EMBEDDED_SPANS,
    OTHER_TEMPLATES,
    embedded_spans,
    span_digests,
    template_key,
)

RECORDED: dict[str, str] = json.loads(DIGESTS.read_text(encoding="utf-8"))


def test_the_spans_of_the_template_of_the_example_model_are_the_recorded_ones() -> None:
    recorded = json.loads(EMBEDDED_SPANS.read_text(encoding="utf-8"))
    spans = embedded_spans()
    assert set(spans) == set(recorded)
    assert [name for name in spans if spans[name] != recorded[name]] == []


@pytest.mark.parametrize("path", OTHER_TEMPLATES, ids=lambda path: path.stem)
def test_the_spans_of_a_template_have_the_recorded_digests(path: Path) -> None:
    digests = zip(sorted(CONVERSATIONS), span_digests(path), RECORDED[template_key(path)].split(), strict=True)
    assert [name for name, digest, recorded in digests if digest != recorded] == []
