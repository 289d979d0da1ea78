"""Compare our reading of completions with those that vLLM's own tests recorded from its parsers."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from renderers import ChatRenderer
from renderers.core.completions import ParsedResponse
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
    if case.kind == "reasoning" and parsed.tool_calls and not expected.content:
        # A reasoning parser that reads calls does not return them.
        parsed = replace(parsed, tool_calls=[])
    elif case.kind == "reasoning" and parsed.tool_calls:
        # A reasoning parser leaves calls in the content.
        closed = renderer.tokenizer.encode(_prompt(renderer, case.format, "closed"), add_special_tokens=False)
        rest = renderer.tokenizer.encode(expected.content, add_special_tokens=False)
        after = _views(renderer.parse_response(rest, tools=case.tools, prompt_ids=closed))[0]
        expected = replace(after, reasoning_content=expected.reasoning_content)
    views = [_comparable(view, case.kind) for view in _views(parsed)]
    actual = next((view for view in views if view == expected), views[0])
    text = case.text if case.text is not None else renderer.tokenizer.decode(ids)
    return Outcome(
        case=case, text=text, expected=expected, actual=actual, parsed=parsed, agrees=_same(actual, expected)
    )


def _same(actual: AssistantTurn, expected: AssistantTurn) -> bool:
    # `True == 1` in Python, but not in JSON.
    return actual == expected and _kinds(actual.tool_calls) == _kinds(expected.tool_calls)


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
    """Return a response with all calls, with those that have a name, and as a message with broken calls as content."""
    calls: Any = tuple((call.name, _arguments(call.arguments)) for call in parsed.tool_calls)
    reasoning = (parsed.reasoning_content or "").strip()
    message = parsed.to_message()
    functions: Any = [call["function"] for call in message.get("tool_calls") or ()]
    whole = tuple((function["name"], function["arguments"]) for function in functions)
    return [
        AssistantTurn(parsed.content.strip(), reasoning, calls),
        AssistantTurn(parsed.content.strip(), reasoning, tuple(call for call in calls if call[0])),
        AssistantTurn(str(message["content"]).strip(), reasoning, whole),
    ]


def _prompt(renderer: ChatRenderer, format_name: str, state: str) -> str:
    grammar, openings = renderer.resolution.grammar, SUBJECTS[format_name].openings
    if state in openings:
        return grammar.header + openings[state]
    if grammar.reasoning is None or state == "bare":
        return grammar.header
    (opening, closing), edges = grammar.reasoning.markers, grammar.reasoning.edges
    opened = grammar.header + opening + edges.lead
    return opened if state == "open" else opened + closing + grammar.reasoning.after_empty
