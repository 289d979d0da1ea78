"""The names of tool parsers and reasoning parsers: those of this package, of vLLM and of SGLang.

Where engines use one name for different formats, it has the meaning that it has in vLLM.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from renderers.parsing.tool_formats import TOOL_FORMATS, MarkerPair

_CLOSE_NAMES = 3


@dataclass(frozen=True, slots=True)
class ToolParser:
    """A tool-call format, with markers of its own if it has any."""

    tools: str
    """The key of the tool format."""
    call: MarkerPair | None = None
    """The markers around each call. None for those of the format or of the template."""


@dataclass(frozen=True, slots=True)
class ReasoningParser:
    """The markers of reasoning, or the key of a tool format with turns of several messages, some of them reasoning."""

    markers: MarkerPair | None = None
    tools: str | None = None
    lead: str = ""
    """The text after the opening marker that is not reasoning. It is optional."""
    response: MarkerPair | None = None
    """The markers around the content after the reasoning."""


_TOOL_NAMES = {
    "apertus": ("apertus2509",),
    "atem": ("muse_glimmer", "muse"),
    "command": ("cohere_command3", "cohere_command4"),
    "deepseek_v3": ("deepseek-v3", "deepseekv3"),
    "deepseek_v31": ("deepseekv31",),
    "deepseek_v32": ("deepseekv32",),
    "deepseek_v4": ("deepseekv4",),
    "deepseek_v41": ("deepseekv41",),
    "gemma": ("gemma4",),
    "gigachat": ("gigachat3", "gigachat35"),
    "glm": ("glm45", "glm47", "ling3", "poolside_v1"),
    "harmony": ("openai", "gpt-oss"),
    "hy3_plain": ("hy_v3",),
    "hermes": ("qwen3_json", "qwen3", "qwen", "qwen25", "granite4", "ernie45", "trinity"),
    "jamba": ("hunyuan_a13b", "hunyuan"),
    "kimi": ("kimi_k2",),
    "llama": ("llama3_json", "llama4_json", "llama3"),
    "minicpm": ("minicpm5",),
    "minimax": ("minimax_m2", "minimax-m2"),
    "minimax_m3": ("minimax-m3",),
    "olmo": ("olmo3",),
    "phi4_mini": ("phi4_mini_json",),
    "pythonic": ("llama4_pythonic",),
    "qwen_xml": ("qwen3_coder", "qwen3_xml", "qwen3.5", "mimo", "nanbeige", "step3p5"),
    "seed_xml": ("seed_oss",),
}
"""Other names of the tool formats. Their keys are names too."""

_WITH_OWN_MARKERS = {
    "granite-20b-fc": ToolParser("hermes", ("<function_call>", "")),
    "internlm": ToolParser("hermes", ("<|action_start|><|plugin|>", "<|action_end|>")),
    "interns1": ToolParser("hermes", ("<|action_start|><|plugin|>", "<|action_end|>")),
    "iquest_q1": ToolParser("glm", ("<iquest_tool_call>", "</iquest_tool_call>")),
    "longcat": ToolParser("hermes", ("<longcat_tool_call>", "</longcat_tool_call>")),
}

TOOL_PARSERS: Mapping[str, ToolParser] = MappingProxyType(
    {
        **{key: ToolParser(key) for key in TOOL_FORMATS},
        **{name: ToolParser(key) for key, names in _TOOL_NAMES.items() for name in names},
        **_WITH_OWN_MARKERS,
    }
)
"""The tool parser for each name."""

_REASONING_NAMES: Mapping[MarkerPair, tuple[str, ...]] = {
    ("<think>", "</think>"): (
        *("think", "deepseek_r1", "deepseek_v3", "deepseek_v4", "deepseek_v41", "ernie45", "glm45", "glm47", "holo2"),
        *("granite_thinking_parser", "hunyuan_a13b", "hy_v3", "hy_v4", "kimi_k2", "ling3", "mimo", "minicpmv"),
        *("minimax_m2", "nemotron_v3", "olmo3", "poolside_v1", "qwen3", "step3", "step3p5"),
        *("deepseek-r1", "deepseek-v3", "deepseek-v4", "deepseek-v41", "dots", "gigachat35", "hunyuan", "interns1"),
        *("iquest_q1", "minimax", "nanbeige", "nemotron_3", "qwen3-thinking"),
    ),
    ("<|START_THINKING|>", "<|END_THINKING|>"): ("cohere_command3", "cohere_command4"),
    ("<|inner_prefix|>", "<|inner_suffix|>"): ("apertus2509",),
    ("[THINK]", "[/THINK]"): ("mistral",),
    ("Here is my thought process:", "Here is my response:"): ("granite",),
    ("<mm:think>", "</mm:think>"): ("minimax_m3", "minimax-m3"),
    ("<seed:think>", "</seed:think>"): ("seed_oss",),
    ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"): ("plamo3",),
    ("<ifm|think>", "</ifm|think>"): ("k2_horizon",),
    ("◁think▷", "◁/think▷"): ("kimi",),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|>"): ("kimi_k3",),
}

_RESPONSES = {
    **dict.fromkeys(("hunyuan_a13b", "hunyuan"), ("<answer>", "</answer>")),
    "granite_thinking_parser": ("<response>", "</response>"),
}
"""The markers around content, by the names of reasoning parsers."""

_MESSAGE_NAMES = {"harmony": ("openai_gptoss", "gpt-oss"), "inkling": ("inkling",), "atem": ("muse_glimmer", "muse")}
"""The names for formats in which reasoning is a message of the turn, by tool format."""

REASONING_PARSERS: Mapping[str, ReasoningParser] = MappingProxyType(
    {
        **{
            name: ReasoningParser(markers=markers, response=_RESPONSES.get(name))
            for markers, names in _REASONING_NAMES.items()
            for name in names
        },
        **{name: ReasoningParser(tools=key) for key, names in _MESSAGE_NAMES.items() for name in names},
        "gemma4": ReasoningParser(markers=("<|channel>", "<channel|>"), lead="thought\n"),
    }
)
"""The reasoning parser for each name."""

RESPONSE_TEMPLATE_NAMES = frozenset({"hf", "response_template"})
"""The names for the format that the model's own `response_template` describes."""

