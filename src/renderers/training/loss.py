"""The loss of training samples: which tokens are trained on, and with which weights."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from renderers.core.lazy import lazy
from renderers.core.spans import Channel
from renderers.core.tokens import RenderedTokens, TokenRun

_ROLES = ("system", "developer", "user", "assistant", "tool")
ATTRIBUTION = frozenset({"message_indices", "sampled_mask", "is_content", "channels"})
"""The attribution lists of `RenderedTokens`."""


@dataclass(frozen=True)
class Loss:
    """Which tokens of a conversation are trained on, and with which weights."""

    messages: list[Any]
    known: frozenset[str]
    """The attribution lists that the renderer gives."""
    role_to_mask: Callable[[Any], bool] | None
    by_content: frozenset[str]
    by_message: list[float]
    by_role: dict[Any, float]
    by_channel: dict[Channel, float]
    _selected: dict[int, bool] = field(default_factory=dict)

    roles = lazy[list[Any]](lambda self: [role_of(message) for message in self.messages])

    def _selects(self, message: int) -> bool:
        """Return the result of `role_to_mask`, which is called once per message."""
        if message not in self._selected:
            self._selected[message] = self.role_to_mask is None or bool(self.role_to_mask(self.messages[message]))
        return self._selected[message]

    def is_trained(self, run: TokenRun) -> bool:
        """Return True if the tokens of a run are trained on."""
        if run.message < 0:
            return False
        if "is_content" in self.known and self.roles[run.message] in self.by_content:
            return run.content
        return (run.sampled or "sampled_mask" not in self.known) and self._selects(run.message)

    def weight_of(self, message: int, channel: Channel) -> float:
        return self.by_message[message] * self.by_role.get(self.roles[message], 1.0) * self.by_channel[channel]

    def weigh(self, runs: Iterable[TokenRun]) -> list[float]:
        """Return the weight of each token."""
        weights: list[float] = []
        for run in runs:
            weight = self.weight_of(run.message, run.channel) if self.is_trained(run) else 0.0
            weights += [weight] * (run.end - len(weights))
        return weights

    def trained_spans(self, runs: Iterable[TokenRun]) -> dict[int, tuple[int, int]]:
        """Return the first token of each message that is trained on, and the position after the last."""
        spans: dict[int, tuple[int, int]] = {}
        start = 0
        for run in runs:
            if self.is_trained(run) and self.by_message[run.message] * self.by_role.get(self.roles[run.message], 1.0):
                spans[run.message] = (spans.get(run.message, (start, 0))[0], run.end)
            start = run.end
        return dict(sorted(spans.items()))

    def samples_last_message(self) -> bool:
        """Return True if the last message is one of the assistant that is trained on."""
        last = len(self.messages) - 1
        return "sampled_mask" in self.known and self.roles[-1:] == ["assistant"] and self._selects(last)


def attribution_of(rendered: Any, *, messages: int) -> tuple[frozenset[str], tuple[TokenRun, ...]]:
    """Return the names of the attribution lists that any renderer gives, and the runs of its tokens."""
    tokens = rendered
    if not isinstance(tokens, RenderedTokens):
        lists: dict[str, Any] = {name: getattr(rendered, name, []) for name in ("token_ids", *ATTRIBUTION)}
        tokens = RenderedTokens(**lists)
    known, runs = tokens.known_lists(), tokens.runs
    if "message_indices" not in known:
        raise ValueError("the renderer gives no message_indices, or not one per token")
    highest = max((run.message for run in runs), default=-1)
    if highest >= messages:
        raise ValueError(f"the renderer attributes tokens to message {highest}, but there are only {messages} messages")
    return known, runs


def role_of(message: Any) -> Any:
    """Return the role of a message, which may be a dict or an object."""
    return field_of(message, "role")


def field_of(value: Any, name: str) -> Any:
    """Return a field of a dict or of an object; None if it has no such field."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def message_weights(mask: Sequence[Any] | None, count: int) -> list[float]:
    if mask is None:
        return [1.0] * count
    if len(mask) != count:
        raise ValueError(f"message_loss_mask must have one entry per message: {len(mask)} for {count} messages")
    for number, entry in enumerate(mask):
        # An integer other than 0 and 1 is more likely a mistake than a weight.
        if isinstance(entry, numbers.Integral) and entry not in (0, 1):
            raise ValueError(f"message_loss_mask[{number}] is {entry!r}: an integer must be 0 or 1, a weight a float")
    return [_checked_weight(entry, f"message_loss_mask[{number}]") for number, entry in enumerate(mask)]


def split_weights(weights: Mapping[str, float] | None) -> tuple[dict[Any, float], dict[Channel, float]]:
    """Return the weights of roles and the weights of channels."""
    by_role: dict[Any, float] = {}
    by_channel = dict.fromkeys(Channel, 1.0)
    for name, weight in (weights or {}).items():
        checked = _checked_weight(weight, f"weights[{str(name)!r}]")
        if name in _ROLES:
            by_role[name] = checked
        elif name in set(Channel):
            by_channel[Channel(name)] = checked
        else:
            raise ValueError(
                f"weights has {name!r}, which is neither a channel nor a role. Channels are {', '.join(Channel)}. "
                f"Roles are {', '.join(_ROLES)}."
            )
    return by_role, by_channel


def _checked_weight(weight: object, where: str) -> float:
    if not isinstance(weight, numbers.Real) or not math.isfinite(weight) or weight < 0:
        raise ValueError(f"{where} is {weight!r}: a weight must be a finite number that is not negative")
    return float(weight)
