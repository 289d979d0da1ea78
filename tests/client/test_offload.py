"""Long work of a renderer runs in a thread, if threads may share the renderer."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from renderers import RendererPool
from renderers.client import _maybe_offload
from renderers.client.offload import is_long_text, offload_long_work
from tests.client.test_generate import RENDERER, MinimalRenderer

POOL = RendererPool(MinimalRenderer, 1)


@pytest.mark.parametrize(("renderer", "in_thread"), [(POOL, True), (RENDERER, False), (MinimalRenderer(), False)])
def test_only_a_pool_runs_in_a_thread_in_any_case(renderer: Any, in_thread: bool) -> None:
    thread = asyncio.run(_maybe_offload(renderer, threading.get_ident))
    assert (thread != threading.get_ident()) is in_thread


@pytest.mark.parametrize(("renderer", "in_thread"), [(POOL, True), (RENDERER, True), (MinimalRenderer(), False)])
def test_long_work_runs_in_a_thread(renderer: Any, in_thread: bool) -> None:
    thread = asyncio.run(offload_long_work(renderer, threading.get_ident, is_long=True))
    assert (thread != threading.get_ident()) is in_thread


def test_errors_of_a_thread_are_raised() -> None:
    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        asyncio.run(offload_long_work(RENDERER, fail, is_long=True))


def test_the_length_of_messages_is_that_of_their_texts() -> None:
    half = {"role": "user", "content": "x" * 60_000}
    assert not is_long_text([half])
    assert is_long_text([half, half])
    assert not is_long_text(iter([half, half]))
    assert not is_long_text([{"role": "user", "content": None}, object()])
    part = {"type": "text", "text": "x" * 60_000}
    assert not is_long_text([{"role": "user", "content": [part, {"type": "image_url"}]}])
    assert is_long_text([{"role": "user", "content": [part, part]}])
    assert is_long_text([half, {"role": "user", "content": [part]}])
