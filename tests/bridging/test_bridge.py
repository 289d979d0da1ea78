"""A bridge keeps all prior tokens and adds the ids that a full render would add, or it is refused."""

from __future__ import annotations

import logging
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest

from renderers import (
    EMBEDDED,
    Bridge,
    BridgeReason,
    BridgeRefusal,
    Channel,
    ChatRenderer,
    ControlTextError,
    MediaError,
    TokenIdError,
    create_renderer,
    create_renderer_pool,
    load_tokenizer,
)
from renderers.bridging.context import clear_proof_caches
from renderers.templating import ChatTemplate
from tests.core.test_token_ids import NO_INTS, OUT_OF_RANGE
from tests.support.bridging import (
    EACH_ONCE,
    FALSE_REFUSALS,
    ODD_RESULTS,
    TEMPLATES,
    cases,
    keeping_all,
    outcome_of,
    renderer_of,
)
from tests.support.models import HUB_AT_HAND
from tests.support.parity import CORPUS

HUB = pytest.mark.skipif(not HUB_AT_HAND, reason="real models are not available (set SHARED)")
HI = {"role": "user", "content": "Hi"}
BYE = {"role": "user", "content": "Bye"}
CALL = '<|call|>{"name": "get", "arguments": {}}<|/call|>'
TOOL = {"type": "function", "function": {"name": "get", "description": "", "parameters": {"type": "object"}}}


def result(content: str, number: str = "call00001", **other: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": number, "content": content, **other}


def embedded(**options: Any) -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED), **options)


def ids_of(renderer: ChatRenderer, text: str) -> list[int]:
    return renderer.tokenizer.encode(text, add_special_tokens=False)


def prompt_of(renderer: ChatRenderer, *messages: dict[str, Any], **options: Any) -> list[int]:
    return renderer.render_ids(messages or [HI], add_generation_prompt=True, **options)


def added(renderer: ChatRenderer, completion: str | list[int], *new: dict[str, Any], **options: Any) -> str:
    """Return the text that a bridge adds after a completion, and check that the prior ids are unchanged."""
    prompt = prompt_of(renderer)
    sampled = ids_of(renderer, completion) if isinstance(completion, str) else completion
    bridged = renderer.bridge(prompt, sampled, new or [BYE], **options)
    assert isinstance(bridged, Bridge), bridged
    prior = [*prompt, *sampled]
    assert bridged.tokens.token_ids[: len(prior)] == prior
    return renderer.tokenizer.decode(bridged.tokens.token_ids[len(prior) :])


def refused(renderer: ChatRenderer, completion: str, *new: dict[str, Any], **options: Any) -> BridgeRefusal:
    bridged = renderer.bridge(prompt_of(renderer), ids_of(renderer, completion), new or [BYE], **options)
    assert isinstance(bridged, BridgeRefusal)
    return bridged


# ==================
# Equal to a full render
# ==================


@pytest.mark.parametrize("template", EACH_ONCE)
def test_a_bridge_adds_the_same_ids_as_a_full_render(template: str) -> None:
    default = renderer_of(template)
    if default is None:
        pytest.skip("this model has no template")
    keep_all = keeping_all(default)
    false_refusals: Counter[str] = Counter()
    # `make bridge-table` runs all cases. Here templates of the corpus get half of them.
    for case in cases(default, by_turns=True, halved=TEMPLATES[template] in CORPUS):
        outcome = outcome_of(default, case)
        if outcome.startswith("false"):
            false_refusals[outcome.removeprefix("false: ")] += 1
        if outcome == BridgeReason.HISTORY_REWRITTEN:
            assert outcome_of(keep_all, case) == "kept", case.name
    assert false_refusals <= Counter(FALSE_REFUSALS.get(template, {}))
    # Results that are incomplete or reordered must be written as in a full render, or be refused.
    for case in cases(default, ODD_RESULTS, by_turns=True):
        outcome_of(default, case)
        outcome_of(keep_all, case)


# ==================
# Prior ids are kept
# ==================

NEXT = "\n<|turn|>user\nBye<|end|>\n<|turn|>assistant\n"


@pytest.mark.parametrize(
    ("completion", "closing"),
    [
        ("Hello!<|end|>", ""),
        ("<|think|>Hm.<|/think|>Hello!<|end|>", ""),
        ("Hello", "<|end|>"),
        ("", "<|end|>"),
        ("<|think|>Hm", "<|/think|><|end|>"),
        ("<|think|>", "<|/think|><|end|>"),
        ('<|call|>{"name": "ge', "<|end|>"),
        ("A<|end|>B", ""),
        ("A<|end|>B<|end|>", ""),
    ],
)
def test_a_turn_is_closed_only_if_it_is_open(completion: str, closing: str) -> None:
    assert added(embedded(), completion) == closing + NEXT


def test_tokens_of_an_incomplete_character_are_kept() -> None:
    renderer = embedded()
    half = ids_of(renderer, "\U0001f701")[:1]
    assert renderer.tokenizer.decode(half) == "\ufffd"
    assert added(renderer, half) == "<|end|>" + NEXT


