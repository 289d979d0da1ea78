"""`RenderedTokens` behaves as a dataclass of lists, and stores runs until a list is read."""

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

from renderers.core.native import COMPILED
from renderers.core.spans import Channel
from renderers.core.tokens import (
    Attribution,
    MultiModalData,
    PlaceholderRange,
    RenderedTokens,
    TokenRun,
    expand_in_python,
)
from tests.support.tokens import tokens_of_runs

ROLES = ["system", "user", "assistant"]
LISTS: dict[str, Any] = {
    "token_ids": [10, 11, 12, 13, 14, 15, 16, 17, 18],
    "message_indices": [-1, 0, 0, 1, 1, -1, 1, 2, 2],
    "sampled_mask": [False, False, False, False, True, True, True, False, False],
    "is_content": [False, False, True, False, True, True, True, True, False],
    "message_roles": ROLES,
}
FIELDS = [field.name for field in dataclasses.fields(RenderedTokens)]


def from_runs(**lists: Any) -> RenderedTokens:
    """Return tokens made of runs that equal the lists."""
    plain = RenderedTokens(**{**LISTS, **lists})
    return tokens_of_runs(
        array("I", plain.token_ids), plain.runs, message_roles=plain.message_roles, message_tool_names=[None] * 3
    )


BOTH_KINDS = {"of lists": RenderedTokens(**LISTS), "of runs": from_runs()}


def test_any_fields_can_be_given_and_the_others_are_empty() -> None:
    assert RenderedTokens() == RenderedTokens(token_ids=[], message_tool_names=[], multi_modal_data=None)
    for name in FIELDS:
        value: Any = [1] if name != "multi_modal_data" else MultiModalData()
        rendered = RenderedTokens(**{name: value})
        assert getattr(rendered, name) is value
        others = [getattr(rendered, other) for other in FIELDS if other not in (name, "multi_modal_data")]
        assert others == [[]] * len(others)


def test_tokens_without_ids_have_no_content_of_any_role() -> None:
    assert RenderedTokens(message_indices=[0], message_roles=["user"]).content_mask_for_roles({"user"}) == []


@pytest.mark.parametrize("rendered", BOTH_KINDS.values(), ids=BOTH_KINDS)
class TestBothKinds:
    def test_counts_tokens_of_messages(self, rendered: RenderedTokens) -> None:
        assert rendered.tokens_per_message() == rendered.tokens_per_message(5) == [2, 3, 2]
        assert rendered.tokens_per_message(2) == [2, 3]
        assert rendered.tokens_per_message(0) == []
        assert rendered.tokens_per_message(sampled_only=True) == [0, 2, 0]

    def test_finds_spans_of_messages(self, rendered: RenderedTokens) -> None:
        assert rendered.message_token_spans() == [(1, 3), (3, 7), (7, 9)]
        assert rendered.role_token_spans() == {"system": [(1, 3)], "user": [(3, 7)], "assistant": [(7, 9)]}

    def test_counts_tokens_of_roles(self, rendered: RenderedTokens) -> None:
        assert rendered.tokens_by_role() == {"system": 2, "user": 3, "assistant": 2}
        assert rendered.tokens_by_role(sampled_only=True) == {"system": 0, "user": 2, "assistant": 0}

    def test_finds_content_of_roles(self, rendered: RenderedTokens) -> None:
        assert rendered.content_token_spans_by_role() == {"system": [(2, 3)], "user": [(4, 7)], "assistant": [(7, 8)]}
        assert rendered.content_mask_for_roles({"user"}) == [at in (4, 6) for at in range(9)]
        assert rendered.content_mask_for_roles(["user", "assistant"]) == [at in (4, 6, 7) for at in range(9)]
        assert rendered.content_mask_for_roles(()) == [False] * 9

    def test_empty_tokens_are_truthy(self, rendered: RenderedTokens) -> None:
        assert rendered
        assert RenderedTokens(message_indices=rendered.message_indices)

    def test_gives_the_same_list_each_time(self, rendered: RenderedTokens) -> None:
        for name in FIELDS:
            assert getattr(rendered, name) is getattr(rendered, name)

    def test_is_copied_pickled_and_replaced(self, rendered: RenderedTokens) -> None:
        for again in (copy.copy(rendered), copy.deepcopy(rendered), pickle.loads(pickle.dumps(rendered))):
            assert again == rendered
            assert repr(again) == repr(rendered)
            assert again.runs == rendered.runs
        replaced = dataclasses.replace(rendered, token_ids=[1])
        assert (replaced.token_ids, replaced.message_indices) == ([1], LISTS["message_indices"])
        assert dataclasses.asdict(rendered)["sampled_mask"] == LISTS["sampled_mask"]

    def test_has_no_other_attributes(self, rendered: RenderedTokens) -> None:
        with pytest.raises(AttributeError, match="has no attribute 'tokens'"):
            rendered.tokens  # noqa: B018


