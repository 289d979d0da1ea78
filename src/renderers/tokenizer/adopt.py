"""Tokenizer objects that callers bring: a private clone of what is Rust-backed, a thin wrapper of the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import tokenizers

from renderers.core.lazy import lazy
from renderers.errors import TokenizerCheckError
from renderers.tokenizer.alignment import aligned_offsets
from renderers.tokenizer.build import assemble, only_load_errors
from renderers.tokenizer.companions import Companions, read_templates
from renderers.tokenizer.files import digest
from renderers.tokenizer.heap import give_back_freed_memory
from renderers.tokenizer.loaded import LoadedTokenizer, reserved_among
from renderers.tokenizer.once import Once
from renderers.tokenizer.shapes import Source
from renderers.tokenizer.wire import ForeignTexts

__all__ = ["ForeignTokenizer", "adopt_tokenizer"]

_NEEDED = ("encode", "decode", "convert_tokens_to_ids")
_PROBE = "Is it all there?"
_TAG = re.compile(r"<[^\s<>'\"{}]{1,60}>")
"""What control tokens look like in the text of a template."""
_CLONES: Once[LoadedTokenizer] = Once(keep=8)
"""By content, so that many renderers of one tokenizer share one clone."""


@dataclass(frozen=True, kw_only=True)
class ForeignTokenizer:
    """A caller's tokenizer that is neither ours nor Rust-backed, behind the names that `LoadedTokenizer` has.

    Its methods are called as they are: whether threads may share it is up to the caller's class.
    """

    wrapped: Any
    takes_add_special_tokens: bool
    name_or_path: str
    bos_token_id: int | None
    eos_token_id: int | None
    pad_token_id: int | None
    unk_token_id: int | None
    chat_templates: Mapping[str, str]
    special_tokens_map: Mapping[str, str]
    stop_token_ids: tuple[int, ...] | None = None
    takes_images: bool | None = None
    takes_audio: bool | None = None
    wall_ids: frozenset[int] = frozenset()
    byte_level: bool = False

    @property
    def chat_template(self) -> str | None:
        """The default template's text; None where there is none."""
        return self.chat_templates.get("default")

    @property
    def control_texts(self) -> frozenset[str]:
        """The tokens that are known to have a part to play."""
        return frozenset(self.special_tokens_map.values())

    @property
    def stop_texts(self) -> frozenset[str]:
        """None: the caller's class does not say with which tokens a model stops."""
        return frozenset()

    @property
    def tells_added_tokens(self) -> bool:
        """Whether the caller's class says which tokens it has beside its vocabulary."""
        return callable(getattr(self.wrapped, "get_added_vocab", None))

    @lazy
    def reserved_texts(self) -> frozenset[str]:
        """The texts of all added tokens that are not there for layout.

        Where the class does not tell, they are the special ones, and the tags in its templates that are tokens.
        """
        if self.tells_added_tokens:
            return reserved_among(map(str, self.wrapped.get_added_vocab()))
        spelled = {text for template in self.chat_templates.values() for text in _TAG.findall(template)}
        return self.control_texts | {text for text in spelled if self.token_of(text) is not None}

    @lazy
    def wire_texts(self) -> ForeignTexts:
        """The text of each token by id, with one character for each byte."""
        return ForeignTexts(self)

    @lazy
    def added_tokens(self) -> Mapping[str, int]:
        """The ids of the tokens that are known to have a text of their own."""
        ids = {text: self.token_of(text) for text in self.reserved_texts}
        return {text: number for text, number in ids.items() if number is not None}

    @lazy
    def known_by(self) -> frozenset[tuple[str, int]]:
        """What is the same for tokenizers that have the same control tokens."""
        return frozenset(self.added_tokens.items())

    def token_of(self, text: str) -> int | None:
        """Returns the id of the token that a text is; None where it is none, or several."""
        try:
            number = self.convert_tokens_to_ids(text)
            alone = self.encode(text, add_special_tokens=False)
        except Exception:
            # Whatever a caller's class raises for a text that it does not have, or does not take.
            return None
        known = type(number) is int and number != self.unk_token_id
        return number if known and alone == [number] else None

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Encodes text to token ids; a class that knows no `add_special_tokens` never adds any."""
        if self.takes_add_special_tokens:
            return list(self.wrapped.encode(text, add_special_tokens=add_special_tokens))
        return list(self.wrapped.encode(text))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Returns each token's first character in a text and the one after its last.

        A class that cannot say it when it is called is asked what each token is.

        Raises:
            UnalignedError: The tokens are not those of the text, one after the other.
        """
        ids = self.encode(text, add_special_tokens=False)
        if callable(self.wrapped):
            try:
                called = self.wrapped(text, add_special_tokens=False, return_offsets_mapping=True)
                offsets = [(int(start), int(end)) for start, end in called["offset_mapping"]]
            except Exception:
                # A slow tokenizer of transformers raises, another class may take no such argument.
                offsets = []
            if len(offsets) == len(ids):
                return offsets
        return aligned_offsets(ids, text, decode=self.wire_texts.text_of)

    def decode(self, token_ids: Iterable[int]) -> str:
        """Decodes token ids to text."""
        return str(self.wrapped.decode(list(token_ids)))

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Returns what the caller's class returns for these tokens."""
        return self.wrapped.convert_tokens_to_ids(tokens)