@pytest.mark.parametrize("unknown", [10**6, 2**32 - 1])
def test_an_id_without_a_token_is_kept_as_sampled(unknown: int) -> None:
    renderer = embedded()
    prompt = prompt_of(renderer)
    for completion in ([unknown], np.array([unknown]), [np.int64(unknown)]):
        bridged = renderer.bridge(prompt, completion, [BYE])
        assert isinstance(bridged, Bridge)
        assert bridged.tokens.token_ids[: len(prompt) + 1] == [*prompt, unknown]
        assert {*map(type, bridged.tokens.token_ids)} == {int}


@pytest.mark.parametrize("method", ["bridge", "bridge_to_next_turn"])
@pytest.mark.parametrize("kind", NO_INTS)
def test_a_value_that_is_not_an_int_is_rejected_with_its_position(kind: str, method: str) -> None:
    renderer = embedded()
    prompt, completion = prompt_of(renderer), ids_of(renderer, "A<|end|>")
    bridge = getattr(renderer, method)
    for value in NO_INTS[kind]:
        with pytest.raises(TypeError, match=rf"^previous_prompt_ids\[{len(prompt)}\] must be an int, not "):
            bridge([*prompt, value], completion, [BYE])
        with pytest.raises(TypeError, match=rf"^previous_completion_ids\[{len(completion)}\] must be an int, not "):
            bridge(prompt, [*completion, value], [BYE])


@pytest.mark.parametrize("number", OUT_OF_RANGE)
def test_a_number_that_cannot_be_an_id_is_rejected_with_its_position(number: int) -> None:
    renderer = embedded()
    prompt, completion = prompt_of(renderer), ids_of(renderer, "A<|end|>")
    with pytest.raises(TokenIdError, match=rf"^previous_prompt_ids\[0\] is {number}: "):
        renderer.bridge([number, *prompt], completion, [BYE])
    with pytest.raises(TokenIdError, match=rf"^previous_completion_ids\[{len(completion)}\] is {number}: "):
        renderer.bridge(prompt, [*completion, number], [BYE])


def test_several_rows_are_rejected() -> None:
    renderer = embedded()
    prompt, completion = prompt_of(renderer), ids_of(renderer, "A<|end|>")
    with pytest.raises(TypeError, match=r"^previous_completion_ids has 2 rows"):
        renderer.bridge(prompt, np.array([completion, completion]), [BYE])
    rows: Any = [prompt, prompt]
    with pytest.raises(TypeError, match=r"^previous_prompt_ids\[0\] must be an int, not a list"):
        renderer.bridge(rows, completion, [BYE])
    one = renderer.bridge_to_next_turn(np.array([prompt]), np.array([completion]), [BYE])
    assert one == renderer.bridge_to_next_turn(prompt, completion, [BYE])


def test_later_changes_of_the_callers_lists_have_no_effect() -> None:
    renderer = embedded()
    prompt, completion = prompt_of(renderer), ids_of(renderer, "A<|end|>")
    tokens = renderer.bridge_to_next_turn(prompt, completion, [BYE])
    assert tokens is not None
    before = list(tokens.token_ids)
    prompt.append(7)
    completion.clear()
    assert tokens.token_ids == before


def test_ids_can_be_arrays() -> None:
    renderer = embedded()
    prompt, completion = prompt_of(renderer), ids_of(renderer, "A<|end|>")
    tokens = renderer.bridge_to_next_turn(np.array(prompt), tuple(completion), [BYE])
    expected = renderer.bridge_to_next_turn(prompt, completion, [BYE])
    assert tokens is not None
    assert tokens == expected
    assert all(type(number) is int for number in tokens.token_ids)


# ==================
# Attribution
# ==================


def test_added_tokens_are_attributed_to_the_new_messages() -> None:
    renderer = embedded()
    prompt, completion = prompt_of(renderer), ids_of(renderer, f"{CALL}<|end|>")
    tokens = renderer.bridge_to_next_turn(prompt, completion, [result("42", name="get"), BYE])
    assert tokens is not None
    prior = len(prompt) + len(completion)
    assert tokens.message_indices[:prior] == [-1] * prior
    assert not any(tokens.sampled_mask)
    assert not any(tokens.is_content[:prior])
    content = zip(tokens.token_ids, tokens.message_indices, tokens.is_content, tokens.channels, strict=True)
    contents = [(token, message, channel) for token, message, is_content, channel in content if is_content]
    expected = [(token, 0, Channel.TOOL_RESULT) for token in ids_of(renderer, "42")]
    assert contents == expected + [(token, 1, Channel.CONTENT) for token in ids_of(renderer, "Bye")]
    assert (tokens.message_roles, tokens.message_tool_names) == (["tool", "user"], ["get", None])
    assert len(tokens.message_token_spans()) == 2


def test_tokens_that_close_a_turn_belong_to_no_message_and_are_not_sampled() -> None:
    renderer = embedded()
    prompt, completion = prompt_of(renderer), ids_of(renderer, "Hel")
    tokens = renderer.bridge_to_next_turn(prompt, completion, [BYE])
    assert tokens is not None
    at = len(prompt) + len(completion)
    assert renderer.tokenizer.decode(tokens.token_ids[at : at + 1]) == "<|end|>"
    assert (tokens.message_indices[at], tokens.sampled_mask[at]) == (-1, False)


