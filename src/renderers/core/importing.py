"""Import an object by its path, from a module or from a file, and import numpy."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

_IMPORTING = threading.RLock()


def import_numpy() -> Any:
    """Return the module numpy, which is an optional dependency.

    Raises:
        ImportError: It is not installed.
    """
    try:
        import numpy as np
    except ImportError as error:
        raise ImportError("arrays need numpy: pip install 'renderers[numpy]'") from error
    return np


def load_target(import_path: str) -> Any:
    """Import the object at `package.module:Name`, `package.module.Name` or `path/to/file.py:Name`.

    A file is imported once, however its path is spelled. `~` and relative paths are supported.

    Raises:
        FileNotFoundError: There is no such file.
        ModuleNotFoundError: There is no such module.
        TypeError: The path is not a string.
        ValueError: The path has another form, or the module does not define the name.

    >>> load_target("json:JSONDecoder").__name__
    'JSONDecoder'
    """
    if not isinstance(import_path, str):
        raise TypeError(f"an import path must be a string such as 'package.module:Name', not {import_path!r}")
    module_path, _, name = import_path.rpartition(":" if ":" in import_path else ".")
    is_file = module_path.endswith(".py") or "/" in module_path or "\\" in module_path
    if not module_path or not name or (module_path.startswith(".") and not is_file) or import_path.endswith(".py"):
        raise ValueError(f"import path {import_path!r} must look like 'package.module:Name' or 'path/to/file.py:Name'")
    module = _import_file(Path(module_path)) if is_file else importlib.import_module(module_path)
    try:
        return getattr(module, name)
    except AttributeError:
        raise ValueError(f"import path {import_path!r}: the module has no attribute {name!r}") from None


def _import_file(path: Path) -> ModuleType:
    """Import a file under a unique module name, so that it shadows no other module."""
    file = path.expanduser().resolve()
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {str(file)!r} to import from")
    name = f"renderers_custom_{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    with _IMPORTING:
        if name in sys.modules:
            return sys.modules[name]
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise ValueError(f"{str(file)!r} is not a Python file: its name must end in .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module
