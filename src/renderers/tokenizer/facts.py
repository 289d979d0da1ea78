"""`TokenizerFacts`: the facts about a tokenizer of the Rust library that renderers need besides its ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from renderers.tokenizer.encoding.token_sizes import replaces_only_spaces
from renderers.tokenizer.engines.huggingface import component_types, prepends_a_space

if TYPE_CHECKING:
    from tokenizers import AddedToken, Tokenizer


class AddedTokenFacts(NamedTuple):
    """The text of an added token, and how it is matched."""

    content: str
    normalized: bool
    lstrip: bool
    rstrip: bool
    single_word: bool

    @classmethod
    def of(cls, token: AddedToken) -> AddedTokenFacts:
        return cls(token.content, token.normalized, token.lstrip, token.rstrip, token.single_word)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerFacts:
    """Facts about a tokenizer, in values that JSON can represent."""

    size: int
    """The number of tokens, with added tokens."""
    model_size: int
    """The number of tokens without added tokens."""
    added: tuple[AddedTokenFacts, ...]
    normalizes: bool
    """True if it has a normalizer. A sequence of none is not one."""
    composes: bool
    """True if the normalizer is NFC, or there is none."""
    prepends_a_space: bool
    """True if it may add a space before a text."""
    replaces_only_spaces: bool
    """True if it writes spaces as U+2581, changes no other character, and has a token for each byte."""


def facts_of(tokenizer: Tokenizer) -> TokenizerFacts:
    """Return the facts about a tokenizer."""
    added = tokenizer.get_added_tokens_decoder().values()
    kinds = component_types(tokenizer.normalizer)
    return TokenizerFacts(
        size=tokenizer.get_vocab_size(with_added_tokens=True),
        model_size=tokenizer.get_vocab_size(with_added_tokens=False),
        added=tuple(map(AddedTokenFacts.of, added)),
        normalizes=bool(kinds),
        composes={"NFC"}.issuperset(kinds),
        prepends_a_space=prepends_a_space(tokenizer),
        replaces_only_spaces=replaces_only_spaces(tokenizer),
    )