def test_a_tool_result_gets_its_name_from_the_call_with_its_id() -> None:
    calls = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    )
    if not HUB_AT_HAND:
        pytest.skip("real models are not available (set SHARED)")
    renderer = renderer_of("kimi-k2.5")
    assert renderer is not None
    prompt = prompt_of(renderer, HI, tools=[TOOL])
    completion = ids_of(renderer, f"Hm</think>{calls}<|tool_calls_section_end|><|im_end|>")
    tokens = renderer.bridge_to_next_turn(prompt, completion, [result("1", "functions.get:0")], tools=[TOOL])
    assert tokens is not None
    assert tokens.message_tool_names == ["get"]


# ==================
# Reasons
# ==================


def test_a_bridge_without_prior_ids_is_refused() -> None:
    bridged = embedded().bridge([], [1], [BYE])
    assert isinstance(bridged, BridgeRefusal)
    assert bridged.reason is BridgeReason.NO_PRIOR


@pytest.mark.parametrize(
    ("reason", "completion", "new"),
    [
        (BridgeReason.ASSISTANT_MESSAGE, "A<|end|>", [BYE, {"role": "assistant", "content": "x"}]),
        (BridgeReason.MESSAGE_REFUSED, "A<|end|>", [BYE, {"role": "critic", "content": "x"}]),
        (BridgeReason.REASONING_OPEN, "<|think|>A<|end|>", [BYE]),
    ],
)
def test_a_refusal_has_a_reason(reason: BridgeReason, completion: str, new: list[dict[str, Any]]) -> None:
    assert refused(embedded(), completion, *new).reason is reason


def test_a_refusal_contains_the_index_of_the_message_and_the_error_of_the_template() -> None:
    detail = refused(embedded(), "A<|end|>", BYE, {"role": "critic", "content": "x"}).detail
    error = "new message 1: There is no role critic: use system, user, assistant or tool."
    assert detail == f"the template rejects {error} Fix the messages."


@pytest.mark.parametrize("new", [[], None])
def test_a_bridge_without_new_messages_is_refused(new: list[Any] | None) -> None:
    renderer = embedded()
    bridged = renderer.bridge(prompt_of(renderer), ids_of(renderer, "A<|end|>"), new)
    assert isinstance(bridged, BridgeRefusal)
    assert bridged.reason is BridgeReason.NOTHING_NEW


TURN = "{%- for m in messages %}<|turn|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor -%}"
PROMPT = "{%- if add_generation_prompt %}<|turn|>assistant\n{% endif -%}"


@pytest.mark.parametrize(
    ("reason", "template"),
    [
        (BridgeReason.HISTORY_REWRITTEN, TURN.replace("m.content", "m.content if loop.last else m.content | upper")),
        (BridgeReason.SUFFIX_VARIES, TURN.replace("m.role", "loop.index ~ m.role")),
        (BridgeReason.UNSUPPORTED_ROLE, "{{ messages[-1].content }}" + TURN.replace("in messages", "in messages[:-1]")),
        (BridgeReason.NO_STOP_TOKEN, TURN.replace("<|end|>", " [end]")),
    ],
)
def test_a_template_that_does_not_append_is_refused(reason: BridgeReason, template: str) -> None:
    renderer = embedded(chat_template=template + PROMPT, on_loss="ignore")
    assert refused(renderer, "A<|end|>").reason is reason


def test_a_refusal_shows_the_text_that_would_change() -> None:
    template = TURN.replace("m.content", "m.content | upper if m.role == 'assistant' and not loop.last else m.content")
    detail = refused(embedded(chat_template=template + PROMPT), "a<|end|>").detail
    assert detail == (
        "if new message 0 (user) follows the assistant's turn, the template changes or drops the content of that turn. "
        'Create the renderer with thinking_retention="all" to keep all tokens, '
        "not only reasoning, or render the whole conversation."
    )


def test_a_turn_that_the_template_would_change_is_bridged_if_this_one_stays_the_same() -> None:
    template = TURN.replace("m.content", "m.content | upper if m.role == 'assistant' and not loop.last else m.content")
    renderer = embedded(chat_template=template + PROMPT)
    bridged = renderer.bridge(prompt_of(renderer), ids_of(renderer, "A<|end|>"), [BYE])
    assert isinstance(bridged, Bridge)
    assert bridged.matches_rerender
    conversation = [HI, {"role": "assistant", "content": "A"}, BYE]
    assert bridged.tokens.token_ids == renderer.render_ids(conversation, add_generation_prompt=True)


@pytest.mark.parametrize(
    ("trimmed", "same", "different"),
    [
        ("m.content | trim", ["Bye", "Bye, Bye"], [" Bye", "Bye\n", "\n Bye \n", "Bye\t"]),
        ("m.content.lstrip()", ["Bye", "Bye \n"], [" Bye", "\nBye\n"]),
        ("m.content.rstrip('\\n')", ["Bye", "\nBye", "Bye\n ", " Bye "], ["Bye\n", " Bye \n\n"]),
        ("m.content.strip(' ')", ["Bye", "\nBye\n"], [" Bye", "Bye\n "]),
        ("m.content + 'x' if m.content.endswith('\\n') else m.content", ["Bye", "Bye\n "], ["Bye\n", " Bye \n"]),
    ],
)
def test_a_text_that_is_trimmed_after_some_histories_is_refused_if_that_changes_it(
    trimmed: str, same: list[str], different: list[str]
) -> None:
    template = TURN.replace("m.content", f"({trimmed}) if messages | length > 4 else m.content")
    renderer = embedded(chat_template=template + PROMPT)
    for content in same:
        closed = f"\n<|turn|>user\n{content}<|end|>\n<|turn|>assistant\n"
        assert added(renderer, "A<|end|>", {"role": "user", "content": content}) == closed
    for content in different:
        refusal = refused(renderer, "A<|end|>", {"role": "user", "content": content})
        assert refusal.reason is BridgeReason.SUFFIX_VARIES


