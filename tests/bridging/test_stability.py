"""Prefix stability of real models, and pairs of conversations that show a change."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import pytest
from transformers.utils.chat_template_utils import _compile_jinja_template

from renderers import (
    EMBEDDED,
    ChatRenderer,
    MessageError,
    PrefixStability,
    TemplateError,
    TemplateLimitError,
    create_renderer,
    create_renderer_pool,
    load_tokenizer,
)
from renderers.bridging import stability as stability_module
from renderers.bridging.stability import prefix_stability
from tests.support.bridging import TEMPLATES, renderer_of
from tests.support.conversations import CONVERSATIONS, TOOLS
from tests.support.models import hub_models

HUB = {str(model["template"]) for model in hub_models().values() if model["template"]}
AVAILABLE = ["embedded", *(name for name in TEMPLATES if name in HUB)]

STABLE = """
    embedded qwen3-instruct-2507 qwen2.5 qwen3-coder qwen3.8 qwen3-vl kimi-k2 llama-3.2 llama-3.1
    gemma-3 gemma-4-v2 ministral-3 smollm3 granite-4.0 seed-oss
""".split()
# Release 0.1 lists all sizes of Gemma 4 as unstable, but the template of the small ones writes no reasoning.
UNSTABLE = {
    # Reasoning, or its empty block, is dropped from turns before the last question.
    "qwen3": "'<think>\\n\\n</think>\\n\\n' is left out",
    "qwen3.5-think": "'<think>\\n\\n</think>\\n\\n' is left out",
    "qwen3.5-nothink": "'<think>\\n\\n</think>\\n\\n' is left out",
    "qwen3.6": "'<think>\\n\\n</think>\\n\\n' is left out",
    "glm-4.5": "'probereason' is left out",
    "glm-4.6": "'probereason' is left out",
    "glm-4.7-flash": "'<think>probereason' is left out",
    "glm-5.1": "'<think>' is left out",
    "minimax-m2": "'<think>\\nprobereason\\n</think>\\n\\n' is left out",
    "nemotron-3-nano": "'\\nprobereason\\n' is left out",
    "nemotron-3-super": "'\\nprobereason\\n' is left out",
    "nemotron-3-ultra": "'\\nprobereason",
    "nemotron-3.5-lightning": "'\\nprobereason",
    # Reasoning is kept until an answer without a call follows.
    "kimi-k2-thinking": "'probereason' is left out",
    "kimi-k2.5": "'probereason' is left out",
    # The last answer ends with a different token.
    "gpt-oss": "'<|return|>' becomes '<|end|>",
    # Reasoning beside a call is dropped when another question follows; text beside it is written after the result.
    "gemma-4": "'<|channel>thought\\nprobereason\\n<channel|>' is left out",
    # A system message is always written at the front. Release 0.1 lists V3 and R1 as stable, and writes a late
    # system message in place, which the template does not.
    "deepseek-v3": "'probelatesystem' is added before '<｜User｜>",
    "deepseek-r1-distill": "'probelatesystem' is added before '<｜User｜>",
    "deepseek-v3.1": "'probelatesystem' is added before '<｜User｜>",
    # Tools are written before the last question.
    "mistral-small-3.2": "'[AVAILABLE_TOOLS]",
    # The generation prompt is always written.
    "command-a": "is added before '<|CHATBOT_TOKEN|>'",
    # Its markers are not tokens of the available vocabulary, so adjacent ones merge.
    "kimi-k3": "<|end_of_msg|>' ends with other tokens where '<|open|>",
}

APPEND_ONLY = "{% for m in messages %}<{{ m.role }}>{{ m.reasoning_content or '' }}|{{ m.content }}\n{% endfor %}"
DROPS = (
    "{% for m in messages %}<{{ m.role }}>{{ m.reasoning_content or '' if loop.last }}|{{ m.content }}\n{% endfor %}"
)
REFUSES = "{{ raise_exception('closed today') }}"


def renderer_for(template: str, **options: Any) -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED), chat_template=template, **options)


def changes(renderer: ChatRenderer, stability: PrefixStability) -> bool:
    assert stability.before is not None
    assert stability.after is not None
    assert stability.after[: len(stability.before)] == stability.before
    assert stability.before[-1]["role"] == "assistant"
    before, after = (
        renderer.render_ids(messages, tools=stability.tools) for messages in (stability.before, stability.after)
    )
    return after[: len(before)] != before


@pytest.mark.parametrize("name", AVAILABLE)
def test_prefix_stability_of_real_models_is_as_recorded(name: str) -> None:
    renderer = renderer_of(name)
    assert renderer is not None
    stability = renderer.prefix_stability()
    assert renderer.is_prefix_stable is stability.stable is (name in STABLE)
    if stability.stable:
        assert (stability.before, stability.after, stability.tools, stability.change) == (None, None, None, "")
        assert len(stability.tried) > 30
    else:
        assert UNSTABLE[name] in stability.change
        assert changes(renderer, stability)


@pytest.mark.parametrize(
    ("name", "switches", "stable"),
    [
        ("qwen3.6", {"preserve_thinking": True}, True),
        ("qwen3.8", {"preserve_thinking": False}, False),
        ("glm-4.7-flash", {"clear_thinking": False}, True),
        ("glm-5.1", {"clear_thinking": False}, False),
        # Release 0.1 lists it as stable with thinking off. But a turn without reasoning, in a tool cycle that began
        # with reasoning, gets an empty block as soon as another question follows.
        ("glm-5.1", {"clear_thinking": False, "enable_thinking": False}, False),
        ("nemotron-3-nano", {"truncate_history_thinking": False}, True),
        ("nemotron-3-super", {"truncate_history_thinking": False}, True),
        ("nemotron-3-super", {"truncate_history_thinking": False, "low_effort": True}, False),
        ("nemotron-3-ultra", {"truncate_history_thinking": False}, True),
    ],
)
def test_switches_of_the_renderer_are_used(hub: object, name: str, switches: dict[str, bool], stable: bool) -> None:
    renderer = renderer_of(name, chat_template_kwargs=switches)
    assert renderer is not None
    assert renderer.is_prefix_stable is stable


@pytest.mark.parametrize("name", [name for name in AVAILABLE if name in STABLE])
def test_no_conversation_contradicts_a_stable_model(name: str) -> None:
    renderer = renderer_of(name)
    assert renderer is not None
    compared = 0
    for conversation in (messages for title, messages in CONVERSATIONS.items() if title not in ("many", "long")):
        for tools in (None, TOOLS):
            ids = [ids_of(renderer, conversation[:end], tools) for end in range(1, len(conversation) + 1)]
            for at, before in enumerate(ids):
                if before is not None and conversation[at]["role"] == "assistant":
                    longer = [after for after in ids[at + 1 :] if after is not None]
                    assert all(after[: len(before)] == before for after in longer), conversation
                    compared += len(longer)
    assert compared > 50


def ids_of(renderer: ChatRenderer, messages: list[Any], tools: list[Any] | None) -> list[int] | None:
    try:
        return renderer.render_ids(messages, tools=tools, process_multimodal=False)
    except (MessageError, TemplateError):
        return None


@pytest.mark.parametrize("name", ["deepseek-v3", "deepseek-v3.1", "gemma-4", "mistral-small-3.2", "command-a"])
def test_transformers_renders_the_reported_pair_with_the_same_change(hub: object, name: str) -> None:
    renderer = renderer_of(name)
    assert renderer is not None
    stability = renderer.prefix_stability()
    template = _compile_jinja_template(renderer.template(tools=stability.tools is not None).source)
    before, after = (
        template.render(
            messages=messages,
            tools=stability.tools,
            add_generation_prompt=False,
            **renderer.tokenizer.special_tokens_map,
        )
        for messages in (stability.before, stability.after)
    )
    assert not after.startswith(before)


def test_a_template_that_only_appends_is_stable() -> None:
    stability = renderer_for(APPEND_ONLY).prefix_stability()
    assert (stability.stable, stability.change, stability.refused) == (True, "", 0)
    assert stability.tried[0] == "after a question: a turn, then user"
    for what in (
        "a turn with reasoning",
        "a call with reasoning, with a tool",
        "a call, then tool, user",
        "an earlier",
    ):
        assert any(what in case for case in stability.tried), what
    assert len({*stability.tried}) == len(stability.tried)


def test_the_smallest_pair_is_reported_for_a_template_that_drops_reasoning() -> None:
    renderer = renderer_for(DROPS)
    stability = renderer.prefix_stability()
    assert not renderer.is_prefix_stable
    assert stability.change == "'probereason' is left out before '|probecontent\\n'"
    assert stability.before is not None
    assert stability.after is not None
    assert [message["role"] for message in stability.after] == ["user", "assistant", "user"]
    assert stability.before[-1]["reasoning_content"] == "probereason"
    assert changes(renderer, stability)


def test_each_caller_gets_a_record_of_its_own() -> None:
    renderer = renderer_for("{% if tools %}{{ messages | length }}{% endif %}" + APPEND_ONLY)
    stability = renderer.prefix_stability()
    assert stability.before
    assert stability.tools
    stability.before.clear()
    stability.tools[0]["function"]["name"] = "changed"
    again = renderer.prefix_stability()
    assert again.before
    assert again.tools
    assert again.tools[0]["function"]["name"] != "changed"


def test_a_template_that_changes_only_with_tools_is_not_stable() -> None:
    renderer = renderer_for("{% if tools %}{{ messages | length }}{% endif %}" + APPEND_ONLY)
    stability = renderer.prefix_stability()
    assert stability.tools
    before = "<user>|probequestion\\n<assistant>|probecontent\\n"
    assert stability.change == f"'2{before}' becomes '3{before}<user>|probenext\\n'"
    assert changes(renderer, stability)


def test_an_equal_text_with_different_tokens_at_its_end_is_not_stable() -> None:
    def render(messages: list[dict[str, Any]], tools: object) -> tuple[str, list[int]]:
        text = "".join(message["content"] for message in messages)
        return text, [ord(character) for character in text[:-1]]

    def merge(messages: list[dict[str, Any]], tools: object) -> tuple[str, list[int]]:
        text, ids = render(messages, tools)
        return text, [*ids, -1]

    assert prefix_stability(render).stable
    assert (
        prefix_stability(merge).change == "'probequestionprobecontent' ends with other tokens where 'probenext' follows"
    )


def test_a_template_that_rejects_every_conversation_is_not_stable() -> None:
    renderer = renderer_for(REFUSES)
    stability = renderer.prefix_stability()
    assert not renderer.is_prefix_stable
    assert (stability.before, stability.after, stability.tried) == (None, None, ())
    assert stability.change.startswith("the template rejects all sample conversations: ")
    assert "closed today" in stability.change
    assert stability.refused > 100


def test_refused_pairs_are_counted_and_otherwise_ignored() -> None:
    refuses_tools = "{% if tools %}{{ raise_exception('no tools') }}{% endif %}" + APPEND_ONLY
    stability, complete = (renderer_for(text).prefix_stability() for text in (refuses_tools, APPEND_ONLY))
    assert stability.stable
    assert not any("with a tool" in case for case in stability.tried)
    assert stability.tried == tuple(case for case in complete.tried if "with a tool" not in case)
    assert stability.refused == len(complete.tried) - len(stability.tried)


def test_a_template_that_exceeds_a_limit_is_an_error() -> None:
    endless = "{% for x in range(99999) %}{% for y in range(99999) %}{% endfor %}{% endfor %}"
    with pytest.raises(TemplateLimitError):
        _ = renderer_for(endless).is_prefix_stable


def test_stability_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    renderer = renderer_for(APPEND_ONLY)
    stability = renderer.prefix_stability()
    monkeypatch.setattr(stability_module, "prefix_stability", None)
    assert renderer.is_prefix_stable
    assert renderer.prefix_stability() == stability


def test_changes_of_a_returned_record_have_no_effect_on_others() -> None:
    first = renderer_for(DROPS).prefix_stability()
    assert first.before is not None
    expected = copy.deepcopy(first)
    first.before[0]["content"] = "changed"
    assert renderer_for(DROPS).prefix_stability() == expected


def test_a_pool_has_prefix_stability_too() -> None:
    pool = create_renderer_pool(EMBEDDED, size=2)
    with pool.checkout() as renderer:
        assert pool.is_prefix_stable is renderer.is_prefix_stable is True
        assert pool.prefix_stability() == renderer.prefix_stability()


def test_equal_renderers_share_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    first = renderer_for(DROPS).prefix_stability()
    monkeypatch.setattr(stability_module, "prefix_stability", None)
    again = renderer_for(DROPS).prefix_stability()
    assert again == first
    assert again.before is not first.before


def test_few_conversations_are_rendered_and_none_twice() -> None:
    rendered: list[str] = []

    def render(messages: list[dict[str, Any]], tools: object) -> tuple[str, list[int]]:
        rendered.append(repr((messages, tools)))
        text = "|".join(message["content"] for message in messages)
        return text, [ord(character) for character in text]

    assert prefix_stability(render).stable
    assert len({*rendered}) == len(rendered) < 200


def test_importing_the_module_builds_no_conversations() -> None:
    script = (
        "import renderers.renderer, renderers.bridging.stability as s; print(s._sample_pairs.cache_info().currsize)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "0"
