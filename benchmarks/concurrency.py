"""Benchmark of batches, processes, threads and the event loop.

    python -m benchmarks concurrency [--quick] [--rounds 7]

All but batches are measured by wall time, so the machine has to be idle. The speed that two processes can reach on a
machine is shown by two control processes that only compute.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.chats import Chat, agentic_chat, short_chat
from benchmarks.contestants import Item, warm_up
from benchmarks.models import Model, main_models
from benchmarks.options import Options
from benchmarks.race import BATCHES, OURS, Spread, Workload, race
from benchmarks.report import OtherRow, Section, Table
from benchmarks.workloads import Items
from renderers import ChatRenderer, create_renderer, load_tokenizer

TICK = 0.001
LONG_CHATS = 50
ADDITIONS_PER_CHAT = 5_000

TEXT = """\
"calls / render_batch" divides the CPU time of a call for each of 200 chats of `b` by that of one call for all. "two
processes" and "two threads" divide the chats per second of two by those of one, by wall time. The control is a loop of
additions in Python, in the same processes and the same rounds. The delay of the event loop is that of a task that
sleeps 1 ms again and again: while conversations of 100,000 tokens are rendered in a thread, and while nothing else
runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The speed of two processes or threads relative to one, and the delays of the event loop in milliseconds."""

    control: float
    processes: float
    threads: float
    delay: float
    idle_delay: float


def measure(options: Options) -> Section:
    """Measure the two main models."""
    found = {model.label: _rounds(model, options) for model in main_models()}
    figures = [_batch_row(model, options) for model in main_models()]
    figures += [row for label, rounds in found.items() for row in _figures(label, rounds)]
    names = dict.fromkeys(row.name for row in figures)
    values = {(row.name, row.model): row.value for row in figures}
    rows = [[name, *(values[name, model] for model in found)] for name in names]
    table = Table(title="Median of the rounds (lowest–highest)", header=["figure", *found], rows=rows)
    return Section(title="Concurrency", text=TEXT, tables=[table], others=figures)


def _batch_row(model: Model, options: Options) -> OtherRow:
    """Measure chats in one call against a call for each."""
    items = Items(model)

    def make(seed: str) -> list[Item]:
        chats = items.short_chats(seed, count=options.items)
        return [{"chats": chats, "tokens": sum(chat["tokens"] for chat in chats)}]

    workload = Workload(label="b", task="render_all", make=make, entries=frozenset({OURS, BATCHES}))
    (result,) = race(model, [workload], rounds=options.rounds)
    if result.failures or not all(result.same[BATCHES.label]):
        raise SystemExit(f"{model.label}: render_batch does not give the ids of single calls: {result.failures}")
    return OtherRow("calls / render_batch", model.label, str(result.ratio(OURS.label, BATCHES.label)))


def _figures(label: str, rounds: Sequence[Round]) -> Iterator[OtherRow]:
    values = {
        "two processes / one": [each.processes for each in rounds],
        "two control processes / one": [each.control for each in rounds],
        "two processes / two control processes": [each.processes / each.control for each in rounds],
        "two threads / one": [each.threads for each in rounds],
        "delay of the event loop in a render, p99, ms": [each.delay for each in rounds],
        "delay of the idle event loop, p99, ms": [each.idle_delay for each in rounds],
    }
    for name, each in values.items():
        yield OtherRow(name, label, str(Spread.of(each)))


# ==================
# Parent
# ==================


def _rounds(model: Model, options: Options) -> list[Round]:
    """Run all rounds with two processes."""
    with _process(model) as first, _process(model) as second:
        return [_round(first, second, options, seed) for seed in range(-1, options.rounds)][1:]


def _round(first: Connection, second: Connection, options: Options, seed: int) -> Round:
    # Enough work that the start of a process or thread does not matter.
    count = 10 * options.items
    one, two = [first], [first, second]
    # Renders and controls alternate, because the speed of a shared machine changes.
    render_one = _seconds(one, "render", f"{seed} one", count)
    control_one = _seconds(one, "control", "", count)
    render_two = _seconds(two, "render", f"{seed} two", count)
    control_two = _seconds(two, "control", "", count)
    thread_one = _seconds(one, "threads", f"{seed} thread", count, 1)
    thread_two = _seconds(one, "threads", f"{seed} threads", count, 2)
    delay, idle_delay = _ask(first, "delays", f"{seed} delays", options.turns)
    return Round(
        control=2 * control_one / control_two,
        processes=2 * render_one / render_two,
        threads=thread_one / thread_two,
        delay=1e3 * delay,
        idle_delay=1e3 * idle_delay,
    )


def _seconds(processes: Sequence[Connection], task: str, *arguments: Any) -> float:
    """Run a task in all processes at the same time, and return the seconds until the last has ended."""
    for number_of, process in enumerate(processes):
        seed, *others = arguments
        process.send((task, f"{seed} {number_of}", *others))
    for process in processes:
        process.recv()
    start = time.perf_counter()
    for process in processes:
        process.send("go")
    for process in processes:
        process.recv()
    return time.perf_counter() - start


def _ask(process: Connection, *request: Any) -> Any:
    """Run a task in one process, and return its result."""
    process.send(request)
    process.recv()
    process.send("go")
    return process.recv()


@contextlib.contextmanager
def _process(model: Model) -> Iterator[Connection]:
    """Start a process that has loaded the fast engine."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, str(model.folder)), daemon=True)
    process.start()
    ours.recv()
    try:
        yield ours
    finally:
        ours.send(None)
        process.join()


