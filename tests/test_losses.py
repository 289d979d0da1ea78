"""Law 7: text in any field of the input is either in the ids, or in `losses`."""

from __future__ import annotations

import itertools
import pickle
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from renderers import (
    EXAMPLE_MODEL,
    Bridge,
    BridgeRefusal,
    BrokenArgumentsWarning,
    ChatRenderer,
    Loss,
    LossError,
    LossWarning,
    MessageError,
    build_training_sample,
    create_renderer,
    load_tokenizer,
)
from renderers.configs import DefaultRendererConfig
from tests.stress_losses import check, renderer_of, run
from tests.support.models import one_model_per_template
from tests.support.parity import EACH_ONCE, TOOL_SETS
from tests.support.planting import SHAPES
from tests.support.sources import wrong_in

HI = {"role": "user", "content": "Hi"}
YES = {"role": "assistant", "content": "Yes?"}
HUMAN = {"role": "human", "content": "Hey"}
CALL = {"id": "call00000", "type": "function", "function": {"name": "search", "arguments": {"query": "sky"}}}
CALLING = {"role": "assistant", "content": "", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "call00000", "content": "blue"}
TOOL = {"name": "search", "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}}
ONLY_KNOWN_ROLES = (
    "{% for m in messages if m.role in ('user', 'assistant') %}"
    "<|turn|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
"""A template that writes neither tools nor calls nor names, and no other roles."""
ONLY_NAMES_OF_CALLS = (
    "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}{% endfor %}{% endfor %}"
)
STRIPPING = ("Qwen/Qwen3-8B", "zai-org/GLM-4.6", "deepseek-ai/DeepSeek-V3.1", "MiniMaxAI/MiniMax-M2")
"""Models with templates that write only the text after `</think>` in earlier turns."""


def renderer(**options: Any) -> ChatRenderer:
    return create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template=ONLY_KNOWN_ROLES, **options)


# ==================
# The law
# ==================


@pytest.mark.parametrize("number", range(len(EACH_ONCE)), ids=lambda number: EACH_ONCE[number].stem)
def test_planted_text_is_in_the_ids_of_a_template_or_lost(number: int) -> None:
    template = renderer_of(str(EACH_ONCE[number]))
    shapes = list(SHAPES.values())[number % 3 :: 3]
    for messages, tools in itertools.product(shapes, TOOL_SETS[:2]):
        assert not check(template, messages, tools)


@pytest.mark.parametrize("name", one_model_per_template())
def test_planted_text_is_in_the_ids_of_a_model_or_lost(name: str) -> None:
    # gpt-oss fails on the second list of tools.
    rendered = [check(renderer_of(name), messages, tools) for messages in SHAPES.values() for tools in TOOL_SETS[1:]]
    assert not any(rendered)
    assert [] in rendered


def test_random_conversations_are_in_the_ids_or_lost() -> None:
    assert wrong_in(run((str(EACH_ONCE[0]), 0, 150))) == []
    assert wrong_in(run((str(EXAMPLE_MODEL), 0, 50))) == []


# ==================
# Losses
# ==================


def losses_of(messages: list[dict[str, Any]], **options: Any) -> list[Loss]:
    return renderer(on_loss="ignore").render(messages, **options).losses


def test_a_message_of_which_nothing_is_written_is_one_loss() -> None:
    assert losses_of([HI, HUMAN]) == [Loss("message", 1, (), "all")]
    assert losses_of([HI, {**HUMAN, "content": " \n"}]) == []


def test_a_message_with_a_wrong_key_for_its_content_is_a_loss() -> None:
    message = {"role": "user", "contents": "Hi", "timestamp": "12:00"}
    assert losses_of([HI, message]) == [Loss("message", 1, (), "all")]
    with pytest.raises(LossError, match=r"message 1: .* has no content, but 'contents', 'timestamp'\. Pass the text"):
        renderer().render_ids([HI, message])
    with pytest.raises(LossError, match=r"^message 0: "):
        renderer().render_ids([message])
    assert losses_of([{**message, "content": ""}]) == losses_of([{**message, "content": None}]) == []
    assert losses_of([HI, {"role": "assistant", "tool_calls": [], "created": "12:00"}]) == []
    assert losses_of([{"role": "user"}, {"role": "tool", "tool_call_id": "call0", "seen": True}]) == []
    reading = create_renderer(EXAMPLE_MODEL, chat_template="{% for m in messages %}{{ m.contents }}{% endfor %}")
    assert reading.render([{"role": "user", "contents": "Hi"}]).losses == []


@pytest.mark.parametrize("fields", [{"reasoning_content": "Hm."}, {"tool_calls": [CALL]}])
def test_a_message_with_an_unknown_role_and_no_content_is_one_loss(fields: dict[str, Any]) -> None:
    message = {"role": "gpt", "content": "", **fields}
    assert losses_of([HI, message]) == [Loss("message", 1, (), "all")]
    with pytest.raises(LossError, match=r"with the role 'gpt'\. Use one of the roles"):
        renderer().render_ids([HI, message])
    kinds = {loss.kind for loss in losses_of([HI, {**message, "role": "assistant"}])}
    assert kinds <= {"reasoning", "tool_calls"}


def test_a_field_of_which_some_is_written_is_a_loss_of_some() -> None:
    source = "{% for m in messages %}{{ m.content.split('</think>')[-1] | upper }}{% endfor %}"
    shortening = create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template=source)
    rendered = shortening.render([HI, {**YES, "content": "They ask.</think>Yes?"}, {**HI, "content": "  Bye\n"}])
    assert rendered.losses == [Loss("reasoning", 1, ("content",), "some")]
    assert str(rendered.losses[0]) == "message 1: content is only written in part"


