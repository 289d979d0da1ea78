"""Kimi: one token per role, calls with ids in a separate section. K3 has tags of special tokens."""

from __future__ import annotations

from functools import partial

from renderers.families.family import Family, RetentionRule, TemplateSwitch, flag, unpassed

_THINKING = flag("thinking", True)

_kimi_k2 = partial(Family, stop_tokens=("<|im_end|>",), syntax="kimi", verified="tokens")
_kimi_with_json_tools = partial(_kimi_k2, program="sorted-tools", version=2)

_KIMI_K2 = _kimi_with_json_tools(
    key="kimi-k2",
    class_name="KimiK2",
    format="""
    <|im_{role}|>{name or role}<|im_middle|>{content}<|im_end|>, the role one of user, assistant and system
    system     the tools first, as JSON with sorted keys in a message of tool_declare; a default system message if
               there is none
    call       <|tool_calls_section_begin|>, for each <|tool_call_begin|>{id}<|tool_call_argument_begin|>{JSON}
               <|tool_call_end|> with ids like functions.{name}:{n}, <|tool_calls_section_end|>
    result     <|im_system|>{name or tool}<|im_middle|>## Return of {id}\\n{content}<|im_end|>
    prompt     <|im_assistant|>assistant<|im_middle|>
    """,
    names=("moonshotai/Kimi-K2-Instruct", "moonshotai/Kimi-K2-Instruct-0905"),
    templates=("1d396d5b128cdb9b",),
    normalisations=("drops_reasoning",),
)

_KIMI_K2_THINKING = _kimi_with_json_tools(
    key="kimi-k2-thinking",
    class_name="KimiK2Thinking",
    format="""
    As kimi-k2, with reasoning in every turn.
    reasoning  <think>{reasoning}</think>, empty up to the first turn without calls
    prompt     <|im_assistant|>assistant<|im_middle|>; the model opens the reasoning block
    """,
    names=("moonshotai/Kimi-K2-Thinking",),
    templates=("2f6c593d50682612",),
    normalisations=("drops_reasoning",),
)

_KIMI_K25 = _kimi_k2(
    key="kimi-k2.5",
    class_name="KimiK25",
    version=3,
    format="""
    As kimi-k2 without a default system message, with the call ids of the messages.
    system     the tools first, as TypeScript declarations in a message of tool_declare; as JSON with sorted keys
               if a schema has no declaration
    reasoning  <think>{reasoning}</think>, empty up to the last turn without calls
    image      <|media_begin|>image<|media_content|><|media_pad|><|media_end|>\\n
    video      <|kimi_k25_video_placeholder|>\\n
    prompt     <|im_assistant|>assistant<|im_middle|><think>; without thinking <think></think>
    """,
    names=("moonshotai/Kimi-K2.5", "moonshotai/Kimi-K2.6"),
    templates=("82dc16c314f46cef",),
    # By default, the declarations are made from the tools. An empty text gives the tools as JSON.
    switches=(_THINKING, TemplateSwitch("tools_ts_str", str)),
    retains=(RetentionRule("thinking", False, "all"),),
    normalisations=("drops_reasoning_without_calls",),
    media=("image", "video"),
)

_KIMI_K3 = Family(
    key="kimi-k3",
    class_name="KimiK3",
    format="""
    <|open|>message role="{role}"<|sep|>{content}<|close|>message<|sep|><|end_of_msg|>; other tags have the same form
    system     the tools first, as JSON with sorted keys in a message of type="tool-declare", then the effort
    reasoning  a tag think in every turn, before a tag response with the content; none without thinking
    call       in a tag tools: call tool="{name}" index="{n}", with an argument key="{key}" type="{type}" for each
    result     message role="tool" tool="{name}" index="{n}", in the order of the calls
    image      <|kimi_image_placeholder|>
    prompt     <|open|>message role="assistant"<|sep|><|open|>think<|sep|>; without thinking response
    """,
    names=("moonshotai/Kimi-K3",),
    templates=("4578103bf225f58d",),
    verified="template",
    stop_tokens=("<|end_of_msg|>",),
    switches=unpassed(
        _THINKING,
        TemplateSwitch("thinking_effort", ("low", "high", "max"), "max"),
        TemplateSwitch("tool_choice", ("auto", "required", "none"), "auto"),
    ),
    syntax="kimi_k3",
    media=("image",),
)

RECORDS = (
    _KIMI_K2,
    _KIMI_K2_THINKING,
    _KIMI_K25,
    _KIMI_K3,
)
