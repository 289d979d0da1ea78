"""Run the tests against real engines, print their results as a table, and write docs/tables/engine.md.

    python -m scripts.engine_table [0.31.0 0.32.0] [-k EXPRESSION]

The versions are those of vLLM. Each is installed into an environment of its own if it is missing. With `-k`, only some
tests run, and the page is not written. It is not written either if a test fails.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

import pytest

from tests.support.models import HUB_AT_HAND
from tests.support.recorded import VLLM_VERSIONS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tables" / "engine.md"
_HEAD = """# Tests against vLLM

Written by `make test-engine`. A vLLM server on the CPU serves a small Qwen3 model with random weights and the real
tokenizer. A logits processor forces the sampled ids where a test needs certain ones, and logs the prompt of every
request as the engine has it.
"""
_OTHERS = "other engines"


class Results:
    """A pytest plugin that collects the result of each test by version."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the result of a test."""
        if report.when != "call" and report.passed:
            return
        name, _, parameters = report.nodeid.partition("::test_")[2].partition("[")
        values = parameters.removesuffix("]").split("-") if parameters else []
        version = next((value for value in values if re.fullmatch(r"[\d.]+", value)), _OTHERS)
        rest = [value for value in values if value != version]
        title = name.replace("_", " ") + (f" ({', '.join(rest)})" if rest else "")
        facts = ", ".join(f"{value:,} {key}" for key, value in report.user_properties if isinstance(value, int))
        self.rows.setdefault(title, {})[version] = facts or "passed" if report.passed else report.outcome.upper()

    def table(self) -> list[str]:
        """Return the lines of a table with a row for each test and a column for each version."""
        versions = sorted({version for row in self.rows.values() for version in row})
        heads = [version if version == _OTHERS else f"vLLM {version}" for version in versions]
        lines = [f"| test | {' | '.join(heads)} |", "|---" * (len(versions) + 1) + "|"]
        return lines + [
            f"| {title} | {' | '.join(row.get(version, '') for version in versions)} |"
            for title, row in self.rows.items()
        ]


def main() -> int:
    """Run the tests, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=VLLM_VERSIONS)
    parser.add_argument("-k", dest="selection", help="run only these tests, as in pytest")
    arguments = parser.parse_args()
    if not HUB_AT_HAND:
        parser.error("the tokenizer of Qwen3 is not available: set SHARED to the folder that contains hub/unpack")
    os.environ["ENGINE_VERSIONS"] = " ".join(arguments.versions)
    results = Results()
    selection = ["-k", arguments.selection] if arguments.selection else []
    # One process, so that there is one server at a time.
    status = pytest.main([str(ROOT / "tests" / "engine"), "--numprocesses", "0", "-v", *selection], [results])
    table = results.table()
    print("", *table, sep="\n")
    if status == pytest.ExitCode.OK and not arguments.selection:
        PAGE.write_text("\n".join([_HEAD, *table, ""]), encoding="utf-8")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