@pytest.mark.parametrize(
    ("write", "text"),
    [("m.content | replace('\\n', '')", "def f():\n    return 1"), ("m.content[:3] + m.content[:3]", "abcdef")],
)
def test_a_text_that_is_changed_is_a_loss_of_some(write: str, text: str) -> None:
    source = "{% for m in messages %}{{ " + write + " }}{% endfor %}"
    changing = create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template=source)
    assert changing.render([{**HI, "content": text}]).losses == [Loss("content", 0, ("content",), "some")]


def test_arguments_that_are_booleans_can_be_lost() -> None:
    source = (
        "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}"
        "{% for key, value in c.function.arguments.items() %} {{ key }}={{ WRITE }}{% endfor %}{% endfor %}{% endfor %}"
    )
    call = {"id": "1", "function": {"name": "search", "arguments": {"flag": True, "page": None}}}
    for write, lost in [("value | tojson", []), ("value", []), ("value if value is string else ''", ["flag", "page"])]:
        template = source.replace("WRITE", write)
        writing = create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template=template, on_loss="ignore")
        rendered = writing.render([HI, {**CALLING, "tool_calls": [call]}])
        assert [(loss.path[-1], loss.amount) for loss in rendered.losses] == [(key, "some") for key in lost]


def test_reasoning_under_two_names_is_lost_if_one_is_not_written() -> None:
    source = "{% for m in messages %}{{ m.reasoning_content }}{{ m.content }}{% endfor %}"
    thinking = create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template=source)
    rendered = thinking.render([HI, {**YES, "reasoning": "Hm.", "reasoning_content": "Hm. So."}])
    assert rendered.losses == [Loss("reasoning", 1, ("reasoning",), "all")]


def test_calls_results_names_and_tools_are_losses_of_their_kinds() -> None:
    messages: list[Any] = [{**HI, "name": "Ann"}, CALLING, RESULT, {**YES, "reasoning_content": "Hm."}]
    assert losses_of(messages, tools=[TOOL]) == [
        Loss("tools", None, ("tools",), "all"),
        Loss("name", 0, ("name",), "all"),
        Loss("tool_calls", 1, ("tool_calls", 0), "all"),
        Loss("tool_result", 2, (), "all"),
        Loss("reasoning", 3, ("reasoning_content",), "all"),
    ]
    assert losses_of([HI, YES], tools=[]) == []


