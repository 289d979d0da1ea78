"""Gemma: user and model turns. Gemma 4 has channels, tools and its own value syntax."""

from __future__ import annotations

from renderers.core.completion_variants import CompletionVariants
from renderers.families.family import WITHOUT_THINKING, Family, flag, keeps_all_if, words

_GEMMA_3 = Family(
    key="gemma3",
    class_name="Gemma3",
    format="""
    <bos>, then <start_of_turn>{role}\\n{content}<end_of_turn>\\n; the assistant's role is model
    system     no own turn: before the first user message, followed by a blank line
    image      <start_of_image>
    prompt     <start_of_turn>model\\n
    no reasoning, no tools; users and the model must take turns
    """,
    names=("google/gemma-3-4b-it", "google/gemma-3-12b-it", "google/gemma-3-27b-it"),
    templates=("7de1c58e208eda46", "959b257e7fc1603f"),
    verified="tokens",
    stop_tokens=("<end_of_turn>", "<eos>"),
    normalisations=("drops_reasoning", "drops_calls", "trims_content"),
    media=("image",),
)

_GEMMA_4 = Family(
    key="gemma4",
    class_name="Gemma4",
    version=2,
    format="""
    <bos>, then <|turn>{role}\\n{content}<turn|>\\n; the assistant's role is model
    system     if there is a system message, thinking or tools: <|think|>, the message, <|tool>declaration:...<tool|>
    reasoning  <|channel>thought\\n{reasoning}\\n<channel|>, only after the last user message
    call       <|tool_call>call:{name}{{key}:{value},...}<tool_call|> before the content; a string is <|"|>...<|"|>
    result     in the model's turn: <|tool_response>response:{name}{value:...}<tool_response|>
    image      <|image|>; also <|video|> and <|audio|>
    prompt     <|turn>model\\n; for the large models without thinking also <|channel>thought\\n<channel|>; nothing after
               results, because the model's turn continues
    """,
    names=("google/gemma-4-E2B-it", "google/gemma-4-E4B-it", "google/gemma-4-26B-A4B-it", "google/gemma-4-31B-it"),
    templates=words("""
        85a08664d16d8f3b 55572b8d3c834204 65f93a25708c9524 9aeb7eac68ad87bb cf1664f301605c2f
    """),
    verified="tokens",
    stop_tokens=("<turn|>", "<|tool_response>", "<eos>"),
    switches=(flag("enable_thinking", False), flag("preserve_thinking", False)),
    retains=(*keeps_all_if("preserve_thinking", True), WITHOUT_THINKING),
    syntax="gemma",
    # Some templates write no reasoning at all.
    variants=CompletionVariants(
        reasoning=("<|channel>", "<channel|>"), reasoning_lead="thought\n", reasoning_anywhere=True
    ),
    normalisations=("trims_content", "drops_reasoning_without_calls"),
    media=("image", "video", "audio"),
)

RECORDS = (
    _GEMMA_3,
    _GEMMA_4,
)