def test_tokens_from_runs_and_from_lists_are_equal() -> None:
    channels = [Channel.SCAFFOLD] * 9
    assert from_runs(channels=channels) == RenderedTokens(**LISTS, channels=channels, message_tool_names=[None] * 3)
    assert from_runs() != RenderedTokens(token_ids=[1])


def test_changing_a_list_changes_nothing_else() -> None:
    rendered = from_runs()
    rendered.token_ids.append(99)
    rendered.message_indices.clear()
    assert rendered.token_ids[-1] == 99
    assert len(rendered.sampled_mask) == 9
    assert from_runs().token_ids == LISTS["token_ids"]


def test_media_can_be_assigned_afterwards() -> None:
    for rendered in (RenderedTokens(), from_runs()):
        rendered.multi_modal_data = MultiModalData(mm_placeholders={"image": [PlaceholderRange(offset=2, length=3)]})
        assert rendered.multi_modal_data.mm_placeholders["image"][0].length == 3
        assert not rendered.multi_modal_data.is_empty()
    assert MultiModalData().is_empty()


def test_tokens_that_straddle_a_boundary_are_listed() -> None:
    runs = RenderedTokens(**LISTS).runs
    rendered = tokens_of_runs(array("I", range(9)), runs, (3,), message_roles=[], message_tool_names=[])
    assert rendered.straddling_tokens() == [3]


def test_tokens_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    roles = ["user", "assistant"]
    runs = [
        TokenRun(2, 0, Channel.SCAFFOLD, False, False),
        TokenRun(3, 0, Channel.CONTENT, False, True),
        TokenRun(6, 1, Channel.REASONING, True, True),
        TokenRun(7, -1, Channel.SCAFFOLD, False, False),
    ]
    rendered = tokens_of_runs(
        array("I", range(97, 104)), runs, message_roles=roles, message_tool_names=[], decode=letters
    )
    rendered.explain()
    assert capsys.readouterr().out.splitlines() == [
        "0-1  0 user       scaffold     'ab'",
        "2    0 user       content      'c'",
        "3-5  1 assistant  reasoning  * 'def'",
        "6    -            scaffold     'g'",
    ]
    for copied in (pickle.loads(pickle.dumps(rendered)), copy.deepcopy(rendered)):
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
    rendered = tokens_of_runs(array("I", range(1_000_000)), [run], message_roles=["user"], message_tool_names=[None])
    held = sum(sys.getsizeof(value) for value in vars(rendered).values())
    assert held < 4_100_000
    assert rendered.token_ids[-1] == 999_999
    assert rendered.is_content == [True] * 1_000_000


@given(st.lists(st.tuples(st.integers(-1, 3), st.sampled_from(list(Channel)), st.booleans(), st.booleans())))
def test_lists_and_runs_agree(rows: list[tuple[int, Channel, bool, bool]]) -> None:
    columns = list(map(list, zip(*rows, strict=True))) or [[], [], [], []]
    names = ("message_indices", "channels", "sampled_mask", "is_content")
    lists: dict[str, Any] = dict(zip(names, columns, strict=True))
    plain = RenderedTokens(token_ids=list(range(len(rows))), **lists)
    rendered = tokens_of_runs(array("I", plain.token_ids), plain.runs, message_roles=[], message_tool_names=[])
    assert rendered == plain
    assert all(run[1:] != following[1:] for run, following in zip(rendered.runs, rendered.runs[1:], strict=False))


@pytest.mark.parametrize("rendered", [*BOTH_KINDS.values(), RenderedTokens()], ids=[*BOTH_KINDS, "empty"])
def test_arrays_equal_the_lists(rendered: RenderedTokens) -> None:
    arrays = rendered.arrays()
    size = len(rendered.token_ids)
    assert arrays.token_ids.tolist() == rendered.token_ids
    assert arrays.message_indices.tolist() == (rendered.message_indices or [-1] * size)
    assert arrays.sampled_mask.tolist() == (rendered.sampled_mask or [False] * size)
    assert arrays.is_content.tolist() == (rendered.is_content or [False] * size)
    channels = list(Channel)
    assert [channels[number] for number in arrays.channels] == (rendered.channels or [Channel.SCAFFOLD] * size)


