"""gpt-oss: the Harmony format of OpenAI, with several messages in channels per turn."""

from __future__ import annotations

from renderers.core.options import SamplingConventions
from renderers.families.family import Family, TemplateSwitch, flag, keeps_all_if, unpassed

_GPT_OSS = Family(
    key="gpt-oss",
    class_name="GptOss",
    version=3,
    format="""
    <|start|>{role}<|message|>{content}<|end|>
    system     always: identity, cutoff, date, effort, channels
    developer  # Instructions and # Tools: the system message, and the tools as TypeScript
    reasoning  <|start|>assistant<|channel|>analysis<|message|>{reasoning}<|end|>
    content    <|start|>assistant<|channel|>final<|message|>{content}, then <|return|>, in a history <|end|>
    beside     <|start|>assistant<|channel|>commentary<|message|>{content}<|end|>, before calls
    call       <|start|>assistant to=functions.{name}<|channel|>commentary <|constrain|>json<|message|>{JSON}<|call|>
    result     <|start|>functions.{name} to=assistant<|channel|>commentary<|message|>{content}<|end|>
    prompt     <|start|>assistant
    """,
    names=("openai/gpt-oss-20b", "openai/gpt-oss-120b"),
    templates=("a4c9919cbbd4acdd", "6adda7cea0f63ef1"),
    verified="tokens",
    stop_tokens=("<|return|>", "<|call|>"),
    switches=(
        TemplateSwitch("reasoning_effort", ("low", "medium", "high"), "medium"),
        *unpassed(TemplateSwitch("model_identity", str, "You are ChatGPT, a large language model trained by OpenAI.")),
        TemplateSwitch("builtin_tools", tuple),
        TemplateSwitch("conversation_start_date", str),
        flag("use_system_prompt", True),
        TemplateSwitch("knowledge_cutoff", str),
        flag("auto_drop_analysis", True),
    ),
    retains=keeps_all_if("auto_drop_analysis", False),
    syntax="harmony",
    program="harmony",
    content_tokens="text",
    conventions=SamplingConventions(
        # The whole header of a message. Its type is the only special token within one.
        prompted=r"(<\|start\|>assistant)?( to=[^<]*)?<\|channel\|>[^<]*(<\|constrain\|>[^<]*)?<\|message\|>"
    ),
)

RECORDS = (_GPT_OSS,)
