"""Write docs/tables/bad-inputs.md: inputs that are rejected, with the error that each gives.

    python -m scripts.bad_inputs

Uses the bundled example model.
"""

from __future__ import annotations

from pathlib import Path

from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
from tests.support.bad_inputs import text_of, try_all

PAGE = Path(__file__).parents[1] / "docs" / "tables" / "bad-inputs.md"
_HEAD = """# Bad inputs

Written by `make bad-inputs`, with the bundled example model. `render`, `bridge` and other methods are those of a
renderer. `USER` is `{"role": "user", "content": "Hi"}`, `TOOL` is a tool, `NEW` is a list with a message, and
`PROMPT` and `COMPLETION` are lists of ids. `generate` and `stream` of the client have a client, a renderer and messages
unless other ones are shown. `sample` is the method of a client. `ROLLOUT` has no turns yet.
[Errors](../reference/errors.md) describes the classes. For errors of pydantic (`ValidationError`) the table has the
names of the fields.
"""
_MOST = 240
"""How many characters of a text are shown."""


def page() -> str:
    """Return the text of the page."""
    lines = [_HEAD]
    shown = None
    for group, row in try_all(create_renderer(load_tokenizer(EXAMPLE_MODEL))):
        if group != shown:
            lines += [*([""] if shown else []), f"## {group}", "", "| input | error | text |", "|---|---|---|"]
            shown = group
        kind, text = ("–", "") if row.error is None else (type(row.error).__name__, text_of(row.error))
        lines.append(f"| {_code(row.code)} | `{kind}` | {_cell(text)} |")
    return "\n".join(lines) + "\n"


def _code(code: str) -> str:
    return f"`{_escape(code)}`"


def _cell(text: str) -> str:
    short = text if len(text) <= _MOST else f"{text[:_MOST]} …"
    return _escape(" ".join(short.split())).replace("<", "&lt;")


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
