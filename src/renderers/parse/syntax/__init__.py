"""The syntaxes of tool calls, by their keys."""

from __future__ import annotations

from types import MappingProxyType

from renderers.parse.syntax.base import Attempt, Call, Payload, Syntax
from renderers.parse.syntax.deepseek import DEEPSEEK_V3, DEEPSEEK_V31
from renderers.parse.syntax.glm import GLM
from renderers.parse.syntax.harmony import HARMONY
from renderers.parse.syntax.hermes import HERMES
from renderers.parse.syntax.kimi import KIMI
from renderers.parse.syntax.llama import LLAMA
from renderers.parse.syntax.minimax import MINIMAX
from renderers.parse.syntax.qwen_xml import QWEN_XML, SEED_XML

__all__ = ["SYNTAXES", "Attempt", "Call", "Payload", "Syntax"]

SYNTAXES = MappingProxyType(
    {
        one.key: one
        for one in (HERMES, SEED_XML, QWEN_XML, GLM, KIMI, DEEPSEEK_V3, DEEPSEEK_V31, MINIMAX, LLAMA, HARMONY)
    }
)
