"""Stand-in tokenizers for templates without one: every byte is a token, and so is every control string.

There are no merges, so each id is a byte of the text, and a control string that is split or doubled is visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

__all__ = ["BY_STEM", "byte_tokenizer", "control_strings", "end_tokens", "stand_in"]

_CONTROL = re.compile(
    r"<[|｜]?/?[\w:▁]+[|｜]?>"  # <|im_start|>, <｜Assistant｜>, <|turn>, <turn|>, <think>, </tool_call>, <seed:think>
    r'|<\|"\|>'
    r"|｜DSML｜"
    r"|\[/?(?:[A-Z][A-Z_]+|gMASK)\]"
    r"|\]~!?b[\[\]]|\[e~\["
)

_INSERTED = re.compile(r"set HYTK = '([^']+)'")
"""The text that the template of Hy3 inserts into its control strings."""

Ends = tuple[str | None, str]
"""The BOS token, None for models without one, and the EOS token."""

_LLAMA: Ends = ("<|begin_of_text|>", "<|eot_id|>")
_DEEPSEEK: Ends = ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>")
_GEMMA: Ends = ("<bos>", "<eos>")
_MISTRAL: Ends = ("<s>", "</s>")
_LFM: Ends = ("<|startoftext|>", "<|im_end|>")
_PHI: Ends = ("<s>", "<|endoftext|>")
_NEMOTRON: Ends = ("<s>", "<|im_end|>")

BY_STEM: dict[str, Ends] = {
    "llamacpp__Apertus-8B-Instruct": ("<s>", "<|assistant_end|>"),
    "llamacpp__Apriel-1.6-15b-Thinker-fixed": ("<s>", "<|end|>"),
    "llamacpp__Bielik-11B-v3.0-Instruct": ("<s>", "<|im_end|>"),
    "llamacpp__ByteDance-Seed-OSS": ("<seed:bos>", "<seed:eos>"),
    "llamacpp__Kimi-K3": ("[BOS]", "[EOS]"),
    "llamacpp__LFM2-8B-A1B": _LFM,
    "llamacpp__LFM2.5-8B-A1B": _LFM,
    "llamacpp__LFM2.5-Instruct": _LFM,
    "llamacpp__MiniMax-M1": ("<beginning_of_sentence>", "<end_of_sentence>"),
    "llamacpp__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": _NEMOTRON,
    "llamacpp__NVIDIA-Nemotron-Nano-v2": ("<s>", "<SPECIAL_12>"),
    "llamacpp__NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": ("<|begin_of_text|>", "<|im_end|>"),
    "llamacpp__Reka-Edge": (None, "<sep>"),
    "llamacpp__StepFun3.5-Flash": ("<｜begin▁of▁sentence｜>", "<|im_end|>"),
    "llamacpp__microsoft-Phi-3.5-mini-instruct": _PHI,
    "llamacpp__muse-glimmer": ("<|begin_of_text|>", "<|eot|>"),
    "llamacpp__openbmb-MiniCPM5-1B": ("<s>", "<|im_end|>"),
    "llamacpp__tencent-Hy3": ("<｜hy_begin_of_sentence:opensource｜>", "<｜hy_eos:opensource｜>"),
    "llamacpp__unsloth-Apriel-1.5": ("<s>", "<|end|>"),
    "llamacpp__upstage-Solar-Open-100B": ("<s>", "<|end|>"),
    "trl__idefics3": ("<|begin_of_text|>", "<end_of_utterance>"),
    "trl__idefics3_training": ("<|begin_of_text|>", "<end_of_utterance>"),
    "trl__lfm2": _LFM,
    "trl__lfm2_training": _LFM,
    "trl__nemotron_3_nano_training": _NEMOTRON,
    "trl__nemotron_3_super": _NEMOTRON,
    "trl__nemotron_3_super_training": _NEMOTRON,
    "trl__nemotron_3_ultra": _NEMOTRON,
    "trl__nemotron_3_ultra_training": _NEMOTRON,
    "trl__phi3": _PHI,
    "trl__phi3_5_training": _PHI,
    "trl__phi3_training": _PHI,
}
"""BOS and EOS tokens by file name, for templates that do not contain them."""

_BY_CONTROL: dict[str, Ends] = {
    "<｜Assistant｜>": _DEEPSEEK,
    "<|START_OF_TURN_TOKEN|>": ("<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>"),
    "<|start_header_id|>": _LLAMA,
    "<start_of_turn>": _GEMMA,
    "<|turn>": _GEMMA,
    "[INST]": _MISTRAL,
    "[gMASK]": (None, "<|endoftext|>"),
    "]~b]": ("]~!b[", "[e~["),
    "<|start_of_role|>": ("<|end_of_text|>", "<|end_of_text|>"),
    "<|im_middle|>": ("[BOS]", "[EOS]"),
    "<|channel|>": ("<|startoftext|>", "<|return|>"),
    "<|im_start|>": (None, "<|im_end|>"),
}
"""BOS and EOS tokens by the first of these control strings that a template contains. The default is that of Mistral."""


_UNWRITTEN = {"<|channel|>": "<|constrain|>"}
"""Special tokens of a format that some of its templates do not contain, by one that they contain."""


def stand_in(path: Path) -> PreTrainedTokenizerFast:
    """Return a transformers tokenizer for the template in a file, which `create_renderer` accepts too.

    Its vocabulary is that of `byte_tokenizer`, with the control strings of the template and the BOS and EOS tokens of
    its model.
    """
    source = path.read_text(encoding="utf-8")
    bos, eos = end_tokens(path.stem, source)
    controls = control_strings(source)
    controls += [other for text, other in _UNWRITTEN.items() if text in controls and other not in controls]
    return PreTrainedTokenizerFast(
        tokenizer_object=byte_tokenizer(controls), bos_token=bos, eos_token=eos, chat_template=source
    )


def byte_tokenizer(added: Iterable[str]) -> Tokenizer:
    """Return a tokenizer with the 256 bytes as its first ids, followed by the added strings as special tokens.

    >>> byte_tokenizer(["<|end|>"]).encode("Aé<|end|>").ids
    [65, 195, 169, 256]
    """
    alphabet = set(pre_tokenizers.ByteLevel.alphabet())
    # A byte that is a letter of this alphabet maps to itself; the others map to the letters above U+00FF, in order.
    above = iter(sorted(letter for letter in alphabet if ord(letter) > 255))
    letters = [chr(byte) if chr(byte) in alphabet else next(above) for byte in range(256)]
    tokenizer = Tokenizer(models.BPE(vocab={letter: byte for byte, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in added])
    return tokenizer


def control_strings(source: str) -> list[str]:
    """Return the distinct control strings in a template, in order. Hy3 formats its own from a constant.

    >>> control_strings("<|im_start|>{{ m.role }}<think></think>[INST] {{ m['content'] }}<|im_start|>")
    ['<|im_start|>', '<think>', '</think>', '[INST]']
    """
    inserted = _INSERTED.search(source)
    return list(dict.fromkeys(_CONTROL.findall(source.replace("{}", inserted[1]) if inserted else source)))


def end_tokens(stem: str, source: str) -> Ends:
    """Return the BOS and EOS tokens for a template, by its file name, else by its control strings."""
    if stem in BY_STEM:
        return BY_STEM[stem]
    return next((ends for control, ends in _BY_CONTROL.items() if control in source), _MISTRAL)
