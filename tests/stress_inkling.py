"""Render random conversations with the program of Inkling and with two other encoders: the segments are equal.

    python -m tests.stress_inkling --cases 20000
    python -m tests.stress_inkling --record 60

The segments are the special tokens and the texts between them. The encoders are those of vLLM and of the vendor's
`tml-renderers`. `--record` writes some conversations and the digests of their segments to
`tests/program_goldens/inkling.jsonl`, which the tests compare with.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

from renderers.core.options import DEFAULT_DATE
from renderers.core.text import digest_of
from renderers.programs.encoders.inkling import InklingProgram
from tests.support.inkling_conversations import random_job
from tests.support.inkling_reference import Segment, encoder, reference_segments, vendor_segments
from tests.support.vllm_encoders import REQUIREMENT

__all__ = ["GOLDENS", "digest_of_segments", "segments_of"]

Data = dict[str, Any]

GOLDENS = Path(__file__).parent / "program_goldens" / "inkling.jsonl"
BATCH = 2_000


def segments_of(job: Data) -> list[Segment]:
    """Return the special tokens of a job, which only the format writes, and the texts between them."""
    run = InklingProgram().run(
        job["messages"],
        tools=job["tools"],
        add_generation_prompt=job["prompt"],
        arguments={"reasoning_effort": job["effort"]},
        now=DEFAULT_DATE,
    )
    segments: list[Segment] = []
    for span in run.trace.spans:
        text = run.text[span.start : span.end]
        parts = [text] if span.path else re.split(r"(<\|\w+\|>)", text)
        for number, part in enumerate(parts):
            is_special = number % 2 == 1
            if not is_special and segments and not segments[-1][0]:
                segments[-1] = (False, segments[-1][1] + part)
            elif part:
                segments.append((is_special, part))
    return segments


def digest_of_segments(segments: list[Segment]) -> str:
    """Return a digest of segments."""
    return digest_of(json.dumps(segments))


def main() -> int:
    """Compare, or record. Return 1 if segments differ or an encoder is not available."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--record", type=int)
    arguments = parser.parse_args()
    module, count = encoder(), arguments.record or arguments.cases
    if module is None:
        print(f"There is no {REQUIREMENT} to compare with.", file=sys.stderr)
        return 1
    rows: list[str] = []
    wrong = 0
    for seed, start in enumerate(range(0, count, BATCH)):
        chance = random.Random(seed)
        jobs = [random_job(chance) for _ in range(min(BATCH, count - start))]
        vendors = vendor_segments(jobs)
        if vendors is None:
            return 1
        for job, theirs in zip(jobs, vendors, strict=True):
            expected = reference_segments(module, job)
            rows.append(json.dumps({**job, "digest": digest_of_segments(expected)}))
            if not segments_of(job) == expected == theirs:
                wrong += 1
                print(rows[-1])
    if arguments.record:
        GOLDENS.write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(f"{count:,} conversations, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
