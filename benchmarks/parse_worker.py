"""The contestants of `benchmarks.parse`, each in its own process: see `benchmarks.worker`.

An item is a completion: its `ids`, the `prompt_ids` before it, and the `tools` of the prompt. The output is the
content, the reasoning, and the name and arguments of each call, without surrounding whitespace; or the decoded text.

This file also runs in the environments of other packages, so each contestant imports only its own packages.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.worker import Item, Model, Steps, load_renderer, serve

CHUNK = 16
TML_CLASSES = {"Qwen3-8B": "Qwen3"}


class Reading(NamedTuple):
    """The parsed fields of a completion."""

    content: str
    reasoning: str | None
    calls: list[tuple[Any, ...]]
    """The name, the arguments and any other fields of each call."""


def comparable(_: Item, reading: Reading) -> list[Any]:
    """Return a result in the form in which contestants are compared."""
    calls = [[name, trimmed(arguments)] for name, arguments, *_ in reading.calls]
    return [reading.content.strip(), (reading.reasoning or "").strip(), calls]


def trimmed(arguments: Any) -> Any:
    """Return arguments without whitespace around strings, which some parsers strip."""
    if not isinstance(arguments, dict):
        return arguments
    return {name: value.strip() if isinstance(value, str) else value for name, value in arguments.items()}


def call_count(_: Item, reading: Reading) -> int:
    """Return the number of calls. Used for arguments that may be too deeply nested to serialize."""
    return len(reading.calls)


def renderer_parse(model: Model) -> Steps:
    """Parse with a renderer, this release or release 0.1."""
    renderer = load_renderer(model)

    def run(item: Item) -> Reading:
        return read_fields(renderer.parse_response(item["ids"], tools=item["tools"], prompt_ids=item["prompt_ids"]))

    return Steps(run=run, finish=comparable)


def renderer_parse_in_python(model: Model) -> Steps:
    """Parse with our renderer, without its C extension."""
    os.environ["RENDERERS_PURE_PYTHON"] = "1"
    return renderer_parse(model)


def renderer_parse_deep(model: Model) -> Steps:
    """Parse completions with arguments that may be too deeply nested to serialize."""
    return dataclasses.replace(renderer_parse(model), finish=call_count)


def stream_chunks(model: Model) -> Steps:
    """Parse with our renderer as a stream, a few tokens at a time."""
    return Steps(run=streaming(model, chunk=CHUNK), finish=comparable)


def stream_tokens(model: Model) -> Steps:
    """Parse with our renderer as a stream, one token at a time. The arguments may be deeply nested."""
    return Steps(run=streaming(model, chunk=1), finish=call_count)


def streaming(model: Model, *, chunk: int) -> Callable[[Item], Reading]:
    """Return a function that feeds a completion to our renderer in chunks."""
    renderer = load_renderer(model)

    def run(item: Item) -> Reading:
        ids = item["ids"]
        parser = renderer.stream(prompt_ids=item["prompt_ids"], tools=item["tools"])
        for start in range(0, len(ids), chunk):
            parser.feed(ids[start : start + chunk])
        return read_fields(parser.close())

    return run


def read_fields(parsed: Any) -> Reading:
    """Return all fields of a result. Reading them runs work that a parser may have deferred."""
    calls = [(call.name, call.arguments, call.token_span, call.status) for call in parsed.tool_calls]
    return Reading(parsed.content, parsed.reasoning_content, calls)


def tml_parse(model: Model) -> Steps:
    """Parse with tml-renderers, including the arguments, which it returns as JSON."""
    from tml_renderers import chat, renderers

    name = model.name.rpartition("/")[2]
    if name not in TML_CLASSES:
        raise LookupError(f"tml-renderers has no renderer for {name}")
    prompt = chat.OpenAIMessage.from_oss_messages([{"role": "user", "content": "Hello!"}])
    # It takes no prompt: the parser is bound to the end of this one, and all prompts of the workload end alike.
    _, parser = getattr(renderers, TML_CLASSES[name])().render_for_completion(prompt)

    def run(item: Item) -> Reading:
        contents = [message.content for message in parser.parse_tokens(item["ids"])]
        texts = [part.text for part in contents if isinstance(part, chat.Text)]
        reasoning = [part.text for part in contents if isinstance(part, chat.Thinking)]
        invocations = [part for part in contents if isinstance(part, chat.InvokeTool)]
        calls = [(part.name, {arg.name: json.loads(arg.value) for arg in part.args}) for part in invocations]
        return Reading("".join(texts), "".join(reasoning), calls)

    return Steps(run=run, finish=comparable)


def raw_decode(model: Model) -> Steps:
    """Decode the ids without parsing."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(model.vocabulary)
    return Steps(run=lambda item: tokenizer.decode(item["ids"], skip_special_tokens=False))


CONTESTANTS: dict[str, Callable[[Model], Steps]] = {
    task.__name__: task
    for task in (
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