F = "{% macro f(t, s='\\n') %}{{ 'y' if t.startswith(s) }}{% endmacro %}"


@pytest.mark.parametrize(
    ("before", "tested"),
    [
        ("", "m.content | first | trim"),
        ("", "m.content | last | trim"),
        ("", "m.content[0].strip()"),
        ("", "m.content.split('<x>')[0] | first | trim"),
        ("", "m.content | map('trim') | first"),
        (F, "not f(m.content)"),
        (F, "not f(m.content, '\\n')"),
        ("", "('a' ~ m.content)[1] | trim"),
        ("", "m.content | reverse | first | trim"),
        ("", "m.content | indent | first | trim"),
        ("", "m.content | upper | first | trim"),
        ("", "m.content | replace('\\n', '') == m.content"),
        ("", "m.content | string | first | trim"),
        ("", "m.content | tojson | length == 5"),
        ("", "m.content.startswith(pfx)"),
        ("", "not m.content.startswith(pfx)"),
        ("", "(m.content | list)[0] | trim"),
        ("", "[m.content | first] | first | trim"),
        ("", "[{'x': m.content}][0].x | first | trim"),
    ],
)
@pytest.mark.parametrize("content", ["Bye", " Bye", "\nBye\n"])
def test_a_message_with_a_test_of_whitespace_is_never_bridged_to_other_ids(
    before: str, tested: str, content: str
) -> None:
    marked = f"(m.content ~ ('!' if messages | length > 3 and m.name == 'zed' and ({tested}) else ''))"
    template = before + TURN.replace("m.content", marked)
    for prefix in ("\n", " ") if "pfx" in tested else ():
        check_equal(template, content, pfx=prefix)
    check_equal(template, content, **({"pfx": "<x>"} if "pfx" in tested else {}))


@pytest.mark.parametrize(
    "body",
    [
        "{% for c in m.content %}{% if not c.strip() %}{% set ns.x = '' %}{% endif %}{% endfor %}",
        "{% for c in m.content if not c | trim %}{% set ns.x = '' %}{% endfor %}",
        "{% with s = ' ' %}{% if m.content.startswith(s) %}{% set ns.x = '' %}{% endif %}{% endwith %}",
        "{% set t %}{{ m.content }}{% endset %}{% if not t | first | trim %}{% set ns.x = '' %}{% endif %}",
    ],
)
@pytest.mark.parametrize("content", ["Bye", " Bye", "\nBye\n"])
def test_a_block_that_tests_whitespace_is_never_bridged_to_other_ids(body: str, content: str) -> None:
    marked = "{% set ns = namespace(x='!') %}" + body + "{{ m.content ~ (ns.x if messages | length > 3) }}"
    check_equal(TURN.replace("{{ m.content }}", marked), content)


@pytest.mark.parametrize("written", ["'\\n ' ~ (m.content | trim) ~ ' \\n'", "'\\n' ~ m.content.lstrip('\\n')"])
@pytest.mark.parametrize("content", ["Bye", "\n Bye \n", "\nBye"])
def test_whitespace_of_the_template_is_not_taken_for_that_of_a_text(written: str, content: str) -> None:
    check_equal(TURN.replace("m.content", f"({written}) if messages | length > 3 else m.content"), content)


def check_equal(template: str, content: str, **arguments: Any) -> None:
    """Check that a bridge adds the ids of a full render, or is refused."""
    renderer = embedded(chat_template=template + PROMPT, chat_template_kwargs=arguments, on_loss="ignore")
    history = [HI, {"role": "assistant", "content": "a"}, BYE]
    new = {"role": "user", "name": "zed", "content": content}
    prompt, completion = prompt_of(renderer, *history), ids_of(renderer, "A<|end|>")
    bridged = renderer.bridge(prompt, completion, [new])
    if isinstance(bridged, Bridge):
        whole = prompt_of(renderer, *history, {"role": "assistant", "content": "A"}, new)
        assert bridged.tokens.token_ids == whole


CHATML = """{%- for m in messages %}{{ '<|turn|>' + m.role + '\n' + m.content }}
{%- if add_generation_prompt or not loop.last %}{{ '<|end|>\n' }}{% endif %}{% endfor %}
{%- if add_generation_prompt and messages[-1].role != 'assistant' %}{{ '<|turn|>assistant\n' }}{% endif %}"""
"""Ends the last turn only if a generation prompt follows, and writes no calls."""


@pytest.mark.parametrize("completion", ["A<|end|>", " a \n<|end|>", "<|call|>{}<|/call|><|end|>", "A"])
@pytest.mark.parametrize("role", ["user", "tool", "system"])
def test_a_template_that_does_not_end_the_last_turn_is_bridged(completion: str, role: str) -> None:
    renderer = embedded(chat_template=CHATML)
    prompt, completed = prompt_of(renderer), ids_of(renderer, completion)
    bridged = renderer.bridge(prompt, completed, [{"role": role, "content": "R"}])
    assert isinstance(bridged, Bridge)
    closing = "" if completion.endswith("<|end|>") else "<|end|>"
    added = bridged.tokens.token_ids[len(prompt) + len(completed) :]
    assert renderer.tokenizer.decode(added) == f"{closing}\n<|turn|>{role}\nR<|end|>\n<|turn|>assistant\n"