def test_reasoning_in_the_content_is_reasoning() -> None:
    source = (
        "{% for m in messages %}<|turn|>{{ m.role }}\n{% if loop.last and m.reasoning_content %}"
        "<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content.split('</think>')[-1] | trim }}<|end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
    )
    never_written = source.replace("m.reasoning_content %}", "false %}")
    for template in (source, never_written):
        dropping = create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template=template)
        rendered = dropping.render([HI, {**YES, "content": "<think>They ask.</think>\n"}, HI])
        assert rendered.losses == [Loss("reasoning", 1, ("content",), "all")]
        rendered = dropping.render([HI, {**YES, "content": "They ask.</think>Yes?"}, HI])
        assert rendered.losses == [Loss("reasoning", 1, ("content",), "some")]
        rendered = dropping.render([HI, {**YES, "content": "So: <think>They ask.</think>Yes?"}, HI])
        assert [loss.kind for loss in rendered.losses] == ["content", "reasoning"]
        with pytest.raises(LossError):
            dropping.render([{**HI, "content": "They ask.</think>"}])


@pytest.mark.parametrize("name", [name for name in one_model_per_template() if name in STRIPPING])
def test_reasoning_in_the_content_of_an_earlier_turn_is_no_error(name: str) -> None:
    for text in ("<think>\nThey ask.\n</think>", "<think>\nThey ask.\n</think>\n\nYes?"):
        rendered = renderer_of(name).render([HI, {**YES, "content": text}, HI, YES])
        assert {loss.kind for loss in rendered.losses} <= {"reasoning"}


@pytest.mark.parametrize("documents", [5, True, "a text", {"title": "A"}, [{"title": "A"}]])
def test_documents_may_be_any_data(documents: Any) -> None:
    template = "{{ messages[0].content }}{% if documents %}!{% endif %}"
    lossy = create_renderer(EXAMPLE_MODEL, chat_template=template, on_loss="ignore")
    assert {loss.kind for loss in lossy.render([HI], documents=documents).losses} == {"documents"}


def test_ids_and_unknown_keys_are_no_losses() -> None:
    assert losses_of([{**HI, "timestamp": "12:00"}, {**YES, "id": "1", "refusal": None}]) == []


def test_a_function_call_and_a_refusal_are_losses() -> None:
    calling = {"role": "assistant", "content": None, "function_call": {"name": "search", "arguments": "{}"}}
    with pytest.raises(LossError, match=r"message 1: .* writes nothing of this message .* Pass the call in tool_calls"):
        renderer().render_ids([HI, calling])
    refusing = {"role": "assistant", "content": None, "refusal": "I cannot."}
    with pytest.raises(LossError, match=r"Pass the refusal as the content\."):
        renderer().render_ids([HI, refusing])
    with pytest.warns(LossWarning, match=r"message 1: refusal is not written by .* Pass the refusal as the content\."):
        renderer().render_ids([HI, {**refusing, "content": "No."}])
    with pytest.warns(LossWarning, match=r"1: function_call is not written by .* Pass the call in tool_calls\."):
        lossy = renderer().render([HI, {**calling, "content": "No."}])
    assert lossy.losses == [Loss("tool_calls", 1, ("function_call",), "all")]
    assert losses_of([HI, {**YES, "refusal": "", "function_call": None}]) == []


def test_an_empty_object_is_a_text_except_in_arguments() -> None:
    assert losses_of([HI, {**HUMAN, "content": "{}"}]) == [Loss("message", 1, (), "all")]
    call = {"id": "1", "function": {"name": "search", "arguments": "{ }"}}
    source = (
        "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}{% endfor %}{% endfor %}"
    )
    named = create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template=source, on_loss="error")
    assert named.render([HI, {**CALLING, "tool_calls": [call]}]).losses == []


