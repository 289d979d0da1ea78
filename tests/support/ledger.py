"""Compare token attribution with release 0.1, and explain every difference by an entry of the ledger.

Release 0.1 renders in a separate process (`scripts/ledger_worker.py`). If both releases give the same ids, a
difference is a run of tokens with the same pair of values in a field. Exactly one entry must explain each difference,
and every entry must explain at least one.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from renderers import ChatRenderer, MessageError, RenderedTokens, SamplingConventions, TemplateError
from renderers.core.spans import Channel
from renderers.families import FAMILIES
from tests.support.conversations import CONVERSATIONS
from tests.support.parity import rotated

__all__ = [
    "CASES",
    "CAUSES",
    "CONVENTIONS",
    "DATES",
    "FIELDS",
    "LEDGER",
    "Case",
    "Cause",
    "Comparison",
    "Difference",
    "Entry",
    "Judged",
    "compare_model",
    "differences",
    "judge",
    "why_ids_differ",
]

Data = dict[str, Any]

FIELDS = ("message_indices", "sampled_mask", "is_content")
DATES = {"llama-3": "2024-07-26"}
"""The default dates of the families of release 0.1. Families that are not listed use the current date."""
_AROUND = 8
"""The number of tokens on either side of a difference that predicates can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A conversation and its render arguments; `switches` are template arguments."""

    name: str
    tools: list[Data] | None
    prompt: bool
    switches: Data

    @property
    def messages(self) -> list[Data]:
        return CONVERSATIONS[self.name]

    def job(self) -> Data:
        """Return the case as JSON data for the worker process."""
        return {
            "messages": self.messages,
            "tools": self.tools,
            "add_generation_prompt": self.prompt,
            "switches": self.switches,
        }


def _cases() -> Iterator[Case]:
    """Yield each conversation twice with default thinking, and once each with thinking off and on."""
    settings: list[tuple[Data, int]] = [({}, 2), ({"enable_thinking": False}, 1), ({"enable_thinking": True}, 1)]
    for switches, turns in settings:
        for name, arguments in rotated(turns=turns, switches=[{}]):
            prompt = arguments["add_generation_prompt"]
            yield Case(name=name, tools=arguments["tools"], prompt=prompt, switches=switches)


CASES = tuple(_cases())


# ==================
# Differences
# ==================


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A run of tokens with the same pair of values in a field. Names that begin with `old` refer to release 0.1."""

    family: str
    case: str
    field: str
    text: str
    tokens: int
    before: str
    after: str
    value: int
    old_value: int
    role: str | None
    """The role of the message that owns the run; None for no message."""
    old_role: str | None
    channels: frozenset[Channel]


def differences(
    rendered: RenderedTokens, old: Mapping[str, Sequence[int]], *, family: str, case: str, decode: Callable[..., str]
) -> Iterator[Difference]:
    """Yield the differences of two renders with the same ids, field by field."""

    def role(message: int) -> str | None:
        return rendered.message_roles[message] if message >= 0 else None

    ids = rendered.token_ids
    for name in FIELDS:
        at = 0
        pairs = zip(map(int, getattr(rendered, name)), map(int, old[name]), strict=True)
        for (value, old_value), run in itertools.groupby(pairs):
            end = at + sum(1 for _ in run)
            if value != old_value:
                yield Difference(
                    family=family,
                    case=case,
                    field=name,
                    text=decode(ids[at:end]),
                    tokens=end - at,
                    before=decode(ids[max(0, at - _AROUND) : at]),
                    after=decode(ids[end : end + _AROUND]),
                    value=value,
                    old_value=old_value,
                    role=role(rendered.message_indices[at]),
                    old_role=role(old["message_indices"][at]),
                    channels=frozenset(rendered.channels[at:end]),
                )
            at = end


# ==================
# The ledger
# ==================


