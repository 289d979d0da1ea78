"""Exactly one entry of the ledger explains each difference from release 0.1; others are reported."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from renderers import EMBEDDED, ChatRenderer, RenderedTokens, create_renderer, load_tokenizer
from renderers.core.spans import Channel
from tests.support.ledger import (
    CASES,
    CAUSES,
    FIELDS,
    LEDGER,
    Case,
    Comparison,
    Difference,
    Entry,
    compare_model,
    differences,
    judge,
    why_ids_differ,
)

THINK = Difference(
    family="qwen3.5",
    case="two",
    field="sampled_mask",
    text="<think>\n",
    tokens=2,
    before="<|im_start|>assistant\n",
    after="They greet me.",
    value=0,
    old_value=1,
    role="assistant",
    old_role="assistant",
    channels=frozenset({Channel.SCAFFOLD}),
)
ENTRY = Entry("qwen3.5", "sampled_mask", "prefilled think")


def changed(**changes: Any) -> Difference:
    return dataclasses.replace(THINK, **changes)


# ==================
# Differences
# ==================


def compare(rendered: RenderedTokens, **old: list[int]) -> list[Difference]:
    same = {name: list(map(int, getattr(rendered, name))) for name in FIELDS}
    decoded = differences(rendered, {**same, **old}, family="f", case="c", decode=lambda ids: "".join(map(chr, ids)))
    return list(decoded)


RENDERED = RenderedTokens(
    token_ids=[ord(letter) for letter in "<Hi>"],
    message_indices=[-1, 0, 0, 0],
    sampled_mask=[False, True, True, False],
    is_content=[False, True, True, False],
    message_roles=["user"],
    channels=[Channel.SCAFFOLD, Channel.CONTENT, Channel.CONTENT, Channel.SCAFFOLD],
)


def test_renders_that_agree_have_no_differences() -> None:
    assert compare(RENDERED) == []


def test_consecutive_tokens_with_the_same_values_are_one_difference() -> None:
    first, second = compare(RENDERED, sampled_mask=[1, 0, 0, 0])
    assert (first.field, first.text, first.value, first.old_value, first.role) == ("sampled_mask", "<", 0, 1, None)
    assert (second.text, second.tokens, second.value, second.old_value, second.role) == ("Hi", 2, 1, 0, "user")
    assert (second.before, second.after, set(second.channels)) == ("<", ">", {Channel.CONTENT})


def test_a_difference_in_the_owner_has_both_roles() -> None:
    (owner,) = compare(RENDERED, message_indices=[0, 0, 0, 0])
    assert (owner.value, owner.old_value, owner.role, owner.old_role, owner.before) == (
        -1,
        0,
        None,
        "user",
        "",
    )


def test_masks_of_different_lengths_are_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        compare(RENDERED, is_content=[])


# ==================
# The ledger
# ==================


def test_an_entry_explains_matching_differences() -> None:
    judged = judge(iter([THINK, changed(text="<think>\n\n</think>\n\n")]))
    assert judged.used == {ENTRY: 2}
    assert judged.examples == {ENTRY: THINK}
    assert judged.unknown == []


@pytest.mark.parametrize(
    "difference",
    [
        changed(text="Hello"),
        changed(before="<|im_start|>user\n"),
        changed(value=1, old_value=0),
        changed(role="user"),
        changed(field="message_indices"),
        changed(family="glm-5"),
    ],
)
def test_a_difference_without_a_matching_entry_is_unknown(difference: Difference) -> None:
    judged = judge(iter([difference]))
    assert judged.unknown == [difference]
    assert not judged.used


def test_a_difference_with_two_matching_entries_is_unknown() -> None:
    ledger: dict[Entry, Callable[[Difference], bool]] = {
        ENTRY: lambda difference: True,
        ENTRY._replace(cause="another"): lambda difference: True,
    }
    assert judge(iter([THINK]), ledger=ledger).unknown == [THINK]


def test_an_entry_that_explains_nothing_is_unused() -> None:
    unused = judge(iter([THINK])).unused
    assert ENTRY not in unused
    assert len(unused) == len(LEDGER) - 1


def test_every_cause_has_a_unique_name_and_fields_that_are_compared() -> None:
    assert len({cause.name for cause in CAUSES}) == len(CAUSES)
    assert {name for cause in CAUSES for name in cause.fields} == set(FIELDS)


EXAMPLES = {
    "newline after the header": changed(family="glm-4.5", text="\n", before="Hi<|assistant|>", value=1, old_value=0),
    "Harmony channel headers": changed(
        family="gpt-oss", text="<|channel|>final<|message|>", before="<|start|>assistant", value=1, old_value=0
    ),
    "headings around instructions": changed(family="gpt-oss", field="is_content", role="system", text="#"),
    "Harmony system message and tools": changed(
        family="gpt-oss", field="message_indices", role=None, old_role="system", text="# Tools\n\n## functions"
    ),
    "quotes": changed(family="llama-3", field="is_content", role="tool", text='"{'),
    "tool definitions": changed(
        family="qwen3", field="message_indices", role=None, channels=frozenset({Channel.TOOL_DEFINITION})
    ),
    "BOS token": changed(
        family="minimax-m2", field="message_indices", role=None, old_role="system", before="", text="]~!b["
    ),
    "joined system messages": changed(
        family="deepseek-v3",
        field="message_indices",
        value=1,
        old_value=0,
        role="system",
        old_role="system",
        channels=frozenset({Channel.CONTENT}),
    ),
    "closing tag of tool outputs": changed(
        family="deepseek-v3", field="message_indices", old_role="tool", text="<｜tool▁outputs▁end｜>"
    ),
    "tool name taken from the call": changed(
        family="gemma4",
        field="message_indices",
        old_role="tool",
        before="<|tool_response>response:",
        channels=frozenset({Channel.TOOL_NAME}),
    ),
    "prefilled think": THINK,
}


def test_every_cause_has_an_example_here() -> None:
    assert set(EXAMPLES) == {cause.name for cause in CAUSES}


@pytest.mark.parametrize("cause", EXAMPLES)
def test_a_cause_explains_its_example_and_no_other(cause: str) -> None:
    assert [entry.cause for entry in judge(iter([EXAMPLES[cause]])).used] == [cause]
    assert judge(iter([dataclasses.replace(EXAMPLES[cause], text="Hi", channels=frozenset())])).unknown


# ==================
# Comparing
# ==================


@pytest.fixture(scope="module")
def renderer() -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED))


def as_old(renderer: ChatRenderer, case: Case) -> dict[str, Any]:
    """Return a render of this release in the form of the worker's answers."""
    try:
        rendered = renderer.render(case.messages, tools=case.tools, add_generation_prompt=case.prompt, **case.switches)
    except ValueError as error:
        return {"error": str(error)}
    return {name: list(map(int, getattr(rendered, name))) for name in ("token_ids", *FIELDS)}


