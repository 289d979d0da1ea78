"""The declared dependencies are those that the package imports, and the extras of consumers exist."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import metadata, requires, version
from pathlib import Path

import renderers

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "renderers"


def test_the_version_satisfies_known_consumers() -> None:
    assert version("renderers") == renderers.__version__ == "0.2.0"


def test_the_extras_of_known_consumers_exist() -> None:
    assert {"transformers", "multimodal"} <= set(metadata("renderers").get_all("Provides-Extra") or ())


def test_everything_imported_is_declared_and_everything_declared_is_imported() -> None:
    imported: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
    needed = imported - set(sys.stdlib_module_names) - {"renderers"}
    lines = requires("renderers") or ()
    names = {line: re.split(r"[<>=]", line)[0].replace("-", "_") for line in lines}
    declared = {name for line, name in names.items() if "extra ==" not in line}
    assert declared <= needed
    assert needed <= set(names.values())


def test_the_package_is_typed_and_contains_its_model() -> None:
    assert (SOURCE / "py.typed").is_file()
    assert (SOURCE / "embedded" / "tokenizer.json").is_file()


def test_every_directory_with_code_is_a_package() -> None:
    folders = {path.parent for path in SOURCE.rglob("*.py")}
    assert SOURCE / "compat" / "module_paths" in folders
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_all_data_files_are_in_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["renderers"]
    packaged = {path for pattern in patterns for path in SOURCE.glob(pattern)}
    built = {".py", ".pyc", ".c", ".so", ".pyd"}
    assert {path for path in SOURCE.rglob("*") if path.is_file() and path.suffix not in built} == packaged


def test_the_type_checked_versions_are_the_supported_ones() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = "Programming Language :: Python :: 3."
    claimed = [line.removeprefix(prefix) for line in project["classifiers"] if line.startswith(prefix)]
    targets = next(line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("PYTHON_TARGETS"))
    assert targets.split(":= ")[1].split() == [f"3.{minor}" for minor in claimed]
