"""Whose a token is and whether it is sampled, compared with the incumbent, and a ledger that explains every difference.

The incumbent renders in a process of its own (`scripts/ledger_worker.py`); here its answers are compared with ours.
Where both give the same ids, a difference is a run of tokens on which a field differs in the same way. Each must be
explained by exactly one entry of the ledger, and each entry must explain one.
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
"""The days that families of the incumbent write by default; the others write the day on which they are made."""
_AROUND = 8
"""How many tokens before a difference, and after it, are shown to predicates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A conversation and what it is rendered with; `switches` are for the template."""

    name: str
    tools: list[Data] | None
    prompt: bool
    switches: Data

    @property
    def messages(self) -> list[Data]:
        return CONVERSATIONS[self.name]

    def job(self) -> Data:
        """Returns what the incumbent's worker is told."""
        return {
            "messages": self.messages,
            "tools": self.tools,
            "add_generation_prompt": self.prompt,
            "switches": self.switches,
        }


def _cases() -> Iterator[Case]:
    """Yields each conversation with other tools and prompts, and once more for each way to switch thinking."""
    ways: list[tuple[Data, int]] = [({}, 2), ({"enable_thinking": False}, 1), ({"enable_thinking": True}, 1)]
    for switches, turns in ways:
        for name, arguments in rotated(turns=turns, switches=[{}]):
            prompt = arguments["add_generation_prompt"]
            yield Case(name=name, tools=arguments["tools"], prompt=prompt, switches=switches)


CASES = tuple(_cases())


# ==================
# Differences
# ==================


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Tokens that follow each other and on which a field differs in the same way."""

    family: str
    case: str
    field: str
    text: str
    tokens: int
    before: str
    after: str
    ours: int
    theirs: int
    role: str | None
    """The role of our message; None for nobody's."""
    their_role: str | None
    channels: frozenset[Channel]


def differences(
    ours: RenderedTokens, theirs: Mapping[str, Sequence[int]], *, family: str, case: str, decode: Callable[..., str]
) -> Iterator[Difference]:
    """Yields how two renders with the same ids differ, field by field."""

    def role(message: int) -> str | None:
        return ours.message_roles[message] if message >= 0 else None

    ids = ours.token_ids
    for name in FIELDS:
        at = 0
        pairs = zip(map(int, getattr(ours, name)), map(int, theirs[name]), strict=True)
        for (one, other), same in itertools.groupby(pairs):
            end = at + sum(1 for _ in same)
            if one != other:
                yield Difference(
                    family=family,
                    case=case,
                    field=name,
                    text=decode(ids[at:end]),
                    tokens=end - at,
                    before=decode(ids[max(0, at - _AROUND) : at]),
                    after=decode(ids[end : end + _AROUND]),
                    ours=one,
                    theirs=other,
                    role=role(ours.message_indices[at]),
                    their_role=role(theirs["message_indices"][at]),
                    channels=frozenset(ours.channels[at:end]),
                )
            at = end


# ==================
# The ledger
# ==================


