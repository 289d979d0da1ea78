"""A planned suffix is the one that a run of the template gives, and a template that may differ has no plan."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from renderers import (
    EMBEDDED,
    Bridge,
    ChatRenderer,
    SamplingConventions,
    TemplateLimitError,
    TemplateLimits,
    create_renderer,
    load_tokenizer,
)
from renderers.bridging.bridge import Extension
from renderers.bridging.context import clear_proof_caches
from renderers.bridging.suffix import LARGEST_PLANNED
from renderers.templating import ChatTemplate

ASK = {"role": "user", "content": "Hi"}
BYE = {"role": "user", "content": "Bye"}
CALL = '<|call|>{"name": "get", "arguments": {}}<|/call|><|end|>'
PLAIN = """{% for message in messages %}{{ "<|turn|>" + message.role + "\\n" }}{{ [BODY] }}{{ "<|end|>\\n" }}
{%- endfor %}{% if add_generation_prompt %}{{ "<|turn|>assistant\\n" }}{% endif %}"""
TOOLS = [{"type": "function", "function": {"name": "get", "description": "", "parameters": {"type": "object"}}}]

TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["", " ", "\n\n", "<|end|>", "a<|end|>b", "</think>", "probetext0", "probeid00", "x\ud800"]),
    st.tuples(st.sampled_from(["", " ", "\n", " \n\n"]), st.text(max_size=9), st.sampled_from(["", " ", "\n\n"])).map(
        "".join
    ),
)


def renderer_for(body: str, **options: Any) -> ChatRenderer:
    """Return a renderer of the embedded model with a template that writes `body` for each message."""
    template = PLAIN.replace("[BODY]", body)
    return create_renderer(load_tokenizer(EMBEDDED), chat_template=template, **{"verify": False, **options})


def bridge(renderer: ChatRenderer, *new: dict[str, Any], completion: str = "Yes.<|end|>", tools: Any = None) -> Any:
    prompt = renderer.render_ids([ASK], tools=tools, add_generation_prompt=True)
    return renderer.bridge(prompt, renderer.tokenizer.encode(completion), list(new), tools=tools)


def parts_of(result: Any) -> Any:
    """Return everything that a caller sees of a bridge or a refusal."""
    if not isinstance(result, Bridge):
        return result
    tokens = result.tokens
    return tokens.token_ids, tokens.runs, tokens.injected, tokens.message_tool_names, result.evidence


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that gets an entry for each run of a template."""
    made: list[Any] = []
    run = ChatTemplate.run

    def counted(*args: Any, **options: Any) -> Any:
        made.append(options.get("tools"))
        return run(*args, **options)

    monkeypatch.setattr(ChatTemplate, "run", counted)
    return made


def outcome(renderer: ChatRenderer, *new: dict[str, Any], completion: str) -> Any:
    try:
        return parts_of(bridge(renderer, *new, completion=completion))
    except Exception as error:
        return repr(error)


BODIES = [
    "message.content",
    "message.content | trim",
    "message.content.rstrip('\\n')",
    "message.content | tojson",
    "message.content.strip('\\n')",
    "message.content.lstrip(' ')",
    "'a' if message.content.startswith(' ') else message.content",
    "(message.name or '') ~ message.content",
    "message.content.split('</think>')[-1]",
    "message.content | replace('e', 'a')",
    "message.content[:5]",
    "message.content.strip('x')",
    "message.content | indent(2)",
    "message.content | e",
    "'a' if 'probe' in message.content else message.content",
]


@pytest.mark.parametrize("body", BODIES)
def test_a_plan_gives_what_a_run_gives(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    renderer = renderer_for(body, thinking_retention="all")

    @settings(deadline=None, max_examples=40)
    @given(TEXTS, TEXTS, st.sampled_from(["user", "tool"]))
    @example("The fox, again.", "fox", "tool")
    @example("x  x", "x", "user")
    def check(text: str, name: str, role: str) -> None:
        new = {"role": role, "content": text, "name": name}
        results = []
        for plan in (Extension._plan, lambda *_, **__: None):
            monkeypatch.setattr(Extension, "_plan", plan)
            results.append(outcome(renderer, new, completion=CALL))
        assert results[0] == results[1]

    original = Extension._plan
    check()
    monkeypatch.setattr(Extension, "_plan", original)


@pytest.mark.parametrize(
    "body", ["message.content", "message.content | trim", "(message.name or '') ~ message.content"]
)
def test_messages_of_a_proven_kind_need_no_run(body: str, runs: list[Any]) -> None:
    renderer = renderer_for(body)
    clear_proof_caches()
    prompt = renderer.render_ids([ASK], tools=TOOLS, add_generation_prompt=True)
    completion = renderer.tokenizer.encode("Yes.<|end|>")
    for text in (" first", " The second one.", "  \N{SNOWMAN} third"):
        runs.clear()
        bridged = renderer.bridge(prompt, completion, [{**BYE, "content": text, "name": text.upper()}], tools=TOOLS)
        assert isinstance(bridged, Bridge)
    assert not runs


@pytest.mark.parametrize(
    ("body", "options"),
    [
        ("message.content | replace('e', 'a')", {}),
        ("message.content[:5000]", {}),
        ("message.content.strip('x')", {}),
        ("message.content | indent(2)", {}),
        ("message.content | e", {}),
        ("message.content | upper", {}),
        ("message.content", {"verify": True}),
        ("message.content", {"limits": TemplateLimits(characters=2**20)}),
        ("message.content", {"conventions": SamplingConventions(prompted="f.*")}),
    ],
)
def test_other_messages_of_a_kind_need_a_run(body: str, options: Any, runs: list[Any]) -> None:
    renderer = renderer_for(body, thinking_retention="all", **options)
    clear_proof_caches()
    for text in ("first", "the second one"):
        prompt = renderer.render_ids([ASK], add_generation_prompt=True)
        runs.clear()
        renderer.bridge(prompt, renderer.tokenizer.encode("Yes.<|end|>"), [{**BYE, "content": text}])
    assert runs


def test_whitespace_around_a_content_needs_no_proof_of_its_own(runs: list[Any]) -> None:
    renderer = renderer_for("message.content | trim")
    clear_proof_caches()
    prompt = renderer.render_ids([ASK], add_generation_prompt=True)
    completion = renderer.tokenizer.encode("Yes.<|end|>")
    for text in (" first", "\n\n second one\n", "\tthird", "fourth "):
        runs.clear()
        bridged = renderer.bridge(prompt, completion, [{**BYE, "content": text}])
        assert isinstance(bridged, Bridge)
    assert not runs


def test_a_long_message_needs_a_run(runs: list[Any]) -> None:
    renderer = renderer_for("message.content")
    bridge(renderer, BYE)
    prompt = renderer.render_ids([ASK], add_generation_prompt=True)
    runs.clear()
    renderer.bridge(prompt, renderer.tokenizer.encode("Yes.<|end|>"), [{**BYE, "content": "a " * LARGEST_PLANNED}])
    assert runs


def test_a_limit_is_exceeded_whatever_was_bridged_before() -> None:
    renderer = renderer_for("message.content", limits=TemplateLimits(characters=40_000))
    assert isinstance(bridge(renderer, BYE), Bridge)
    with pytest.raises(TemplateLimitError):
        bridge(renderer, {**BYE, "content": "a" * 50_000})
