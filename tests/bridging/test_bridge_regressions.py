"""Regression tests: rollouts that were once bridged wrongly or refused without need."""

from __future__ import annotations

import json
import shutil
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from renderers import (
    EMBEDDED,
    Bridge,
    BridgeReason,
    BridgeRefusal,
    ChatRenderer,
    ControlTextError,
    LossError,
    Qwen3RendererConfig,
    TemplateRefusalError,
    create_renderer,
    load_tokenizer,
)
from tests.tokenizer.encoding.test_alignment import Bare
from tests.tokenizer.encoding.test_encode import Letters

ASK = [{"role": "user", "content": "Hi"}]


@pytest.fixture(scope="module")
def renderer() -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED), thinking_retention="all")


def prior_of(renderer: ChatRenderer, text: str) -> tuple[list[Any], list[Any]]:
    """Return a prompt, and a completion of it."""
    return renderer.render_ids(ASK, add_generation_prompt=True), renderer.tokenizer.encode(text)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "zai-org/GLM-4.5-Air"])
def test_a_turn_truncated_in_its_reasoning_is_closed_if_all_reasoning_is_kept(name: str, hub: object) -> None:
    tokenizer = load_tokenizer(name)
    keeping = create_renderer(tokenizer, thinking_retention="all")
    prompt = keeping.render_ids(ASK, add_generation_prompt=True)
    completion = tokenizer.encode("<think>\nHm, the")
    bridged = keeping.bridge(prompt, completion, ASK)
    assert isinstance(bridged, Bridge)
    added = tokenizer.decode(bridged.tokens.token_ids[len(prompt) + len(completion) :])
    assert added.lstrip().startswith("</think>")
    assert added.endswith(tokenizer.decode(prompt[-2:]))
    refused = create_renderer(tokenizer).bridge(prompt, completion, ASK)
    assert isinstance(refused, BridgeRefusal)
    assert refused.reason is BridgeReason.HISTORY_REWRITTEN


LAST_STOP = """{% for message in messages %}{{ "<|turn|>" + message.role + "\\n" + message.content }}
{%- if message.role == "assistant" and loop.last %}<|/call|>{% else %}<|end|>{% endif %}{% endfor %}
{%- if add_generation_prompt %}{{ "<|turn|>assistant\\n" }}{% endif %}"""


def last_stop_renderer(**options: Any) -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED), chat_template=LAST_STOP, **options)


@pytest.mark.parametrize(("text", "closed"), [("Hello<|end|>", ""), ("Hello", "<|end|>")])
def test_a_turn_without_the_last_stop_token_of_the_template_is_bridged(text: str, closed: str) -> None:
    """gpt-oss ends the last turn with `<|return|>` and earlier turns with `<|end|>`."""
    renderer = last_stop_renderer()
    prompt, completion = prior_of(renderer, text)
    bridged = renderer.bridge(prompt, completion, ASK)
    assert isinstance(bridged, Bridge)
    assert bridged.matches_rerender
    added = renderer.tokenizer.decode(bridged.tokens.token_ids[len(prompt) + len(completion) :])
    assert added == f"{closed}<|turn|>user\nHi<|end|><|turn|>assistant\n"
    turn = {"role": "assistant", "content": "Hello"}
    assert bridged.tokens.token_ids == renderer.render_ids([*ASK, turn, *ASK], add_generation_prompt=True)


def test_a_turn_with_the_last_stop_token_of_the_template_is_refused_unless_all_tokens_are_kept() -> None:
    renderer = last_stop_renderer()
    prompt, completion = prior_of(renderer, "Hello<|/call|>")
    refused = renderer.bridge(prompt, completion, ASK)
    assert isinstance(refused, BridgeRefusal)
    change = "if new message 0 (user) follows the assistant's turn, the template ends that turn with '<|end|>' in place"
    assert refused.detail == (
        f"{change} of '<|/call|>'. Remove '<|/call|>' from the completion, so that the bridge adds '<|end|>'. "
        'Create the renderer with thinking_retention="all" to keep all tokens, not only reasoning, or render the whole '
        "conversation."
    )
    bridged = last_stop_renderer(thinking_retention="all").bridge(prompt, completion, ASK)
    assert isinstance(bridged, Bridge)
    assert not bridged.matches_rerender
    added = renderer.tokenizer.decode(bridged.tokens.token_ids[len(prompt) + len(completion) :])
    assert added == "<|turn|>user\nHi<|end|><|turn|>assistant\n"


