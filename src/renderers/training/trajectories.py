"""Trajectory steps: the ids of a prompt and a completion, as a reinforcement-learning trainer takes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from renderers.core.arguments import check_renderer
from renderers.core.completions import ParsedResponse
from renderers.core.messages import list_messages
from renderers.core.text import common_prefix_length
from renderers.core.token_ids import as_ids
from renderers.training.samples import TokenRenderer


@dataclass
class RenderedConversation:
    """The ids of a prompt and its completion, with logprobs and the parsed message.

    >>> RenderedConversation([1, 2]).with_completion([3], completion_logprobs=[-0.5]).token_ids
    [1, 2, 3]
    """

    prompt_ids: list[int]
    completion_ids: list[int] = field(default_factory=list)
    completion_logprobs: list[float] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)
    """The messages that the prompt was rendered from."""
    parsed_completion: ParsedResponse | None = None

    @property
    def token_ids(self) -> list[int]:
        """The ids of prompt and completion."""
        return self.prompt_ids + self.completion_ids

    def with_completion(
        self,
        completion_ids: Iterable[int],
        *,
        completion_logprobs: Iterable[float] | None = None,
        parsed_completion: ParsedResponse | None = None,
    ) -> RenderedConversation:
        """Return a conversation with the same prompt and another completion. It shares no list with this one.

        Raises:
            TypeError: An id is not an int. Names its position.
            TokenIdError: An id is negative, or above 4,294,967,295. Names its position.
        """
        return RenderedConversation(
            prompt_ids=list(self.prompt_ids),
            completion_ids=list(as_ids(completion_ids, name="completion_ids")),
            completion_logprobs=list(completion_logprobs or ()),
            messages=list(self.messages),
            parsed_completion=parsed_completion,
        )


def build_trajectory_step(
    renderer: TokenRenderer,
    prompt_messages: Iterable[Any],
    completion_messages: Iterable[Any],
    *,
    tools: Iterable[Any] | None = None,
) -> dict[str, Any]:
    """Return the tokens of a conversation as a trajectory step: a prompt and a completion.

    The prompt is the common prefix of two renders: the prompt messages with a generation prompt, and all messages. The
    mask covers the whole completion, sampled or not. Logprobs are 0.0. The key `multi_modal_data` is only there if
    there are media.

    >>> from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer
    >>> renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL))
    >>> prompt, completion = [{"role": "user", "content": "Hi"}], [{"role": "assistant", "content": "Hello!"}]
    >>> renderer.tokenizer.decode(build_trajectory_step(renderer, prompt, completion)["completion_ids"])
    'Hello!<|end|>\\n'
    """
    check_renderer(renderer)
    prompt, completion = list_messages(prompt_messages), list_messages(completion_messages)
    tools = None if tools is None else list_messages(tools, kind="tools")
    head = renderer.render_ids(prompt, tools=tools, add_generation_prompt=bool(completion))
    rendered = renderer.render([*prompt, *completion], tools=tools)
    ids = rendered.token_ids
    common = common_prefix_length(head, ids)
    step: dict[str, Any] = {
        "prompt_ids": list(ids[:common]),
        "prompt_mask": [False] * common,
        "completion_ids": list(ids[common:]),
        "completion_mask": [True] * (len(ids) - common),
        "completion_logprobs": [0.0] * (len(ids) - common),
        "routed_experts": None,
        "sampling_mask": None,
    }
    if rendered.multi_modal_data is not None and not rendered.multi_modal_data.is_empty():
        step["multi_modal_data"] = rendered.multi_modal_data
    return step
