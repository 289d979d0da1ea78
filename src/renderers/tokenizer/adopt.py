"""Tokenizer objects that callers bring: a private clone of what is Rust-backed, a thin wrapper of the rest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import tokenizers

from renderers.errors import TokenizerCheckError
from renderers.tokenizer.build import assemble, only_load_errors
from renderers.tokenizer.companions import Companions
from renderers.tokenizer.loaded import LoadedTokenizer, Source

__all__ = ["ForeignTokenizer", "adopt_tokenizer"]

_NEEDED = ("encode", "decode", "convert_tokens_to_ids")
_PROBE = "Is it all there?"


@dataclass(frozen=True, slots=True)
class ForeignTokenizer:
    """A caller's tokenizer that is neither ours nor Rust-backed, behind the names that we use.

    It is called as it is: whether threads may share it is up to the caller's class.
    """

    wrapped: Any
    takes_add_special_tokens: bool
    wall_ids = frozenset[int]()
    byte_level = False

    @property
    def name_or_path(self) -> str:
        return str(getattr(self.wrapped, "name_or_path", ""))

    @property
    def eos_token_id(self) -> int | None:
        return getattr(self.wrapped, "eos_token_id", None)

    @property
    def unk_token_id(self) -> int | None:
        return getattr(self.wrapped, "unk_token_id", None)

    @property
    def chat_templates(self) -> Mapping[str, str]:
        return _templates_of(self.wrapped)

    @property
    def chat_template(self) -> str | None:
        return self.chat_templates.get("default")

    def encode(self, text: str) -> list[int]:
        """Encodes text to token ids, with nothing added at either end."""
        if self.takes_add_special_tokens:
            return list(self.wrapped.encode(text, add_special_tokens=False))
        return list(self.wrapped.encode(text))

    def decode(self, token_ids: Iterable[int]) -> str:
        return str(self.wrapped.decode(list(token_ids)))

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        return self.wrapped.convert_tokens_to_ids(tokens)


def adopt_tokenizer(tokenizer: object) -> LoadedTokenizer | ForeignTokenizer:
    """Takes over a caller's tokenizer object so that nothing the caller does to it later can change our ids.

    A `LoadedTokenizer` is returned as it is. Of a transformers fast tokenizer or a `tokenizers.Tokenizer` a
    private clone is made, without truncation and padding, as transformers sets these on the shared object
    for a single call. Any other object with encode, decode and convert_tokens_to_ids is wrapped.

    Raises:
        TypeError: The object lacks one of these methods.
        TokenizerLoadError: It has them, but does not give back what it encoded.

    >>> from tokenizers import Tokenizer
    >>> from renderers import EMBEDDED
    >>> adopt_tokenizer(Tokenizer.from_file(str(EMBEDDED / "tokenizer.json"))).byte_level
    True
    """
    if isinstance(tokenizer, LoadedTokenizer):
        return tokenizer
    if isinstance(tokenizer, tokenizers.Tokenizer):
        return _clone(tokenizer, _companions_of(None), name="", owner=tokenizer)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if isinstance(backend, tokenizers.Tokenizer):
        name = str(getattr(tokenizer, "name_or_path", ""))
        return _clone(backend, _companions_of(tokenizer), name=name, owner=tokenizer)
    return _wrap(tokenizer)


def _clone(backend: tokenizers.Tokenizer, companions: Companions, *, name: str, owner: object) -> LoadedTokenizer:
    content = backend.to_str().encode()
    source = Source(
        location=f"{type(owner).__module__}.{type(owner).__qualname__}",
        commit=None,
        files=(),
        missing={},
        digest=hashlib.sha256(content).hexdigest(),
    )
    with only_load_errors(name=name, file=source.location):
        return assemble(content, companions, file="tokenizer.json", name=name, source=source)


def _companions_of(tokenizer: Any) -> Companions:
    """Returns what a transformers tokenizer says of itself; nothing of None."""
    roles = getattr(tokenizer, "special_tokens_map", {})
    return Companions(
        tokenizer_class=None,
        special_tokens={role: text for role, text in roles.items() if isinstance(text, str)},
        extra_special_tokens=tuple(map(str, getattr(tokenizer, "all_special_tokens", ()))),
        added_tokens={},
        ordinary_tokens=frozenset(),
        chat_templates=_templates_of(tokenizer),
        stop_token_ids=None,
        takes_images=None,
        takes_audio=None,
    )


def _templates_of(tokenizer: Any) -> dict[str, str]:
    template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, str):
        return {"default": template}
    return dict(template or {})


def _wrap(tokenizer: Any) -> ForeignTokenizer:
    lacking = [method for method in _NEEDED if not callable(getattr(tokenizer, method, None))]
    if lacking:
        raise TypeError(
            f"{type(tokenizer).__name__} cannot be used as a tokenizer: it has no {', '.join(lacking)}. Pass the "
            "result of load_tokenizer, a transformers fast tokenizer, or an object with these methods."
        )
    try:
        tokenizer.encode("", add_special_tokens=False)
        takes_add_special_tokens = True
    except TypeError:
        takes_add_special_tokens = False
    foreign = ForeignTokenizer(tokenizer, takes_add_special_tokens)
    added, back = foreign.encode(""), foreign.decode(foreign.encode(_PROBE))
    if added or back != _PROBE:
        fault = f"encodes no text to {added}" if added else f"gives {_PROBE!r} back as {back!r}"
        raise TokenizerCheckError(f"{type(tokenizer).__name__} {fault}. Its encode must add nothing and lose nothing.")
    return foreign
