"""Training samples in which every turn has the context that the model samples it in."""

from __future__ import annotations

import contextlib
import pickle
import random
import warnings
from typing import Any

import pytest

from renderers import (
    ChatRenderer,
    Gemma4RendererConfig,
    LossError,
    LossWarning,
    MediaError,
    MessageError,
    MissingStopWarning,
    PromptMismatchWarning,
    RenderedTrainingSample,
    TemplateError,
    build_preference_pair,
    build_training_sample,
    build_training_samples,
    create_renderer,
    load_tokenizer,
)
from renderers.training import contexts
from tests.stress_training import MODELS, run
from tests.support.models import HUB_AT_HAND
from tests.support.rows import problem_of, random_chat
from tests.support.sources import wrong_in
from tests.support.training import MESSAGES, TOOLS, FixedRenderer, embedded, lists, messages_of

QWEN3, CODER, GLM = "Qwen/Qwen3-8B", "Qwen/Qwen3-Coder-30B-A3B-Instruct", "zai-org/GLM-4.5-Air"
needs_hub = pytest.mark.skipif(not HUB_AT_HAND, reason="real models are not available (set SHARED)")

DROPS = (
    "{% for m in messages %}<|turn|>{{ m.role }}\n"
    "{% if m.reasoning_content and loop.last %}<|think|>{{ m.reasoning_content }}<|/think|>{% endif %}"
    "{{ m.content }}<|end|>\n{% endfor %}{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
"""Drops the reasoning of all messages but the last."""
TALK = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "reasoning_content": "A greeting.", "content": "Hello!"},
    {"role": "user", "content": "2 + 2?"},
    {"role": "assistant", "content": "4"},
    {"role": "user", "content": "Sure?"},
    {"role": "assistant", "reasoning_content": "Yes.", "content": "Sure."},
]


def rewriting(**options: Any) -> ChatRenderer:
    return create_renderer(embedded().tokenizer, chat_template=DROPS, **options)


def trained_texts(renderer: ChatRenderer, samples: list[RenderedTrainingSample]) -> list[str]:
    return [
        renderer.tokenizer.decode(
            [token for token, mask in zip(sample.token_ids, sample.loss_mask, strict=True) if mask]
        )
        for sample in samples
    ]


def turns_of(samples: list[RenderedTrainingSample]) -> list[list[int]]:
    return [[turn.message for turn in sample.turns] for sample in samples]


# ==================
# Rows
# ==================


def test_an_append_only_template_gives_one_row_with_the_ids_of_the_render() -> None:
    (sample,) = build_training_samples(embedded(), MESSAGES, tools=TOOLS)
    whole = build_training_sample(embedded(), MESSAGES, tools=TOOLS)
    assert (sample.token_ids, sample.loss_mask) == (whole.token_ids, whole.loss_mask)
    assert [(turn.message, turn.has_stop, turn.follows_prompt) for turn in sample.turns] == [
        (2, True, True),
        (4, True, True),
    ]
    assert sample.message_indices == embedded().render(MESSAGES, tools=TOOLS).message_indices


def test_a_template_that_rewrites_history_gives_a_row_for_each_context() -> None:
    samples = build_training_samples(rewriting(), TALK)
    assert turns_of(samples) == [[1], [3, 5]]
    assert trained_texts(rewriting(), samples) == [
        "<|think|>A greeting.<|/think|>Hello!<|end|>",
        "4<|end|><|think|>Yes.<|/think|>Sure.<|end|>",
    ]
    assert [sample.token_ids for sample in samples] == [rewriting().render_ids(TALK[:end]) for end in (2, 6)]
    assert all(sample.lost_reasoning == () for sample in samples)


def test_messages_after_the_last_turn_are_left_out() -> None:
    follow_up = [*TALK, {"role": "user", "content": "Bye"}]
    assert build_training_samples(rewriting(), follow_up) == build_training_samples(rewriting(), TALK)
    assert build_training_samples(embedded(), TALK[:1]) == []
    assert build_training_samples(embedded(), iter(TALK)) == build_training_samples(embedded(), TALK)


