"""The contestants: each loads a model and returns its tasks.

The items of `render` tasks are chats with `messages`, `tools` and the finished `text`; their outputs are ids. The items
of `parse` tasks are completions: `ids`, the `prompt_ids` before them, and the `tools`; their outputs are content,
reasoning and calls. The items of `bridge` tasks are turns: `prompt_ids`, `completion_ids`, the `new` messages, the
`tools`, and the `text` to add; their outputs are the added ids.

This file also runs in the environments of other packages, so each contestant imports only its own packages.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.chats import short_chat

Item = dict[str, Any]
"""An item of a workload, as JSON data."""

LISTS = ("token_ids", "message_indices", "sampled_mask", "is_content")
"""The lists that release 0.1 always builds."""

RETENTION: Any = "all"
"""Keep all reasoning. Without it a rollout of a reasoning model is rewritten, and no contestant can bridge it."""


class Model(NamedTuple):
    """The model to load: a repository name or directory, and the path of its `tokenizer.json`."""

    name: str
    vocabulary: str


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The functions that a contestant applies to an item. Only `run` is measured."""

    run: Callable[[Any], Any]
    prepare: Callable[[Item], Any] = lambda item: item
    """Return the argument of `run`."""
    finish: Callable[[Any, Any], Any] = lambda prepared, output: output  # noqa: ARG005
    """Return the output as JSON data, from the argument and the result of `run`."""


Tasks = dict[str, Steps]


# ==================
# Renderers
# ==================


def ours(model: Model) -> Tasks:
    """This package."""
    from renderers import create_renderer, load_tokenizer

    tokenizer = load_tokenizer(model.name)
    renderer = create_renderer(tokenizer)
    bridging = functools.cache(lambda: create_renderer(tokenizer, thinking_retention=RETENTION))
    return {
        **renderer_tasks(renderer, bridging, lists=False),
        "warm_up": Steps(run=lambda _: warm_up(renderer)),
        "render_lists": Steps(run=lambda chat: read_lists(render(renderer, chat)), finish=first_list),
        "render_all": Steps(run=lambda item: [render(renderer, chat) for chat in item["chats"]], finish=every_ids),
        "render_ids": Steps(run=lambda chat: renderer.render_ids(chat["messages"], tools=chat["tools"])),
        "stream": Steps(run=lambda item: stream(renderer, item), finish=comparable),
        "template": Steps(run=lambda chat: renderer.trace(chat["messages"], tools=chat["tools"]).text),
    }


def ours_in_batches(model: Model) -> Tasks:
    """This package, with all chats of an item in one call."""
    from renderers import create_renderer, load_tokenizer

    renderer: Any = create_renderer(load_tokenizer(model.name))

    def run(item: Item) -> list[Any]:
        chats = item["chats"]
        conversations, tools = ([chat[key] for chat in chats] for key in ("messages", "tools"))
        return list(renderer.render_batch(conversations, tools=tools))

    return {"warm_up": Steps(run=lambda _: warm_up(renderer)), "render_all": Steps(run=run, finish=every_ids)}


def ours_without_c(model: Model) -> Tasks:
    """This package without its C extension."""
    os.environ["RENDERERS_PURE_PYTHON"] = "1"
    return ours(model)


def old_release(model: Model) -> Tasks:
    """Release 0.1 of this package. It always builds all lists."""
    import renderers
    from renderers.base import load_tokenizer

    create: Any = renderers.create_renderer
    tokenizer = load_tokenizer(model.name)
    config: Any = functools.partial(vars(renderers)["AutoRendererConfig"], thinking_retention=RETENTION)
    tasks = renderer_tasks(create(tokenizer), functools.cache(lambda: create(tokenizer, config())), lists=True)
    return {**tasks, "render_lists": tasks["render"]}


