"""`renderers render`: the ids, the text or the attribution of a conversation."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from renderers import RenderedTokens
from renderers.cli.inputs import SECOND_STDIN, STDIN, load_renderer, read_conversation, read_settings
from renderers.cli.outputs import to_json
from renderers.cli.usage import UsageError
from renderers.core.losses import LossAction
from renderers.core.text import align_columns
from renderers.core.tokens import Decode


def render(
    model: str,
    file: str,
    *,
    revision: str | None,
    chat_template: str | None,
    output: str,
    tools: str | None,
    line: int | None,
    generation_prompt: bool,
    settings: Sequence[str],
    on_loss: LossAction | None,
    date: str | None,
) -> str:
    """Return a conversation as a table, ids, text or JSON. Media are rendered as the template's placeholders.

    Raises:
        UsageError: Both the conversation and the tools are standard input.
    """
    if file == tools == STDIN:
        raise UsageError(SECOND_STDIN)
    conversation = read_conversation(file, line=line, tools=tools)
    inputs: dict[str, Any] = {
        "tools": conversation.tools,
        "add_generation_prompt": generation_prompt,
        "process_multimodal": False,
        **read_settings(settings),
    }
    renderer = load_renderer(model, revision=revision, chat_template=chat_template, on_loss=on_loss, date=date)
    if output == "text":
        return renderer.render_text(conversation.messages, **inputs)
    rendered = renderer.render(conversation.messages, **inputs)
    decode = renderer.tokenizer.decode
    match output:
        case "ids":
            return str(rendered.token_ids)
        case "json":
            text = renderer.render_text(conversation.messages, **inputs)
            return to_json({"model": model, "text": text, **_lists(rendered)})
        case "tokens":
            return "\n".join(_token_table(rendered, decode))
    return "\n".join(rendered.explanation(decode, colours=sys.stdout.isatty()))


def _lists(rendered: RenderedTokens) -> dict[str, Any]:
    return {
        "token_ids": rendered.token_ids,
        "message_indices": rendered.message_indices,
        "channels": rendered.channels,
        "sampled_mask": rendered.sampled_mask,
        "is_content": rendered.is_content,
        "message_roles": rendered.message_roles,
        "message_tool_names": rendered.message_tool_names,
        "losses": [str(loss) for loss in rendered.losses],
    }


def _token_table(rendered: RenderedTokens, decode: Decode) -> list[str]:
    """Return a line per token. A token that is only a part of a character is shown as U+FFFD."""
    columns = zip(
        rendered.token_ids,
        rendered.message_indices,
        rendered.channels,
        rendered.sampled_mask,
        rendered.is_content,
        strict=True,
    )
    rows = [
        (
            str(position),
            str(token),
            str(message) if message >= 0 else "-",
            channel.value,
            "yes" if sampled else "-",
            "yes" if content else "-",
            repr(decode([token])),
        )
        for position, (token, message, channel, sampled, content) in enumerate(columns)
    ]
    return align_columns([("token", "id", "message", "channel", "sampled", "content", "text"), *rows])
