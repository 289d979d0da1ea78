"""Reference ids of real models, from their tokenizer and template without this package."""

from __future__ import annotations

import base64
import contextlib
import datetime
import functools
import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import tiktoken
from jinja2.sandbox import modifies_known_mutable
from transformers import AutoTokenizer
from transformers.utils import chat_template_utils

from renderers.programs.typescript_tools import declare_tools
from tests.support.models import KIMI_PATTERN, hub_models, snapshot_of

__all__ = [
    "Reference",
    "apply_chat_template",
    "automatic",
    "lists_can_change",
    "prepare_tools",
    "reference_of",
    "reference_with",
    "time_is",
]

Data = dict[str, Any]

Reference = Callable[..., list[int]]
"""A function from messages to ids, with the arguments and errors of `apply_chat_template`."""

FILES = ("tokenizer", "template", "config")
"""The entries of the manifest that identify the tokenizer of a model."""


def reference_of(name: str) -> Reference:
    """Return the reference for a real model: transformers, or tiktoken if transformers has no class for it."""
    model = hub_models()[name]
    if model["tokenizer"] == "kimi-k2":
        return kimi_reference(name)
    same = [other for other, files in hub_models().items() if all(files[key] == model[key] for key in FILES)]
    return reference_with(automatic(same[0]))


@functools.lru_cache(maxsize=1)
def automatic(name: str) -> Any:
    """Return the tokenizer that transformers loads. The last one is cached, for models with the same files."""
    return AutoTokenizer.from_pretrained(name)


def reference_with(tokenizer: Any) -> Reference:
    """Return the reference for a tokenizer of transformers."""
    return functools.partial(apply_chat_template, tokenizer, return_dict=False)


def apply_chat_template(
    tokenizer: Any,
    messages: list[Data],
    *,
    chat_template: str | None = None,
    tools: list[Data] | None = None,
    tokenize: bool = True,
    **arguments: Any,
) -> Any:
    """Call `apply_chat_template` of transformers with the fields of messages that are None.

    Transformers removes these fields since version 5.23. This package passes them to the template.
    """
    if all(None not in message.values() for message in messages):
        return tokenizer.apply_chat_template(
            messages, chat_template=chat_template, tools=tools, tokenize=tokenize, **arguments
        )
    options = {name: value for name, value in arguments.items() if name != "return_dict"}
    texts, _ = chat_template_utils.render_jinja_template(
        [messages],
        tools=tools,
        chat_template=tokenizer.get_chat_template(chat_template, tools),
        **{**tokenizer.special_tokens_map, **options},
    )
    return tokenizer(texts[0], add_special_tokens=False)["input_ids"] if tokenize else texts[0]


def prepare_tools(source: str, tools: list[Data] | None, *, sort: bool) -> Data:
    """Return the arguments of a template for tools, as the tokenizer code of Kimi prepares them.

    It sorts the keys, and that of K2.5 also declares the tools. The declarations have tests of their own.
    """
    declares = bool(tools) and "tools_ts_str" in source
    prepared: Data = {"tools": json.loads(json.dumps(tools, sort_keys=True)) if sort or declares else tools}
    if tools and declares:
        prepared["tools_ts_str"] = str(declare_tools(tools).declarations)
    return prepared


def kimi_reference(name: str) -> Reference:
    """Return the reference for a Kimi model: transformers runs the template, tiktoken encodes the text.

    A caller that passes `tools_ts_str` gets the tools with sorted keys too.
    """
    snapshot = snapshot_of(name)
    template = (snapshot / "chat_template.jinja").read_text(encoding="utf-8")
    config = json.loads((snapshot / "tokenizer_config.json").read_text(encoding="utf-8"))
    lines = (snapshot / "tiktoken.model").read_bytes().splitlines()
    encoding = tiktoken.Encoding(
        "kimi",
        pat_str=KIMI_PATTERN,
        mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)},
        special_tokens={entry["content"]: int(at) for at, entry in config["added_tokens_decoder"].items()},
    )
    tokens = {key: value for key, value in config.items() if key.endswith("_token")}

    def reference(messages: list[Data], *, tools: list[Data] | None = None, **arguments: Any) -> list[int]:
        given = {**tokens, **prepare_tools(template, tools, sort=True), **arguments}
        with lists_can_change():
            texts, _ = chat_template_utils.render_jinja_template([messages], chat_template=template, **given)
        return encoding.encode(texts[0], allowed_special="all")

    return reference


@contextlib.contextmanager
def lists_can_change() -> Iterator[None]:
    """Let templates append to lists. The template of Kimi K2 does, and the sandbox of transformers refuses it."""

    def changes(value: object, name: str) -> bool:
        return modifies_known_mutable(value, name) and not (type(value) is list and name in ("append", "pop"))

    with mock.patch("jinja2.sandbox.modifies_known_mutable", changes):
        yield


@contextlib.contextmanager
def time_is(moment: datetime.datetime) -> Iterator[None]:
    """Set the time of templates in transformers, which does not accept `strftime_now` as an argument."""
    with mock.patch.object(chat_template_utils, "datetime", SimpleNamespace(now=lambda: moment)):
        yield
