"""Differences between the properties of renderers."""

from __future__ import annotations

from scripts.compare.entries.base import Entry
from scripts.compare.worker import UNKNOWN

__all__ = ["ENTRIES"]

_FACTS = ("facts",)

ENTRIES = (
    Entry(
        name="`is_prefix_stable`",
        fields=("is_prefix_stable",),
        kinds=_FACTS,
        families=("qwen3", "gemma4", "deepseek-v3", UNKNOWN),
        old="constant per family; False for unknown models",
        new="measured: False for DeepSeek V3, True for Gemma 4 E4B and Qwen3 2507",
        reason="it depends on the template",
    ),
    Entry(
        name="class and config of more families",
        fields=("renderer_class", "config_name"),
        kinds=_FACTS,
        families=("qwen3", UNKNOWN),
        old="`DefaultRenderer`; Qwen3 2507 is `qwen3`",
        new="one class and config per family",
        reason="more families have a record",
    ),
    Entry(
        name="stop tokens of models without a family in release 0.1",
        fields=("stop_token_ids",),
        kinds=_FACTS,
        families=(UNKNOWN,),
        old="the EOS token of the tokenizer",
        new="all stop tokens of the generation config, the one of the template first",
        reason="an engine stops at all of them",
    ),
)