def test_a_token_of_the_completion_does_not_count_as_one_of_the_history() -> None:
    # After a result, the template writes no header before the next turn.
    header = "{% if not (loop.previtem and loop.previtem.role == 'tool') %}{{ '<|turn|>' + m.role + '\\n' }}{% endif %}"
    body = "{{ m.content }}{{ '<|call|>' if m.tool_calls }}{{ '<|end|>\\n' }}"
    template = "{% for m in messages %}" + header + body + "{% endfor %}"
    renderer = embedded(chat_template=template + PROMPT)
    prompt, completion = prompt_of(renderer), ids_of(renderer, "<|call|><|end|>")
    bridged = renderer.bridge(prompt, completion, [{"role": "tool", "content": "R"}])
    assert isinstance(bridged, Bridge), bridged


def test_a_refusal_says_in_words_that_reasoning_is_dropped(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("Qwen/Qwen3-8B"))
    prompt = renderer.render_ids([HI], tools=[TOOL], add_generation_prompt=True)
    call = '<think>\nHm.\n</think>\n\n<tool_call>\n{"name": "get", "arguments": {}}\n</tool_call><|im_end|>'
    bridged = renderer.bridge(prompt, renderer.tokenizer.encode(call), [result("R", name="get"), BYE], tools=[TOOL])
    assert isinstance(bridged, BridgeRefusal)
    assert bridged.detail == (
        "if new messages 0 (tool) and 1 (user) follow the assistant's turn, the template drops the reasoning of that "
        'turn. Create the renderer with thinking_retention="all" to keep all tokens, '
        "not only reasoning, or render the whole conversation."
    )


@HUB
def test_a_refusal_names_the_switch_that_keeps_reasoning() -> None:
    assert "bridge with clear_thinking=False," in refused(hub("glm-4.7-flash"), "Hm</think>Yes<|user|>").detail
    assert "bridge with preserve_thinking=True," in refused(hub("qwen3.6"), "Hm\n</think>\n\nYes<|im_end|>").detail
    # The template of Qwen3 has no such switch.
    assert "bridge with" not in refused(hub("qwen3"), "<think>\nHm\n</think>\n\nYes<|im_end|>").detail


@HUB
def test_a_refusal_mentions_template_arguments_that_are_missing() -> None:
    renderer = hub("qwen3")
    prompt = renderer.render_ids([HI], add_generation_prompt=True, enable_thinking=False)
    bridged = renderer.bridge(prompt, ids_of(renderer, "Yes<|im_end|>"), [BYE])
    assert isinstance(bridged, BridgeRefusal)
    assert "rendered with other template arguments: pass them to the bridge." in bridged.detail
    assert isinstance(renderer.bridge(prompt, ids_of(renderer, "Yes<|im_end|>"), [BYE], enable_thinking=False), Bridge)


def test_a_bridge_without_a_prompt_is_refused_with_the_remedy() -> None:
    bridged = embedded().bridge([], [1], [BYE])
    detail = "the previous prompt has no ids, so there is no turn to extend. Render the first turn."
    assert bridged == BridgeRefusal(BridgeReason.NO_PRIOR, detail)


@pytest.mark.parametrize(
    "new",
    [
        [BYE, {"role": 3, "content": "x"}],
        [BYE, {"role": "user", "content": True}],
        [BYE, {"role": "user", "content": [{"type": "image", "image": "x"}]}],
        [BYE, {"role": "user", "content": "\ud800"}],
    ],
)
def test_an_error_names_a_new_message(new: list[dict[str, Any]]) -> None:
    renderer = embedded()
    with pytest.raises(ValueError, match=r"^new message 1: ") as caught:
        renderer.bridge(prompt_of(renderer), ids_of(renderer, "A<|end|>"), new)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("text", ["abc", b"abc"])
def test_a_text_is_not_taken_for_ids(text: Any) -> None:
    renderer = embedded()
    ids = ids_of(renderer, "A<|end|>")
    for prompt, completion in ((text, ids), (ids, text)):
        with pytest.raises(TypeError, match="encode a text with the tokenizer"):
            renderer.bridge(prompt, completion, [BYE])
    with pytest.raises(TypeError, match="encode a text with the tokenizer"):
        renderer.parse_response(text)


@pytest.mark.parametrize("unknown", [10**6, 2**32 - 1])
def test_a_rollout_with_an_id_that_no_token_has_is_not_said_to_match(unknown: int) -> None:
    renderer = embedded()
    prompt, completion = prompt_of(renderer), ids_of(renderer, "A<|end|>")
    for before, after in (([unknown, *prompt], completion), (prompt, [unknown, *completion])):
        bridged = renderer.bridge(before, after, [BYE])
        assert isinstance(bridged, Bridge)
        assert not bridged.matches_rerender
    bridged = renderer.bridge(prompt, completion, [BYE])
    assert isinstance(bridged, Bridge)
    assert bridged.matches_rerender


