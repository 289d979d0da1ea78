"""Compare our reading of completions with those that vLLM's own tests recorded from its parsers."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from renderers import ChatRenderer
from renderers.core.completions import ParsedResponse, ToolCallParseStatus
from tests.support.models import SHARED
from tests.support.normalise import AssistantTurn
from tests.support.parser_reasons import REASONS, Reason
from tests.support.parser_subjects import SUBJECTS, renderer_of

__all__ = ["CASES_AT_HAND", "Case", "Outcome", "cases", "compare", "unmatched_reasons"]

_FILE = SHARED / "parser_cases" / "vllm.json"
CASES_AT_HAND = _FILE.is_file()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A completion, and how vLLM's parser read it."""

    id: str
    format: str
    kind: str
    """`tool`, `reasoning` or `both`: what the parser looks for."""
    state: str
    """`open` or `closed`: the prompt opened reasoning, or closed it. `bare`: neither."""
    text: str | None
    ids: list[int] | None
    tools: list[dict[str, Any]] | None
    expected: AssistantTurn
    test: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Our reading of a case beside that of vLLM."""

    case: Case
    text: str
    """The text of the completion."""
    expected: AssistantTurn
    actual: AssistantTurn
    parsed: ParsedResponse
    agrees: bool
    by_rule: bool = False
    """True if the readings agree only by the rule for calls that are not `ok`."""
    not_ok: bool = False
    """True if the readings agree, and a call with an object as arguments, which vLLM returns, is not `ok` in ours."""
    reason: Reason | None = None
    """The reason of a difference that we stand by."""


@functools.cache
def cases() -> dict[str, list[Case]]:
    """Return the recorded cases by format."""
    by_format: dict[str, list[Case]] = {name: [] for name in SUBJECTS}
    for record in json.loads(_FILE.read_text(encoding="utf-8"))["cases"]:
        by_format[record["format"]].append(_case(record))
    return by_format


def compare(formats: Sequence[str] | None = None, *, every: int = 1) -> Iterator[Outcome]:
    """Yield the outcome of every nth case of some formats. Default: all formats."""
    for name in cases() if formats is None else formats:
        renderer = renderer_of(name)
        for case in cases()[name][::every]:
            outcome = _compare(renderer, case)
            matches = (reason for reason in REASONS if reason.applies(outcome))
            yield outcome if outcome.agrees else replace(outcome, reason=next(matches, None))


def unmatched_reasons(outcomes: Sequence[Outcome]) -> list[Reason]:
    """Return the reasons that explain no difference."""
    used = {outcome.reason.key for outcome in outcomes if outcome.reason is not None}
    return [reason for reason in REASONS if reason.key not in used]


def _case(record: dict[str, Any]) -> Case:
    expect = record["expect"]
    # A call without a name has an empty one in vLLM's records.
    calls: Any = tuple((call["name"] or None, _arguments(call["arguments"])) for call in expect["tool_calls"] or ())
    expected = AssistantTurn((expect["content"] or "").strip(), (expect["reasoning"] or "").strip(), calls)
    tools = record["tools"] or (record["init"] or {}).get("tools")
    keys = ("id", "format", "kind", "text", "ids")
    state = "open" if _begins_in_reasoning(record) else record["state"]
    return Case(
        **{key: record[key] for key in keys}, state=state, tools=tools, expected=expected, test=record["tests"][0]
    )


def _begins_in_reasoning(record: dict[str, Any]) -> bool:
    """Return True for a parser of calls that was set to begin within reasoning, which the state does not show."""
    arguments = (record["init"] or {}).get("chat_template_kwargs") or {}
    return record["kind"] == "tool" and bool(arguments.get("thinking"))


def _arguments(value: Any) -> Any:
    """Return arguments as JSON data, or their text if they are not JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value or "{}")
    except json.JSONDecodeError:
        return value.strip()


