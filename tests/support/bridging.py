"""Rollouts that are extended turn by turn, compared with what rendering the whole conversation gives."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any, NamedTuple

from renderers import (
    EMBEDDED,
    Bridge,
    BridgeReason,
    ChatRenderer,
    MessageError,
    TemplateError,
    TemplateMissingError,
    create_renderer,
    load_tokenizer,
)
from renderers.core.messages import normalise_messages
from renderers.core.spans import LabelledSpan, Trace
from tests.support.conversations import CONVERSATIONS, TOOLS
from tests.support.models import hub_models, unpack_hub
from tests.support.parity import CORPUS, OF_MODELS
from tests.support.settings import with_settings
from tests.support.standin import stand_in

__all__ = [
    "EACH_ONCE",
    "FALSE",
    "ODD_RESULTS",
    "TEMPLATES",
    "UNKEPT",
    "Case",
    "cases",
    "keeping_all",
    "outcome_of",
    "renderer_of",
]

DATE = datetime.datetime(2026, 1, 1)
WORDS = {
    "many",
    "long",
    "html",
    "json text",
    "jinja text",
    "role words",
    "numbers",
    "duplicates",
    "long turns",
    "newlines",
}
"""Conversations that differ from others in their words alone."""
MANY = 50


class Case(NamedTuple):
    """A turn that messages follow: the rollout so far, and the whole conversation up to the next turn."""

    name: str
    prompt: list[int]
    completion: list[int]
    new: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    whole: list[int]
    added: list[int]
    """What rendering the whole conversation writes after the turn."""
    keeps: bool
    """Whether it does."""
    lost: bool
    """Whether the template leaves out a new message."""


FALSE: dict[str, dict[str, int]] = {
    "glm-4.5": {"history_rewritten": 2},
    "glm-4.6": {"history_rewritten": 2},
    "kimi-k3": {"no_stop_token": 104, "suffix_varies": 2},
    "deepseek-v3": {"history_rewritten": 4},
    "deepseek-r1-distill": {"history_rewritten": 4, "suffix_varies": 2},
    "gemma-4": {"suffix_varies": 2},
    "mistral-small-3.2": {"history_rewritten": 3},
    "smollm3": {"reasoning_open": 2, "history_rewritten": 2},
    "llamacpp__Apertus-8B-Instruct": {"history_rewritten": 16},
    "llamacpp__Apriel-1.6-15b-Thinker-fixed": {"history_rewritten": 2},
    "llamacpp__Bielik-11B-v3.0-Instruct": {"reasoning_open": 2, "history_rewritten": 38, "suffix_varies": 16},
    "llamacpp__Cohere2MoE": {"suffix_varies": 26},
    "llamacpp__CohereForAI-c4ai-command-r7b-12-2024-tool_use": {"suffix_varies": 8},
    "llamacpp__GLM-4.6": {"history_rewritten": 2},
    "llamacpp__HuggingFaceTB-SmolLM3-3B": {"reasoning_open": 2, "history_rewritten": 2},
    "llamacpp__Kimi-K3": {"suffix_varies": 2},
    "llamacpp__LFM2.5-8B-A1B": {"reasoning_open": 2, "history_rewritten": 2},
    "llamacpp__Mistral-Small-3.2-24B-Instruct-2506": {"history_rewritten": 3},
    "llamacpp__NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": {"history_rewritten": 2},
    "llamacpp__Reka-Edge": {"reasoning_open": 2},
    "llamacpp__deepseek-ai-DeepSeek-R1-Distill-Llama-8B": {"history_rewritten": 4, "suffix_varies": 2},
    "llamacpp__deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": {"history_rewritten": 4},
    "llamacpp__google-gemma-4-31B-it": {"no_stop_token": 2},
    "llamacpp__llama-cpp-rwkv-world": {"no_stop_token": 2, "history_rewritten": 2},
    "llamacpp__mistralai-Mistral-Nemo-Instruct-2407": {"history_rewritten": 22, "suffix_varies": 39},
    "llamacpp__muse-glimmer": {"history_rewritten": 2},
    "llamacpp__openbmb-MiniCPM5-1B": {"reasoning_open": 2, "history_rewritten": 2},
    "llamacpp__tencent-Hy3": {"no_stop_token": 77},
    "trl__deepseekv3": {"history_rewritten": 4},
    "trl__deepseekv3_training": {"history_rewritten": 4},
    "trl__diffusion_gemma": {"no_stop_token": 24},
    "trl__diffusion_gemma_training": {"no_stop_token": 24},
    "trl__glm4moe": {"history_rewritten": 2},
}
"""Turns that are not extended though rendering would keep them, by template and reason: see `docs/bridging.md`."""

UNKEPT = {"gemma-4": BridgeReason.SUFFIX_VARIES}
"""Why turns are not extended with all kept either: what they say beside a call is written after its result."""


def templates() -> dict[str, Any]:
    """Returns one model for each template of the hub, and the templates of the corpus, by name."""
    found: dict[str, Any] = {"embedded": EMBEDDED}
    for name, model in hub_models().items():
        found.setdefault(str(model["template"]), name)
    return found | {path.stem: path for path in CORPUS}


TEMPLATES = templates()

EACH_ONCE = [name for name, source in TEMPLATES.items() if source not in OF_MODELS]
"""Those without the texts of the corpus that a model of the hub has as well."""


def renderer_of(template: str, **options: Any) -> ChatRenderer | None:
    """Returns a renderer for a template; None for a model that comes without one.

    It does not verify its runs, which are thousands: others do that for all of these templates.
    """
    source = TEMPLATES[template]
    if source in CORPUS:
        text = source.read_text(encoding="utf-8")
        return create_renderer(stand_in(source), chat_template=text, date=DATE, verify=False, **options)
    if source != EMBEDDED:
        unpack_hub()
    try:
        return create_renderer(load_tokenizer(source), date=DATE, verify=False, **options)
    except TemplateMissingError:
        return None


def _odd_results() -> dict[str, list[dict[str, Any]]]:
    """Returns conversations whose results say little of their calls, or come in another order, or not all."""
    ask, called, *results = CONVERSATIONS["calls parallel"]
    bare = [{key: value for key, value in one.items() if key != "name"} for one in results[:2]]
    found = {"nameless": bare, "reversed": results[1::-1], "both": bare[::-1], "second": results[1:2]}
    return {name: [ask, called, *some] for name, some in found.items()}


ODD_RESULTS = _odd_results()


def cases(
    renderer: ChatRenderer,
    conversations: dict[str, list[dict[str, Any]]] = CONVERSATIONS,
    *,
    by_turns: bool = False,
    halved: bool = False,
) -> Iterator[Case]:
    """Yields all turns of the tests' conversations that messages follow, as a model may have sampled them.

    Each with tools and without; or `by_turns` once, with tools or without, and not those that differ in words alone.
    `halved` are two of four: those with tools and those without alike.
    """
    number = 0
    for name, conversation in conversations.items():
        turns = list(_turns(conversation)) if not by_turns or name not in WORDS else []
        # Of a hundred turns, the first, the middle one and the last.
        for at, end in turns[:: max(1, len(turns) // 2)] if len(turns) > MANY else turns:
            number += 1
            if halved and number // 2 % 2:
                continue
            for tools in ((None, TOOLS)[number % 2],) if by_turns else (None, TOOLS):
                try:
                    case = _case(renderer, name, conversation, at, end, tools)
                except (MessageError, TemplateError):
                    continue
                if case is not None:
                    yield case


def keeping_all(renderer: ChatRenderer) -> ChatRenderer:
    """Returns the same renderer with a bridge that keeps all reasoning, and all that it has found out already."""
    other = with_settings(renderer, thinking_retention="all")
    vars(other).update(resolution=renderer.resolution, _compiled_grammar=renderer._compiled_grammar)
    return other


def _turns(conversation: list[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    """Yields the assistant's messages that others follow, each with where its next one is."""
    roles = [message["role"] for message in conversation]
    for at in range(1, len(roles) - 1):
        if roles[at] == "assistant" != roles[at + 1]:
            yield at, roles.index("assistant", at + 1) if "assistant" in roles[at + 1 :] else len(roles)


