"""Convert tiktoken ranks to a `tokenizers.Tokenizer` with exactly the same ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING

from renderers.tokenizer.encoding.byte_text import BYTE_SYMBOLS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TABLE = dict(enumerate(BYTE_SYMBOLS))


def tokenizer_from_ranks(
    ranks: Mapping[bytes, int],
    *,
    pattern: str,
    added_tokens: Mapping[str, int],
    ordinary_tokens: Set[str] = frozenset(),
    first_id: int = 0,
) -> Tokenizer:
    """Build a tokenizer with the ids of tiktoken for these ranks, pattern and added tokens.

    `first_id` is the id of rank 0. Added tokens below it become part of the vocabulary. Those after the ranks must
    follow without a gap; the caller checks their ids. All added tokens but `ordinary_tokens` are special.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

    symbols = {token: token.decode("latin-1").translate(_TABLE) for token in ranks}
    vocabulary = {symbols[token]: first_id + rank for token, rank in ranks.items()}
    vocabulary.update((text, number) for text, number in added_tokens.items() if number < first_id)
    if len(vocabulary) != len(ranks) + sum(number < first_id for number in added_tokens.values()):
        raise ValueError("an added token has the text of an ordinary one")
    merges = [(symbols[left], symbols[right]) for left, right in _merges(ranks)]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=True))
    split = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    in_order = sorted(added_tokens, key=added_tokens.__getitem__)
    tokenizer.add_tokens([AddedToken(text, special=text not in ordinary_tokens, normalized=False) for text in in_order])
    return tokenizer


def _merges(ranks: Mapping[bytes, int]) -> Iterator[tuple[bytes, bytes]]:
    # tiktoken merges the neighbours with the lowest rank of the merged token, and a merge list orders pairs. So every
    # split of a token into two tokens becomes a merge, in the order of the ranks of the merged tokens.
    for token in sorted(ranks, key=ranks.__getitem__):
        for cut in range(1, len(token)):
            left = token[:cut]
            if left in ranks and (right := token[cut:]) in ranks:
                yield left, right