def renderer_tasks(renderer: Any, bridging: Callable[[], Any], *, lists: bool) -> Tasks:
    """Return the tasks that both releases do, called in the same way."""
    read = read_lists if lists else lambda _: None

    def bridge(turn: Item) -> Any:
        tokens = bridging().bridge_to_next_turn(
            turn["prompt_ids"], turn["completion_ids"], turn["new"], tools=turn["tools"]
        )
        read(tokens)
        return tokens

    return {
        "render": Steps(run=lambda chat: render(renderer, chat), finish=lambda _, rendered: list(rendered.token_ids)),
        "render_prompt": Steps(run=lambda chat: renderer.render_ids(chat["messages"], add_generation_prompt=True)),
        "render_every_turn": Steps(run=lambda chat: render_every_turn(renderer, chat), finish=every_ids),
        "parse": Steps(run=lambda item: parse(renderer, item), finish=comparable),
        "parse_deep": Steps(run=lambda item: parse(renderer, item), finish=lambda _, fields: len(fields.calls)),
        "bridge": Steps(prepare=lambda turn: bridging() and turn, run=bridge, finish=added_ids),
    }


def warm_up(renderer: Any) -> str:
    """Bring our renderer to the steady state of a process that runs on. Return the name of the engine.

    Render until the vocabulary is compiled, and parse every token, so that all tables are filled.
    """
    renderer.parse_response([*range(len(renderer.tokenizer))] * 2)
    for number in range(20_000):
        if renderer.tokenizer.bpe_engine.name == "native":
            break
        chat = short_chat(f"load {number}")
        renderer.render_ids(chat["messages"], tools=chat["tools"])
    return str(renderer.tokenizer.bpe_engine.name)


def render(renderer: Any, chat: Item) -> Any:
    return renderer.render(chat["messages"], tools=chat["tools"], add_generation_prompt=False)


def read_lists(rendered: Any) -> list[Any]:
    """Return the lists of the ids and of their attribution. Reading them builds them."""
    return [getattr(rendered, name, None) for name in LISTS]


def first_list(_: Item, lists: list[Any]) -> list[int]:
    return list(lists[0])


def render_every_turn(renderer: Any, chat: Item) -> list[Any]:
    """Render the prompt of every turn of a conversation anew, as an agent without bridging does."""
    messages = chat["messages"]
    ends = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    return [renderer.render(messages[:end], tools=chat["tools"], add_generation_prompt=True) for end in ends]


def every_ids(_: Item, rendered: list[Any]) -> list[list[int]]:
    return [list(tokens.token_ids) for tokens in rendered]


def added_ids(turn: Item, tokens: Any) -> list[int] | str:
    """Return the ids that a turn adds, or an error."""
    if tokens is None:
        return "refused"
    ids, prior = list(tokens.token_ids), [*turn["prompt_ids"], *turn["completion_ids"]]
    return ids[len(prior) :] if ids[: len(prior)] == prior else "rewritten"


# ==================
# Parsed completions
# ==================


class Fields(NamedTuple):
    """The parsed fields of a completion."""

    content: str
    reasoning: str | None
    calls: list[tuple[Any, ...]]
    """The name, the arguments and any other fields of each call."""


def parse(renderer: Any, item: Item) -> Fields:
    """Parse with a renderer, this release or release 0.1."""
    return read_fields(renderer.parse_response(item["ids"], tools=item["tools"], prompt_ids=item["prompt_ids"]))


def stream(renderer: Any, item: Item) -> Fields:
    """Parse with our renderer, one token at a time."""
    parser = renderer.stream(prompt_ids=item["prompt_ids"], tools=item["tools"])
    for token_id in item["ids"]:
        parser.feed([token_id])
    return read_fields(parser.close())


def read_fields(parsed: Any) -> Fields:
    """Return all fields of a result. Reading them runs work that a parser may have deferred."""
    calls = [(call.name, call.arguments, call.token_span, call.status) for call in parsed.tool_calls]
    return Fields(parsed.content, parsed.reasoning_content, calls)


