"""Model families: one declarative record each, with the typed config and the renderer class that go with it."""

from __future__ import annotations

from renderers.core.text import digest as digest_of
from renderers.families.family import Family as Family
from renderers.families.family import Media as Media
from renderers.families.family import RetentionRule as RetentionRule
from renderers.families.family import SwitchValue as SwitchValue
from renderers.families.family import TemplateSwitch as TemplateSwitch
from renderers.families.family import Verified as Verified
from renderers.families.registry import FAMILIES as FAMILIES
from renderers.families.registry import MODEL_RENDERER_MAP as MODEL_RENDERER_MAP
from renderers.families.registry import MULTIMODAL_MODELS as MULTIMODAL_MODELS
from renderers.families.registry import family_of_template as family_of_template
