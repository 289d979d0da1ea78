"""`RenderedTokens` behaves as the dataclass that its users know, and holds runs until a list is asked for."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
from array import array
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.core.spans import Channel
from renderers.core.tokens import MultiModalData, PlaceholderRange, RenderedTokens, TokenRun

ROLES = ["system", "user", "assistant"]
LISTS: dict[str, Any] = {
    "token_ids": [10, 11, 12, 13, 14, 15, 16, 17, 18],
    "message_indices": [-1, 0, 0, 1, 1, -1, 1, 2, 2],
    "sampled_mask": [False, False, False, False, True, True, True, False, False],
    "is_content": [False, False, True, False, True, True, True, True, False],
    "message_roles": ROLES,
}
FIELDS = [field.name for field in dataclasses.fields(RenderedTokens)]


def of_lists(**lists: Any) -> RenderedTokens:
    """Make the same of runs as the lists say."""
    plain = RenderedTokens(**{**LISTS, **lists})
    return RenderedTokens.of_runs(
        array("I", plain.token_ids), plain.runs, message_roles=plain.message_roles, message_tool_names=[None] * 3
    )


MADE = {"of lists": RenderedTokens(**LISTS), "of runs": of_lists()}


def test_any_fields_can_be_given_and_the_others_are_empty() -> None:
    assert RenderedTokens() == RenderedTokens(token_ids=[], message_tool_names=[], multi_modal_data=None)
    for name in FIELDS:
        value: Any = [1] if name != "multi_modal_data" else MultiModalData()
        made = RenderedTokens(**{name: value})
        assert getattr(made, name) is value
        others = [getattr(made, other) for other in FIELDS if other not in (name, "multi_modal_data")]
        assert others == [[]] * len(others)


def test_tokens_without_ids_have_no_content_of_any_role() -> None:
    assert RenderedTokens(message_indices=[0], message_roles=["user"]).content_mask_for_roles({"user"}) == []


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
class TestOneOf:
    def test_counts_tokens_of_messages(self, made: RenderedTokens) -> None:
        assert made.tokens_per_message() == made.tokens_per_message(5) == [2, 3, 2]
        assert made.tokens_per_message(2) == [2, 3]
        assert made.tokens_per_message(0) == []
        assert made.tokens_per_message(sampled_only=True) == [0, 2, 0]

    def test_finds_spans_of_messages(self, made: RenderedTokens) -> None:
        assert made.message_token_spans() == [(1, 3), (3, 7), (7, 9)]
        assert made.role_token_spans() == {"system": [(1, 3)], "user": [(3, 7)], "assistant": [(7, 9)]}

    def test_counts_tokens_of_roles(self, made: RenderedTokens) -> None:
        assert made.tokens_by_role() == {"system": 2, "user": 3, "assistant": 2}
        assert made.tokens_by_role(sampled_only=True) == {"system": 0, "user": 2, "assistant": 0}

    def test_finds_content_of_roles(self, made: RenderedTokens) -> None:
        assert made.content_token_spans_by_role() == {"system": [(2, 3)], "user": [(4, 7)], "assistant": [(7, 8)]}
        assert made.content_mask_for_roles({"user"}) == [at in (4, 6) for at in range(9)]
        assert made.content_mask_for_roles(["user", "assistant"]) == [at in (4, 6, 7) for at in range(9)]
        assert made.content_mask_for_roles(()) == [False] * 9

    def test_empty_tokens_are_truthy(self, made: RenderedTokens) -> None:
        assert made
        assert RenderedTokens(message_indices=made.message_indices)

    def test_gives_the_same_list_each_time(self, made: RenderedTokens) -> None:
        for name in FIELDS:
            assert getattr(made, name) is getattr(made, name)

    def test_is_copied_pickled_and_replaced(self, made: RenderedTokens) -> None:
        for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
            assert again == made
            assert repr(again) == repr(made)
            assert again.runs == made.runs
        replaced = dataclasses.replace(made, token_ids=[1])
        assert (replaced.token_ids, replaced.message_indices) == ([1], LISTS["message_indices"])
        assert dataclasses.asdict(made)["sampled_mask"] == LISTS["sampled_mask"]

    def test_has_no_other_attributes(self, made: RenderedTokens) -> None:
        with pytest.raises(AttributeError, match="has no attribute 'tokens'"):
            made.tokens  # noqa: B018


def test_tokens_from_runs_and_from_lists_are_equal() -> None:
    channels = [Channel.SCAFFOLD] * 9
    assert of_lists(channels=channels) == RenderedTokens(**LISTS, channels=channels, message_tool_names=[None] * 3)
    assert of_lists() != RenderedTokens(token_ids=[1])


def test_changing_a_list_changes_nothing_else() -> None:
    made = of_lists()
    made.token_ids.append(99)
    made.message_indices.clear()
    assert made.token_ids[-1] == 99
    assert len(made.sampled_mask) == 9
    assert of_lists().token_ids == LISTS["token_ids"]


def test_media_can_be_assigned_afterwards() -> None:
    for made in (RenderedTokens(), of_lists()):
        made.multi_modal_data = MultiModalData(mm_placeholders={"image": [PlaceholderRange(offset=2, length=3)]})
        assert made.multi_modal_data.mm_placeholders["image"][0].length == 3
        assert not made.multi_modal_data.is_empty()
    assert MultiModalData().is_empty()


def test_tokens_that_straddle_a_boundary_are_listed() -> None:
    runs = RenderedTokens(**LISTS).runs
    made = RenderedTokens.of_runs(array("I", range(9)), runs, (3,), message_roles=[], message_tool_names=[])
    assert made.straddling_tokens() == [3]


def test_tokens_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    roles = ["user", "assistant"]
    runs = [
        TokenRun(2, 0, Channel.SCAFFOLD, False, False),
        TokenRun(3, 0, Channel.CONTENT, False, True),
        TokenRun(6, 1, Channel.REASONING, True, True),
        TokenRun(7, -1, Channel.SCAFFOLD, False, False),
    ]
    made = RenderedTokens.of_runs(
        array("I", range(97, 104)), runs, message_roles=roles, message_tool_names=[], decode=letters
    )
    made.explain()
    assert capsys.readouterr().out.splitlines() == [
        "0-1  0 user       scaffold     'ab'",
        "2    0 user       content      'c'",
        "3-5  1 assistant  reasoning  * 'def'",
        "6    -            scaffold     'g'",
    ]
    for copied in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        with pytest.raises(TypeError, match="these tokens have no tokenizer"):
            copied.explain()
        copied.explain(letters)
        assert "'def'" in capsys.readouterr().out


def letters(ids: list[int]) -> str:
    return "".join(map(chr, ids))


def test_tokens_are_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(RenderedTokens())


@pytest.mark.parametrize(
    ("lists", "spans"),
    [
        ({"message_indices": [0, 0, 1, 0]}, [(0, 4), (2, 3)]),
        ({"message_indices": [0, 2]}, [(0, 1), None, (1, 2)]),
        ({"message_indices": [0, 1], "message_roles": ["user"]}, [(0, 1)]),
        ({"message_indices": [0, 2], "message_roles": ["user", "x", "y", "z"]}, [(0, 1), None, (1, 2), None]),
        ({}, []),
    ],
)
def test_spans_without_all_fields(lists: dict[str, Any], spans: list[Any]) -> None:
    assert RenderedTokens(**lists).message_token_spans() == spans


def test_unknown_fields_are_not_counted() -> None:
    some: dict[str, Any] = {"token_ids": [1, 2, 3], "message_indices": [0, 0, 1], "message_roles": ["user", "tool"]}
    assert RenderedTokens(**some).tokens_per_message(sampled_only=True) == [0, 0]
    assert RenderedTokens(**some, sampled_mask=[True]).tokens_by_role(sampled_only=True) == {"user": 0, "tool": 0}
    assert RenderedTokens(**some).content_token_spans_by_role() == {}
    assert RenderedTokens(**some, is_content=[True]).content_mask_for_roles({"user"}) == [False] * 3


def test_a_million_tokens_hold_no_boxed_integers_until_a_list_is_read() -> None:
    run = TokenRun(1_000_000, 0, Channel.CONTENT, False, True)
    made = RenderedTokens.of_runs(
        array("I", range(1_000_000)), [run], message_roles=["user"], message_tool_names=[None]
    )
    held = sum(sys.getsizeof(value) for value in vars(made).values())
    assert held < 4_100_000
    assert made.token_ids[-1] == 999_999
    assert made.is_content == [True] * 1_000_000


@given(st.lists(st.tuples(st.integers(-1, 3), st.sampled_from(list(Channel)), st.booleans(), st.booleans())))
def test_lists_and_runs_agree(rows: list[tuple[int, Channel, bool, bool]]) -> None:
    columns = list(map(list, zip(*rows, strict=True))) or [[], [], [], []]
    names = ("message_indices", "channels", "sampled_mask", "is_content")
    lists: dict[str, Any] = dict(zip(names, columns, strict=True))
    plain = RenderedTokens(token_ids=list(range(len(rows))), **lists)
    made = RenderedTokens.of_runs(array("I", plain.token_ids), plain.runs, message_roles=[], message_tool_names=[])
    assert made == plain
    assert all(one[1:] != other[1:] for one, other in zip(made.runs, made.runs[1:], strict=False))


@pytest.mark.parametrize("made", [*MADE.values(), RenderedTokens()], ids=[*MADE, "empty"])
def test_arrays_equal_the_lists(made: RenderedTokens) -> None:
    arrays = made.arrays()
    size = len(made.token_ids)
    assert arrays.token_ids.tolist() == made.token_ids
    assert arrays.message_indices.tolist() == (made.message_indices or [-1] * size)
    assert arrays.sampled_mask.tolist() == (made.sampled_mask or [False] * size)
    assert arrays.is_content.tolist() == (made.is_content or [False] * size)
    channels = list(Channel)
    assert [channels[number] for number in arrays.channels] == (made.channels or [Channel.SCAFFOLD] * size)


def test_arrays_need_no_list_and_cannot_change_the_ids() -> None:
    made = of_lists()
    arrays = made.arrays()
    assert "token_ids" not in vars(made)
    with pytest.raises(ValueError, match="read-only"):
        arrays.token_ids[0] = 1


def test_without_numpy_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ImportError, match=r"renderers\[numpy\]"):
        of_lists().arrays()


def test_an_assigned_list_replaces_the_runs() -> None:
    made = of_lists()
    made.token_ids = made.token_ids[:3]
    made.message_indices = made.message_indices[:3]
    made.sampled_mask, made.is_content, made.channels = [True] * 3, [False] * 3, [Channel.CONTENT] * 3
    assert made.runs == (TokenRun(1, -1, Channel.CONTENT, True, False), TokenRun(3, 0, Channel.CONTENT, True, False))
    assert made.arrays().token_ids.tolist() == made.token_ids


def test_tokens_from_lists_have_no_straddling_tokens() -> None:
    made = of_lists()
    assert made.straddling_tokens() == copy.deepcopy(made).straddling_tokens() == []
    for other in (RenderedTokens(**LISTS), dataclasses.replace(made)):
        with pytest.raises(TypeError, match="only known of the unchanged result of a renderer"):
            other.straddling_tokens()


def test_explain_works_without_roles_and_without_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    RenderedTokens().explain(str)
    RenderedTokens(token_ids=[1, 2], message_indices=[0, 0]).explain(str)
    assert capsys.readouterr().out == "\n0-1  0 ?  scaffold    '[1, 2]'\n"


def flip_sampled(made: RenderedTokens) -> None:
    made.sampled_mask[0] = not made.sampled_mask[0]


def move_message(made: RenderedTokens) -> None:
    made.message_indices[3:6] = [0, 0, 0]


def drop_last(made: RenderedTokens) -> None:
    for values in (made.token_ids, made.message_indices, made.sampled_mask, made.is_content, made.channels):
        values.pop()


def append_id(made: RenderedTokens) -> None:
    made.token_ids.append(99)


def replace_id(made: RenderedTokens) -> None:
    made.token_ids[4] = 99


CHANGES = [flip_sampled, move_message, drop_last, append_id, replace_id]


@pytest.mark.parametrize("change", CHANGES)
def test_runs_arrays_and_explanations_agree_with_lists_that_were_changed(
    change: Callable[[RenderedTokens], None], capsys: pytest.CaptureFixture[str]
) -> None:
    made = of_lists()
    change(made)
    lists = RenderedTokens(**{name: copy.copy(getattr(made, name)) for name in FIELDS})
    for copied in (made, copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert copied == lists
        assert copied.runs == lists.runs
        arrays: list[tuple[Any, Any]] = list(zip(copied.arrays(), lists.arrays(), strict=True))
        assert all(one.tolist() == other.tolist() for one, other in arrays)
        copied.explain(str)
        shown = capsys.readouterr().out
        lists.explain(str)
        assert shown == capsys.readouterr().out
        with pytest.raises(TypeError, match="straddle"):
            copied.straddling_tokens()


def test_reading_lists_without_changes_keeps_the_runs() -> None:
    made = of_lists()
    runs = made.runs
    assert made == made
    assert all(name in vars(made) for name in ("token_ids", "channels"))
    assert made.runs is runs
    assert made.straddling_tokens() == []
