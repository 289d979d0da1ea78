"""The list of input that a format is known to drop names the turns that it drops it from."""

from __future__ import annotations

import pytest

from renderers import EXAMPLE_MODEL, create_renderer, load_tokenizer

TEMPLATE = (
    "{{% for m in messages %}}<|turn|>{{{{ m.role }}}}\n{{% if m.reasoning_content and {condition} %}}"
    "<think>{{{{ m.reasoning_content }}}}</think>{{% endif %}}{{{{ m.content }}}}"
    "{{% for c in m.tool_calls %}}{{{{ c.function | tojson }}}}{{% endfor %}}<|end|>\n{{% endfor %}}"
)
LAST_TURN = "not messages[loop.index0:] | selectattr('role', 'eq', 'user') | list"
REFUSES_CALLS = "(not m.tool_calls or raise_exception('no calls')) and false"


@pytest.mark.parametrize(
    ("condition", "places"),
    [
        ("true", []),
        ("false", ["reasoning"]),
        (REFUSES_CALLS, ["reasoning"]),
        (LAST_TURN, ["reasoning of earlier turns"]),
        ("m.tool_calls", ["reasoning of turns without tool calls"]),
        ("not m.tool_calls", ["reasoning of turns with tool calls"]),
        (f"m.tool_calls or {LAST_TURN}", ["reasoning of earlier turns without tool calls"]),
        (f"m.tool_calls and {LAST_TURN}", ["reasoning of turns without tool calls", "reasoning of earlier turns"]),
    ],
)
def test_the_turns_with_lost_reasoning_are_named(condition: str, places: list[str]) -> None:
    template = TEMPLATE.format(condition=f"({condition})")
    renderer = create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template=template)
    assert [loss.place for loss in renderer.resolution.known_losses if loss.kind == "reasoning"] == places