def test_arrays_are_writable_copies_with_ids_of_64_bits() -> None:
    rendered = from_runs()
    ids, arrays = rendered.token_ids.copy(), rendered.arrays()
    assert arrays.token_ids.dtype == "int64"
    for values in arrays:
        values[0] = 1 - values[0]
    assert rendered.token_ids == ids
    assert rendered.arrays().token_ids.tolist() == ids


def test_ids_beyond_32_bits_have_an_array() -> None:
    # A bridge keeps any id that was sampled.
    assert RenderedTokens(token_ids=[2**40]).arrays().token_ids.tolist() == [2**40]


def test_arrays_without_a_copy_need_no_list_and_cannot_change_the_ids() -> None:
    rendered = from_runs()
    arrays = rendered.arrays(copy=False)
    assert "token_ids" not in vars(rendered)
    assert arrays.token_ids.base is not None
    assert [values.tolist() for values in arrays] == [values.tolist() for values in rendered.arrays()]
    for values in arrays:
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1


def test_without_numpy_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ImportError, match=r"renderers\[numpy\]"):
        from_runs().arrays()


def test_an_assigned_list_replaces_the_runs() -> None:
    rendered = from_runs()
    rendered.token_ids = rendered.token_ids[:3]
    rendered.message_indices = rendered.message_indices[:3]
    rendered.sampled_mask, rendered.is_content, rendered.channels = [True] * 3, [False] * 3, [Channel.CONTENT] * 3
    assert rendered.runs == (
        TokenRun(1, -1, Channel.CONTENT, True, False),
        TokenRun(3, 0, Channel.CONTENT, True, False),
    )
    assert rendered.arrays().token_ids.tolist() == rendered.token_ids


def test_tokens_from_lists_have_no_straddling_tokens() -> None:
    rendered = from_runs()
    assert rendered.straddling_tokens() == copy.deepcopy(rendered).straddling_tokens() == []
    for other in (RenderedTokens(**LISTS), dataclasses.replace(rendered)):
        with pytest.raises(TypeError, match="known only for an unmodified render result"):
            other.straddling_tokens()


def test_explain_works_without_roles_and_without_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    RenderedTokens().explain(str)
    RenderedTokens(token_ids=[1, 2], message_indices=[0, 0]).explain(str)
    assert capsys.readouterr().out == "\n0-1  0 ?  scaffold    '[1, 2]'\n"


def flip_sampled(rendered: RenderedTokens) -> None:
    rendered.sampled_mask[0] = not rendered.sampled_mask[0]


def move_message(rendered: RenderedTokens) -> None:
    rendered.message_indices[3:6] = [0, 0, 0]


def drop_last(rendered: RenderedTokens) -> None:
    for values in (
        rendered.token_ids,
        rendered.message_indices,
        rendered.sampled_mask,
        rendered.is_content,
        rendered.channels,
    ):
        values.pop()


def append_id(rendered: RenderedTokens) -> None:
    rendered.token_ids.append(99)


def replace_id(rendered: RenderedTokens) -> None:
    rendered.token_ids[4] = 99


CHANGES = [flip_sampled, move_message, drop_last, append_id, replace_id]


@pytest.mark.parametrize("change", CHANGES)
def test_runs_arrays_and_explanations_agree_with_lists_that_were_changed(
    change: Callable[[RenderedTokens], None], capsys: pytest.CaptureFixture[str]
) -> None:
    rendered = from_runs()
    change(rendered)
    lists = RenderedTokens(**{name: copy.copy(getattr(rendered, name)) for name in FIELDS})
    for copied in (rendered, copy.deepcopy(rendered), pickle.loads(pickle.dumps(rendered))):
        assert copied == lists
        assert copied.runs == lists.runs
        arrays: list[tuple[Any, Any]] = list(zip(copied.arrays(), lists.arrays(), strict=True))
        assert all(array.tolist() == expected.tolist() for array, expected in arrays)
        copied.explain(str)
        shown = capsys.readouterr().out
        lists.explain(str)
        assert shown == capsys.readouterr().out
        with pytest.raises(TypeError, match="straddling"):
            copied.straddling_tokens()


def from_lists() -> RenderedTokens:
    return RenderedTokens(**copy.deepcopy(LISTS), channels=[Channel.SCAFFOLD] * 9)