def _case(
    renderer: ChatRenderer,
    name: str,
    conversation: list[dict[str, Any]],
    at: int,
    end: int,
    tools: list[dict[str, Any]] | None,
) -> Case | None:
    prompt, _ = _written(renderer, conversation[:at], tools, prompt=True)
    if _opens_reasoning(renderer, prompt.text) and not _thinks(renderer, conversation[at]):
        # Where the prompt begins reasoning there is some.
        conversation = [*conversation[:at], {**conversation[at], "reasoning_content": "Hm."}, *conversation[at + 1 :]]
    last, last_labels = _written(renderer, conversation[: at + 1], tools, prompt=False)
    whole, labels = _written(renderer, conversation[:end], tools, prompt=True)
    alone, followed = last.text[: _end(last_labels, at)], whole.text[: _end(labels, at)]
    # Where the next message's first token stops a turn, it is sampled with it.
    turn = followed if followed.startswith(alone) else alone
    if not _end(labels, at):
        return None
    begun = min(one.start for one in labels if one.message == at and one.sampled)
    completion = _completed(renderer, prompt.text, turn, begun)
    if completion is None:
        return None
    owners = {span.message for span in whole.spans}
    keeps = turn.startswith(prompt.text) and whole.text.startswith(turn)
    encode = renderer.tokenizer.encode
    return Case(
        f"{name}, message {at}{', tools' if tools else ''}",
        encode(prompt.text, add_special_tokens=False),
        encode(completion, add_special_tokens=False),
        conversation[at + 1 : end],
        tools,
        encode(whole.text, add_special_tokens=False),
        encode(whole.text[len(turn) if keeps else _end(labels, at) :], add_special_tokens=False),
        keeps,
        any(number not in owners for number in range(at + 1, end)),
    )