AFTER = """{% for message in messages %}{% if message.role == "tool" %}{{ "<|turn|>tool\\n" + message.content }}
{{- messages[loop.index0 - 1].content + "<|end|>" }}{% else %}{{ "<|turn|>" + message.role + "\\n" + message.content }}
{%- for call in message.tool_calls or [] %}{{ "<|call|>" + call.function | tojson + "<|/call|>" }}{% endfor %}<|end|>
{%- endif %}{% endfor %}{% if add_generation_prompt %}{{ "<|turn|>assistant\\n" }}{% endif %}"""


def test_content_of_a_turn_is_never_invented_after_it() -> None:
    """Gemma 4 writes content beside a call after the tool result."""
    keeping = create_renderer(load_tokenizer(EMBEDDED), chat_template=AFTER, thinking_retention="all")
    result = [{"role": "tool", "content": "R"}]
    call = '<|call|>{"name": "f", "arguments": {}}<|/call|><|end|>'
    alone = keeping.bridge(*prior_of(keeping, call), result)
    assert isinstance(alone, Bridge)
    refused = keeping.bridge(*prior_of(keeping, f"Hello{call}"), result)
    assert isinstance(refused, BridgeRefusal)
    assert refused.reason is BridgeReason.SUFFIX_VARIES


NAMED = """{% set seen = namespace(name="") %}{% for message in messages %}{{ "<|turn|>" + message.role + "\\n" }}
{%- if message.role == "tool" %}{{ seen.name + ": " }}{% endif %}{{ message.content }}
{%- for call in message.tool_calls or [] %}{% set seen.name = call.function.name %}{{ "[" + call.function.name + "]" }}
{%- endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}{{ "<|turn|>assistant\\n" }}{% endif %}"""
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "R"}


def test_the_name_of_an_unparsed_call_is_never_invented() -> None:
    keeping = create_renderer(load_tokenizer(EMBEDDED), chat_template=NAMED, thinking_retention="all")
    prior = prior_of(keeping, "[look]<|end|>")
    refused = keeping.bridge(*prior, [RESULT])
    assert isinstance(refused, BridgeRefusal)
    assert refused.reason is BridgeReason.SUFFIX_VARIES
    bridged = keeping.bridge(*prior, [{**RESULT, "name": "look"}])
    assert isinstance(bridged, Bridge)
    assert "look: R" in keeping.tokenizer.decode(bridged.tokens.token_ids)


SORTED = """{% for message in messages %}{% if message.role == "assistant" and message.tool_calls %}<|turn|>assistant
{%- for call in message.tool_calls %}{{ "<|call|>" + call.function | tojson + "<|/call|>" }}{% endfor %}<|end|>
{%- for call in message.tool_calls %}{% for result in messages %}{% if result.tool_call_id == call.id and call.id %}
{{- "<|turn|>tool\\n" + result.content + "<|end|>" }}{% endif %}{% endfor %}{% endfor %}
{%- elif message.role != "tool" %}{{ "<|turn|>" + message.role + "\\n" + message.content + "<|end|>" }}{% endif %}
{%- endfor %}{% if add_generation_prompt %}<|turn|>assistant{% endif %}"""


@pytest.mark.parametrize("names", [("a", "b"), (None, None)])
def test_results_are_refused_if_their_order_is_unknown(names: tuple[str | None, str | None]) -> None:
    keeping = create_renderer(load_tokenizer(EMBEDDED), chat_template=SORTED, thinking_retention="all")
    calls = "".join(f'<|call|>{{"name": "{name}", "arguments": {{}}}}<|/call|>' for name in "ab")
    results = [
        {**RESULT, "tool_call_id": f"c{name}", "content": f"R{name}", "name": result_name}
        for name, result_name in zip("ab", names, strict=True)
    ]
    for new in (results, results[::-1]):
        bridged = keeping.bridge(*prior_of(keeping, f"{calls}<|end|>"), new)
        if names == (None, None):
            assert isinstance(bridged, BridgeRefusal)
        else:
            assert isinstance(bridged, Bridge)
            text = keeping.tokenizer.decode(bridged.tokens.token_ids)
            assert text.index("Ra") < text.index("Rb")


