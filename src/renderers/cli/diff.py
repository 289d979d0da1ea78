"""`renderers diff`: the first token that differs between two renderings, and the cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from renderers import ChatRenderer, RenderedTokens, Trace
from renderers.cli.inputs import SECOND_STDIN, STDIN, Conversation, load_renderer, read_conversation, read_settings
from renderers.cli.outputs import to_json
from renderers.cli.usage import UsageError
from renderers.core.losses import LossAction
from renderers.core.text import align_columns, common_prefix_length, quote_short

DIFFERENT = 3
"""The exit code if the ids differ."""

_CONTEXT = 30
"""How many characters before the first difference of two texts are quoted."""
_QUOTED = 90
_ABSENT = object()


class Side(NamedTuple):
    """A conversation rendered with a model."""

    model: str
    conversation: Conversation
    arguments: dict[str, Any]
    template: str
    """The source of the template, or the digest of another program."""
    rendered: RenderedTokens
    trace: Trace
    token_texts: list[str]


class Cause(NamedTuple):
    """The reason of a difference: the input or the part of a model that differs, and its two values."""

    kind: str
    """`message`, `tools`, `arguments`, `template` or `tokenizer`."""
    text: str
    message: int | None = None
    path: tuple[str | int, ...] = ()
    first: Any = None
    second: Any = None


class Comparison(NamedTuple):
    """Two renderings, the position of the first token that differs, and the cause; None if the ids are the same."""

    first: Side
    second: Side
    position: int | None
    cause: Cause | None
    ignored: list[Cause]
    """The differences of the conversations that change no ids."""


def diff(
    model: str,
    file: str,
    other: str | None,
    *,
    revision: str | None,
    chat_template: str | None,
    other_model: str | None,
    other_revision: str | None,
    other_chat_template: str | None,
    output: str,
    tools: str | None,
    line: int | None,
    generation_prompt: bool,
    settings: Sequence[str],
    other_settings: Sequence[str] | None,
    on_loss: LossAction | None,
    date: str | None,
) -> tuple[str, int]:
    """Return the first difference of two renderings as text or JSON, and the exit code.

    Raises:
        UsageError: Both renderings have the same inputs, or two inputs are standard input.
    """
    if other is other_model is other_revision is other_chat_template is other_settings is None:
        raise UsageError("there is nothing to compare with. Add a second file, or an option such as --other-model.")
    if [file, other, tools].count(STDIN) > 1:
        raise UsageError(SECOND_STDIN)
    conversation = read_conversation(file, line=line, tools=tools)
    second = conversation if other is None else read_conversation(other, line=line, tools=tools)
    arguments = read_settings(settings)
    other_arguments = arguments if other_settings is None else read_settings(other_settings)
    renderer = load_renderer(model, revision=revision, chat_template=chat_template, on_loss=on_loss, date=date)
    other_renderer = load_renderer(
        other_model or model,
        revision=other_revision or (revision if other_model is None else None),
        chat_template=other_chat_template or (chat_template if other_model is None else None),
        on_loss=on_loss,
        date=date,
    )
    comparison = compare(
        _render(model, renderer, conversation, arguments, generation_prompt),
        _render(other_model or model, other_renderer, second, other_arguments, generation_prompt),
    )
    return _as_json(comparison) if output == "json" else _as_text(comparison), DIFFERENT if comparison.cause else 0


def _render(
    model: str,
    renderer: ChatRenderer,
    conversation: Conversation,
    arguments: dict[str, Any],
    generation_prompt: bool,
) -> Side:
    inputs: dict[str, Any] = {"tools": conversation.tools, "add_generation_prompt": generation_prompt, **arguments}
    rendered = renderer.render(conversation.messages, process_multimodal=False, **inputs)
    trace = renderer.trace(conversation.messages, **inputs)
    texts = [renderer.tokenizer.decode([token]) for token in rendered.token_ids]
    return Side(model, conversation, arguments, _definition(renderer, conversation), rendered, trace, texts)


def _definition(renderer: ChatRenderer, conversation: Conversation) -> str:
    """Return the source of the chat template, or the digest of another program."""
    try:
        return renderer.template(tools=bool(conversation.tools)).source
    except TypeError:
        return renderer.resolution.template_digest


def compare(first: Side, second: Side) -> Comparison:
    """Return the first difference of two renderings and its cause."""
    position = find_difference(first, second)
    changes = list(compare_conversations(first.conversation, second.conversation))
    if position is None:
        return Comparison(first, second, None, None, changes)
    return Comparison(first, second, position, find_cause(first, second, changes), [])


def find_difference(first: Side, second: Side) -> int | None:
    """Return the position of the first token that differs. None if all ids are the same.

    Tokens of different vocabularies are compared by their texts, then by their ids.
    """
    ids, other_ids = first.rendered.token_ids, second.rendered.token_ids
    if ids == other_ids and first.token_texts == second.token_texts:
        return None
    position = common_prefix_length(first.token_texts, second.token_texts)
    is_end = position == len(ids) == len(other_ids)
    return common_prefix_length(ids, other_ids) if is_end or first.model == second.model else position


def find_cause(first: Side, second: Side, changes: Sequence[Cause]) -> Cause:
    """Return the input or the part of the model that makes two renderings differ. `changes` are those of messages."""
    if first.trace.text == second.trace.text:
        return Cause("tokenizer", "the texts are the same, but the tokenizers differ")
    offset = common_prefix_length(first.trace.text, second.trace.text)
    owners = {span.message for side in (first, second) for span in side.trace.spans_in(offset, offset + 1)}
    nearest = [change for change in changes if change.message in owners or (change.kind == "tools" and -1 in owners)]
    if nearest:
        return nearest[0]
    if changes:
        text = f"{changes[0].text}, and the template writes other text because of it"
        return changes[0]._replace(text=text)
    if first.template != second.template:
        texts = _quote_difference(first.trace.text, second.trace.text)
        models = "" if first.model == second.model else f" of {first.model} and {second.model}"
        return Cause("template", f"the chat templates{models} differ: {texts}")
    values = first.arguments, second.arguments
    if values[0] != values[1]:
        shown = " / ".join(map(_show_arguments, values))
        return Cause("arguments", f"the template arguments differ: {shown}", None, (), *values)
    return Cause("tokenizer", "the special tokens that the template writes differ")


def compare_conversations(first: Conversation, second: Conversation) -> Iterator[Cause]:
    """Yield the differences between tools, then between messages, in order."""
    for path, *values in _compare(first.tools or [], second.tools or [], ()):
        yield Cause("tools", f"tools{_dotted(path)} {_describe(*values)}", None, path, *map(_plain, values))
    for index in range(max(len(first.messages), len(second.messages))):
        pair = [_item(conversation.messages, index) for conversation in (first, second)]
        for path, *values in _compare(pair[0], pair[1], ()):
            name = f"message {index}{_role(*pair)}{':' * bool(path)}{_dotted(path).replace('.', ' ', 1)}"
            yield Cause("message", f"{name} {_describe(*values)}", index, path, *map(_plain, values))


def _compare(first: Any, second: Any, path: tuple[str | int, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each difference within two JSON values, and the values there."""
    if isinstance(first, dict) and isinstance(second, dict):
        for name in dict.fromkeys((*first, *second)):
            yield from _compare(first.get(name, _ABSENT), second.get(name, _ABSENT), (*path, name))
    elif isinstance(first, list) and isinstance(second, list):
        for index in range(max(len(first), len(second))):
            yield from _compare(_item(first, index), _item(second, index), (*path, index))
    elif type(first) is not type(second) or first != second:
        yield path, first, second


