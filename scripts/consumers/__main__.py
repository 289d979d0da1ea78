"""Run releases of verifiers on the wheel of this package.

    make test-consumers

Each release has an environment of its own below `.cache/consumers`, with the wheel from `dist`. Check that installing
verifiers keeps this package, run `verifiers_driver.py` in both formats of vLLM, and run the tests of verifiers that
constrain this package or use its types. Print a table. Fail if a run fails or its numbers are not the expected ones.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import child_environment
from renderers import __version__
from scripts.source_tests import find_source_tests
from tests.support.environments import find_environment, install
from tests.support.models import CACHE, hub_models, unpack_hub

ROOT = Path(__file__).parents[2]
HOME = CACHE.parent / "consumers"
DRIVER = Path(__file__).with_name("verifiers_driver.py")
WIRES = ("vllm-0.31", "vllm-0.32")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release of verifiers, and its own tests that run."""

    version: str
    tests: tuple[str, ...]

    @property
    def requirement(self) -> str:
        return f"verifiers=={self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Options of the driver, and its expected summary."""

    options: tuple[str, ...]
    prompts: tuple[int, ...]
    bridged: tuple[bool, ...]
    branches: int
    nodes: tuple[int, ...]

    @property
    def summary(self) -> dict[str, object]:
        """The summary as the driver prints it."""
        return {
            "prompts": list(self.prompts),
            "completions": [30, 13, 12],
            "bridged": list(self.bridged),
            "branches": self.branches,
            "nodes": list(self.nodes),
        }


RELEASES = (
    Release(version="0.4.0", tests=("tests/v1/test_graph.py",)),
    Release(
        version="0.4.1.dev86",
        tests=("tests/unit/test_api.py::test_config_tree_imports_without_the_runtime", "tests/unit/test_graph.py"),
    ),
)
# The template of Qwen3 drops the reasoning of earlier turns at a user message, so the third turn opens a branch.
DEFAULT = Run(
    options=(),
    prompts=(152, 200, 209),
    bridged=(False, True, False),
    branches=2,
    nodes=(140, 9, 33, 15, 16, 25, 14, 11, 7, 15),
)
ALL_REASONING = Run(
    options=("--retention", "all"),
    prompts=(152, 200, 224),
    bridged=(False, True, True),
    branches=1,
    nodes=(140, 9, 33, 15, 16, 8, 15),
)
CONCURRENT = Run(
    options=("--rollouts", "32"),
    prompts=DEFAULT.prompts,
    bridged=DEFAULT.bridged,
    branches=DEFAULT.branches,
    nodes=DEFAULT.nodes,
)


def main() -> int:
    """Run all releases. Return the exit status."""
    if not hub_models():
        print("no real models available: set SHARED")
        return 0
    unpack_hub()
    # The wheel for this platform, if it could be built, comes before the pure-Python one.
    wheels = sorted((ROOT / "dist").glob("renderers-*.whl"), key=lambda path: path.stem.endswith("-any"))
    if not wheels:
        print("no wheel in dist: run make dist")
        return 1
    failures = 0
    print("| verifiers | check | result |\n|---|---|---|")
    for release in RELEASES:
        for check, problem in check_release(release, wheels[0]):
            print(f"| {release.version} | {check} | {problem or 'ok'} |", flush=True)
            failures += problem is not None
    return bool(failures)


def check_release(release: Release, wheel: Path) -> Iterator[tuple[str, str | None]]:
    """Yield each check of a release, with the problem that it found."""
    python = prepare_environment(release, wheel)
    yield "`pip install` keeps this package", installed_problem(python, release)
    for wire in WIRES:
        for run in (DEFAULT, ALL_REASONING, CONCURRENT):
            yield f"driver {' '.join((wire, *run.options))}", driver_problem(python, wire, run)
    source = find_source_tests("verifiers", release.version, HOME / "sources")
    for test in release.tests:
        yield f"its own {test}", test_problem(python, source, test)


def prepare_environment(release: Release, wheel: Path) -> str:
    """Return the interpreter of an environment with verifiers and the wheel. The wheel is always installed again."""
    requirements = [str(wheel), release.requirement, "pytest>=8.2", "pytest-asyncio>=0.24"]
    home = HOME / f"verifiers-{release.version}"
    python = find_environment(home, lambda interpreter: install(interpreter, requirements))
    install(python, [str(wheel)], options=["--force-reinstall", "--no-deps"])
    return python


def installed_problem(python: str, release: Release) -> str | None:
    """Install verifiers once more. Return a problem if that replaced this package."""
    install(python, [release.requirement])
    code = "import importlib.metadata as m, renderers; print(m.version('renderers'), renderers.__version__)"
    versions = run_process([python, "-I", "-c", code]).stdout.split()
    return None if versions == [__version__] * 2 else f"installed: {versions}"


def driver_problem(python: str, wire: str, run: Run) -> str | None:
    """Run the driver. Return a problem if it fails or if its summary is another one."""
    result = run_process([python, str(DRIVER), "--wire", wire, *run.options], path=str(ROOT))
    if result.returncode:
        return last_line(result.stderr)
    summary = json.loads(result.stdout.splitlines()[-1])
    return None if summary == run.summary else f"got {summary}, expected {run.summary}"


def test_problem(python: str, source: Path, test: str) -> str | None:
    """Run a test of verifiers. Return a problem if it fails."""
    command = [python, "-m", "pytest", "-c", "pyproject.toml", "--quiet", "-p", "no:cacheprovider", test]
    result = run_process(command, folder=source)
    return last_line(result.stdout + result.stderr) if result.returncode else None


def run_process(command: list[str], *, folder: Path = ROOT, path: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command with the models of this repository and without network access to a hub."""
    environment = child_environment(PYTHONPATH=path)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def last_line(text: str) -> str:
    """Return the last line of an output that is not empty."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no output")


if __name__ == "__main__":
    sys.exit(main())
