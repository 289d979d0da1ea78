"""A caller's own renderer classes: how they are found, and how their configs are made."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from renderers.configs.base import BaseRendererConfig
from renderers.configs.special import CustomRendererConfig

__all__ = ["custom_renderer_config", "load_custom_renderer", "load_target"]

_IMPORTING = threading.RLock()


def load_target(import_path: str) -> Any:
    """Returns what an import path names: `package.module:Name`, `package.module.Name` or `path/to/file.py:Name`.

    A file is imported once, whatever the spelling of its path; `~` and relative paths are taken.

    Raises:
        FileNotFoundError: There is no such file.
        ModuleNotFoundError: There is no such module.
        ValueError: The path has another form, or the module has no such name.

    >>> load_target("json:JSONDecoder").__name__
    'JSONDecoder'
    """
    module_path, _, name = import_path.rpartition(":" if ":" in import_path else ".")
    is_file = module_path.endswith(".py") or "/" in module_path or "\\" in module_path
    if not module_path or not name or (module_path.startswith(".") and not is_file) or import_path.endswith(".py"):
        raise ValueError(f"import path {import_path!r} must be 'package.module:Name' or 'path/to/file.py:Name'")
    module = _import_file(Path(module_path)) if is_file else importlib.import_module(module_path)
    try:
        return getattr(module, name)
    except AttributeError:
        raise ValueError(f"import path {import_path!r}: the module has no name {name!r}") from None


def load_custom_renderer(import_path: str) -> Any:
    """Returns a renderer class of the caller's own. It is called as `(tokenizer, config)`.

    Raises:
        TypeError: Its `config_class` is no subclass of `BaseRendererConfig`.
        FileNotFoundError, ModuleNotFoundError, ValueError: As `load_target`.
    """
    target = load_target(import_path)
    kind = getattr(target, "config_class", None)
    if not callable(target) or not (isinstance(kind, type) and issubclass(kind, BaseRendererConfig)):
        raise TypeError(
            f"import path {import_path!r} must name a renderer class whose config_class is a subclass of "
            f"BaseRendererConfig, not {target!r} with config_class {kind!r}"
        )
    return target


def custom_renderer_config(config: CustomRendererConfig) -> BaseRendererConfig:
    """Makes the config of a caller's own class: its `config_class`, of all the fields that were given.

    Raises:
        ValidationError: The fields are not those of the class.
        FileNotFoundError, ModuleNotFoundError, TypeError, ValueError: As `load_custom_renderer`.
    """
    kind: type[BaseRendererConfig] = load_custom_renderer(config.import_path).config_class
    given = config.model_fields_set - {"name", "import_path"}
    return kind(**{name: getattr(config, name) for name in given})


def _import_file(path: Path) -> ModuleType:
    """Imports a file under a name of its own, so that it hides no other module."""
    file = path.expanduser().resolve()
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {str(file)!r} to load a renderer from")
    name = f"renderers_custom_{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    with _IMPORTING:
        if name in sys.modules:
            return sys.modules[name]
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise ValueError(f"{str(file)!r} is no Python file: its name must end in .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module