def test_parts_that_are_joined_are_written() -> None:
    parts = [{"type": "text", "text": "a b"}, {"type": "text", "text": "c"}]
    assert losses_of([{**HI, "content": parts}, YES]) == []


def test_paths_are_those_of_the_callers_messages() -> None:
    bare = {"name": "search", "arguments": '{"query": "sky"}'}
    named = create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template=ONLY_NAMES_OF_CALLS, on_loss="ignore")
    rendered = named.render([HI, {**CALLING, "tool_calls": [bare, CALL]}])
    assert [(loss.kind, loss.path) for loss in rendered.losses] == [
        ("tool_calls", ("tool_calls", 0, "arguments")),
        ("tool_calls", ("tool_calls", 1, "function", "arguments")),
    ]


def test_results_are_compared_without_their_losses() -> None:
    lossy = renderer(on_loss="ignore")
    one, other, alone = lossy.render([HI, HUMAN]), lossy.render([HI, HUMAN]), lossy.render([HI])
    assert one == other != alone
    assert "losses" not in vars(one)
    assert "losses" not in vars(other)


def test_losses_survive_a_pickle_and_belong_to_the_result() -> None:
    rendered = renderer(on_loss="ignore").render([HI, HUMAN])
    assert pickle.loads(pickle.dumps(rendered)).losses == rendered.losses
    assert rendered.losses is rendered.losses


def test_the_name_of_a_result_is_no_loss_if_a_call_has_it() -> None:
    example = create_renderer(load_tokenizer(EXAMPLE_MODEL), on_loss="error")
    assert example.render([HI, CALLING, {**RESULT, "name": "search"}], tools=[TOOL]).losses == []
    with pytest.raises(LossError, match="message 2: name is not written"):
        example.render([HI, CALLING, {**RESULT, "name": "other"}], tools=[TOOL])


def test_the_name_of_a_result_is_no_loss_if_a_call_that_cannot_be_parsed_has_it() -> None:
    example = create_renderer(load_tokenizer(EXAMPLE_MODEL), on_loss="error")
    broken = {**YES, "content": '<tool_call>\n{"name": "search", "arguments": {"query": \n</tool_call>'}
    assert example.render([HI, broken, {**RESULT, "name": "search"}], tools=[TOOL]).losses == []
    with pytest.raises(LossError, match="message 2: name is not written"):
        example.render([HI, broken, {**RESULT, "name": "sea"}], tools=[TOOL])


# ==================
# The policy
# ==================


def test_a_lost_message_is_an_error_by_default() -> None:
    with pytest.raises(LossError) as caught:
        renderer().render_ids([HI, HUMAN])
    error = caught.value
    assert isinstance(error, MessageError)
    assert (error.message, error.path, error.kind) == (1, (), "message")
    assert str(error).startswith("message 1: the chat template of ")
    assert " writes nothing of this message with the role 'human'." in str(error)
    assert "Use one of the roles system, user, assistant and tool." in str(error)
    assert 'on_loss={"message": "ignore"}' in str(error)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.kind) == (str(error), error.kind)


def test_every_verb_applies_the_policy() -> None:
    strict, chat = renderer(), [HI, HUMAN, YES]
    for render in (strict.render, strict.render_ids, strict.trace):
        with pytest.raises(LossError):
            render(chat)
    with pytest.raises(LossError, match="conversation 1: message 1"):
        strict.render_batch([[HI], chat])
    results = strict.render_batch([[HI], chat], errors="return")
    assert isinstance(results[1], LossError)
    with pytest.raises(LossError):
        build_training_sample(strict, chat)
    lenient = renderer(on_loss={"message": "ignore"})
    assert lenient.render_ids(chat) == lenient.render_ids([HI, YES])


