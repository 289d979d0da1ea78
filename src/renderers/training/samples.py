"""Build one training sample from a conversation, as the chat template writes it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, overload

from renderers.core.arguments import check_renderer
from renderers.core.messages import list_messages
from renderers.core.spans import Channel
from renderers.core.tokens import MultiModalData, TokenRun, expand_runs
from renderers.errors import MissingStopWarning
from renderers.training.checks import check_options
from renderers.training.loss import Loss, attribution_of, message_weights, split_weights
from renderers.training.lost_reasoning import find_lost_reasoning
from renderers.training.rendered_sample import (
    Overlong,
    RenderedTrainingSample,
    TrainedTurn,
    check_overlong,
    fit,
    media_type_ids,
)

_NO_STOP = (
    "the last turn of a training sample has no stop token, so the model does not learn to end it: the chat template "
    "ends a turn with the token that opens the next message. Pass ensure_final_stop=True to append a stop token."
)


class TokenRenderer(Protocol):
    """The methods of a renderer that training samples and trajectories need."""

    def render(self, messages: list[Any], *, tools: Any = None, add_generation_prompt: bool = False) -> Any: ...
    def render_ids(self, messages: Any, *, tools: Any = None, add_generation_prompt: bool = False) -> list[int]: ...
    def get_stop_token_ids(self) -> list[int]: ...


@overload
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
    max_length: int | None = None,
    overlong: Literal["error"] = "error",
    process_multimodal: bool = True,
    **template_arguments: Any,
) -> RenderedTrainingSample: ...
@overload
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
    max_length: int | None = None,
    overlong: Overlong,
    process_multimodal: bool = True,
    **template_arguments: Any,
) -> RenderedTrainingSample | None: ...
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
    max_length: int | None = None,
    overlong: Overlong = "error",
    process_multimodal: bool = True,
    **template_arguments: Any,
) -> RenderedTrainingSample | None:
    """Render a conversation, and return its ids with loss mask and loss weights.

    By default the sampled tokens are trained on: the body of each assistant message and its stop token. Tokens of no
    message never are. Only `ensure_final_stop` and `max_length` change the ids: the one appends, the other cuts.

    The template may write earlier turns without their reasoning. `lost_reasoning` of the result lists them.
    `build_training_samples` trains every turn with its reasoning.

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
        max_length: The largest number of tokens. By default there is no limit.
        overlong: What to do with a longer sample: `"error"` raises, `"drop"` returns None, and `"cut"` ends it before
            the first trained message that does not fit, or returns None if none fits.
        process_multimodal: False renders the template's placeholders of media, as in `render`.
        template_arguments: Arguments of the chat template, as in `render`.

    Raises:
        MessageError: A message or a tool has a wrong shape.
        TypeError: The renderer is not a renderer, or an option has a wrong type.
        ValueError: An option is invalid, the renderer lacks the attribution that it needs, or the sample is longer
            than `max_length`.

    Warns:
        MissingStopWarning: The last turn has no stop token, and `ensure_final_stop` is False.

    >>> from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
    >>> renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
    >>> messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    >>> sample = build_training_sample(renderer, messages, weights={"scaffold": 0.5})
    >>> trained = [token for token, trained in zip(sample.token_ids, sample.loss_mask) if trained]
    >>> renderer.tokenizer.decode(trained), sample.loss_weights[-3:]
    ('Hello!<|end|>', [1.0, 0.5, 0.0])
    """
    check_options(content_sft_roles=content_sft_roles, message_loss_mask=message_loss_mask, weights=weights)
    check_overlong(max_length, overlong)
    conversation = list_messages(messages)
    by_message = message_weights(message_loss_mask, len(conversation))
    by_role, by_channel = split_weights(weights)
    if isinstance(content_sft_roles, str):
        raise ValueError(f"content_sft_roles must be a set of roles, such as {{{content_sft_roles!r}}}, not a string")
    check_renderer(renderer)
    rendered = renderer.render(conversation, tools=tools, **render_options(process_multimodal, template_arguments))
    known, runs = attribution_of(rendered, messages=len(conversation))
    if "sampled_mask" not in known and role_to_mask is None:
        raise ValueError(
            "role_to_mask is required: the renderer gives no sampled_mask. "
            'Pass a function such as lambda message: message["role"] == "assistant".'
        )
    if "channels" not in known and set(by_channel.values()) != {1.0}:
        raise ValueError("weights of channels are not possible: the renderer gives no channels")
    by_content = frozenset(content_sft_roles or ())
    loss = Loss(conversation, known, role_to_mask, by_content, by_message, by_role, by_channel)
    ids, stop = list(rendered.token_ids), None
    if ensure_final_stop and loss.samples_last_message():
        stop = _missing_stop(renderer, ids, runs, is_trained=loss.is_trained)
    lost = find_lost_reasoning(conversation, runs, renderer=renderer) if "channels" in known else ()
    sample = assemble(ids, runs, loss, stop=stop, media=rendered.multi_modal_data, renderer=renderer, lost=lost)
    fitted = fit(sample, max_length, overlong)
    trains_last = fitted is not None and fitted.turns and fitted.turns[-1].message == len(conversation) - 1
    if trains_last and loss.samples_last_message():
        warn_without_stop(sample, renderer)
    return fitted


def render_options(process_multimodal: bool, template_arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `render` that not every renderer accepts, without those that have their default."""
    return {**template_arguments} if process_multimodal else {"process_multimodal": False, **template_arguments}


