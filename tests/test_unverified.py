"""The core laws without verification, as users run the package: all other tests verify each run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from renderers import EMBEDDED, Bridge, ChatRenderer, MessageError, TemplateError, create_renderer, load_tokenizer
from renderers.core.messages import normalise_messages
from renderers.templating import ChatTemplate
from tests.support.conversations import CONVERSATIONS, TOOLS
from tests.support.golden import KEPT
from tests.support.parity import CORPUS, difference, rotated, run_reference, run_traced
from tests.test_goldens import committed, differences

FAMILIES = tuple(KEPT)[::3]
TEMPLATES = CORPUS[::12]


@pytest.fixture(autouse=True)
def _unverified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch verification off, and make a plain run an error."""

    def fail(*arguments: object) -> None:
        raise AssertionError("the template was run twice")

    monkeypatch.delenv("RENDERERS_VERIFY", raising=False)
    monkeypatch.setattr(ChatTemplate, "_verified", fail)


@pytest.fixture
def renderer() -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED))


@pytest.mark.filterwarnings("ignore::renderers.UnreadSwitchWarning")
@pytest.mark.parametrize("family", FAMILIES)
def test_rendered_ids_equal_the_golden_ids(hub: Path, family: str) -> None:
    golden = committed(KEPT[family])
    assert [line for model in golden.models for line in differences(KEPT[family], golden, model)] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=[path.stem for path in TEMPLATES])
def test_texts_equal_those_of_transformers(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    template = ChatTemplate(source)
    for name, arguments in rotated(turns=1):
        messages = normalise_messages(CONVERSATIONS[name])
        assert (
            difference(run_reference(source, messages, **arguments), run_traced(template, messages, **arguments))
            is None
        )


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_ids_with_attribution_equal_ids_without_it(renderer: ChatRenderer, name: str) -> None:
    messages: Any = CONVERSATIONS[name]
    try:
        ids = renderer.render_ids(messages, tools=TOOLS, process_multimodal=False)
    except (MessageError, TemplateError):
        return
    rendered = renderer.render(messages, tools=TOOLS, process_multimodal=False)
    assert rendered.token_ids == ids
    assert rendered.runs[-1].end == len(ids)


def test_a_rollout_is_parsed_and_bridged_as_the_template_renders_it(renderer: ChatRenderer) -> None:
    ask = {"role": "user", "content": "Weather in Rome?"}
    call = {"type": "function", "function": {"name": "get", "arguments": {"city": "Rome"}}}
    turn = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "content": "Sunny."}
    prompt = renderer.render_ids([ask], tools=TOOLS, add_generation_prompt=True)
    history = renderer.render([ask, turn], tools=TOOLS)
    end = max(at for at, sampled in enumerate(history.sampled_mask) if sampled) + 1
    completion = history.token_ids[len(prompt) : end]
    parsed = renderer.parse_response(completion, tools=TOOLS, prompt_ids=prompt)
    assert [(call.name, call.arguments) for call in parsed.tool_calls] == [("get", {"city": "Rome"})]
    bridge = renderer.bridge(prompt, completion, [result], tools=TOOLS)
    assert isinstance(bridge, Bridge)
    rendered = renderer.render_ids([ask, turn, result], tools=TOOLS, add_generation_prompt=True)
    assert bridge.tokens.token_ids == rendered
