"""Work is done once for all who ask at the same time, and failures leave no trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from renderers.errors import TokenizerFileError
from renderers.tokenizer.loading.single_flight import SingleFlight

THREADS = 16


def together(call: object, threads: int = THREADS) -> list[object]:
    """Calls from many threads at once; exceptions are returned in place of results."""
    barrier = threading.Barrier(threads)

    def one(_: int) -> object:
        barrier.wait()
        try:
            return call()  # type: ignore[operator]
        except Exception as error:
            return error

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(threads)))


def test_many_threads_share_one_run() -> None:
    flights, runs = SingleFlight[object](keep=1), []

    def work() -> object:
        runs.append(1)
        time.sleep(0.05)
        return object()

    results = together(lambda: flights.get("key", version=1, work=work))
    assert len(runs) == 1
    assert len(set(map(id, results))) == 1


def test_without_keeping_those_who_wait_still_share_the_run() -> None:
    flights, runs = SingleFlight[int](keep=0), []
    release = threading.Event()

    def work() -> int:
        runs.append(1)
        release.wait(10)
        return 1

    threads = [threading.Thread(target=lambda: flights.get("key", version=1, work=work)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    release.set()
    for thread in threads:
        thread.join()
    assert len(runs) == 1
    assert flights.get("key", version=1, work=lambda: 2) == 2


def test_a_failure_reaches_all_who_wait_and_is_not_kept() -> None:
    flights = SingleFlight[int](keep=1)

    def fail() -> int:
        time.sleep(0.05)
        raise OSError("broken")

    assert {str(result) for result in together(lambda: flights.get("key", version=1, work=fail))} == {"broken"}
    assert flights.get("key", version=1, work=lambda: 5) == 5


class KeywordError(ValueError):
    """An error that cannot be made again from its `args`."""

    def __init__(self, message: str, *, place: int) -> None:
        super().__init__(message)
        self.place = place


@pytest.mark.parametrize(
    "error", [TokenizerFileError("is broken", name="org/model", file="config.json"), KeywordError("broken", place=5)]
)
def test_each_waiting_thread_gets_an_error_of_its_own(error: Exception) -> None:
    flights = SingleFlight[int](keep=1)

    def fail() -> int:
        time.sleep(0.1)
        raise error

    results = together(lambda: flights.get("key", version=1, work=fail))
    assert len(set(map(id, results))) == THREADS
    assert {type(result) for result in results} == {type(error)}
    assert {str(result) for result in results} == {str(error)}
    assert all(vars(result) == vars(error) for result in results)
    copies = [result for result in results if result is not error]
    assert all(result.__cause__ is error for result in copies)  # type: ignore[attr-defined]


def test_a_result_in_use_is_found_after_it_was_pushed_out() -> None:
    class Result: ...

    flights, built = SingleFlight[Result](keep=1, weak=True), []

    def get(key: str) -> Result:
        def work() -> Result:
            built.append(key)
            return Result()

        return flights.get(key, version=1, work=work)

    first = get("a")
    get("b")
    assert get("a") is first
    get("b")
    assert built == ["a", "b", "b"]


def test_an_interrupted_leader_does_not_interrupt_the_others() -> None:
    flights, first = SingleFlight[int](keep=1), threading.Event()

    def interrupted() -> int:
        first.set()
        time.sleep(0.1)
        raise KeyboardInterrupt

    def lead() -> None:
        with pytest.raises(KeyboardInterrupt):
            flights.get("key", version=1, work=interrupted)

    leader = threading.Thread(target=lead)
    leader.start()
    first.wait(10)
    assert flights.get("key", version=1, work=lambda: 7) == 7
    leader.join()


def test_a_new_version_replaces_the_old_one_and_the_oldest_key_goes_first() -> None:
    flights, built = SingleFlight[str](keep=2), []

    def get(key: str, version: int) -> str:
        def work() -> str:
            built.append((key, version))
            return f"{key}{version}"

        return flights.get(key, version=version, work=work)

    assert [get("a", 1), get("a", 2), get("a", 2), get("a", 1)] == ["a1", "a2", "a2", "a1"]
    assert built == [("a", 1), ("a", 2), ("a", 1)]
    get("b", 1)
    get("a", 1)
    get("c", 1)  # pushes b out: a was used after it
    built.clear()
    get("a", 1)
    get("b", 1)
    assert built == [("b", 1)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_forked_while_another_thread_builds_can_build_itself() -> None:
    flights, started, release = SingleFlight[int](keep=1), threading.Event(), threading.Event()

    def slow() -> int:
        started.set()
        release.wait(10)
        return 1

    builder = threading.Thread(target=lambda: flights.get("key", version=1, work=slow))
    builder.start()
    started.wait(10)
    child = os.fork()
    if child == 0:
        os._exit(0 if flights.get("key", version=1, work=lambda: 2) == 2 else 1)
    deadline = time.monotonic() + 10
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    release.set()
    builder.join()
    assert ended == (child, 0)


INTERRUPTS = """
import random, signal, threading
from renderers.tokenizer.loading.single_flight import SingleFlight

class Stop(BaseException): ...
def strike(*_): raise Stop
signal.signal(signal.SIGALRM, strike)
interrupted = 0
for turn in range(4000):
    flights, answers = SingleFlight(keep=1), []
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 4e-5))
        flights.get("key", version=1, work=lambda: sum(range(50)))
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Stop:
        interrupted += 1
    asker = threading.Thread(target=lambda: answers.append(flights.get("key", version=1, work=lambda: 2)), daemon=True)
    asker.start()
    asker.join(10)
    assert answers, f"turn {turn}: somebody waits for a thread that was interrupted"
print(interrupted)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_an_interrupt_at_any_moment_leaves_nobody_waiting() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTS], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100
