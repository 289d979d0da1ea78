"""A scanner splits a turn at its markers into reasoning, content, calls and skipped text."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from renderers import EMBEDDED, Region, create_renderer, load_tokenizer
from renderers.core.completion_variants import CompletionVariants
from renderers.core.completions import ContentDelta
from renderers.parsing.grammar import Edges, Grammar, apply_variants
from renderers.parsing.parser import new_scanner
from tests.support.completions import grammar_of, one_by_one, reader_of_bytes
from tests.support.completions import read as read_chunks
from tests.support.responses import CALL, ROME, embedded, read, said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi<|end|>", ("Hi", None, [])),
        ("", ("", None, [])),
        ("<|end|>", ("", None, [])),
        ("<|think|>A<|/think|>B<|end|>", ("B", "A", [])),
        ("<|turn|>assistant\n<|think|>A<|/think|>B", ("B", "A", [])),
        (" \n<|think|>A<|/think|>B", ("B", "A", [])),
        ("<|think|><|/think|>B", ("B", None, [])),
        ("<|think|>A<|think|>B<|/think|>C<|/think|>D", ("C<|/think|>D", "AB", [])),
        ("x<|think|>A<|/think|>B", ("x<|think|>A<|/think|>B", None, [])),
        ("A<|/think|>B", ("A<|/think|>B", None, [])),
        ("<|/think|>B<|/think|>", ("B<|/think|>", None, [])),
        (f"Hi{CALL}{CALL}<|end|>", ("Hi", None, [ROME, ROME])),
        (f"<|think|>A{CALL}<|end|>", ("", "A", [ROME])),
        (f"<|think|>A{CALL}<|/think|>B", ("B", f"A{CALL}", [])),
        (f"<|think|>A{CALL}<|/think|>B{CALL}", ("B", f"A{CALL}", [ROME])),
        ("<|/call|>Hi", ("<|/call|>Hi", None, [])),
        ("  spaces stay \n<|end|>", ("  spaces stay \n", None, [])),
        ("☀️ naïve <|end|>", ("☀️ naïve ", None, [])),
    ],
)
def test_a_completion_is_read(text: str, expected: Any) -> None:
    assert said(read(text)) == expected


def test_reasoning_that_is_not_finished_stays_reasoning() -> None:
    parsed = read("<|think|>A and B")
    assert said(parsed) == ("", "A and B", [])
    assert not parsed.reasoning_complete
    assert parsed.state.region is Region.REASONING
    assert parsed.state.stop_token_id is None


def test_a_stop_within_reasoning_leaves_it_open() -> None:
    parsed = read("<|think|>A<|end|>")
    assert not parsed.reasoning_complete
    assert (parsed.state.region, parsed.state.stop_token_id) == (Region.REASONING, 870)


def test_every_token_is_in_one_part() -> None:
    parsed = read(f"<|think|>A<|/think|>B{CALL}x<|end|>more")
    assert [part.region.value for part in parsed.parts] == (
        "marker reasoning marker content marker call marker skipped marker skipped".split()
    )
    assert [part.start for part in parsed.parts[1:]] == [part.end for part in parsed.parts[:-1]]


def test_skipped_text_is_reported() -> None:
    parsed = read(f"B{CALL} and<|end|>more")
    # A space between a call and what follows belongs to neither.
    assert [(text.text, text.reason) for text in parsed.skipped] == [
        ("and", "beside tool calls"),
        ("more", "after the stop token"),
    ]


def test_an_id_that_is_not_a_token_is_skipped_and_the_rest_is_parsed() -> None:
    renderer = embedded()
    ids = renderer.tokenizer.encode("Hello there")
    parsed = renderer.parse_response([*ids[:2], -1, 10**9, *ids[2:]])
    assert parsed.content == "Hello there"
    assert [(text.start, text.end, text.reason) for text in parsed.skipped] == [(2, 4, "not a token of the vocabulary")]


def test_text_that_looks_like_a_marker_is_text() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), content_tokens="text")
    message = {"role": "assistant", "content": f"<|think|> is a marker, {CALL} a call."}
    rendered = renderer.render([{"role": "user", "content": "Hi"}, message])
    sampled = [token for token, one in zip(rendered.token_ids, rendered.sampled_mask, strict=True) if one]
    assert said(renderer.parse_response(sampled)) == (message["content"], None, [])


def test_only_so_much_leading_whitespace_is_kept_back() -> None:
    reader = reader_of_bytes(grammar_of("hermes"), marks=True)
    for count, reasoning in ((255, "a"), (256, None), (257, None)):
        assert read_chunks(reader, [reader.encode(" " * count + "<think>a")]).response.reasoning_content == reasoning


def test_text_is_emitted_as_soon_as_it_cannot_be_a_marker() -> None:
    for grammar in (Grammar(), grammar_of("hermes"), grammar_of("llama")):
        reader = reader_of_bytes(grammar, marks=True)
        scanner = new_scanner(reader.compiled, reader.tools)
        events = scanner.feed(reader.compiled.marker_text.pieces(reader.encode("Hello")))
        assert [event.text for event in events if isinstance(event, ContentDelta)] == ["Hello"]


RESPONSE = dataclasses.replace(
    grammar_of("hermes"), response=("<answer>", "</answer>"), content=Edges(lead="\n", trail="\n", right=" ")
)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("<answer>\nHi </answer><|stop|>", "Hi"),
        ("<answer>\nHi\n</answer>\n<|stop|>", "Hi"),
        ("<think>\nHm.\n</think>\n<answer>\nHi\n</answer>", "Hi"),
        ("<think></think><answer>Hi", "Hi"),
        ("<answer>", ""),
        ("<answer>Hi</answer>\nThere", "Hi\nThere"),
        ('<answer>Hi\n<tool_call>{"name": "a"}</tool_call></answer>', "Hi"),
        ("<answe", "<answe"),
        ("<think></think>\nHi", "Hi"),
    ],
)
def test_markers_around_content_are_removed(text: str, content: str) -> None:
    for marks in (True, False):
        reader = reader_of_bytes(RESPONSE, marks=marks)
        ids = reader.encode(text)
        for chunks in ([ids], one_by_one(ids)):
            assert read_chunks(reader, chunks).response.content == content


@pytest.mark.parametrize(("marks", "content"), [(True, "abc"), (False, "a<answer>b</answer>c")])
def test_markers_within_content_are_markers_only_if_they_are_tokens(marks: bool, content: str) -> None:
    reader = reader_of_bytes(RESPONSE, marks=marks)
    ids = reader.encode("a<answer>b</answer>c")
    for chunks in ([ids], one_by_one(ids)):
        assert read_chunks(reader, chunks).response.content == content


def test_a_marker_around_content_can_have_several_tokens() -> None:
    grammar = dataclasses.replace(RESPONSE, response=("<|turn|>response<|turn|>", "<|turn|>/response<|turn|>"))
    reader = reader_of_bytes(grammar, marks=False)
    ids = reader.encode("<think></think><|turn|>response<|turn|>Hi<|turn|>/response<|turn|><|stop|>")
    for chunks in ([ids], one_by_one(ids)):
        assert read_chunks(reader, chunks).response.content == "Hi"


def read_with(variants: CompletionVariants, text: str) -> Any:
    reader = reader_of_bytes(apply_variants(grammar_of("qwen_xml"), variants), marks=True)
    parsed = read_chunks(reader, [reader.encode(text)]).response
    return parsed.content, parsed.reasoning_content, [call.name for call in parsed.tool_calls]


CALL_A = "<tool_call><function=a></function></tool_call>"


def test_reasoning_can_follow_content_if_the_variants_of_a_family_allow_it() -> None:
    text = f"<think>A</think>\n\nB <think>\nC</think> D{CALL_A}<think>E</think>F"
    anywhere = CompletionVariants(reasoning_anywhere=True, keeps_text=True)
    assert read_with(anywhere, text) == ("B  DF", "A\nC\nE", ["a"])
    once = CompletionVariants(keeps_text=True)
    assert read_with(once, text) == ("B <think>\nC</think> D<think>E</think>F", "A", ["a"])


def test_a_call_ends_later_reasoning_unless_it_is_closed() -> None:
    anywhere = CompletionVariants(reasoning_anywhere=True)
    assert read_with(anywhere, f"<think>A{CALL_A}</think>B<think>C{CALL_A}") == ("B", f"A{CALL_A}\nC", ["a"])
    assert read_with(anywhere, f"<think>A</think>B<think>C{CALL_A}</think>D") == ("BD", f"A\nC{CALL_A}", [])


def test_the_variants_of_a_family_decide_about_text_after_calls_and_calls_in_reasoning() -> None:
    text = f"<think>A{CALL_A} B"
    assert read_with(CompletionVariants(), text) == ("", "A", ["a"])
    assert read_with(CompletionVariants(keeps_text=True), text) == ("B", "A", ["a"])
    assert read_with(CompletionVariants(ends_reasoning=False), text) == ("", f"A{CALL_A} B", [])


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Intro.\n<tool_call>a</tool_call>\nOutro.", "Intro.\n\nOutro."),
        ("Intro.<tool_call>a</tool_call>Outro.", "Intro.Outro."),
        ("Intro. <tool_call>a</tool_call>\n<tool_call>b</tool_call> Outro.", "Intro.  Outro."),
        ("One\n<tool_call>a</tool_call> Two\n<tool_call>b</tool_call> Three", "One\n Two\n Three"),
        # Whitespace beside calls is padding if it is not between two texts.
        ("\n<tool_call>a</tool_call>\nOutro.", "Outro."),
        ("Intro.\n<tool_call>a</tool_call>\n", "Intro."),
    ],
)
def test_whitespace_between_content_before_and_after_calls_is_kept(text: str, content: str) -> None:
    reader = reader_of_bytes(grammar_of("glm"), marks=True)
    ids = reader.encode(text)
    assert read_chunks(reader, [ids]).response.content == content
    assert read_chunks(reader, [[token] for token in ids]).response.content == content
