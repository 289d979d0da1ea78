"""Imports go down the layers only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import renderers

PACKAGE = Path(renderers.__file__).parent
LAYERS = (
    "errors core",
    "templating tokenizer embedded",
    "programs",
    "probing",
    "rendering parsing",
    "bridging families",
    "renderer factory resolution settings configs",
    "training pool",
    "cli compat base",
)
"""The top-level modules and packages, from the bottom up. A module may import those of its own layer and below."""
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}

UPWARD = {
    ("tokenizer.tokenizer", "templating.chat"),
    ("families.renderers", "renderer"),
    ("families.renderers", "factory"),
}
"""Imports that leave their layer, each for a stated reason in the module."""
SIDEWAYS = {("parsing.infer", "probing.turn_format")}

LAZY = {
    "renderers.__getattr__",
}
"""Functions that may import: each names its reason in a comment."""


class Import:
    """One import statement: the importing module, the function that it is in, and the imported module."""

    def __init__(self, module: str, function: str | None, target: str) -> None:
        self.module, self.function, self.target = module, function, target


def module_name(path: Path) -> str:
    """Return the dotted name of a module, without the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports_of(name: str, path: Path) -> Iterator[Import]:
    """Yield the imports of modules of this package in a file."""
    stack: list[tuple[ast.AST, str | None]] = [(ast.parse(path.read_text(encoding="utf-8")), None)]
    while stack:
        node, function = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = f"renderers.{name}.{node.name}".replace("..", ".")
        targets = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        targets += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for target in targets:
            if target.split(".")[0] == "renderers":
                names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
                below = target.partition(".")[2]
                deeper = [f"{below}.{item}".strip(".") for item in names if f"{below}.{item}".strip(".") in MODULES]
                for found in deeper or [below]:
                    yield Import(name, function, found)
        stack.extend((child, function) for child in ast.iter_child_nodes(node))


IMPORTS = [imported for name, path in MODULES.items() for imported in imports_of(name, path)]


def level(module: str) -> int:
    return LEVEL[module.partition(".")[0]]


def test_every_module_has_a_layer() -> None:
    tops = {name.partition(".")[0] for name in MODULES} - {""}
    assert tops == LEVEL.keys() - {"embedded"} or tops == LEVEL.keys()


def test_imports_go_down_only() -> None:
    upward = {
        (imported.module, imported.target)
        for imported in IMPORTS
        if imported.module and imported.target and level(imported.target) > level(imported.module)
    }
    assert upward <= UPWARD


def test_siblings_do_not_import_each_other() -> None:
    siblings = {
        (imported.module, imported.target)
        for imported in IMPORTS
        if imported.module
        and imported.target
        and level(imported.target) == level(imported.module)
        and level(imported.module) < LEVEL["renderer"]
        and imported.module.partition(".")[0] != imported.target.partition(".")[0]
        and imported.target != "errors"
    }
    assert siblings == set()


def test_only_listed_functions_import() -> None:
    functions = {imported.function for imported in IMPORTS if imported.function}
    assert functions == LAZY


def test_there_are_no_import_cycles() -> None:
    edges: dict[str, set[str]] = {}
    for imported in IMPORTS:
        if imported.target != imported.module and imported.function is None:
            edges.setdefault(imported.module, set()).add(imported.target)
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        if module in path:
            pytest.fail(" -> ".join((*path, module)))
        if module not in done:
            for target in edges.get(module, ()):
                visit(target, (*path, module))
            done.add(module)

    for module in edges:
        visit(module, ())