# ==================
# Processes
# ==================


def _serve(connection: Connection, folder: str) -> None:
    """Prepare each request, wait for the signal, run it, and send the result."""
    renderer = create_renderer(load_tokenizer(folder))
    warm_up(renderer)
    connection.send("loaded")
    while request := connection.recv():
        task, *arguments = request
        run = TASKS[task](renderer, *arguments)
        connection.send("ready")
        connection.recv()
        connection.send(run())


def _render(renderer: ChatRenderer, seed: str, count: int) -> Callable[[], None]:
    chats = [short_chat(f"{seed} {index}") for index in range(count)]
    return lambda: _render_all(renderer, chats)


def _render_all(renderer: ChatRenderer, chats: Sequence[Chat]) -> None:
    for chat in chats:
        renderer.render(chat["messages"], tools=chat["tools"])


def _control(_: ChatRenderer, __: str, count: int) -> Callable[[], None]:
    def run() -> None:
        total = 0
        for value in range(count * ADDITIONS_PER_CHAT):
            total += value

    return run


def _threads(renderer: ChatRenderer, seed: str, count: int, threads: int) -> Callable[[], None]:
    chats = [short_chat(f"{seed} {index}") for index in range(count)]

    def run() -> None:
        workers = [
            threading.Thread(target=_render_all, args=(renderer, chats[part::threads])) for part in range(threads)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return run


def _delays(renderer: ChatRenderer, seed: str, turns: int) -> Callable[[], tuple[float, float]]:
    """Return the p99 delay of the event loop while long conversations are rendered, and of the idle event loop."""
    chats = [agentic_chat(f"{seed} {index}", turns=turns) for index in range(LONG_CHATS)]

    async def watched(work: Callable[[], Any]) -> float:
        delays: list[float] = []
        task = asyncio.create_task(_watch(delays))
        await asyncio.to_thread(work)
        task.cancel()
        return statistics.quantiles(delays, n=100)[-1]

    def run() -> tuple[float, float]:
        busy = asyncio.run(watched(lambda: _render_all(renderer, chats)))
        return busy, asyncio.run(watched(lambda: time.sleep(0.3)))

    return run


async def _watch(delays: list[float]) -> None:
    """Sleep again and again, and record how much later than asked for it ended."""
    while True:
        start = time.perf_counter()
        await asyncio.sleep(TICK)
        delays.append(time.perf_counter() - start - TICK)


TASKS: dict[str, Callable[..., Callable[[], Any]]] = {
    "render": _render,
    "control": _control,
    "threads": _threads,
    "delays": _delays,
}
