"""Does a built tokenizer do what its files promise? And two properties that encoding in pieces relies on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set
from typing import Any

from tokenizers import Tokenizer

from renderers.errors import TokenizerCheckError, TokenizerFileError
from renderers.tokenizer.ranks import BYTE_SYMBOLS

__all__ = ["check_tokenizer", "find_walls", "is_byte_level"]

_PLAIN_PROBE = "Two lines, 12 words.\nIs it all there?"
_BYTE_PROBE = _PLAIN_PROBE + "\r\n\t naïve café — 你好，世界 🙂👩‍👩‍👧 \u0000\u200b שלום  ...    \n\n"
_WALL_PROBES = (
    ("a", "b"),
    ("a ", " b"),
    ("a\n", "\n b"),
    ("1", "2"),
    # Combining marks, which a normaliser may join to the last character of a token.
    ("e", "\u0301e"),
    ("=", "\u0338"),
)
_WALLS_TRIED = 256
_LONGEST_TOKEN = 512
"""Looking for overlaps takes the square of a token's length, and files are not to be trusted."""


def check_tokenizer(
    tokenizer: Tokenizer,
    *,
    declared: Mapping[str, int],
    special_tokens: Iterable[str],
    stop_token_ids: Iterable[int],
    name: str,
    file: str,
) -> None:
    """Raises an error of ours unless the tokenizer agrees with its files.

    Every declared token has its declared id, every special token is there and encodes to itself, every
    stop token exists, a probe text survives encoding and decoding, and what is put around it exists.
    """
    for text, due in declared.items():
        if tokenizer.token_to_id(text) != due:
            raise TokenizerFileError(
                f"has the token {text!r} as {tokenizer.token_to_id(text)}, and it is declared to be {due}. "
                "The vocabulary is truncated, edited, or of another model than the files beside it.",
                name=name,
                file=file,
            )
    control = {token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special}
    for text in control.union(special_tokens):
        number = tokenizer.token_to_id(text)
        if number is None:
            raise TokenizerFileError(
                f"does not contain {text!r}, which the files beside it name as a special token. "
                "They are of different models, or one is out of date.",
                name=name,
                file=file,
            )
        got = _ids(tokenizer, text)
        if got != [number]:
            raise TokenizerCheckError(
                f"encodes its special token {text!r} to {got}, not to [{number}].", name=name, file=file
            )
    for number in stop_token_ids:
        if tokenizer.id_to_token(number) is None:
            raise TokenizerFileError(
                f"has no token {number}, which generation_config.json names in eos_token_id.", name=name, file=file
            )
    probe = _BYTE_PROBE if is_byte_level(tokenizer) else _PLAIN_PROBE
    ids = _ids(tokenizer, probe)
    back = tokenizer.decode(ids, skip_special_tokens=False)
    if back != probe:
        raise TokenizerCheckError(
            f"does not give back what it encoded: {probe!r} came back as {back!r}. Chat needs a lossless tokenizer.",
            name=name,
            file=file,
        )
    framed = tokenizer.encode(probe, add_special_tokens=True).ids
    if any(tokenizer.id_to_token(number) is None for number in framed):
        raise TokenizerCheckError(
            f"adds tokens that it does not have when it frames a text: {framed}.", name=name, file=file
        )


def find_walls(tokenizer: Tokenizer) -> frozenset[int]:
    """Returns the added tokens that are hard walls: text on one side never changes the ids on the other.

    A token that strips its surroundings or can overlap another added token is none. The rest is tried
    out between probe texts, which finds prefix spaces and normalisers that reach across; where one of
    those tried fails, only those that were tried and passed count.
    """
    added = tokenizer.get_added_tokens_decoder()
    if any(len(token.content) > _LONGEST_TOKEN for token in added.values()):
        return frozenset()
    spoilers = _overlaps({token.content for token in added.values()})
    candidates = [
        number
        for number, token in added.items()
        if not (token.lstrip or token.rstrip or token.single_word or token.content in spoilers)
    ]
    # Tokens that are matched after normalisation are the ones that a neighbour can spoil.
    tried = sorted(candidates, key=lambda number: (not added[number].normalized, number))[:_WALLS_TRIED]
    alone = {text: _ids(tokenizer, text) for pair in _WALL_PROBES for text in pair}
    passed = [
        number
        for number in tried
        if all(
            _ids(tokenizer, left + added[number].content + right) == [*alone[left], number, *alone[right]]
            for left, right in _WALL_PROBES
        )
    ]
    return frozenset(candidates if passed == tried else passed)


def _overlaps(texts: Set[str]) -> set[str]:
    """Returns the texts that another one contains, or that another one (or itself) can run into from the left.

    >>> sorted(_overlaps({"<a>", "<a>b", "<b>", "x<", "zz"}))
    ['<a>', '<a>b', '<b>', 'zz']
    """
    beginnings = {text[:size] for text in texts for size in range(1, len(text))}
    run_into = {text[at:] for text in texts for at in range(1, len(text))} & beginnings
    contained = {
        text[at:end] for text in texts for at in range(len(text)) for end in range(at + 1, len(text) + (at > 0))
    }
    return {text for text in texts if text in contained or any(text[:size] in run_into for size in range(1, len(text)))}


def is_byte_level(tokenizer: Tokenizer) -> bool:
    """Says whether each token stands for a fixed run of bytes, and all 256 bytes have one."""
    return (
        "ByteLevel" in _component_types(tokenizer.pre_tokenizer)
        and _component_types(tokenizer.decoder) == ["ByteLevel"]
        and all(tokenizer.token_to_id(symbol) is not None for symbol in BYTE_SYMBOLS)
    )


def _component_types(component: Any) -> list[str]:
    """Returns the types of a pipeline component's parts, sequences opened up."""
    if component is None:
        return []
    return list(_types_in(json.loads(component.__getstate__())))


def _types_in(state: Mapping[str, Any]) -> Iterable[str]:
    parts = state.get("pretokenizers") or state.get("decoders")
    if parts is None:
        yield state["type"]
    else:
        for part in parts:
            yield from _types_in(part)


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False).ids
