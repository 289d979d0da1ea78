"""Render random conversations of DeepSeek R1 without a template with release 0.1 and with this one: the ids are equal.

    python -m tests.stress_deepseek_r1 --cases 20000
    python -m tests.stress_deepseek_r1 --record 60

Release 0.1 runs in an environment of its own. `--record` writes some conversations and the digests of their ids to
`tests/program_goldens/deepseek_r1.jsonl`, which the tests compare with.
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers import OLD_RELEASE, find_python
from renderers import ChatRenderer, create_renderer, load_tokenizer
from renderers.core.text import digest_of
from scripts.compare.releases import OldRelease
from tests.support.deepseek_r1_conversations import random_job
from tests.support.models import unpack_hub

__all__ = ["GOLDENS", "digest_of_ids", "ids_of"]

Data = dict[str, Any]

MODEL = "deepseek-ai/DeepSeek-R1"
GOLDENS = Path(__file__).parent / "program_goldens" / "deepseek_r1.jsonl"
BATCH = 500


@functools.cache
def renderer() -> ChatRenderer:
    """Return the renderer of the model."""
    return create_renderer(load_tokenizer(MODEL), on_loss="ignore")


def ids_of(job: Data) -> list[int]:
    """Return the ids of a job."""
    return list(renderer().render_ids(job["messages"], add_generation_prompt=job["add_generation_prompt"]))


def digest_of_ids(ids: list[int]) -> str:
    """Return a digest of ids."""
    return digest_of(json.dumps(ids))


def main() -> int:
    """Compare, or record. Return 1 if ids differ or release 0.1 is not available."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--record", type=int)
    arguments = parser.parse_args()
    unpack_hub()
    python = find_python(OLD_RELEASE)
    if python is None:
        return 1
    chance, wrong, rows = random.Random(MODEL), 0, list[str]()
    jobs = [random_job(chance) for _ in range(arguments.record or arguments.cases)]
    with OldRelease(python) as release:
        for start in range(0, len(jobs), BATCH):
            batch = jobs[start : start + BATCH]
            cases = [{"kind": "render", "arguments": job} for job in batch]
            release.send({"model": MODEL, "settings": {}, "cases": cases})
            for job, result in zip(batch, release.receive()["results"], strict=True):
                if result.get("token_ids") != ids_of(job):
                    wrong += 1
                    print(json.dumps({**job, "error": result.get("error")}))
                else:
                    rows.append(json.dumps({**job, "digest": digest_of_ids(result["token_ids"])}, ensure_ascii=False))
    print(f"{len(jobs):,} conversations, {wrong} wrong")
    if arguments.record:
        GOLDENS.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
