"""A bounded table computes a result once, and drops results that are not used."""

from __future__ import annotations

import functools
import gc
import threading
import weakref

import pytest

from renderers.core.bounded_table import BoundedTable


def test_a_result_is_computed_once_for_a_key() -> None:
    table, computed = BoundedTable[list[int]](keep=2), []

    def compute() -> list[int]:
        computed.append(1)
        return [1]

    assert table.get("a", compute) is table.get("a", compute)
    assert len(computed) == 1
    table.get("b", compute)
    table.clear()
    table.get("a", compute)
    assert (len(computed), len(table)) == (3, 1)


def test_none_is_a_result() -> None:
    table = BoundedTable[int | None](keep=2)
    assert table.get("a", lambda: None) is None
    assert table.get("a", lambda: 1) is None


def test_an_error_is_not_kept() -> None:
    table = BoundedTable[int](keep=2)
    with pytest.raises(ZeroDivisionError):
        table.get("a", lambda: 1 // 0)
    assert table.get("a", lambda: 2) == 2


def test_a_key_that_is_used_stays_and_others_are_dropped() -> None:
    table = BoundedTable[int](keep=3)
    for number in range(100):
        table.get("used", lambda: 7)
        table.get(number, functools.partial(int, number))
        assert len(table) <= 6
    assert table.get("used", lambda: 0) == 7
    assert table.get(0, lambda: -1) == -1


def test_the_function_is_not_stored() -> None:
    class Long:
        pass

    table, long = BoundedTable[str](keep=2), Long()
    gone = weakref.ref(long)
    table.get("a", functools.partial(lambda _: "result", long))
    del long
    gc.collect()
    assert gone() is None


def test_threads_share_a_table() -> None:
    table = BoundedTable[int](keep=4)
    wrong: list[int] = []

    def work() -> None:
        keys = [number % 11 for number in range(3000)]
        wrong.extend(key for key in keys if table.get(key, functools.partial(int, key)) != key)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(table) <= 8 + len(threads)
