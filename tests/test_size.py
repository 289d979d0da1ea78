"""`scripts.size` counts lines, code lines and logic lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.size import code_lines, main, sizes

MODULE = '''"""A module."""

from __future__ import annotations

import os
from typing import (
    Any,
)

__all__ = [
    "area",
]

# A comment.
SIDES = (
    1,  # one

    # two
    2,
)
"""The sides."""

TEXT = """
a text

of three lines"""


@staticmethod
def area(side: int) -> int:
    """Return the area.

    >>> area(2)
    4
    """
    import math

    # The reason.
    return side * math.prod(
        [side]
    )
'''


def test_docstrings_comments_imports_and_all_are_not_code_lines() -> None:
    sides, text, function = 4, 3, 2 + 3
    assert code_lines(MODULE) == sides + text + function


def test_code_without_a_statement_has_no_lines() -> None:
    assert code_lines('"""A module."""\n\n# A comment.\nimport os\n') == 0


def test_declarations_have_no_logic(tmp_path: Path) -> None:
    for name in ("a.py", "configs.py", "families/b.py", "families/deep/c.py", "parse/d.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('"""A module."""\n\nX = 1\n')
    assert list(sizes(tmp_path)) == [
        ("families", 6, 2, 0),
        ("parse", 3, 1, 1),
        ("a.py", 3, 1, 1),
        ("configs.py", 3, 1, 0),
        ("all", 15, 5, 2),
    ]


def test_the_size_is_printed_as_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("X = 1\n")
    monkeypatch.setattr("sys.argv", ["size", str(tmp_path)])
    main()
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["lines", "code", "logic"],
        ["a.py", "1", "1", "1"],
        ["all", "1", "1", "1"],
    ]