@pytest.mark.parametrize(
    "test",
    [
        "messages | length > 9",
        "loop.index == 11",
        "loop.index0 % 10 == 0 and loop.index0",
    ],
)
def test_a_template_that_counts_messages_is_refused(test: str) -> None:
    template = TURN.replace("<|end|>", "{% if " + test + " %}<|call|>{% endif %}<|end|>")
    assert refused(embedded(chat_template=template + PROMPT), "A<|end|>").reason in (
        BridgeReason.SUFFIX_VARIES,
        BridgeReason.HISTORY_REWRITTEN,
        BridgeReason.NO_STOP_TOKEN,
    )


@pytest.mark.parametrize(
    "test",
    [
        "messages[12] is defined",
        "messages[9:]",
        "(messages | map(attribute='role') | list).count('user') > 7",
        "messages | map(attribute='content') | list | length > 12",
        "messages | batch(5) | list | length > 2",
        "loop.index | string | length > 1",
        "loop.index ~ '' == '13'",
        "messages | selectattr('tool_calls', 'defined') | list | length > 2",
        "messages | selectattr('role', 'equalto', 'tool') | list | length > 11",
    ],
)
@pytest.mark.parametrize("text", ["!", "<|call|>"])
def test_a_template_that_counts_in_another_way_is_never_bridged_wrongly(test: str, text: str) -> None:
    changed = "{% if m.role in ('user', 'tool') and (" + test + ") %}" + text + "{% endif %}<|end|>"
    renderer = embedded(chat_template=TURN.replace("<|end|>", changed) + PROMPT)
    ask, answer = {"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}
    call: dict[str, Any] = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "f", "arguments": {}}}],
    }
    cycle = [call, {"role": "tool", "content": "R"}]
    histories: list[list[dict[str, Any]]] = [[*[ask, answer] * count, ask] for count in range(14)]
    histories += [[ask, *cycle * count] for count in range(14)]
    completion = ids_of(renderer, "A<|end|>")
    for history in histories:
        prompt = renderer.render_ids(history, add_generation_prompt=True)
        bridged = renderer.bridge(prompt, completion, [BYE])
        conversation = [*history, answer, BYE]
        if isinstance(bridged, Bridge) and bridged.matches_rerender:
            assert bridged.tokens.token_ids == renderer.render_ids(conversation, add_generation_prompt=True)


def test_the_first_refusal_of_each_reason_is_logged_at_info_level(caplog: pytest.LogCaptureFixture) -> None:
    renderer = embedded()
    prior = prompt_of(renderer), ids_of(renderer, "<|think|>A<|end|>")
    with caplog.at_level(logging.DEBUG, logger="renderers"):
        for new in ([BYE], [BYE], []):
            assert renderer.bridge_to_next_turn(*prior, new) is None
    records = [record for record in caplog.records if "no bridge" in record.message]
    assert [record.levelno for record in records] == [logging.INFO, logging.DEBUG, logging.INFO]
    assert [
        reason in record.message
        for reason, record in zip(("reasoning_open", "reasoning_open", "nothing_new"), records, strict=True)
    ] == [True] * 3
    assert "Pass the messages that follow the completion." in records[2].message


# ==================
# Content and options
# ==================


def test_texts_that_a_template_searches_for_are_probed_unchanged() -> None:
    # The template uses the text after the last marker as content.
    template = TURN.replace("m.content", "m.content.split('</x>')[-1] if not loop.last else m.content")
    renderer = embedded(chat_template=template + PROMPT)
    assert added(renderer, "plain<|end|>") == NEXT
    assert refused(renderer, "left</x>right<|end|>").reason is BridgeReason.HISTORY_REWRITTEN


def test_the_position_of_such_texts_is_probed_too() -> None:
    # Each pair has the same words in a different order, and only the first can be bridged.
    own = TURN.replace("m.content", "m.content[4:] if m.content.startswith('</x>') and not loop.last else m.content")
    renderer = embedded(chat_template=own + PROMPT)
    assert added(renderer, "left</x><|end|>") == NEXT
    assert refused(renderer, "</x>right<|end|>").reason is BridgeReason.HISTORY_REWRITTEN
    shouted = "m.content | upper if messages[-1].content.startswith('<y>') and not loop.last else m.content"
    renderer = embedded(chat_template=TURN.replace("m.content", shouted) + PROMPT)
    assert added(renderer, "A<|end|>", {"role": "user", "content": "b <y>"})
    refusal = refused(renderer, "A<|end|>", {"role": "user", "content": "<y> b"})
    assert refusal.reason is BridgeReason.HISTORY_REWRITTEN


def test_control_text_in_new_messages_follows_content_tokens() -> None:
    message = {"role": "user", "content": "a<|end|>b"}
    end = load_tokenizer(EMBEDDED).added_tokens["<|end|>"]
    counts = {}
    for mode in ("template", "text"):
        renderer = embedded(content_tokens=mode)
        tokens = renderer.bridge_to_next_turn(prompt_of(renderer), ids_of(renderer, "A<|end|>"), [message])
        assert tokens is not None
        counts[mode] = tokens.token_ids.count(end)
        ((index, _, text, start, last),) = tokens.injected
        assert (index, text) == (0, "<|end|>")
        assert renderer.tokenizer.decode(tokens.token_ids[start:last]) == "<|end|>"
    assert counts["template"] == counts["text"] + 1
    strict = embedded(content_tokens="refuse")
    with pytest.raises(ControlTextError, match="message 0"):
        strict.bridge(prompt_of(strict), ids_of(strict, "A<|end|>"), [message])


