"""A caller's own tokenizer object with the fewest attributes gives the results of the model's own tokenizer."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, Bridge, ChatRenderer, LoadedTokenizer, create_renderer, load_tokenizer
from renderers.core.tokens import RenderedTokens
from renderers.errors import MissingTokenWarning, TemplateError
from tests.support.conversations import assistant, call, system, tool, user
from tests.support.models import one_model_per_template
from tests.support.parity import PLAIN_TOOL

CHATS: list[tuple[list[Any], list[Any] | None]] = [
    ([system("Be brief."), user("Hi"), assistant("Hello! 你好 🙂👩‍👩‍👧 ß", "They greet."), user("And now?")], None),
    (
        [
            user("What?"),
            assistant("", "Look.", [call("look_up", {"word": "this"})]),
            tool("A word. 🙂", "look_up"),
            assistant("Done."),
        ],
        [PLAIN_TOOL],
    ),
]
"""Conversations with parts of characters as tokens, and the tools of each."""
MODELS = one_model_per_template()


class Smallest:
    """A tokenizer object with nothing but the documented minimum and a chat template."""

    def __init__(self, tokenizer: LoadedTokenizer) -> None:
        self._tokenizer = tokenizer
        self.name_or_path = tokenizer.name_or_path
        self.eos_token, self.eos_token_id = tokenizer.special_tokens_map.get("eos_token"), tokenizer.eos_token_id
        self.unk_token, self.unk_token_id = tokenizer.special_tokens_map.get("unk_token"), tokenizer.unk_token_id
        named = dict(tokenizer.chat_templates)
        self.chat_template = named if len(named) > 1 else named["default"]

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=add_special_tokens)

    def decode(self, token_ids: Iterable[int]) -> str:
        return self._tokenizer.decode(token_ids)

    def convert_tokens_to_ids(self, token: str) -> int | None:
        number = self._tokenizer.vocab.backend.token_to_id(token)
        return self.unk_token_id if number is None else number


class WithOffsets(Smallest):
    """A tokenizer object that returns offsets when it is called."""

    def __call__(self, text: str, **options: Any) -> Any:
        return self._tokenizer(text, **options)


class WithoutSpecialTokens(Smallest):
    """A tokenizer object that never adds special tokens, so that BOS has to be found in the vocabulary."""

    def encode(self, text: str) -> list[int]:  # type: ignore[override]
        return super().encode(text, add_special_tokens=False)


def result(renderer: ChatRenderer, messages: list[Any], tools: Any) -> Any:
    """Return everything that a caller reads of one conversation, or the type of the error."""
    try:
        rendered = renderer.render(messages, tools=tools)
    except TemplateError as error:
        return type(error)
    turn = next(index for index, message in enumerate(messages) if message["role"] == "assistant")
    prompt = renderer.render_ids(messages[:turn], tools=tools, add_generation_prompt=True)
    sampled = [
        token
        for token, is_sampled, index in zip(
            rendered.token_ids, rendered.sampled_mask, rendered.message_indices, strict=True
        )
        if is_sampled and index == turn
    ]
    bridged = renderer.bridge(prompt, sampled, messages[turn + 1 : turn + 2], tools=tools)
    return {
        "rendered": _columns(rendered),
        "prompt": prompt,
        "parsed": renderer.parse_response(sampled, tools=tools, prompt_ids=prompt),
        "bridged": _columns(bridged.tokens) if isinstance(bridged, Bridge) else bridged.reason,
    }


def _columns(tokens: RenderedTokens) -> Any:
    return {
        "ids": tokens.token_ids,
        "indices": tokens.message_indices,
        "sampled": tokens.sampled_mask,
        "content": tokens.content_token_spans_by_role(),
        "runs": tokens.runs,
    }


def assert_alike(own: ChatRenderer, wrapped: ChatRenderer) -> None:
    unknown = [note for note in wrapped.resolution.conflicts if "are not in the vocabulary" in note]
    if not unknown:
        # The stop tokens of other models are only in a file that the object does not name.
        assert wrapped.get_stop_token_ids() == own.get_stop_token_ids()
        assert wrapped.resolution.end_token_ids == own.resolution.end_token_ids
    for messages, tools in CHATS:
        assert result(wrapped, messages, tools) == result(own, messages, tools)


@pytest.mark.parametrize("name", MODELS)
def test_the_smallest_object_gives_the_results_of_the_models_own_tokenizer(hub: Path, name: str) -> None:
    tokenizer = load_tokenizer(name)
    assert_alike(create_renderer(tokenizer), create_renderer(Smallest(tokenizer)))


def test_is_content_is_empty_without_offsets_and_the_runs_are_complete() -> None:
    tokenizer = load_tokenizer(EXAMPLE_MODEL)
    own, wrapped = (create_renderer(each).render(CHATS[0][0]) for each in (tokenizer, Smallest(tokenizer)))
    assert any(own.is_content)
    for tokens in (wrapped, pickle.loads(pickle.dumps(wrapped))):
        assert tokens.is_content == []
        assert tokens.runs == own.runs
        assert tokens.sampled_mask == own.sampled_mask
        assert tokens.content_mask_for_roles(["user"]) == own.content_mask_for_roles(["user"])
        assert tokens.arrays().is_content.tolist() == own.is_content


def test_is_content_is_listed_if_the_object_returns_offsets() -> None:
    tokenizer = load_tokenizer(EXAMPLE_MODEL)
    own, wrapped = (create_renderer(each).render(CHATS[0][0]) for each in (tokenizer, WithOffsets(tokenizer)))
    assert wrapped.is_content == own.is_content


@pytest.mark.parametrize(
    "name", [name for name in MODELS if any(part in name for part in ("Llama-3.2", "gemma-3", "V3.1", "MiniMax"))]
)
def test_bos_is_found_in_the_vocabulary_if_the_object_adds_no_special_tokens(hub: Path, name: str) -> None:
    tokenizer = load_tokenizer(name)
    wrapped = create_renderer(WithoutSpecialTokens(tokenizer))
    assert wrapped.tokenizer.special_tokens_map["bos_token"] == tokenizer.special_tokens_map["bos_token"]
    messages, tools = CHATS[0]
    assert wrapped.render_ids(messages, tools=tools) == create_renderer(tokenizer).render_ids(messages, tools=tools)


def test_a_bos_token_that_is_not_found_is_reported(hub: Path) -> None:
    tokenizer = load_tokenizer("meta-llama/Llama-3.2-1B-Instruct")

    class Secretive(WithoutSpecialTokens):
        def convert_tokens_to_ids(self, token: str) -> int | None:
            return None if token == "<|begin_of_text|>" else super().convert_tokens_to_ids(token)

    with pytest.warns(MissingTokenWarning, match=r"writes bos_token, but Secretive has no such attribute") as caught:
        create_renderer(Secretive(tokenizer))
    assert Path(caught[0].filename) == Path(__file__)
    without = Secretive(tokenizer)
    without.bos_token = None  # type: ignore[attr-defined]
    create_renderer(without)
    named = Secretive(tokenizer)
    named.bos_token = "<|begin_of_text|>"  # type: ignore[attr-defined]
    ids = create_renderer(named).render_ids(CHATS[0][0])
    assert ids == create_renderer(tokenizer).render_ids(CHATS[0][0])
