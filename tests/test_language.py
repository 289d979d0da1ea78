"""The code and the docs avoid words and phrases that read as translated."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
BANNED = re.compile(
    r"\b(?:whose|nobody|somebody|told|but a|at hand|for itself|is said|as often as|becomes of"
    r"|what is (?:written|given|said|found|told|read)|also if"
    r"|(?<!there )(?:is|are|was) no (?!longer\b)\w+)\b",
    re.IGNORECASE,
)

EMPTY_NAMES = frozenset({"found", "made", "one", "some", "whole"})
"""Names of variables that do not describe the value."""


def prose_of(path: Path) -> str:
    """Return a page, or the comments and strings of a module, each line of text in its line."""
    if path.suffix != ".py":
        return path.read_text(encoding="utf-8")
    prose = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
    source = io.StringIO(path.read_text(encoding="utf-8"))
    return "\n".join(
        token.string.strip("#\"'") for token in tokenize.generate_tokens(source.readline) if token.type in prose
    )


@pytest.mark.parametrize("path", [*SOURCES, *PAGES], ids=lambda path: str(path.relative_to(ROOT)))
def test_text_has_no_banned_phrase(path: Path) -> None:
    assert BANNED.findall(" ".join(prose_of(path).split())) == []


def test_a_phrase_across_lines_is_found() -> None:
    assert BANNED.findall(" ".join("Return what is\n    written.".split())) == ["what is written"]


def variables_of(source: str) -> set[str]:
    """Return the names of the parameters and local variables of all functions."""
    functions = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    ]
    nodes = [node for function in functions for node in ast.walk(function)]
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_variables_have_names_that_describe_the_value(path: Path) -> None:
    assert variables_of(path.read_text(encoding="utf-8")) & EMPTY_NAMES == set()


def test_variables_are_parameters_and_locals() -> None:
    assert variables_of("x = 1\ndef f(a, *, b):\n    c, d = a\n    return [e.g for e in d]") == set("abcde")
