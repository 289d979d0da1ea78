"""The page lists agreement, differences by topic, notes, and models that were not compared."""

from __future__ import annotations

from scripts.compare.entries import TOPICS
from scripts.compare.judge import ENTRIES, Agreement, Verdict
from scripts.compare.notes import NOTES
from scripts.compare.report import page, problems
from tests.compare.test_entries import RECORDED


def test_the_page_has_all_sections() -> None:
    verdict = Verdict(known_families={"qwen3": [], "hy3": []})
    verdict.families["qwen3"] = Agreement(models={"m"}, settings={"{}"})
    verdict.families["qwen3"].cases["render"] = 3
    verdict.families["qwen3"].same["render"] = 2
    verdict.families["qwen3"].same_ids = 3
    verdict.sampled["qwen3"] = (4, 0)
    verdict.left_out.append("m: it does not load")
    text = page(verdict)
    assert "| qwen3 | 1 | 1 | 3 | 100 % | 67 % | 0 | – | 0 | – | 0 | – |" in text
    assert "| qwen3 | sampled_from `'<think>'` | 4 | 0 |" in text
    assert "- m: it does not load" in text
    assert "without a vocabulary to load here: hy3." in text
    for title in (*(topic.title for topic in TOPICS), *NOTES):
        assert f"# {title}\n" in text


def test_a_row_counts_the_differences_and_names_the_families() -> None:
    verdict = Verdict()
    example = RECORDED["prefilled think"]
    verdict.explain([example, example])
    entry = next(entry for entry in ENTRIES if entry.name == "prefilled think")
    row = next(line for line in page(verdict).splitlines() if line.startswith(f"| {entry.name} |"))
    assert row.endswith(f"| 2: {example.family} |")


def test_problems_name_unexplained_differences_and_unused_entries() -> None:
    verdict = Verdict(entries=ENTRIES[:1], unknown=[RECORDED["prefilled think"]])
    verdict.sampled["qwen3"] = (1, 1)
    verdict.families["qwen3"] = Agreement()
    verdict.known_families = {"qwen3": ["enable_thinking", "speed"]}
    unexplained, unused, switch, conventions, total = problems(verdict)
    assert switch == "not compared: qwen3: speed"
    assert unexplained.startswith("unexplained: 1 x ")
    assert unused == f"unused: {ENTRIES[0].name}"
    assert "1 differences in sampled_mask" in conventions
    assert total == "1 unexplained differences, 1 unused entries"
