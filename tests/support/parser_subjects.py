"""The model or the parser that reads each format of the recorded completions in `parser_agreement`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from transformers import PreTrainedTokenizerFast

from renderers import ChatRenderer, create_renderer, load_tokenizer
from renderers.parsing.grammar import ParserOverrides
from tests.support.models import SHARED, unpack_hub
from tests.support.standin import byte_tokenizer, stand_in

__all__ = ["SUBJECTS", "Subject", "renderer_of"]

_CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""A template that shows neither reasoning nor calls. Parsers are set by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The source of the parser of a format: a model of the hub, a template of the corpus, or names of parsers."""

    model: str = ""
    """A model of the hub. Without one, every byte is a token, and so is every special token."""
    template: str = ""
    """The name of a template of the corpus. Without one, the model's own is used, or one without calls."""
    tool_parser: str | None = None
    reasoning_parser: str | None = None
    tokens: tuple[str, ...] = ()
    """The special tokens of a subject without a model and without a template."""
    openings: Mapping[str, str] = field(default_factory=dict)
    """The text after the header of a turn, by the state of a case. Default: the markers of the grammar."""


def _named(tool_parser: str, *tokens: str, reasoning_parser: str | None = None) -> Subject:
    return Subject(tool_parser=tool_parser, reasoning_parser=reasoning_parser, tokens=tokens)