def test_a_bridge_applies_the_policy_to_the_new_messages() -> None:
    example = create_renderer(load_tokenizer(EXAMPLE_MODEL), on_loss={"name": "error"})
    prompt = example.render_ids([HI], add_generation_prompt=True)
    completion = example.tokenizer.encode("Yes?<|end|>")
    with pytest.raises(LossError, match="new message 0: name is not written") as caught:
        example.bridge(prompt, completion, [{**HI, "name": "Ann"}])
    assert (caught.value.is_new, caught.value.kind) == (True, "name")
    lenient = create_renderer(load_tokenizer(EXAMPLE_MODEL), on_loss="ignore")
    bridged = lenient.bridge(prompt, completion, [HI, {**HI, "name": "Ann"}])
    assert isinstance(bridged, Bridge)
    assert bridged.tokens.losses == [Loss("name", 1, ("name",), "all")]


def test_other_losses_are_a_warning_once_for_each_kind_and_renderer() -> None:
    messages: list[Any] = [{**HI, "name": "Ann"}, {**CALLING, "content": "I look."}, RESULT]
    for lossy in (renderer(), renderer(on_loss={"reasoning": "ignore"})):
        with pytest.warns(LossWarning) as caught:
            lossy.render(messages, tools=[TOOL])
        texts = [str(warning.message) for warning in caught]
        assert len(texts) == 4
        assert any(text.startswith("the tools are not written by the chat template of ") for text in texts)
        assert {warning.filename for warning in caught} == {__file__}
        with warnings.catch_warnings(action="error"):
            lossy.render(messages, tools=[TOOL])


def test_a_warning_that_is_an_error_is_raised_each_time() -> None:
    lossy = renderer()
    with warnings.catch_warnings(action="error"):
        for _ in range(2):
            with pytest.raises(LossWarning):
                lossy.render([{**HI, "name": "Ann"}])


def test_threads_get_one_warning() -> None:
    lossy, found = renderer(), []
    with warnings.catch_warnings(record=True, action="always") as caught:
        threads = [threading.Thread(target=lambda: found.append(lossy.render([HI], tools=[TOOL]))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (len(found), len(caught)) == (8, 1)


def test_dropped_reasoning_is_only_listed() -> None:
    with warnings.catch_warnings(action="error"):
        rendered = renderer().render([HI, {**YES, "reasoning": "Hm."}])
    assert rendered.losses == [Loss("reasoning", 1, ("reasoning",), "all")]
    with pytest.raises(LossError, match="message 1: reasoning is not written"):
        renderer(on_loss={"reasoning": "error"}).render([HI, {**YES, "reasoning": "Hm."}])


def test_the_policy_is_an_option_of_configs() -> None:
    config = DefaultRendererConfig(on_loss={"default": "ignore", "name": "error"})
    assert hash(config) == hash(DefaultRendererConfig(**config.model_dump()))
    strict = renderer(config=config)
    assert (strict.on_loss["name"], strict.on_loss["message"]) == ("error", "ignore")
    assert strict.config.on_loss == config.on_loss
    assert renderer(on_loss="warn").on_loss["reasoning"] == "warn"
    assert pickle.loads(pickle.dumps(strict)).on_loss == strict.on_loss


@pytest.mark.parametrize(
    ("value", "fault"),
    [("loud", "loud"), ({"mesage": "warn"}, "no kind 'mesage'"), ({"default": "x"}, "default"), (3, "3|int")],
)
def test_an_unknown_policy_is_an_error(value: Any, fault: str) -> None:
    with pytest.raises((TypeError, ValueError), match=fault):
        renderer(on_loss=value)


def test_creating_a_renderer_and_probing_it_issue_no_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings(action="error"):
        lossy = renderer(on_loss="error")
        places = [loss.place for loss in lossy.resolution.known_losses]
        _ = lossy.prefix_stability(), lossy.parse_response([1])
    assert {"messages with unknown roles", "tools", "tool calls", "reasoning", "names of messages"} <= set(places)
    restored = pickle.loads(pickle.dumps(lossy.resolution))
    assert restored.known_losses == lossy.resolution.known_losses


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (5, TypeError, "on_loss must be an action or a dict of actions by kind, not an int"),
        ("never", ValueError, "on_loss must be one of 'error', 'warn', 'ignore', not 'never'"),
        ({"message": "no"}, ValueError, "on_loss for message must be one of 'error', 'warn', 'ignore', not 'no'"),
    ],
)
def test_a_wrong_policy_is_an_error_of_one_line(value: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as raised:
        renderer(on_loss=value)
    assert str(raised.value) == text


def test_fields_after_the_cut_of_a_continued_message_are_not_blamed_on_the_template() -> None:
    source = "{% for m in messages %}<{{ m.role }}>{{ m.reasoning_content }}|{{ m.content }}{% endfor %}"
    strict = create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template=source, on_loss="error")
    messages = [{**HI, "reasoning_content": ""}, {**YES, "reasoning_content": "Hm."}]
    rendered = strict.render(messages, continue_final_message="reasoning_content")
    assert rendered.losses == [Loss("content", 1, ("content",), "all")]
    with pytest.raises(LossError, match="message 0: name"):
        strict.render([{**messages[0], "name": "Ann"}, messages[1]], continue_final_message="reasoning_content")


