"""The examples in the docs run as pasted, and the docs name what exists."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import get_args

import pytest

import renderers
from renderers import Limits, ToolCallParseStatus
from renderers.cli.models import models
from renderers.configs import RendererConfig
from renderers.parsing.tool_formats import TOOL_FORMATS
from renderers.tokenizer.loading.files import MODEL_FILES, VOCABULARY_FILES

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = [
    pytest.param(code, id=f"{page.name}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs_as_pasted(code: str) -> None:
    exec(compile(code, "example", "exec"), {"__name__": "__main__"})


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_architecture_page_names_every_module() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    package = Path(renderers.__file__).parent
    folders = ("*.py", "tokenizer/*.py", "trace/*.py", "parsing/*.py")
    for module in (module for folder in folders for module in package.glob(folder)):
        assert module.stem == "__init__" or module.name in text, module.name


def test_the_loading_page_names_every_file() -> None:
    text = (ROOT / "docs" / "loading.md").read_text()
    for name in (*VOCABULARY_FILES, *MODEL_FILES):
        assert f"`{name}`" in text, name


def test_the_parsing_page_names_every_syntax_and_status() -> None:
    text = (ROOT / "docs" / "parsing.md").read_text()
    for name in (*TOOL_FORMATS, *ToolCallParseStatus):
        assert f"| `{name}` |" in text, name


def test_the_families_page_has_the_table_that_the_command_prints() -> None:
    assert f"```text\n{models()}\n```" in (ROOT / "docs" / "families.md").read_text()


def test_the_configs_page_has_every_config_with_its_switches() -> None:
    text = (ROOT / "docs" / "configs.md").read_text()
    for kind in get_args(get_args(RendererConfig)[0]):
        switches = [f"`{name}`" for name in kind.model_fields if name in kind.template_field_names()]
        row = f"| `{kind.model_fields['name'].default}` | `{kind.__name__}` | {', '.join(switches)} |"
        assert row.replace("|  |", "| |") in text, row


def test_the_pages_name_every_error() -> None:
    text = "".join(page.read_text() for page in PAGES)
    for name in renderers.__all__:
        assert not name.endswith("Error") or f"`{name}`" in text, name


def test_the_rendering_page_has_the_limits_as_they_are() -> None:
    text = (ROOT / "docs" / "rendering.md").read_text()
    for field in dataclasses.fields(Limits):
        assert f"| `{field.name}` | {field.default:,} |" in text, field.name
