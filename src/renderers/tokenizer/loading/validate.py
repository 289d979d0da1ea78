"""Does a built tokenizer do what its files promise? And two properties that encoding in pieces relies on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from tokenizers import Tokenizer

from renderers.errors import TokenizerCheckError, TokenizerFileError
from renderers.tokenizer.encoding.byte_text import BYTE_SYMBOLS

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
_LONGEST_TOKEN = 128
_MOST_CHARACTERS = 1 << 18
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
                f"does not contain {text!r}, which is named as one of its special tokens. The vocabulary and that name "
                "are of different models, or one is out of date.",
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


def find_isolating_tokens(tokenizer: Tokenizer) -> frozenset[int]:
    """Returns the added tokens that are hard walls: text on one side never changes the ids on the other.

    A token that strips its surroundings, can overlap another added token, or can be spoilt by the
    normaliser is none. The rest is tried out between probe texts, which finds prefix spaces; where one of
    those tried fails, there are no walls.
    """
    added = tokenizer.get_added_tokens_decoder()
    texts = {token.content for token in added.values()}
    if sum(map(len, texts)) > _MOST_CHARACTERS or max(map(len, texts), default=0) > _LONGEST_TOKEN:
        return frozenset()
    plain = {token.content for token in added.values() if not token.normalized}
    whole_words = any(token.single_word for token in added.values())
    normalizers = _component_types(tokenizer.normalizer)
    spoilt = _overlapped(texts, by=texts)
    # Plain tokens are matched first, so they can also take the end or the middle of one that is not plain.
    late = texts - plain
    from_right = _overlapped({text[::-1] for text in late}, by={text[::-1] for text in plain})
    spoilt.update(text[::-1] for text in from_right)
    spoilt.update(text for text, _ in _contained(late, plain))
    walls = frozenset(
        number
        for number, token in added.items()
        if not (token.lstrip or token.rstrip or token.single_word)
        and token.content not in spoilt
        and (not token.normalized or _survives(token.content, normalizers))
        and not (whole_words and (_is_word(token.content[0]) or _is_word(token.content[-1])))
    )
    alone = {text: _ids(tokenizer, text) for pair in _WALL_PROBES for text in pair}
    for number in sorted(walls)[:_WALLS_TRIED]:
        for left, right in _WALL_PROBES:
            text = left + added[number].content + right
            if _ids(tokenizer, text) != [*alone[left], number, *alone[right]]:
                return frozenset()
    return walls


def _overlapped(texts: Set[str], *, by: Set[str]) -> set[str]:
    """Returns the texts that one of `by` contains, or can run into from the left.

    >>> tokens = {"<a>", "<a>b", "<b>", "x<", "zz"}
    >>> sorted(_overlapped(tokens, by=tokens))
    ['<a>', '<a>b', '<b>', 'zz']
    """
    beginnings = {text[:size] for text in texts for size in range(1, len(text))}
    run_into = {text[at:] for text in by for at in range(1, len(text))} & beginnings
    contained = {part for text, part in _contained(by, texts) if part != text}
    return {text for text in texts if text in contained or any(text[:size] in run_into for size in range(1, len(text)))}


def _contained(within: Set[str], texts: Set[str]) -> Iterator[tuple[str, str]]:
    """Yields each text of `within` with each of the texts that occur in it."""
    sizes = {len(text) for text in texts}
    for text in within:
        parts = {text[at : at + size] for size in sizes for at in range(len(text) - size + 1)}
        yield from ((text, part) for part in parts & texts)


def _survives(text: str, normalizers: Sequence[str]) -> bool:
    """Says whether a token is found in normalised text whatever stands beside it.

    Known for no normaliser and for NFC: a token of ASCII, unless a mark can join its last character.
    """
    if set(normalizers) <= {"NFC"}:
        return not normalizers or (text.isascii() and not text[-1].isalpha() and text[-1] not in "<=>")
    return False


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


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
    parts = next((state[key] for key in ("normalizers", "pretokenizers", "decoders") if key in state), None)
    if parts is None:
        yield state["type"]
    else:
        for part in parts:
            yield from _types_in(part)


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False).ids
