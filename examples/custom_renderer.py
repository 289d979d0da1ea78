"""Write a renderer of your own, here for a base model without a chat template.

    python examples/custom_renderer.py [MODEL]

MODEL is the name or the path of a model; by default the small model that comes with the package. Every message is
written as a line with its role, its content and the end-of-text token:

    user:
    Hi<|endoftext|>assistant:
    Hello!<|endoftext|>

The class has the methods of the `Renderer` protocol, so clients, rollouts, pools and training samples accept it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from renderers import EXAMPLE_MODEL, ParsedResponse, RenderedTokens, build_training_sample, create_renderer
from renderers.configs import BaseRendererConfig, CustomRendererConfig


class Token(NamedTuple):
    """A token, the index of its message (-1 for none), and its flags."""

    id: int
    message: int = -1
    is_content: bool = False
    sampled: bool = False


class TranscriptConfig(BaseRendererConfig):
    """Options of `TranscriptRenderer`. Users set them as fields of a `CustomRendererConfig`."""

    assistant_name: str = "assistant"


class TranscriptRenderer:
    """Renders a conversation as a transcript for a base model."""

    config_class = TranscriptConfig
    is_prefix_stable = True

    def __init__(self, tokenizer: Any, config: TranscriptConfig | None = None) -> None:
        self.tokenizer = tokenizer
        self.config = config or TranscriptConfig()
        if tokenizer.eos_token_id is None:
            raise ValueError("TranscriptRenderer needs a tokenizer with an EOS token")
        self.end: int = tokenizer.eos_token_id

    def get_stop_token_ids(self) -> list[int]:
        return [self.end]

    def render(
        self, messages: Iterable[Mapping[str, Any]], *, tools: Any = None, add_generation_prompt: bool = False
    ) -> RenderedTokens:
        """Render messages with the message, content flag and sampled flag of every token."""
        if tools:
            raise ValueError("a transcript has no place for tools: pass tools=None")
        messages = list(messages)
        tokens = [token for index, message in enumerate(messages) for token in self._tokens(index, message)]
        if add_generation_prompt:
            tokens += [Token(token_id) for token_id in self._header("assistant")]
        return join(tokens, roles=[message["role"] for message in messages])

    def render_ids(
        self, messages: Iterable[Mapping[str, Any]], *, tools: Any = None, add_generation_prompt: bool = False
    ) -> list[int]:
        return self.render(messages, tools=tools, add_generation_prompt=add_generation_prompt).token_ids

    def parse_response(
        self, token_ids: Sequence[int], *, tools: Any = None, prompt_ids: Sequence[int] | None = None
    ) -> ParsedResponse:
        """Return the text of a completion, without the end-of-text token."""
        text = self.tokenizer.decode([token for token in token_ids if token != self.end])
        return ParsedResponse(content=text)

    def bridge_to_next_turn(
        self,
        previous_prompt_ids: Sequence[int],
        previous_completion_ids: Sequence[int],
        new_messages: Iterable[Mapping[str, Any]],
        *,
        tools: Any = None,
    ) -> RenderedTokens:
        """Append new messages to the exact ids of a prompt and its completion."""
        prior = [*previous_prompt_ids, *previous_completion_ids]
        if prior[-1] != self.end:
            prior.append(self.end)  # the completion was truncated
        messages = list(new_messages)
        tokens = [Token(token_id) for token_id in prior]
        tokens += [token for index, message in enumerate(messages) for token in self._tokens(index, message)]
        tokens += [Token(token_id) for token_id in self._header("assistant")]
        return join(tokens, roles=[message["role"] for message in messages])

    def _tokens(self, index: int, message: Mapping[str, Any]) -> Iterator[Token]:
        sampled = message["role"] == "assistant"
        for token_id in self._header(message["role"]):
            yield Token(token_id, index)
        for token_id in self._encode(message["content"]):
            yield Token(token_id, index, is_content=True, sampled=sampled)
        yield Token(self.end, index, sampled=sampled)

    def _header(self, role: str) -> list[int]:
        name = self.config.assistant_name if role == "assistant" else role
        return self._encode(f"{name}:\n")

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return ids


def join(tokens: Sequence[Token], *, roles: list[str]) -> RenderedTokens:
    """Return the tokens in the form that the package expects."""
    return RenderedTokens(
        token_ids=[token.id for token in tokens],
        message_indices=[token.message for token in tokens],
        is_content=[token.is_content for token in tokens],
        sampled_mask=[token.sampled for token in tokens],
        message_roles=roles,
    )


def main() -> None:
    """Render, parse, bridge and build a training sample with the custom renderer."""
    model = sys.argv[1] if len(sys.argv) > 1 else EXAMPLE_MODEL
    config = CustomRendererConfig(import_path=f"{__file__}:TranscriptRenderer", assistant_name="bot")
    renderer = create_renderer(model, config)
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]

    prompt = renderer.render_ids(messages[:1], add_generation_prompt=True)
    completion = [*renderer.tokenizer.encode("Hello!", add_special_tokens=False), *renderer.get_stop_token_ids()]
    print("parsed:", renderer.parse_response(completion).content)

    tokens = renderer.bridge_to_next_turn(prompt, completion, [{"role": "user", "content": "Bye"}])
    assert tokens is not None  # this renderer never refuses
    print("bridged:", renderer.tokenizer.decode(tokens.token_ids))

    sample = build_training_sample(renderer, messages)
    trained = [token for token, flag in zip(sample.token_ids, sample.loss_mask, strict=True) if flag]
    print("trained:", renderer.tokenizer.decode(trained))


if __name__ == "__main__":
    main()
