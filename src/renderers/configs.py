"""Typed configs of renderers, one class per family. `RendererConfig` is the union of all."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import Field

from renderers.families.config import CONFIG_CLASSES as CONFIG_CLASSES
from renderers.families.config import AutoRendererConfig as AutoRendererConfig
from renderers.families.config import BaseRendererConfig as BaseRendererConfig
from renderers.families.config import CustomRendererConfig as CustomRendererConfig
from renderers.families.config import DefaultRendererConfig as DefaultRendererConfig
from renderers.families.config import config_from_name as config_from_name
from renderers.families.config import merge_chat_template_kwargs as merge_chat_template_kwargs
from renderers.families.config import switches_of as switches_of
from renderers.families.config import template_field_names as template_field_names

if TYPE_CHECKING:
    from renderers.families.deepseek import *
    from renderers.families.gemma import *
    from renderers.families.glm import *
    from renderers.families.gpt_oss import *
    from renderers.families.kimi import *
    from renderers.families.laguna import *
    from renderers.families.llama import *
    from renderers.families.minimax import *
    from renderers.families.mistral import *
    from renderers.families.nemotron import *
    from renderers.families.others import *
    from renderers.families.qwen import *

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
