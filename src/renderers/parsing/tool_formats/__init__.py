"""The formats of tool calls, by their keys."""

from __future__ import annotations

from types import MappingProxyType

from renderers.parsing.tool_formats.atem import ATEM
from renderers.parsing.tool_formats.base import FoundCalls, MarkerPair, Payload, ToolFormat, TurnLayout
from renderers.parsing.tool_formats.deepseek import DEEPSEEK_V3, DEEPSEEK_V31
from renderers.parsing.tool_formats.dots import DOTS
from renderers.parsing.tool_formats.dsml import DEEPSEEK_V4, DEEPSEEK_V32, DEEPSEEK_V41
from renderers.parsing.tool_formats.functionary import FUNCTIONARY
from renderers.parsing.tool_formats.gemma import FUNCTION_GEMMA, GEMMA
from renderers.parsing.tool_formats.gigachat import GIGACHAT
from renderers.parsing.tool_formats.glm import GLM, HY3, HY3_PLAIN
from renderers.parsing.tool_formats.harmony import HARMONY
from renderers.parsing.tool_formats.hermes import HERMES
from renderers.parsing.tool_formats.inkling import INKLING
from renderers.parsing.tool_formats.json_lists import (
    APERTUS,
    COMMAND,
    COMMAND_R,
    GRANITE,
    JAMBA,
    PHI_4_MINI,
    XLAM,
)
from renderers.parsing.tool_formats.kimi import KIMI
from renderers.parsing.tool_formats.kimi_k3 import KIMI_K3
from renderers.parsing.tool_formats.llama import LLAMA
from renderers.parsing.tool_formats.minicpm import MINICPM
from renderers.parsing.tool_formats.minimax import MINIMAX
from renderers.parsing.tool_formats.minimax_m3 import MINIMAX_M3
from renderers.parsing.tool_formats.mistral import MISTRAL, MISTRAL_LIST
from renderers.parsing.tool_formats.pythonic import LFM_2, OLMO, PYTHONIC
from renderers.parsing.tool_formats.qwen_xml import QWEN_XML, SEED_XML
from renderers.parsing.tool_formats.solar import SOLAR
from renderers.parsing.tool_formats.step3 import STEP_3

__all__ = ["SYNTAXES", "TOOL_FORMATS", "FoundCalls", "MarkerPair", "Payload", "ToolFormat", "TurnLayout"]

# The order matters: a template's calls are attributed to the first format that parses them.
_FORMATS = (
    *(HERMES, SEED_XML, QWEN_XML, GLM, HY3, HY3_PLAIN, KIMI, DEEPSEEK_V3, DEEPSEEK_V31),
    *(DEEPSEEK_V32, DEEPSEEK_V4, DEEPSEEK_V41),
    *(KIMI_K3, MINIMAX, MINIMAX_M3, STEP_3, MINICPM, DOTS, GEMMA, FUNCTION_GEMMA),
    *(JAMBA, MISTRAL_LIST, MISTRAL, COMMAND, COMMAND_R, GRANITE, PHI_4_MINI, APERTUS, GIGACHAT, FUNCTIONARY),
    # Llama's reads a JSON list too, as calls within content.
    *(LFM_2, OLMO, XLAM, LLAMA, PYTHONIC, INKLING, ATEM, SOLAR, HARMONY),
)
TOOL_FORMATS = MappingProxyType({tool_format.key: tool_format for tool_format in _FORMATS})
SYNTAXES = TOOL_FORMATS
"""The old name of `TOOL_FORMATS`."""