def assemble(
    ids: list[int],
    runs: tuple[TokenRun, ...],
    loss: Loss,
    *,
    stop: int | None,
    media: MultiModalData | None,
    renderer: TokenRenderer,
    lost: tuple[int, ...],
    follows_prompt: Mapping[int, bool | None] | None = None,
) -> RenderedTrainingSample:
    """Return a sample of rendered ids. `stop` is appended to them, and belongs to the last message of the loss."""
    spans, loss_weights = loss.trained_spans(runs), loss.weigh(runs)
    indices: list[int] = expand_runs(runs, TokenRun._fields.index("message"))
    if stop is not None:
        last = len(loss.messages) - 1
        ids = [*ids, stop]
        loss_weights.append(loss.weight_of(last, Channel.SCAFFOLD))
        indices.append(last)
        if last in spans:
            spans[last] = spans[last][0], len(ids)
    stops = frozenset(renderer.get_stop_token_ids()) if spans else frozenset()
    follows_prompt = follows_prompt or {}
    media = None if media is None or media.is_empty() else media
    return RenderedTrainingSample(
        token_ids=ids,
        loss_mask=[weight > 0.0 for weight in loss_weights],
        multi_modal_data=media,
        mm_token_type_ids=media_type_ids(media, len(ids)),
        loss_weights=loss_weights,
        message_indices=indices,
        turns=tuple(
            TrainedTurn(message, start, end, ids[end - 1] in stops, follows_prompt.get(message))
            for message, (start, end) in spans.items()
        ),
        lost_reasoning=lost,
    )


def warn_without_stop(sample: RenderedTrainingSample, renderer: TokenRenderer) -> None:
    """Warn the caller of the calling function if the last turn has no stop token, and the renderer knows one."""
    if not sample.turns[-1].has_stop and renderer.get_stop_token_ids():
        warnings.warn(_NO_STOP, MissingStopWarning, stacklevel=3)


def _missing_stop(
    renderer: TokenRenderer, ids: list[int], runs: Iterable[TokenRun], *, is_trained: Callable[[TokenRun], bool]
) -> int | None:
    """Return the first stop token if the last trained token is not one; None if it is."""
    stops = renderer.get_stop_token_ids()
    if not stops:
        raise ValueError("ensure_final_stop needs a stop token, and get_stop_token_ids() of the renderer gives none")
    trained = [run for run in runs if is_trained(run)]
    return None if trained and ids[trained[-1].end - 1] in stops else stops[0]