def _item(values: Sequence[Any], index: int) -> Any:
    return values[index] if index < len(values) else _ABSENT


def _plain(value: Any) -> Any:
    return None if value is _ABSENT else value


def _dotted(path: tuple[str | int, ...]) -> str:
    return "".join(f".{part}" for part in path)


def _role(*messages: Any) -> str:
    roles = [message["role"] for message in messages if isinstance(message, Mapping) and "role" in message]
    return f" ({roles[0]})" if roles else ""


def _describe(first: Any, second: Any) -> str:
    if second is _ABSENT or first is _ABSENT:
        return f"is only in the {'first' if second is _ABSENT else 'second'} conversation"
    return f"differs: {_quote_difference(first, second)}"


def _quote_difference(first: Any, second: Any) -> str:
    """Quote two values, texts from shortly before their first difference."""
    if isinstance(first, str) and isinstance(second, str):
        start = max(common_prefix_length(first, second) - _CONTEXT, 0)
        first, second = first[start : start + _QUOTED], second[start : start + _QUOTED]
    return " / ".join(quote_short(value if isinstance(value, str) else repr(value)) for value in (first, second))


def _show_arguments(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items()) or "none"


def _token(side: Side, position: int) -> dict[str, Any] | None:
    """Return a token with its attribution. None after the last one."""
    rendered = side.rendered
    if position >= len(rendered.token_ids):
        return None
    message = rendered.message_indices[position]
    return {
        "token_id": rendered.token_ids[position],
        "text": side.token_texts[position],
        "message": message if message >= 0 else None,
        "role": rendered.message_roles[message] if message >= 0 else None,
        "channel": rendered.channels[position],
        "sampled": rendered.sampled_mask[position],
    }


def _as_json(comparison: Comparison) -> str:
    sides, position = (comparison.first, comparison.second), comparison.position
    return to_json(
        {
            "equal": position is None,
            "models": [side.model for side in sides],
            "token_counts": [len(side.rendered.token_ids) for side in sides],
            "position": position,
            "first": None if position is None else _token(comparison.first, position),
            "second": None if position is None else _token(comparison.second, position),
            "cause": comparison.cause and comparison.cause._asdict(),
            "ignored": [change._asdict() for change in comparison.ignored],
        }
    )


def _as_text(comparison: Comparison) -> str:
    sides, position = {"first": comparison.first, "second": comparison.second}, comparison.position
    counts = [len(side.rendered.token_ids) for side in sides.values()]
    if position is None or comparison.cause is None:
        ignored = (f"Not written: {change.text}" for change in comparison.ignored)
        return "\n".join((f"The ids are the same: {counts[0]} tokens.", *ignored))
    rows = [(name, *_show_token(_token(side, position))) for name, side in sides.items()]
    before = "".join(comparison.first.token_texts[max(position - 8, 0) : position])
    return "\n".join(
        (
            f"Token {position} differs, of {counts[0]} and {counts[1]}:",
            *(f"  {line}" for line in align_columns(rows)),
            f"after {before!r}" if position else "at the start",
            f"Cause: {comparison.cause.text}",
        )
    )


def _show_token(token: Mapping[str, Any] | None) -> tuple[str, str, str, str]:
    if token is None:
        return "-", "the end", "", ""
    owner = "no message" if token["message"] is None else f"message {token['message']} ({token['role']})"
    return str(token["token_id"]), repr(token["text"]), owner, str(token["channel"])
