"""Generated conversations are JSON data, the same for the same seed."""

from __future__ import annotations

import json
import random

import pytest

from scripts.compare.conversations import random_conversation


@pytest.mark.parametrize("seed", range(50))
def test_conversations_are_json_with_a_result_for_every_call(seed: int) -> None:
    messages = random_conversation(random.Random(seed))
    assert json.loads(json.dumps(messages)) == messages
    calls = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    results = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert results == calls[: len(results)]
    assert len(calls) - len(results) <= 2


def test_the_same_seed_gives_the_same_conversation() -> None:
    first, second = (random_conversation(random.Random(3)) for _ in range(2))
    assert first == second != random_conversation(random.Random(4))
