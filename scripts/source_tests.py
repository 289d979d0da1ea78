"""The tests in source packages on PyPI."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path


def find_source_tests(package: str, version: str, home: Path) -> Path:
    """Return a folder with `tests` and `pyproject.toml` of a source package, downloaded on the first call.

    The package itself is not unpacked, so that its tests import the installed one. Run pytest with `-c pyproject.toml`:
    otherwise it may use the settings of this repository.
    """
    folder = home / f"{package}-{version}"
    if not folder.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*command, "--dest", str(home), f"{package}=={version}"], check=True, capture_output=True)
        unpacked = home / "unpacked"
        shutil.rmtree(unpacked, ignore_errors=True)
        with tarfile.open(home / f"{folder.name}.tar.gz") as archive:
            wanted = f"{folder.name}/tests/", f"{folder.name}/pyproject.toml"
            members = [member for member in archive.getmembers() if member.name.startswith(wanted)]
            archive.extractall(unpacked, members=members, filter="data")
        # Moved last, so that an interrupted call leaves no incomplete folder.
        (unpacked / folder.name).rename(folder)
    return folder
