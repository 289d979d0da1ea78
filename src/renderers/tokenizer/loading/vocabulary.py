"""Build a `tokenizers.Tokenizer` from tokenizer.json, a tiktoken file, or Mistral's tekken.json."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from renderers.errors import TokenizerFileError
from renderers.tokenizer.loading.model_files import ModelFiles, read_json
from renderers.tokenizer.loading.tiktoken import tokenizer_from_ranks

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TRUNCATED = "It may be truncated: download it again."
_KIMI_WORD_TAIL = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_KIMI_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_KIMI_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_KIMI_PATTERN = (
    r"[\p{Han}]+"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_KIMI_UPPER}*{_KIMI_LOWER}+{_KIMI_WORD_TAIL}"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_KIMI_UPPER}+{_KIMI_LOWER}*{_KIMI_WORD_TAIL}"
    r"|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_KIMI_CLASS = "TikTokenTokenizer"
"""The `tokenizer_class` of Kimi K2 models. A tiktoken file has neither the split pattern nor special tokens."""
_KIMI_SPECIAL_TOKENS = 256

_TEKKEN_SPECIAL_TOKENS = (
    "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] "
    "[TOOL_CALLS] [IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] "
    "[/SYSTEM_PROMPT] [TOOL_CONTENT]"
).split()
"""The first special tokens of the oldest tekken files. Later files list them."""

_TEKKEN_ROLES = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}


class Vocabulary(NamedTuple):
    """A built tokenizer, and the special tokens in its vocabulary file."""

    tokenizer: Tokenizer
    declared: Mapping[str, int]
    """The added tokens with the ids in the file, to be compared with the ids in the tokenizer."""
    special_tokens: Mapping[str, str]
    """Special tokens by role. Only tekken.json implies them."""


def build_vocabulary(content: bytes, file: str, model_files: ModelFiles) -> Vocabulary:
    """Build the tokenizer of a vocabulary file. The format is detected by file name and content.

    For use in `only_load_errors`: a file of a wrong form may raise any error.
    """
    if not file.endswith(".json") and re.match(rb"\s*\{", content) is None:
        return _from_ranks(content, model_files)
    if file == "tekken.json" or b'"token_bytes"' in content[:4096]:
        return _from_tekken(read_json(content, file=file))
    return _from_tokenizer_json(content)


def _from_tokenizer_json(content: bytes) -> Vocabulary:
    if _has_subword_prefix(content):
        # With BPE, the Rust library aborts the process unless every merge has the prefix.
        raise TokenizerFileError(
            "has a continuing_subword_prefix, which is not supported: such a vocabulary loses the spaces of a text."
        )
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(content)
    # Some files enable these, and each of them changes the ids of a text.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if getattr(tokenizer.model, "dropout", None) is not None:
        tokenizer.model.dropout = None
    return Vocabulary(tokenizer, declared=_declared_tokens(content), special_tokens={})


def _has_subword_prefix(content: bytes) -> bool:
    # Letters of a key can be escaped.
    content = re.sub(rb"\\u00([4-7][0-9a-fA-F])", lambda escape: bytes.fromhex(escape[1].decode()), content)
    return re.search(rb'"continuing_subword_prefix"\s*:\s*"[^"]', content) is not None


def _declared_tokens(content: bytes) -> dict[str, int]:
    # The Rust library silently assigns another id if the one in the file does not fit. Only the list is parsed: parsing
    # the whole file again would take half as long as loading it.
    start = re.search(rb'"added_tokens"\s*:\s*(?=\[)', content)
    if start is None:
        return {}
    until_next_key = content[start.end() :].partition(b'"normalizer"')[0]
    listed, _ = json.JSONDecoder().raw_decode(until_next_key.decode())
    return {token["content"]: token["id"] for token in listed}


def _from_ranks(content: bytes, model_files: ModelFiles) -> Vocabulary:
    if model_files.tokenizer_class != _KIMI_CLASS:
        raise TokenizerFileError(
            "is neither a tokenizer.json nor a tekken.json. A file of ranks does not contain the split pattern, so "
            f"tokenizer_config.json must have the tokenizer_class {_KIMI_CLASS}, not {model_files.tokenizer_class}."
        )
    ranks = _parse_ranks(content)
    listed = {number: text for text, number in model_files.added_tokens.items()}
    special_ids = range(len(ranks), len(ranks) + _KIMI_SPECIAL_TOKENS)
    if min(listed, default=None) != len(ranks) or max(listed) not in special_ids:
        raise TokenizerFileError(
            f"has {len(ranks)} ranks, and tokenizer_config.json's added_tokens_decoder does not begin where they "
            f"end ({min(listed, default='it is empty')}). One of the two is truncated or of another model."
        )
    added = {listed.get(number, f"<|reserved_token_{number}|>"): number for number in special_ids}
    ordinary = model_files.ordinary_tokens
    tokenizer = tokenizer_from_ranks(ranks, pattern=_KIMI_PATTERN, added_tokens=added, ordinary_tokens=ordinary)
    return Vocabulary(tokenizer, declared=added, special_tokens={})


def _parse_ranks(content: bytes) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    lines = content.splitlines()
    for number, line in enumerate(lines):
        try:
            encoded, rank = line.split()
            token = base64.b64decode(encoded, validate=True)
            if int(rank) != number:
                raise ValueError(f"rank {int(rank)} where {number} was due")
        except ValueError as error:
            fault = f"line {number + 1} is not a token and its rank ({error}). {_TRUNCATED}"
            raise TokenizerFileError(fault) from error
        ranks[token] = number
    if len(ranks) != len(lines) or not all(bytes([byte]) in ranks for byte in range(256)):
        raise TokenizerFileError(f"names a token twice, or lacks one of the 256 bytes. {_TRUNCATED}")
    return ranks


def _from_tekken(data: Any) -> Vocabulary:
    config = data["config"]
    special_count = int(config["default_num_special_tokens"])
    size = int(config["default_vocab_size"]) - special_count
    special = _tekken_special_tokens(data.get("special_tokens"), special_count)
    entries = data["vocab"][:size]
    ranks = {base64.b64decode(entry["token_bytes"], validate=True): entry["rank"] for entry in entries}
    if list(ranks.values()) != list(range(size)):
        raise ValueError(f"its first {size} entries are not {size} tokens in the order of their ranks")
    tokenizer = tokenizer_from_ranks(ranks, pattern=config["pattern"], added_tokens=special, first_id=special_count)
    roles = {role: text for role, text in _TEKKEN_ROLES.items() if text in special}
    return Vocabulary(tokenizer, declared=special, special_tokens=roles)


def _tekken_special_tokens(listed: Any, count: int) -> dict[str, int]:
    if listed is None:
        known = dict(enumerate(_TEKKEN_SPECIAL_TOKENS))
    else:
        known = {int(entry["rank"]): str(entry["token_str"]) for entry in listed}
    if not known.keys() <= set(range(count)):
        raise ValueError(f"a special token's rank is not below {count}")
    tokens = {known.get(number, f"<SPECIAL_{number}>"): number for number in range(count)}
    if len(tokens) != count:
        raise ValueError("two special tokens have the same text")
    return tokens
