"""Imports go down the layers only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import renderers

PACKAGE = Path(renderers.__file__).parent
LAYERS = (
    "errors core",
    "families",
    "templating tokenizer",
    "programs",
    "probing",
    "rendering parsing",
    "bridging",
    (
        "settings setting_attribute config_reader switches batching retention default_date resolution live_renderers "
        "text_renderer renderer multimodal_renderer family_renderers factory configs"
    ),
    "training pool client rollout",
    "cli compat base __main__",
)
"""The top-level modules and packages, from the bottom up. A module may import those of its own layer and below."""
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}
TOP = LEVEL["renderer"]
"""In this layer and above, modules of one layer may import each other."""

SIDEWAYS = {("tokenizer.tokenizer", "templating.chat")}
"""Imports between packages of one layer."""
ALLOWED = {
    "programs": "templating",
    "probing": "programs",
    "parsing": "tokenizer probing",
    "rendering": "templating programs probing tokenizer",
    "bridging": "programs probing rendering tokenizer",
    "families": "",
    "training": "",
    "client": "renderer",
    "rollout": "bridging client training",
    "pool": "configs factory renderer tokenizer",
    "cli": "families parsing tokenizer",
}
"""The packages that some packages may import, besides `errors` and `core`. The command line lists tool formats."""
IMPORTING_FUNCTIONS = {
    "client.transport._import_httpx",
    "factory._find_custom",
    "settings._config_reader",
    "renderer.config",
    "settings.config",
    "tokenizer.engines.select._compile",
    "tokenizer.loading.locate._cached_or_fetched",
    "tokenizer.loading.suggest._known_names",
    "tokenizer.tokenizer._load_again",
    "tokenizer.tokenizer.apply_chat_template",
}
"""The functions that may import. Each gives its reason in a comment."""


class Import(NamedTuple):
    """An import: the importing module, its function, and whether it is only for type checkers."""

    module: str
    target: str
    function: str | None
    for_types: bool


def module_name(path: Path) -> str:
    """Return the dotted name of a module, without the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports_in(name: str, path: Path) -> Iterator[Import]:
    """Yield the imports of modules of this package in a file."""
    stack: list[tuple[ast.AST, str | None, bool]] = [(ast.parse(path.read_text(encoding="utf-8")), None, False)]
    while stack:
        node, function, for_types = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = f"{name}.{node.name}"
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for_types = True
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "renderers":
            home = node.module.partition(".")[2]
            paths = [f"{home}.{alias.name}".strip(".") for alias in node.names]
            for target in {path if path in MODULES else home for path in paths}:
                yield Import(name, target, function, for_types)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "renderers":
                    yield Import(name, alias.name.partition(".")[2], function, for_types)
        stack.extend((child, function, for_types) for child in ast.iter_child_nodes(node))


IMPORTS = [entry for name, path in MODULES.items() for entry in imports_in(name, path)]
INSIDE = [entry for entry in IMPORTS if entry.module and entry.target]
"""All imports except those of and by `renderers/__init__.py`."""


def package(module: str) -> str:
    return module.partition(".")[0]


def test_every_module_has_a_layer() -> None:
    assert {package(name) for name in MODULES} - {""} == LEVEL.keys()


def test_imports_go_down_only() -> None:
    upward = [entry for entry in INSIDE if LEVEL[package(entry.target)] > LEVEL[package(entry.module)]]
    assert upward == []


def test_packages_of_one_layer_do_not_import_each_other() -> None:
    sideways = {
        (entry.module, entry.target)
        for entry in INSIDE
        if LEVEL[package(entry.target)] == LEVEL[package(entry.module)] < TOP
        and package(entry.module) != package(entry.target)
        and package(entry.target) != "errors"
        and package(entry.module) != "errors"
    }
    assert sideways == SIDEWAYS


@pytest.mark.parametrize("name", ALLOWED)
def test_a_package_imports_only_allowed_packages(name: str) -> None:
    imported = {package(entry.target) for entry in INSIDE if package(entry.module) == name}
    assert imported <= {name, "errors", "core", *ALLOWED[name].split()}


def test_only_grammar_inference_uses_probing_to_parse() -> None:
    users = {entry.module for entry in INSIDE if package(entry.module) == "parsing" and "probing" in entry.target}
    assert users == {"parsing.infer", "parsing.evidence", "parsing.rendered_turns"}


def test_modules_below_the_command_line_do_not_import_the_package_itself() -> None:
    assert [
        entry
        for entry in IMPORTS
        if not entry.target and package(entry.module) not in ("cli", "compat", "base", "__main__")
    ] == []


def test_only_listed_functions_import() -> None:
    assert {entry.function for entry in INSIDE if entry.function} == IMPORTING_FUNCTIONS


def test_there_are_no_import_cycles() -> None:
    edges: dict[str, set[str]] = {}
    for entry in INSIDE:
        if entry.target != entry.module and entry.function is None and not entry.for_types:
            edges.setdefault(entry.module, set()).add(entry.target)
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
