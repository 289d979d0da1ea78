"""Check that every dependency has a wheel for the given Python versions.

    python scripts/check_wheels.py 3.11 3.12 3.13 3.14

Nothing is installed or built: pip only resolves, for Linux, from wheels. The extras `transformers` and `multimodal` are
included.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def requirements() -> list[str]:
    """Return the requirements of the package and its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    return [*project["dependencies"], *extras]


def resolve(version: str) -> subprocess.CompletedProcess[str]:
    """Resolve the requirements for a Python version from wheels only."""
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
    """Print a line for each version, and return the number of versions that lack a wheel."""
    failures = 0
    for version in versions:
        result = resolve(version)
        failures += result.returncode != 0
        errors = [line for line in result.stderr.splitlines() if line.startswith("ERROR")]
        print(f"Python {version}: {'every dependency has a wheel' if result.returncode == 0 else ' '.join(errors)}")
    return failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
