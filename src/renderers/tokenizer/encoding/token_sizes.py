"""The number of bytes of each token: summed over the ids of a text, they give the place of each token."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tokenizers import Tokenizer, models

from renderers.tokenizer.encoding.byte_text import BYTE_SYMBOLS
from renderers.tokenizer.engines.huggingface import component_json

_SYMBOLS = frozenset(BYTE_SYMBOLS)
_SPACE = "▁"
_SPACES_REPLACED = {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}
_SPLIT_AT_SPACES = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
_BYTE = re.compile("<0x[0-9A-F]{2}>")


class TokenSizes(dict[int, int]):
    """The bytes of the text of each token by id, found when an id is first used."""

    def __init__(self, backend: Tokenizer, added: Mapping[str, int], *, byte_level: bool) -> None:
        super().__init__()
        self._token_of = backend.id_to_token
        self._added = frozenset(added.values())
        self._byte_level = byte_level

    def __missing__(self, number: int) -> int:
        token = self._token_of(number) or ""
        is_added = number in self._added
        if self._byte_level:
            size = len(token) if not is_added and _SYMBOLS.issuperset(token) else len(token.encode())
        else:
            is_byte = not is_added and _BYTE.fullmatch(token) is not None
            size = 1 if is_byte else len(token.replace(_SPACE, " ").encode())
        self[number] = size
        return size


def replaces_only_spaces(backend: Tokenizer) -> bool:
    """Return True for a vocabulary like that of Gemma: it writes spaces as U+2581, changes no other character, and
    has a token for each byte. The sizes of the tokens of a text without U+2581 then add up to its size.
    """
    return (
        isinstance(backend.model, models.BPE)
        and bool(backend.model.byte_fallback)
        and component_json(backend.normalizer) == _SPACES_REPLACED
        and component_json(backend.pre_tokenizer) in (None, _SPLIT_AT_SPACES)
        and None not in (backend.token_to_id(f"<0x{byte:02X}>") for byte in range(256))
    )