def test_a_turn_that_rewrites_its_own_context_follows_its_prompt() -> None:
    # The reasoning of a call is dropped as soon as an answer follows.
    template = DROPS.replace("loop.last", "(messages | last).role != 'assistant' or (messages | last).tool_calls")
    renderer = create_renderer(embedded().tokenizer, chat_template=template)
    call = {"type": "function", "function": {"name": "f", "arguments": {}}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "reasoning_content": "Look.", "content": "One moment.", "tool_calls": [call]},
        {"role": "tool", "content": "3"},
        {"role": "assistant", "content": "Three."},
    ]
    (sample,) = build_training_samples(renderer, messages)
    prompt = renderer.render_ids(messages[:3], add_generation_prompt=True)
    assert sample.token_ids[: len(prompt)] == prompt
    assert sample.token_ids != renderer.render_ids(messages)
    assert trained_texts(renderer, [sample]) == ["<|think|>Look.<|/think|>One moment.<|end|>Three.<|end|>"]
    assert problem_of(renderer, messages, [sample]) is None


def test_only_the_last_turn_is_trained_on_request() -> None:
    (sample,) = build_training_samples(embedded(), TALK, turns="last")
    assert [turn.message for turn in sample.turns] == [5]
    assert sample.token_ids == embedded().render_ids(TALK)
    with pytest.raises(ValueError, match="turns must be 'all' or 'last', not 'first'"):
        build_training_samples(embedded(), TALK, turns="first")  # type: ignore[arg-type]


def test_a_turn_with_weight_zero_needs_no_row() -> None:
    assert turns_of(build_training_samples(rewriting(), TALK, message_loss_mask=[1, 0, 1, 1, 1, 1])) == [[3, 5]]
    assert turns_of(build_training_samples(rewriting(), TALK, message_loss_mask=[1, 1, 1, 1, 1, 0])) == [[1], [3]]
    assert build_training_samples(rewriting(), TALK, weights={"assistant": 0.0}) == []


def test_weights_apply_to_every_row() -> None:
    samples = build_training_samples(
        rewriting(), TALK, weights={"reasoning": 0.5}, message_loss_mask=[1, 2.0, 1, 1, 1, 1]
    )
    assert [sorted({*sample.loss_weights}) for sample in samples] == [[0.0, 1.0, 2.0], [0.0, 0.5, 1.0]]


def test_arguments_of_the_template_are_passed_on() -> None:
    template = DROPS.replace("loop.last", "(loop.last or keep)")
    renderer = create_renderer(embedded().tokenizer, chat_template=template)
    assert turns_of(build_training_samples(renderer, TALK)) == [[1], [3, 5]]
    assert turns_of(build_training_samples(renderer, TALK, keep=True)) == [[1, 3, 5]]
    assert build_training_sample(renderer, TALK, keep=True).lost_reasoning == ()
    with pytest.raises(TypeError, match="'kept' is neither"):
        build_training_samples(renderer, TALK, kept=True)


def test_media_are_an_error_or_placeholders() -> None:
    parts = "{% for part in m.content %}{{ part.text if part.type == 'text' else '[image]' }}{% endfor %}"
    content = "{% if m.content is string %}{{ m.content }}{% else %}" + parts + "{% endif %}"
    renderer = create_renderer(embedded().tokenizer, chat_template=DROPS.replace("{{ m.content }}", content))
    messages = [{"role": "user", "content": [{"type": "image"}]}, {"role": "assistant", "content": "A cat."}]
    for build in (build_training_sample, build_training_samples):
        with pytest.raises(MediaError):
            build(renderer, messages)
        assert build(renderer, messages, process_multimodal=False)


def test_a_renderer_without_attribution_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"gives no channels.*build_training_sample"):
        build_training_samples(FixedRenderer(lists()), messages_of("system", "user", "assistant"))


# ==================
# Many turns
# ==================


def test_arguments_of_a_wrong_type_are_named() -> None:
    builds: list[Any] = [build_training_samples, lambda none, chat: build_preference_pair(none, chat, chat[1], chat[1])]
    for build in builds:
        with pytest.raises(TypeError, match="renderer must be the result of create_renderer, not None"):
            build(None, TALK)
    wrong: Any = 3
    with pytest.raises(TypeError, match="weights must be"):
        build_training_samples(embedded(), TALK, weights=wrong)
    with pytest.raises(TypeError, match="message_loss_mask must be"):
        build_training_samples(embedded(), TALK, message_loss_mask=wrong)
    with pytest.raises(MessageError, match="tools must be a list"):
        build_training_samples(embedded(), TALK, tools=wrong)


