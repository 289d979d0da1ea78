"""Build training rows from a file of conversations, with a progress bar.

    python examples/sft_samples.py MODEL chats.jsonl rows.jsonl [--max-length 4096] [--workers 4]

Each line of the input is a JSON object with `messages` and, optionally, `tools`. Each line of the output is a row with
`input_ids` and `labels`: every assistant turn is trained once, in the context in which the model samples it. A
conversation that cannot be rendered is reported with its line number, and the others are still written.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from renderers import ChatRenderer, build_training_samples, create_renderer


class Result(NamedTuple):
    """The rows of a line, or the reason why there are none."""

    number: int
    rows: list[dict[str, list[int]]]
    error: str | None = None


def build_rows(line: tuple[int, str], *, renderer: ChatRenderer, max_length: int | None) -> Result:
    """Return the rows of a line of the input."""
    number, text = line
    try:
        chat: dict[str, Any] = json.loads(text)
        samples = build_training_samples(
            renderer,
            chat["messages"],
            tools=chat.get("tools"),
            max_length=max_length,
            overlong="drop",
            ensure_final_stop=True,
        )
    except (KeyError, TypeError, ValueError) as error:  # not JSON, no messages, or messages that cannot be rendered
        return Result(number, [], f"{type(error).__name__}: {error}")
    return Result(number, [{"input_ids": sample.token_ids, "labels": sample.labels()} for sample in samples])


def run(
    build: Callable[[tuple[int, str]], Result], lines: Iterable[tuple[int, str]], *, workers: int
) -> Iterator[Result]:
    """Yield the results of all lines in order, built in this process or in several."""
    if workers == 1:
        yield from map(build, lines)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(build, lines, chunksize=64)


def main() -> None:
    """Convert the file of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", help="the name or the path of a model")
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--max-length", type=int, help="leave out longer rows")
    parser.add_argument("--workers", type=int, default=1, help="number of processes (default: 1)")
    arguments = parser.parse_args()

    build = partial(build_rows, renderer=create_renderer(arguments.model), max_length=arguments.max_length)
    counts: Counter[str] = Counter()
    with arguments.source.open(encoding="utf-8") as source, arguments.target.open("w", encoding="utf-8") as target:
        lines = [line for line in enumerate(source, start=1) if line[1].strip()]
        for result in tqdm(run(build, lines, workers=arguments.workers), total=len(lines), unit="chat"):
            if result.error:
                counts["failed"] += 1
                tqdm.write(f"line {result.number}: {result.error}", file=sys.stderr)
            for row in result.rows:
                counts["rows"] += 1
                counts["tokens"] += len(row["input_ids"])
                counts["trained"] += sum(label != -100 for label in row["labels"])
                target.write(json.dumps(row) + "\n")
    print(
        f"{len(lines):,} conversations, {counts['failed']:,} failed: {counts['rows']:,} rows, "
        f"{counts['tokens']:,} tokens, {counts['trained']:,} trained"
    )


if __name__ == "__main__":
    main()