class Entry(NamedTuple):
    """What explains a difference: where it may be, and why."""

    family: str
    field: str
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A reason to differ: in which families and fields, and of what the difference must be."""

    name: str
    families: tuple[str, ...]
    fields: tuple[str, ...]
    matches: Callable[[Difference], bool]


_MASKS = ("sampled_mask", "is_content")
_OWNER = ("message_indices",)
_NEMOTRON = ("nemotron-3", "nemotron-3-ultra", "nemotron-3.5")
_THINK = re.compile(r"<think>\n{0,2}(?:</think>\n{0,2})?")
_HEADS = ("assistant\n", "<|assistant|>\n", "]~b]ai\n")


CONVENTIONS = {one.key: one.conventions for one in FAMILIES.values() if one.conventions != SamplingConventions()}
"""How families of the incumbent draw the borders of what is sampled, where that is not our rule."""


def _they_add(one: Difference) -> bool:
    return (one.ours, one.theirs) == (0, 1)


def _we_add(one: Difference) -> bool:
    return (one.ours, one.theirs) == (1, 0)


CAUSES = (
    Cause(
        name="prefilled think",
        families=("qwen3", "qwen3.5", "qwen3.6", "qwen3.8", "glm-4.5", "minimax-m2", *_NEMOTRON),
        fields=_MASKS,
        matches=lambda one: (
            _they_add(one)
            and one.role == "assistant"
            and _THINK.fullmatch(one.text) is not None
            and one.before.endswith(_HEADS)
        ),
    ),
    Cause(
        name="line break after the head",
        families=("glm-4.5",),
        fields=_MASKS,
        matches=lambda one: _we_add(one) and one.text == "\n" and one.before.endswith("<|assistant|>"),
    ),
    Cause(
        name="harmony's channels",
        families=("gpt-oss",),
        fields=_MASKS,
        matches=lambda one: (
            _we_add(one)
            and re.fullmatch(r"<\|channel\|>\w+<\|message\|>", one.text) is not None
            and one.before.endswith("<|start|>assistant")
        ),
    ),
    Cause(
        name="titles around instructions",
        families=("gpt-oss",),
        fields=("is_content",),
        matches=lambda one: (
            _they_add(one)
            and one.role == "system"
            and one.channels == {Channel.SCAFFOLD}
            and one.text in (" Instructions\n\n", "#")
        ),
    ),
    Cause(
        name="quotes",
        families=("llama-3", "gemma4"),
        fields=("is_content",),
        matches=lambda one: (
            _they_add(one)
            and one.role == "tool"
            and one.channels == {Channel.SCAFFOLD}
            and re.fullmatch(r'"\W?|<\|"\|>', one.text) is not None
        ),
    ),
    Cause(
        name="tool definitions",
        families=(
            *("qwen3", "qwen3-vl", "qwen3.5", "qwen3.6", "qwen3.8", "llama-3", "minimax-m2", "gemma4", "gpt-oss"),
            *_NEMOTRON,
        ),
        fields=_OWNER,
        matches=lambda one: one.role is None and one.channels == {Channel.TOOL_DEFINITION},
    ),
    Cause(
        name="BOS token",
        families=("minimax-m2",),
        fields=_OWNER,
        matches=lambda one: one.role is None and one.their_role == "system" and (one.before, one.text) == ("", "]~!b["),
    ),
    Cause(
        name="system messages that are joined",
        families=("deepseek-v3",),
        fields=_OWNER,
        matches=lambda one: (
            one.role == one.their_role == "system" and one.theirs == 0 and one.channels == {Channel.CONTENT}
        ),
    ),
    Cause(
        name="the end of tool outputs",
        families=("deepseek-v3",),
        fields=_OWNER,
        matches=lambda one: (one.role, one.their_role, one.text) == ("assistant", "tool", "<｜tool▁outputs▁end｜>"),
    ),
    Cause(
        name="a name that is looked up in the call",
        families=("gemma4",),
        fields=_OWNER,
        matches=lambda one: (
            (one.role, one.their_role) == ("assistant", "tool")
            and one.channels == {Channel.TOOL_NAME}
            and one.before.endswith("<|tool_response>response:")
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
    """What a ledger says of differences: how often each entry was used, with an example, and what it does not know."""

    used: Counter[Entry] = field(default_factory=Counter)
    examples: dict[Entry, Difference] = field(default_factory=dict)
    unknown: list[Difference] = field(default_factory=list)
    """Differences that no entry explains, or more than one."""
    unused: list[Entry] = field(default_factory=list)


def judge(found: Iterator[Difference], *, ledger: Mapping[Entry, Callable[[Difference], bool]] = LEDGER) -> Judged:
    """Looks every difference up."""
    judged = Judged()
    for one in found:
        matching = [
            entry
            for entry, matches in ledger.items()
            if (entry.family, entry.field) == (one.family, one.field) and matches(one)
        ]
        if len(matching) == 1:
            judged.used[matching[0]] += 1
            judged.examples.setdefault(matching[0], one)
        else:
            judged.unknown.append(one)
    judged.unused = [entry for entry in ledger if entry not in judged.used]
    return judged


# ==================
# Comparing
# ==================


@dataclass(kw_only=True)
class Comparison:
    """What came of rendering all cases with a model."""

    refused: Counter[str] = field(default_factory=Counter)
    """Cases that one side or both refused: `we`, `they` or `both`."""
    same: int = 0
    tokens: int = 0
    agreeing: Counter[str] = field(default_factory=Counter)
    """How many tokens of renders with the same ids agree, by field."""
    differences: list[Difference] = field(default_factory=list)
    other_ids: Counter[str] = field(default_factory=Counter)
    """Renders with other ids, by cause; they are not judged."""

    def add(self, other: Comparison) -> None:
        """Adds what came of another model."""
        self.refused += other.refused
        self.same += other.same
        self.tokens += other.tokens
        self.agreeing += other.agreeing
        self.differences += other.differences
        self.other_ids += other.other_ids


def compare_model(renderer: ChatRenderer, renders: Sequence[Mapping[str, Any]], *, family: str) -> Comparison:
    """Renders all cases, and compares with what the incumbent made of them."""
    found = Comparison()
    for case, theirs in zip(CASES, renders, strict=True):
        ours = _rendered(renderer, case)
        if ours is None or "error" in theirs:
            found.refused["they" if ours is not None else "both" if "error" in theirs else "we"] += 1
            continue
        decode = renderer.tokenizer.decode
        if ours.token_ids != theirs["token_ids"]:
            found.other_ids[why_ids_differ(decode(ours.token_ids), decode(theirs["token_ids"]), case)] += 1
            continue
        new = list(differences(ours, theirs, family=family, case=case.name, decode=decode))
        found.same += 1
        found.tokens += len(ours.token_ids)
        found.differences += new
        found.agreeing.update(dict.fromkeys(FIELDS, len(ours.token_ids)))
        for one in new:
            found.agreeing[one.field] -= one.tokens
    return found


def _rendered(renderer: ChatRenderer, case: Case) -> RenderedTokens | None:
    try:
        return renderer.render(case.messages, tools=case.tools, add_generation_prompt=case.prompt, **case.switches)
    except (MessageError, TemplateError):
        return None


def why_ids_differ(ours: str, theirs: str, case: Case) -> str:
    """Says why the ids of two texts differ, as far as that is plain."""
    if ours == theirs:
        return "the same text in other tokens"
    if any(message["role"] == "developer" for message in case.messages):
        return "a developer's message"
    at = next((at for at, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other), None)
    if at is None:
        return "another generation prompt" if case.prompt else "other text"
    # Tags may begin alike.
    opened = ours.rfind("<", 0, at)
    tag = opened if opened >= 0 and ">" not in ours[opened:at] else at
    if any(text.startswith(("<think>", "<|channel>thought"), tag) for text in (ours, theirs)):
        return "reasoning that is kept, dropped or put in"
    first = case.messages[0]["content"]
    if isinstance(first, str) and first.strip() and first.strip() not in ours[:at]:
        return "what stands before the first message"
    return "other text"
