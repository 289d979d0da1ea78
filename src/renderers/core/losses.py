"""`Loss`: a part of the input that a chat template does not write, and the policy for such parts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import Literal, Self, TypeAlias, get_args

from renderers.core.spans import Path
from renderers.core.text import describe_type

LossKind = Literal[
    "message",
    "content",
    "text_beside_calls",
    "reasoning",
    "tool_calls",
    "tool_result",
    "name",
    "tools",
    "documents",
    "media",
]
"""The kind of input that is lost: a whole message, or a part of one, or the tools or documents."""

LossAction = Literal["error", "warn", "ignore"]
"""How a renderer treats input of which the template writes nothing. All losses are in `RenderedTokens.losses`."""


OnLoss: TypeAlias = "LossAction | Mapping[LossKind | Literal['default'], LossAction] | LossPolicy"
"""One action for all kinds of input, or actions by kind."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A part of the input that is not in the rendered text, or only in part.

    White space around a text does not count.

    >>> str(Loss("reasoning", message=1, path=("reasoning_content",), amount="all"))
    'message 1: reasoning_content is not written'
    """

    kind: LossKind
    message: int | None
    """The index of the message. None for tools and documents."""
    path: Path
    """The path of the field in the caller's message. Empty for a whole message."""
    amount: Literal["all", "some"]
    """Whether all of the field is lost, or some of it."""

    def __str__(self) -> str:
        where = "" if self.message is None else f"message {self.message}"
        field = ".".join(map(str, self.path))
        lost = "is not written" if self.amount == "all" else "is only written in part"
        return " ".join([": ".join(filter(None, (where, field))), lost])


@dataclass(frozen=True, slots=True, kw_only=True)
class LossPolicy:
    """How a renderer treats each kind of input of which the template writes nothing.

    >>> LossPolicy.of({"default": "ignore", "message": "error"})["reasoning"]
    'ignore'
    """

    message: LossAction = "error"
    content: LossAction = "warn"
    text_beside_calls: LossAction = "warn"
    reasoning: LossAction = "ignore"
    tool_calls: LossAction = "warn"
    tool_result: LossAction = "warn"
    name: LossAction = "warn"
    tools: LossAction = "warn"
    documents: LossAction = "warn"
    media: LossAction = "warn"

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_action(getattr(self, field.name), f"on_loss for {field.name}")

    def __getitem__(self, kind: LossKind) -> LossAction:
        action: LossAction = getattr(self, kind)
        return action

    @classmethod
    def of(cls, value: OnLoss | None) -> Self:
        """Return a policy from one action for all kinds, or from actions by kind.

        The key `default` of a mapping is the action of all kinds that the mapping does not have. Without it, these
        have their default actions. None is the default policy.

        Raises:
            TypeError: The value is neither an action nor a mapping.
            ValueError: There is no such kind or action.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            value = {"default": _check_action(value, "on_loss")}
        if not isinstance(value, Mapping | None):
            raise TypeError(f"on_loss must be an action or a dict of actions by kind, not {describe_type(value)}")
        actions = dict(value or {})
        kinds = get_args(LossKind)
        default = actions.pop("default", None)
        if default is not None:
            actions = dict.fromkeys(kinds, _check_action(default, "on_loss for default")) | actions
        for kind in actions:
            if kind not in kinds:
                raise ValueError(f"on_loss has no kind {kind!r}. The kinds are {', '.join(kinds)}, and default.")
        return cls(**actions)


def _check_action(action: object, name: str) -> LossAction:
    if not isinstance(action, str) or action not in get_args(LossAction):
        choices = ", ".join(map(repr, get_args(LossAction)))
        raise ValueError(f"{name} must be one of {choices}, not {action!r}")
    return action  # type: ignore[return-value]


DEFAULT_LOSS_POLICY = LossPolicy()


IS_REPORTED: ContextVar[Callable[[Loss], bool] | None] = ContextVar("is_reported", default=None)
"""Selects the losses that are reported. None reports all of them. Set by `report_only`."""


@contextlib.contextmanager
def report_only(is_reported: Callable[[Loss], bool]) -> Iterator[None]:
    """Report only the losses that a function accepts, in this context and whatever the renderer.

    Callers that render parts of a conversation several times apply the policy once, to the result as a whole.
    """
    token = IS_REPORTED.set(is_reported)
    try:
        yield
    finally:
        IS_REPORTED.reset(token)
