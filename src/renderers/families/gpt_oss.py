"""gpt-oss: OpenAI's Harmony, where a turn is several messages in channels."""

from __future__ import annotations

from renderers.core.conventions import Conventions
from renderers.families.family import Family, Retains, Switch

__all__ = ["GPT_OSS"]

_GPT_OSS = Family(
    key="gpt-oss",
    format="""
    <|start|>{role}<|message|>{content}<|end|>
    system     always there: identity, cutoff, date, effort, channels
    developer  # Instructions and # Tools: the system message, and the tools as TypeScript
    reasoning  <|start|>assistant<|channel|>analysis<|message|>{reasoning}<|end|>
    content    <|start|>assistant<|channel|>final<|message|>{content}, then <|return|>, in a history <|end|>
    call       <|start|>assistant to=functions.{name}<|channel|>commentary json<|message|>{arguments}<|call|>
    result     <|start|>functions.{name} to=assistant<|channel|>commentary<|message|>{content}<|end|>
    prompt     <|start|>assistant
    """,
    names=("openai/gpt-oss-20b", "openai/gpt-oss-120b"),
    templates=("a4c9919cbbd4acdd", "6adda7cea0f63ef1"),
    verified="template",
    stops=("<|return|>", "<|call|>"),
    switches=(
        Switch("reasoning_effort", ("low", "medium", "high"), "medium"),
        Switch("model_identity", str, "You are ChatGPT, a large language model trained by OpenAI."),
        Switch("builtin_tools", list),
        Switch("conversation_start_date", str),
        Switch("use_system_prompt", (True, False), True),
        Switch("knowledge_cutoff", str),
        Switch("auto_drop_analysis", (True, False), True),
    ),
    retains=(Retains("auto_drop_analysis", False, "all"), Retains("auto_drop_analysis", True, "tool_cycle")),
    syntax="harmony",
    program="harmony",
    normalisations=("calls_content_reasoning", "keeps_first_call"),
    conventions=Conventions(given=r"<\|channel\|>.*?<\|message\|>"),
)

GPT_OSS = (_GPT_OSS,)
