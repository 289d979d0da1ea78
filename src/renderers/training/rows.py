"""Build training samples in which every turn has the context that the model samples it in."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from renderers.core.arguments import check_renderer
from renderers.core.jsontypes import JsonObject
from renderers.core.losses import report_only
from renderers.core.messages import list_messages
from renderers.core.spans import Channel
from renderers.errors import MessageError, PromptMismatchWarning, TemplateError
from renderers.training.checks import check_options
from renderers.training.contexts import Contexts, OwnContext, Render, attribute
from renderers.training.loss import ATTRIBUTION, Loss, message_weights, split_weights
from renderers.training.lost_reasoning import find_lost_reasoning
from renderers.training.rendered_sample import Overlong, RenderedTrainingSample, check_overlong, fit
from renderers.training.samples import TokenRenderer, assemble, render_options, warn_without_stop

Turns = Literal["all", "last"]
"""Which assistant messages are trained on."""

MISMATCH = (
    "the template or program does not write a turn of a training sample after the generation prompt of the same "
    "arguments, so the model is sampled in another context than it is trained in. follows_prompt of the turns is "
    "False. If the prompt opens reasoning and the turns have none, pass the argument that turns it off, such as "
    'enable_thinking=False. If the prompt ends with empty reasoning, set prefill="kept" in the config of the renderer. '
    "If gpt-oss drops the reasoning of a turn, pass auto_drop_analysis=False. "
    "Do the same in rollouts."
)


def build_training_samples(
    renderer: TokenRenderer,
    messages: Iterable[Any],
    *,
    tools: Iterable[Any] | None = None,
    turns: Turns = "all",
    message_loss_mask: Sequence[float] | None = None,
    weights: Mapping[str, float] | None = None,
    ensure_final_stop: bool = False,
    max_length: int | None = None,
    overlong: Overlong = "error",
    process_multimodal: bool = True,
    **template_arguments: Any,
) -> list[RenderedTrainingSample]:
    """Return the samples that train each turn of a conversation in the context in which a model samples it.

    The context of a turn is the generation prompt of the messages before it. Turns share a sample as long as the
    template appends to it. Where the template rewrites earlier messages, such as dropping their reasoning, another
    sample begins. There are as few samples as possible, and every sampled token is trained in one of them.

    The ids of a sample are those of `render` for the messages up to its last turn. If the template writes the stop
    token of that turn only as the start of the next message, it is appended, as the conversation has it. Messages
    after the last turn are in no sample.

    `on_loss` of the renderer applies once, to the whole conversation. Reasoning that a sample trains is not lost.

    Args:
        renderer: A renderer that marks sampled tokens.
        messages: The conversation.
        tools: The tools of the conversation.
        turns: `"last"` trains only the last assistant message.
        message_loss_mask: An entry per message, as in `build_training_sample`. A turn with 0 gets no sample.
        weights: Weights of channels and roles, as in `build_training_sample`.
        ensure_final_stop: Append a stop token to the last turn of the conversation if it has none: the token that the
            template writes when the conversation goes on, with the result of a tool if the turn calls one, else with
            a question.
        max_length: The largest number of tokens of a sample. By default there is no limit.
        overlong: What to do with a longer sample: `"error"` raises, `"drop"` leaves it out, and `"cut"` ends it before
            the first turn that does not fit, or leaves it out if none fits.
        process_multimodal: False renders the template's placeholders of media, as in `render`.
        template_arguments: Arguments of the chat template, as in `render`.

    Raises:
        MessageError: A message or a tool has a wrong shape.
        LossError: No sample has a message or field, and `on_loss` of the renderer is `"error"` for it.
        TemplateError: The template rejects the messages, or the messages up to one of the turns.
        TypeError: The renderer is not a renderer, or an option has a wrong type.
        ValueError: An option is invalid, the renderer does not mark sampled tokens, or a sample is longer than
            `max_length`.

    Warns:
        MissingStopWarning: The last turn has no stop token, and `ensure_final_stop` is False.
        PromptMismatchWarning: The template does not write a turn after its generation prompt.

    >>> from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
    >>> renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
    >>> chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    >>> [sample] = build_training_samples(renderer, chat * 2)
    >>> [turn.message for turn in sample.turns], sample.token_ids == renderer.render_ids(chat * 2)
    ([1, 3], True)
    """
    check_renderer(renderer)
    check_options(message_loss_mask=message_loss_mask, weights=weights)
    check_overlong(max_length, overlong)
    if turns not in get_args(Turns):
        raise ValueError(f"turns must be 'all' or 'last', not {turns!r}")
    conversation = list_messages(messages)
    by_message = message_weights(message_loss_mask, len(conversation))
    by_role, by_channel = split_weights(weights)
    options = render_options(process_multimodal, template_arguments)
    tools = None if tools is None else list_messages(tools, kind="tools")
    render: Render = functools.partial(renderer.render, tools=tools, **options)
    # The stability is known for the arguments of the renderer only.
    is_stable = (lambda: False) if template_arguments else (lambda: getattr(renderer, "is_prefix_stable", False))
    contexts = Contexts(conversation, render, is_stable)
    builder = SampleBuilder(renderer, contexts, by_message, by_role, by_channel, ensure_final_stop)
    assistant = [index for index, message in enumerate(contexts.plain) if message["role"] == "assistant"]
    selected = assistant[-1:] if turns == "last" else assistant
    trained = [turn for turn in selected if by_message[turn] * by_role.get("assistant", 1.0)]
    with report_only(lambda _: False):
        samples = [builder.build(row) for row in plan_rows(contexts, trained)]
    apply_loss_policy(renderer, conversation, samples, tools=tools, **template_arguments)
    fitting = (fit(sample, max_length, overlong) for sample in samples)
    fitted = [sample for sample in fitting if sample is not None]
    if fitted:
        warn_without_stop(fitted[-1], renderer)
    if any(turn.follows_prompt is False for sample in fitted for turn in sample.turns):
        warnings.warn(MISMATCH, PromptMismatchWarning, stacklevel=2)
    return fitted


def apply_loss_policy(
    renderer: TokenRenderer, messages: list[Any], samples: Sequence[RenderedTrainingSample], **options: Any
) -> None:
    """Apply the renderer's policy for losses to a whole conversation. Reasoning that a sample trains is not lost.

    Raises:
        LossError: The template writes nothing of a message or field, and the policy for it is `"error"`.
    """
    render_text = getattr(renderer, "render_text", None)
    if render_text is None:
        return
    written = {turn.message for row in samples for turn in row.turns if turn.message not in row.lost_reasoning}
    with report_only(lambda loss: loss.kind != "reasoning" or loss.message not in written):
        render_text(messages, process_multimodal=False, **options)


class Row(NamedTuple):
    """The turns that share a sample: the last one in its own context, and for each whether it follows its prompt."""

    last: int
    context: OwnContext
    turns: dict[int, bool | None]


def plan_rows(contexts: Contexts, turns: Sequence[int]) -> list[Row]:
    """Return as few rows as possible such that each turn is in one row, in its own context.

    The last turn that has no row can only be the last of a row. All other rows that contain it have the same turns
    before it, so this choice is the best.
    """
    rows: list[Row] = []
    remaining = list(turns)
    while remaining:
        last = remaining.pop()
        context = contexts.own(last)
        if context is not None:
            shared = contexts.sharing(context, last, remaining)
            follows = {turn: verdict.follows_prompt for turn, verdict in shared.items()}
            rows.append(Row(last, context, {**follows, last: context.follows_prompt}))
            remaining = [turn for turn in remaining if turn not in shared]
    return rows[::-1]


@dataclass(frozen=True)
class SampleBuilder:
    """Builds the samples of a conversation from its rows."""

    renderer: TokenRenderer
    contexts: Contexts
    by_message: list[float]
    by_role: dict[Any, float]
    by_channel: dict[Channel, float]
    ensure_final_stop: bool
    _stop_tokens: dict[Any, int | None] = field(default_factory=dict)

    def build(self, row: Row) -> RenderedTrainingSample:
        """Return the sample of a row. Turns that another row trains are not trained."""
        messages = self.contexts.plain[: row.last + 1]
        weights = [self.by_message[turn] if turn in row.turns else 0.0 for turn in range(len(messages))]
        loss = Loss(messages, ATTRIBUTION, None, frozenset(), weights, self.by_role, self.by_channel)
        tokens, stop = row.context.tokens, self._missing_stop(row)
        if stop is not None:
            tokens = tokens.truncate(row.context.end)
        lost = find_lost_reasoning(messages, tokens.runs, renderer=self.renderer, among=row.turns)
        return assemble(
            tokens.ids,
            tokens.runs,
            loss,
            stop=stop,
            media=tokens.media,
            renderer=self.renderer,
            lost=lost,
            follows_prompt=row.turns,
        )

    def _missing_stop(self, row: Row) -> int | None:
        """Return the stop token that the last turn of a row lacks; None if it has one, or none is known."""
        stops, messages = self.renderer.get_stop_token_ids(), self.contexts.plain
        if not stops or row.context.tokens.ids[row.context.end - 1] in stops:
            return None
        turn, following = messages[row.last], next(iter(messages[row.last + 1 :]), None)
        if following is None and not self.ensure_final_stop:
            return None
        message = following or _next_message(turn)
        key = message["role"], bool(turn.get("tool_calls"))
        if key not in self._stop_tokens:
            self._stop_tokens[key] = self._stop_before(row.last, message, stops)
        stop = self._stop_tokens[key]
        return stops[0] if stop is None and following is None else stop

    def _stop_before(self, turn: int, following: JsonObject, stops: list[int]) -> int | None:
        """Return the stop token of a turn that a message follows; None if it has none there."""
        try:
            rendered = self.contexts.render([*self.contexts.messages[: turn + 1], following])
        except (MessageError, TemplateError):
            return None
        tokens = attribute(rendered, turn + 2)
        token = tokens.ids[tokens.turns[turn][1] - 1] if turn in tokens.turns else None
        return token if token in stops else None


def _next_message(turn: JsonObject) -> JsonObject:
    """Return a message that may follow a turn: the result of its first call, or a question."""
    calls = turn.get("tool_calls")
    if not calls:
        return {"role": "user", "content": "?"}
    name = calls[0].get("function", calls[0]).get("name")
    return {"role": "tool", "tool_call_id": calls[0].get("id") or "", "name": name or "", "content": "?"}
