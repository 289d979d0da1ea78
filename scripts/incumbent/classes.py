"""The classes of tests of release 0.1 that fail on this package, each with its reason."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureClass:
    """Failures with one reason, found by patterns of test ids and of the first line of the message."""

    name: str
    reason: str
    tests: tuple[str, ...]
    message: str | None = None


GPT_OSS_TESTS = r"gpt-oss", r"::test_harmony_"
"""Patterns of the tests of gpt-oss."""


def is_gpt_oss(test: str) -> bool:
    """Return True for a test of gpt-oss."""
    return any(re.search(pattern, test) for pattern in GPT_OSS_TESTS)


CLASSES: tuple[FailureClass, ...] = (
    FailureClass(
        name="gpt-oss",
        reason=(
            "The tests compare with their own conversion to Harmony messages: it opens the channel `analysis` in the "
            "generation prompt, writes calls without `<\\|constrain\\|>json` and text beside calls in `final`, moves "
            "system messages, drops the reasoning of the last turn, and writes a developer message for an empty system "
            "message. Here the prompt is that of OpenAI's encoder, calls and text beside them are as in its "
            "documentation of the format, and no reasoning of the last turn is lost. "
            '`program="harmony-0.1"` gives the conversion of release 0.1. With it, five tests '
            "fail: bridges to a user's message after calls, which keep their reasoning, and after reasoning that was "
            "cut off; calls without `<\\|call\\|>`, which are complete here; and two texts of reasoning, which are "
            "joined by a line break here."
        ),
        tests=GPT_OSS_TESTS,
    ),
    FailureClass(
        name="think blocks of models without reasoning (Qwen3-VL, Kimi K2)",
        reason=(
            "The templates of these models have no reasoning. Here a think block is content, so that the parsed "
            'message renders to the sampled ids. `reasoning_parser="think"` parses it as reasoning.'
        ),
        tests=(r"^tests/test_reasoning_boundaries\.py::.*[-\[](kimi-k2|qwen3-vl)\]",),
    ),
    FailureClass(
        name="bridges after reasoning that was cut off",
        reason=(
            "The tests expect that only the closing marker follows the reasoning. Here the bridge closes it as the "
            "template does, with its whitespace, or refuses with a reason."
        ),
        tests=(r"::test_every_reasoning_bridge_preserves_prefix_or_refuses_sampled_stop",),
    ),
    FailureClass(
        name="calls inside reasoning that is not closed",
        reason="The tests expect reasoning. Here a call ends the reasoning, unless the closing marker follows later.",
        tests=(
            r"::test_tool_drafts_in_unfinished_reasoning_are_not_executable",
            r"::test_default_renderer_uses_prompt_before_extracting_tool_drafts",
        ),
    ),
    FailureClass(
        name="completions without a prompt (GLM, DeepSeek V4)",
        reason=(
            "The tests expect that a completion without `prompt_ids` begins within reasoning, if the config enables "
            "thinking. Here it is parsed as after the generation prompt of the renderer."
        ),
        tests=(r"::test_missing_and_empty_prompt_are_self_contained\[(deepseek-v4|glm)",),
    ),
    FailureClass(
        name="second think block (GLM, DeepSeek V4)",
        reason=(
            "The tests expect one text from several think blocks. Here a later block is content, so that the parsed "
            "message renders to the sampled ids."
        ),
        tests=(
            r"^tests/test_tagged_rollout\.py::test_unfinished_reasoning",
            r"^tests/test_tagged_rollout\.py::test_repeated_calls.*-False\]",
        ),
    ),
    FailureClass(
        name="empty think block in the history",
        reason=(
            "With thinking off, release 0.1 writes an empty think block into every turn. Here the template decides; "
            '`prefill="kept"` writes it.'
        ),
        tests=(
            r"^tests/test_disabled_thinking_stability\.py::",
            r"::test_disabled_thinking_post_tool_completion_matches_sampled_stream",
        ),
    ),
    FailureClass(
        name="pixels",
        reason="This release does not run image processors: it accepts no `processor=`.",
        tests=(r"^tests/test_nemotron35_vlm\.py::",),
    ),
    FailureClass(
        name="parts of unknown types",
        reason="The tests expect that parts without text are dropped in silence. Here they are a `MessageError`.",
        tests=(r"::test_qwen38_structured_",),
        message="MessageError",
    ),
    FailureClass(
        name="objects that are not tokenizers",
        reason=(
            "The tests create renderers with objects that cannot encode. Here this is a `TypeError` that names the "
            "missing methods."
        ),
        tests=(r"^tests/test_renderer_config\.py::", r"::test_construction_does_not_call_apply_chat_template"),
        message="cannot be used as a tokenizer",
    ),
    FailureClass(
        name="whitespace around content and reasoning",
        reason=(
            "Whitespace that the template writes itself is not part of a field, and other whitespace is kept. Release "
            "0.1 trims it for some families and keeps it for others."
        ),
        tests=(
            r"::test_dsml_roundtrip_preserves_string_and_json_argument_types",
            r"::test_dsml_parser_accepts_vllm_tool_opener_without_template_newlines",
            r"::test_deepseek_v3_in_think_section_is_not_a_real_call",
            r"::test_literal_delimiters_survive_generate_and_tool_continuation",
            r"::test_tool_opener_ends_unclosed_reasoning\[(True|False)-deepseek-v4\]",
            r"^tests/test_tagged_rollout\.py::test_repeated_calls.*-True\]",
        ),
    ),
    FailureClass(
        name="arguments that are not an object",
        reason="The tests expect an `AttributeError`. Here they are written as the template or encoder writes them.",
        tests=(r"::test_json_nonobject_tool_arguments_raise_like_reference_encoder",),
    ),
    FailureClass(
        name="default date (Llama 3)",
        reason="`renderer.config.date_string` is None if the date is that of `date`. Release 0.1 stores the text.",
        tests=(r"::test_default_date_matches_chat_template_strftime_fallback",),
    ),
    FailureClass(
        name="transformers",
        reason="The tests patch `AutoTokenizer.from_pretrained`. Here tokenizers are loaded without transformers.",
        tests=(r"^tests/test_load_tokenizer\.py::",),
    ),
    FailureClass(
        name="texts of errors",
        reason="The error has the text of the template.",
        tests=(r"::test_render_raises_on_multiple_tool_calls",),
        message="Regex pattern did not match",
    ),
    FailureClass(
        name="content beside calls (Gemma 4)",
        reason=(
            "The template writes this content after the result, where the model did not sample it. Here it is not "
            "trained."
        ),
        tests=(r"::test_build_training_sample_message_loss_mask\[google/gemma-4",),
    ),
    FailureClass(
        name="weights in message_loss_mask",
        reason="The test expects an error for the entry 1.0. Here an entry can be a weight.",
        tests=(r"::test_build_training_sample_rejects_invalid_message_loss_mask\[selection6\]",),
    ),
    FailureClass(
        name="tokens across the border of a content",
        reason="A token that begins with a quote or a bracket of the format is not content. Other ids are the same.",
        tests=(r"::test_is_content_recovers_tool_body",),
    ),
    FailureClass(
        name="conversations without a user message (Qwen3.8)",
        reason="The tests expect an error. Here a lone system message is rendered.",
        tests=(r"::test_qwen38_requires_a_real_user_query",),
    ),
    FailureClass(
        name="bridges after turns without reasoning",
        reason="The tests expect None. Here a bridge extends the rollout, as the template changes nothing before it.",
        tests=(r"::test_bridge_declines_across_user_query_when_template_drops_thinking",),
    ),
    FailureClass(
        name="messages that a template drops",
        reason="The tests expect that the message is dropped in silence. Here it is a `LossError`.",
        tests=(r"::test_reference_encoder_drops_stale_developer_messages_without_tools",),
        message="LossError",
    ),
    FailureClass(
        name="generation prompt of DeepSeek R1 and V3",
        reason="The tests expect a prompt without `<think>`. Here it is that of the template.",
        tests=(r"^tests/test_deepseek_r1\.py::test_generation_prompt_differs",),
    ),
    FailureClass(
        name="other registries and private attributes",
        reason=(
            "This package has more families, switches and parsers: tools work without `tool_parser`, `content` is "
            "optional in `Message`, fields of config classes need no classification, and tokenizers are immutable."
        ),
        tests=(
            r"::test_(continuation_)?catalog_covers_",
            r"::test_default_renderer_without_parsers_is_backward_compatible",
            r"::test_disabled_thinking_prefill_tracks_template_revision",
            r"::test_renderer_specific_fields_require_explicit_classification",
            r"::test_message_required_keys",
        ),
    ),
)