def extend(name: str, text: str, new: str) -> tuple[Bridge, str]:
    """Bridge a completion to a message of a role. Return the bridge and the added text."""
    tokenizer = load_tokenizer(name)
    keeping = create_renderer(tokenizer, thinking_retention="all")
    prompt = keeping.render_ids(ASK, add_generation_prompt=True)
    completion = tokenizer.encode(text, add_special_tokens=False)
    bridged = keeping.bridge(prompt, completion, [{"role": new, "content": "Bye", "name": "look"}])
    assert isinstance(bridged, Bridge)
    return bridged, tokenizer.decode(bridged.tokens.token_ids[len(prompt) + len(completion) :])


@pytest.mark.parametrize(
    ("text", "new", "adds"),
    [
        ("Hi<|user|>", "user", "\nBye"),
        ("Hi<|user|>\nfoo", "user", "<|user|>\nBye"),
        ("<tool_call>look\n</tool_call><|observation|>", "tool", "\n<tool_response>"),
        ("<tool_call>look\n</tool_call><|observation|><|user|>", "tool", "<|observation|>\n<tool_response>"),
        ("Hi", "user", "<|user|>\nBye"),
    ],
)
def test_a_stop_token_that_begins_the_next_message_is_not_repeated(text: str, new: str, adds: str, hub: object) -> None:
    _, added = extend("zai-org/GLM-4.5-Air", text, new)
    assert added.startswith(adds)


@pytest.mark.parametrize(
    ("text", "new", "closing"),
    [
        (
            "<|channel|>commentary to=functions.look <|constrain|>json<|message|>{}",
            "tool",
            "<|call|><|start|>functions.",
        ),
        ("<|channel|>final<|message|>Hel", "user", "<|end|><|start|>user"),
        ("<|channel|>analysis<|message|>Hm", "user", "<|end|>"),
    ],
)
def test_a_truncated_turn_gets_one_stop_token(text: str, new: str, closing: str, hub: object) -> None:
    bridged, added = extend("openai/gpt-oss-20b", text, new)
    assert bridged.keeps is False or new == "user"
    assert added.startswith(closing)
    assert not any(twice in added for twice in ("<|return|>", "<|end|><|end|>", "<|end|><|call|>"))


HARMONY_CALL = '<|channel|>commentary to=functions.look <|constrain|>json<|message|>{"x": "a"}'
HARMONY_FINAL = "<|channel|>final<|message|>Yes"
HARMONY_PREAMBLE = "<|channel|>commentary<|message|>Wait"
HARMONY_THOUGHT = "<|channel|>analysis<|message|>Hm"


@pytest.mark.parametrize("retention", [None, "all"])
@pytest.mark.parametrize(
    ("text", "role", "detail"),
    [
        (
            f"{HARMONY_CALL}<|return|>",
            "tool",
            "Remove '<|return|>' from the completion, so that the bridge adds '<|call|>'",
        ),
        (
            f"{HARMONY_CALL}<|return|>",
            "user",
            "Remove '<|return|>' from the completion, so that the bridge adds '<|call|>'",
        ),
        (f"{HARMONY_CALL}<|end|>", "tool", "Remove '<|end|>' from the completion, so that the bridge adds '<|call|>'"),
        (f"{HARMONY_CALL}<|end|>", "user", "Remove '<|end|>' from the completion, so that the bridge adds '<|call|>'"),
        (
            f"{HARMONY_FINAL}<|call|>",
            "user",
            "Remove '<|call|>' from the completion, so that the bridge adds '<|end|>'",
        ),
        (f"{HARMONY_FINAL}<|end|>", "tool", "which ends a turn without calls"),
        (f"{HARMONY_FINAL}<|return|>", "tool", "which ends a turn without calls"),
        (f"{HARMONY_PREAMBLE}<|end|>", "tool", "which ends a turn without calls"),
        (f"{HARMONY_THOUGHT}<|end|>", "tool", "which ends a turn without calls"),
        (HARMONY_PREAMBLE, "tool", "the completion contains no call, and does not end with '<|call|>'"),
        (HARMONY_FINAL, "tool", "the completion contains no call, and does not end with '<|call|>'"),
    ],
)
def test_a_turn_of_harmony_that_ends_as_another_kind_of_turn_is_refused(
    text: str, role: str, detail: str, retention: Any, hub: object
) -> None:
    renderer = create_renderer(load_tokenizer("openai/gpt-oss-20b"), thinking_retention=retention, date="2026-01-31")
    new = {"role": role, "content": "x", **({"name": "look"} if role == "tool" else {})}
    refused = renderer.bridge(*prior_of(renderer, text), [new])
    assert isinstance(refused, BridgeRefusal)
    assert refused.reason is BridgeReason.NO_STOP_TOKEN
    assert detail in refused.detail


