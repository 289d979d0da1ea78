"""Render random conversations of Kimi K3 and compare the ids with those of vLLM's preparation and Jinja.

    python -m tests.stress_kimi_k3 --cases 20000
    python -m tests.stress_kimi_k3 --record 60

vLLM orders the results of calls and translates the options before it renders, which the template and our options do
here. `--record` writes some conversations and the digests of their texts to `tests/program_goldens/kimi_k3.jsonl`,
which the tests compare with.
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import sys
from pathlib import Path
from typing import Any

from renderers import ChatRenderer, create_renderer, load_tokenizer
from renderers.core.text import digest_of
from tests.support.kimi_k3_conversations import random_job
from tests.support.kimi_k3_reference import MODEL, preparation, reference_text
from tests.support.models import unpack_hub
from tests.support.vllm_encoders import REQUIREMENT

__all__ = ["GOLDENS", "text_of"]

Data = dict[str, Any]

GOLDENS = Path(__file__).parent / "program_goldens" / "kimi_k3.jsonl"


@functools.cache
def renderer() -> ChatRenderer:
    """Return the renderer of the model."""
    return create_renderer(load_tokenizer(MODEL), on_loss="ignore")


def text_of(job: Data) -> str:
    """Return the text of a job, and check that the ids are those of the text."""
    tokenizer, options = renderer().tokenizer, dict(job["options"])
    thinking = options.pop("enable_thinking", None)
    effort = options.pop("reasoning_effort", None)
    if thinking is not None or effort == "none":
        options["thinking"] = bool(thinking)
    elif effort is not None:
        options["thinking_effort"] = effort
    arguments = {"tools": job["tools"], "add_generation_prompt": job["prompt"], **options}
    text = renderer().render_text(job["messages"], **arguments)
    ids = renderer().render_ids(job["messages"], **arguments)
    assert ids == tokenizer.encode(text, add_special_tokens=False)
    return text


def main() -> int:
    """Compare, or record. Return 1 if texts differ or vLLM's renderer is not available."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--record", type=int)
    arguments = parser.parse_args()
    unpack_hub()
    prepare = preparation()
    if prepare is None:
        print(f"There is no {REQUIREMENT} to compare with.", file=sys.stderr)
        return 1
    chance, wrong, rows = random.Random(MODEL), 0, list[str]()
    template = renderer().tokenizer.chat_template or ""
    for _ in range(arguments.record or arguments.cases):
        job = random_job(chance)
        expected = reference_text(prepare, template, job)
        rows.append(json.dumps({**job, "digest": digest_of(expected)}, ensure_ascii=False))
        if text_of(job) != expected:
            wrong += 1
            print(rows[-1])
    print(f"{len(rows):,} conversations, {wrong} wrong")
    if arguments.record:
        GOLDENS.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
