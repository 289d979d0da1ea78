"""Assign failures of the tests of release 0.1 to classes, and write the table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from scripts.incumbent.classes import CLASSES, FailureClass

_UNCOUNTED = {
    r"failed: OSError: We couldn": "need other models",
    r"failed: ValueError: Couldn't instantiate the backend tokenizer": (
        "need the tokenizers of Kimi K2, which transformers cannot build here"
    ),
    r"skipped": "are skipped, most because they do not apply to a model",
}
"""The reasons why tests do not pass on release 0.1 itself, by the start of their outcomes."""
_OTHER = "fail for other reasons, such as a difference between that release and the chat template of a model"

MOST_FAILURES = 150
"""The number of tests that may fail with the program of release 0.1 for gpt-oss. It may only decrease."""


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


def count_uncounted(outcomes: Iterable[str | None]) -> dict[str, int]:
    """Return the number of tests that do not pass on release 0.1 itself, by the reason.

    >>> count_uncounted([None, "skipped: torch required", "failed: OSError: We couldn't connect to the hub"])
    {'need other models': 1, 'are skipped, most because they do not apply to a model': 1}
    """
    counts = dict.fromkeys((*_UNCOUNTED.values(), _OTHER), 0)
    for outcome in outcomes:
        if outcome is not None:
            counts[next((text for start, text in _UNCOUNTED.items() if re.match(start, outcome)), _OTHER)] += 1
    return {reason: count for reason, count in counts.items() if count}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcomes of all tests: with the defaults of this package, and with a program for gpt-oss."""

    defaults: Explained
    with_program: Explained
    release: str
    passing: int
    """The number of tests that pass on that release."""
    program: str
    uncounted: Mapping[str, int]
    """The numbers of tests that do not pass on that release, by the reason."""

    def page(self) -> str:
        """Return the page with the counts."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        runs = self.defaults, self.with_program
        release = self.release
        yield f"# The tests of release {release} on this release"
        yield ""
        yield f"`make test-incumbent` runs the tests of the source package of `renderers` {release} on this package."
        yield "A plugin adds the private names that these tests use, and sets their clock to the default date of this"
        yield "package. Only tests that pass on that release here are counted. Tests with a model as parameter run only"
        yield f"if it is available. Of the others, {sum(self.uncounted.values()):,} do not pass on that release:"
        yield ""
        for reason, count in self.uncounted.items():
            yield f"- {count:,} {reason}"
        yield ""
        yield "The tests run with the defaults of this package. Those of gpt-oss that fail run again with"
        yield f'`program="{self.program}"`, which keeps'
        yield "[the ids of release 0.1](../migrating.md#keep-the-ids-of-release-01-for-gpt-oss)."
        yield "The plugin sets this program for all renderers of gpt-oss, and changes no other option."
        defaults, with_program = (run.failures for run in runs)
        yield f"With the defaults {defaults:,} tests fail, and {with_program:,} with this program."
        yield ""
        yield f'| tests | defaults | gpt-oss with `program="{self.program}"` |'
        yield "|---|--:|--:|"
        yield f"| pass on release {release} | {self.passing:,} | {self.passing:,} |"
        yield (
            "| pass on this package | "
            + " | ".join(_share(self.passing - run.failures, self.passing) for run in runs)
            + " |"
        )
        yield f"| fail on this package | {defaults:,} | {with_program:,} |"
        yield ""
        yield "The command fails if a failure is in no class of this table, if a class has no failures, or if more than"
        yield f"{MOST_FAILURES} tests fail with this program."
        yield ""
        yield f"| class | defaults | `{self.program}` | reason |"
        yield "|---|--:|--:|---|"
        for entry, tests in sorted(self.defaults.by_class.items(), key=lambda item: (-len(item[1]), item[0].name)):
            yield f"| {entry.name} | {len(tests)} | {len(self.with_program.by_class[entry])} | {entry.reason} |"


def _share(count: int, total: int) -> str:
    return f"{count:,} ({100 * count / total:.1f} %)"
