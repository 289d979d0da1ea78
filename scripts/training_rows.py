"""Print a table of the rows that train a conversation, by its number of turns.

    python -m scripts.training_rows [MODEL ...]

By default of Qwen3, which drops the reasoning of earlier turns, and Qwen3-Coder, which only appends. All turns have
reasoning. "questions" are rounds of a question and an answer; in "tool calls" there is one question, and all turns but
the last call a tool. Times are CPU times, with texts that were not rendered before.
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any

from renderers import build_training_samples, create_renderer, load_tokenizer
from tests.support.models import unpack_hub
from tests.support.rows import TOOLS

MODELS = "Qwen/Qwen3-8B", "Qwen/Qwen3-Coder-30B-A3B-Instruct"
TURNS = 1, 10, 50, 100, 200
WORDS = (__doc__ or "").split()


def chat(turns: int, *, calls: bool) -> list[dict[str, Any]]:
    """Return a conversation with a number of turns."""
    chance = random.Random(f"{turns} {calls}")

    def text(role: str, words: int, **fields: Any) -> dict[str, Any]:
        return {"role": role, "content": " ".join(chance.choices(WORDS, k=words)), **fields}

    messages = [text("user", 30)]
    for number in range(turns):
        messages.append(text("assistant", 40, reasoning_content=text("", 40)["content"]))
        if number < turns - 1:
            messages.append(text("user", 30) if not calls else text("tool", 30, tool_call_id=f"call{number:05}"))
        if number < turns - 1 and calls:
            function = {"name": "search", "arguments": {"query": chance.choice(WORDS)}}
            messages[-2]["tool_calls"] = [{"id": f"call{number:05}", "type": "function", "function": function}]
    return messages


def main() -> None:
    """Print the table."""
    unpack_hub()
    print("| model | conversation | turns | its tokens | rows | tokens of all rows | ms | ms per 1,000 tokens |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for name in sys.argv[1:] or MODELS:
        renderer = create_renderer(load_tokenizer(name))
        build_training_samples(renderer, chat(70, calls=True), tools=TOOLS)
        for kind, calls in (("questions", False), ("tool calls", True)):
            for turns in TURNS:
                messages = chat(turns, calls=calls)
                started = time.process_time()
                samples = build_training_samples(renderer, messages, tools=TOOLS)
                took = 1000 * (time.process_time() - started)
                tokens = sum(len(sample.token_ids) for sample in samples)
                sizes = turns, len(renderer.render_ids(messages, tools=TOOLS)), len(samples), tokens, round(took)
                figures = " | ".join(f"{size:,}" for size in sizes)
                print(f"| {name.rpartition('/')[2]} | {kind} | {figures} | {1000 * took / tokens:.2f} |", flush=True)


if __name__ == "__main__":
    main()
