"""Turns of Qwen3 that a server is forced to sample, or that it samples freely."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from renderers import ChatRenderer
from tests.support.conversations import tool, user

__all__ = [
    "ANSWER",
    "BROKEN_CALL",
    "CALL",
    "CUT_CALL",
    "ENDLESS",
    "FREE",
    "QUESTION",
    "REGEX",
    "RESULT",
    "SCRIPT",
    "Turn",
]

QUESTION = user("What is the weather in Oslo?")
RESULT = tool("Rain, 7 °C")


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A turn: the text that is forced, if any, and sampling parameters."""

    text: str = ""
    dropped: int = 0
    """The number of tokens at the end that the maximum length cuts off."""
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def has_model_logprobs(self) -> bool:
        """Whether logprobs are those of the model. Those of structured outputs are relative to the allowed tokens."""
        return "structured_outputs" not in self.params

    def ids(self, renderer: ChatRenderer) -> list[int]:
        """Return the ids that are forced."""
        ids = renderer.tokenizer.encode(self.text, add_special_tokens=False)
        return ids[: len(ids) - self.dropped]

    def sampling_params(self, renderer: ChatRenderer) -> dict[str, Any]:
        """Return the sampling parameters that make the server sample the turn."""
        if not self.text:
            return self.params
        ids = self.ids(renderer)
        forced = {"forced_ids": ids}
        # The second name is that of /v1/completions. Servers ignore the other one.
        return {"max_tokens": len(ids), "extra_args": forced, "vllm_xargs": forced, **self.params}


CALL = Turn(
    text="<think>\nLook it up.\n</think>\n\n"
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call><|im_end|>'
)
BROKEN_CALL = Turn(
    text="<think>\nAgain.\n</think>\n\n"
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": \n</tool_call><|im_end|>'
)
CUT_CALL = Turn(text=CALL.text, dropped=6)
ANSWER = Turn(text="<think>\nIt rains.\n</think>\n\nRain, 7 °C.<|im_end|>")
SCRIPT = (CALL, BROKEN_CALL, CUT_CALL, CALL, ANSWER)
FREE = Turn(params={"max_tokens": 40, "min_tokens": 40, "temperature": 1.0})
ENDLESS = Turn(params={"max_tokens": 3000, "ignore_eos": True})
REGEX = Turn(
    params={
        "max_tokens": 200,
        "temperature": 1.0,
        "structured_outputs": {
            "regex": r"<think>\n[a-z ]{1,20}\n</think>\n\n<tool_call>\n"
            r'\{"name": "get_weather", "arguments": \{"city": "[A-Za-z]{1,8}"\}\}\n</tool_call>'
        },
    }
)