def test_control_text_in_a_sampled_name_is_encoded_as_text() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    named = NAMED.replace('"[" + call.function.name + "]"', '"<|call|>" + call.function | tojson + "<|/call|>"')
    options: dict[str, Any] = {"chat_template": named, "thinking_retention": "all"}
    plain = create_renderer(tokenizer, content_tokens="text", **options)
    pieces = ('<|call|>{"name": "g<', "|end", '|>", "arguments": {}}<|/call|><|end|>')
    completion = [number for piece in pieces for number in tokenizer.encode(piece)]
    prompt = plain.render_ids(ASK, add_generation_prompt=True)
    bridged = plain.bridge(prompt, completion, [RESULT])
    assert isinstance(bridged, Bridge)
    added = bridged.tokens.token_ids[len(prompt) + len(completion) :]
    assert added.count(tokenizer.added_tokens["<|end|>"]) == 1
    with pytest.raises(ControlTextError):
        create_renderer(tokenizer, content_tokens="refuse", **options).bridge(prompt, completion, [RESULT])


WIPE = """{% for message in messages %}{% if message.content != "Bye" and message.name != "wipe" %}
{{- "<|turn|>" + message.role + "\\n" + message.content + "<|end|>" }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|turn|>assistant{% endif %}"""


@pytest.mark.parametrize("fields", [{"content": "Bye"}, {"content": "x", "name": "wipe"}])
def test_a_proof_for_different_texts_is_not_used(fields: dict[str, str]) -> None:
    wiping = create_renderer(
        load_tokenizer(EMBEDDED), chat_template=WIPE, on_loss={"default": "ignore", "message": "error"}
    )
    prior = prior_of(wiping, "A<|end|>")
    plain = {"role": "user", "content": "x", **({"name": "other"} if "name" in fields else {})}
    for _ in range(2):
        assert isinstance(wiping.bridge(*prior, [plain]), Bridge)
        with pytest.raises(LossError, match="writes nothing of this message"):
            wiping.bridge(*prior, [{"role": "user", **fields}])


ONE_BY_ONE = """{% for message in messages %}{% if message.role not in (hide or []) %}
{%- if stern and message.role == "user" and loop.last and loop.index > 2 %}
{{- raise_exception("not: " + message.content) }}{% endif %}
{{- "<|turn|>" + message.role + message.content + "<|end|>" }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|turn|>assistant{% endif %}"""


def test_switches_with_list_values_are_part_of_the_proof() -> None:
    added = []
    for hide in (["x"], ["user"]):
        renderer = create_renderer(
            load_tokenizer(EMBEDDED),
            chat_template=ONE_BY_ONE,
            chat_template_kwargs={"hide": hide},
            on_loss="ignore",
        )
        prior = prior_of(renderer, "A<|end|>")
        bridged = renderer.bridge(*prior, ASK)
        assert isinstance(bridged, Bridge)
        added.append(renderer.tokenizer.decode(bridged.tokens.token_ids[sum(map(len, prior)) :]))
    assert added == ["<|turn|>userHi<|end|><|turn|>assistant", "<|turn|>assistant"]


def test_a_refusal_quotes_its_own_messages() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=ONE_BY_ONE, chat_template_kwargs={"stern": True})
    for text in ("of Alice", "of Bob"):
        refused = renderer.bridge(*prior_of(renderer, "A<|end|>"), [{"role": "user", "content": text}])
        assert isinstance(refused, BridgeRefusal)
        assert text in refused.detail


def test_text_is_appended_to_a_turn_without_a_stop_token_only_if_no_token_changes() -> None:
    template = (
        "{% for m in messages %}{{ m.role + ':' + m.content }}{% endfor %}{{ 'assistant:' * add_generation_prompt }}"
    )
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=template)
    prompt = renderer.render_ids(ASK, add_generation_prompt=True)
    for word in ("Hello", "Hello.", "12", "a"):
        completion = renderer.tokenizer.encode(word)
        bridged = renderer.bridge(prompt, completion, [{"role": "user", "content": "Bye"}])
        if isinstance(bridged, Bridge):
            conversation = [*ASK, {"role": "assistant", "content": word}, {"role": "user", "content": "Bye"}]
            assert bridged.tokens.token_ids == renderer.render_ids(conversation, add_generation_prompt=True)
        else:
            assert bridged.reason is BridgeReason.NO_STOP_TOKEN


