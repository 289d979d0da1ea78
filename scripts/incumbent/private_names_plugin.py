"""A pytest plugin that adds private names of release 0.1 to this package, as far as its tests need them.

    pytest -p private_names_plugin [--gpt-oss-program harmony-0.1]

Each name stands for a helper of this package. The tests compare the default date of gpt-oss with the current one, and
here it is always the same, so they get a clock that shows this date.
"""

from __future__ import annotations

import datetime
import importlib
import sys
from typing import Any

import renderers.base
import renderers.configs
import renderers.parsing
import renderers.settings
from renderers.compat.segments import attribute_text_segments
from renderers.configs import BaseRendererConfig
from renderers.core.options import DEFAULT_DATE
from renderers.core.tokens import MultiModalData
from renderers.families import Family
from renderers.programs.typescript_tools import declare_tools
from renderers.renderer import ChatRenderer
from renderers.tokenizer.loading.locate import MIRRORS
from renderers.training.rendered_sample import media_type_ids

SPECIAL_TOKENS = {
    "_assistant_end": "</assistant>",
    "_channel_end": "<channel|>",
    "_content_model_end_sampling": "<|content_model_end_sampling|>",
    "_end": "<|end|>",
    "_end_message": "<|end_message|>",
    "_eot": "<|eot_id|>",
}
"""Tokens that release 0.1 stores in attributes of its renderers."""

NEW_SWITCHES = {
    "GptOssRendererConfig": {
        "auto_drop_analysis",
        "builtin_tools",
        "knowledge_cutoff",
        "model_identity",
        "use_system_prompt",
    },
    "KimiK25RendererConfig": {"tools_ts_str"},
}
"""Switches of configs that release 0.1 lacks. Its tests require a list of values for every switch."""


class FixedClock(datetime.datetime):
    """A clock that always shows the default date of this package."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return DEFAULT_DATE.astimezone(tz) if tz else DEFAULT_DATE


def pytest_addoption(parser: Any) -> None:
    """Add the option."""
    parser.addoption("--gpt-oss-program", help="the program of gpt-oss, if a test chooses none")


def pytest_configure(config: Any) -> None:
    """Set the program of gpt-oss."""
    program = config.getoption("--gpt-oss-program")
    if program is None:
        return
    choose = vars(renderers.settings)["_choose_program"]

    def choose_program(requested: str | None, family: Family, *others: Any, **options: Any) -> Any:
        is_default = requested is None and family.key == "gpt-oss" and options["own_template"]
        return choose(program if is_default else requested, family, *others, **options)

    set_names(renderers.settings, _choose_program=choose_program)


def pytest_collection_finish() -> None:
    """Replace the clock of the module that renders with OpenAI's encoder."""
    for name, module in list(sys.modules.items()):
        if name.rpartition(".")[2] == "reference_rendering":
            set_names(module, datetime=FixedClock)


def config_class(name: str) -> type:
    """Return the config class of a renderer name."""
    return renderers.configs.CONFIG_CLASSES[name]


def old_switches(config: type[BaseRendererConfig]) -> frozenset[str]:
    """Return the switches of a config class that release 0.1 has too."""
    names: frozenset[str] = _switches(config)
    return names - NEW_SWITCHES.get(config.__name__, set())


def strip_stop_tokens(token_ids: list[int], stop_ids: set[int]) -> list[int]:
    """Return ids up to the first stop token."""
    end = next((index for index, token in enumerate(token_ids) if token in stop_ids), len(token_ids))
    return token_ids[:end]


def offset_tokenizer(tokenizer: Any) -> Any:
    """Return a tokenizer if it gives offsets, else None."""
    return tokenizer if attribute_text_segments(tokenizer, [("a", True)]).has_content_attribution else None


def token_type_ids(placeholders: dict[str, Any], *, length: int) -> list[int] | None:
    """Return the modality of each token."""
    return media_type_ids(MultiModalData(mm_placeholders=placeholders), length)


def typescript(function: dict[str, Any]) -> str:
    """Return the declaration of a function in TypeScript."""
    return declare_tools([{"type": "function", "function": function}]).declarations


def is_super(tokenizer: Any) -> bool:
    """Return True for a Super model of Nemotron 3."""
    return "super" in getattr(tokenizer, "name_or_path", "").lower()


def token_id(token: str) -> property:
    """Return a property of renderers: the id of a token."""
    return property(lambda renderer: renderer.tokenizer.convert_tokens_to_ids(token))


def set_names(target: Any, **names: Any) -> None:
    """Set attributes that type checkers do not know."""
    for name, value in names.items():
        setattr(target, name, value)


_switches = vars(BaseRendererConfig)["template_field_names"].__func__
set_names(BaseRendererConfig, template_field_names=classmethod(old_switches))
set_names(renderers.configs, _config_class_for=config_class)
set_names(
    renderers.base,
    TOKENIZER_SOURCE_OVERRIDES=dict(MIRRORS),
    _populate_registry=lambda: None,
    _get_offset_tokenizer=offset_tokenizer,
    _build_mm_token_type_ids=token_type_ids,
)
set_names(renderers.parsing, _strip_stop_tokens=strip_stop_tokens)
set_names(importlib.import_module("renderers.kimi_k25"), _function_to_typescript=typescript)
set_names(importlib.import_module("renderers.nemotron3"), _is_super=is_super)
for family in ("nemotron-3", "nemotron-3-ultra", "nemotron-3.5"):
    set_names(renderers.base.RENDERER_REGISTRY[family], _config_cls=config_class(family), _ultra=family != "nemotron-3")
set_names(ChatRenderer, _tokenizer=property(lambda renderer: renderer.tokenizer))
set_names(ChatRenderer, **{name: token_id(token) for name, token in SPECIAL_TOKENS.items()})
