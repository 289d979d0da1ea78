"""Bridge rollouts turn by turn, and compare the results with a full render."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from renderers import (
    EMBEDDED,
    Bridge,
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
    "FALSE_REFUSALS",
    "ODD_RESULTS",
    "TEMPLATES",
    "Case",
    "append_only_cases",
    "cases",
    "keeping_all",
    "outcome_of",
    "renderer_of",
]

DATE = datetime.datetime(2026, 1, 1)
SAME_SHAPE = {
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
"""Conversations that have the shape of another one, with different text."""
MANY = 50


class Case(NamedTuple):
    """An assistant turn with new messages: the rollout so far, and a full render up to the next turn."""

    name: str
    prompt: list[int]
    completion: list[int]
    new: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    full: list[int]
    """The ids of a full render."""
    added: list[int]
    """The ids that the full render has after the turn."""
    keeps: bool
    """Whether the full render begins with the rollout."""
    lost: bool
    """Whether the template drops a new message."""


FALSE_REFUSALS: dict[str, dict[str, int]] = {
    "glm-4.5": {"history_rewritten": 2},
    "glm-4.6": {"history_rewritten": 2},
    "kimi-k3": {"no_stop_token": 106},
    "mistral-small-3.2": {"history_rewritten": 3},
    "smollm3": {"reasoning_open": 2, "history_rewritten": 2},
    "llamacpp__Apertus-8B-Instruct": {"history_rewritten": 1},
    "llamacpp__Apriel-1.6-15b-Thinker-fixed": {"history_rewritten": 2},
    "llamacpp__Bielik-11B-v3.0-Instruct": {"reasoning_open": 2, "history_rewritten": 38, "suffix_varies": 16},
    "llamacpp__Cohere2MoE": {"suffix_varies": 26},
    "llamacpp__CohereForAI-c4ai-command-r7b-12-2024-tool_use": {"suffix_varies": 8},
    "llamacpp__GLM-4.6": {"history_rewritten": 2},
    "llamacpp__HuggingFaceTB-SmolLM3-3B": {"reasoning_open": 2, "history_rewritten": 2},
    "llamacpp__LFM2.5-8B-A1B": {"reasoning_open": 2, "history_rewritten": 2},
    "llamacpp__Mistral-Small-3.2-24B-Instruct-2506": {"history_rewritten": 3},
    "llamacpp__Reka-Edge": {"reasoning_open": 2},
    "llamacpp__llama-cpp-rwkv-world": {"no_stop_token": 2, "history_rewritten": 2},
    "llamacpp__mistralai-Mistral-Nemo-Instruct-2407": {"history_rewritten": 20, "suffix_varies": 39},
    "llamacpp__openbmb-MiniCPM5-1B": {"reasoning_open": 2, "history_rewritten": 2},
    "trl__glm4moe": {"history_rewritten": 2},
}
"""Turns that are refused although a full render keeps the prefix: see `docs/tables/bridge.md`."""


def templates() -> dict[str, Any]:
    """Return one model for each template of the hub, models without a template, and the templates of the corpus."""
    by_name: dict[str, Any] = {"embedded": EMBEDDED}
    for name, model in hub_models().items():
        by_name.setdefault(str(model["template"] or "") or f"{name.rpartition('/')[2]}, no template", name)
    return by_name | {path.stem: path for path in CORPUS}


TEMPLATES = templates()

EACH_ONCE = [name for name, source in TEMPLATES.items() if source not in OF_MODELS]
"""All templates, without those of the corpus that are equal to that of a model of the hub."""


def renderer_of(template: str, **options: Any) -> ChatRenderer | None:
    """Return a renderer for a template; None for a model without one.

    Verification is off, because there are thousands of runs. Other tests verify all of these templates.
    """
    source = TEMPLATES[template]
    if source in CORPUS:
        text = source.read_text(encoding="utf-8")
        return create_renderer(
            stand_in(source), chat_template=text, date=DATE, verify=False, on_loss="ignore", **options
        )
    if source != EMBEDDED:
        unpack_hub()
    try:
        return create_renderer(load_tokenizer(source), date=DATE, verify=False, on_loss="ignore", **options)
    except TemplateMissingError:
        return None


def _odd_results() -> dict[str, list[dict[str, Any]]]:
    """Return conversations with tool results that are incomplete, reordered, or lack their names."""
    ask, called, *results = CONVERSATIONS["calls parallel"]
    bare = [{key: value for key, value in result.items() if key != "name"} for result in results[:2]]
    variants = {"nameless": bare, "reversed": results[1::-1], "both": bare[::-1], "second": results[1:2]}
    return {name: [ask, called, *variant] for name, variant in variants.items()}


ODD_RESULTS = _odd_results()


def cases(
    renderer: ChatRenderer,
    conversations: dict[str, list[dict[str, Any]]] = CONVERSATIONS,
    *,
    by_turns: bool = False,
    halved: bool = False,
) -> Iterator[Case]:
    """Yield all assistant turns of the test conversations that other messages follow, as a model may sample them.

    Each turn is yielded with and without tools. With `by_turns`, tools alternate, and conversations of a repeated shape
    are skipped. `halved` skips two of four turns.
    """
    number = 0
    for name, conversation in conversations.items():
        for at, end in _some_turns(conversation) if not by_turns or name not in SAME_SHAPE else ():
            number += 1
            if halved and number // 2 % 2:
                continue
            some_tools = ((None, TOOLS)[number % 2],) if by_turns else (None, TOOLS)
            yield from _accepted(_case, renderer, name, conversation, at, end, some_tools)


def append_only_cases(
    renderer: ChatRenderer, conversations: dict[str, list[dict[str, Any]]] = CONVERSATIONS
) -> Iterator[Case]:
    """Yield the turns after which the next prompt begins with the prompt: the completion is the text in between.

    Both prompts are rendered with a generation prompt. Turns that the template splits or leaves out are not yielded,
    nor are those that it ends with a stop token only if nothing follows.
    """
    for name, conversation in conversations.items():
        for at, end in _some_turns(conversation):
            yield from _accepted(_append_only_case, renderer, name, conversation, at, end, (None, TOOLS))


def _some_turns(conversation: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Return the turns that others follow. Of many, only the first, the middle one and the last."""
    turns = list(_turns(conversation))
    return turns[:: max(1, len(turns) // 2)] if len(turns) > MANY else turns


def _accepted(
    make: Callable[..., Case | None],
    renderer: ChatRenderer,
    name: str,
    conversation: list[dict[str, Any]],
    at: int,
    end: int,
    some_tools: Sequence[list[dict[str, Any]] | None],
) -> Iterator[Case]:
    """Yield the cases of a turn that the template accepts."""
    for tools in some_tools:
        try:
            case = make(renderer, name, conversation, at, end, tools)
        except (MessageError, TemplateError):
            continue
        if case is not None:
            yield case


def _with_opened_reasoning(
    renderer: ChatRenderer, prompt: str, conversation: list[dict[str, Any]], at: int
) -> list[dict[str, Any]]:
    """Return a conversation in which a turn after a prompt that opens reasoning has reasoning."""
    if not _opens_reasoning(renderer, prompt) or _has_reasoning(renderer, conversation[at]):
        return conversation
    return [*conversation[:at], {**conversation[at], "reasoning_content": "Hm."}, *conversation[at + 1 :]]


def _append_only_case(
    renderer: ChatRenderer,
    name: str,
    conversation: list[dict[str, Any]],
    at: int,
    end: int,
    tools: list[dict[str, Any]] | None,
) -> Case | None:
    prompt, _ = _run(renderer, conversation[:at], tools, prompt=True)
    conversation = _with_opened_reasoning(renderer, prompt.text, conversation, at)
    full, labels = _run(renderer, conversation[:end], tools, prompt=True)
    stops = tuple(renderer.tokenizer.decode([stop]) for stop in renderer.get_stop_token_ids())
    turn = _end(labels, at)
    if not full.text[:turn].endswith(stops):
        # The first token of the next message may be a stop token.
        turn += next((len(stop) for stop in stops if full.text.startswith(stop, turn)), 0)
    alone, own_labels = _run(renderer, conversation[: at + 1], tools, prompt=False)
    ends_otherwise = alone.text[: _end(own_labels, at)].endswith(stops) and not full.text[:turn].endswith(stops)
    is_split = _writes_content_after(full, at, turn)
    lost = any(number not in {span.message for span in full.spans} for number in range(at + 1, end))
    if not full.text.startswith(prompt.text) or turn <= len(prompt.text) or ends_otherwise or is_split or lost:
        return None
    texts = prompt.text, full.text[len(prompt.text) : turn], full.text[turn:]
    ids = [renderer.tokenizer.encode(text, add_special_tokens=False) for text in texts]
    label = f"{name}, message {at}{', tools' if tools else ''}"
    new = conversation[at + 1 : end]
    return Case(label, ids[0], ids[1], new, tools, [*ids[0], *ids[1], *ids[2]], ids[2], keeps=True, lost=False)


def _writes_content_after(trace: Trace, message: int, end: int) -> bool:
    """Return True if text of a message other than its calls is written after an offset."""
    bodies = [span for span in trace.spans if span.message == message and span.path and span.path[0] != "tool_calls"]
    return any(end <= span.start < span.end for span in bodies)


def keeping_all(renderer: ChatRenderer) -> ChatRenderer:
    """Return the same renderer with `thinking_retention="all"`, sharing the results of probing."""
    other = with_settings(renderer, thinking_retention="all")
    vars(other).update(resolution=renderer.resolution, _compiled_grammar=renderer._compiled_grammar)
    return other


def _turns(conversation: list[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    """Yield the index of each assistant message that others follow, and the index of the next assistant message."""
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
    prompt, _ = _run(renderer, conversation[:at], tools, prompt=True)
    conversation = _with_opened_reasoning(renderer, prompt.text, conversation, at)
    last, last_labels = _run(renderer, conversation[: at + 1], tools, prompt=False)
    full, labels = _run(renderer, conversation[:end], tools, prompt=True)
    if _writes_content_after(full, at, _end(labels, at)):
        # The completion contains the content, so a bridge does not add it again.
        bare = [*conversation[:at], {**conversation[at], "content": ""}, *conversation[at + 1 : end]]
        full, labels = _run(renderer, bare, tools, prompt=True)
    alone, followed = last.text[: _end(last_labels, at)], full.text[: _end(labels, at)]
    # If the first token of the next message is the stop token, it is sampled with the turn.
    turn = followed if followed.startswith(alone) else alone
    if not _end(labels, at):
        return None
    start = min(span.start for span in labels if span.message == at and span.sampled)
    completion = _completed(renderer, prompt.text, turn, start)
    if completion is None:
        return None
    owners = {span.message for span in full.spans}
    keeps = turn.startswith(prompt.text) and full.text.startswith(turn)
    encode = renderer.tokenizer.encode
    return Case(
        f"{name}, message {at}{', tools' if tools else ''}",
        encode(prompt.text, add_special_tokens=False),
        encode(completion, add_special_tokens=False),
        conversation[at + 1 : end],
        tools,
        encode(full.text, add_special_tokens=False),
        encode(full.text[len(turn) if keeps else _end(labels, at) :], add_special_tokens=False),
        keeps,
        any(number not in owners for number in range(at + 1, end)),
    )


def _opens_reasoning(renderer: ChatRenderer, prompt: str) -> bool:
    reasoning = renderer.resolution.grammar.reasoning
    return reasoning is not None and prompt.rfind(reasoning.markers[0]) > prompt.rfind(reasoning.markers[1])


def _has_reasoning(renderer: ChatRenderer, message: dict[str, Any]) -> bool:
    reasoning = renderer.resolution.grammar.reasoning
    inline = reasoning is not None and reasoning.markers[0] in str(message.get("content"))
    return inline or bool(message.get("reasoning_content"))


def _completed(renderer: ChatRenderer, prompt: str, turn: str, start: int) -> str | None:
    """Return the completion of a turn that begins at `start`; None if it contradicts the prompt.

    A prompt can open or skip reasoning, while the template writes the same turn differently in a history.
    """
    if turn.startswith(prompt):
        return turn[len(prompt) :]
    completion, reasoning = turn[start:], renderer.resolution.grammar.reasoning
    stops = [renderer.tokenizer.decode([stop]) for stop in renderer.get_stop_token_ids()]
    ends = renderer._pipeline.turn_format(with_tools=False).end_token
    if not completion.endswith((*stops, ends or stops[0])):
        return None
    if reasoning is None:
        return completion
    opening, closing = reasoning.markers
    if not _opens_reasoning(renderer, prompt):
        return None if closing in completion and prompt.rstrip().endswith(closing) else completion
    # The prompt contains the opening marker.
    completion = completion.removeprefix(opening).removeprefix("\n")
    return completion if closing in completion else f"Hm.{closing}{reasoning.after}{completion}"


def _run(
    renderer: ChatRenderer, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, *, prompt: bool
) -> tuple[Trace, tuple[LabelledSpan, ...]]:
    run = renderer._pipeline.run(normalise_messages(messages), tools=tools, add_generation_prompt=prompt)
    return run.trace, run.labels


def _end(labels: tuple[LabelledSpan, ...], message: int) -> int:
    return max((span.end for span in labels if span.message == message and span.sampled), default=0)


def outcome_of(renderer: ChatRenderer, case: Case) -> str:
    """Bridge a rollout and return the outcome.

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
    # The bridge may also have to close the turn.
    assert added == case.full[len(case.full) - len(added) :], case.name
    assert len(added) >= len(case.added), case.name
    if not case.keeps:
        assert "all" in (renderer.thinking_retention, renderer._default_retention), (
            f"{case.name}: the history would be rewritten"
        )
        return "kept"
    assert added == case.added, case.name
    return "extended"