def count_renders(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of messages of each render."""
    counts: list[int] = []
    render = ChatRenderer.render

    def counted(self: ChatRenderer, messages: Any, **options: Any) -> Any:
        counts.append(len(messages))
        return render(self, messages, **options)

    monkeypatch.setattr(ChatRenderer, "render", counted)
    return counts


@pytest.mark.parametrize("turns", [50, 200])
def test_the_cost_is_linear_for_an_append_only_template(turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = random_chat(random.Random(1), turns=turns)
    counts = count_renders(monkeypatch)
    (sample,) = build_training_samples(embedded(), messages)
    assert len(sample.turns) == turns
    assert sum(counts) < 7 * len(messages)


def test_turns_of_a_kind_are_compared_if_some_of_them_differ() -> None:
    # The reasoning of the last ten messages is kept: only some turns are in their own context in the last row.
    template = DROPS.replace("loop.last", "loop.revindex <= 10")
    renderer = create_renderer(embedded().tokenizer, chat_template=template)
    messages = TALK[:2] * 80
    samples = build_training_samples(renderer, messages)
    assert problem_of(renderer, messages, samples) is None
    assert len(samples) > 60


@pytest.mark.parametrize("seed", range(3))
def test_few_comparisons_find_the_same_rows_as_all(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = random_chat(random.Random(seed), turns=25)
    samples = build_training_samples(rewriting(), messages)
    monkeypatch.setattr(contexts, "_ALL_COMPARED", 4)
    assert build_training_samples(rewriting(), messages) == samples


# ==================
# Losses
# ==================


def test_reasoning_that_a_row_trains_is_not_lost() -> None:
    strict = rewriting(on_loss="error")
    samples = build_training_samples(strict, TALK)
    assert trained_texts(strict, samples) == trained_texts(rewriting(), build_training_samples(rewriting(), TALK))
    with pytest.raises(LossError, match="message 1: reasoning_content"):
        build_training_samples(strict, TALK, turns="last")


def test_a_field_that_no_row_has_is_reported_once() -> None:
    template = DROPS.replace("{% for m in messages %}", "{% for m in messages if m.role != 'human' %}")
    expectations: list[tuple[Any, Any]] = [("error", pytest.raises(LossError)), ("warn", pytest.warns(LossWarning))]
    for policy, expected in expectations:
        renderer = create_renderer(embedded().tokenizer, chat_template=template, on_loss={"message": policy})
        with expected as caught:
            # A message after the last turn is in no row, but its role is wrong all the same.
            build_training_samples(renderer, [*TALK, {"role": "human", "content": "z"}])
        assert policy == "error" or [warning.filename for warning in caught] == [__file__]


# ==================
# Stop tokens
# ==================


def test_a_turn_without_a_stop_token_is_reported() -> None:
    is_open = "loop.last and m.role == 'assistant'"
    template = DROPS.replace("<|end|>\n{% endfor %}", f"{{% if not ({is_open}) %}}<|end|>\n{{% endif %}}{{% endfor %}}")
    renderer = create_renderer(embedded().tokenizer, chat_template=template)
    with pytest.warns(MissingStopWarning, match="ensure_final_stop=True") as caught:
        samples = build_training_samples(renderer, TALK)
    assert [warning.filename for warning in caught] == [__file__]
    assert [sample.turns[-1].has_stop for sample in samples] == [True, False]
    with pytest.warns(MissingStopWarning):
        assert not build_training_sample(renderer, TALK).turns[-1].has_stop
    stopped = build_training_samples(renderer, TALK, ensure_final_stop=True)
    assert trained_texts(renderer, stopped)[-1].endswith("Sure.<|end|>")


def test_a_turn_that_is_cut_off_is_not_reported() -> None:
    is_open = "loop.last and m.role == 'assistant'"
    ending = f"{{% if not ({is_open}) %}}<|end|>\n{{% endif %}}{{% endfor %}}"
    opening = "<|turn|>assistant\n{% if messages | length > 3 %}<|think|>{% endif %}{% endif %}"
    template = DROPS.replace("<|end|>\n{% endfor %}", ending).replace("<|turn|>assistant\n{% endif %}", opening)
    renderer = create_renderer(embedded().tokenizer, chat_template=template)
    messages = [*TALK[2:4], *TALK[2:4], *TALK[2:4]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (whole,) = build_training_samples(renderer, messages)
    assert {warning.category for warning in caught} == {MissingStopWarning, PromptMismatchWarning}
    for build in (build_training_samples, build_training_sample):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            build(renderer, messages, max_length=whole.turns[0].end, overlong="cut")
            build(renderer, messages, max_length=1, overlong="drop")


# ==================
# Length
# ==================


def test_a_row_that_is_too_long_is_an_error_dropped_or_cut() -> None:
    renderer = embedded()
    (whole,) = build_training_samples(renderer, TALK)
    limit = whole.turns[1].end + 1
    with pytest.raises(ValueError, match=rf"has {len(whole.token_ids)} tokens, and max_length is {limit}.*overlong"):
        build_training_samples(renderer, TALK, max_length=limit)
    assert build_training_samples(renderer, TALK, max_length=limit, overlong="drop") == []
    assert build_training_samples(renderer, TALK, max_length=len(whole.token_ids)) == [whole]
    (cut,) = build_training_samples(renderer, TALK, max_length=limit, overlong="cut")
    assert cut.token_ids == whole.token_ids[: whole.turns[1].end]
    assert [turn.message for turn in cut.turns] == [1, 3]
    assert {len(values) for values in (cut.token_ids, cut.loss_mask, cut.loss_weights, cut.message_indices)} == {
        whole.turns[1].end
    }
    assert build_training_samples(renderer, TALK, max_length=3, overlong="cut") == []


def test_one_sample_follows_the_same_policies() -> None:
    whole = build_training_sample(embedded(), TALK)
    limit = whole.turns[0].end
    with pytest.raises(ValueError, match="max_length"):
        build_training_sample(embedded(), TALK, max_length=limit)
    assert build_training_sample(embedded(), TALK, max_length=limit, overlong="drop") is None
    cut = build_training_sample(embedded(), TALK, max_length=limit, overlong="cut")
    assert cut is not None
    assert cut.token_ids == whole.token_ids[:limit]


@pytest.mark.parametrize("options", [{"max_length": 0}, {"max_length": "9"}, {"overlong": "truncate"}])
@pytest.mark.parametrize("build", [build_training_sample, build_training_samples])
def test_an_invalid_limit_is_an_error(build: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        build(embedded(), TALK, **options)


# ==================
# Reports
# ==================


def test_one_sample_reports_turns_that_lost_their_reasoning() -> None:
    assert build_training_sample(rewriting(), TALK).lost_reasoning == (1,)
    assert build_training_sample(embedded(), TALK).lost_reasoning == ()
    parts = [{"type": "thinking", "thinking": "A greeting."}, {"type": "text", "text": "Hello!"}]
    inline = "<|think|>A greeting.<|/think|>Hello!"
    for content in (parts, inline):
        strips = DROPS.replace("{{ m.content }}", "{{ 'Hello!' if m.role == 'assistant' else m.content }}")
        renderer = create_renderer(embedded().tokenizer, chat_template=strips, on_loss="ignore")
        messages = [TALK[0], {"role": "assistant", "content": content}, TALK[0]]
        assert build_training_sample(renderer, messages).lost_reasoning == (1,)


def test_a_turn_that_does_not_follow_its_prompt_is_reported() -> None:
    template = DROPS.replace("<|turn|>assistant\n{% endif %}", "<|turn|>assistant\n<|think|>{% endif %}")
    renderer = create_renderer(embedded().tokenizer, chat_template=template)
    with pytest.warns(PromptMismatchWarning, match="enable_thinking=False"):
        samples = build_training_samples(renderer, TALK)
    follows = {turn.message: turn.follows_prompt for sample in samples for turn in sample.turns}
    assert follows == {1: True, 3: False, 5: True}
    assert problem_of(renderer, TALK, samples) is None


@pytest.mark.parametrize(
    ("name", "arguments", "remedy"),
    [
        ("zai-org/GLM-4.7-Flash", {"enable_thinking": False}, None),
        ("google/gemma-4-31B-it", {}, Gemma4RendererConfig(prefill="kept")),
    ],
)
def test_the_remedies_of_a_mismatch_work(hub: object, name: str, arguments: dict[str, Any], remedy: Any) -> None:
    tokenizer, chat = load_tokenizer(name), [TALK[0], {"role": "assistant", "content": "x"}, *TALK[2:4]]
    with pytest.warns(PromptMismatchWarning, match='(?s)enable_thinking=False.*prefill="kept"'):
        build_training_samples(create_renderer(tokenizer), chat, ensure_final_stop=True)
    samples = build_training_samples(create_renderer(tokenizer, remedy), chat, ensure_final_stop=True, **arguments)
    assert all(turn.follows_prompt for sample in samples for turn in sample.turns)


def test_a_first_turn_has_no_prompt_to_compare_with() -> None:
    (sample,) = build_training_samples(embedded(), [{"role": "assistant", "content": "Welcome!"}, *TALK[:2]])
    assert [turn.follows_prompt for turn in sample.turns] == [None, True]


def test_samples_can_be_pickled() -> None:
    samples = build_training_samples(rewriting(), TALK)
    assert pickle.loads(pickle.dumps(samples)) == samples


# ==================
# Real models
# ==================


@pytest.mark.parametrize("name", MODELS)
def test_every_turn_of_a_real_model_is_trained_once_in_its_own_context(name: str) -> None:
    counts = run((name, 0, 2), longest=9)
    assert wrong_in(counts) == []
    assert counts["rows"] > 0 or counts["refused"] > 0


@needs_hub
@pytest.mark.parametrize(("name", "rows"), [(QWEN3, 12), (CODER, 1)], ids=["qwen3", "qwen3-coder"])
def test_rows_of_a_long_conversation(hub: object, name: str, rows: int) -> None:
    renderer = create_renderer(load_tokenizer(name))
    messages = TALK[:2] * 12
    samples = build_training_samples(renderer, messages)
    assert len(samples) == rows
    assert problem_of(renderer, messages, samples) is None
    trained = "".join(trained_texts(renderer, samples))
    assert trained.count("A greeting.") == (12 if rows == 12 else 0)
    assert {message for sample in samples for message in sample.lost_reasoning} == set(
        () if rows == 12 else range(1, 24, 2)
    )


@needs_hub
@pytest.mark.parametrize(
    ("name", "follows"), [("MiniMaxAI/MiniMax-M2", False), ("Qwen/Qwen3.5-9B", True), (CODER, True)]
)
def test_a_token_may_contain_the_end_of_the_prompt(hub: object, name: str, follows: bool) -> None:
    # The prompt of MiniMax ends with a marker that the turn does not have; those of the others end with a line break.
    renderer = create_renderer(load_tokenizer(name))
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "\n\nSo"}]
    with contextlib.nullcontext() if follows else pytest.warns(PromptMismatchWarning):
        samples = build_training_samples(renderer, messages)
    assert [turn.follows_prompt for sample in samples for turn in sample.turns] == [follows]
    assert problem_of(renderer, messages, samples) is None


@needs_hub
def test_glm_ends_a_turn_with_the_token_that_opens_the_next_message(hub: object) -> None:
    renderer = create_renderer(load_tokenizer(GLM))
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": {"word": "tea"}}}
    called = [TALK[0], {"role": "assistant", "content": "", "tool_calls": [call]}]
    with pytest.warns(MissingStopWarning):
        samples = build_training_samples(renderer, TALK)
    assert trained_texts(renderer, samples) == [
        "\n<think>A greeting.</think>\nHello!<|user|>",
        "\n<think></think>\n4<|user|>\n<think>Yes.</think>\nSure.",
    ]
    stopped = [build_training_samples(renderer, chat, tools=TOOLS, ensure_final_stop=True) for chat in (TALK, called)]
    assert [trained_texts(renderer, samples)[-1].rpartition("<|")[2] for samples in stopped] == [
        "user|>",
        "observation|>",
    ]


def test_a_prefix_that_the_template_rejects_is_trained_in_the_whole_conversation() -> None:
    condition = "messages | length < 3 and messages[0].content == '2 + 2?'"
    template = f"{{% if {condition} %}}{{{{ raise_exception('too short') }}}}{{% endif %}}" + DROPS
    renderer = create_renderer(embedded().tokenizer, chat_template=template)
    (sample,) = build_training_samples(renderer, TALK[2:])
    assert [(turn.message, turn.follows_prompt) for turn in sample.turns] == [(1, None), (3, True)]
    with pytest.raises(TemplateError, match="too short"):
        build_training_samples(renderer, TALK[2:4])


def test_no_warning_is_raised_for_a_usual_conversation() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build_training_samples(embedded(), MESSAGES, tools=TOOLS)