def test_equal_renders_agree_and_differences_are_counted(renderer: ChatRenderer) -> None:
    renders = [as_old(renderer, case) for case in CASES]
    same = compare_model(renderer, renders, family="f")
    assert same.same + same.refused["both"] == len(CASES)
    assert same.agreeing == dict.fromkeys(FIELDS, same.tokens)
    assert not same.differences
    renders[0]["sampled_mask"][-1] ^= 1
    renders[1] = {"error": "ValueError: no"}
    renders[2]["token_ids"].append(0)
    altered = compare_model(renderer, renders, family="f")
    assert [(run.family, run.field, run.tokens) for run in altered.differences] == [("f", "sampled_mask", 1)]
    assert altered.tokens - altered.agreeing["sampled_mask"] == 1
    assert (altered.refused["0.1"], altered.other_ids.total(), altered.same) == (1, 1, same.same - 2)
    total = Comparison()
    total.add(same)
    total.add(altered)
    assert (total.tokens, len(total.differences)) == (same.tokens + altered.tokens, 1)


@pytest.mark.parametrize(
    ("text", "old_text", "case", "cause"),
    [
        ("Hi", "Hi", "two", "same text, different tokens"),
        ("Be brief.Hi", "Hi", "developer", "developer message"),
        ("Hi<a>", "Hi<a><think>\n", "two", "different generation prompt"),
        ("You are A. Hi", "You are B. Hi", "two", "text before the first message"),
        ("Hi<a><think>\n\n</think>Hello", "Hi<a>Hello", "two", "reasoning kept, dropped or added"),
        ("Weather?<a><tool_call>", "Weather?<a><think>", "call", "reasoning kept, dropped or added"),
        ("Hi<a>Hello", "Hi<a>None", "two", "different text"),
    ],
)
def test_the_cause_of_different_ids_is_found_in_the_texts(text: str, old_text: str, case: str, cause: str) -> None:
    assert why_ids_differ(text, old_text, Case(name=case, tools=None, prompt=True, switches={})) == cause


def test_a_shorter_text_without_a_generation_prompt_is_a_different_text() -> None:
    assert why_ids_differ("Hi", "Hi<b>", Case(name="two", tools=None, prompt=False, switches={})) == "different text"
