"""The contestants of `benchmarks.render`, each in its own process: see `benchmarks.worker`.

An item is a chat with `messages`, `tools` and the rendered `text`. The output is a list of ids, or text.

This file also runs in the environments of other packages, so each contestant imports only its own packages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from benchmarks.worker import Item, Model, Steps, load_renderer, serve

LISTS = ("token_ids", "message_indices", "sampled_mask", "is_content")


def renderer_lists(model: Model) -> Steps:
    """Render with a renderer, this release or release 0.1, with attribution as lists."""
    render = renderer_runs(model).run

    def run(chat: Item) -> list[Any]:
        rendered = render(chat)
        return [getattr(rendered, name) for name in LISTS]

    return Steps(run=run, finish=lambda _, lists: lists[0])


def renderer_runs(model: Model) -> Steps:
    """Render with attribution in the internal form of the renderer."""
    renderer = load_renderer(model)
    return Steps(
        run=lambda chat: renderer.render(chat["messages"], tools=chat["tools"], add_generation_prompt=False),
        finish=lambda _, rendered: rendered.token_ids,
    )


def renderer_ids(model: Model) -> Steps:
    """Render to ids without attribution."""
    renderer = load_renderer(model)
    return Steps(
        run=lambda chat: renderer.render_ids(chat["messages"], tools=chat["tools"], add_generation_prompt=False)
    )


def renderer_trace(model: Model) -> Steps:
    """Run the template with provenance, without encoding."""
    renderer = load_renderer(model)
    return Steps(
        run=lambda chat: renderer.trace(chat["messages"], tools=chat["tools"], add_generation_prompt=False),
        finish=lambda _, trace: trace.text,
    )


def transformers_ids(model: Model) -> Steps:
    """Render with transformers."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model.name)
    return Steps(
        run=lambda chat: tokenizer.apply_chat_template(
            chat["messages"], tools=chat["tools"], add_generation_prompt=False, tokenize=True, return_dict=False
        )
    )


def jinja_text(model: Model) -> Steps:
    """Run only the template that transformers compiled."""
    from transformers import AutoTokenizer
    from transformers.utils.chat_template_utils import _compile_jinja_template

    tokenizer = AutoTokenizer.from_pretrained(model.name)
    templates = {
        tools: _compile_jinja_template(tokenizer.get_chat_template(tools=tools or None)) for tools in ((), (1,))
    }
    tokens = tokenizer.special_tokens_map
    return Steps(
        run=lambda chat: templates[(1,) if chat["tools"] else ()].render(
            messages=chat["messages"], tools=chat["tools"], documents=None, add_generation_prompt=False, **tokens
        )
    )


def whole_text(model: Model) -> Steps:
    """Encode rendered text in one piece."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(model.vocabulary)
    return Steps(
        prepare=lambda chat: chat["text"],
        run=lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
    )


def text_pieces(model: Model) -> Steps:
    """Encode rendered text split at special tokens, with all pieces in one call."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(model.vocabulary)
    added = {token.content: token_id for token_id, token in tokenizer.get_added_tokens_decoder().items()}
    pattern = re.compile("(" + "|".join(map(re.escape, sorted(added, key=len, reverse=True))) + ")")

    def prepare(chat: Item) -> tuple[list[str], list[str]]:
        # Special tokens are at odd indices.
        parts = pattern.split(chat["text"])
        return parts, [piece for piece in parts[::2] if piece]

    def finish(prepared: tuple[list[str], list[str]], encoded: list[list[int]]) -> list[int]:
        pieces = iter(encoded)
        parts = ([added[part]] if index % 2 else next(pieces) if part else [] for index, part in enumerate(prepared[0]))
        return [token_id for ids in parts for token_id in ids]

    return Steps(
        prepare=prepare,
        run=lambda prepared: [
            piece.ids for piece in tokenizer.encode_batch_fast(prepared[1], add_special_tokens=False)
        ],
        finish=finish,
    )


CONTESTANTS: dict[str, Callable[[Model], Steps]] = {
    task.__name__: task
    for task in (
        renderer_lists,
        renderer_runs,
        renderer_ids,
        renderer_trace,
        transformers_ids,
        jinja_text,
        whole_text,
        text_pieces,
    )
}


if __name__ == "__main__":
    serve(CONTESTANTS)
