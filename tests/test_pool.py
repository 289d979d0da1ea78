"""A pool shares one renderer, or lends several, each to one user at a time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from renderers import (
    EMBEDDED,
    DefaultRenderer,
    RendererPool,
    RendererPoolError,
    TokenizerNotFoundError,
    create_renderer_pool,
)

HI = [{"role": "user", "content": "Hi"}]


class Counting:
    """A renderer that counts its concurrent users."""

    mm_token_type_id_map: dict[int, int] = {1: 2}  # noqa: RUF012

    def __init__(self, uses: list[int], most: list[int]) -> None:
        self.uses, self.most, self.own = uses, most, 0
        self.lock = threading.Lock()

    def render_ids(self, _: Any, *, pause: threading.Event) -> int:
        with self.lock:
            self.own += 1
            self.uses[0] += 1
            self.most[0] = max(self.most[0], self.uses[0])
            assert self.own == 1
        pause.wait(0.01)
        with self.lock:
            self.own -= 1
            self.uses[0] -= 1
        return id(self)


def test_a_pool_for_a_model_shares_one_renderer() -> None:
    pool = create_renderer_pool(EMBEDDED, size=3)
    with pool.checkout() as first, pool.checkout() as second, pool.checkout() as third:
        assert first is second is third
    assert (pool.size, pool.renderer_cls) == (3, DefaultRenderer)


def test_a_pool_is_a_renderer_itself() -> None:
    pool = create_renderer_pool(EMBEDDED, size=2, chat_template_kwargs={"enable_thinking": 1})
    with pool.checkout() as renderer:
        assert pool.render_ids(HI) == renderer.render_ids(HI)
        assert pool.trace(HI) == renderer.trace(HI)
        assert pool.tokenizer is renderer.tokenizer
        assert pool.chat_template_kwargs == {"enable_thinking": 1}
    assert not hasattr(pool, "mm_token_type_id_map")
    assert not hasattr(pool, "_private")


def test_checkout_limits_how_many_run_at_once() -> None:
    uses, most, pause = [0], [0], threading.Event()
    pool = RendererPool(lambda: Counting(uses, most), size=3)
    with ThreadPoolExecutor(12) as threads:
        users = set(threads.map(lambda _: pool.render_ids(HI, pause=pause), range(48)))
    assert most[0] <= 3
    assert 1 < len(users) <= 3
    assert pool.mm_token_type_id_map == {1: 2}


def test_a_renderer_is_returned_if_its_user_raises() -> None:
    pool = create_renderer_pool(EMBEDDED, size=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), pool.checkout():
            raise ZeroDivisionError
    assert pool.render_ids(HI)


def test_an_error_of_the_factory_names_the_renderer_and_the_cause() -> None:
    created: list[int] = []

    def factory() -> object:
        if len(created) == 5:
            raise OSError("tokenizer.json is gone")
        created.append(0)
        return object()

    with pytest.raises(
        RendererPoolError, match=r"^renderer 5 of 8 could not be created: OSError: tokenizer.json is gone"
    ) as caught:
        RendererPool(factory, size=8)
    assert caught.value.slot == 5
    assert isinstance(caught.value.__cause__, OSError)


def test_a_missing_model_is_an_error() -> None:
    with pytest.raises(RendererPoolError, match="renderer 0 of 16") as caught:
        create_renderer_pool("./nowhere")
    assert isinstance(caught.value.__cause__, TokenizerNotFoundError)


def test_a_pool_of_size_zero_is_rejected() -> None:
    with pytest.raises(ValueError, match="must be at least 1, not 0"):
        RendererPool(object, size=0)


def test_the_names_of_earlier_releases_can_be_imported() -> None:
    import renderers.base

    assert renderers.base.RendererPool is RendererPool
    assert renderers.base.create_renderer_pool is create_renderer_pool
