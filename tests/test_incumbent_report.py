"""Failures of the tests of release 0.1 are assigned to classes with a reason."""

from __future__ import annotations

from scripts.incumbent.classes import CLASSES, FailureClass
from scripts.incumbent.report import Report, count_uncounted, explain

DATES = FailureClass(name="dates", reason="The date is an argument.", tests=(r"^tests/test_dates\.py::",))
TEXTS = FailureClass(name="error texts", reason="Other words.", tests=(r"::test_raises",), message="Regex pattern")


def test_a_failure_belongs_to_the_first_class_that_its_id_and_message_match() -> None:
    failures = {
        "tests/test_dates.py::test_raises": "Regex pattern did not match",
        "tests/test_x.py::test_raises[a]": "Regex pattern did not match",
        "tests/test_x.py::test_raises[b]": "KeyError",
    }

    explained = explain(failures, (DATES, TEXTS))

    assert explained.by_class == {
        DATES: ["tests/test_dates.py::test_raises"],
        TEXTS: ["tests/test_x.py::test_raises[a]"],
    }
    assert explained.unexplained == ["tests/test_x.py::test_raises[b]"]
    assert explained.failures == 3


def test_a_class_without_failures_is_unused() -> None:
    assert explain({}, (DATES,)).unused == ["dates"]


def test_the_table_counts_tests_by_class_with_and_without_the_old_program() -> None:
    explained = explain({"tests/test_dates.py::test_today": "assert 1 == 2"}, (DATES,))

    uncounted = count_uncounted([None, "skipped: no torch", "failed: KeyError", "failed: KeyError"])
    page = Report(
        defaults=explained,
        with_program=explain({}, (DATES,)),
        release="0.1.12",
        passing=200,
        program="harmony-0.1",
        uncounted=uncounted,
    ).page()

    assert "3 do not pass on that release:\n\n- 1 are skipped" in page
    assert "- 2 fail for other reasons" in page
    assert "| pass on this package | 199 (99.5 %) | 200 (100.0 %) |" in page
    assert "| dates | 1 | 0 | The date is an argument. |" in page


def test_names_of_classes_are_unique() -> None:
    names = [entry.name for entry in CLASSES]
    assert len(names) == len(set(names))
