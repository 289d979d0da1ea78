"""Assign failures of the tests of release 0.1 to classes, and write the table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scripts.incumbent.classes import CLASSES, FailureClass

MOST_FAILURES = 273
"""The number of tests that may fail, all classes together. It may only decrease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """Failures by class, failures without a class, and classes without a failure."""

    by_class: Mapping[FailureClass, list[str]]
    unexplained: list[str]
    unused: list[str]

    @property
    def failures(self) -> int:
        """The number of failures."""
        return len(self.unexplained) + sum(map(len, self.by_class.values()))


def explain(failures: Mapping[str, str], classes: tuple[FailureClass, ...] = CLASSES) -> Explained:
    """Assign each failing test to the first class that its id and its message match."""
    by_class: dict[FailureClass, list[str]] = {entry: [] for entry in classes}
    unexplained: list[str] = []
    for test, message in failures.items():
        entry = next((entry for entry in classes if matches(entry, test, message)), None)
        (unexplained if entry is None else by_class[entry]).append(test)
    return Explained(
        by_class=by_class,
        unexplained=unexplained,
        unused=[entry.name for entry, tests in by_class.items() if not tests],
    )


def matches(entry: FailureClass, test: str, message: str) -> bool:
    """Return True if a failure belongs to a class."""
    in_tests = any(re.search(pattern, test) for pattern in entry.tests)
    return in_tests and (entry.message is None or re.search(entry.message, message) is not None)


def table(explained: Explained, *, release: str, passing: int) -> str:
    """Return the page with the counts."""
    return "\n".join(_lines(explained, release, passing)) + "\n"


def _lines(explained: Explained, release: str, passing: int) -> Iterator[str]:
    share = 100 * (passing - explained.failures) / passing
    yield f"# The tests of release {release} on this release"
    yield ""
    yield f"`make test-incumbent` runs the tests of the source package of `renderers` {release} on this package. A"
    yield "plugin adds the private names that these tests use, and sets their clock to the default date of this"
    yield "package. Only tests that pass on that release are counted: many need models that are not available."
    yield ""
    yield "| | tests |"
    yield "|---|--:|"
    yield f"| pass on release {release} | {passing:,} |"
    yield f"| pass on this package | {passing - explained.failures:,} ({share:.1f} %) |"
    yield f"| fail on this package | {explained.failures:,} |"
    yield ""
    yield "The command fails if a failure is in no class of this table, or if a class has no failures."
    yield ""
    yield "| class | tests | reason |"
    yield "|---|--:|---|"
    for entry, tests in sorted(explained.by_class.items(), key=lambda item: (-len(item[1]), item[0].name)):
        yield f"| {entry.name} | {len(tests)} | {entry.reason} |"
