"""Render random conversations with the Harmony program and with OpenAI's encoder: the ids are equal.

    python -m tests.stress_harmony --cases 20000
    python -m tests.stress_harmony --record 60

The encoder runs in an environment of its own. `--record` writes some conversations and the ids that the encoder gives
to `tests/program_goldens/harmony.jsonl`, which the tests compare with.
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
from tests.support.harmony_reference import MODEL, reference_ids
from tests.support.models import HUB_AT_HAND, unpack_hub

__all__ = ["GOLDENS", "differing", "harmony_renderer"]

Data = dict[str, Any]

GOLDENS = Path(__file__).parent / "program_goldens" / "harmony.jsonl"
BATCH = 2_000


def harmony_renderer() -> ChatRenderer:
    """Return the renderer of gpt-oss."""
    with warnings.catch_warnings(action="ignore"):
        return create_renderer(load_tokenizer(MODEL), on_loss="ignore")


def differing(renderer: ChatRenderer, jobs: list[Data], expected: list[list[int]]) -> Iterator[Data]:
    """Yield the jobs for which a renderer gives other ids."""
    for job, ids in zip(jobs, expected, strict=True):
        options = {name: value for name, value in job["options"].items() if name != "encoder_drops_analysis"}
        given = renderer.render_ids(job["messages"], tools=job["tools"], add_generation_prompt=job["prompt"], **options)
        if given != ids:
            yield job


def jobs_of(seed: int, count: int) -> list[Data]:
    """Return random jobs. In some, the encoder decides itself which analysis it drops."""
    chance = random.Random(seed)
    jobs = [random_job(chance) for _ in range(count)]
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
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--record", type=int)
    arguments = parser.parse_args()
    if not HUB_AT_HAND:
        print("Skipped: there is no vocabulary of gpt-oss.")
        return 0
    unpack_hub()
    renderer, compared, dropped, wrong = harmony_renderer(), 0, 0, 0
    for seed, start in enumerate(range(0, arguments.record or arguments.cases, BATCH)):
        jobs = jobs_of(seed, min(BATCH, (arguments.record or arguments.cases) - start))
        expected = reference_ids(jobs)
        if expected is None:
            return 1
        if arguments.record:
            rows = (json.dumps({**job, "ids": ids}) for job, ids in zip(jobs, expected, strict=True))
            GOLDENS.write_text("\n".join(rows) + "\n", encoding="utf-8")
        failed = list(differing(renderer, jobs, expected))
        for job in failed[:3]:
            print(json.dumps(job, ensure_ascii=False))
        compared, wrong = compared + len(jobs), wrong + len(failed)
        dropped += sum("encoder_drops_analysis" in job["options"] for job in jobs)
    print(f"{compared:,} conversations, {dropped:,} of them with analysis that the encoder drops, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
