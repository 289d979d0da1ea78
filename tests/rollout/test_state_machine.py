"""The laws of rollouts hold after any sequence of operations and failures."""

from __future__ import annotations

import asyncio
import pickle
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from renderers import EXAMPLE_MODEL, create_renderer
from renderers.errors import MalformedGenerateResponseError, TemplateError
from renderers.rollout import Rollout
from tests.support.conversations import user
from tests.support.rollouts import check_laws, check_prompt
from tests.support.scripted_sampler import ScriptedSampler

RENDERER = create_renderer(EXAMPLE_MODEL)
TEXTS = (
    "Yes.<|end|>",
    "  Yes. \n<|end|>",
    "<|think|>Hm.<|/think|>No.<|end|>",
    '<|think|>I look.<|/think|><|call|>{"name": "search", "arguments": {"query":  "sky"}}<|/call|><|end|>',
    '<|call|>{"name": "search", "arguments": {"query": <|/call|><|end|>',
    "<|think|>Open<|end|>",
    "cut off",
    "<|think|>cut",
    "",
    "<|end|>after the end",
)
MESSAGES = (
    [user("And?")],
    [{"role": "tool", "name": "search", "content": "blue"}],
    [user("A"), user("B")],
    [user("A"), {"role": "assistant", "content": "Mine."}, user("B")],
    [{"role": "system", "content": "Be brief."}],
)
FAILURES = (asyncio.CancelledError(), ConnectionResetError(), MalformedGenerateResponseError("no ids"))


def _without_none(message: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if value is not None}


class Queue:
    """An iterator over replies that are put into it."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def __iter__(self) -> Queue:
        return self

    def __next__(self) -> Any:
        return self.items.pop(0)


class RolloutMachine(RuleBasedStateMachine):
    """One rollout with forks, and a sampler that all of them share."""

    def __init__(self) -> None:
        super().__init__()
        self.replies = Queue()
        self.sampler = ScriptedSampler(RENDERER, self.replies)

    @initialize(limit=st.sampled_from([None, None, 150]), on_length=st.sampled_from(["close", "stop"]))
    def start(self, limit: int | None, on_length: Any) -> None:
        self.rollout = Rollout(RENDERER, self.sampler, [user("Hi")], max_total_tokens=limit, on_length=on_length)

    def pick(self, number: int) -> Rollout:
        rollouts = list(self.rollout.self_and_forks())
        return rollouts[number % len(rollouts)]

    @rule(number=st.integers(0, 9), text=st.sampled_from(TEXTS))
    def generate(self, number: int, text: str) -> None:
        rollout = self.pick(number)
        if rollout._position.turn is not None and rollout.stop_reason is None:
            rollout.add([user("More?")])
        expected, requests = rollout.prompt_ids, len(self.sampler.requests)
        self.replies.items = [text]
        turn = asyncio.run(rollout.generate())
        if turn is None:
            assert rollout.stop_reason is not None
            assert len(self.sampler.requests) == requests
            return
        assert self.sampler.requests[-1][0] == expected
        assert turn.completion == self.sampler.completions[-1]
        assert rollout.turns[-1] is turn

    @rule(number=st.integers(0, 9), failure=st.sampled_from(FAILURES))
    def fail(self, number: int, failure: BaseException) -> None:
        rollout = self.pick(number)
        if rollout._position.turn is not None or rollout.stop_reason is not None:
            return
        before = rollout._position, len(rollout._trajectory.turns)
        self.replies.items = [failure]
        try:
            asyncio.run(rollout.generate())
        except type(failure):
            pass
        else:
            raise AssertionError
        assert (rollout._position, len(rollout._trajectory.turns)) == before

    @rule(number=st.integers(0, 9), messages=st.sampled_from(MESSAGES))
    def add(self, number: int, messages: list[dict[str, Any]]) -> None:
        rollout = self.pick(number)
        turn, before = rollout._position.turn, rollout.messages
        position = rollout._position
        try:
            added = rollout.add(messages)
        except TemplateError:
            assert rollout._position is position
            return
        assert rollout.messages == [*before, *messages]
        assert added.is_bridged == (rollout._position.prompt.parent is not None)
        if turn is not None:
            check_prompt(rollout, RENDERER, turn)
            assert rollout._position.prompt.follows == turn.number

    @rule(number=st.integers(0, 9), count=st.integers(1, 3))
    @precondition(lambda self: sum(1 for _ in self.rollout.self_and_forks()) < 8)
    def fork(self, number: int, count: int) -> None:
        rollout = self.pick(number)
        for fork in rollout.fork(count):
            assert fork.prompt_ids == rollout.prompt_ids
            assert fork.messages == rollout.messages

    @rule(number=st.integers(0, 9), turns=st.integers(1, 3))
    def rewind(self, number: int, turns: int) -> None:
        rollout = self.pick(number)
        path, last = rollout.turns, rollout._position.turn
        try:
            rollout.rewind(turns)
        except ValueError:
            assert len(path) < turns
            return
        if len(path) >= turns:
            assert rollout._position.prompt is path[-turns].prompt
        assert last is None or turns > 1 or rollout._position.prompt is last.prompt

    @rule(number=st.integers(0, 9), messages=st.sampled_from(MESSAGES[:3]))
    def sync_with_a_normalised_history(self, number: int, messages: list[dict[str, Any]]) -> None:
        rollout = self.pick(number)
        turn = rollout._position.turn
        history = [
            {**message, "content": message["content"].strip(), "reasoning_content": None}
            if message["role"] == "assistant"
            else message
            for message in rollout.messages
        ]
        added = rollout.sync([*history, *messages])
        if turn is not None:
            recognised = rollout._position.prompt.parent
            # Another turn of the rollout may have the same history.
            assert not added.is_bridged or recognised is not None
            assert added.is_bridged or added.refusal is not None

    @rule(number=st.integers(0, 9), text=st.sampled_from(["Edited.", ""]))
    def sync_with_an_edited_history(self, number: int, text: str) -> None:
        rollout = self.pick(number)
        messages = rollout.messages
        messages[0] = user(f"Another question: {text}")
        messages.append(user("Well?"))
        rollout.sync(messages)
        # The messages of a recognised turn are the sampled ones, without the None that a harness added.
        assert [_without_none(message) for message in rollout.messages] == list(map(_without_none, messages))
        if rollout._position.prompt.parent is None:
            assert rollout.prompt_ids == RENDERER.render_ids(messages, add_generation_prompt=True)

    @rule(through_file=st.booleans())
    def restore(self, through_file: bool) -> None:
        rows, branches = self.rollout.rows(), self.rollout.branches
        if through_file:
            with tempfile.TemporaryDirectory() as folder:
                self.rollout.save(Path(folder) / "rollout.jsonl")
                self.rollout = Rollout.load(Path(folder) / "rollout.jsonl", RENDERER, self.sampler)
        else:
            self.rollout = pickle.loads(pickle.dumps(self.rollout))
            for rollout in self.rollout.self_and_forks():
                rollout.client = self.sampler
        assert self.rollout.rows() == rows
        assert self.rollout.branches == branches

    @invariant()
    def every_sampled_token_is_trained_once(self) -> None:
        if hasattr(self, "rollout"):
            check_laws(self.rollout, self.sampler.completions)


TestRollouts = RolloutMachine.TestCase
TestRollouts.settings = settings(
    max_examples=40, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
