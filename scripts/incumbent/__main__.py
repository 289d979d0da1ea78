"""Run the tests of release 0.1.12 on this package, and explain every failure.

    python -m scripts.incumbent [--write] [FILE ...]

The tests come from the source package on PyPI. They run twice, in an environment with release 0.1.12: on that release,
once, to find the tests that can pass here, and on this package with a plugin for private names of release 0.1
(`private_names_plugin.py`). The tests of gpt-oss that fail run once more, with the program that has the ids of release
0.1. Each test that passes on release 0.1 and not on this package must be in a class of `classes.py`. The command fails
if a failure is in no class, if a class explains none, or if more than `MOST_FAILURES` fail with that program. With
names of test files, only these run, and unused classes are no failure. `--write` writes the table to
`docs/tables/incumbent-tests.md`.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.peers import SAME_VERSIONS, Peer, child_environment, find_python, pinned
from scripts.incumbent.classes import is_gpt_oss
from scripts.incumbent.report import MOST_FAILURES, Report, count_uncounted, explain
from scripts.source_tests import find_source_tests
from tests.support.harmony_reference import harmony_vocabulary
from tests.support.models import CACHE, hub_models, unpack_hub

RELEASE = "0.1.12"
ENVIRONMENT = Peer(
    requirement=f"renderers[multimodal]=={RELEASE}",
    # Its tests pass an httpx client to openai, which openai 3 does not accept.
    beside=(
        "httpx",
        "openai<3",
        "pytest>=8.2",
        "pytest-asyncio>=0.24",
        *pinned(*SAME_VERSIONS),
    ),
)
ROOT = Path(__file__).parents[2]
PLUGINS = Path(__file__).parent
HOME = CACHE.parent / "incumbent"
PAGE = ROOT / "docs" / "tables" / "incumbent-tests.md"
OLD_PROGRAM = "harmony-0.1"
PROCESSES = min(4, os.cpu_count() or 1)

Outcomes = dict[str, str | None]


def main() -> int:
    """Run the tests and print the table. Return the exit status."""
    parser = argparse.ArgumentParser(description="Run the tests of release 0.1.12 on this package.")
    parser.add_argument("files", nargs="*", metavar="FILE", help="a test file, such as test_client.py (default: all)")
    parser.add_argument("--write", action="store_true", help="write docs/tables/incumbent-tests.md")
    options = parser.parse_args()
    if not hub_models():
        print("no real models available: set SHARED")
        return 0
    unpack_hub()
    python = find_python(ENVIRONMENT)
    if python is None:
        return 1
    source = find_source_tests("renderers", RELEASE, HOME)
    vocabulary()
    files = options.files or sorted(path.name for path in source.glob("tests/test_*.py"))
    with ThreadPoolExecutor(PROCESSES) as executor:
        known = dict(zip(files, executor.map(lambda file: run_release(python, source, file), files), strict=True))
        # Modules that release 0.1 cannot run here say nothing about this package.
        files = [file for file in files if None in known[file].values()]
        ours = dict(zip(files, executor.map(lambda file: run_ours(python, source, file), files), strict=True))
        passing = [test for file in files for test, failure in known[file].items() if failure is None]
        outcomes = {test: failure for file in files for test, failure in ours[file].items()}
        failures = {test: failure for test in passing if (failure := outcomes.get(test, "not collected")) is not None}
        again = sorted({Path(test.partition("::")[0]).name for test in failures if is_gpt_oss(test)})
        runs = list(executor.map(lambda file: run_ours(python, source, file, program=OLD_PROGRAM), again))
    renewed = {test: failure for run in runs for test, failure in run.items() if is_gpt_oss(test)}
    remaining = {
        test: renewed.get(test, failure) for test, failure in failures.items() if renewed.get(test, failure) is not None
    }
    explained, with_program = explain(failures), explain(remaining)
    for test in with_program.unexplained:
        print(f"unexplained: {test}: {remaining[test]}")
    if options.files:
        print(
            f"{len(passing)} tests pass on release {RELEASE}, {len(failures)} of them fail here, {len(remaining)} with "
            f"the program {OLD_PROGRAM}"
        )
        return bool(explained.unexplained or with_program.unexplained)
    for name in explained.unused:
        print(f"unused class: {name}")
    page = Report(
        defaults=explained,
        with_program=with_program,
        release=RELEASE,
        passing=len(passing),
        program=OLD_PROGRAM,
        uncounted=count_uncounted(failure for outcomes in known.values() for failure in outcomes.values()),
    ).page()
    print(page)
    if options.write:
        PAGE.write_text(page)
    unexplained = explained.unexplained or with_program.unexplained
    return bool(unexplained or explained.unused or len(remaining) > MOST_FAILURES)


@functools.cache
def vocabulary() -> Path:
    """Return the directory with the vocabulary of gpt-oss, which release 0.1 would download."""
    return harmony_vocabulary()


def run_release(python: str, source: Path, file: str) -> Outcomes:
    """Return the outcomes of a file of tests on release 0.1, from a file of its environment if it ran before."""
    target = Path(python).parents[1] / "outcomes" / f"{file}.json"
    if not target.is_file():
        run_tests(python, source, file, target)
    return read_outcomes(target)


def run_ours(python: str, source: Path, file: str, *, program: str | None = None) -> Outcomes:
    """Return the outcomes of a file of tests on this package; only those of gpt-oss, if there is a program for it."""
    target = HOME / (program or "ours") / f"{file}.json"
    chosen = ["--gpt-oss-program", program, "-k", "gpt-oss or harmony"] if program else []
    run_tests(python, source, file, target, "-p", "private_names_plugin", *chosen, package=ROOT / "src")
    return read_outcomes(target)


def run_tests(python: str, source: Path, file: str, target: Path, *options: str, package: Path | None = None) -> None:
    """Run a file of tests and write the outcomes to `target`. A run that breaks off leaves no such file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    paths = [PLUGINS] if package is None else [package, PLUGINS]
    environment = child_environment(
        PYTHONPATH=os.pathsep.join(map(str, paths)), TIKTOKEN_ENCODINGS_BASE=str(vocabulary())
    )
    command = [
        python,
        "-m",
        "pytest",
        f"tests/{file}",
        "-c",
        "pyproject.toml",
        "--quiet",
        "-p",
        "no:cacheprovider",
        "-p",
        "outcomes_plugin",
    ]
    output = target.with_suffix(".log")
    with output.open("w") as log:
        subprocess.run(
            [*command, *options, "--outcomes", str(target), "--models", ",".join(hub_models())],
            cwd=source,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if not target.is_file():
        raise RuntimeError(f"the tests of {file} did not finish: see {output}")


def read_outcomes(path: Path) -> Outcomes:
    """Return the outcomes that the plugin wrote."""
    outcomes: Outcomes = json.loads(path.read_text())
    return outcomes


if __name__ == "__main__":
    sys.exit(main())
