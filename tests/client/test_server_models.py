"""Tests of `renderers.client.server_models`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from renderers.client import server_models
from renderers.client.server_models import ServerModels
from renderers.errors import EngineConnectionError, EngineError, EngineStatusError, EngineTimeoutError


class Requests:
    """Returns or raises the outcomes in order, and counts the requests."""

    def __init__(self, *outcomes: Any) -> None:
        self._outcomes = iter(outcomes)
        self.count = 0

    async def __call__(self) -> Any:
        self.count += 1
        await asyncio.sleep(0)
        outcome = next(self._outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def test_the_list_is_requested_again_only_after_its_age() -> None:
    async def use() -> list[Any]:
        models, requests = ServerModels(), Requests({"data": [1]}, {"data": [2]})
        results = [await models.get(requests), await models.get(requests), await models.get(requests, max_age=-1)]
        return [*results, requests.count]

    assert asyncio.run(use()) == [{"data": [1]}, {"data": [1]}, {"data": [2]}, 2]


def test_callers_at_the_same_time_share_a_request() -> None:
    async def use() -> int:
        models, requests = ServerModels(), Requests({"data": []})
        await asyncio.gather(*(models.get(requests) for _ in range(8)))
        return requests.count

    assert asyncio.run(use()) == 1


def test_a_failure_is_raised_again_for_a_short_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use() -> int:
        models, requests = ServerModels(), Requests(EngineTimeoutError("slow"), {"data": []})
        for _ in range(3):
            with pytest.raises(EngineTimeoutError, match="slow") as caught:
                await models.get(requests)
            assert len(caught.traceback) < 9
        assert requests.count == 1
        monkeypatch.setattr(server_models, "RECENT", -1.0)
        assert await models.get(requests) == {"data": []}
        return requests.count

    assert asyncio.run(use()) == 2


def test_a_server_that_is_being_started_is_asked_again_at_once() -> None:
    async def use() -> Any:
        models, requests = ServerModels(), Requests(EngineConnectionError("refused"), {"data": []})
        with pytest.raises(EngineConnectionError):
            await models.get(requests)
        return await models.get(requests)

    assert asyncio.run(use()) == {"data": []}


def test_each_caller_gets_an_error_of_its_own() -> None:
    async def use() -> list[EngineError]:
        failure = EngineStatusError("busy", url="http://host/v1/models", status=503, retry_after=2.0)
        failure.add_note("Failed after 4 attempts.")
        models, requests = ServerModels(), Requests(failure)
        errors: list[EngineError] = []
        for _ in range(3):
            try:
                try:
                    raise KeyError(len(errors))
                except KeyError:
                    await models.get(requests)
            except EngineStatusError as error:
                errors.append(error)
                error.add_note(f"Caller {len(errors)}.")
        return errors

    first, second, third = asyncio.run(use())
    assert first.__traceback__ is not None
    assert first.__traceback__.tb_next is not None
    assert second.__cause__ is third.__cause__ is first
    assert [error.__context__.args for error in (first, second, third) if error.__context__] == [(0,), (1,), (2,)]
    assert [error.__notes__[-1] for error in (first, second, third)] == ["Caller 1.", "Caller 2.", "Caller 3."]
    for error in (second, third):
        assert (type(error), str(error)) == (EngineStatusError, str(first))
        assert vars(error).items() >= {"url": first.url, "status": 503, "reason": "busy", "retry_after": 2.0}.items()
