"""`renderers inspect`: the facts in a tokenizer's files, and the tokens of a text."""

from __future__ import annotations

from renderers import LoadedTokenizer
from renderers.cli.inputs import load_model
from renderers.core.text import align_columns

_MAX_LISTED = 12


def inspect(model: str, *, revision: str | None, text: str | None) -> str:
    """Return a description of a tokenizer, and the tokens of `text` if it is given."""
    tokenizer = load_model(model, revision)
    parts = [describe(tokenizer)]
    if text is not None:
        parts.append(show_tokens(tokenizer, tokenizer.encode(text, add_special_tokens=False)))
    return "\n\n".join(parts)


def describe(tokenizer: LoadedTokenizer) -> str:
    """Return a table of facts about a tokenizer."""
    source = tokenizer.source
    stops = tokenizer.stop_token_ids
    vocab = tokenizer.vocab
    isolating = f"{len(vocab.isolating_token_ids)} of the added tokens"
    templates = [f"{name} ({len(text)} characters)" for name, text in tokenizer.chat_templates.items()]
    rows = {
        "name": tokenizer.name_or_path,
        "read from": source.location + (f" at {source.commit}" if source.commit else ""),
        "files": ", ".join(source.files),
        "missing": ", ".join(f"{file} ({reason})" for file, reason in source.missing.items()) or "nothing",
        "vocabulary": f"{tokenizer.vocab_size} tokens, {len(tokenizer)} with added ones",
        "byte-level": _yes_or_no(vocab.byte_level),
        "isolating": isolating + ", all special tokens included" * (vocab.special_ids <= vocab.isolating_token_ids),
        "BPE engine": str(tokenizer.bpe_engine),
        "added tokens": _tokens(tokenizer, list(tokenizer.added_tokens.values())),
        "special tokens": ", ".join(f"{role} {text}" for role, text in tokenizer.special_tokens_map.items()) or "none",
        "stop tokens": "not specified" if stops is None else _tokens(tokenizer, list(stops)),
        "chat templates": ", ".join(templates) or "none",
        "takes images": _yes_or_no(tokenizer.takes_images),
        "takes audio": _yes_or_no(tokenizer.takes_audio),
    }
    return "\n".join(align_columns(rows.items()))


def show_tokens(tokenizer: LoadedTokenizer, ids: list[int]) -> str:
    """Return a line per token: position, id, and decoded text.

    A token that is only a part of a character is shown as U+FFFD.
    """
    return "\n".join(f"{position:>4}  {token:>7}  {tokenizer.decode(token)!r}" for position, token in enumerate(ids))


def _tokens(tokenizer: LoadedTokenizer, ids: list[int]) -> str:
    listed = [f"{tokenizer.convert_ids_to_tokens(token)!r} {token}" for token in ids[:_MAX_LISTED]]
    rest = len(ids) - len(listed)
    return ", ".join(listed) + (f", and {rest} more" if rest else "")


def _yes_or_no(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "not specified"}[value]
