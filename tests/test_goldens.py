"""Rendered ids equal the golden ids, and every change of golden ids is in the changelog."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from renderers.errors import MessageError, TemplateError
from renderers.families import Family
from scripts.goldens import golden_of
from tests.support.encoder_goldens import ENCODED, encoder_row, recorded
from tests.support.golden import (
    CHANGELOG,
    FOLDER,
    KEPT,
    Case,
    Golden,
    Model,
    changelog_row,
    create_template_renderer,
    digest_of_ids,
    names_of,
    path_of,
    read_golden,
    row_in_changelog,
    row_name,
    write_golden,
)
from tests.support.golden_conversations import questions

# The same switches are passed to all models.
pytestmark = pytest.mark.filterwarnings("ignore::renderers.UnreadSwitchWarning")

MOST_BYTES = 450_000
"""The maximum size of all files together, so that they stay readable."""

SMALL = Golden(
    family="small",
    version=2,
    date="2026-11-15T12:30:00",
    models=[
        Model(
            name="someone/small",
            template="0123456789abcdef",
            tools=[{"name": "a b", "description": "“x”\n\n# y"}],
            cases=[
                Case("one", ("a",), {"a": None}, [{"role": "user", "content": "\u2028\n\n"}], list(range(1000, 1100))),
                Case("two", (), {}, [{"role": "user", "content": "1"}, {"role": "tool"}], None),
            ],
        ),
        Model(name="someone/other", template="1", tools=[], cases=[Case("one", (), {}, [], [])]),
    ],
)


def committed(family: Family) -> Golden:
    """Return the committed golden ids of a family."""
    path = path_of(family.key)
    assert path.is_file(), f"there are no golden ids of {family.key}: run `make goldens`"
    return read_golden(path.read_text(encoding="utf-8"))


# ==================
# Files
# ==================


def test_a_file_is_equal_after_a_round_trip() -> None:
    assert read_golden(write_golden(SMALL)) == SMALL


def test_ids_are_wrapped_into_short_lines() -> None:
    lines = [line for line in write_golden(SMALL).split("\n") if line[:1].isdigit()]
    assert len(lines) > 1
    assert all(len(line) <= 120 for line in lines)


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("family small\n", ""),
        ("template 01", "digest 01"),
        ("set ", "sets "),
        ("refused", "refuse"),
        ("1000 1001", "1000,1001"),
        ('{"role": "tool"}', '{"role": "tool"'),
    ],
)
def test_a_malformed_file_is_an_error(part: str, other: str) -> None:
    text = write_golden(SMALL)
    assert part in text
    with pytest.raises(ValueError, match=r"."):
        read_golden(text.replace(part, other, 1))


def test_a_prefix_of_most_cases_is_written_once() -> None:
    start = list(range(5000, 5200))
    cases = [Case(str(at), (), {}, [], [*start, at]) for at in range(5)]
    others = [Case("other", (), {}, [], [1, 2]), Case("refused", (), {}, [], None), Case("start", (), {}, [], start)]
    golden = SMALL._replace(models=[Model("a", "b", [], [*cases, *others]), *SMALL.models])
    text = write_golden(golden)
    assert text.count(" 5100 ") == 1
    assert read_golden(text) == golden


# ==================
# Changelog
# ==================


def test_the_digest_changes_with_an_id_a_title_and_a_refusal() -> None:
    model = SMALL.models[0]
    first, second = model.cases
    others = [
        [first._replace(ids=[*(first.ids or ())[:-1], 0]), second],
        [first._replace(title="other"), second],
        [first, second._replace(ids=[])],
        [first],
    ]
    digests = [digest_of_ids(SMALL._replace(models=[model._replace(cases=cases)])) for cases in [model.cases, *others]]
    assert len({digest_of_ids(SMALL), *digests}) == len(others) + 2


def test_the_newest_changelog_row_of_a_family_is_used() -> None:
    text = f"## 2\n\n{changelog_row(SMALL)}\n\n## 1\n\n| smaller | 1 | `00` |\n| small | 1 | `11` |\n"
    assert row_in_changelog(text, "small") == changelog_row(SMALL)
    assert row_in_changelog(text, "smaller") == "| smaller | 1 | `00` |"
    assert row_in_changelog(text, "smal") is None


@pytest.mark.parametrize("family", KEPT.values(), ids=KEPT)
def test_every_digest_is_in_the_changelog(family: Family) -> None:
    row = changelog_row(committed(family))
    assert row_in_changelog(CHANGELOG.read_text(encoding="utf-8"), row_name(family.key)) == row, (
        f"the ids in {path_of(family.key).name} are not the ones that {CHANGELOG.name} knows. If they were not meant to"
        " change, find out why the reference gives others. If they were: let the `version` of the family's record grow,"
        f' run `make goldens`, say under "Ids" in {CHANGELOG.name} what changed, and put its line into the table there.'
        f" If cases were only added, the version stays. As the file is now, the line is:\n{row}"
    )


@pytest.mark.parametrize("family", ENCODED.values(), ids=ENCODED)
def test_every_digest_of_an_encoder_is_in_the_changelog(family: Family) -> None:
    row = encoder_row(family)
    assert len(recorded(family)) >= 20
    assert row_in_changelog(CHANGELOG.read_text(encoding="utf-8"), family.key) == row, (
        f"the recorded ids of the program {family.program!r} are not the ones that {CHANGELOG.name} knows. If ids were"
        " meant to change, let the `version` of the family's record grow. If conversations were only added, the version"
        f" stays. As the file is now, the line is:\n{row}"
    )


# ==================
# Families
# ==================


def test_every_verified_family_has_a_file_and_no_file_is_left_over() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {path_of(key).name for key in KEPT}


def test_all_files_together_are_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MOST_BYTES


@pytest.mark.parametrize("family", KEPT.values(), ids=KEPT)
def test_a_file_agrees_with_the_current_record(family: Family) -> None:
    golden = committed(family)
    assert (golden.family, golden.version) == (family.key, family.version), "run `make goldens`"
    assert golden.models
    for model in golden.models:
        assert model.name in family.names
        assert model.template in family.templates
        expected = [(question.title, question.settings) for question in questions(family)]
        assert [(case.title, case.settings) for case in model.cases] == expected, "run `make goldens`"
        assert sum(case.ids is not None for case in model.cases) > len(expected) / 2


@pytest.mark.parametrize("family", KEPT.values(), ids=KEPT)
def test_rendered_ids_equal_the_golden_ids(hub: Path, family: Family) -> None:
    golden = committed(family)
    for model in golden.models:
        assert differences(family, golden, model) == []


def differences(family: Family, golden: Golden, model: Model) -> list[str]:
    """Return the cases of a model with different ids, for the messages in the file and before adaptation."""
    renderer = create_template_renderer(family, model.name, datetime.datetime.fromisoformat(golden.date))
    mismatches = []
    for case, question in zip(model.cases, questions(family), strict=True):
        tools = [tool for tool in model.tools if names_of([tool])[0] in case.tools] or None
        for messages in (case.messages, question.messages):
            ids: list[int] | None
            try:
                ids = renderer.render_ids(messages, tools=tools, process_multimodal=False, **case.settings)
            except (TemplateError, MessageError):
                ids = None
            if ids != case.ids:
                mismatches.append(f"{model.name}, {case.title}: expected {case.ids}, got {ids}")
    return mismatches


def test_a_changed_id_is_reported_as_a_difference(hub: Path) -> None:
    family = next(iter(KEPT.values()))
    golden = committed(family)
    model = golden.models[0]
    first, *rest = model.cases
    for ids in ([*(first.ids or ()), 0], None):
        wrong = model._replace(cases=[first._replace(ids=ids), *rest])
        assert len(differences(family, golden, wrong)) == 2


def test_the_command_generates_the_committed_file(hub: Path) -> None:
    family = next(iter(KEPT.values()))
    assert write_golden(golden_of(family)) == path_of(family.key).read_text(encoding="utf-8")
