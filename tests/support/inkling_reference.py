"""The texts and special tokens of two reference encoders of Inkling: vLLM's, and the vendor's `tml-renderers`."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.peers import TML, child_environment, find_python
from renderers.programs.encoders.inkling import EFFORTS
from tests.support.vllm_encoders import load_modules

__all__ = ["Segment", "encoder", "reference_segments", "vendor_segments"]

Data = dict[str, Any]
Segment = tuple[bool, str]
"""Whether it is a special token, and its text."""

WORKER = Path(__file__).parents[2] / "scripts" / "inkling_worker.py"


class _SegmentTokenizer:
    """A tokenizer with a token for each text."""

    def encode_text(self, text: str) -> list[Segment]:
        return [(False, text)]

    def encode_special(self, token: str) -> Segment:
        return True, token


def encoder() -> ModuleType | None:
    """Return vLLM's encoder. None if the package with it is not available."""
    modules = load_modules(["vllm/renderers/inkling_encoding.py"])
    return None if modules is None else modules[0]


def reference_segments(module: ModuleType, job: Data) -> list[Segment]:
    """Return the segments of a job by vLLM's encoder. It takes efforts as numbers, and has no default."""
    segments = module.render_inkling_messages(
        job["messages"],
        _SegmentTokenizer(),
        add_generation_prompt=job["prompt"],
        tools=job["tools"],
        reasoning_effort=_number(job["effort"]),
    )
    return _joined(segments)


def vendor_segments(jobs: list[Data]) -> list[list[Segment]] | None:
    """Return the segments of jobs by the vendor's renderer. None if it is not available.

    It differs from vLLM's in four points, which are evened out here and in the worker. It writes the effort 0 as `0`.
    It sorts only the outer keys of arguments. It does not look up the name of a result by the id of its call. Its
    prompts end before `<|message_model|>`. Our program follows vLLM, which serves the model.
    """
    python = find_python(TML)
    if python is None:
        return None
    given = [{**job, "messages": _with_names(job["messages"]), "effort": _number(job["effort"])} for job in jobs]
    # -I keeps our package from being imported.
    result = subprocess.run(
        [python, "-I", str(WORKER)],
        input=json.dumps(given),
        env=child_environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [_evened_out(segments, job) for segments, job in zip(json.loads(result.stdout), jobs, strict=True)]


def _number(effort: Any) -> float:
    return EFFORTS[effort] if isinstance(effort, str) else 0.9 if effort is None else float(effort)


def _with_names(messages: list[Data]) -> list[Data]:
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls", ())}
    return [{"name": names[m["tool_call_id"]], **m} if m["role"] == "tool" else m for m in messages]


def _evened_out(segments: list[list[Any]], job: Data) -> list[Segment]:
    zero = "Thinking effort level: 0"
    made: list[Segment] = []
    for special, text in segments:
        made.append((special, f"<|{text}|>" if special else f"{zero}.0" if text == zero else text))
    return [*made, *([(True, "<|message_model|>")] if job["prompt"] else ())]


def _joined(segments: list[Segment]) -> list[Segment]:
    """Join consecutive texts, and leave out empty ones."""
    made: list[Segment] = []
    for is_special, group in itertools.groupby(segments, lambda segment: segment[0]):
        texts = [text for _, text in group]
        made += [(True, text) for text in texts] if is_special else [(False, "".join(texts))]
    return [segment for segment in made if segment[1]]
