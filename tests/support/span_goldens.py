"""Golden spans: the owner of every character that a template emits, as recorded from an earlier engine.

A line of the file of digests is a template and one digest per conversation, each over all variations of the other
arguments. The spans of the template of the example model are kept in full, except for large conversations.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from renderers.core.spans import Trace
from renderers.templating import ChatTemplate
from tests.support.conversations import CONVERSATIONS
from tests.support.parity import EACH_ONCE, HUB, LARGE, distinct_variations, run_traced

FOLDER = Path(__file__).parent.parent / "span_goldens"
DIGESTS, EMBEDDED_SPANS = FOLDER / "digests.json", FOLDER / "embedded.json"
EMBEDDED_TEMPLATE, *OTHER_TEMPLATES = EACH_ONCE
_DIGITS = 8


def template_key(path: Path) -> str:
    """Return the key of a template in the file of digests."""
    return f"{'hub' if path in HUB else 'corpus'}/{path.stem}"


def span_rows(path: Path) -> Iterator[tuple[str, list[Any]]]:
    """Yield the conversation and the outcome of every run of a template: its spans, or its error."""
    source = path.read_text(encoding="utf-8")
    template = ChatTemplate(source, verify=False)
    for name, arguments in distinct_variations(source):
        outcome = run_traced(template, CONVERSATIONS[name], **arguments)
        if isinstance(outcome, Trace):
            yield name, [[span.start, span.end, span.message, list(span.path)] for span in outcome.spans]
        else:
            yield name, [type(outcome).__name__, getattr(outcome, "message", None)]


def span_digests(path: Path) -> list[str]:
    """Return a digest of the outcomes for each conversation, in the order of their names."""
    outcomes: dict[str, list[Any]] = {}
    for name, row in span_rows(path):
        outcomes.setdefault(name, []).append(row)
    return [
        hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()[:_DIGITS]
        for _, rows in sorted(outcomes.items())
    ]


def embedded_spans() -> dict[str, str]:
    """Return the outcomes of the template of the example model, by conversation and variation.

    A span is written as its end, its message and its path.
    """
    counts: dict[str, int] = {}
    found = {}
    for name, row in span_rows(EMBEDDED_TEMPLATE):
        counts[name] = counts.get(name, 0) + 1
        if name not in LARGE:
            spans = bool(row) and isinstance(row[0], list)
            texts = (f"{end}:{message}:{'.'.join(map(str, path))}" for _, end, message, path in row) if spans else row
            found[f"{name} {counts[name]}"] = " ".join(map(str, texts))
    return found
