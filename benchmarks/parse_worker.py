"""The contestants of `benchmarks.parse`, each in a process of its own: see `benchmarks.worker`.

An item is a completion: its `ids`, the `prompt_ids` before it, and the `tools` that the prompt has. What comes out of
it are its content, its reasoning, and the name and arguments of each call, without space around them; or its text.

This file is run by other environments than ours, so it imports nothing but what its contestant is about.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.worker import Item, Model, Steps, load_renderer, serve

__all__ = ["CONTESTANTS"]

CHUNK = 16
TML_CLASSES = {"Qwen3-8B": "Qwen3"}


class Reading(NamedTuple):
    """What a completion says."""

    content: str
    reasoning: str | None
    calls: list[tuple[Any, ...]]
    """Of each call its name, its arguments, and whatever else there is."""


def shown(_: Item, reading: Reading) -> list[Any]:
    """Returns a reading in the form that all contestants are compared in."""
    calls = [[name, trimmed(arguments)] for name, arguments, *_ in reading.calls]
    return [reading.content.strip(), (reading.reasoning or "").strip(), calls]


def trimmed(arguments: Any) -> Any:
    """Returns arguments without space around their texts, which not everyone keeps."""
    if not isinstance(arguments, dict):
        return arguments
    return {name: value.strip() if isinstance(value, str) else value for name, value in arguments.items()}


def counted(_: Item, reading: Reading) -> int:
    """Returns how many calls were read, for a completion that may be too deep to write down."""
    return len(reading.calls)


def renderer_parse(model: Model) -> Steps:
    """Parses with a renderer, ours or the incumbent's."""
    renderer = load_renderer(model)

    def run(one: Item) -> Reading:
        return look_at(renderer.parse_response(one["ids"], tools=one["tools"], prompt_ids=one["prompt_ids"]))

    return Steps(run=run, finish=shown)


def renderer_parse_in_python(model: Model) -> Steps:
    """Parses with our renderer, as if its part in C had not been built."""
    os.environ["RENDERERS_PURE_PYTHON"] = "1"
    return renderer_parse(model)


def renderer_parse_deep(model: Model) -> Steps:
    """Parses completions that may be too deep to write down."""
    return dataclasses.replace(renderer_parse(model), finish=counted)


def stream_chunks(model: Model) -> Steps:
    """Parses with our renderer while tokens come in, some at a time."""
    return Steps(run=streaming(model, chunk=CHUNK), finish=shown)


def stream_tokens(model: Model) -> Steps:
    """Parses with our renderer while tokens come in, one at a time; what is read may be too deep to write down."""
    return Steps(run=streaming(model, chunk=1), finish=counted)


def streaming(model: Model, *, chunk: int) -> Callable[[Item], Reading]:
    """Returns what feeds a completion to our renderer in chunks."""
    renderer = load_renderer(model)

    def run(one: Item) -> Reading:
        ids = one["ids"]
        parser = renderer.stream(prompt_ids=one["prompt_ids"], tools=one["tools"])
        for at in range(0, len(ids), chunk):
            parser.feed(ids[at : at + chunk])
        return look_at(parser.close())

    return run


def look_at(parsed: Any) -> Reading:
    """Returns all that a renderer says of a completion, which it may have put off working out."""
    calls = [(call.name, call.arguments, call.token_span, call.status) for call in parsed.tool_calls]
    return Reading(parsed.content, parsed.reasoning_content, calls)


def tml_parse(model: Model) -> Steps:
    """Parses with tml-renderers, and reads arguments, which it gives as JSON, like everyone else."""
    from tml_renderers import chat, renderers

    name = model.name.rpartition("/")[2]
    if name not in TML_CLASSES:
        raise LookupError(f"tml-renderers has no renderer for {name}")
    prompt = chat.OpenAIMessage.from_oss_messages([{"role": "user", "content": "Hello!"}])
    # It takes no prompt: it knows how the prompt ended that it was made for, and ours all end like this one.
    _, parser = getattr(renderers, TML_CLASSES[name])().render_for_completion(prompt)

    def run(one: Item) -> Reading:
        contents = [message.content for message in parser.parse_tokens(one["ids"])]
        texts = [part.text for part in contents if isinstance(part, chat.Text)]
        thoughts = [part.text for part in contents if isinstance(part, chat.Thinking)]
        invoked = [part for part in contents if isinstance(part, chat.InvokeTool)]
        calls = [(part.name, {each.name: json.loads(each.value) for each in part.args}) for part in invoked]
        return Reading("".join(texts), "".join(thoughts), calls)

    return Steps(run=run, finish=shown)


def raw_decode(model: Model) -> Steps:
    """Decodes, and reads nothing."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(model.vocabulary)
    return Steps(run=lambda one: tokenizer.decode(one["ids"], skip_special_tokens=False))


CONTESTANTS: dict[str, Callable[[Model], Steps]] = {
    one.__name__: one
    for one in (
        renderer_parse,
        renderer_parse_in_python,
        renderer_parse_deep,
        stream_chunks,
        stream_tokens,
        tml_parse,
        raw_decode,
    )
}


if __name__ == "__main__":
    serve(CONTESTANTS)
