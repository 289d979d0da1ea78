"""Training samples: loss masks and weights, which never change the ids."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers import MissingStopWarning, MultiModalData, PlaceholderRange, create_renderer, load_tokenizer
from renderers.core.spans import Channel
from renderers.core.tokens import RenderedTokens, TokenRun
from renderers.training import RenderedTrainingSample, build_training_sample
from tests.support.models import HUB_AT_HAND
from tests.support.tokens import tokens_of_runs
from tests.support.training import MESSAGES, STOP, TOOLS, FixedRenderer, embedded, lists, messages_of

ROLES = ("system", "user", "assistant", "tool")


def bits(sample: RenderedTrainingSample) -> str:
    return "".join("01"[trained] for trained in sample.loss_mask)


def built(rendered: RenderedTokens | None = None, **options: Any) -> str:
    return bits(
        build_training_sample(FixedRenderer(rendered or lists()), messages_of("system", "user", "assistant"), **options)
    )


def trained_text(**options: Any) -> str:
    renderer = embedded()
    sample = build_training_sample(renderer, MESSAGES, tools=TOOLS, **options)
    ids = [token for token, trained in zip(sample.token_ids, sample.loss_mask, strict=True) if trained]
    return renderer.tokenizer.decode(ids)


# ==================
# Loss mask
# ==================


def test_sampled_tokens_are_trained() -> None:
    assert built() == "0000000110"


def test_role_to_mask_excludes_messages_and_adds_none() -> None:
    assert built(role_to_mask=lambda message: True) == "0000000110"
    assert built(role_to_mask=lambda message: message["role"] == "user") == "0000000000"
    assert (
        built(lists(sampled_mask=[True] * 10), role_to_mask=lambda message: message["role"] == "user") == "0001110000"
    )


def test_role_to_mask_is_called_with_the_callers_message_and_only_for_sampled_messages() -> None:
    calls: list[Any] = []
    messages = messages_of("system", "user", "assistant")

    def role_to_mask(message: Any) -> bool:
        calls.append(message)
        return True

    build_training_sample(FixedRenderer(lists()), messages, role_to_mask=role_to_mask)
    assert [message is messages[2] for message in calls] == [True]


def test_roles_trained_by_content_ignore_role_to_mask() -> None:
    assert built(content_sft_roles={"user"}) == "0000110110"
    assert built(content_sft_roles={"user", "system"}, role_to_mask=lambda message: False) == "0010110000"


def test_only_content_is_trained_for_roles_trained_by_content() -> None:
    assert built(lists(sampled_mask=[True] * 10), content_sft_roles={"user"}) == "0110111110"


def test_options_are_checked_before_the_renderer() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    none: Any = None
    with pytest.raises(ValueError, match="message_loss_mask must have one entry per message"):
        build_training_sample(none, messages, message_loss_mask=[1])
    with pytest.raises(TypeError, match="renderer must be the result of create_renderer, not None"):
        build_training_sample(none, messages, message_loss_mask=[0, 1])


def test_roles_trained_by_content_are_treated_as_others_if_is_content_is_unknown() -> None:
    assert built(lists(is_content=[]), content_sft_roles={"user", "assistant"}) == "0000000110"


def test_a_string_is_rejected_as_a_set_of_roles() -> None:
    with pytest.raises(ValueError, match="set of roles"):
        built(content_sft_roles="user")


def test_without_a_sampled_mask_role_to_mask_decides_alone() -> None:
    with pytest.raises(ValueError, match="role_to_mask is required"):
        built(lists(sampled_mask=[]))
    assert built(lists(sampled_mask=[]), role_to_mask=lambda message: message["role"] == "user") == "0001110000"


def test_a_masked_message_is_never_trained() -> None:
    assert built(message_loss_mask=[1, 1, 0]) == "0000000000"
    assert built(message_loss_mask=[True, False, True], content_sft_roles={"user", "system"}) == "0010000110"


def test_tokens_of_an_unknown_message_are_an_error() -> None:
    with pytest.raises(ValueError, match="attributes tokens to message 2"):
        build_training_sample(FixedRenderer(lists()), messages_of("user", "assistant"))
    with pytest.raises(ValueError, match="message_indices"):
        built(lists(message_indices=[]), role_to_mask=lambda message: True)


@pytest.mark.parametrize("mask", [[1], [1, 1, 1, 1], []])
def test_a_message_mask_needs_an_entry_for_each_message(mask: list[int]) -> None:
    with pytest.raises(ValueError, match=f"one entry per message: {len(mask)} for 3"):
        built(message_loss_mask=mask)


@pytest.mark.parametrize("entry", [2, -1, None, "1", -0.5, float("nan"), float("inf")])
def test_an_entry_of_a_message_mask_is_a_bool_or_a_weight(entry: Any) -> None:
    with pytest.raises(ValueError, match=r"message_loss_mask\[1\]"):
        built(message_loss_mask=[1, entry, 1])


def test_options_are_checked_before_anything_is_rendered() -> None:
    renderer = FixedRenderer(lists())
    with pytest.raises(ValueError, match="weights"):
        build_training_sample(renderer, messages_of("user"), weights={"x": 1.0})
    assert renderer.calls == []


def test_changed_lists_are_used() -> None:
    rendered = embedded().render(MESSAGES, tools=TOOLS)
    rendered.sampled_mask[:] = [False] * len(rendered.sampled_mask)
    assert "1" not in bits(build_training_sample(FixedRenderer(rendered), MESSAGES))


def test_the_list_of_ids_of_the_render_is_not_shared() -> None:
    rendered = lists(token_ids=[1] * 10)
    sample = build_training_sample(
        FixedRenderer(rendered), messages_of("system", "user", "assistant"), ensure_final_stop=True
    )
    assert (len(sample.token_ids), len(rendered.token_ids)) == (11, 10)


def test_a_real_render_trains_the_assistant_turns() -> None:
    call = '<|call|>{"name": "look_up", "arguments": {"word": "tea"}}<|/call|>'
    first, second = f"<|think|>A word.<|/think|>Let me see.{call}<|end|>", "It is a drink.<|end|>"
    assert trained_text() == first + second
    assert trained_text(message_loss_mask=[0, 0, 0, 0, 1]) == second
    assert trained_text(content_sft_roles={"tool", "user"}) == f"What is tea?{first}A drink.{second}"


def test_tools_are_rendered() -> None:
    renderer = FixedRenderer(lists())
    build_training_sample(renderer, messages_of("system", "user", "assistant"), tools=TOOLS)
    assert renderer.calls == [(3, TOOLS, False)]


# ==================
# Final stop token
# ==================


def test_a_stop_token_is_appended_if_the_turn_has_none() -> None:
    rendered = lists(token_ids=[1, 2, 3, 4, 5, 6, 7, 8, 8, 10])
    sample = build_training_sample(
        FixedRenderer(rendered), messages_of("system", "user", "assistant"), ensure_final_stop=True
    )
    assert sample.token_ids == [*rendered.token_ids, STOP]
    assert bits(sample) == "00000001101"


def test_no_stop_token_is_appended_if_text_follows_the_stop_token() -> None:
    assert built(ensure_final_stop=True) == "0000000110"


def test_the_first_stop_token_is_appended_and_any_is_enough() -> None:
    messages = messages_of("system", "user", "assistant")
    assert build_training_sample(FixedRenderer(lists(), [3, 4]), messages, ensure_final_stop=True).token_ids[-1] == 3
    assert (
        build_training_sample(FixedRenderer(lists(), [3, STOP]), messages, ensure_final_stop=True).token_ids[-1] == 10
    )


def test_an_untrained_stop_token_does_not_count() -> None:
    assert built(lists(sampled_mask=[at == 7 for at in range(10)]), ensure_final_stop=True) == "00000001001"


@pytest.mark.parametrize("last", ["user", "tool", "system"])
def test_a_stop_token_is_appended_only_to_an_assistant_turn(last: str) -> None:
    messages = messages_of("system", "user", last)
    rendered = lists(sampled_mask=[False] * 10)
    assert len(build_training_sample(FixedRenderer(rendered), messages, ensure_final_stop=True).token_ids) == 10


def test_no_stop_token_is_appended_to_a_turn_that_role_to_mask_excludes() -> None:
    rendered = lists(token_ids=[1] * 10)
    assert built(rendered, ensure_final_stop=True, role_to_mask=lambda message: False) == "0000000000"


def test_the_stop_token_of_a_masked_message_is_appended_and_not_trained() -> None:
    rendered = lists(token_ids=[1] * 10)
    assert built(rendered, ensure_final_stop=True, message_loss_mask=[1, 1, 0]) == "00000000000"


def test_nothing_is_appended_without_a_sampled_mask() -> None:
    rendered = lists(token_ids=[1] * 10, sampled_mask=[])
    assert len(built(rendered, ensure_final_stop=True, role_to_mask=lambda message: True)) == 10


def test_nothing_is_appended_without_messages() -> None:
    sample = build_training_sample(FixedRenderer(RenderedTokens()), [], ensure_final_stop=True)
    assert sample == RenderedTrainingSample([], [])


def test_a_renderer_without_a_stop_token_cannot_append_one() -> None:
    with pytest.raises(ValueError, match="get_stop_token_ids"):
        build_training_sample(
            FixedRenderer(lists(), []), messages_of("system", "user", "assistant"), ensure_final_stop=True
        )


# ==================
# Weights
# ==================


def test_weights_follow_the_mask_by_default() -> None:
    sample = build_training_sample(embedded(), MESSAGES, tools=TOOLS)
    assert sample.loss_weights == [float(trained) for trained in sample.loss_mask]
    assert set(map(type, sample.loss_mask)) == {bool}
    assert set(map(type, sample.loss_weights)) == {float}


def test_weights_of_channels_roles_and_messages_are_multiplied() -> None:
    rendered = embedded().render(MESSAGES, tools=TOOLS)
    weights = {Channel.REASONING: 0.5, "tool_arguments": 2.0, "scaffold": 0.25, "assistant": 3.0}
    sample = build_training_sample(
        embedded(), MESSAGES, tools=TOOLS, weights=weights, message_loss_mask=[1, 1, 0.5, 1, 1]
    )
    by_channel = {
        (message, channel): weight
        for message, channel, weight in zip(
            rendered.message_indices, rendered.channels, sample.loss_weights, strict=True
        )
        if weight
    }
    assert by_channel[2, Channel.REASONING] == 0.5 * 3.0 * 0.5
    assert by_channel[2, Channel.TOOL_ARGUMENTS] == 0.5 * 3.0 * 2.0
    assert by_channel[2, Channel.SCAFFOLD] == 0.5 * 3.0 * 0.25
    assert by_channel[4, Channel.CONTENT] == 3.0
    assert {message for message, _ in by_channel} == {2, 4}


def test_a_weight_of_zero_excludes_tokens() -> None:
    assert "A word." in trained_text()
    assert "A word." not in trained_text(weights={"reasoning": 0})
    assert "<|end|>" not in trained_text(weights={"scaffold": 0.0})
    assert trained_text(message_loss_mask=[1, 1, 0.0, 1, 1]) == "It is a drink.<|end|>"


def test_a_weight_alone_trains_nothing() -> None:
    assert trained_text(weights={"user": 5.0, "tool_result": 5.0, "system": 2}) == trained_text()


def test_an_appended_stop_token_counts_as_scaffold() -> None:
    rendered = RenderedTokens(
        token_ids=[1, 2], message_indices=[0, 0], sampled_mask=[True] * 2, channels=[Channel.CONTENT] * 2
    )
    sample = build_training_sample(
        FixedRenderer(rendered),
        messages_of("assistant"),
        ensure_final_stop=True,
        weights={"scaffold": 0.5, "assistant": 3},
    )
    assert (sample.token_ids, sample.loss_weights) == ([1, 2, STOP], [3.0, 3.0, 1.5])


def test_a_stop_token_with_a_weight_of_zero_is_appended() -> None:
    sample = build_training_sample(embedded(), MESSAGES, tools=TOOLS, ensure_final_stop=True, weights={"scaffold": 0})
    assert sample.token_ids == embedded().render_ids(MESSAGES, tools=TOOLS)


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'reason'.*reasoning.*assistant"):
        trained_text(weights={"reason": 1.0})


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), "1", None])
def test_a_weight_is_a_number_of_at_least_0(weight: Any) -> None:
    with pytest.raises(ValueError, match=r"weights\['content'\]"):
        trained_text(weights={"content": weight})


def test_channel_weights_need_channels_and_role_weights_do_not() -> None:
    with pytest.raises(ValueError, match="channels"):
        built(weights={"reasoning": 0.5})
    assert built(weights={"assistant": 0.5}) == "0000000110"


def test_a_role_named_like_a_channel_does_not_get_its_weight() -> None:
    rendered = RenderedTokens(token_ids=[1], message_indices=[0], sampled_mask=[True], channels=[Channel.CONTENT])
    sample = build_training_sample(FixedRenderer(rendered), messages_of("reasoning"), weights={"reasoning": 0.5})
    assert sample.loss_weights == [1.0]


# ==================
# Images and videos
# ==================


@pytest.mark.filterwarnings("ignore::renderers.MissingStopWarning")
def test_placeholders_have_the_type_of_their_modality() -> None:
    placeholders = {
        "image": [PlaceholderRange(1, 2)],
        "video": [PlaceholderRange(8, 9)],
        "audio": [PlaceholderRange(4, 1)],
    }
    media = MultiModalData(mm_placeholders=placeholders)
    rendered = lists(token_ids=[1] * 10, multi_modal_data=media)
    messages = messages_of("system", "user", "assistant")
    assert build_training_sample(FixedRenderer(rendered), messages).mm_token_type_ids == [0, 1, 1, 0, 0, 0, 0, 0, 2, 2]
    sample = build_training_sample(FixedRenderer(rendered), messages, ensure_final_stop=True)
    assert sample.multi_modal_data is media
    assert sample.mm_token_type_ids is not None
    assert len(sample.mm_token_type_ids) == len(sample.token_ids) == 11


def test_there_is_no_media_data_without_media_and_no_types_without_placeholders() -> None:
    messages = messages_of("system", "user", "assistant")
    empty = build_training_sample(FixedRenderer(lists(multi_modal_data=MultiModalData())), messages)
    assert (empty.multi_modal_data, empty.mm_token_type_ids) == (None, None)
    hashes = build_training_sample(
        FixedRenderer(lists(multi_modal_data=MultiModalData(mm_hashes={"image": ["h"]}))), messages
    )
    assert hashes.multi_modal_data is not None
    assert hashes.mm_token_type_ids is None


# ==================
# All renders and options
# ==================


@st.composite
def attributions(draw: st.DrawFn) -> tuple[list[str], list[TokenRun]]:
    roles = draw(st.lists(st.sampled_from(ROLES), min_size=1, max_size=4))
    runs: list[TokenRun] = []
    for size in draw(st.lists(st.integers(1, 3), max_size=8)):
        end = size + (runs[-1].end if runs else 0)
        message = draw(st.integers(-1, len(roles) - 1))
        runs.append(TokenRun(end, message, draw(st.sampled_from(Channel)), draw(st.booleans()), draw(st.booleans())))
    return roles, runs


@st.composite
def options(draw: st.DrawFn, *, messages: int) -> dict[str, Any]:
    roles = draw(st.none() | st.frozensets(st.sampled_from(ROLES)))
    number = st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0])
    entries = st.lists(st.booleans() | st.sampled_from([0, 1]) | number, min_size=messages, max_size=messages)
    return {
        "role_to_mask": None if roles is None else lambda message: message["role"] in roles,
        "content_sft_roles": draw(st.none() | st.frozensets(st.sampled_from(ROLES))),
        "message_loss_mask": draw(st.none() | entries),
        "weights": draw(st.none() | st.dictionaries(st.sampled_from([*Channel, *ROLES]), number, max_size=4)),
        "ensure_final_stop": draw(st.booleans()),
    }


def rows(runs: Iterable[TokenRun]) -> list[TokenRun]:
    """Return the attribution of each token."""
    attribution: list[TokenRun] = []
    for run in runs:
        attribution += [run] * (run.end - len(attribution))
    return attribution


def as_lists(ids: list[int], runs: Sequence[TokenRun]) -> RenderedTokens:
    tokens = rows(runs)
    return RenderedTokens(
        token_ids=list(ids),
        message_indices=[row.message for row in tokens],
        sampled_mask=[row.sampled for row in tokens],
        is_content=[row.content for row in tokens],
        channels=[row.channel for row in tokens],
    )


def slow_weights(roles: list[str], runs: list[TokenRun], chosen: dict[str, Any]) -> list[float]:
    """Return the weight of each token, computed token by token."""
    weights = chosen["weights"] or {}
    counted = []
    for row in rows(runs):
        if row.message == -1:
            counted.append(0.0)
            continue
        role = roles[row.message]
        if role in (chosen["content_sft_roles"] or ()):
            trained = row.content
        else:
            trained = row.sampled and (chosen["role_to_mask"] is None or chosen["role_to_mask"]({"role": role}))
        factor = 1.0 if chosen["message_loss_mask"] is None else float(chosen["message_loss_mask"][row.message])
        counted.append(factor * weights.get(role, 1.0) * weights.get(row.channel, 1.0) if trained else 0.0)
    return counted


@pytest.mark.filterwarnings("ignore::renderers.MissingStopWarning")
@given(data=st.data())
def test_samples_from_runs_and_from_lists_equal_a_slow_reference(data: st.DataObject) -> None:
    roles, runs = data.draw(attributions())
    chosen = data.draw(options(messages=len(roles)))
    ids = data.draw(st.lists(st.integers(1, STOP), min_size=len(rows(runs)), max_size=len(rows(runs))))
    fast = tokens_of_runs(list(ids), runs, message_roles=roles, message_tool_names=[None] * len(roles))
    sample = build_training_sample(FixedRenderer(fast), messages_of(*roles), **chosen)
    assert sample == build_training_sample(FixedRenderer(as_lists(ids, runs)), messages_of(*roles), **chosen)
    assert sample.loss_weights[: len(ids)] == slow_weights(roles, runs, chosen)
    assert sample.loss_mask == [weight > 0 for weight in sample.loss_weights]
    assert sample.token_ids in (ids, [*ids, STOP]) if chosen["ensure_final_stop"] else sample.token_ids == ids


@given(data=st.data())
def test_no_token_outside_the_wanted_roles_is_trained_in_a_real_render(data: st.DataObject) -> None:
    roles = data.draw(st.lists(st.sampled_from(("user", "assistant")), min_size=1, max_size=4))
    messages = [{"role": role, "content": data.draw(st.text("ab \n", min_size=1))} for role in roles]
    chosen = data.draw(options(messages=len(roles)))
    sample = build_training_sample(embedded(), messages, **chosen)
    rendered = embedded().render(messages)
    assert sample.token_ids[: len(rendered.token_ids)] == rendered.token_ids
    assert len(sample.token_ids) == len(sample.loss_mask) == len(sample.loss_weights)
    for trained, message in zip(sample.loss_mask, rendered.message_indices, strict=False):
        assert not trained or message >= 0
        if trained and messages[message]["role"] not in (chosen["content_sft_roles"] or ()):
            assert messages[message]["role"] == "assistant"
            assert chosen["role_to_mask"] is None or chosen["role_to_mask"](messages[message])


# ==================
# Real models
# ==================


@pytest.mark.skipif(not HUB_AT_HAND, reason="real models are not available (set SHARED)")
@pytest.mark.parametrize(
    ("name", "appended"), [("Qwen/Qwen3-8B", []), ("zai-org/GLM-4.5-Air", ["<|endoftext|>"])], ids=["qwen3", "glm-4.5"]
)
def test_a_stop_token_is_appended_if_the_template_writes_none(hub: object, name: str, appended: list[str]) -> None:
    renderer = create_renderer(load_tokenizer(name))
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    with pytest.warns(MissingStopWarning) if appended else contextlib.nullcontext():
        plain = build_training_sample(renderer, messages)
    assert plain.turns[-1].has_stop is not bool(appended)
    stopped = build_training_sample(renderer, messages, ensure_final_stop=True)
    added = stopped.token_ids[len(plain.token_ids) :]
    assert stopped.token_ids == plain.token_ids + added
    assert [renderer.tokenizer.decode([token]) for token in added] == appended
    assert stopped.loss_mask == plain.loss_mask + [True] * len(added)


def test_ids_changed_after_a_render_need_attribution_of_the_same_length() -> None:
    class Appending:
        def render(self, messages: list[Any], *, tools: Any = None, add_generation_prompt: bool = False) -> Any:
            rendered = embedded().render(messages, tools=tools, add_generation_prompt=add_generation_prompt)
            rendered.token_ids.append(0)
            return rendered

        def render_ids(self, messages: list[Any], **options: Any) -> list[int]:
            return embedded().render_ids(messages, **options)

        def get_stop_token_ids(self) -> list[int]:
            return embedded().get_stop_token_ids()

    with pytest.raises(ValueError, match="message_indices"):
        build_training_sample(Appending(), [{"role": "user", "content": "Hi"}])


def test_a_render_without_attribution_is_rejected() -> None:
    ids = array("I", [1, 2, 3])
    rendered = tokens_of_runs(ids, (), message_roles=["user"], message_tool_names=[None])
    with pytest.raises(ValueError, match="message_indices"):
        build_training_sample(FixedRenderer(rendered), messages_of("user"))