class Entry(NamedTuple):
    """The family and field of a difference, and its cause."""

    family: str
    field: str
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A cause of differences, with the families and fields that it affects, and a predicate."""

    name: str
    families: tuple[str, ...]
    fields: tuple[str, ...]
    matches: Callable[[Difference], bool]


_MASKS = ("sampled_mask", "is_content")
_OWNER = ("message_indices",)
_NEMOTRON = ("nemotron-3", "nemotron-3-ultra", "nemotron-3.5")
_THINK = re.compile(r"<think>\n{0,2}(?:</think>\n{0,2})?")
_HEADS = ("assistant\n", "<|assistant|>\n", "]~b]ai\n")


CONVENTIONS = {
    family.key: family.conventions for family in FAMILIES.values() if family.conventions != SamplingConventions()
}
"""The sampling conventions of release 0.1, for the families that differ from the default."""


def _removed(difference: Difference) -> bool:
    return (difference.value, difference.old_value) == (0, 1)


def _added(difference: Difference) -> bool:
    return (difference.value, difference.old_value) == (1, 0)


CAUSES = (
    Cause(
        name="prefilled think",
        families=("qwen3", "qwen3.5", "qwen3.6", "qwen3.8", "glm-4.5", "minimax-m2", *_NEMOTRON),
        fields=_MASKS,
        matches=lambda run: (
            _removed(run)
            and run.role == "assistant"
            and _THINK.fullmatch(run.text) is not None
            and run.before.endswith(_HEADS)
        ),
    ),
    Cause(
        name="newline after the header",
        families=("glm-4.5", "minimax-m2"),
        fields=_MASKS,
        matches=lambda run: (
            _added(run) and run.text in ("\n", "\n\n") and run.before.endswith(("<|assistant|>", "]~b]ai"))
        ),
    ),
    Cause(
        name="Harmony channel headers",
        families=("gpt-oss",),
        fields=_MASKS,
        matches=lambda run: (
            _added(run)
            and re.fullmatch(r"<\|channel\|>\w+<\|message\|>", run.text) is not None
            and run.before.endswith("<|start|>assistant")
        ),
    ),
    Cause(
        name="headings around instructions",
        families=("gpt-oss",),
        fields=("is_content",),
        matches=lambda run: (
            _removed(run)
            and run.role in ("system", None)
            and run.channels == {Channel.SCAFFOLD}
            and run.text.strip() in ("Instructions", "# Instructions", "#")
        ),
    ),
    Cause(
        name="Harmony system message and tools",
        families=("gpt-oss",),
        fields=_OWNER,
        matches=lambda run: (
            run.role is None
            and run.text.startswith(("<|start|>system", "# Tools"))
            and Channel.SCAFFOLD in run.channels
        ),
    ),
    Cause(
        name="quotes",
        families=("llama-3", "gemma4"),
        fields=("is_content",),
        matches=lambda run: (
            _removed(run)
            and run.role == "tool"
            and run.channels == {Channel.SCAFFOLD}
            and re.fullmatch(r'"\W?|<\|"\|>', run.text) is not None
        ),
    ),
    Cause(
        name="tool definitions",
        families=(
            *("qwen3", "qwen3-vl", "qwen3.5", "qwen3.6", "qwen3.8", "llama-3", "minimax-m2", "gemma4"),
            *_NEMOTRON,
        ),
        fields=_OWNER,
        matches=lambda run: run.role is None and run.channels == {Channel.TOOL_DEFINITION},
    ),
    Cause(
        name="BOS token",
        families=("minimax-m2",),
        fields=_OWNER,
        matches=lambda run: run.role is None and run.old_role == "system" and (run.before, run.text) == ("", "]~!b["),
    ),
    Cause(
        name="joined system messages",
        families=("deepseek-v3",),
        fields=_OWNER,
        matches=lambda run: (
            run.role == run.old_role == "system" and run.old_value == 0 and run.channels == {Channel.CONTENT}
        ),
    ),
    Cause(
        name="closing tag of tool outputs",
        families=("deepseek-v3",),
        fields=_OWNER,
        matches=lambda run: (run.role, run.old_role, run.text) == ("assistant", "tool", "<｜tool▁outputs▁end｜>"),
    ),
    Cause(
        name="tool name taken from the call",
        families=("gemma4",),
        fields=_OWNER,
        matches=lambda run: (
            (run.role, run.old_role) == ("assistant", "tool")
            and run.channels == {Channel.TOOL_NAME}
            and run.before.endswith("<|tool_response>response:")
        ),
    ),
)

LEDGER: dict[Entry, Callable[[Difference], bool]] = {
    Entry(family, name, cause.name): cause.matches
    for cause in CAUSES
    for family in cause.families
    for name in cause.fields
}


@dataclass(kw_only=True)
class Judged:
    """Differences by entry, with an example of each, plus unexplained differences and unused entries."""

    used: Counter[Entry] = field(default_factory=Counter)
    examples: dict[Entry, Difference] = field(default_factory=dict)
    unknown: list[Difference] = field(default_factory=list)
    """Differences with no matching entry, or with more than one."""
    unused: list[Entry] = field(default_factory=list)


def judge(
    differences: Iterator[Difference], *, ledger: Mapping[Entry, Callable[[Difference], bool]] = LEDGER
) -> Judged:
    """Match every difference with the entries of the ledger."""
    judged = Judged()
    for difference in differences:
        matching = [
            entry
            for entry, matches in ledger.items()
            if (entry.family, entry.field) == (difference.family, difference.field) and matches(difference)
        ]
        if len(matching) == 1:
            judged.used[matching[0]] += 1
            judged.examples.setdefault(matching[0], difference)
        else:
            judged.unknown.append(difference)
    judged.unused = [entry for entry in ledger if entry not in judged.used]
    return judged


# ==================
# Comparing
# ==================


@dataclass(kw_only=True)
class Comparison:
    """The results of rendering all cases with a model."""

    refused: Counter[str] = field(default_factory=Counter)
    """Refused cases, by the release that refused: `0.2`, `0.1` or `both`."""
    same: int = 0
    tokens: int = 0
    agreeing: Counter[str] = field(default_factory=Counter)
    """The number of tokens with equal values in renders with the same ids, by field."""
    differences: list[Difference] = field(default_factory=list)
    other_ids: Counter[str] = field(default_factory=Counter)
    """Render with different ids, by cause. They are not compared."""

    def add(self, other: Comparison) -> None:
        """Add the results of another model."""
        self.refused += other.refused
        self.same += other.same
        self.tokens += other.tokens
        self.agreeing += other.agreeing
        self.differences += other.differences
        self.other_ids += other.other_ids


def compare_model(renderer: ChatRenderer, renders: Sequence[Mapping[str, Any]], *, family: str) -> Comparison:
    """Render all cases and compare them with the renders of release 0.1."""
    comparison = Comparison()
    for case, old in zip(CASES, renders, strict=True):
        rendered = _rendered(renderer, case)
        if rendered is None or "error" in old:
            comparison.refused["0.1" if rendered is not None else "both" if "error" in old else "0.2"] += 1
            continue
        decode = renderer.tokenizer.decode
        if rendered.token_ids != old["token_ids"]:
            comparison.other_ids[why_ids_differ(decode(rendered.token_ids), decode(old["token_ids"]), case)] += 1
            continue
        differing = list(differences(rendered, old, family=family, case=case.name, decode=decode))
        comparison.same += 1
        comparison.tokens += len(rendered.token_ids)
        comparison.differences += differing
        comparison.agreeing.update(dict.fromkeys(FIELDS, len(rendered.token_ids)))
        for difference in differing:
            comparison.agreeing[difference.field] -= difference.tokens
    return comparison


def _rendered(renderer: ChatRenderer, case: Case) -> RenderedTokens | None:
    try:
        return renderer.render(case.messages, tools=case.tools, add_generation_prompt=case.prompt, **case.switches)
    except (MessageError, TemplateError):
        return None


def why_ids_differ(text: str, old_text: str, case: Case) -> str:
    """Return the cause of different ids, found by comparing the texts."""
    if text == old_text:
        return "same text, different tokens"
    if any(message["role"] == "developer" for message in case.messages):
        return "developer message"
    at = next((at for at, (new, old) in enumerate(zip(text, old_text, strict=False)) if new != old), None)
    if at is None:
        return "different generation prompt" if case.prompt else "different text"
    # The texts can differ inside a tag; go back to its start.
    opened = text.rfind("<", 0, at)
    tag = opened if opened >= 0 and ">" not in text[opened:at] else at
    if any(either.startswith(("<think>", "<|channel>thought"), tag) for either in (text, old_text)):
        return "reasoning kept, dropped or added"
    first = case.messages[0]["content"]
    if isinstance(first, str) and first.strip() and first.strip() not in text[:at]:
        return "text before the first message"
    return "different text"
