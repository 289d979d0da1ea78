"""Print the size of the package: lines in all, code lines and logic lines of each of its parts.

A code line is a line of a statement. It is not blank, not a comment, and not part of a docstring (of
a module, class, function or attribute), an import, or the value of `__all__`. A statement on several
lines counts as several.

A logic line is a code line outside of the declarations: the package `families`, the typed configs and
`family_renderers.py`, which hold records, config fields and class names.

    python -m scripts.size [directory]
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "renderers"
DECLARATIONS = {"families", "configs", "family_renderers"}


def code_lines(source: str) -> int:
    """Count the code lines of a module.

    >>> code_lines('import os\\n\\nX = [\\n    1,  # one\\n]\\n\"\"\"A list.\"\"\"\\n')
    3
    """
    lines = source.splitlines()
    counted: set[int] = set()
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt):
            start = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
            (skipped if _is_skipped(node) else counted).update(range(start, (node.end_lineno or start) + 1))
    return sum(
        1 for line in counted - skipped if lines[line - 1].strip() and not lines[line - 1].strip().startswith("#")
    )


def _is_skipped(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)
    return isinstance(node, ast.Import | ast.ImportFrom)


def sizes(package: Path) -> Iterator[tuple[str, int, int, int]]:
    """Yield the name of each part of a package, its lines, code lines and logic lines, then those of the whole."""
    total: Counter[str] = Counter()
    code: Counter[str] = Counter()
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        part = path.relative_to(package).parts[0]
        total[part] += len(source.splitlines())
        code[part] += code_lines(source)
    logic = {part: 0 if part.removesuffix(".py") in DECLARATIONS else code[part] for part in code}
    for part in sorted(total, key=lambda part: (part.endswith(".py"), part)):
        yield part, total[part], code[part], logic[part]
    yield "all", total.total(), code.total(), sum(logic.values())


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the size of the package.")
    parser.add_argument("package", nargs="?", type=Path, default=PACKAGE, help="a directory of Python files")
    print(f"{'':20}{'lines':>8}{'code':>8}{'logic':>8}")
    for part, total, code, logic in sizes(parser.parse_args().package):
        print(f"{part:20}{total:>8,}{code:>8,}{logic:>8,}")


if __name__ == "__main__":
    main()
