"""The texts of Kimi K3 as vLLM's renderer prepares its messages and options, rendered by Jinja."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from tests.support.parity import run_reference
from tests.support.vllm_encoders import read_source

__all__ = ["MODEL", "Preparation", "preparation", "reference_text"]

Data = dict[str, Any]

MODEL = "moonshotai/Kimi-K3"
_FILE = "vllm/renderers/kimi_k3.py"


class Preparation(NamedTuple):
    """The functions of vLLM's renderer that change messages and options before these are rendered."""

    order_results: Callable[[list[Data]], list[Data]]
    set_thinking: Callable[[Data], None]


def preparation() -> Preparation | None:
    """Return the functions of vLLM's renderer, without its imports. None if the package is not available."""
    source = read_source(_FILE)
    if source is None:
        return None
    tree = ast.parse(source)
    # The types of its arguments are those of modules that need the whole package.
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.Assign | ast.AnnAssign)]
    tree.body.insert(0, ast.parse("from __future__ import annotations").body[0])
    module = ModuleType("kimi_k3")
    module.__dict__.update({"Any": Any, "VLLMValidationError": ValueError})
    exec(compile(ast.fix_missing_locations(tree), _FILE, "exec"), module.__dict__)
    return Preparation(module._normalize_k3_tool_messages, module._apply_k3_thinking_kwargs)


def reference_text(prepare: Preparation, template: str, job: Data) -> str:
    """Return the text of a job.

    Raises:
        Exception: The template rejects the messages.
    """
    options = dict(job["options"])
    prepare.set_thinking(options)
    messages = prepare.order_results(copy.deepcopy(job["messages"]))
    text = run_reference(template, messages, tools=job["tools"], add_generation_prompt=job["prompt"], **options)
    if isinstance(text, Exception):
        raise text
    return text
