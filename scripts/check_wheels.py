"""Asks the package index whether every dependency has a wheel for the given Python versions.

    python scripts/check_wheels.py 3.11 3.12 3.13 3.14

Nothing is installed: pip only resolves, for a Linux machine, and builds nothing from source. The `transformers` and
`multimodal` extras are resolved too.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def requirements() -> list[str]:
    """Returns what the package and its extras ask for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    return [*project["dependencies"], *extras]


def resolve(version: str) -> subprocess.CompletedProcess[str]:
    """Resolves the requirements for a Python version from wheels alone."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed"),
            *("--only-binary=:all:", "--python-version", version, "--platform", "manylinux_2_28_x86_64"),
            *("--platform", "manylinux2014_x86_64", "--target", "unused", *requirements()),
        ],
        capture_output=True,
        text=True,
        check=False,
    )


def main(versions: list[str]) -> int:
    """Prints a line for each version; returns how many lack a wheel."""
    failures = 0
    for version in versions:
        done = resolve(version)
        failures += done.returncode != 0
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        print(f"Python {version}: {'every dependency has a wheel' if done.returncode == 0 else ' '.join(said)}")
    return failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