def test_an_image_is_an_error_by_default() -> None:
    renderer = embedded()
    image = {"role": "user", "content": [{"type": "image", "image": "x"}]}
    with pytest.raises(MediaError):
        renderer.bridge(prompt_of(renderer), ids_of(renderer, "A<|end|>"), [image])


def test_a_proof_is_made_once_for_each_kind_of_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    renderer = embedded(verify=False)
    runs = 0
    run = ChatTemplate.run

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal runs
        runs += 1
        return run(*args, **kwargs)

    clear_proof_caches()
    monkeypatch.setattr(ChatTemplate, "run", counted)
    added(renderer, "Hello!<|end|>", {"role": "user", "content": "first"})
    first, runs = runs, 0
    added(renderer, "Other words.<|end|>", {"role": "user", "content": "second"})
    # One run for the prompt, and one for the added text.
    assert (first > 10, runs) == (True, 2)


def test_a_pool_bridges_as_its_renderers_do() -> None:
    renderer = embedded()
    prior = prompt_of(renderer), ids_of(renderer, "A<|end|>")
    assert create_renderer_pool(EMBEDDED).bridge_to_next_turn(*prior, [BYE]) == renderer.bridge_to_next_turn(
        *prior, [BYE]
    )


# ==================
# Models
# ==================


def hub(template: str, **options: Any) -> ChatRenderer:
    renderer = renderer_of(template, **options)
    assert renderer is not None
    return renderer


@HUB
def test_glm_does_not_repeat_the_role_that_stopped_the_turn() -> None:
    renderer = hub("glm-4.5", thinking_retention="all")
    assert added(renderer, "\n<think></think>\nHi!<|user|>") == "\nBye<|assistant|>"
    assert added(renderer, "\n<think></think>\nHi!<|endoftext|>") == "<|user|>\nBye<|assistant|>"
    assert added(renderer, "\n<think></think>\nHi!<|observation|>") == "<|user|>\nBye<|assistant|>"
    assert added(renderer, "\n<think></think>\nHi") == "<|user|>\nBye<|assistant|>"