MAKERS = {"of lists": from_lists, "of runs": from_runs}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_counts_and_spans_agree_with_the_runs_of_lists_that_were_changed(
    change: Callable[[RenderedTokens], None], make: Callable[[], RenderedTokens]
) -> None:
    rendered = make()
    change(rendered)
    per_message, sampled_per_message = [0, 0, 0], [0, 0, 0]
    positions: dict[int, list[int]] = {0: [], 1: [], 2: []}
    start = 0
    for run in rendered.runs:
        if run.message >= 0:
            per_message[run.message] += run.end - start
            sampled_per_message[run.message] += (run.end - start) * run.sampled
            positions[run.message] += range(start, run.end)
        start = run.end
    assert start == len(rendered.token_ids) == len(rendered.arrays().message_indices)
    assert rendered.tokens_per_message() == list(rendered.tokens_by_role().values()) == per_message
    assert rendered.tokens_per_message(sampled_only=True) == sampled_per_message
    spans = [(found[0], found[-1] + 1) if found else None for found in positions.values()]
    assert rendered.message_token_spans() == spans


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_list_is_noticed(change: Callable[[RenderedTokens], None]) -> None:
    rendered = from_runs()
    assert rendered.straddling_tokens() == []
    change(rendered)
    with pytest.raises(TypeError, match="straddling"):
        rendered.straddling_tokens()


def test_reading_lists_without_changes_keeps_the_runs() -> None:
    rendered = from_runs()
    runs = rendered.runs
    assert rendered == rendered
    assert all(name in vars(rendered) for name in ("token_ids", "channels"))
    assert rendered.runs is runs
    assert rendered.straddling_tokens() == []


def test_a_pickle_has_the_ids_once() -> None:
    ids = list(range(100_000, 101_000))
    run = TokenRun(1000, 0, Channel.CONTENT, False, True)
    rendered = tokens_of_runs(ids, [run], message_roles=["user"], message_tool_names=[None])
    size = len(pickle.dumps(rendered))
    assert rendered.token_ids == ids
    assert rendered.is_content == [True] * 1000
    assert len(pickle.dumps(rendered)) == size
    assert pickle.loads(pickle.dumps(rendered)) == rendered


@pytest.mark.skipif(not COMPILED, reason="the C extension was not built")
@given(st.lists(st.tuples(st.integers(-1, 20) | st.integers(0, 300), st.integers()), max_size=6), st.integers(-1, 2))
def test_runs_are_expanded_alike_in_c_and_in_python(rows: list[tuple[int, int]], column: int) -> None:
    from renderers.core._native import expand

    ends = [end for end, _ in rows]
    if ends != sorted(ends) or min(ends, default=0) < 0 or (rows and column not in (0, 1)):
        with pytest.raises(ValueError, match="runs"):
            expand(tuple(rows), column)
    else:
        runs: Any = tuple(TokenRun(end, value, Channel.CONTENT, True, True) for end, value in rows)
        assert expand(tuple(rows), column) == expand_in_python(runs, column) == expand(runs, column)


def test_the_attribution_is_computed_once_and_on_request() -> None:
    calls: list[int] = []

    def attribute() -> Attribution:
        calls.append(1)
        return Attribution((TokenRun(2, 0, Channel.CONTENT, False, True),), tool_names=[None])

    rendered = RenderedTokens.of_encoded(array("I", [5, 6]), attribute, message_roles=["user"])
    assert rendered.token_ids == [5, 6]
    assert calls == []
    assert rendered.message_indices == [0, 0]
    assert rendered.is_content == [True, True]
    assert (rendered.message_tool_names, rendered.injected, rendered.straddling_tokens()) == ([None], [], [])
    assert pickle.loads(pickle.dumps(rendered)) == rendered
    assert calls == [1]


def test_a_pickle_holds_the_attribution_and_not_the_function() -> None:
    rendered = RenderedTokens.of_encoded(
        array("I", [5]), lambda: Attribution((TokenRun(1, 0, Channel.CONTENT, True, True),)), message_roles=["user"]
    )
    assert pickle.loads(pickle.dumps(rendered)).sampled_mask == [True]


def test_the_function_is_dropped_when_the_attribution_is_known() -> None:
    rendered = RenderedTokens.of_encoded(array("I"), Attribution, message_roles=[])
    assert rendered.runs == ()
    assert "_attribute" not in vars(rendered)
    assert rendered._build("_attribution") == Attribution()
