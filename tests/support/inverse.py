"""The known losses of each template, and random turns to test them with.

The lists are exact: a difference that no normalisation of a model explains is a failure, and so is a normalisation
that never applies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from renderers import EMBEDDED, ChatRenderer, MessageError, TemplateError, create_renderer, load_tokenizer
from renderers.core.completions import ParsedResponse, ToolCallParseStatus
from renderers.families import family_of_template
from tests.support.models import hub_models, unpack_hub
from tests.support.normalise import AssistantTurn, normalised
from tests.support.parity import HUB

__all__ = ["MODELS", "Record", "assistant_turns", "read_back"]

MARKERS = (
    "<think> </think> <tool_call> </tool_call> <|im_end|> <arg_key> </arg_value> </parameter> <parameter=a> "
    '<|tool_call_end|> <｜tool▁call▁end｜> <minimax:tool_call> <|end|> <|call|> [TOOL_CALLS] ``` { } " \\ ['
).split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The known losses of a template."""

    normalisations: tuple[str, ...] = ()
    """Those of the family record, in the same order, unless the template has others."""
    unlike: tuple[str, ...] = ()
    """Texts that a field cannot contain: markers that are not tokens, or that the template searches for."""
    once: tuple[str, ...] = ()
    """Shapes of turns that a template writes in a special way, so that the parsed turn gives different ids."""
    calls: int = 2
    """The maximum number of calls in a turn."""


UNQUOTED = Record(unlike=("</parameter>", "<parameter=a>"))
KIMI_FAILS = Record(calls=0)
NEMOTRON = Record(unlike=("</parameter>", "<parameter=a>", "<think>", "</think>"))
LLAMA = Record(unlike=("{",), calls=1)

RECORDS: dict[str, Record] = {
    "qwen3": Record(once=("blank content before calls",)),
    "qwen3-instruct-2507": Record(),
    "qwen2.5": Record(),
    "qwen3-coder": UNQUOTED,
    "qwen3.5-think": UNQUOTED,
    "qwen3.5-nothink": UNQUOTED,
    "qwen3.6": UNQUOTED,
    "qwen3.8": UNQUOTED,
    "qwen3-vl": Record(),
    "glm-4.5": Record(),
    "glm-4.6": Record(),
    "glm-4.7-flash": Record(once=("blank reasoning",)),
    "glm-5.1": Record(),
    # The sandbox rejects these templates if there are calls: they append to lists.
    "kimi-k2": KIMI_FAILS,
    "kimi-k2-thinking": KIMI_FAILS,
    "kimi-k2.5": Record(),
    "deepseek-v3": Record(unlike=("<think>", "</think>")),
    "deepseek-r1-distill": Record(unlike=("<think>", "</think>")),
    "deepseek-v3.1": Record(unlike=("</think>",)),
    "gpt-oss": Record(),
    "llama-3.2": LLAMA,
    "llama-3.1": LLAMA,
    # A turn that begins with <think> is parsed as if the prompt had opened the reasoning.
    "minimax-m2": Record(unlike=("</parameter>", "<parameter=a>", "<think>")),
    "nemotron-3-nano": NEMOTRON,
    "nemotron-3-super": NEMOTRON,
    "nemotron-3-ultra": NEMOTRON,
    "nemotron-3.5-lightning": NEMOTRON,
    "granite-4.0": Record(),
    "seed-oss": UNQUOTED,
    # Its tokenizer encodes spaces as U+2581, and decodes that character to a space.
    "gemma-3": Record(unlike=("<｜tool▁call▁end｜>",)),
    "gemma-4": Record(unlike=("<｜tool▁call▁end｜>",)),
    # It never writes reasoning.
    "gemma-4-v2": Record(unlike=("<｜tool▁call▁end｜>",), normalisations=("trims_content", "drops_reasoning")),
}
"""Losses by the key of the template. Templates with an unknown tool-call format are left out."""