SUBJECTS: dict[str, Subject] = {
    "apertus": Subject(template="llamacpp__Apertus-8B-Instruct"),
    "cohere": Subject(model="CohereLabs/c4ai-command-a-03-2025"),
    "deepseek_r1": Subject(model="deepseek-ai/DeepSeek-R1-Distill-Qwen-32B"),
    "deepseek_v3": Subject(model="deepseek-ai/DeepSeek-V3"),
    "deepseek_v31": Subject(model="deepseek-ai/DeepSeek-V3.1"),
    "deepseek_v32": Subject(template="llamacpp__deepseek-ai-DeepSeek-V3.2"),
    "deepseek_v4": Subject(
        model="deepseek-ai/DeepSeek-V4-Flash-0731", template="llamacpp__deepseek-ai-DeepSeek-V4-Flash-0731"
    ),
    "dots": _named("dots", "<dots_function_call>", "</dots_function_call>"),
    "ernie45": _named("ernie45", "<think>", "</think>", "<tool_call>", "</tool_call>", reasoning_parser="ernie45"),
    "functiongemma": _named("functiongemma", "<start_function_call>", "<end_function_call>", "<escape>"),
    "gemma4": Subject(model="google/gemma-4-31B-it", openings={"open": "<|channel>"}),
    "gigachat3": Subject(template="llamacpp__GigaChat3-10B-A1.8B"),
    "glm45": Subject(model="zai-org/GLM-4.5-Air"),
    "glm47": Subject(model="zai-org/GLM-4.7-Flash"),
    "granite": Subject(template="llamacpp__ibm-granite-granite-3.3-2B-Instruct", reasoning_parser="granite"),
    "granite4": Subject(model="ibm-granite/granite-4.0-h-small"),
    "granite_20b_fc": _named("granite-20b-fc", "<function_call>"),
    "harmony": Subject(model="openai/gpt-oss-20b"),
    "hermes": Subject(model="Qwen/Qwen2.5-7B-Instruct"),
    "hunyuan_a13b": _named("hunyuan_a13b", reasoning_parser="hunyuan_a13b"),
    "hy_v3": _named(
        "hy_v3",
        *("<think>", "</think>", "<tool_calls>", "</tool_calls>", "<tool_call>", "</tool_call>", "<tool_sep>"),
        *("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
        reasoning_parser="hy_v3",
    ),
    "inkling": _named(
        "inkling",
        *("<|message_model|>", "<|content_text|>", "<|content_thinking|>", "<|content_invoke_tool_json|>"),
        *("<|content_invoke_tool_text|>", "<|content_tool_error|>", "<|content_model_end_sampling|>"),
        "<|end_message|>",
        reasoning_parser="inkling",
    ),
    "internlm2": _named("internlm", "<|action_start|>", "<|action_end|>", "<|plugin|>"),
    "jamba": _named("jamba", "<tool_calls>", "</tool_calls>"),
    "kimi_k2": Subject(model="moonshotai/Kimi-K2.5"),
    "kimi_k3": Subject(template="llamacpp__Kimi-K3"),
    "lfm2": Subject(template="llamacpp__LFM2-8B-A1B"),
    "ling3": _named("ling3", "<think>", "</think>", "<tool_call>", "</tool_call>", reasoning_parser="ling3"),
    "llama3_json": Subject(model="meta-llama/Llama-3.1-8B-Instruct"),
    "llama4_pythonic": _named("llama4_pythonic", "<|python_start|>", "<|python_end|>", "<|eom|>", "<|eot|>"),
    "longcat": _named("longcat", "<longcat_tool_call>", "</longcat_tool_call>"),
    "minicpm5": Subject(template="llamacpp__openbmb-MiniCPM5-1B"),
    "minimax_m2": Subject(model="MiniMaxAI/MiniMax-M2"),
    "minimax_m3": Subject(template="llamacpp__MiniMax-M3"),
    "mistral": Subject(model="mistralai/Ministral-3-14B-Reasoning-2512"),
    "mistral_pre_v11": Subject(template="llamacpp__mistralai-Mistral-Nemo-Instruct-2407"),
    "muse_glimmer": Subject(template="llamacpp__muse-glimmer"),
    "nemotron_v3": Subject(model="nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"),
    "olmo3": _named("olmo3", "<function_calls>", "</function_calls>", reasoning_parser="olmo3"),
    "phi4mini": _named("phi4_mini_json"),
    "poolside_v1": Subject(template="llamacpp__poolside-Laguna-XS.2"),
    "pythonic": _named("pythonic"),
    "qwen3_hermes": Subject(model="Qwen/Qwen3-8B"),
    "qwen3_xml": Subject(model="Qwen/Qwen3.5-9B"),
    "seed_oss": Subject(model="ByteDance-Seed/Seed-OSS-36B-Instruct"),
    "step3": _named(
        "step3",
        "<｜tool_calls_begin｜>",
        "<｜tool_calls_end｜>",
        "<｜tool_call_begin｜>",
        "<｜tool_call_end｜>",
        "<｜tool_sep｜>",
    ),
    "step3p5": Subject(template="llamacpp__StepFun3.5-Flash"),
    "xlam": _named("xlam", "<tool_call>", "</tool_call>", "<think>", "</think>"),
}
"""The subject of each format."""


@functools.lru_cache(maxsize=1)
def renderer_of(subject_format: str) -> ChatRenderer:
    """Return the renderer for a format. One with parsers that do not exist returns completions as content."""
    subject = SUBJECTS[subject_format]
    path = SHARED / "corpus" / f"{subject.template}.jinja"
    if subject.model:
        unpack_hub()
        tokenizer = load_tokenizer(subject.model)
        return create_renderer(tokenizer, chat_template=path if subject.template else None, on_loss="ignore")
    if subject.template:
        parser = _if_read("reasoning_parser", subject.reasoning_parser)
        return create_renderer(stand_in(path), reasoning_parser=parser, on_loss="ignore")
    return _named_renderer(subject)


def _named_renderer(subject: Subject) -> ChatRenderer:
    tokens = ("<|im_start|>", "<|im_end|>", *subject.tokens)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_tokenizer(tokens), eos_token="<|im_end|>", chat_template=_CHATML
    )
    return create_renderer(
        tokenizer,
        tool_parser=_if_read("tool_parser", subject.tool_parser),
        reasoning_parser=_if_read("reasoning_parser", subject.reasoning_parser),
        on_loss="ignore",
    )


def _if_read(option: str, name: str | None) -> str | None:
    try:
        ParserOverrides(**{option: name}).check()
    except ValueError:
        return None
    return name