def adopt_tokenizer(tokenizer: object) -> LoadedTokenizer | ForeignTokenizer:
    """Takes over a caller's tokenizer object so that nothing the caller does to it later can change our ids.

    A `LoadedTokenizer` is returned as it is. Of a transformers fast tokenizer or a `tokenizers.Tokenizer` a
    private clone is made, without truncation and padding, as transformers sets these on the shared object
    for a single call; equal tokenizers share a clone. Any other object with encode, decode and
    convert_tokens_to_ids is wrapped.

    Raises:
        TypeError: The object lacks one of these methods.
        TokenizerLoadError: It has them, but they fail, or do not give back what was encoded.

    >>> from tokenizers import Tokenizer
    >>> from renderers import EMBEDDED
    >>> adopt_tokenizer(Tokenizer.from_file(str(EMBEDDED / "tokenizer.json"))).byte_level
    True
    """
    if isinstance(tokenizer, LoadedTokenizer | ForeignTokenizer):
        return tokenizer
    kind = f"{type(tokenizer).__module__}.{type(tokenizer).__qualname__}"
    with only_load_errors(name=_name_of(tokenizer), file=kind):
        if isinstance(tokenizer, tokenizers.Tokenizer):
            return _clone(tokenizer, _companions_of(None), name="", kind=kind)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if isinstance(backend, tokenizers.Tokenizer):
            return _clone(backend, _companions_of(tokenizer), name=_name_of(tokenizer), kind=kind)
    lacking = [method for method in _NEEDED if not callable(getattr(tokenizer, method, None))]
    if lacking:
        raise TypeError(
            f"{kind} cannot be used as a tokenizer: it has no {', '.join(lacking)}. Pass the result of load_tokenizer, "
            "a transformers fast tokenizer, or an object with these methods."
        )
    with only_load_errors(name=_name_of(tokenizer), file=kind):
        return _wrap(tokenizer, kind=kind)


def _clone(backend: tokenizers.Tokenizer, companions: Companions, *, name: str, kind: str) -> LoadedTokenizer:
    # What another thread has switched on for the moment is not part of the tokenizer.
    momentary = rb'"truncation":.*?,"padding":.*?,(?="added_tokens":)'
    content = re.sub(momentary, b"", backend.to_str().encode(), count=1, flags=re.DOTALL)
    said = json.dumps(asdict(companions), sort_keys=True, default=sorted).encode()
    source = Source(
        location=kind, commit=None, files=(), missing={}, digest=digest({"tokenizer": content, "companions": said})
    )

    def work() -> LoadedTokenizer:
        cloned = assemble(content, companions, file=kind, name=name, source=source)
        give_back_freed_memory()
        return cloned

    cloned = _CLONES.get(source.digest, version=kind, work=work)
    return cloned if cloned.name_or_path == name else cloned.seen_as(name, None, source)


def _companions_of(tokenizer: Any) -> Companions:
    """Returns what a transformers tokenizer says of itself; nothing of None."""
    return Companions(
        tokenizer_class=None,
        special_tokens=_special_tokens_of(tokenizer),
        extra_special_tokens=tuple(map(str, getattr(tokenizer, "all_special_tokens", ()))),
        added_tokens={},
        ordinary_tokens=frozenset(),
        chat_templates=_templates_of(tokenizer),
        stop_token_ids=None,
        takes_images=None,
        takes_audio=None,
    )


def _special_tokens_of(tokenizer: Any) -> dict[str, str]:
    roles = getattr(tokenizer, "special_tokens_map", None) or {
        role: getattr(tokenizer, role, None) for role in ("bos_token", "eos_token", "pad_token", "unk_token")
    }
    return {role: text for role, text in roles.items() if isinstance(text, str)}


def _templates_of(tokenizer: Any) -> dict[str, str]:
    template = getattr(tokenizer, "chat_template", None)
    return read_templates(template, file=type(tokenizer).__qualname__, name=_name_of(tokenizer))


def _name_of(tokenizer: object) -> str:
    name = getattr(tokenizer, "name_or_path", None)
    return "" if name is None else str(name)


def _wrap(tokenizer: Any, *, kind: str) -> ForeignTokenizer:
    try:
        tokenizer.encode("", add_special_tokens=False)
        takes_add_special_tokens = True
    except TypeError:
        takes_add_special_tokens = False
    foreign = ForeignTokenizer(
        wrapped=tokenizer,
        takes_add_special_tokens=takes_add_special_tokens,
        name_or_path=_name_of(tokenizer),
        bos_token_id=getattr(tokenizer, "bos_token_id", None),
        eos_token_id=getattr(tokenizer, "eos_token_id", None),
        pad_token_id=getattr(tokenizer, "pad_token_id", None),
        unk_token_id=getattr(tokenizer, "unk_token_id", None),
        chat_templates=_templates_of(tokenizer),
        special_tokens_map=_special_tokens_of(tokenizer),
    )
    added = foreign.encode("", add_special_tokens=False)
    back = foreign.decode(foreign.encode(_PROBE, add_special_tokens=False))
    if added or back != _PROBE:
        fault = f"encodes no text to {added}" if added else f"gives {_PROBE!r} back as {back!r}"
        raise TokenizerCheckError(f"{fault}. Its encode must add nothing and lose nothing.", file=kind)
    return foreign