_ENGINE_TOOL_PARSERS = (
    "apertus cohere_command3 cohere_command4 deepseek_v3 deepseek_v31 deepseek_v32 deepseek_v4 deepseek_v41 dots "
    "ernie45 functiongemma gemma4 gigachat3 glm45 glm47 granite granite-20b-fc granite4 hermes hf hunyuan_a13b "
    "hy_v3 hy_v4 inkling internlm jamba k2_horizon kimi_k2 kimi_k3 lfm2 ling3 llama3_json llama4_json "
    "llama4_pythonic longcat mimo minicpm5 minimax_m2 minimax_m3 mistral muse_glimmer olmo3 openai phi4_mini_json "
    "plamo3 poolside_v1 pythonic qwen3_coder qwen3_json qwen3_xml seed_oss step3 step3p5 xlam apertus2509 beam "
    "deepseekv3 deepseekv31 deepseekv32 deepseekv4 deepseekv41 glm gpt-oss llama3 muse qwen qwen25 spark25 "
    "minimax-m2 minimax-m3 nanbeige trinity interns1 hunyuan gigachat35 iquest_q1 response_template"
).split()
"""The tool parsers of vLLM 0.32 and SGLang 0.5.23."""

_ENGINE_REASONING_PARSERS = (
    "cohere_command3 cohere_command4 deepseek_r1 deepseek_v3 deepseek_v4 deepseek_v41 ernie45 gemma4 glm45 glm47 "
    "granite granite_thinking_parser hf holo2 hunyuan_a13b hy_v3 hy_v4 inkling k2_horizon kimi_k2 kimi_k3 ling3 "
    "mimo minicpmv minimax_m2 minimax_m2_append_think minimax_m3 mistral muse_glimmer nemotron_v3 olmo3 "
    "openai_gptoss plamo3 poolside_v1 qwen3 seed_oss step3 step3p5 apertus2509 beam deepseek-r1 deepseek-v3 "
    "deepseek-v4 deepseek-v41 dots hunyuan gpt-oss kimi muse qwen3-thinking minimax minimax-append-think "
    "minimax-m3 nanbeige nemotron_3 interns1 gigachat35 iquest_q1 response_template"
).split()
"""The reasoning parsers of vLLM 0.32 and SGLang 0.5.23."""

UNREAD_TOOL_PARSERS = frozenset(_ENGINE_TOOL_PARSERS) - TOOL_PARSERS.keys() - RESPONSE_TEMPLATE_NAMES
"""The tool parsers of the engines with formats that this package does not read."""

UNREAD_REASONING_PARSERS = frozenset(_ENGINE_REASONING_PARSERS) - REASONING_PARSERS.keys() - RESPONSE_TEMPLATE_NAMES
"""The reasoning parsers of the engines with formats that this package does not read."""


def check_name(option: str, name: str, known: Mapping[str, object], unread: frozenset[str]) -> None:
    """Check the name of a parser that was passed as an option.

    Raises:
        ValueError: The name is not the name of a parser, or of one with a format that is not read.
    """
    if name in known or name in RESPONSE_TEMPLATE_NAMES:
        return
    if name in unread:
        raise ValueError(f"{option} {name!r} exists in vLLM or SGLang, but its format is not supported here")
    close = difflib.get_close_matches(name, known, n=_CLOSE_NAMES)
    hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"The names are {', '.join(sorted(known))}."
    raise ValueError(f"there is no {option} {name!r}. {hint}")
