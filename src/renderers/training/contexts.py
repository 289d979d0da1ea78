"""Find the context in which a model samples each turn, and the turns that can share a row of training data."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy
from renderers.core.messages import REASONING_NAMES, normalise_messages
from renderers.core.spans import Channel
from renderers.core.tokens import MultiModalData, RenderedTokens, TokenRun
from renderers.errors import TemplateError
from renderers.training.loss import ATTRIBUTION, attribution_of

_ALL_COMPARED = 32
"""Up to so many turns, each is rendered in its own context before it shares a row."""
_ALL_COMPARED_IF_STABLE = 8
"""The same if the template is known to be prefix-stable."""
_TAG = re.compile(r"</?\w+>|<\||\[/?[A-Z]+\]")
"""Text in a message that a template may treat in a special way, such as reasoning in the content."""

Render = Callable[..., Any]
"""Renders messages. Takes the keyword `add_generation_prompt`."""


@dataclass(frozen=True)
class Tokens:
    """Rendered ids with their attribution."""

    ids: list[int]
    runs: tuple[TokenRun, ...]
    media: MultiModalData | None

    @lazy
    def turns(self) -> dict[int, tuple[int, int]]:
        """The first sampled token of each message that has any, and the position after the last."""
        turns: dict[int, tuple[int, int]] = {}
        start = 0
        for run in self.runs:
            if run.sampled:
                turns[run.message] = (turns.get(run.message, (start, 0))[0], run.end)
            start = run.end
        return turns

    def truncate(self, end: int) -> Tokens:
        """Return the tokens up to `end`."""
        starts = (0, *(run.end for run in self.runs))
        kept = (run for run, start in zip(self.runs, starts, strict=False) if start < end)
        return Tokens(self.ids[:end], tuple(run._replace(end=min(run.end, end)) for run in kept), self.media)

    def header_start(self, end: int) -> int:
        """Return the position after the last body before `end`."""
        bodies = (run.end for run in self.runs if run.channel is not Channel.SCAFFOLD)
        return max((body for body in bodies if body <= end), default=0)


class OwnContext(NamedTuple):
    """A turn in the context in which the model samples it. No other turn follows it in `tokens`."""

    tokens: Tokens
    start: int
    end: int
    follows_prompt: bool | None
    """None if there is no prompt to compare with."""


class Verdict(NamedTuple):
    """Whether a turn is in its own context in the row of a later turn."""

    is_shared: bool
    follows_prompt: bool | None = None


class MessageKind(NamedTuple):
    """The facts about a message that the text of other messages may depend on."""

    role: str
    has_reasoning: bool
    has_calls: bool
    has_text: bool
    has_margin: bool
    """True if its text begins or ends with space, which may become one token with the text around it."""
    has_tag: bool

    @property
    def is_answer(self) -> bool:
        """True for an assistant message without calls."""
        return self.role == "assistant" and not self.has_calls


@dataclass(frozen=True)
class Contexts:
    """The turns of a conversation, each in its own context. Each context is rendered at most once."""

    messages: list[Any]
    render: Render
    is_prefix_stable: Callable[[], bool] = lambda: False
    """Returns True if the template leaves earlier messages unchanged when others are appended. Called if needed."""
    rendered: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    """The messages up to a turn and its generation prompt, as far as they are rendered."""
    _found: dict[int, OwnContext | None] = field(default_factory=dict)

    def own(self, turn: int) -> OwnContext | None:
        """Return a turn in its own context; None if the template writes nothing that the model samples."""
        if turn not in self._found:
            self._found[turn] = own_context(*self._render(turn), turn)
        return self._found[turn]

    def _render(self, turn: int) -> tuple[Any, Any]:
        """Return the messages up to a turn, and its generation prompt; None if the template accepts none there."""
        if turn not in self.rendered:
            rendered, prompt = self.render(self.messages[: turn + 1]), None
            with contextlib.suppress(TemplateError):
                prompt = self.render(self.messages[:turn], add_generation_prompt=True) if turn else None
            self.rendered[turn] = rendered, prompt
        return self.rendered[turn]

    def sharing(self, row: OwnContext, last: int, earlier: Sequence[int]) -> dict[int, Verdict]:
        """Return the earlier turns that are in their own context in the row of the turn `last`.

        A template treats turns alike that are of the same kind and among messages of the same kinds, and a
        prefix-stable one treats all alike. So of many such turns only some are compared, at distances that double,
        which costs about as much as to render the conversation four times. If they disagree, all are compared.
        """
        verdicts: dict[int, Verdict] = {}
        for turns in self._group(earlier, last):
            compared = {turn: self._compare(turn, row) for turn in _representatives(turns)}
            if len(set(compared.values())) > 1:
                compared = {turn: self._compare(turn, row) for turn in turns}
            common = next(iter(compared.values()))
            for turn in turns:
                known = turn in compared or turn in row.tokens.turns
                verdicts[turn] = compared.get(turn, common) if known else self._compare(turn, row)
        return {turn: verdict for turn, verdict in sorted(verdicts.items()) if verdict.is_shared}

    def _compare(self, turn: int, row: OwnContext) -> Verdict:
        span = row.tokens.turns.get(turn)
        try:
            if span is not None and self._is_appended(turn, row, span[0]):
                return Verdict(is_shared=True, follows_prompt=True)
            own = self.own(turn)
        except TemplateError:
            # The template rejects the messages up to the turn, but not all messages. There is no other context.
            return Verdict(is_shared=span is not None)
        # A stop token that opens the next message is part of the turn only if there is a next message.
        if own is None or span is None or span[0] != own.start or span[1] < own.end:
            return Verdict(is_shared=False)
        ids, others = own.tokens.ids, row.tokens.ids
        # The turn is shorter than the messages before it, and differs more often.
        for part in (slice(own.start, own.end), slice(own.start)):
            if ids[part] != others[part]:
                return Verdict(is_shared=False)
        return Verdict(is_shared=True, follows_prompt=own.follows_prompt)

    def _is_appended(self, turn: int, row: OwnContext, start: int) -> bool:
        """Return True if a row begins with the prompt of a turn up to `start`, and with all messages up to the turn.

        This is the case with most templates, and needs no attribution.
        """
        rendered, prompt = self._render(turn)
        ids = row.tokens.ids
        written: list[int] = rendered.token_ids
        return prompt is not None and prompt.token_ids == ids[:start] and written == ids[: max(len(written), start + 1)]

    def _group(self, turns: Sequence[int], last: int) -> list[list[int]]:
        """Return turns in groups that a template treats alike."""
        if len(turns) > _ALL_COMPARED_IF_STABLE and self.is_prefix_stable():
            return [[*turns]]
        if len(turns) <= _ALL_COMPARED:
            return [[turn] for turn in turns]
        groups: dict[Hashable, list[int]] = defaultdict(list)
        kinds = self._kinds[: last + 1]
        question = max((index for index, kind in enumerate(kinds) if kind.role == "user"), default=-1)
        answer = max((index for index, kind in enumerate(kinds) if kind.is_answer), default=-1)
        for turn in turns:
            around = tuple(kind.role for kind in kinds[max(turn - 1, 0) : turn + 2])
            key = kinds[turn], around, self._follows_reasoning[turn], turn < question, turn < answer
            groups[key].append(turn)
        return list(groups.values())

    @lazy
    def plain(self) -> list[JsonObject]:
        """The messages as JSON data."""
        return normalise_messages(self.messages)

    @lazy
    def _kinds(self) -> list[MessageKind]:
        return [_kind_of(message) for message in self.plain]

    @lazy
    def _follows_reasoning(self) -> list[bool]:
        """Whether there is reasoning between the last question before each message and the message."""
        has_reasoning, follows = False, []
        for kind in self._kinds:
            follows.append(has_reasoning)
            has_reasoning = kind.role != "user" and (has_reasoning or kind.has_reasoning)
        return follows


def own_context(rendered: Any, prompt: Any, turn: int) -> OwnContext | None:
    """Return the last turn of rendered messages in its own context; None if none of its tokens is sampled.

    Args:
        rendered: The messages up to the turn.
        prompt: The messages before the turn with a generation prompt, or None.
        turn: The index of the message.
    """
    tokens = attribute(rendered, turn + 1)
    if turn not in tokens.turns:
        return None
    start, end = tokens.turns[turn]
    if prompt is None:
        return OwnContext(tokens, start, end, follows_prompt=None)
    ids = list(prompt.token_ids)
    if ids == tokens.ids[:start] or _is_merged(ids, rendered, start):
        return OwnContext(tokens, start, end, follows_prompt=True)
    context = attribute(prompt, turn)
    if ids[context.header_start(len(ids)) :] != tokens.ids[tokens.header_start(start) : start]:
        return OwnContext(tokens, start, end, follows_prompt=False)
    # The turn changes how the template writes the messages before it. The model saw those of the prompt.
    shift = len(ids) - start
    later = (run._replace(end=run.end + shift) for run in tokens.runs if run.end > start)
    spliced = Tokens(ids + tokens.ids[start:], (*context.runs, *later), context.media)
    return OwnContext(spliced, len(ids), end + shift, follows_prompt=True)


def attribute(rendered: Any, messages: int) -> Tokens:
    """Return the tokens of a number of messages with their attribution.

    Raises:
        ValueError: The renderer does not mark sampled tokens.
    """
    known, runs = attribution_of(rendered, messages=messages)
    if known != ATTRIBUTION:
        raise ValueError(
            f"the renderer gives no {' and no '.join(sorted(ATTRIBUTION - known))}, so the turns that a model samples "
            "are unknown. Call build_training_sample with role_to_mask."
        )
    return Tokens(list(rendered.token_ids), runs, rendered.multi_modal_data)


def _is_merged(prompt: list[int], rendered: Any, start: int) -> bool:
    """Return True if a turn follows its prompt in the text, but its tokens begin with the last one of the prompt."""
    try:
        straddling = rendered.straddling_tokens() if isinstance(rendered, RenderedTokens) else []
    except TypeError:
        return False
    places = {start - 1, start}.intersection(straddling)
    return any(place + 1 == len(prompt) and prompt[:place] == rendered.token_ids[:place] for place in places)


def _representatives(turns: Sequence[int]) -> list[int]:
    """Return the first turn, the last one, and others at halving distances from the first.

    >>> _representatives(range(100))
    [99, 50, 25, 12, 6, 3, 1, 0]
    """
    places, place = [len(turns) - 1], len(turns) // 2
    while place and place < places[-1]:
        places.append(place)
        place //= 2
    return [turns[place] for place in dict.fromkeys((*places, 0))]


def _kind_of(message: JsonObject) -> MessageKind:
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    text = "".join(text for text in texts if isinstance(text, str))
    return MessageKind(
        role=message["role"],
        has_reasoning=any(bool(message.get(name)) for name in REASONING_NAMES),
        has_calls=bool(message.get("tool_calls")),
        has_text=bool(text.strip()),
        has_margin=text != text.strip(),
        has_tag=_TAG.search(text) is not None,
    )