def test_broken_arguments_are_one_warning() -> None:
    source = (
        "{% for m in messages %}{{ m.role }}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}"
        "{% for key, value in c.function.arguments.items() %}{{ key }}={{ value }}{% endfor %}{% endfor %}{% endfor %}"
    )
    call = {"id": "0", "type": "function", "function": {"name": "search", "arguments": '{"query": "sk'}}
    messages: list[dict[str, Any]] = [HI, {"role": "assistant", "content": "", "tool_calls": [call]}]
    options: dict[str, Any] = {"chat_template": source}
    with warnings.catch_warnings(record=True, action="always") as caught:
        create_renderer(load_tokenizer(EXAMPLE_MODEL), **options).render(messages)
    assert [warning.category for warning in caught] == [BrokenArgumentsWarning]
    with pytest.raises(LossError, match="Pass a dict or its JSON"), warnings.catch_warnings(action="ignore"):
        create_renderer(load_tokenizer(EXAMPLE_MODEL), on_loss="error", **options).render(messages)


def test_a_bridge_treats_a_lost_message_as_render_does() -> None:
    strict, lenient = renderer(), renderer(on_loss="ignore")
    prompt = strict.render_ids([HI], add_generation_prompt=True)
    completion = strict.tokenizer.encode("Yes?<|end|>", add_special_tokens=False)
    with pytest.raises(LossError, match=r"^new message 1: .* with the role 'human'") as e:
        strict.bridge(prompt, completion, [HI, HUMAN])
    assert (e.value.message, e.value.is_new, e.value.kind) == (1, True, "message")
    answer = {"role": "assistant", "content": "Yes?"}
    for new in ([HI, HUMAN], [HUMAN, HI], [HUMAN]):
        bridged = lenient.bridge(prompt, completion, new)
        assert isinstance(bridged, Bridge)
        assert bridged.matches_rerender
        rendered = lenient.render([HI, answer, *new], add_generation_prompt=True)
        assert bridged.tokens.token_ids == rendered.token_ids
        assert [loss.kind for loss in bridged.tokens.losses] == [loss.kind for loss in rendered.losses] == ["message"]
        assert bridged.tokens.message_roles == [message["role"] for message in new]
    with pytest.warns(LossWarning, match="^new message 0: .* with the role 'human'"):
        assert isinstance(renderer(on_loss="warn").bridge(prompt, completion, [HUMAN, HI]), Bridge)


def test_a_bridge_over_a_lost_message_is_refused_if_the_message_changes_the_text_of_others() -> None:
    counting = ONLY_KNOWN_ROLES + "{{ messages | length }}"
    lenient = create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template=counting, on_loss="ignore")
    prompt = lenient.render_ids([HI], add_generation_prompt=True)
    completion = lenient.tokenizer.encode("Yes?<|end|>", add_special_tokens=False)
    assert isinstance(lenient.bridge(prompt, completion, [HI, HUMAN]), BridgeRefusal)
