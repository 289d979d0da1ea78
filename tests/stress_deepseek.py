"""Render random conversations with the programs of DeepSeek and with the vendor's encoders: the texts are equal.

    python -m tests.stress_deepseek --cases 20000
    python -m tests.stress_deepseek --record 40

The encoders are those that vLLM ships. They encode the text with the model's tokenizer, so equal texts have equal
ids. `--record` writes some conversations of each program and the digests of their texts to
`tests/program_goldens/deepseek.jsonl`, which the tests compare with.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
from pathlib import Path
from typing import Any

from renderers.core.options import DEFAULT_DATE
from renderers.core.text import digest_of
from renderers.programs.base import Program
from renderers.programs.registry import PROGRAMS
from tests.support.deepseek_conversations import PROGRAMS as NAMES
from tests.support.deepseek_conversations import random_job
from tests.support.deepseek_reference import encoders, reference_text
from tests.support.vllm_encoders import REQUIREMENT

__all__ = ["GOLDENS", "text_of"]

Data = dict[str, Any]

GOLDENS = Path(__file__).parent / "program_goldens" / "deepseek.jsonl"


def text_of(job: Data) -> str:
    """Return the text of the prompt of a job. The encoder of V3.2 writes none if results are missing at the end."""
    program: Program = PROGRAMS[job["program"]](None)  # type: ignore[arg-type]
    messages = job["messages"]
    adds_prompt = job["program"] != "deepseek-v3.2" or not _lacks_results(messages)
    run = program.run(
        messages, tools=job["tools"], add_generation_prompt=adds_prompt, arguments=job["options"], now=DEFAULT_DATE
    )
    assert run.trace.text == run.text
    return run.text


def _lacks_results(messages: list[Data]) -> bool:
    """Return True if the last turn has more calls than results, and at least one result."""
    results = len(list(itertools.takewhile(lambda message: message["role"] == "tool", reversed(messages))))
    calls = messages[-1 - results].get("tool_calls", ()) if 0 < results < len(messages) else ()
    return len(calls) > results


def main() -> int:
    """Compare, or record. Return 1 if texts differ or the encoders are not available."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--record", type=int)
    arguments = parser.parse_args()
    modules = encoders()
    if modules is None:
        print(f"There is no {REQUIREMENT} to compare with.", file=sys.stderr)
        return 1
    rows: list[str] = []
    wrong = 0
    for name in NAMES:
        chance, compared = random.Random(name), 0
        # The encoders refuse some conversations. These are not counted.
        while compared < (arguments.record or arguments.cases):
            job = random_job(name, chance)
            try:
                expected = reference_text(modules[name], job)
            except (ValueError, AssertionError):
                continue
            compared += 1
            rows.append(json.dumps({**job, "digest": digest_of(expected)}))
            if text_of(job) != expected:
                wrong += 1
                print(rows[-1])
        print(f"{name}: {compared:,} conversations, {wrong} wrong so far")
    if arguments.record:
        GOLDENS.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
