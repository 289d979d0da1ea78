"""The examples in the docs run as pasted, and the names in the docs exist."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import renderers
import renderers.client
from renderers import FAMILIES, BridgeReason, Channel, ChatRenderer, RenderedTokens, TemplateLimits, ToolCallParseStatus
from renderers.cli.models import models
from renderers.configs import RendererConfig
from renderers.parsing.tool_formats import TOOL_FORMATS
from renderers.tokenizer.loading.files import MODEL_FILES, VOCABULARY_FILES
from scripts import parser_names

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PACKAGE = Path(renderers.__file__).parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
EXAMPLES = [
    pytest.param(code, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


def anchors_in(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub generates them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs_as_pasted(code: str) -> None:
    exec(compile(code, "example", "exec"), {"__name__": "__main__"})


def test_the_examples_of_the_command_line_print_the_output_that_the_page_shows(tmp_path: Path) -> None:
    text = (DOCS / "command-line.md").read_text()
    (tmp_path / "chat.json").write_text(re.findall(r"```json\n(.*?)```", text, re.DOTALL)[0])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for block in re.findall(r"```console\n\$ (.*?)```", text, re.DOTALL):
        for example in block.split("\n$ "):
            command, _, output = example.partition("\n")
            run = ["sh", "-c", f"{command} 2>&1"]
            done = subprocess.run(run, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True)
            assert done.stdout.rstrip("\n") == output.rstrip("\n"), command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_encode_completions_without_the_bos_token_that_some_tokenizers_add(page: Path) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
    for call in re.findall(r"renderer\.tokenizer\.encode.*", code):
        assert "add_special_tokens=False" in call


def test_the_first_example_prints_the_output_that_the_readme_shows(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text()
    code, output = re.findall(r"```(?:python|text)\n(.*?)```", text, re.DOTALL)[:2]
    exec(compile(code, "example", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == output


def test_the_results_of_stress_tests_have_the_size_of_their_commands() -> None:
    sections = (DOCS / "tables" / "stress.md").read_text().split("\n## ")[1:]
    sizes = {}
    for section in sections:
        for command, cases in re.findall(r"python -m tests\.(\w+) --cases (\d+)`", section):
            counts = re.findall(r"([\d,]+) (?:texts|conversations|completions|rollouts)", section)
            sizes[command] = int(cases), int(counts[0].replace(",", ""))
    assert len(sizes) >= 6
    # The cases are spread evenly over the models, so their number is rounded up.
    assert [command for command, (cases, count) in sizes.items() if not cases <= count < 1.01 * cases] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_is_wrapped(page: Path) -> None:
    if page.parent.name == "tables" or page.name == "benchmarks.md":
        pytest.skip("the page is written by a script")
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    # A table row, a heading and a link cannot be wrapped.
    assert [line for line in prose.splitlines() if len(line) > 120 and not re.match(r"[|#<]|\[", line)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_resolve(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]+))?\)", page.read_text()):
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), target
        assert not anchor or anchor in anchors_in(path), f"{target}#{anchor}"


def test_the_readme_links_to_every_guide_and_reference_page() -> None:
    text = (ROOT / "README.md").read_text()
    for page in (*DOCS.glob("*.md"), *(DOCS / "reference").glob("*.md")):
        assert f"({page.relative_to(ROOT)}" in text, page.name


def test_the_readme_has_fewer_than_200_lines() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < 200


def test_the_index_of_tables_links_to_every_table() -> None:
    text = (DOCS / "tables" / "README.md").read_text()
    for page in (DOCS / "tables").glob("[a-z]*.md"):
        assert f"({page.name})" in text, page.name


def test_the_architecture_page_names_every_module() -> None:
    text = (DOCS / "architecture.md").read_text()
    for module in PACKAGE.rglob("*.py"):
        folders = module.relative_to(PACKAGE).parts[:-1]
        assert not folders or f"{folders[0]}/" in text, module
        # Packages with one module per vendor, format, command or old path are listed as a whole.
        if not {"families", "tool_formats", "cli", "compat"}.intersection(folders) and module.stem != "__init__":
            assert re.search(rf"\b{module.stem}\b", text), module


def test_the_contributing_page_names_paths_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text[text.index("| I want to") :].split("\n\n")[0]
    for row in table.splitlines()[2:]:
        _, _, module, test, _ = re.split(r"(?<!\\)\|", row)
        for name in re.findall(r"`([\w./]+(?:\.py|\.md|/))`", module + test):
            assert any((base / name).exists() for base in (PACKAGE, ROOT / "tests", ROOT)), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_paths_that_exist(page: Path) -> None:
    for name in re.findall(r"`((?:tests|scripts|benchmarks|src|docs)/[\w./-]+)`", page.read_text()):
        assert (ROOT / name).exists(), name
    for module in re.findall(r"python -m ((?:tests|scripts|benchmarks)[\w.]+)", page.read_text()):
        assert (ROOT / f"{module.replace('.', '/')}.py").exists(), module


def test_the_api_page_names_public_names() -> None:
    text = (DOCS / "reference" / "api.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|", text.split("## Command line")[0], re.MULTILINE)
    owners = {"renderer": ChatRenderer, "client": renderers.client, "": renderers}
    for path in (path for row in rows for path in re.findall(r"`([\w.]+)", row)):
        owner, _, name = path.rpartition(".")
        assert hasattr(owners[owner], name), path


def test_the_api_page_names_every_option_of_create_renderer() -> None:
    text = (DOCS / "reference" / "api.md").read_text().split("## Options of create_renderer")[1]
    for name, parameter in inspect.signature(renderers.create_renderer).parameters.items():
        assert parameter.kind is not parameter.KEYWORD_ONLY or f"| `{name}` |" in text, name


def test_the_page_on_rendered_tokens_has_every_field_helper_and_channel() -> None:
    text = (DOCS / "reference" / "rendered-tokens.md").read_text()
    methods = [name for name, value in vars(RenderedTokens).items() if inspect.isfunction(value)]
    for name in (*methods, *(field.name for field in dataclasses.fields(RenderedTokens))):
        assert name.startswith("_") or re.search(rf"`{name}\b", text), name
    codes = text[text.index("The codes of the channels") :]
    for code, channel in enumerate(Channel):
        assert f"{code} `{channel}`" in codes.replace("\n", " "), channel


def test_the_readme_counts_the_families_with_tool_calls_that_are_parsed() -> None:
    assert not [family for family in FAMILIES.values() if family.syntax and family.syntax not in TOOL_FORMATS]
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"All tool-call formats of the {len(FAMILIES)} families" in text


def test_the_loading_page_names_every_file() -> None:
    text = (DOCS / "loading.md").read_text()
    for name in (*VOCABULARY_FILES, *MODEL_FILES):
        assert f"`{name}`" in text, name


def test_the_parsing_page_names_every_status() -> None:
    text = (DOCS / "parsing.md").read_text()
    for status in ToolCallParseStatus:
        assert f"| `{status}` |" in text, status


def test_the_tool_formats_page_names_every_format() -> None:
    text = (DOCS / "reference" / "tool-formats.md").read_text()
    for name in TOOL_FORMATS:
        assert f"| `{name}` |" in text, name


def test_the_parser_names_page_is_the_one_that_the_command_writes() -> None:
    assert parser_names.PAGE.read_text(encoding="utf-8") == parser_names.page(), "run `make parser-names`"


def test_the_bridge_reasons_page_names_every_reason() -> None:
    text = (DOCS / "reference" / "bridge-reasons.md").read_text()
    for reason in BridgeReason:
        assert f"| `{reason}` |" in text, reason


def test_the_families_page_has_the_table_that_the_command_prints() -> None:
    assert f"```text\n{models()}\n```" in (DOCS / "reference" / "families.md").read_text()


def test_the_config_fields_page_has_every_config_with_its_switches() -> None:
    text = (DOCS / "reference" / "config-fields.md").read_text()
    for kind in get_args(get_args(RendererConfig)[0]):
        switches = [f"`{name}`" for name in kind.model_fields if name in kind.template_field_names()]
        row = f"| `{kind.model_fields['name'].default}` | `{kind.__name__}` | {', '.join(switches)} |"
        assert row.replace("|  |", "| |") in text, row


def test_the_errors_page_names_every_error_and_warning() -> None:
    text = (DOCS / "reference" / "errors.md").read_text()
    for name in renderers.__all__:
        assert not name.endswith(("Error", "Warning")) or f"`{name}`" in text, name


def test_the_page_on_template_runs_has_the_limits_as_they_are() -> None:
    text = (DOCS / "reference" / "template-runs.md").read_text()
    for field in dataclasses.fields(TemplateLimits):
        assert f"| `{field.name}` | {field.default:,} |" in text, field.name