def test_a_bridge_has_an_explanation(renderer: ChatRenderer, capsys: pytest.CaptureFixture[str]) -> None:
    bridged = renderer.bridge(*prior_of(renderer, "A<|end|>"), ASK)
    assert isinstance(bridged, Bridge)
    bridged.tokens.explain()
    assert "Hi" in capsys.readouterr().out


def test_a_newline_after_the_stop_token_of_a_completion_is_not_added_again(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("Qwen/Qwen3-8B"), Qwen3RendererConfig(enable_thinking=False))
    prompt = renderer.render_ids(ASK, add_generation_prompt=True)
    new = [{"role": "user", "content": "Bye"}]
    stopped, cut = (
        renderer.tokenizer.encode(text, add_special_tokens=False) for text in ("A<|im_end|>", "A<|im_end|>\n")
    )
    expected = renderer.bridge_to_next_turn(prompt, stopped, new)
    bridged = renderer.bridge_to_next_turn(prompt, cut, new)
    assert bridged is not None
    assert expected is not None
    assert bridged.token_ids == expected.token_ids
    # The newline is part of the prior ids, so it belongs to no message.
    assert bridged.message_indices[len(prompt) + len(cut) - 1] == -1
    assert bridged.message_indices[len(prompt) + len(cut) :] == expected.message_indices[len(prompt) + len(cut) :]
    # The template writes one newline only, so two are kept as they are.
    twice = renderer.bridge_to_next_turn(prompt, [*cut, cut[-1]], new)
    assert twice is not None
    assert twice.token_ids == [*prompt, *cut, cut[-1], *expected.token_ids[len(prompt) + len(stopped) :]]


def test_the_closing_marker_of_a_call_is_not_repeated_after_a_stop_token(hub: object) -> None:
    renderer = create_renderer(load_tokenizer("zai-org/GLM-5"), thinking_retention="all")
    prompt = renderer.render_ids(ASK, add_generation_prompt=True)
    call = "</think><tool_call>f<arg_key>x</arg_key><arg_value>y</arg_value></tool_call>"
    late = [{"role": "system", "content": "Late."}]
    stopped = renderer.tokenizer.encode(f"{call}<|observation|>", add_special_tokens=False)
    refused = renderer.bridge(prompt, stopped, late)
    assert isinstance(refused, BridgeRefusal)
    assert refused.reason is BridgeReason.NO_STOP_TOKEN
    assert "'</tool_call>'" in refused.detail


class LettersOfATemplate(Letters):
    """The template of the embedded model, with a token for each character."""

    chat_template = load_tokenizer(EMBEDDED).chat_template


def test_a_proof_is_not_shared_between_vocabularies() -> None:
    with_tokens, without = create_renderer(Bare(str(EMBEDDED))), create_renderer(LettersOfATemplate())
    new = [{"role": "user", "content": "Bye"}]
    for renderer, extended in ((with_tokens, True), (without, False)):
        prompt = renderer.render_ids(ASK, add_generation_prompt=True)
        completion = renderer.tokenizer.encode("Yes<|end|>", add_special_tokens=False)
        assert isinstance(renderer.bridge(prompt, completion, new), Bridge) == extended


@pytest.mark.parametrize("junk", [[10**6], [5]])
def test_tokens_after_a_stop_token_are_kept(renderer: ChatRenderer, junk: list[int]) -> None:
    prompt, completion = prior_of(renderer, "Yes<|end|>")
    new = [{"role": "user", "content": "Bye"}]
    plain = renderer.bridge_to_next_turn(prompt, completion, new)
    bridged = renderer.bridge_to_next_turn(prompt, [*completion, *junk], new)
    assert plain is not None
    assert bridged is not None
    assert bridged.token_ids == [*prompt, *completion, *junk, *plain.token_ids[len(prompt) + len(completion) :]]


