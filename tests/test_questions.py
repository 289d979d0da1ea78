"""What is asked for twice is found out once."""

from __future__ import annotations

import gc
import weakref

import pytest

from renderers.questions import ask, forget_answers


def test_a_question_is_answered_once() -> None:
    asked = []

    def find() -> list[int]:
        asked.append(1)
        return [1]

    forget_answers()
    assert ask("a", find) is ask("a", find)
    assert len(asked) == 1
    ask("b", find)
    assert len(asked) == 2
    forget_answers()
    ask("a", find)
    assert len(asked) == 3


def test_an_error_is_no_answer() -> None:
    forget_answers()
    with pytest.raises(ZeroDivisionError):
        ask("a", lambda: 1 // 0)
    assert ask("a", lambda: 2) == 2


def test_how_it_was_found_is_forgotten() -> None:
    class Long:
        pass

    def asked() -> weakref.ref[Long]:
        long = Long()
        ask("a", lambda: "" if long is None else "answer")
        return weakref.ref(long)

    forget_answers()
    gone = asked()
    gc.collect()
    assert gone() is None
