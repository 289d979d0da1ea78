"""The texts of DeepSeek's encoders, as vLLM ships them."""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any

from tests.support.vllm_encoders import load_modules

__all__ = ["encoders", "reference_text"]

Data = dict[str, Any]

_FILES = {
    "deepseek-v3.2": "vllm/tokenizers/deepseek_v32_encoding.py",
    "deepseek-v4": "vllm/tokenizers/deepseek_v4_encoding.py",
    "deepseek-v4.1": "vllm/tokenizers/deepseek_v41_encoding.py",
}


def encoders() -> dict[str, ModuleType] | None:
    """Return the encoder of each program. None if the package with them is not available."""
    modules = load_modules(_FILES.values())
    return None if modules is None else dict(zip(_FILES, modules, strict=True))


def reference_text(encoder: ModuleType, job: Data) -> str:
    """Return the text of a prompt. Tools belong to a message, as in our program."""
    program, options = job["program"], job["options"]
    messages = copy.deepcopy(job["messages"])
    for message in messages:
        message["reasoning"] = message.get("reasoning_content")
    if job["tools"]:
        roles = [message["role"] for message in messages]
        places = ("system",) if program == "deepseek-v3.2" else ("developer", "system")
        place = next((roles.index(role) for role in places if role in roles), None)
        if place is None:
            messages.insert(0, {"role": "system", "content": ""})
        messages[place or 0]["tools"] = job["tools"]
    mode = "thinking" if options["enable_thinking"] else "chat"
    # The encoder of V3.2 has no options, and fails if it drops messages.
    names = () if program == "deepseek-v3.2" else ("drop_thinking", "reasoning_effort")
    passed = {name: options[name] for name in names} or {"drop_thinking": False}
    return str(encoder.encode_messages(messages, mode, **passed))
