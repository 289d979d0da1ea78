"""Write docs/reference/parser-names.md: the names of tool parsers and reasoning parsers, with the formats they read.

python -m scripts.parser_names
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from renderers.parsing.parser_names import (
    REASONING_PARSERS,
    TOOL_PARSERS,
    UNREAD_REASONING_PARSERS,
    UNREAD_TOOL_PARSERS,
    ReasoningParser,
    ToolParser,
)

_Parser = TypeVar("_Parser", ToolParser, ReasoningParser)

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "parser-names.md"
_HEAD = """# Parser names

Written by `make parser-names`. The names that `tool_parser=` and `reasoning_parser=` accept, as an
[option or in a config](../configuring.md#choose-parsers-by-name): the keys of this package, the names of release 0.1,
and those of vLLM and SGLang. A name that has different meanings in the two engines has that of vLLM.

`hf` and `response_template` are names of both kinds. They stand for the format that the model's own
[`response_template`](../parsing.md#use-a-response_template) describes. A model without one is an error.
"""


def page() -> str:
    """Return the text of the page."""
    lines = [
        _HEAD,
        "## Tool parsers\n\nNames in one row read the same [format](tool-formats.md).\n",
        "| format | markers of its own | names |\n|---|---|---|",
        *_rows(TOOL_PARSERS, _tool_cells),
        "\n## Reasoning parsers\n",
        "| format | names |\n|---|---|",
        *_rows(REASONING_PARSERS, _reasoning_cells),
        "\n## Not read\n\nThese names of vLLM and SGLang raise a `ValueError`:\n",
        f"- tool parsers: {_codes(sorted(UNREAD_TOOL_PARSERS))}",
        f"- reasoning parsers: {_codes(sorted(UNREAD_REASONING_PARSERS))}",
    ]
    return "\n".join(lines) + "\n"


def _rows(parsers: Mapping[str, _Parser], cells: Callable[[_Parser], str]) -> Iterable[str]:
    names: dict[_Parser, list[str]] = {}
    for name, parser in parsers.items():
        names.setdefault(parser, []).append(name)
    for parser, own in names.items():
        yield f"| {cells(parser)} | {_codes(own)} |"


def _tool_cells(parser: ToolParser) -> str:
    return f"`{parser.tools}` | {_codes(parser.call or ())}"


def _reasoning_cells(parser: ReasoningParser) -> str:
    return _codes(parser.markers) if parser.markers else f"messages of `{parser.tools}`"


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(f"`{text}`".replace("|", "\\|") for text in texts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
