"""Law 3: what is rendered is read back as it was, and rendering what was read gives the same ids.

Fields are compared after the normalisations that the template is known to make, each by name; every one that is listed
must have been needed.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from renderers import EMBEDDED, ChatRenderer, MessageError, TemplateError, create_renderer, load_tokenizer
from renderers.parse.normalise import Said, normalised
from renderers.parse.response import ParsedResponse, ToolCallParseStatus
from renderers.parse.syntax import SYNTAXES
from tests.inverse import EMBEDDED_RECORD, RECORDS, Record, message_of, said, tools_for
from tests.models import hub_models, unpack_hub

ASK = {"role": "user", "content": "What is the weather?"}
MODELS: dict[str, Record] = {str(EMBEDDED): EMBEDDED_RECORD} | {
    name: RECORDS[str(model["template"])]
    for name, model in {str(one["template"]): (name, one) for name, one in reversed(hub_models().items())}.values()
    if model["template"] in RECORDS
}
"""One model for each template."""


def completion_of(renderer: ChatRenderer, turn: Said, tools: Any) -> tuple[list[int], list[int]] | None:
    """Returns prompt and completion of a turn; None where a token is both, or nothing is sampled."""
    rendered = renderer.render([ASK, message_of(turn)], tools=tools)
    sampled = [
        at
        for at, (index, one) in enumerate(zip(rendered.message_indices, rendered.sampled_mask, strict=True))
        if one and index == 1
    ]
    if not sampled or sampled[0] - 1 in rendered.straddling_tokens():
        return None
    return rendered.token_ids[: sampled[0]], rendered.token_ids[sampled[0] : sampled[-1] + 1]


def turn_of(parsed: ParsedResponse) -> Said:
    calls = tuple((call.name or "", call.arguments) for call in parsed.tool_calls)
    return Said(parsed.content, parsed.reasoning_content or "", calls)


def shapes_of(turn: Said) -> set[str]:
    """Returns the names of the odd shapes that a turn has."""
    found = set()
    if turn.tool_calls and turn.content and not turn.content.strip():
        found.add("blank content before calls")
    if turn.reasoning_content and not turn.reasoning_content.strip():
        found.add("blank reasoning")
    return found


@pytest.mark.parametrize("name", MODELS)
def test_what_is_rendered_is_read_back(name: str) -> None:
    if name in hub_models():
        unpack_hub()
    record = MODELS[name]
    renderer = create_renderer(load_tokenizer(name), content_tokens="text")
    used: Counter[str] = Counter()

    @settings(max_examples=80, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(turn=said(record))
    def check(turn: Said) -> None:
        tools = tools_for(turn)
        try:
            found = completion_of(renderer, turn, tools)
        except (MessageError, TemplateError):
            used["refused"] += 1
            return
        if found is None:
            used["straddling"] += 1
            return
        prompt, completion = found
        parsed = renderer.parse_response(completion, tools=tools, prompt_ids=prompt)
        expected, changes = normalised(turn, record.normalisations)
        assert turn_of(parsed) == expected
        assert all(call.status is ToolCallParseStatus.OK for call in parsed.tool_calls)
        assert parsed.reasoning_complete
        assert not parsed.skipped
        used.update(changes)
        used["calls"] += len(parsed.tool_calls)
        used["read"] += 1
        odd = shapes_of(turn) & {*record.once}
        used.update(odd)
        if not odd:
            again = message_of(turn_of(parsed), [call.id for call in parsed.tool_calls])
            ids = renderer.render_ids([ASK, message_of(turn)], tools=tools)
            assert renderer.render_ids([ASK, again], tools=tools) == ids

    check()
    assert used["read"] > 20
    assert not record.calls or "drops_calls" in record.normalisations or used["calls"] > 10, used
    assert {*record.normalisations} | {*record.once} <= {*used}, used


@given(st.data())
@settings(max_examples=5, deadline=None)
def test_a_normalisation_that_is_not_listed_is_noticed(data: st.DataObject) -> None:
    turn = data.draw(said(EMBEDDED_RECORD).filter(lambda turn: turn.content != turn.content.strip()))
    after, changes = normalised(turn, ["trims_content"])
    assert after != turn
    assert changes == ["trims_content"]


def test_every_syntax_is_read_back_from_a_real_template(hub: object) -> None:
    names = [name for name in MODELS if name != str(EMBEDDED)]
    read = {create_renderer(load_tokenizer(name)).resolution.grammar.tools for name in names}
    assert read >= {*SYNTAXES}