def _models() -> Iterator[tuple[str, Record]]:
    """Yield a model for each template, with the losses in the record of its family."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in HUB}
    for template, name in {str(model["template"]): name for name, model in reversed(hub_models().items())}.items():
        family = family_of_template(texts.get(template, ""))
        if template in RECORDS and family is not None:
            record = RECORDS[template]
            yield name, replace(record, normalisations=record.normalisations or family.normalisations)


MODELS: dict[str, Record] = {str(EMBEDDED): Record(), **dict(_models())}
"""The known losses by model, one available model for each template."""

ASK = {"role": "user", "content": "What is the weather?"}

WORDS = st.sampled_from(["Hello", "naïve", "北京", "🙂", "x < y & z", "75001", "true", "None", "1.5", "Zeile."])
SPACES = st.sampled_from([" ", "\n", "\n\n", "  \n", "\t"])
NAMES = st.sampled_from(["get_weather", "search", "run"])
KEYS = st.sampled_from(["city", "days", "x_y"])


def texts(record: Record) -> st.SearchStrategy[str]:
    """Return a strategy for texts that a field of this template can contain."""
    markers = st.sampled_from([marker for marker in MARKERS if marker not in record.unlike])
    return st.lists(WORDS | WORDS | SPACES | markers, max_size=6).map("".join)


def assistant_turns(record: Record) -> st.SearchStrategy[AssistantTurn]:
    """Return a strategy for turns with optional reasoning, content, and calls with arguments of all types."""
    text = texts(record)
    scalars = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.sampled_from([0.5, -1.25, 1e-7, 3.0])
    values = st.recursive(
        scalars | text | text,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
        max_leaves=4,
    )
    arguments = st.dictionaries(KEYS, values, max_size=3)
    calls = st.lists(st.tuples(NAMES, arguments), max_size=record.calls, unique_by=lambda call: call[0]).map(tuple)
    turns = st.builds(AssistantTurn, content=text, reasoning_content=st.just("") | text, tool_calls=calls)
    return turns.filter(_is_shown)


def _is_shown(turn: AssistantTurn) -> bool:
    # Templates search the content for reasoning if the message has no separate reasoning.
    return "</think>" not in turn.content or bool(turn.reasoning_content.strip())


def tools_for(turn: AssistantTurn) -> list[dict[str, Any]] | None:
    """Return tools with schemas that declare the types of the arguments in a turn."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": "Does it.",
                "parameters": {
                    "type": "object",
                    "properties": {key: _schema(value) for key, value in arguments.items()},
                },
            },
        }
        for name, arguments in turn.tool_calls
    ] or None


_TYPES = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}


def _schema(value: Any) -> dict[str, str]:
    return {"type": _TYPES.get(type(value), "object")}


def message_of(turn: AssistantTurn) -> dict[str, Any]:
    """Return a turn as a message. Its calls have ids that every template accepts."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.content}
    if turn.reasoning_content:
        message["reasoning_content"] = turn.reasoning_content
    if turn.tool_calls:
        message["tool_calls"] = [
            {
                "id": f"functions.{name}:{at}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for at, (name, arguments) in enumerate(turn.tool_calls)
        ]
    return message


def read_back(name: str, *, examples: int) -> Counter[str]:
    """Render turns of a model, parse them, and render the parsed turns. Return the counts of losses and outcomes.

    Raises:
        AssertionError: A parsed turn differs by more than the normalisations of the model, or the ids differ.
    """
    if name in hub_models():
        unpack_hub()
    record, used = MODELS[name], Counter[str]()
    renderer = create_renderer(load_tokenizer(name), content_tokens="text", on_loss="ignore")

    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    # Rare draws that some template loses.
    @example(turn=AssistantTurn("Hello", " \n"))
    @example(turn=AssistantTurn("\n\nHello \n", "\n\nHm.\n"))
    @example(turn=AssistantTurn(" \n", "Hm."))
    @given(turn=assistant_turns(record))
    def check(turn: AssistantTurn) -> None:
        tools = tools_for(turn)
        try:
            ids = completion_of(renderer, turn, tools)
        except (MessageError, TemplateError):
            used["refused"] += 1
            return
        if ids is None:
            used["no boundary"] += 1
            return
        prompt, completion = ids
        parsed = renderer.parse_response(completion, tools=tools, prompt_ids=prompt)
        expected, changes = normalised(turn, record.normalisations)
        assert turn_of(parsed) == expected
        assert all(call.status is ToolCallParseStatus.OK for call in parsed.tool_calls)
        assert parsed.reasoning_complete
        assert not parsed.skipped
        assert not parsed.recoveries
        special = shapes_of(turn) & {*record.once}
        used.update(["read", *changes, *special])
        used["calls"] += len(parsed.tool_calls)
        if not special:
            expected_ids = renderer.render_ids([ASK, message_of(turn)], tools=tools)
            assert renderer.render_ids([ASK, parsed], tools=tools) == expected_ids

    check()
    return used


def completion_of(renderer: ChatRenderer, turn: AssistantTurn, tools: Any) -> tuple[list[int], list[int]] | None:
    """Return prompt and completion of a turn; None if a token belongs to both, or nothing is sampled."""
    rendered = renderer.render([ASK, message_of(turn)], tools=tools)
    sampled = [
        at
        for at, (index, is_sampled) in enumerate(zip(rendered.message_indices, rendered.sampled_mask, strict=True))
        if is_sampled and index == 1
    ]
    if not sampled or sampled[0] in rendered.straddling_tokens():
        return None
    return rendered.token_ids[: sampled[0]], rendered.token_ids[sampled[0] : sampled[-1] + 1]


def turn_of(parsed: ParsedResponse) -> AssistantTurn:
    calls = tuple((call.name or "", call.arguments) for call in parsed.tool_calls)
    return AssistantTurn(parsed.content, parsed.reasoning_content or "", calls)


def shapes_of(turn: AssistantTurn) -> set[str]:
    """Return the names of the special shapes of a turn."""
    shapes = set()
    if turn.tool_calls and turn.content and not turn.content.strip():
        shapes.add("blank content before calls")
    if turn.reasoning_content and not turn.reasoning_content.strip():
        shapes.add("blank reasoning")
    return shapes