def test_a_stop_token_that_strips_the_newline_after_it_drops_nothing_else(tmp_path: Path) -> None:
    shutil.copytree(EMBEDDED, tmp_path / "model")
    file = tmp_path / "model" / "tokenizer.json"
    contents = json.loads(file.read_text())
    for token in contents["added_tokens"]:
        token["rstrip"] = token["content"] == "<|end|>"
    file.write_text(json.dumps(contents))
    renderer = create_renderer(load_tokenizer(tmp_path / "model"))
    prompt = renderer.render_ids(ASK, add_generation_prompt=True)
    stop, newline = (
        renderer.tokenizer.added_tokens["<|end|>"],
        renderer.tokenizer.encode("\n", add_special_tokens=False),
    )
    completion = [*renderer.tokenizer.encode("Yes", add_special_tokens=False), stop]
    new = [{"role": "user", "content": "Bye"}]
    plain = renderer.bridge_to_next_turn(prompt, completion, new)
    bridged = renderer.bridge_to_next_turn(prompt, [*completion, *newline], new)
    assert plain is not None
    assert bridged is not None
    assert bridged.token_ids == [*prompt, *completion, *newline, *plain.token_ids[len(prompt) + len(completion) :]]


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("m == messages[0] and not loop.first", BridgeReason.SUFFIX_VARIES),
        ("m in messages[: loop.index0]", BridgeReason.SUFFIX_VARIES),
        ("m is eq messages[0] and not loop.first", BridgeReason.SUFFIX_VARIES),
        ("m.content == messages[0].content and not loop.first", BridgeReason.SUFFIX_VARIES),
        ("messages.count(m) > 1 and loop.last", BridgeReason.SUFFIX_VARIES),
        ("m == messages[-1] and not loop.last", BridgeReason.HISTORY_REWRITTEN),
        ("loop.first and m in messages[1:]", BridgeReason.HISTORY_REWRITTEN),
    ],
)
def test_a_template_that_compares_messages_is_not_bridged_if_an_earlier_message_may_be_equal(
    test: str, reason: BridgeReason
) -> None:
    mark = "{% if " + test + " %}<|call|>{% endif %}"
    body = "{% for m in messages %}<|turn|>{{ m.role }}\n" + mark + "{{ m.content }}<|end|>\n{% endfor %}"
    prompt = "{% if add_generation_prompt %}{{ '<|turn|>assistant\n' }}{% endif %}"
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=body + prompt)
    refused = renderer.bridge(*prior_of(renderer, "Yes<|end|>"), ASK)
    assert isinstance(refused, BridgeRefusal)
    assert refused.reason is reason
    assert "equal to new message 0" in refused.detail


def test_a_comparison_of_messages_that_changes_nothing_is_bridged() -> None:
    # The new message follows the turn, which is never equal to it.
    mark = "{% if loop.previtem is defined and loop.previtem == m %}<|call|>{% endif %}"
    body = "{% for m in messages %}<|turn|>{{ m.role }}\n" + mark + "{{ m.content }}<|end|>\n{% endfor %}"
    prompt = "{% if add_generation_prompt %}{{ '<|turn|>assistant\n' }}{% endif %}"
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=body + prompt)
    bridged = renderer.bridge(*prior_of(renderer, "Yes<|end|>"), ASK)
    assert isinstance(bridged, Bridge)
    conversation = [*ASK, {"role": "assistant", "content": "Yes"}, *ASK]
    assert bridged.tokens.token_ids == renderer.render_ids(conversation, add_generation_prompt=True)


@pytest.mark.parametrize(
    ("name", "is_rewritten"), [("deepseek-ai/DeepSeek-V3", True), ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", False)]
)
def test_the_end_of_a_prompt_shows_that_results_precede_the_turn(name: str, is_rewritten: bool, hub: object) -> None:
    # These templates write a marker before the first results only, and that of V3 a marker after the last ones only.
    renderer = create_renderer(load_tokenizer(name), thinking_retention="all")
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": {"x": "1"}}}
    cycle: list[dict[str, Any]] = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "R"},
    ]
    ids = renderer.render_ids([*ASK, *cycle], add_generation_prompt=True)
    turn = renderer.render_ids([*ASK, *cycle, cycle[0]])[len(ids) :]
    bridged = renderer.bridge(ids, turn, cycle[1:])
    assert isinstance(bridged, Bridge)
    whole = renderer.render_ids([*ASK, *cycle, *cycle], add_generation_prompt=True)
    assert bridged.tokens.token_ids[-4:] == whole[-4:]
    assert (bridged.tokens.token_ids != whole) is is_rewritten
    assert bridged.matches_rerender is not is_rewritten