@HUB
def test_results_of_gemma_4_continue_the_turn_in_every_round() -> None:
    renderer = hub("gemma-4", chat_template_kwargs={"enable_thinking": True})
    tools = [{"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}]
    messages: list[Any] = [{"role": "user", "content": "Look."}]
    prompt = renderer.render_ids(messages, tools=tools, add_generation_prompt=True)
    call = '<|channel>thought\nHm.\n<channel|><|tool_call>call:look{at:<|"|>sky<|"|>}<tool_call|><|tool_response>'
    completion = ids_of(renderer, call)
    for _ in range(2):
        turn = renderer.parse_response(completion, tools=tools, prompt_ids=prompt)
        assert (turn.reasoning_content, [call.status for call in turn.tool_calls]) == ("Hm.", ["ok"])
        messages += [turn, {"role": "tool", "name": "look", "content": "Sun."}]
        bridge = renderer.bridge(prompt, completion, messages[-1:], tools=tools)
        assert isinstance(bridge, Bridge)
        prompt = renderer.render_ids(messages, tools=tools, add_generation_prompt=True)
        assert bridge.tokens.token_ids == prompt


@HUB
def test_text_before_a_call_of_gemma_4_is_kept_and_not_added_after_its_result() -> None:
    """The template writes it after the result, so the bridge does not match a render."""
    renderer, call = hub("gemma-4"), "Wait.<|tool_call>call:look{}<tool_call|><|tool_response>"
    prompt, completion = prompt_of(renderer), ids_of(renderer, call)
    bridge = renderer.bridge(prompt, completion, [result("Sun.", name="look")])
    assert isinstance(bridge, Bridge)
    assert not bridge.matches_rerender
    assert {evidence.change for evidence in bridge.evidence} == {
        "the template moves the content of that turn after new message 0 (tool)"
    }
    text = renderer.tokenizer.decode(bridge.tokens.token_ids[len(prompt) + len(completion) :])
    assert text == 'response:look{value:<|"|>Sun.<|"|>}<tool_response|>'


MOVED = """
{%- for message in messages -%}
    {%- if message.role == 'tool' -%}
        {{- '<|turn|>tool\n' ~ message.content ~ '<|end|>\n' ~ messages[loop.index0 - 1].content -}}
    {%- else -%}
        {{- '<|turn|>' ~ message.role ~ '\n' -}}
        {%- if not (message.tool_calls and loop.nextitem is defined) -%}{{- message.content -}}{%- endif -%}
        {%- for call in message.tool_calls or [] -%}{{- '<|call|>' ~ call.function.name ~ '<|/call|>' -}}{%- endfor -%}
        {{- '<|end|>\n' -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|turn|>assistant\n' -}}{%- endif -%}
"""
"""A template that writes the content of a turn after the result of its call."""


def test_content_that_the_template_moves_is_refused_unless_all_tokens_are_kept() -> None:
    call = CALL.replace("{}", '{"x": 1}')
    refusal = refused(embedded(chat_template=MOVED), f"Wait.{call}<|end|>", result("Sun."))
    assert refusal.reason is BridgeReason.HISTORY_REWRITTEN
    assert "the template moves the content of that turn after new message 0 (tool)" in refusal.detail
    keeping = embedded(chat_template=MOVED, thinking_retention="all")
    assert added(keeping, f"Wait.{call}<|end|>", result("Sun.")) == "\n<|turn|>tool\nSun.<|end|>\n<|turn|>assistant\n"


HARMONY_CALL = "<|start|>assistant to=functions.get<|channel|>commentary <|constrain|>json<|message|>{}<|call|>"
HARMONY_THOUGHT = "<|channel|>analysis<|message|>Hm.<|end|>"
HARMONY_PREAMBLE = "<|start|>assistant<|channel|>commentary<|message|>Wait.<|end|>"


@HUB
def test_gpt_oss_bridges_reasoning_and_text_before_a_call() -> None:
    renderer = hub("gpt-oss")
    prompt = renderer.render_ids([HI], tools=[TOOL], add_generation_prompt=True)
    completion = ids_of(renderer, HARMONY_THOUGHT + HARMONY_PREAMBLE + HARMONY_CALL)
    bridged = renderer.bridge(prompt, completion, [result("1", name="get")], tools=[TOOL])
    assert isinstance(bridged, Bridge)
    assert bridged.matches_rerender
    turn = renderer.parse_response(completion, prompt_ids=prompt, tools=[TOOL])
    messages: list[Any] = [HI, turn, result("1", name="get")]
    assert bridged.tokens.token_ids == renderer.render_ids(messages, tools=[TOOL], add_generation_prompt=True)


@HUB
def test_gpt_oss_bridges_to_a_user_message_only_if_the_ids_stay_or_are_to_be_kept() -> None:
    final = "<|channel|>final<|message|>Hi.<|return|>"
    thoughtful = f"{HARMONY_THOUGHT}<|start|>assistant{final}"
    plain, keeping = hub("gpt-oss"), hub("gpt-oss", chat_template_kwargs={"auto_drop_analysis": False})
    assert "drops the reasoning" in refused(plain, thoughtful).detail
    assert "Remove '<|return|>' from the completion" in refused(plain, final).detail
    user = "<|start|>user<|message|>Bye<|end|><|start|>assistant"
    assert added(plain, final.removesuffix("<|return|>")) == f"<|end|>{user}"
    assert added(keeping, thoughtful) == user
    assert added(keeping, thoughtful.removesuffix("<|return|>")) == f"<|end|>{user}"
    assert added(hub("gpt-oss", thinking_retention="all"), thoughtful) == user


@HUB
def test_qwen_keeps_reasoning_within_a_tool_cycle_if_the_retention_allows_it() -> None:
    renderer = hub("qwen3", thinking_retention="tool_cycle")
    call = '<think>\nHm.\n</think>\n\n<tool_call>\n{"name": "get", "arguments": {}}\n</tool_call><|im_end|>'
    assert added(renderer, call, result("1")).startswith("\n<|im_start|>user\n<tool_response>\n1\n</tool_response>")
    assert refused(renderer, call, result("1"), BYE).reason is BridgeReason.HISTORY_REWRITTEN
    assert added(hub("qwen3", thinking_retention="all"), call, result("1"), BYE)


@HUB
@pytest.mark.parametrize(
    ("template", "arguments"),
    [
        ("qwen3", {"enable_thinking": False}),
        ("glm-4.5", {"enable_thinking": False}),
        ("deepseek-v3.1", {"thinking": True}),
        ("llama-3.2", {"date_string": "1 May 2030"}),
    ],
)
def test_a_bridge_with_arguments_equals_that_of_a_renderer_with_them(template: str, arguments: dict[str, Any]) -> None:
    plain, other = hub(template), hub(template, chat_template_kwargs=arguments)
    prompt = other.render_ids([HI], add_generation_prompt=True)
    completion = [*ids_of(plain, "Yes."), plain.get_stop_token_ids()[0]]
    bridged, expected = plain.bridge(prompt, completion, [BYE], **arguments), other.bridge(prompt, completion, [BYE])
    assert isinstance(bridged, Bridge) is isinstance(expected, Bridge)
    if isinstance(bridged, Bridge):
        assert bridged == expected


@HUB
@pytest.mark.parametrize(("value", "retention"), [(True, "all"), (False, "tool_cycle")])
def test_a_retention_that_contradicts_a_switch_is_an_error(value: bool, retention: Any) -> None:
    with pytest.raises(ValueError, match="clear_thinking"):
        hub("glm-4.7-flash", chat_template_kwargs={"clear_thinking": value}, thinking_retention=retention)
    hub("glm-4.7-flash", chat_template_kwargs={"clear_thinking": not value}, thinking_retention=retention)


def test_an_unknown_retention_is_an_error() -> None:
    with pytest.raises(ValueError, match="thinking_retention must be one of None, 'tool_cycle', 'all', not 'some'"):
        embedded(thinking_retention="some")


@HUB
def test_truncated_reasoning_is_closed_as_the_template_closes_it() -> None:
    renderer = hub("qwen3", thinking_retention="all")
    assert added(renderer, "<think>\nHm").startswith("\n</think>\n\n<|im_end|>\n<|im_start|>user\nBye")
