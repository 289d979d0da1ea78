"""Traced strings give the same text as plain strings, and every character keeps its owner.

Each owner has its own alphabet, so that the expected owner follows from the character.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from renderers.templating.runs import Owner, PendingOwner, Run, gap_free_prefix, runs_of
from renderers.templating.traced_str import TracedMarkup, TracedStr, fill_gaps, join_traced, plain

FIRST, SECOND = Owner(0, ("content",)), Owner(3, ("tool_calls", 0, "function", "name"))
ALPHABETS = {FIRST: "ab <", SECOND: "AB\t&", None: "01\n-"}
OWNERS = {character: owner for owner, characters in ALPHABETS.items() for character in characters}


def traced_str(parts: list[tuple[Owner | None, str]]) -> TracedStr:
    """Return a traced string of parts with owners."""
    runs = [TracedStr(text, (Run(0, len(text), owner),)) if owner else text for owner, text in parts]
    return join_traced(runs)


part = st.sampled_from([FIRST, SECOND, None]).flatmap(
    lambda owner: st.tuples(st.just(owner), st.text(ALPHABETS[owner], max_size=6))
)
traced = st.lists(part, max_size=6).map(traced_str)
anything = traced | st.text("01\n-", max_size=4)
some = st.text("".join(OWNERS), min_size=1, max_size=2)
number = st.integers(-8, 12)


def owners(text: str) -> list[Owner | PendingOwner | None]:
    """Return the owner of each character. Check that the runs are in order and do not overlap."""
    by_character: list[Owner | PendingOwner | None] = [None] * len(text)
    last = 0
    for start, end, owner in runs_of(text):
        assert last <= start <= end <= len(text)
        by_character[start:end] = [owner] * (end - start)
        last = end
    return by_character


def check(got: Any, expected: Any, *, exact: bool = True) -> None:
    """Compare a result with the plain result, and its owners with the alphabets."""
    if isinstance(expected, (list, tuple)):
        assert type(got) is type(expected)
        assert len(got) == len(expected)
        for got_part, expected_part in zip(got, expected, strict=True):
            check(got_part, expected_part, exact=exact)
        return
    assert plain(got) == expected
    assert type(got) is TracedStr
    if exact:
        assert owners(got) == [OWNERS[character] for character in expected]


OPERATIONS: dict[str, Callable[..., Any]] = {
    "index": lambda s, x, y, m, n: s[m % len(s)] if s else s,
    "slice": lambda s, x, y, m, n: s[m:n],
    "step": lambda s, x, y, m, n: s[::-1],
    "stride": lambda s, x, y, m, n: s[m:n:2],
    "characters": lambda s, x, y, m, n: [*s],
    "strip": lambda s, x, y, m, n: s.strip(),
    "strip characters": lambda s, x, y, m, n: s.strip(y),
    "lstrip": lambda s, x, y, m, n: s.lstrip(),
    "rstrip": lambda s, x, y, m, n: s.rstrip(y),
    "split": lambda s, x, y, m, n: s.split(),
    "split at": lambda s, x, y, m, n: s.split(y, m),
    "split at most": lambda s, x, y, m, n: s.split(None, m),
    "rsplit": lambda s, x, y, m, n: s.rsplit(None, m),
    "rsplit at": lambda s, x, y, m, n: s.rsplit(y, m),
    "splitlines": lambda s, x, y, m, n: s.splitlines(),
    "splitlines with ends": lambda s, x, y, m, n: s.splitlines(True),
    "partition": lambda s, x, y, m, n: s.partition(y),
    "rpartition": lambda s, x, y, m, n: s.rpartition(y),
    "removeprefix": lambda s, x, y, m, n: s.removeprefix(y),
    "removesuffix": lambda s, x, y, m, n: s.removesuffix(y),
    "add": lambda s, x, y, m, n: s + x,
    "add to literal": lambda s, x, y, m, n: "0-" + s,
    "repeat": lambda s, x, y, m, n: s * n,
    "repeated": lambda s, x, y, m, n: n * s,
    "join": lambda s, x, y, m, n: s.join([x, "1", x]),
    "join nothing": lambda s, x, y, m, n: s.join([]),
    "replace": lambda s, x, y, m, n: s.replace(y, x),
    "replace some": lambda s, x, y, m, n: s.replace(y, x, m),
    "ljust": lambda s, x, y, m, n: s.ljust(n, "-"),
    "rjust": lambda s, x, y, m, n: s.rjust(n, "-"),
    "center": lambda s, x, y, m, n: s.center(n, "-"),
    "percent": lambda s, x, y, m, n: type(s)("0%s-%s") % (s, x),
    "percent by name": lambda s, x, y, m, n: type(s)("0%(k)s%%".replace("%%", "-")) % {"k": s},
}


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=150, deadline=None)
@given(s=traced, x=anything, y=some, m=number, n=number)
def test_an_operation_gives_the_plain_text_and_keeps_every_owner(
    name: str, s: TracedStr, x: str, y: str, m: int, n: int
) -> None:
    operation = OPERATIONS[name]
    check(operation(s, x, y, m, n), operation(plain(s), plain(x), y, m, n))


COARSENED: dict[str, Callable[..., Any]] = {
    "upper": lambda s: s.upper(),
    "lower": lambda s: s.lower(),
    "title": lambda s: s.title(),
    "capitalize": lambda s: s.capitalize(),
    "casefold": lambda s: s.casefold(),
    "swapcase": lambda s: s.swapcase(),
    "expandtabs": lambda s: s.expandtabs(4),
    "translate": lambda s: s.translate({ord("a"): "xyz"}),
    "zfill": lambda s: s.zfill(9),
    "replace nothing": lambda s: s.replace("", "-"),
    "percent repr": lambda s: type(s)("%r") % (s,),
}


@pytest.mark.parametrize("name", COARSENED)
@given(s=traced)
def test_a_coarse_operation_gives_the_plain_text_and_no_other_owner(name: str, s: TracedStr) -> None:
    operation = COARSENED[name]
    got = operation(s)
    check(got, operation(plain(s)), exact=False)
    assert {run.owner for run in runs_of(got)} <= {run.owner for run in runs_of(s)}


@given(text=st.text(max_size=20))
def test_a_string_with_one_owner_keeps_it_through_everything(text: str) -> None:
    single = TracedStr(text, (Run(0, len(text), FIRST),))
    for name, operation in COARSENED.items():
        if name not in ("zfill", "replace nothing", "percent repr"):
            got = operation(single)
            assert owners(got) == [FIRST] * len(got), name


def test_a_string_that_becomes_empty_keeps_its_owner() -> None:
    blank = TracedStr("  ", (Run(0, 2, FIRST),))
    assert runs_of(blank.strip()) == (Run(0, 0, FIRST),)
    assert runs_of("<" + blank.strip() + ">") == (Run(1, 1, FIRST),)


def test_a_traced_string_behaves_as_a_plain_string() -> None:
    text = TracedStr("ab", (Run(0, 2, FIRST),))
    assert text == "ab"
    assert hash(text) == hash("ab")
    assert {"ab": 1}[text] == 1
    assert str(text) is text
    assert isinstance(text, str)
    assert type(plain(text)) is str
    assert not hasattr(text, "__dict__")
    with pytest.raises(TypeError):
        text["x"]  # type: ignore[index]
    with pytest.raises(TypeError):
        text + 5


# ==================
# Markup
# ==================


@settings(max_examples=200, deadline=None)
@given(s=traced, x=anything, y=some, m=number)
def test_traced_markup_gives_the_same_text_as_markup(s: TracedStr, x: str, y: str, m: int) -> None:
    markup, reference, other = TracedMarkup(s, runs_of(s)), Markup(plain(s)), plain(x)
    pairs = [
        (markup + x, reference + other),
        (x + markup, other + reference),
        (markup.join([x, x]), reference.join([other, other])),
        (markup.replace(y, x), reference.replace(y, other)),
        (markup.strip(), reference.strip()),
        (markup[m:], reference[m:]),
        (TracedMarkup("0%s") % (x,), Markup("0%s") % (other,)),
        (TracedMarkup("0%s") % (markup,), Markup("0%s") % (reference,)),
    ]
    for got, expected in pairs:
        assert isinstance(got, TracedMarkup)
        assert plain(got) == plain(expected)
    assert list(map(plain, markup.split(y))) == list(map(plain, reference.split(y)))
    assert type(str(markup)) is TracedStr
    assert runs_of(str(markup)) == runs_of(s)


@given(st.lists(st.tuples(st.text("abé", max_size=3), st.integers(-1, 2), st.booleans()), max_size=12))
def test_filled_gaps_stay_filled_as_a_text_grows(steps: list[tuple[str, int, bool]]) -> None:
    grown: str = ""
    owned: list[Owner] = []
    for at, (text, message, plus) in enumerate(steps):
        piece = text if message < 0 else TracedStr(text, (Run(0, len(text), Owner(message, ("x",))),))
        grown = (
            TracedStr(grown, runs_of(grown), gap_free_prefix(grown)) + piece if plus else join_traced([grown, piece])
        )
        gap = Owner(at, ("gap",))
        grown = fill_gaps(grown, gap)
        owned += [gap if message < 0 else Owner(message, ("x",))] * len(text)
    assert owners(grown) == owned
