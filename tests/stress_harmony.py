"""Render random conversations with the Harmony program and with OpenAI's encoder: the ids are equal.

    python -m tests.stress_harmony --cases 20000
    python -m tests.stress_harmony --record 60
    python -m tests.stress_harmony --program harmony-0.1 --cases 2000

The reference of the program `harmony-0.1` is release 0.1 of this package. Both run in environments of their own.
`--record` writes some conversations and the ids of the reference to `tests/program_goldens/harmony.jsonl`, which the
tests compare with.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from renderers import ChatRenderer, create_renderer, load_tokenizer
from tests.support.harmony_conversations import random_job
from tests.support.harmony_reference import MODEL, reference_ids, release_ids
from tests.support.models import HUB_AT_HAND, unpack_hub

__all__ = ["GOLDENS", "REFERENCES", "differing", "harmony_renderer"]

Data = dict[str, Any]

GOLDENS = Path(__file__).parent / "program_goldens" / "harmony.jsonl"
BATCH = 2_000
REFERENCES = {"harmony": reference_ids, "harmony-0.1": release_ids}
"""The functions that return the ids of jobs, by program."""


def harmony_renderer(program: str = "harmony") -> ChatRenderer:
    """Return the renderer of gpt-oss with a program."""
    with warnings.catch_warnings(action="ignore"):
        return create_renderer(load_tokenizer(MODEL), on_loss="ignore", program=program)


def differing(renderer: ChatRenderer, jobs: list[Data], expected: list[list[int]]) -> Iterator[Data]:
    """Yield the jobs for which a renderer gives other ids."""
    for job, ids in zip(jobs, expected, strict=True):
        options = {name: value for name, value in job["options"].items() if name != "encoder_drops_analysis"}
        given = renderer.render_ids(job["messages"], tools=job["tools"], add_generation_prompt=job["prompt"], **options)
        if given != ids:
            yield job


def jobs_of(program: str, seed: int, count: int) -> list[Data]:
    """Return random jobs. In some, the encoder decides itself which analysis it drops."""
    chance = random.Random(seed)
    jobs = [{"program": program, **random_job(chance)} for _ in range(count)]
    if program == "harmony-0.1":
        for job in jobs:
            # It has no built-in tools, and an empty date is the current one.
            job["options"].pop("builtin_tools", None)
            job["options"]["conversation_start_date"] = job["options"]["conversation_start_date"] or "2026-01-31"
        return jobs
    for job in jobs:
        finals = [
            message for message in job["messages"] if message["role"] == "assistant" and "tool_calls" not in message
        ]
        builtin = [call for message in job["messages"] for call in message.get("tool_calls", ()) if _is_builtin(call)]
        ends_with_final = [message for message in job["messages"] if message["role"] == "assistant"][-1:] == finals
        drops = job["options"].get("auto_drop_analysis", True)
        # It drops analysis before the first final message only if the last turn is final, and calls among it.
        if job["prompt"] and drops and not builtin and len(finals) == 1 and ends_with_final:
            job["options"]["encoder_drops_analysis"] = True
    return jobs


def _is_builtin(call: Data) -> bool:
    return str(call["function"]["name"]).partition(".")[0] in ("python", "browser")


def main() -> int:
    """Compare, or record. Return 1 if ids differ or the encoder is not available."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", choices=sorted(REFERENCES), default="harmony")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--record", type=int)
    arguments = parser.parse_args()
    if not HUB_AT_HAND:
        print("Skipped: there is no vocabulary of gpt-oss.")
        return 0
    unpack_hub()
    program = arguments.program
    renderer, compared, dropped, wrong = harmony_renderer(program), 0, 0, 0
    for seed, start in enumerate(range(0, arguments.record or arguments.cases, BATCH)):
        jobs = jobs_of(program, seed, min(BATCH, (arguments.record or arguments.cases) - start))
        expected = REFERENCES[program](jobs)
        if expected is None:
            return 1
        if arguments.record:
            lines = GOLDENS.read_text(encoding="utf-8").splitlines()
            others = [line for line in lines if json.loads(line)["program"] != program]
            rows = (json.dumps({**job, "ids": ids}) for job, ids in zip(jobs, expected, strict=True))
            GOLDENS.write_text("\n".join([*others, *rows]) + "\n", encoding="utf-8")
        failed = list(differing(renderer, jobs, expected))
        for job in failed[:3]:
            print(json.dumps(job, ensure_ascii=False))
        compared, wrong = compared + len(jobs), wrong + len(failed)
        dropped += sum("encoder_drops_analysis" in job["options"] for job in jobs)
    print(f"{compared:,} conversations, {dropped:,} of them with analysis that the encoder drops, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
