"""Gemma: turns of users and models; the fourth has channels, tools and its own syntax for values."""

from __future__ import annotations

from renderers.families.family import Family, Retains, Switch

__all__ = ["GEMMA"]

GEMMA_3 = Family(
    key="gemma3",
    format="""
    <bos>, then <start_of_turn>{role}\\n{content}<end_of_turn>\\n; the assistant's role is model
    system     no turn of its own: before the first user's message, with a blank line behind it
    image      <start_of_image>
    prompt     <start_of_turn>model\\n
    no reasoning, no tools; users and the model must take turns
    """,
    names=("google/gemma-3-4b-it", "google/gemma-3-12b-it", "google/gemma-3-27b-it"),
    templates=("7de1c58e208eda46", "959b257e7fc1603f"),
    verified="tokens",
    stops=("<end_of_turn>", "<eos>"),
    normalisations=("drops_reasoning", "drops_calls", "trims_content"),
    media=("image",),
)

GEMMA_4 = Family(
    key="gemma4",
    format="""
    <bos>, then <|turn>{role}\\n{content}<turn|>\\n; the assistant's role is model
    system     where there is a system message, thinking or tools: <|think|>, the message, <|tool>declaration:...<tool|>
    reasoning  <|channel>thought\\n{reasoning}\\n<channel|>, written after the last user's message only
    call       <|tool_call>call:{name}{{key}:{value},...}<tool_call|> before the content; a string is <|"|>...<|"|>
    result     in the model's turn: <|tool_response>response:{name}{value:...}<tool_response|>
    image      <|image|>, <|video|> and <|audio|> likewise
    prompt     <|turn>model\\n; for the large models without thinking also <|channel>thought\\n<channel|>; nothing after
               results, where the model's turn goes on
    """,
    names=(
        "google/gemma-4-E2B-it",
        "google/gemma-4-E4B-it",
        "google/gemma-4-26B-A4B-it",
        "google/gemma-4-31B-it",
    ),
    templates=(
        "85a08664d16d8f3b",
        "55572b8d3c834204",
        "65f93a25708c9524",
        "9aeb7eac68ad87bb",
        "cf1664f301605c2f",
    ),
    verified="tokens",
    stops=("<turn|>", "<|tool_response>", "<eos>"),
    switches=(Switch("enable_thinking", (True, False), False), Switch("preserve_thinking", (True, False), False)),
    retains=(
        Retains("preserve_thinking", True, "all"),
        Retains("preserve_thinking", False, "tool_cycle"),
        Retains("enable_thinking", False, "all"),
    ),
    syntax="gemma",
    media=("image", "video", "audio"),
)

GEMMA = (GEMMA_3, GEMMA_4)
