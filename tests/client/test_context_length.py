"""The context length is looked up once for each server and model, and the table has a bound."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from renderers.client import _max_prompt_len_cache, openai_client
from renderers.client import context_length as context_length_module
from renderers.client.context_length import context_lengths, find_context_length, look_up_context_length
from renderers.client.engines.vllm import VllmEngine


def test_callers_at_the_same_time_share_a_lookup() -> None:
    calls = 0

    async def get_models() -> Any:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0.01)
        return {"data": [{"id": "m", "max_model_len": 9}]}

    async def call() -> list[int | None]:
        return await asyncio.gather(*(look_up_context_length("http://a", "m", get_models) for _ in range(50)))

    assert asyncio.run(call()) == [9] * 50
    assert asyncio.run(look_up_context_length("http://a", "m", get_models)) == 9
    assert calls == 1
    assert _max_prompt_len_cache == {("http://a", "m"): 9}


def test_a_lookup_with_an_openai_client_does_not_wait_for_its_timeout(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Client:
        base_url = "http://a/v1/"

        async def get(self, path: str, *, cast_to: Any) -> Any:
            await asyncio.sleep(3600)

    monkeypatch.setattr(openai_client, "MODELS_TIMEOUT", 0.01)
    assert asyncio.run(openai_client.OpenAISampler(Client(), VllmEngine()).context_length("m")) is None
    assert "TimeoutError" in caplog.text


def test_a_caller_that_is_cancelled_does_not_cancel_the_others() -> None:
    async def get_models() -> Any:
        await asyncio.sleep(0.01)
        return {"data": [{"id": "m", "max_model_len": 9}]}

    async def call() -> int | None:
        first = asyncio.ensure_future(look_up_context_length("http://a", "m", get_models))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(look_up_context_length("http://a", "m", get_models))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    assert asyncio.run(call()) == 9


def test_the_length_is_looked_up_again_some_time_after_a_failed_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    responses: list[Any] = [OSError("refused"), OSError("refused"), {"data": [{"id": "m", "max_model_len": 9}]}]

    async def get_models() -> Any:
        response = responses.pop(0)
        if isinstance(response, Exception):
            raise response
        return response

    def look_up() -> int | None:
        return asyncio.run(look_up_context_length("http://a", None, get_models))

    assert [look_up(), look_up()] == [None, None]
    assert len(responses) == 2
    monkeypatch.setattr(context_length_module, "RECENT", -1.0)
    assert [look_up(), look_up(), look_up()] == [None, 9, 9]
    assert responses == []
    (record,) = caplog.records
    assert record.getMessage() == (
        "http://a: the lengths of prompts for the model are not checked, because its context length is unknown: "
        "OSError: refused"
    )


def test_an_old_length_is_looked_up_again_and_kept_if_that_fails() -> None:
    responses: list[Any] = [{"data": [{"id": "m", "max_model_len": length}]} for length in (9, 5)]

    async def get_models() -> Any:
        return responses.pop(0)

    def look_up(max_age: float) -> int | None:
        return asyncio.run(look_up_context_length("http://a", "m", get_models, max_age=max_age))

    assert [look_up(-1), look_up(60), look_up(-1), look_up(60)] == [9, 9, 5, 5]
    # There are no more responses.
    assert look_up(-1) == 5


def test_a_length_that_was_set_by_the_caller_is_not_looked_up() -> None:
    _max_prompt_len_cache["http://a", "m"] = 7

    async def get_models() -> Any:
        raise AssertionError

    assert asyncio.run(look_up_context_length("http://a", "m", get_models, max_age=1)) == 7


def test_a_length_that_the_server_does_not_report_is_not_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_length_module, "RECENT", -1.0)
    responses: list[Any] = [{"data": []}]

    async def get_models() -> Any:
        return responses.pop(0)

    for _ in range(2):
        assert asyncio.run(look_up_context_length("http://a", "m", get_models)) is None


def test_the_table_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_length_module, "_KEEP", 3)

    async def get_models() -> Any:
        return {"data": []}

    async def call() -> None:
        for number in range(5):
            await look_up_context_length("http://a", str(number), get_models)

    asyncio.run(call())
    assert [model for _, model in context_lengths] == ["2", "3", "4"]


@pytest.mark.parametrize(
    ("payload", "model", "length"),
    [
        ({"data": [{"id": "a", "max_model_len": 4}, {"id": "b", "max_model_len": 5}]}, "b", 5),
        ({"data": [{"id": "a", "max_model_len": 4}]}, None, 4),
        ({"data": [{"id": "a", "max_model_len": 4}]}, "other", None),
        ({"data": [{"id": "a"}]}, "a", None),
        ({"data": [{"id": "a", "max_model_len": True}]}, "a", None),
        ({"data": [{"id": "a", "max_model_len": 0}]}, "a", None),
        ({"data": ["a"]}, "a", None),
    ],
)
def test_the_length_of_the_model_is_found(payload: Any, model: str | None, length: int | None) -> None:
    assert find_context_length(payload, model) == length


@pytest.mark.parametrize("payload", [None, "text", [], {}, {"data": {}}])
def test_another_response_is_an_error(payload: Any) -> None:
    with pytest.raises(TypeError, match="/v1/models must respond"):
        find_context_length(payload, "m")