def test_the_first_tool_round_of_deepseek_v3_is_bridged_by_default(hub: object) -> None:
    # Its prompt opens reasoning, which its template never writes.
    renderer = create_renderer(load_tokenizer("deepseek-ai/DeepSeek-V3"))
    called = (
        "Hm.</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>"
    )
    prompt, completion = prior_of(renderer, called)
    bridged = renderer.bridge(prompt, completion, [{"role": "tool", "content": "R"}])
    assert isinstance(bridged, Bridge)
    assert bridged.tokens.token_ids[: len(prompt) + len(completion)] == [*prompt, *completion]
    assert not bridged.matches_rerender


WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}


@pytest.mark.parametrize(
    "name", ["mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistralai/Ministral-3-14B-Reasoning-2512"]
)
def test_a_user_message_after_a_tool_result_is_refused_as_in_a_render(name: str, hub: object) -> None:
    """Roles must alternate, and calls and results do not count."""
    renderer = create_renderer(load_tokenizer(name))
    call = {"id": "abcdefgh1", "type": "function", "function": {"name": "get_weather", "arguments": {}}}
    turn = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "content": "18", "tool_call_id": "abcdefgh1", "name": "get_weather"}
    prompt = renderer.render_ids(ASK, tools=[WEATHER], add_generation_prompt=True)
    completion = renderer.render_ids([*ASK, turn], tools=[WEATHER])[len(prompt) :]
    assert isinstance(renderer.bridge(prompt, completion, [result], tools=[WEATHER]), Bridge)
    refused = renderer.bridge(prompt, completion, [result, *ASK], tools=[WEATHER])
    assert isinstance(refused, BridgeRefusal)
    assert refused.reason is BridgeReason.MESSAGE_REFUSED
    assert "must alternate" in refused.detail
    with pytest.raises(TemplateRefusalError):
        renderer.render_ids([*ASK, turn, result, *ASK], tools=[WEATHER])


OPENED = """
{%- set results = namespace(opened=false) -%}
{%- for message in messages -%}
    {%- if message.role == 'tool' -%}
        {%- if not results.opened -%}{{- '<|turn|>tools\\n' -}}{%- set results.opened = true -%}{%- endif -%}
        {{- '<|result|>' ~ message.content ~ '<|/result|>' -}}
    {%- else -%}
        {%- if message.role == 'assistant' and not message.tool_calls -%}{%- set results.opened = false -%}{%- endif -%}
        {{- '<|turn|>' ~ message.role ~ '\\n' ~ message.content -}}
        {%- for call in message.tool_calls or [] -%}
            {{- '<|call|>' ~ (call.function | tojson) ~ '<|/call|>' -}}
        {%- endfor -%}
        {{- '<|end|>' -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|turn|>assistant\\n' -}}{%- endif -%}
"""
"""A template that closes the results of tools with the next answer, as that of DeepSeek V3."""


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_user_message_in_place_of_an_answer_is_recognized_in_the_history(is_answered: bool) -> None:
    """A bridge wrote a second opening of results, because no sample history had such a message."""
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=OPENED)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}
    turn = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c", "name": "f", "content": "R"}
    answer = [{"role": "assistant", "content": "Yes."}] if is_answered else []
    messages: list[Any] = [*ASK, turn, result, *answer, *ASK]
    prompt = renderer.render_ids(messages, add_generation_prompt=True)
    completion = renderer.render_ids([*messages, turn])[len(prompt) :]
    bridged = renderer.bridge(prompt, completion, [result])
    if is_answered:
        assert isinstance(bridged, Bridge)
        assert bridged.tokens.token_ids == renderer.render_ids([*messages, turn, result], add_generation_prompt=True)
    else:
        assert isinstance(bridged, BridgeRefusal)
        assert bridged.reason is BridgeReason.SUFFIX_VARIES


def test_a_bridge_of_an_array_equals_that_of_a_list_and_does_not_change_with_it() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED))
    prompt = renderer.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    completion = renderer.tokenizer.encode("Yes.<|end|>")
    new = [{"role": "user", "content": "Bye"}]
    expected = renderer.bridge(prompt, completion, new)
    assert isinstance(expected, Bridge)
    for given in (
        list(prompt),
        array("I", prompt),
        array("q", prompt),
        np.array(prompt),
        expected.tokens.arrays().token_ids,
    ):
        ids = given[: len(prompt)]
        bridged = renderer.bridge(ids, completion, new)
        ids[0] = 0
        assert isinstance(bridged, Bridge)
        assert bridged.tokens == expected.tokens
        assert bridged.matches_rerender is expected.matches_rerender
