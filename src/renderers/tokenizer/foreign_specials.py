"""Find the special tokens of a caller's own tokenizer that it does not name."""

from __future__ import annotations

from collections.abc import Collection

from renderers.tokenizer.foreign import ForeignTokenizer
from renderers.tokenizer.foreign_texts import attempt

_ROLES = ("bos_token", "eos_token", "pad_token", "unk_token")
_KNOWN_BOS = (
    "<s>",
    "<bos>",
    "<|begin_of_text|>",
    "<|begin_of_sentence|>",
    "<｜begin▁of▁sentence｜>",
    "<|startoftext|>",
    "<BOS_TOKEN>",
    "<seed:bos>",
    "<|bos|>",
    "[BOS]",
    "]~!b[",
)
"""The texts of BOS tokens of open models."""


def find_special_tokens(tokenizer: ForeignTokenizer) -> dict[str, str]:
    """Return the special tokens that a wrapped tokenizer names, and those that its ids and its encoding show.

    The text of a token with only an id is decoded. A BOS token that is not named is the first token that `encode` adds
    to a text, or a well-known one in the vocabulary. A role with the value None has no token.
    """
    tokens = dict(tokenizer.special_tokens_map)
    for role in _ROLES:
        number = getattr(tokenizer, f"{role}_id")
        text = None if role in tokens or number is None else _text_of(tokenizer, number)
        if text is not None:
            tokens[role] = text
    if "bos_token" not in tokens and not _names(tokenizer, "bos_token"):
        text = _added_bos(tokenizer) or _known_bos(tokenizer)
        if text is not None:
            tokens["bos_token"] = text
    return tokens


def find_unnamed_tokens(tokenizer: ForeignTokenizer, read: Collection[str]) -> list[str]:
    """Return those of the variables that templates read that are special tokens which a tokenizer does not name.

    A token that the object sets to None is known to be missing in the model.
    """
    unknown = [role for role in _ROLES if role not in tokenizer.special_tokens_map and not _names(tokenizer, role)]
    return [role for role in unknown if role in read]


def _names(tokenizer: ForeignTokenizer, role: str) -> bool:
    """Return True if an object has an attribute for the token of a role, even if it is None."""
    return any(hasattr(tokenizer.wrapped, name) for name in (role, f"{role}_id", "special_tokens_map"))


def _text_of(tokenizer: ForeignTokenizer, number: int) -> str | None:
    """Return the text of a special token by id; None if the text is not that token."""
    text = attempt(lambda: tokenizer.decode([number]), tokenizer.wrapped, f"decode([{number}])")
    return text if text and tokenizer.vocab.token_id(text) == number else None


def _added_bos(tokenizer: ForeignTokenizer) -> str | None:
    """Return the first token that `encode` adds to an empty text, if it is not EOS."""
    if not tokenizer.takes_add_special_tokens:
        return None
    added = attempt(lambda: tokenizer.encode("", add_special_tokens=True), tokenizer.wrapped, "encode('')")
    return _text_of(tokenizer, added[0]) if added and added[0] != tokenizer.eos_token_id else None


def _known_bos(tokenizer: ForeignTokenizer) -> str | None:
    """Return the only well-known BOS token of the vocabulary, or the only one that corresponds to the EOS token."""
    known = [text for text in _KNOWN_BOS if tokenizer.vocab.token_id(text) is not None]
    if len(known) > 1:
        eos = tokenizer.special_tokens_map.get("eos_token", "")
        alike = {eos.replace(*pair) for pair in (("eos", "bos"), ("EOS", "BOS"), ("/", ""), ("end", "begin"))}
        known = [text for text in known if text in alike]
    return known[0] if len(known) == 1 else None
