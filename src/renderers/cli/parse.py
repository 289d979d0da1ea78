"""`renderers parse`: the content, the reasoning and the tool calls of a completion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from renderers import ParsedResponse
from renderers.cli.inputs import SECOND_STDIN, STDIN, load_renderer, read_ids, read_input, read_settings, read_tools
from renderers.cli.outputs import to_json
from renderers.cli.usage import UsageError


def parse(
    model: str,
    ids: str | None,
    *,
    revision: str | None,
    chat_template: str | None,
    text: str | None,
    tools: str | None,
    prompt_ids: str | None,
    settings: Sequence[str],
) -> str:
    """Return the parsed completion as JSON. `text` takes the place of ids.

    Raises:
        UsageError: There are both ids and a text, or two inputs are standard input.
    """
    if ids is not None and text is not None:
        raise UsageError("IDS and --text cannot be combined.")
    source = (ids or STDIN) if text is None else text
    if [source, prompt_ids, tools].count(STDIN) > 1:
        raise UsageError(SECOND_STDIN)
    arguments = read_settings(settings)
    prompt = None if prompt_ids is None else read_ids(prompt_ids)
    tool_list = read_tools(tools)
    completion = read_ids(source) if text is None else read_input(text) if text == STDIN else text
    renderer = load_renderer(model, revision=revision, chat_template=chat_template)
    if isinstance(completion, str):
        completion = renderer.tokenizer.encode(completion, add_special_tokens=False)
    return to_json(_fields(renderer.parse_response(completion, tools=tool_list, prompt_ids=prompt, **arguments)))


def _fields(parsed: ParsedResponse) -> dict[str, Any]:
    calls = [
        {
            "name": call.name,
            "arguments": call.arguments,
            "id": call.id,
            "status": call.status,
            "raw": call.raw,
            "token_span": call.token_span,
        }
        for call in parsed.tool_calls
    ]
    return {
        "content": parsed.content,
        "reasoning_content": parsed.reasoning_content,
        "reasoning_complete": parsed.reasoning_complete,
        "tool_calls": calls,
        "stop_token_id": parsed.state.stop_token_id,
        "ends_in": parsed.state.region,
        "skipped": [skipped._asdict() for skipped in parsed.skipped],
        "recoveries": [recovery._asdict() for recovery in parsed.recoveries],
        "parts": [part._asdict() for part in parsed.parts],
    }
