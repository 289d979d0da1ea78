"""Benchmark of losses: the share of a render that the check for input that is not written takes.

python -m benchmarks losses [--quick] [--rounds 7]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.chats import Chat, agentic_chat, short_chat
from benchmarks.models import main_models, more_models
from benchmarks.options import Options
from benchmarks.race import Spread
from benchmarks.report import OtherRow, Section, Table
from renderers import ChatRenderer, create_renderer, load_tokenizer
from renderers.rendering.loss_reports import LossReporter

TEXT = """\
The time of the check for input that is not written, in percent of `render_ids`, for the chats of a and b. Each chat is
rendered once. "reading losses" is the time of `rendered.losses` in percent of the same render."""


def measure(options: Options) -> Section:
    """Measure all models."""
    rows: list[list[str]] = []
    others: list[OtherRow] = []
    make: dict[str, Callable[[str], Chat]] = {
        "a": lambda seed: agentic_chat(seed, turns=options.turns // 5),
        "b": short_chat,
    }
    for model in (*main_models(), *more_models()):
        renderer = create_renderer(load_tokenizer(str(model.folder)))
        for workload, chat in make.items():
            count = options.items // (10 if workload == "a" else 1)
            rounds = [
                _measure_round(renderer, [chat(f"losses {number} {index}") for index in range(count)])
                for number in range(options.rounds + 1)
            ][1:]
            checks, reads = (Spread.of(values) for values in zip(*rounds, strict=True))
            rows.append([model.label, workload, str(checks), str(reads)])
            others.append(OtherRow(f"check for losses in {workload}, % of a render", model.label, str(checks)))
    table = Table(title="Shares", header=["model", "workload", "check, %", "reading losses, %"], rows=rows)
    return Section(title="Losses", text=TEXT, tables=[table], others=others)


def _measure_round(renderer: ChatRenderer, chats: Sequence[Chat]) -> tuple[float, float]:
    """Return the time of the check and the time to read the losses, both in percent of a render."""
    render = read = 0.0
    with _timed_checks() as checks:
        for chat in chats:
            start = time.thread_time()
            renderer.render_ids(chat["messages"], tools=chat["tools"])
            render += time.thread_time() - start
    for chat in chats:
        rendered = renderer.render(chat["messages"], tools=chat["tools"])
        start = time.thread_time()
        _ = rendered.losses
        read += time.thread_time() - start
    return 100 * sum(checks) / render, 100 * read / render


@contextmanager
def _timed_checks() -> Iterator[list[float]]:
    """Note the time of each check, without the time that the clock takes."""
    checks: list[float] = []
    report = LossReporter.report
    clock = min(-(time.thread_time() - time.thread_time()) for _ in range(1_000))

    def timed(reporter: LossReporter, text: Any, **options: Any) -> None:
        start = time.thread_time()
        report(reporter, text, **options)
        checks.append(time.thread_time() - start - clock)

    LossReporter.report = timed  # type: ignore[method-assign, assignment]
    try:
        yield checks
    finally:
        LossReporter.report = report  # type: ignore[method-assign]
