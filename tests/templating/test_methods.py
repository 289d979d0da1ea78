"""Methods and operators give the same text as on plain strings, and every character keeps its owner.

Each owner has its own alphabet, so that the expected owner follows from the character.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2.exceptions import SecurityError, UndefinedError
from markupsafe import Markup

from renderers.templating.iteration import characters
from renderers.templating.limits import Budget, TemplateLimits
from renderers.templating.lookups import item, slice_of
from renderers.templating.methods import call_method
from renderers.templating.operators import add, modulo, multiply
from renderers.templating.texts import field_text, fill_gaps, join_texts, mixed_text, plain, runs_of, safe_text
from renderers.templating.values import Owner, SafeText
from renderers.templating.wrapping import wrap

FIRST: Owner = (0, ("content",))
SECOND: Owner = (3, ("tool_calls", 0, "function", "name"))
ALPHABETS: dict[Owner | None, str] = {FIRST: "ab <", SECOND: "AB\t&", None: "01\n-|"}
OWNERS = {character: owner for owner, letters in ALPHABETS.items() for character in letters}
BUDGET = Budget(TemplateLimits(characters=2**60, seconds=10**6))

part = st.sampled_from([FIRST, SECOND, None]).flatmap(
    lambda owner: st.text(ALPHABETS[owner], max_size=6).map(
        lambda text: text if owner is None else field_text(text, owner)
    )
)
owned = st.lists(part, max_size=6).map(join_texts)
some = st.text("".join(OWNERS), min_size=1, max_size=2)
number = st.integers(-8, 12)


def owners_of(text: str) -> list[Owner | None]:
    """Return the owner of each character. Check that the runs are in order and cover the text."""
    by_character: list[Owner | None] = []
    for end, owner in runs_of(text):
        assert end >= len(by_character)
        by_character += [owner] * (end - len(by_character))
    assert len(by_character) == len(text)
    return by_character


def check(got: Any, expected: Any) -> None:
    """Compare a result with the plain result, and its owners with the alphabets."""
    if isinstance(expected, list | tuple):
        assert type(got) is type(expected)
        assert len(got) == len(expected)
        for got_part, expected_part in zip(got, expected, strict=True):
            check(got_part, expected_part)
        return
    assert plain(got) == expected
    assert owners_of(got) == [OWNERS[character] for character in expected]


METHODS: dict[str, Callable[[str, str, int, int], tuple[Any, ...]]] = {
    "strip": lambda x, y, m, n: (),
    "lstrip": lambda x, y, m, n: (y,),
    "rstrip": lambda x, y, m, n: (None,),
    "split": lambda x, y, m, n: (y, m),
    "rsplit": lambda x, y, m, n: (None, m),
    "splitlines": lambda x, y, m, n: (m > 0,),
    "partition": lambda x, y, m, n: (y,),
    "rpartition": lambda x, y, m, n: (y,),
    "removeprefix": lambda x, y, m, n: (y,),
    "removesuffix": lambda x, y, m, n: (y,),
    "join": lambda x, y, m, n: ([x, "1", x],),
    # Text of the template that is no marker belongs to the field that it is written into.
    "replace": lambda x, y, m, n: (y, join_texts([x, "|"]), m),
    "ljust": lambda x, y, m, n: (n, "-"),
    "rjust": lambda x, y, m, n: (n, "-"),
    "center": lambda x, y, m, n: (n, "-"),
}


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=150, deadline=None)
@given(s=owned, x=owned, y=some, m=number, n=number)
def test_a_method_gives_the_plain_text_and_keeps_every_owner(name: str, s: str, x: str, y: str, m: int, n: int) -> None:
    args = METHODS[name](x, y, m, n)
    plain_args = METHODS[name](plain(x), y, m, n)
    check(call_method(BUDGET, s, name, *args), getattr(plain(s), name)(*plain_args))


@settings(max_examples=300, deadline=None)
@given(s=owned, x=owned, m=number, n=number)
def test_an_operator_gives_the_plain_text_and_keeps_every_owner(s: str, x: str, m: int, n: int) -> None:
    check(add(BUDGET, s, x), plain(s) + plain(x))
    check(multiply(BUDGET, s, n), plain(s) * n)
    check(multiply(BUDGET, n, s), n * plain(s))
    check(modulo(BUDGET, "0%s-%s", (s, x)), f"0{plain(s)}-{plain(x)}")
    check(modulo(BUDGET, "0%(k)s", {"k": s}), f"0{plain(s)}")
    check(slice_of(BUDGET, s, m, n, None), plain(s)[m:n])
    check(slice_of(BUDGET, s, m, n, 2), plain(s)[m:n:2])
    check(slice_of(BUDGET, s, None, None, -1), plain(s)[::-1])
    check(characters(s), list(plain(s)))
    check(call_method(BUDGET, "0{}-{x}", "format", s, x=x), f"0{plain(s)}-{plain(x)}")
    if s:
        check(item(s, m % len(s), None), plain(s)[m % len(s)])  # type: ignore[arg-type]


COARSE: dict[str, tuple[Any, ...]] = {
    "upper": (),
    "lower": (),
    "title": (),
    "capitalize": (),
    "casefold": (),
    "swapcase": (),
    "expandtabs": (4,),
}
COARSE |= {"translate": ({97: "xyz"},), "zfill": (9,)}


@pytest.mark.parametrize("name", COARSE)
@given(s=owned)
def test_a_coarse_method_gives_the_plain_text_and_no_other_owner(name: str, s: str) -> None:
    got = call_method(BUDGET, s, name, *COARSE[name])
    assert plain(got) == getattr(plain(s), name)(*COARSE[name])
    assert set(owners_of(got)) <= {owner for _, owner in runs_of(s)} | {None}


@given(text=st.text(max_size=20))
def test_a_text_with_one_owner_keeps_it(text: str) -> None:
    for name, args in COARSE.items():
        if name != "zfill":
            got = call_method(BUDGET, field_text(text, FIRST), name, *args)
            assert owners_of(got) == [FIRST] * len(got), name


def test_a_text_that_becomes_empty_keeps_its_owner() -> None:
    blank = call_method(BUDGET, field_text("  ", FIRST), "strip")
    assert runs_of(blank) == ((0, FIRST),)
    assert runs_of(join_texts(["<", blank, ">"])) == ((1, None), (1, FIRST), (2, None))


@settings(max_examples=200, deadline=None)
@given(s=owned, x=owned, y=some, m=number)
def test_a_safe_text_gives_the_same_text_as_markup(s: str, x: str, y: str, m: int) -> None:
    safe, reference, other = safe_text(s), Markup(plain(s)), plain(x)
    pairs = [
        (add(BUDGET, safe, x), reference + other),
        (add(BUDGET, x, safe), other + reference),
        (multiply(BUDGET, safe, 2), reference * 2),
        (call_method(BUDGET, safe, "join", [x, x]), reference.join([other, other])),
        (call_method(BUDGET, safe, "replace", y, x), reference.replace(y, other)),
        (call_method(BUDGET, safe, "strip"), reference.strip()),
        (call_method(BUDGET, safe, "upper"), reference.upper()),
        (call_method(BUDGET, safe_text("0{}"), "format", x), Markup("0{}").format(other)),
        (slice_of(BUDGET, safe, m, None, None), reference[m:]),
        (modulo(BUDGET, safe_text("0%s"), (x,)), Markup("0%s") % (other,)),
        (modulo(BUDGET, safe_text("0%s"), (safe,)), Markup("0%s") % (reference,)),
    ]
    for got, expected in pairs:
        assert isinstance(got, SafeText)
        assert plain(got) == plain(expected)
    assert [plain(one) for one in call_method(BUDGET, safe, "split", y)] == list(map(plain, reference.split(y)))


@given(st.lists(st.tuples(st.text("abé", max_size=3), st.integers(-1, 2)), max_size=12))
def test_filled_gaps_stay_filled_as_a_text_grows(steps: list[tuple[str, int]]) -> None:
    grown = ""
    expected: list[Owner | None] = []
    for at, (text, message) in enumerate(steps):
        gap: Owner = (at, ("gap",))
        owner = gap if message < 0 else (message, ("x",))
        grown = fill_gaps(join_texts([grown, text if message < 0 else field_text(text, owner)]), gap)
        expected += [owner] * len(text)
    assert owners_of(grown) == expected


def test_a_text_with_owners_behaves_as_a_plain_text() -> None:
    for text in (field_text("ab", FIRST), mixed_text("ab", ((1, FIRST), (2, SECOND))), safe_text("ab")):
        assert text == "ab"
        assert hash(text) == hash("ab")
        assert type(plain(text)) is str
        assert not hasattr(text, "__dict__")


@pytest.mark.parametrize("name", ["append", "pop", "clear", "insert", "extend", "sort", "reverse", "remove"])
def test_a_method_that_changes_a_list_of_the_caller_is_refused(name: str) -> None:
    with pytest.raises(SecurityError, match=f"may not change a list: {name}"):
        call_method(BUDGET, wrap([1], FIRST), name)


@pytest.mark.parametrize("name", ["clear", "insert", "extend", "sort", "reverse", "remove"])
def test_a_template_can_only_append_to_its_own_list_and_pop_from_it(name: str) -> None:
    own = [1]
    call_method(BUDGET, own, "append", 2)
    assert own == [1, 2]
    assert call_method(BUDGET, own, "pop", 0) == 1
    with pytest.raises(SecurityError, match=f"may not change a list: {name}"):
        call_method(BUDGET, own, name)


@pytest.mark.parametrize("receiver", ["a", 1, 1.5, [1], {"a": 1}, None, True, wrap({"a": 1}, FIRST)])
def test_a_method_that_is_not_listed_does_not_exist(receiver: Any) -> None:
    for name in ("__class__", "__init__", "_owner", "_runs", "encode", "to_bytes", "nope"):
        with pytest.raises(UndefinedError):
            call_method(BUDGET, receiver, name)


def test_text_that_is_written_into_a_field_belongs_to_it_unless_it_may_be_a_marker() -> None:
    text = field_text("a--b--c", FIRST)
    for new in ("\n", ".\n", " and ", "&lt;"):
        replaced = call_method(BUDGET, text, "replace", "--", new)
        assert set(owners_of(replaced)) == {FIRST}
    for new in ("<b>", "[b]", "<|b", "]~b"):
        assert owners_of(call_method(BUDGET, text, "replace", "--", new, 1)) == [
            FIRST,
            *[None] * len(new),
            *[FIRST] * 4,
        ]
    assert plain(call_method(BUDGET, text, "replace", "--", "")) == "abc"
    # Nothing of the field is left.
    assert owners_of(call_method(BUDGET, field_text("--", FIRST), "replace", "--", "x")) == [None]
    both = join_texts([text, "--", field_text("d", SECOND)])
    assert owners_of(call_method(BUDGET, both, "replace", "--", " ")) == [*[FIRST] * 5, None, SECOND]
