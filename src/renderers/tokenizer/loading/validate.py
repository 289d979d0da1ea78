"""Check a built tokenizer against its files, and detect isolating tokens and byte-level vocabularies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from renderers.core.lazy import lazy_pattern
from renderers.errors import TokenizerCheckError, TokenizerFileError
from renderers.tokenizer.encoding.byte_text import BYTE_SYMBOLS
from renderers.tokenizer.engines.huggingface import component_types

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_PLAIN_PROBE = "Two lines, 12 words.\nIs it all there?"
_BYTE_PROBE = _PLAIN_PROBE + "\r\n\t naïve café — 你好，世界 🙂👩‍👩‍👧 \u0000\u200b שלום  ...    \n\n"
# The last two have combining marks, which a normalizer may join to the last character of a token.
_ISOLATION_PROBES = (("a", "b"), ("a ", " b"), ("a\n", "\n b"), ("1", "2"), ("e", "\u0301e"), ("=", "\u0338"))
_WORD_AT_AN_END = lazy_pattern(r"\A\w|\w\Z")
_MOST_TESTED = 256
_LONGEST_TOKEN = 128
_MOST_CHARACTERS = 1 << 18
"""Bounds of the search for overlaps, which is quadratic in the length of a token. Files may be malicious."""


def check_tokenizer(
    tokenizer: Tokenizer, declared: Mapping[str, int], *, special_tokens: Set[str], stop_token_ids: Iterable[int]
) -> None:
    """Raise a `TokenizerLoadError` unless the tokenizer agrees with its files.

    Every declared token has its declared id. Every special token exists and encodes to itself. Every stop token
    exists. A probe text survives encoding and decoding. The tokens that the post-processor adds exist.
    """
    for text, due in declared.items():
        if (number := tokenizer.token_to_id(text)) != due:
            raise TokenizerFileError(
                f"has the token {text!r} as {number}, and it is declared to be {due}. "
                "The vocabulary is truncated, edited, or of another model than the files beside it."
            )
    marked = {token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special}
    for text in marked | special_tokens:
        number = tokenizer.token_to_id(text)
        if number is None:
            raise TokenizerFileError(
                f"does not contain {text!r}, which is named as one of its special tokens. The vocabulary and that name "
                "are of different models, or one is out of date."
            )
        ids = _ids(tokenizer, text)
        if ids != [number]:
            raise TokenizerCheckError(f"encodes its special token {text!r} to {ids}, not to [{number}].")
    for number in stop_token_ids:
        if tokenizer.id_to_token(number) is None:
            raise TokenizerFileError(f"has no token {number}, which generation_config.json names in eos_token_id.")
    probe = _BYTE_PROBE if is_byte_level(tokenizer) else _PLAIN_PROBE
    decoded = tokenizer.decode(_ids(tokenizer, probe), skip_special_tokens=False)
    if decoded != probe:
        raise TokenizerCheckError(
            f"does not give back what it encoded: {probe!r} came back as {decoded!r}. Chat needs a lossless tokenizer."
        )
    framed = tokenizer.encode(probe, add_special_tokens=True).ids
    if None in map(tokenizer.id_to_token, framed):
        raise TokenizerCheckError(f"has a post-processor that adds ids which are not in the vocabulary: {framed}.")


def find_isolating_tokens(tokenizer: Tokenizer) -> frozenset[int]:
    """Return the ids of the isolating tokens: text on one side of them never changes the ids on the other.

    Excluded are added tokens that strip spaces, overlap another added token, or can be changed by the normalizer. The
    first 256 of the rest are tested between probe texts, which detects prefix spaces. If one of them fails, no token
    is isolating.
    """
    added = tokenizer.get_added_tokens_decoder()
    texts = {token.content for token in added.values()}
    if sum(map(len, texts)) > _MOST_CHARACTERS or max(map(len, texts), default=0) > _LONGEST_TOKEN:
        return frozenset()
    has_single_words = any(token.single_word for token in added.values())
    normalizers = component_types(tokenizer.normalizer)
    # Tokens that are not normalized are matched first, so they can also take the end or the middle of the others.
    early = {token.content for token in added.values() if not token.normalized}
    late = texts - early
    from_right = _overlapped({text[::-1] for text in late}, by={text[::-1] for text in early})
    excluded = _overlapped(texts, by=texts) | {text[::-1] for text in from_right}
    excluded.update(text for text, _ in _contained(late, early))
    candidates = frozenset(
        number
        for number, token in added.items()
        if not (token.lstrip or token.rstrip or token.single_word)
        and token.content not in excluded
        and (not token.normalized or _survives(token.content, normalizers))
        and not (has_single_words and _WORD_AT_AN_END.search(token.content))
    )
    alone = {text: _ids(tokenizer, text) for pair in _ISOLATION_PROBES for text in pair}
    for number in sorted(candidates)[:_MOST_TESTED]:
        for left, right in _ISOLATION_PROBES:
            text = left + added[number].content + right
            if _ids(tokenizer, text) != [*alone[left], number, *alone[right]]:
                return frozenset()
    return candidates


def _overlapped(texts: Set[str], *, by: Set[str]) -> set[str]:
    """Return the texts that are contained in one of `by`, or overlap with its end.

    >>> tokens = {"<a>", "<a>b", "<b>", "x<", "zz"}
    >>> sorted(_overlapped(tokens, by=tokens))
    ['<a>', '<a>b', '<b>', 'zz']
    """
    beginnings = {text[:size] for text in texts for size in range(1, len(text))}
    run_into = {text[at:] for text in by for at in range(1, len(text))} & beginnings
    contained = {part for text, part in _contained(by, texts) if part != text}
    return {text for text in texts if text in contained or any(text[:size] in run_into for size in range(1, len(text)))}


def _contained(within: Set[str], texts: Set[str]) -> Iterator[tuple[str, str]]:
    """Yield each text of `within` with each of `texts` that it contains."""
    sizes = {len(text) for text in texts}
    for text in within:
        parts = {text[at : at + size] for size in sizes for at in range(len(text) - size + 1)}
        yield from ((text, part) for part in parts & texts)


def _survives(text: str, normalizers: Sequence[str]) -> bool:
    """Return True if a token is matched in normalized text next to any other text."""
    if not normalizers:
        return True
    # NFC keeps ASCII tokens, unless a combining mark can join their last character.
    return set(normalizers) == {"NFC"} and text.isascii() and not text[-1].isalpha() and text[-1] not in "<=>"


def is_byte_level(tokenizer: Tokenizer) -> bool:
    """Return True if each token stands for a fixed sequence of bytes and every byte has a token."""
    return (
        "ByteLevel" in component_types(tokenizer.pre_tokenizer)
        and component_types(tokenizer.decoder) == ["ByteLevel"]
        and None not in map(tokenizer.token_to_id, BYTE_SYMBOLS)
    )


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False).ids
