"""Typed configs of renderers, one class per family. `RendererConfig` is the union of all."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import Field

from renderers.families.configs.base import CONFIG_CLASSES as CONFIG_CLASSES
from renderers.families.configs.base import AutoRendererConfig as AutoRendererConfig
from renderers.families.configs.base import BaseRendererConfig as BaseRendererConfig
from renderers.families.configs.base import CustomRendererConfig as CustomRendererConfig
from renderers.families.configs.base import DefaultRendererConfig as DefaultRendererConfig
from renderers.families.configs.base import config_from_name as config_from_name
from renderers.families.configs.base import merge_chat_template_kwargs as merge_chat_template_kwargs
from renderers.families.configs.base import switches_of as switches_of
from renderers.families.configs.base import template_field_names as template_field_names

if TYPE_CHECKING:
    from renderers.families.configs.deepseek import *
    from renderers.families.configs.gemma import *
    from renderers.families.configs.glm import *
    from renderers.families.configs.gpt_oss import *
    from renderers.families.configs.kimi import *
    from renderers.families.configs.laguna import *
    from renderers.families.configs.llama import *
    from renderers.families.configs.minimax import *
    from renderers.families.configs.mistral import *
    from renderers.families.configs.nemotron import *
    from renderers.families.configs.others import *
    from renderers.families.configs.qwen import *

    RendererConfig: TypeAlias = BaseRendererConfig
else:
    globals().update({config_class.__name__: config_class for config_class in CONFIG_CLASSES.values()})

    RendererConfig = Annotated[functools.reduce(operator.or_, CONFIG_CLASSES.values()), Field(discriminator="name")]
    """Any config. The discriminator is `name`."""

    __all__ = sorted(
        {
            "BaseRendererConfig",
            "RendererConfig",
            "config_from_name",
            "merge_chat_template_kwargs",
            "switches_of",
            "template_field_names",
            *(config_class.__name__ for config_class in CONFIG_CLASSES.values()),
        }
    )
