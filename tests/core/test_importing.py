"""Importing custom renderer classes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from renderers.configs import (
    BaseRendererConfig,
    CustomRendererConfig,
    RendererConfig,
    merge_chat_template_kwargs,
    switches_of,
    template_field_names,
)
from renderers.core.importing import load_target
from renderers.families.configs.base import custom_renderer_config, load_custom_renderer

SOURCE = """
from typing import ClassVar
from renderers.configs import BaseRendererConfig, DefaultRendererConfig

class OwnConfig(BaseRendererConfig):
    _template_fields: ClassVar[frozenset[str]] = frozenset({"depth"})
    _internal_fields: ClassVar[frozenset[str]] = frozenset({"cache"})
    depth: int = 3
    cache: tuple[str, ...] = ()

class Own:
    config_class = OwnConfig

class Free:
    config_class = DefaultRendererConfig

class Plain:
    pass

class Wrong:
    config_class = int

thing = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a directory with a custom module, which is the working directory and on `sys.path`."""
    (tmp_path / "my_renderers_module.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if "my_renderers" in name:
            del sys.modules[name]


@pytest.fixture
def config(folder: Path) -> CustomRendererConfig:
    return CustomRendererConfig(import_path="my_renderers_module:Own", depth=4)


def test_a_class_of_a_module_can_be_named_with_a_dot_or_a_colon(folder: Path) -> None:
    assert load_target("my_renderers_module:Own") is load_target("my_renderers_module.Own")
    assert load_target("json.decoder.JSONDecoder") is load_target("json:JSONDecoder")


def test_a_file_is_imported_once_whatever_the_spelling(folder: Path) -> None:
    file = folder / "my_renderers_module.py"
    home = os.path.relpath(file, Path.home())
    spellings = [str(file), "my_renderers_module.py", "./my_renderers_module.py", f"~/{home}"]
    first = load_target(f"{spellings[0]}:Own")
    assert all(load_target(f"{spelling}:Own") is first for spelling in spellings)
    assert sys.modules[first.__module__].__file__ == str(file.resolve())
    assert first is not load_target("my_renderers_module:Own")


def test_threads_that_load_a_file_at_once_get_one_class(folder: Path) -> None:
    (folder / "my_renderers_slow.py").write_text("import time\ntime.sleep(0.05)\n" + SOURCE)
    with ThreadPoolExecutor(8) as threads:
        loaded = set(threads.map(load_target, ["my_renderers_slow.py:Own"] * 8))
    assert len(loaded) == 1


def test_a_file_that_failed_can_be_imported_after_a_fix(folder: Path) -> None:
    file = folder / "my_renderers_broken.py"
    file.write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        load_target(f"{file}:Own")
    file.write_text(SOURCE + "# mended")
    assert load_target(f"{file}:Own").__name__ == "Own"


@pytest.mark.parametrize("path", ["", "json", "json:", ":Own", ".json:Own", "my_renderers_module.py", "file.py:"])
def test_a_path_of_an_unknown_form_is_rejected(path: str) -> None:
    with pytest.raises(ValueError, match=r"must look like 'package\.module:Name' or 'path/to/file\.py:Name'"):
        load_target(path)


def test_an_error_names_the_missing_module_or_class(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no file '.*/nowhere\.py'"):
        load_target("nowhere.py:Own")
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        load_target("nowhere:Own")
    with pytest.raises(ValueError, match="'json:Own': the module has no attribute 'Own'"):
        load_target("json:Own")
    (folder / "notes.txt").write_text("")
    with pytest.raises(ValueError, match=r"its name must end in \.py"):
        load_target("./notes.txt:Own")


@pytest.mark.parametrize("name", ["Plain", "Wrong", "thing"])
def test_a_class_without_a_config_class_is_rejected(folder: Path, name: str) -> None:
    with pytest.raises(TypeError, match=f"'my_renderers_module:{name}' must name a renderer class with a config_class"):
        load_custom_renderer(f"my_renderers_module:{name}")


def test_the_fields_of_the_config_become_those_of_the_class(config: CustomRendererConfig) -> None:
    converted = custom_renderer_config(config)
    assert isinstance(converted, load_custom_renderer("my_renderers_module:Own").config_class)
    assert converted.model_dump(exclude_unset=True) == {"depth": 4}
    shared = CustomRendererConfig(import_path=config.import_path, thinking_retention="all", date="2026-01-31")
    assert custom_renderer_config(shared).model_dump(exclude_unset=True) == {
        "thinking_retention": "all",
        "date": "2026-01-31",
    }


def test_fields_are_converted_to_the_types_of_the_class(config: CustomRendererConfig) -> None:
    data = {"name": "custom", "import_path": config.import_path, "depth": "5", "cache": ["a"]}
    read: BaseRendererConfig = TypeAdapter(RendererConfig).validate_python(data)
    assert isinstance(read, CustomRendererConfig)
    assert custom_renderer_config(read).model_dump(exclude_unset=True) == {"depth": 5, "cache": ("a",)}
    assert TypeAdapter(RendererConfig).validate_json(read.model_dump_json()) == read


@pytest.mark.parametrize("fields", [{"depth": "deep"}, {"wide": 1}])
def test_a_wrong_field_is_rejected_when_the_config_is_created(folder: Path, fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=f"for CustomRendererConfig\n{next(iter(fields))}\n"):
        CustomRendererConfig(import_path="my_renderers_module:Own", **fields)


def test_the_switches_are_those_of_the_class(config: CustomRendererConfig) -> None:
    assert template_field_names(config) == {"depth"}
    assert switches_of(config) == {"depth": 4}
    merged = merge_chat_template_kwargs(config, {"depth": 9})
    assert merged == CustomRendererConfig(import_path=config.import_path, depth=9)
    with pytest.raises(ValueError, match=r"has cache, import_path: not a switch of OwnConfig. Allowed: depth\."):
        merge_chat_template_kwargs(config, {"cache": (), "import_path": "json:JSONDecoder"})


def test_a_class_with_a_default_config_accepts_any_switch(folder: Path) -> None:
    config = CustomRendererConfig(import_path="my_renderers_module:Free", a=1)
    assert switches_of(merge_chat_template_kwargs(config, {"b": 2})) == {"a": 1, "b": 2}
