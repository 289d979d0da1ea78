"""The parts of the benchmarks that do not measure: input, ratios, and the pages that are written."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import first_use, growth, steady
from benchmarks.chats import agentic_chat, completion_chat, plain_chat, short_chat, sized_chat
from benchmarks.models import Model
from benchmarks.peers import OLD_RELEASE, TML, Peer
from benchmarks.race import FIRST, OLD, OURS, ROOT, UNEQUAL, Answer, Result, Spread, environment_of
from benchmarks.report import MARKED, OtherRow, Section, SummaryRow, Table, summary
from benchmarks.scripts import ASCII, SCRIPTS, rewrite
from renderers.core.native import COMPILED


@pytest.mark.parametrize("script", [ASCII, *SCRIPTS])
def test_another_seed_gives_another_chat(script: str) -> None:
    for make in (short_chat, completion_chat):
        assert make("1", script=script) == make("1", script=script)
        assert make("1", script=script) != make("2", script=script)
    first, second = (agentic_chat(seed, turns=3, script=script)["messages"] for seed in "12")
    assert [message["role"] for message in first] == [message["role"] for message in second]
    assert all(left["content"] != right["content"] for left, right in zip(first, second, strict=True))


def test_chats_have_the_size_that_was_asked_for() -> None:
    assert [len(sized_chat("1", messages=count)["messages"]) for count in (10, 100)] == [10, 100]
    text = "".join(message["content"] for message in plain_chat("1", characters=20_000)["messages"])
    assert 15_000 < len(text) < 25_000


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_text_in_another_script_has_the_same_lines(script: str) -> None:
    text = "Return the lines.\n\nRaise an error, if there is none.\n    x = 1\nThe end of all lines"
    written = rewrite(text, script)
    assert written == rewrite(text, script)
    assert not written.isascii()
    assert written.count("\n") == text.count("\n")


def test_a_ratio_is_the_median_of_the_rounds_with_its_range() -> None:
    times = {OURS.label: (1.0, 1.0, 2.0), OLD.label: (4.0, 5.0, 6.0)}
    answers = {
        label: [Answer(seconds=second, first=second / 2, digests=[]) for second in seconds]
        for label, seconds in times.items()
    }
    result = Result(model="m", workload="w", answers=answers, same={OLD.label: [True, False]})
    assert result.ratio(OLD.label) == Spread(4.0, 3.0, 5.0)
    assert result.ratio(OLD.label, of="first") == Spread(4.0, 3.0, 5.0)
    assert str(Spread(123.4, 12.34, 1.234)) == "123 (12.3–1.23)"
    assert result.agreement(OLD.label) == "1 of 2"
    assert result.agreement(OURS.label) == "–"


def test_the_summary_marks_a_ratio_if_not_all_outputs_are_equal() -> None:
    answers = {label: [Answer(seconds=2.0, first=1.0, digests=[])] for label in (OURS.label, FIRST.label, OLD.label)}
    result = Result(model="m", workload="w", answers=answers, same={OLD.label: [True], FIRST.label: [True, True]})
    assert result.marked_ratio(OLD.label) == "1.00 (1.00–1.00)"
    assert result.marked_ratio(OLD.label, FIRST.label) == "1.00 (1.00–1.00)"
    result.same[FIRST.label][1] = False
    assert result.marked_ratio(OLD.label) == "1.00 (1.00–1.00)"
    assert result.marked_ratio(OLD.label, FIRST.label) == f"1.00 (1.00–1.00) {UNEQUAL}"
    result.same = {OLD.label: [True, False]}
    assert result.marked_ratio(OLD.label) == f"1.00 (1.00–1.00) {UNEQUAL}"
    rows = (*steady._summary([result]), *first_use._summary([result]), growth._summary_row(result))
    assert {row.ratio for row in rows} == {result.marked_ratio(OLD.label)}
    assert MARKED in summary([Section(title="Title", text="", tables=[], summary=rows)])


@pytest.mark.parametrize("peer", [OLD_RELEASE, TML], ids=lambda peer: peer.requirement)
def test_the_packages_of_a_peer_have_exact_versions(peer: Peer) -> None:
    assert [package for package in (peer.requirement, *peer.beside) if "==" not in package] == []


def test_the_versions_that_the_benchmark_compares_with_are_pinned() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    pinned = {package.partition("==")[0] for package in groups["bench"] if "==" in package}
    assert pinned == {"tokenizers", "transformers"}


@pytest.mark.skipif(not COMPILED, reason="the C extension was not built")
def test_a_vocabulary_that_cannot_be_compiled_fails_the_benchmark(tmp_path: Path) -> None:
    model = Model(name=str(tmp_path), vocabulary=tmp_path / "tokenizer.json")
    with pytest.raises(subprocess.CalledProcessError), environment_of(OURS, model):
        pass


def test_pages_are_written_around_the_text_of_their_authors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Path] = []
    monkeypatch.setattr(command, "draw", lambda bars, path: drawn.append(path))
    (tmp_path / "tables").mkdir()
    page = tmp_path / "benchmarks.md"
    page.write_text(f"before\n{command.BEGIN}\nold\n{command.END}\nafter\n")
    section = Section(
        title="Title",
        text="Text.",
        tables=[
            Table(title="Table", header=["name", "value"], rows=[["a", "1.5 (1–2)"]]),
            Table(title="Empty", header=["a"], rows=[]),
        ],
        summary=[SummaryRow("a", "Qwen", "peer", "2.0"), SummaryRow("b", "GLM", "peer", "3.0")],
        others=[OtherRow("memory", "Qwen", "1.0")],
    )
    for _ in range(2):
        command.write([section], rounds=7, docs=tmp_path)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith(f"{command.END}\nafter\n")
    assert "old" not in text
    assert text.count("| a | peer | 2.0 | – |\n| b | peer | – | 3.0 |") == 1
    assert "| memory | 1.0 |" in text
    tables = (tmp_path / "tables" / "benchmarks.md").read_text()
    assert "Table:\n\n| name | value |\n|---|--:|\n| a | 1.5 (1–2) |\n" in tables
    assert "Empty" not in tables
    assert drawn == [tmp_path / "benchmarks.png"] * 2
