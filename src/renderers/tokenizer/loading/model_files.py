"""Read the files beside the vocabulary: special tokens, chat templates, stop tokens, modalities."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from renderers.errors import TokenizerFileError
from renderers.tokenizer.loading.files import TEMPLATE_FOLDER

_IMAGE_KEYS = frozenset(
    "vision_config vision_tower mm_vision_tower visual image_token_id image_token_index img_processor".split()
)
_AUDIO_KEYS = frozenset("audio_config audio_token_id audio_token_index audio_processor sound_config".split())
_ROLES = frozenset("bos_token eos_token unk_token sep_token pad_token cls_token mask_token".split())
_NESTED_CONFIGS = ("thinker_config", "text_config", "llm_config", "language_config")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The contents of the files beside the vocabulary. None and empty mean that no file has the fact."""

    tokenizer_class: object = None
    special_tokens: Mapping[str, str] = field(default_factory=dict)
    """Special tokens by role: `bos_token`, `eos_token`, …"""
    extra_special_tokens: tuple[str, ...] = ()
    """Further special tokens, without a role."""
    added_tokens: Mapping[str, int] = field(default_factory=dict)
    """The tokens with an id in `tokenizer_config.json`."""
    ordinary_tokens: frozenset[str] = frozenset()
    """The added tokens that are marked as not special."""
    chat_templates: Mapping[str, str] = field(default_factory=dict)
    stop_token_ids: tuple[int, ...] | None = None
    takes_images: bool | None = None
    takes_audio: bool | None = None
    """True if `config.json` has a key of such models; None without that file."""
    response_template: Mapping[str, Any] | None = None
    """Hugging Face's record of the format of turns."""


def read_model_files(contents: Mapping[str, bytes]) -> ModelFiles:
    config = _object(contents, "tokenizer_config.json")
    added, ordinary = _added_tokens(config)
    roles, extra = _special_tokens(config, "tokenizer_config.json")
    older_map = _object(contents, "special_tokens_map.json")
    older_roles, older_extra = _special_tokens(older_map, "special_tokens_map.json")
    # As in transformers: the older map applies only if the config lists no added tokens.
    if not added:
        roles, extra = {**roles, **older_roles}, tuple(dict.fromkeys((*extra, *older_extra)))
    model, has_model = _object(contents, "config.json"), "config.json" in contents
    return ModelFiles(
        tokenizer_class=config.get("tokenizer_class"),
        special_tokens=roles,
        extra_special_tokens=extra,
        added_tokens=added,
        ordinary_tokens=ordinary,
        chat_templates=_chat_templates(contents, config),
        stop_token_ids=_stop_token_ids(_object(contents, "generation_config.json")),
        takes_images=_mentions(model, _IMAGE_KEYS) if has_model else None,
        takes_audio=_mentions(model, _AUDIO_KEYS) if has_model else None,
        response_template=_response_template(config),
    )


def _response_template(config: Mapping[str, Any]) -> dict[str, Any] | None:
    record = config.get("response_template")
    if record is not None and not isinstance(record, dict):
        raise _unexpected("tokenizer_config.json", "response_template", "an object", record)
    return record


def read_json(content: bytes, *, file: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        state = "is empty" if not content.strip() else f"is not valid JSON ({error})"
        fault = f"{state}. It may be half-written or truncated: download it again."
        raise TokenizerFileError(fault, file=file) from error


def _object(contents: Mapping[str, bytes], file: str) -> dict[str, Any]:
    value = read_json(contents.get(file, b"{}"), file=file)
    if not isinstance(value, dict):
        raise _unexpected(file, "", "an object", value)
    return value


def _added_tokens(config: Mapping[str, Any]) -> tuple[dict[str, int], frozenset[str]]:
    listed = config.get("added_tokens_decoder") or {}
    if not isinstance(listed, dict):
        raise _unexpected("tokenizer_config.json", "added_tokens_decoder", "an object", listed)
    tokens = {}
    for number, entry in listed.items():
        content = _token_text(entry)
        if content is None or not number.isdecimal():
            raise _unexpected("tokenizer_config.json", f"added_tokens_decoder[{number!r}]", "a token", entry)
        tokens[content] = int(number)
    entries = (entry for entry in listed.values() if isinstance(entry, dict))
    return tokens, frozenset(entry["content"] for entry in entries if entry.get("special") is False)


def _special_tokens(config: Mapping[str, Any], file: str) -> tuple[dict[str, str], tuple[str, ...]]:
    for key in filter(_ROLES.__contains__, config):
        if config[key] is not None and _token_text(config[key]) is None:
            raise _unexpected(file, key, "a token", config[key])
    # Roles of some models only (image_token, ...) are included.
    roles = {key: text for key, value in config.items() if key.endswith("_token") and (text := _token_text(value))}
    extra: list[str] = []
    for key in ("extra_special_tokens", "additional_special_tokens"):
        listed = config.get(key) or ()
        if isinstance(listed, dict):
            listed = tuple(listed.values())
        texts = [_token_text(value) for value in listed] if isinstance(listed, (list, tuple)) else [None]
        if None in texts:
            raise _unexpected(file, key, "a list of tokens", listed)
        extra.extend(text for text in texts if text)
    return roles, tuple(dict.fromkeys(extra))


def _token_text(value: object) -> str | None:
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else None


def _chat_templates(contents: Mapping[str, bytes], config: Mapping[str, Any]) -> dict[str, str]:
    named = {PurePosixPath(file).stem: file for file in contents if file.startswith(f"{TEMPLATE_FOLDER}/")}
    if "chat_template.jinja" in contents:
        named = {"default": "chat_template.jinja", **named}
    files = {key: _template_text(contents[file], file) for key, file in named.items()}
    inline = read_templates(config.get("chat_template"), file="tokenizer_config.json")
    processor = _object(contents, "chat_template.json")
    # As in transformers: if there are template files, those in the config are ignored.
    return files or inline or read_templates(processor.get("chat_template"), file="chat_template.json")


def _template_text(content: bytes, file: str) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TokenizerFileError(f"is not UTF-8 text ({error}).", file=file) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_templates(value: object, *, file: str) -> dict[str, str]:
    """Return templates by name, from a str, a dict, or a list of names and templates."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {"default": value}
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
        pairs = [(entry.get("name"), entry.get("template")) for entry in value]
    if not pairs or not all(isinstance(text, str) for pair in pairs for text in pair):
        raise _unexpected(file, "chat_template", "a template, or templates by name", value)
    return dict(pairs)


def _stop_token_ids(generation: Mapping[str, Any]) -> tuple[int, ...] | None:
    value = generation.get("eos_token_id")
    if value is None:
        return None
    ids = value if isinstance(value, list) else [value]
    if not all(type(number) is int and number >= 0 for number in ids):
        raise _unexpected("generation_config.json", "eos_token_id", "token ids", value)
    return tuple(dict.fromkeys(ids))


def _mentions(config: Mapping[str, Any], keys: frozenset[str]) -> bool:
    nested = (config.get(key) for key in _NESTED_CONFIGS)
    return any(config.get(key) is not None for key in keys) or any(
        _mentions(part, keys) for part in nested if isinstance(part, dict)
    )


def _unexpected(file: str, key: str, wanted: str, value: object) -> TokenizerFileError:
    place = f"has {key} = " if key else "holds "
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return TokenizerFileError(f"{place}{shown} instead of {wanted}.", file=file)
