"""Find the differences between two results of a case."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from renderers.core.text import common_prefix_length
from scripts.compare.corpus import Case

__all__ = ["Difference", "Pair", "Run", "differences"]

Data = Mapping[str, Any]
Decode = Callable[[Sequence[int]], str]

_AROUND = 12
"""The number of tokens on either side of a difference that predicates can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The tokens of a difference, as text. Names that begin with `old` refer to release 0.1."""

    text: str = ""
    old_text: str = ""
    before: str = ""
    after: str = ""
    role: str | None = None
    """The role of the message that owns the first token; None for no message."""
    old_role: str | None = None
    channels: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A value that differs between the releases; `old` is that of release 0.1."""

    family: str
    model: str
    settings: Data
    case: Case
    field: str
    new: Any
    old: Any
    run: Run = Run()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The results of a case with both releases."""

    family: str
    model: str
    settings: Data
    case: Case
    new: Data
    old: Data
    decode: Decode

    def difference(self, name: str, new: Any, old: Any, run: Run | None = None) -> Difference:
        return Difference(
            family=self.family,
            model=self.model,
            settings=self.settings,
            case=self.case,
            field=name,
            new=new,
            old=old,
            run=run or Run(),
        )


def differences(pair: Pair) -> Iterator[Difference]:
    """Yield the differences of two results.

    If a release refuses a case, only the refusal is compared. If the ids differ, only the ids are compared.
    """
    kind, old_kind = _refusal(pair.new), _refusal(pair.old)
    if kind != old_kind:
        yield pair.difference("outcome", _outcome(pair.new, kind), _outcome(pair.old, old_kind))
    elif kind is None:
        yield from _KINDS.get(pair.case.kind, _values)(pair)


def _refusal(result: Data) -> str | None:
    """Return the key of an error or a refusal; None if there is a result."""
    return next((key for key in ("error", "refused") if key in result), None)


def _outcome(result: Data, kind: str | None) -> str:
    return "" if kind is None else f"{kind}: {result[kind]}"


def _values(pair: Pair) -> Iterator[Difference]:
    for name, old in pair.old.items():
        if pair.new[name] != old:
            yield pair.difference(name, pair.new[name], old)


# ==================
# Tokens
# ==================


def _tokens(pair: Pair) -> Iterator[Difference]:
    """Yield the differences of rendered tokens or training samples."""
    for name in ("message_roles", "message_tool_names", "mm_token_type_ids"):
        if pair.new.get(name) != pair.old.get(name):
            yield pair.difference(name, pair.new[name], pair.old[name])
    if pair.new["token_ids"] != pair.old["token_ids"]:
        yield from _hunks(pair)
        return
    for name in ("message_indices", "sampled_mask", "is_content", "loss_mask"):
        if name in pair.new and len(pair.new[name]) != len(pair.old[name]):
            yield pair.difference(name, f"{len(pair.new[name])} values", f"{len(pair.old[name])} values")
        elif name in pair.new:
            yield from _runs(pair, name)


def _hunks(pair: Pair) -> Iterator[Difference]:
    """Yield the runs of tokens that only one release has, or that differ."""
    new, old = pair.new["token_ids"], pair.old["token_ids"]
    # SequenceMatcher can align a repeated text with a later copy. The equal beginning is always aligned.
    start = common_prefix_length(new, old)
    rest, old_rest = new[start:], old[start:]
    matcher = difflib.SequenceMatcher(None, rest, old_rest, autojunk=False)
    for kind, begin, end, old_begin, old_end in matcher.get_opcodes():
        if kind != "equal":
            yield _hunk(pair, (start + begin, start + end), (start + old_begin, start + old_end))


def _hunk(pair: Pair, span: tuple[int, int], old_span: tuple[int, int]) -> Difference:
    new, old = pair.new["token_ids"], pair.old["token_ids"]
    text, old_text = pair.decode(new[slice(*span)]), pair.decode(old[slice(*old_span)])
    run = Run(
        text=text,
        old_text=old_text,
        before=pair.decode(new[max(0, span[0] - _AROUND) : span[0]]),
        after=pair.decode(new[span[1] : span[1] + _AROUND]),
        role=_role(pair.new, span[0]),
        old_role=_role(pair.old, old_span[0]),
        channels=frozenset(pair.new.get("channels", ())[slice(*span)]),
    )
    return pair.difference("token_ids", text, old_text, run)


def _runs(pair: Pair, name: str) -> Iterator[Difference]:
    """Yield the runs of tokens with the same pair of values in a list."""
    ids, at = pair.new["token_ids"], 0
    for (value, old_value), run in itertools.groupby(zip(pair.new[name], pair.old[name], strict=True)):
        end = at + sum(1 for _ in run)
        if value != old_value:
            found = Run(
                text=pair.decode(ids[at:end]),
                before=pair.decode(ids[max(0, at - _AROUND) : at]),
                after=pair.decode(ids[end : end + _AROUND]),
                role=_role(pair.new, at),
                old_role=_role(pair.old, at),
                channels=frozenset(pair.new.get("channels", ())[at:end]),
            )
            yield pair.difference(name, value, old_value, found)
        at = end


def _role(result: Data, at: int) -> str | None:
    """Return the role of the message that owns a token; None if there is none."""
    owners, roles = result.get("message_indices", ()), result.get("message_roles", ())
    owner = owners[at] if at < len(owners) else -1
    return roles[owner] if 0 <= owner < len(roles) else None


# ==================
# Parsed responses
# ==================


def _responses(pair: Pair) -> Iterator[Difference]:
    """Yield the differences of parsed responses. Calls are compared if both have the same names."""
    for name in ("content", "reasoning_content", "reasoning_complete"):
        if pair.new[name] != pair.old[name]:
            yield pair.difference(name, pair.new[name], pair.old[name])
    calls, old_calls = pair.new["tool_calls"], pair.old["tool_calls"]
    names, old_names = ([call["name"] for call in each] for each in (calls, old_calls))
    if names != old_names:
        yield pair.difference("tool_calls", names, old_names)
        return
    for call, old_call in zip(calls, old_calls, strict=True):
        for name in ("arguments", "status", "id", "token_span", "raw"):
            if call[name] != old_call[name]:
                yield pair.difference(name, call[name], old_call[name])


_KINDS: dict[str, Callable[[Pair], Iterator[Difference]]] = {
    "render": _tokens,
    "bridge": _tokens,
    "sample": _tokens,
    "parse": _responses,
}
