"""Training samples: the ids of a conversation with loss masks and weights."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from renderers.core.lazy import lazy
from renderers.core.messages import list_messages
from renderers.core.spans import Channel
from renderers.core.tokens import MultiModalData, RenderedTokens, TokenRun
from renderers.training.checks import check_options, check_renderer

_ROLES = ("system", "developer", "user", "assistant", "tool")
_TYPE_IDS = {"image": 1, "video": 2}
_LISTS = ("token_ids", "message_indices", "sampled_mask", "is_content", "channels")


class TokenRenderer(Protocol):
    """The methods of a renderer that training samples and trajectories need."""

    def render(self, messages: list[Any], *, tools: Any = None, add_generation_prompt: bool = False) -> Any: ...
    def render_ids(self, messages: Any, *, tools: Any = None, add_generation_prompt: bool = False) -> list[int]: ...
    def get_stop_token_ids(self) -> list[int]: ...


@dataclass(frozen=True)
class RenderedTrainingSample:
    """The tokens of a conversation with their loss mask and loss weights.

    >>> RenderedTrainingSample([5, 6, 7], [False, True, True]).loss_weights
    [0.0, 1.0, 1.0]
    """

    token_ids: list[int]
    loss_mask: list[bool]
    """Whether a token is trained on."""
    multi_modal_data: MultiModalData | None = None
    """The media of the conversation. None if there are none."""
    mm_token_type_ids: list[int] | None = None
    """1 for placeholders of images, 2 for those of videos, 0 for other tokens. None without placeholders."""
    loss_weights: list[float] = field(default_factory=list)
    """The weight of each token in the loss. 0.0 for tokens that are not trained on. By default 1.0 for others."""

    def __post_init__(self) -> None:
        if not self.loss_weights:
            object.__setattr__(self, "loss_weights", [float(trained) for trained in self.loss_mask])


def build_training_sample(
    renderer: TokenRenderer,
    messages: Iterable[Any],
    *,
    role_to_mask: Callable[[Any], bool] | None = None,
    tools: Iterable[Any] | None = None,
    content_sft_roles: Collection[str] | None = None,
    ensure_final_stop: bool = False,
    message_loss_mask: Sequence[float] | None = None,
    weights: Mapping[str, float] | None = None,
) -> RenderedTrainingSample:
    """Render a conversation, and return its ids with loss mask and loss weights.

    By default the sampled tokens are trained on: the body of each assistant message and its stop token. Tokens of no
    message never are. Only `ensure_final_stop` changes the ids, and it only appends.

    Args:
        renderer: Any renderer. One without `sampled_mask` needs `role_to_mask`, which then decides alone.
        messages: The conversation.
        role_to_mask: Returns True for a message to train on. By default, every message is.
        tools: The tools of the conversation.
        content_sft_roles: Roles to train on by body, sampled or not, without the text around it. Overrides
            `role_to_mask`. Has no effect with a renderer without `is_content`.
        ensure_final_stop: Append the first stop token if the last message is an assistant message to train on, and
            the last trained token is not a stop token.
        message_loss_mask: An entry per message. False or 0 leaves the message out, a float is its weight.
        weights: Weights of channels (`"reasoning"`, `"tool_arguments"`, ...) and roles (`"assistant"`, ...). Markers
            and stop tokens are in the channel `"scaffold"`. The weight of a token is the product of the weights of its
            message, its role and its channel, 1.0 by default. A weight of 0 leaves the token out of the loss mask.

    Raises:
        MessageError: A message or a tool has a wrong shape.
        TypeError: The renderer is not a renderer, or an option has a wrong type.
        ValueError: An option is invalid, or the renderer lacks the attribution that it needs.

    >>> from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
    >>> renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
    >>> messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    >>> sample = build_training_sample(renderer, messages, weights={"scaffold": 0.5})
    >>> trained = [token for token, trained in zip(sample.token_ids, sample.loss_mask) if trained]
    >>> renderer.tokenizer.decode(trained), sample.loss_weights[-3:]
    ('Hello!<|end|>', [1.0, 0.5, 0.0])
    """
    check_renderer(renderer)
    check_options(content_sft_roles=content_sft_roles, message_loss_mask=message_loss_mask, weights=weights)
    conversation = list_messages(messages)
    by_message = _message_weights(message_loss_mask, len(conversation))
    by_role, by_channel = _split_weights(weights)
    if isinstance(content_sft_roles, str):
        raise ValueError(f"content_sft_roles must be a set of roles, such as {{{content_sft_roles!r}}}, not a string")
    rendered = renderer.render(conversation, tools=tools)
    known, runs = _attribution(rendered, messages=len(conversation))
    if "sampled_mask" not in known and role_to_mask is None:
        raise ValueError(
            "role_to_mask is required: the renderer gives no sampled_mask. "
            'Pass a function such as lambda message: message["role"] == "assistant".'
        )
    if "channels" not in known and set(by_channel.values()) != {1.0}:
        raise ValueError("weights of channels are not possible: the renderer gives no channels")
    by_content = frozenset(content_sft_roles or ())
    loss = _Loss(conversation, known, role_to_mask, by_content, by_message, by_role, by_channel)
    ids = list(rendered.token_ids)
    loss_weights = loss.weigh(runs)
    if ensure_final_stop and loss.samples_last_message():
        stop = _missing_stop(renderer, ids, runs, is_trained=loss.is_trained)
        if stop is not None:
            ids.append(stop)
            loss_weights.append(loss.weight_of(len(conversation) - 1, Channel.SCAFFOLD))
    media = rendered.multi_modal_data
    media = None if media is None or media.is_empty() else media
    return RenderedTrainingSample(
        token_ids=ids,
        loss_mask=[weight > 0.0 for weight in loss_weights],
        multi_modal_data=media,
        mm_token_type_ids=_type_ids(media, len(ids)),
        loss_weights=loss_weights,
    )


@dataclass(frozen=True)
class _Loss:
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

    roles = lazy[list[Any]](lambda self: [_role(message) for message in self.messages])

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

    def samples_last_message(self) -> bool:
        """Return True if the last message is one of the assistant that is trained on."""
        last = len(self.messages) - 1
        return "sampled_mask" in self.known and self.roles[-1:] == ["assistant"] and self._selects(last)


def _missing_stop(
    renderer: TokenRenderer, ids: list[int], runs: Iterable[TokenRun], *, is_trained: Callable[[TokenRun], bool]
) -> int | None:
    """Return the first stop token if the last trained token is not one; None if it is."""
    stops = renderer.get_stop_token_ids()
    if not stops:
        raise ValueError("ensure_final_stop needs a stop token, and get_stop_token_ids() of the renderer gives none")
    trained = [run for run in runs if is_trained(run)]
    return None if trained and ids[trained[-1].end - 1] in stops else stops[0]


def _attribution(rendered: Any, *, messages: int) -> tuple[frozenset[str], tuple[TokenRun, ...]]:
    """Return the names of the attribution lists that any renderer gives, and the runs of its tokens."""
    tokens = rendered
    if not isinstance(tokens, RenderedTokens):
        lists: dict[str, Any] = {name: getattr(rendered, name, []) for name in _LISTS}
        tokens = RenderedTokens(**lists)
    known, runs = tokens.known_lists(), tokens.runs
    if "message_indices" not in known:
        raise ValueError("the renderer gives no message_indices, or not one per token")
    highest = max((run.message for run in runs), default=-1)
    if highest >= messages:
        raise ValueError(f"the renderer attributes tokens to message {highest}, but there are only {messages} messages")
    return known, runs


def _type_ids(media: MultiModalData | None, count: int) -> list[int] | None:
    if media is None or not media.mm_placeholders:
        return None
    types = [0] * count
    for modality, ranges in media.mm_placeholders.items():
        for placeholder in ranges if modality in _TYPE_IDS else ():
            start, end = placeholder.offset, min(placeholder.offset + placeholder.length, count)
            types[start:end] = [_TYPE_IDS[modality]] * (end - start)
    return types


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, Mapping) else getattr(message, "role", None)


def _message_weights(mask: Sequence[Any] | None, count: int) -> list[float]:
    if mask is None:
        return [1.0] * count
    if len(mask) != count:
        raise ValueError(f"message_loss_mask must have one entry per message: {len(mask)} for {count} messages")
    for number, entry in enumerate(mask):
        # An integer other than 0 and 1 is more likely a mistake than a weight.
        if isinstance(entry, numbers.Integral) and entry not in (0, 1):
            raise ValueError(f"message_loss_mask[{number}] is {entry!r}: an integer must be 0 or 1, a weight a float")
    return [_checked_weight(entry, f"message_loss_mask[{number}]") for number, entry in enumerate(mask)]


def _split_weights(weights: Mapping[str, float] | None) -> tuple[dict[Any, float], dict[Channel, float]]:
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
