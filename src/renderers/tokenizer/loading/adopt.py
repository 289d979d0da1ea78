"""`adopt_tokenizer`: use a tokenizer object of another library."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

from renderers.core.inputs import TokenizerLike
from renderers.core.options import BpeEngineName
from renderers.errors import TokenizerCheckError
from renderers.tokenizer.engines.select import check_engine
from renderers.tokenizer.foreign import ForeignTokenizer
from renderers.tokenizer.foreign_specials import find_special_tokens
from renderers.tokenizer.loading.files import digest, only_load_errors
from renderers.tokenizer.loading.load import assemble, load_tokenizer
from renderers.tokenizer.loading.model_files import ModelFiles, read_templates
from renderers.tokenizer.loading.single_flight import CACHED_TOKENIZERS, SingleFlight
from renderers.tokenizer.tokenizer import LoadedTokenizer, TokenizerSource
from renderers.tokenizer.vocab import shared_vocab, vocab_with_engine

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_REQUIRED_METHODS = ("encode", "decode", "convert_tokens_to_ids")
_PROBE = "Is it all there?"
_CLONES: SingleFlight[LoadedTokenizer] = SingleFlight(keep=CACHED_TOKENIZERS, weak=True)
"""By digest and name: equal tokenizers share a clone."""


def adopt_tokenizer(
    tokenizer: TokenizerLike, *, bpe_engine: BpeEngineName | None = None
) -> LoadedTokenizer | ForeignTokenizer:
    """Make a tokenizer of a caller's object that later changes to the object do not affect.

    The name or the path of a model is loaded with `load_tokenizer`. A `LoadedTokenizer` is returned unchanged, unless
    `bpe_engine` is another one; see `load_tokenizer`. A transformers fast tokenizer and a `tokenizers.Tokenizer` are
    cloned, without truncation and padding: transformers sets these on the shared object during a call. Equal tokenizers
    share a clone. Any other object with `encode`, `decode` and `convert_tokens_to_ids` is wrapped.

    Raises:
        ModuleNotFoundError: The engine is not installed.
        TypeError: The object lacks one of these methods; or an engine is named, and the object encodes text itself.
        TokenizerLoadError: A model cannot be loaded, a method fails, or decoding does not restore the encoded text.

    >>> from tokenizers import Tokenizer
    >>> from renderers import EXAMPLE_MODEL
    >>> adopt_tokenizer(Tokenizer.from_file(str(EXAMPLE_MODEL / "tokenizer.json"))).decode([0])
    '!'
    """
    adopted = _adopt(tokenizer)
    if bpe_engine is None:
        return adopted
    check_engine(bpe_engine)
    if isinstance(adopted, LoadedTokenizer):
        vocab = vocab_with_engine(adopted.vocab, bpe_engine)
        return adopted if vocab is adopted.vocab else replace(adopted, vocab=vocab)
    if bpe_engine != "auto":
        wrapped = type(adopted.wrapped).__qualname__
        raise TypeError(f"{wrapped} encodes text itself, so bpe_engine={bpe_engine!r} cannot be used with it.")
    return adopted


def _adopt(tokenizer: TokenizerLike) -> LoadedTokenizer | ForeignTokenizer:
    if isinstance(tokenizer, LoadedTokenizer | ForeignTokenizer):
        return tokenizer
    if isinstance(tokenizer, str | os.PathLike):
        return load_tokenizer(tokenizer)
    kind = f"{type(tokenizer).__module__}.{type(tokenizer).__qualname__}"
    with only_load_errors(name=_name_of(tokenizer), file=kind):
        backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        if _is_tokenizer(backend):
            return _clone(backend, tokenizer, kind=kind)
    lacking = [method for method in _REQUIRED_METHODS if not callable(getattr(tokenizer, method, None))]
    if lacking:
        raise TypeError(
            f"{kind} cannot be used as a tokenizer: it has no {', '.join(lacking)}. Pass the result of load_tokenizer, "
            "a transformers fast tokenizer, or an object with these methods."
        )
    with only_load_errors(name=_name_of(tokenizer), file=kind):
        return _wrap(tokenizer)


def _is_tokenizer(backend: object) -> TypeGuard[Tokenizer]:
    # An object is an instance of the class only if its module is loaded.
    loaded = sys.modules.get("tokenizers")
    return loaded is not None and isinstance(backend, loaded.Tokenizer)


def _clone(backend: Tokenizer, tokenizer: Any, *, kind: str) -> LoadedTokenizer:
    name = _name_of(tokenizer)
    extra = tuple(map(str, getattr(tokenizer, "all_special_tokens", ())))
    roles, templates = _special_tokens_of(tokenizer), _templates_of(tokenizer)
    model_files = ModelFiles(
        special_tokens=roles,
        extra_special_tokens=extra,
        chat_templates=templates,
        response_template=getattr(tokenizer, "response_template", None) or None,
    )
    # Another thread may have enabled these for a single call.
    per_call = rb'"truncation":.*?,"padding":.*?,(?="added_tokens":)'
    content = re.sub(per_call, b"", backend.to_str().encode(), count=1, flags=re.DOTALL)
    metadata = json.dumps(asdict(model_files), sort_keys=True, default=sorted).encode()
    digest_of_all = digest({"tokenizer": content, "model_files": metadata})
    build = partial(assemble, content, model_files, file=kind, digest=digest_of_all)

    def clone() -> LoadedTokenizer:
        source = TokenizerSource(location=kind, commit=None, files=(), missing={}, digest=digest_of_all)
        return LoadedTokenizer(name_or_path=name, source=source, vocab=shared_vocab(digest_of_all, build=build))

    return _CLONES.get((digest_of_all, name), version=kind, work=clone)


def _special_tokens_of(tokenizer: Any) -> dict[str, str]:
    roles = getattr(tokenizer, "special_tokens_map", None) or {
        role: getattr(tokenizer, role, None) for role in ("bos_token", "eos_token", "pad_token", "unk_token")
    }
    return {role: text for role, text in roles.items() if isinstance(text, str)}


def _templates_of(tokenizer: Any) -> dict[str, str]:
    return read_templates(getattr(tokenizer, "chat_template", None), file=type(tokenizer).__qualname__)


def _name_of(tokenizer: object) -> str:
    return str(getattr(tokenizer, "name_or_path", None) or "")


def _wrap(tokenizer: Any) -> ForeignTokenizer:
    try:
        tokenizer.encode("", add_special_tokens=False)
        takes_add_special_tokens = True
    except TypeError:
        takes_add_special_tokens = False
    roles = ("bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id")
    ids: dict[str, Any] = {role: getattr(tokenizer, role, None) for role in roles}
    foreign = ForeignTokenizer(
        wrapped=tokenizer,
        takes_add_special_tokens=takes_add_special_tokens,
        name_or_path=_name_of(tokenizer),
        chat_templates=_templates_of(tokenizer),
        special_tokens_map=_special_tokens_of(tokenizer),
        **ids,
    )
    foreign = replace(foreign, special_tokens_map=find_special_tokens(foreign))
    added = foreign.encode("", add_special_tokens=False)
    decoded = foreign.decode(foreign.encode(_PROBE, add_special_tokens=False))
    if added or decoded != _PROBE:
        fault = f"encodes the empty string to {added}" if added else f"gives {_PROBE!r} back as {decoded!r}"
        raise TokenizerCheckError(f"{fault}. encode() must be lossless and add no tokens.")
    return foreign
