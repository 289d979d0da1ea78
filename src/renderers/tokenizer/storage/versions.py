"""The version of `tokenizers` and the machine, without imports that take long."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys


def tokenizers_version() -> str:
    """Return the version of `tokenizers`: of the imported one, as another may have been installed since, else of the
    installed one.
    """
    imported = sys.modules.get("tokenizers")
    return _installed_version() if imported is None else str(imported.__version__)


@functools.cache
def _installed_version() -> str:
    """Return the version of the installed `tokenizers`.

    The name of the folder with its metadata has the version. Importing the package takes longer, and so does
    `importlib.metadata`. If there is not exactly one such folder beside the package, it is imported.
    """
    versions = _recorded_versions()
    if len(versions) == 1:
        return versions[0]
    from tokenizers import __version__

    return __version__


def _recorded_versions() -> list[str]:
    spec = importlib.util.find_spec("tokenizers")
    if spec is None or spec.origin is None:
        return []
    prefix, suffix = "tokenizers-", ".dist-info"
    try:
        names = os.listdir(os.path.dirname(os.path.dirname(spec.origin)))
    except OSError:
        return []
    return [name[len(prefix) : -len(suffix)] for name in names if name.startswith(prefix) and name.endswith(suffix)]


def machine() -> str:
    """Return the type of the machine, as `platform.machine` does."""
    if sys.platform == "win32":
        import platform

        return platform.machine()
    # Importing `platform` takes milliseconds of a cold start.
    return os.uname().machine