def _compare(renderer: ChatRenderer, case: Case) -> Outcome:
    prompt = renderer.tokenizer.encode(_prompt(renderer, case.format, case.state), add_special_tokens=False)
    ids = case.ids if case.ids is not None else renderer.tokenizer.encode(case.text or "", add_special_tokens=False)
    parsed = renderer.parse_response(ids, tools=case.tools, prompt_ids=prompt)
    expected = case.expected
    if case.kind == "tool":
        expected = replace(expected, reasoning_content="")
    if case.kind == "reasoning" and parsed.tool_calls:
        if expected.content:
            # A reasoning parser leaves calls in the content, so the content beside them is compared.
            closed = renderer.tokenizer.encode(_prompt(renderer, case.format, "closed"), add_special_tokens=False)
            rest = renderer.tokenizer.encode(expected.content, add_special_tokens=False)
            after = renderer.parse_response(rest, tools=case.tools, prompt_ids=closed)
            expected = replace(expected, content=after.content.strip())
        parsed = replace(parsed, tool_calls=[])
    views = [_comparable(view, case.kind) for view in _views(parsed)]
    actual = next((view for view in views if _same(view, expected)), None)
    text = case.text if case.text is not None else renderer.tokenizer.decode(ids)
    objects = sum(isinstance(arguments, dict) for _, arguments in expected.tool_calls)
    usable = sum(call.status is ToolCallParseStatus.OK for call in parsed.tool_calls)
    return Outcome(
        case=case,
        text=text,
        expected=expected,
        actual=actual or views[0],
        parsed=parsed,
        agrees=actual is not None,
        by_rule=actual is not None and not _same(views[0], expected),
        not_ok=actual is not None and usable < objects,
    )


def _same(actual: AssistantTurn, expected: AssistantTurn) -> bool:
    if (actual.content, actual.reasoning_content) != (expected.content, expected.reasoning_content):
        return False
    pairs = zip(actual.tool_calls, expected.tool_calls, strict=False)
    return len(actual.tool_calls) == len(expected.tool_calls) and all(
        own[0] == other[0] and _same_arguments(own[1], other[1]) for own, other in pairs
    )


def _same_arguments(actual: Any, expected: Any) -> bool:
    """Return True for equal JSON. A text that is not JSON, such as of a stream that ends early, is its beginning.

    The text must have at least the first key with its value, which may lack its closing quote.
    """
    if isinstance(actual, dict) and isinstance(expected, str):
        first = json.dumps(dict([*actual.items()][:1]), ensure_ascii=False).removesuffix("}").removesuffix('"')
        whole = json.dumps(actual, ensure_ascii=False)
        return len(first) > 1 and expected.startswith(first) and whole.startswith(expected)
    # `True == 1` in Python, but not in JSON.
    return bool(actual == expected and _kinds(actual) == _kinds(expected))


def _kinds(value: Any) -> Any:
    """Return a value with True and False replaced. Numbers with the same value are equal in JSON: `5` and `5.0`."""
    if isinstance(value, dict):
        return {key: _kinds(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_kinds(item) for item in value]
    return f"bool {value}" if isinstance(value, bool) else value


def _comparable(turn: AssistantTurn, kind: str) -> AssistantTurn:
    return replace(turn, reasoning_content="") if kind == "tool" else turn


def _views(parsed: ParsedResponse) -> list[AssistantTurn]:
    """Return a response with all calls, and views in which calls that are not `ok` are left out or are content.

    They are content with their markers or without, all of them or only those that `to_message` leaves in the content.
    """
    calls: Any = tuple((call.name, _arguments(call.arguments)) for call in parsed.tool_calls)
    content, reasoning = parsed.content, (parsed.reasoning_content or "").strip()
    others = [call for call in parsed.tool_calls if call.status is not ToolCallParseStatus.OK]
    message = parsed.to_message()
    functions: Any = [call["function"] for call in message.get("tool_calls") or ()]
    whole = tuple((function["name"], function["arguments"]) for function in functions)
    usable = tuple(
        pair for pair, call in zip(calls, parsed.tool_calls, strict=True) if call.status is ToolCallParseStatus.OK
    )
    texts = (
        (content, calls),
        (content, tuple(pair for pair in calls if pair[0])),
        (str(message["content"]), whole),
        (content, usable),
        (content + "".join(call.text for call in others), usable),
        (content + "".join(call.raw for call in others), usable),
    )
    return [AssistantTurn(text.strip(), reasoning, pairs) for text, pairs in texts]


def _prompt(renderer: ChatRenderer, format_name: str, state: str) -> str:
    grammar, openings = renderer.resolution.grammar, SUBJECTS[format_name].openings
    if state in openings:
        return grammar.header + openings[state]
    if grammar.reasoning is None or state == "bare":
        return grammar.header
    (opening, closing), edges = grammar.reasoning.markers, grammar.reasoning.edges
    opened = grammar.header + opening + edges.lead
    return opened if state == "open" else opened + closing + grammar.reasoning.after_empty
