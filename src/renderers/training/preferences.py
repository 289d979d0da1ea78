"""Preference pairs: two answers to the same prompt."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from renderers.core.arguments import check_renderer
from renderers.core.messages import list_messages
from renderers.errors import PromptMismatchWarning, TemplateError
from renderers.training.contexts import Contexts, Render
from renderers.training.loss import role_of, split_weights
from renderers.training.rendered_sample import Overlong, RenderedTrainingSample, check_overlong, fit
from renderers.training.rows import MISMATCH, Row, SampleBuilder
from renderers.training.samples import TokenRenderer, render_options, warn_without_stop


@dataclass(frozen=True)
class PreferencePair:
    """Two completions of one prompt."""

    prompt_ids: list[int]
    chosen: RenderedTrainingSample
    """The prompt and the better completion. Only the completion is trained."""
    rejected: RenderedTrainingSample
    """The prompt and the worse completion. Only the completion is trained."""

    @property
    def chosen_ids(self) -> list[int]:
        """The ids of the better completion, up to its stop token."""
        return self.chosen.token_ids[len(self.prompt_ids) : self.chosen.turns[-1].end]

    @property
    def rejected_ids(self) -> list[int]:
        """The ids of the worse completion, up to its stop token."""
        return self.rejected.token_ids[len(self.prompt_ids) : self.rejected.turns[-1].end]


def build_preference_pair(
    renderer: TokenRenderer,
    prompt: Iterable[Any],
    chosen: Any,
    rejected: Any,
    *,
    tools: Iterable[Any] | None = None,
    ensure_final_stop: bool = False,
    max_length: int | None = None,
    overlong: Overlong = "error",
    process_multimodal: bool = True,
    **template_arguments: Any,
) -> PreferencePair | None:
    """Return two answers to the same messages as a pair of samples with one prompt.

    Each answer is an assistant message, or a list with one. It is written as `build_training_samples` writes the
    last turn of a conversation. The generation prompt is rendered once.

    Args:
        renderer: A renderer that marks sampled tokens.
        prompt: The messages before the answers.
        chosen: The better answer.
        rejected: The worse answer.
        tools: The tools of the conversation.
        ensure_final_stop: Append a stop token to answers without one, as in `build_training_samples`.
        max_length: The largest number of tokens of a sample. By default there is no limit.
        overlong: What to do with a longer sample: `"error"` raises, `"drop"` and `"cut"` return None.
        process_multimodal: False renders the template's placeholders of media, as in `render`.
        template_arguments: Arguments of the chat template, as in `render`.

    Raises:
        MessageError: A message or a tool has a wrong shape.
        TemplateError: The template rejects the messages.
        TypeError: The renderer is not a renderer.
        ValueError: An answer is not one assistant message, the template writes the answers after different prompts,
            an option is invalid, or a sample is longer than `max_length`.

    Warns:
        MissingStopWarning: An answer has no stop token, and `ensure_final_stop` is False.
        PromptMismatchWarning: The template does not write an answer after the generation prompt.

    >>> from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
    >>> renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
    >>> question = [{"role": "user", "content": "2 + 2?"}]
    >>> four, five = ({"role": "assistant", "content": number} for number in "45")
    >>> pair = build_preference_pair(renderer, question, four, five)
    >>> renderer.tokenizer.decode(pair.prompt_ids), renderer.tokenizer.decode(pair.chosen_ids)
    ('<|turn|>user\\n2 + 2?<|end|>\\n<|turn|>assistant\\n', '4<|end|>')
    """
    check_renderer(renderer)
    check_overlong(max_length, overlong)
    question = list_messages(prompt)
    options = render_options(process_multimodal, template_arguments)
    tools = None if tools is None else list_messages(tools, kind="tools")
    render: Render = functools.partial(renderer.render, tools=tools, **options)
    shared = None
    with contextlib.suppress(TemplateError):
        shared = render(question, add_generation_prompt=True) if question else None
    samples = []
    for name, answer in (("chosen", chosen), ("rejected", rejected)):
        messages, turn = [*question, _as_message(answer, name)], len(question)
        contexts = Contexts(messages, render, rendered={turn: (render(messages), shared)})
        context = contexts.own(turn)
        if context is None:
            raise ValueError(f"{name} has no text that the model samples")
        builder = SampleBuilder(renderer, contexts, [1.0] * len(messages), *split_weights(None), ensure_final_stop)
        samples.append(builder.build(Row(turn, context, {turn: context.follows_prompt})))
    pair = _pair(*samples)
    if all(fit(sample, max_length, overlong) is sample for sample in samples):
        for sample in samples:
            warn_without_stop(sample, renderer)
        if any(sample.turns[-1].follows_prompt is False for sample in samples):
            warnings.warn(MISMATCH, PromptMismatchWarning, stacklevel=2)
        return pair
    return None


def _pair(chosen: RenderedTrainingSample, rejected: RenderedTrainingSample) -> PreferencePair:
    ids, others = (sample.token_ids[: sample.turns[-1].start] for sample in (chosen, rejected))
    if ids != others:
        raise ValueError(
            "chosen and rejected do not continue the same prompt: the chat template writes other tokens before the one "
            "than before the other. Give both of them reasoning or none, and no space at the start of their content."
        )
    return PreferencePair(ids, chosen, rejected)


def _as_message(answer: Any, name: str) -> Any:
    """Return the only message of an answer."""
    messages = list(answer) if isinstance(answer, list | tuple) else [answer]
    if len(messages) != 1 or role_of(messages[0]) != "assistant":
        raise ValueError(f"{name} must be one assistant message, or a list with one")
    return messages[0]
