"""A marker within a string of a call in the syntax of Python does not end the call."""

from __future__ import annotations

import pytest

from renderers.core.completions import ParsedResponse, ToolCallParseStatus
from renderers.parsing.lists import ListScanner
from renderers.parsing.tool_formats import FoundCalls
from tests.support.completions import grammar_of, one_by_one, read, reader_of_bytes

START, END = "<|tool_call_start|>", "<|tool_call_end|>"
OK, INVALID = ToolCallParseStatus.OK, ToolCallParseStatus.INVALID_JSON


def parse(key: str, text: str) -> ParsedResponse:
    """Parse a text in which markers are tokens: at once, and token by token."""
    reader = reader_of_bytes(grammar_of(key), marks=True)
    ids = reader.encode(text)
    whole = read(reader, [ids]).response
    assert read(reader, one_by_one(ids)).response == whole
    return whole


@pytest.mark.parametrize(
    ("key", "text", "calls", "content"),
    [
        ("lfm2", f'{START}[a(x="1 {END} 2")]{END}Then.', [("a", {"x": f"1 {END} 2"})], "Then."),
        (
            "lfm2",
            f"{START}[a(x='{END}{END}', y=[1, '{END}']), b(x='{START}')]{END}",
            [("a", {"x": END * 2, "y": [1, END]}), ("b", {"x": START})],
            "",
        ),
        ("lfm2", f"{START}[a(x='\\'{END}')]{END}", [("a", {"x": f"'{END}"})], ""),
        ("lfm2", f"{START}[a(x='{END}')]<|stop|>", [("a", {"x": END})], ""),
        ("lfm2", f"{START}[a(x='{END}')]", [("a", {"x": END})], ""),
        ("lfm2", f'{START}[{{"name": "a", "arguments": {{"x": "{END}"}}}}]{END}', [("a", {"x": END})], ""),
        ("lfm2", f"{START}[a(x=1)]{END}It's '{END}'.", [("a", {"x": 1})], f"It's '{END}'."),
        (
            "olmo",
            "<function_calls>a(x='</function_calls>')\nb(x=\"<function_calls>\")</function_calls>",
            [("a", {"x": "</function_calls>"}), ("b", {"x": "<function_calls>"})],
            "",
        ),
        ("pythonic", "[a(x='<|python_end|>')]", [("a", {"x": "<|python_end|>"})], ""),
        (
            "pythonic",
            "Look: <|python_start|>[a(x='<|python_end|>')]<|python_end|>",
            [("a", {"x": "<|python_end|>"})],
            "Look: ",
        ),
    ],
)
def test_a_marker_within_a_string_is_text(key: str, text: str, calls: object, content: str) -> None:
    parsed = parse(key, text)
    assert [(call.name, call.arguments) for call in parsed.tool_calls] == calls
    assert {call.status for call in parsed.tool_calls} == {OK}
    assert parsed.content == content


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (f"{START}[a(x='1 {END} 2<|stop|>", [("a", INVALID)]),
        (f"{START}[a(x='1{END}{START}[b(x='2')]{END}<|stop|>", [("a", INVALID), ("b", OK)]),
        (f"{START}[a(x='it's {END}')]{END}<|stop|>", [("a", INVALID)]),
        (f"{START}[a(x='1{END}')<|stop|>{END}", [("a", OK)]),
        (f"{START}[a(x='1{END}' 2)]{END}<|stop|>", [("a", INVALID)]),
    ],
)
def test_a_marker_ends_the_call_if_no_complete_call_contains_it(
    text: str, calls: list[tuple[str, ToolCallParseStatus]]
) -> None:
    assert [(call.name, call.status) for call in parse("lfm2", text).tool_calls] == calls


@pytest.mark.parametrize("body", [f"'{END}", f"'{END}',", f"x='{END}', "])
def test_many_markers_within_strings_take_linear_time(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    searched = 0
    find = ListScanner._find

    def find_counted(scanner: ListScanner, start: int, end: int, **arguments: object) -> FoundCalls | None:
        nonlocal searched
        searched += end - start
        return find(scanner, start, end, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ListScanner, "_find", find_counted)
    reader = reader_of_bytes(grammar_of("lfm2"), marks=True)
    counts = []
    for times in (50, 500):
        searched = 0
        read(reader, one_by_one(reader.encode(f"{START}[a({body * times}")))
        counts.append(searched)
    assert counts[1] < 20 * max(counts[0], 50)