def _opens_reasoning(renderer: ChatRenderer, prompt: str) -> bool:
    reasoning = renderer.resolution.grammar.reasoning
    return reasoning is not None and prompt.rfind(reasoning.markers[0]) > prompt.rfind(reasoning.markers[1])


def _thinks(renderer: ChatRenderer, message: dict[str, Any]) -> bool:
    reasoning = renderer.resolution.grammar.reasoning
    inline = reasoning is not None and reasoning.markers[0] in str(message.get("content"))
    return inline or bool(message.get("reasoning_content"))


def _completed(renderer: ChatRenderer, prompt: str, turn: str, start: int) -> str | None:
    """Returns what a model has sampled of a turn that begins at a place; None where the prompt forbids it.

    A prompt may open reasoning, or say that there is none, and the turn is written in another way in a history.
    """
    if turn.startswith(prompt):
        return turn[len(prompt) :]
    said, reasoning = turn[start:], renderer.resolution.grammar.reasoning
    stops = [renderer.tokenizer.decode([stop]) for stop in renderer.get_stop_token_ids()]
    ends = renderer._pipeline.turn_format(with_tools=False).end_token
    if not said.endswith((*stops, ends or stops[0])):
        return None
    if reasoning is None:
        return said
    opening, closing = reasoning.markers
    if not _opens_reasoning(renderer, prompt):
        return None if closing in said and prompt.rstrip().endswith(closing) else said
    # What the prompt has of it already is not sampled once more.
    said = said.removeprefix(opening).removeprefix("\n")
    return said if closing in said else f"Hm.{closing}{reasoning.after}{said}"


def _written(
    renderer: ChatRenderer, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, *, prompt: bool
) -> tuple[Trace, tuple[LabelledSpan, ...]]:
    run = renderer._pipeline.run(normalise_messages(messages), tools=tools, add_generation_prompt=prompt)
    return run.trace, run.labels


def _end(labels: tuple[LabelledSpan, ...], message: int) -> int:
    return max((one.end for one in labels if one.message == message and one.sampled), default=0)


def outcome_of(renderer: ChatRenderer, case: Case) -> str:
    """Extends a rollout, and returns what came of it.

    Raises:
        AssertionError: The result is wrong.
    """
    bridged = renderer.bridge(case.prompt, case.completion, case.new, tools=case.tools, process_multimodal=False)
    if not isinstance(bridged, Bridge):
        return bridged.reason if not case.keeps or case.lost else f"false: {bridged.reason}"
    ids = bridged.tokens.token_ids
    prior = [*case.prompt, *case.completion]
    assert ids[: len(prior)] == prior, case.name
    added = ids[len(prior) :]
    # A turn that is written in another way may have to be closed.
    assert added == case.whole[len(case.whole) - len(added) :], case.name
    assert len(added) >= len(case.added), case.name
    if not case.keeps:
        assert "all" in (renderer.thinking_retention, renderer._default_retention), (
            f"{case.name}: the history would be rewritten"
        )
        return "kept"
    assert added == case.added, case.name
    return "extended"