def comparable(_: Item, fields: Fields) -> list[Any]:
    """Return a result without surrounding whitespace, which some parsers strip."""
    calls = [[name, _stripped(arguments)] for name, arguments, *_ in fields.calls]
    return [fields.content.strip(), (fields.reasoning or "").strip(), calls]


def _stripped(arguments: Any) -> Any:
    if not isinstance(arguments, dict):
        return arguments
    return {name: value.strip() if isinstance(value, str) else value for name, value in arguments.items()}


# ==================
# Other libraries
# ==================


def raw_tokenizers(model: Model) -> Tasks:
    """`tokenizers`: encode finished text split at special tokens, all pieces in one call, or decode ids."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(model.vocabulary)
    added = {token.content: token_id for token_id, token in tokenizer.get_added_tokens_decoder().items()}
    pattern = re.compile("(" + "|".join(map(re.escape, sorted(added, key=len, reverse=True))) + ")")

    def prepare(item: Item) -> tuple[list[str], list[str]]:
        # Special tokens are at odd indices.
        parts = pattern.split(item["text"])
        return parts, [piece for piece in parts[::2] if piece]

    def run(prepared: tuple[list[str], list[str]]) -> list[list[int]]:
        return [piece.ids for piece in tokenizer.encode_batch_fast(prepared[1], add_special_tokens=False)]

    def finish(prepared: tuple[list[str], list[str]], encoded: list[list[int]]) -> list[int]:
        pieces = iter(encoded)
        parts = ([added[part]] if index % 2 else next(pieces) if part else [] for index, part in enumerate(prepared[0]))
        return [token_id for ids in parts for token_id in ids]

    encode = Steps(prepare=prepare, run=run, finish=finish)
    decode = Steps(run=lambda item: tokenizer.decode(item["ids"], skip_special_tokens=False))
    return {"render": encode, "render_lists": encode, "bridge": encode, "parse": decode}


def transformers(model: Model) -> Tasks:
    """`transformers`: `apply_chat_template`, to ids or to text."""
    from transformers import AutoTokenizer

    apply = AutoTokenizer.from_pretrained(model.name).apply_chat_template
    return {
        "render": Steps(run=lambda chat: apply(chat["messages"], tools=chat["tools"], return_dict=False)),
        "template": Steps(run=lambda chat: apply(chat["messages"], tools=chat["tools"], tokenize=False)),
    }


def tml(_: Model) -> Tasks:
    """`tml-renderers` on Qwen3."""
    from tml_renderers import chat, renderers

    qwen = renderers.Qwen3()
    hello = chat.OpenAIMessage.from_oss_messages([{"role": "user", "content": "Hello!"}])
    # It takes no prompt: the parser is bound to the end of this one, and all prompts of the workload end alike.
    _, parser = qwen.render_for_completion(hello)

    def prompt(item: Item) -> list[int]:
        spans, _ = qwen.render_for_completion(chat.OpenAIMessage.from_oss_messages(item["messages"]))
        return [token_id for span in spans for token_id in span.span.tokens]

    def parse(item: Item) -> Fields:
        contents = [message.content for message in parser.parse_tokens(item["ids"])]
        texts = [part.text for part in contents if isinstance(part, chat.Text)]
        reasoning = [part.text for part in contents if isinstance(part, chat.Thinking)]
        invocations = [part for part in contents if isinstance(part, chat.InvokeTool)]
        calls = [(part.name, {arg.name: json.loads(arg.value) for arg in part.args}) for part in invocations]
        return Fields("".join(texts), "".join(reasoning), calls)

    return {"render_prompt": Steps(run=prompt), "parse": Steps(run=parse, finish=comparable)}


CONTESTANTS: dict[str, Callable[[Model], Tasks]] = {
    function.__name__: function
    for function in (ours, ours_in_batches, ours_without_c, old_release, raw_tokenizers, transformers, tml)
}
