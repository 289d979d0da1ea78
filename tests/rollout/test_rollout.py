"""Tests of `renderers.rollout.rollout`."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import statistics
import sys
import threading
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from renderers import EXAMPLE_MODEL, BridgeReason, ChatRenderer, create_renderer, create_renderer_pool, load_tokenizer
from renderers.bridging.refusal import BridgeRefusal, refuse_message
from renderers.client.completion import Completion
from renderers.core.tokens import RenderedTokens
from renderers.errors import (
    MalformedGenerateResponseError,
    MessageError,
    OverlongPromptError,
    RolloutError,
    TemplateError,
    TemplateRefusalError,
    UnencodableTextError,
    UnusedRewardWarning,
)
from renderers.rollout import Added, Rollout, Turn
from tests.support.conversations import TOOLS, tool, user
from tests.support.models import HUB_AT_HAND, unpack_hub
from tests.support.rollouts import check_laws
from tests.support.scripted_sampler import ScriptedSampler, encode

CALL = '<|think|>I look.<|/think|><|call|>{"name": "search", "arguments": {"query": "sky"}}<|/call|><|end|>'
RESULT = {"role": "tool", "name": "search", "content": "blue"}


@pytest.fixture(scope="module")
def renderer() -> ChatRenderer:
    return create_renderer(EXAMPLE_MODEL)


def start(renderer: ChatRenderer, *script: Any, **options: Any) -> tuple[Rollout, ScriptedSampler]:
    """Return a rollout with a question, and its sampler."""
    sampler = ScriptedSampler(renderer, script)
    return Rollout(renderer, sampler, [user("Hi")], **options), sampler


class PostingClient:
    """An object with the methods of an `AsyncOpenAI` client, which keeps the bodies of its requests."""

    base_url = "http://fake-host:8000/v1"

    def __init__(self, token_ids: list[int]) -> None:
        entries = [{"token_id": token, "logprob": -0.5} for token in token_ids]
        choice = {"token_ids": token_ids, "finish_reason": "stop", "logprobs": {"content": entries}}
        self._reply = json.dumps({"choices": [choice]}).encode()
        self.bodies: list[Any] = []

    async def post(self, url: str, *, cast_to: Any, body: Mapping[str, Any]) -> httpx.Response:
        self.bodies.append(body)
        return httpx.Response(200, content=self._reply)


def sample(rollout: Rollout, **options: Any) -> Turn:
    turn = asyncio.run(rollout.generate(**options))
    assert turn is not None
    return turn


def test_a_rollout_with_a_tool_gives_one_row_of_all_tokens(renderer: ChatRenderer) -> None:
    rollout, sampler = start(renderer, CALL, "It is blue.<|end|>", tools=TOOLS)
    turn = sample(rollout)
    assert [call.name for call in turn.parsed.tool_calls] == ["search"]
    assert rollout.add([RESULT]) == Added(True)
    assert sample(rollout).parsed.content == "It is blue."
    first, second = sampler.completions
    assert rollout.prompt_ids[: len(sampler.requests[0][0])] == sampler.requests[0][0]
    [row] = rollout.rows(reward=1.0, advantage=0.5, extras={"task": 7})
    assert row.token_ids == [*sampler.requests[1][0], *second.token_ids]
    assert [token for token in row.labels() if token != -100] == [*first.token_ids, *second.token_ids]
    sampled = [logprob for logprob, is_sampled in zip(row.logprobs, row.sampled_mask, strict=True) if is_sampled]
    assert sampled == [*first.logprobs, *second.logprobs]
    assert (row.reward, row.extras, row.shared) == (1.0, {"task": 7}, ())


def test_the_first_prompt_is_the_rendered_conversation(renderer: ChatRenderer) -> None:
    rollout, sampler = start(renderer, "Yes.<|end|>", tools=TOOLS)
    expected = renderer.render_ids([user("Hi")], tools=TOOLS, add_generation_prompt=True)
    assert rollout.prompt_ids == expected
    sample(rollout)
    assert sampler.requests[0][0] == expected


def test_the_prompt_of_a_turn_begins_with_all_earlier_tokens(renderer: ChatRenderer) -> None:
    rollout, sampler = start(renderer, *(f"Answer {number}.<|end|>" for number in range(5)))
    for number in range(5):
        turn = sample(rollout)
        before = [*sampler.requests[-1][0], *turn.token_ids]
        rollout.add([user(f"Question {number}?")])
        assert rollout.prompt_ids[: len(before)] == before


def test_messages_have_the_sampled_turns(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, CALL, "It is blue.<|end|>")
    sample(rollout)
    rollout.add([RESULT])
    sample(rollout)
    roles = [message["role"] for message in rollout.messages]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert rollout.messages[1]["reasoning_content"] == "I look."


def test_messages_of_the_caller_and_of_the_rollout_are_independent(renderer: ChatRenderer) -> None:
    question = user("Hi")
    rollout = Rollout(renderer, None, [question])
    question["content"] = "changed"
    rollout.messages[0]["content"] = "changed"
    assert rollout.messages == [user("Hi")]


# ==================
# Bridges and branches
# ==================


def test_a_refused_bridge_opens_a_branch_with_the_rendered_conversation(renderer: ChatRenderer) -> None:
    rollout, sampler = start(renderer, "<|think|>Open<|end|>", "Again.<|end|>")
    first = sample(rollout)
    added = rollout.add([user("And?")])
    assert not added.is_bridged
    assert added.refusal is not None
    assert added.refusal.reason is BridgeReason.REASONING_OPEN
    assert rollout.prompt_ids == renderer.render_ids(rollout.messages, add_generation_prompt=True)
    assert list(rollout.turns) == [first]
    second = sample(rollout)
    assert list(rollout.turns) == [first, second]
    assert [branch.turns for branch in rollout.branches] == [(first,), (second,)]
    assert [branch.refusal for branch in rollout.branches] == [None, added.refusal]
    rows = rollout.rows()
    assert [[token for token in row.labels() if token != -100] for row in rows] == [first.token_ids, second.token_ids]
    assert rows[1].token_ids == [*sampler.requests[1][0], *second.token_ids]


def test_an_assistant_message_of_the_caller_opens_a_branch(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "Yes.<|end|>", "No.<|end|>")
    sample(rollout)
    added = rollout.add([user("And?"), {"role": "assistant", "content": "Hm."}, user("Well?")])
    assert added.refusal is not None
    assert added.refusal.reason is BridgeReason.ASSISTANT_MESSAGE
    sample(rollout)
    assert len(rollout.rows()) == 2


def test_messages_can_be_added_one_at_a_time(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "Yes.<|end|>")
    sample(rollout)
    together = copy.deepcopy(rollout)
    together.add([user("A"), user("B")])
    assert rollout.add([user("A")]) == rollout.add([user("B")]) == Added(True)
    assert rollout.prompt_ids == together.prompt_ids
    assert rollout.messages == together.messages


def test_messages_added_before_the_first_turn_are_part_of_its_prompt(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "Yes.<|end|>")
    rollout.add([user("Are you there?")])
    messages = [user("Hi"), user("Are you there?")]
    assert rollout.prompt_ids == renderer.render_ids(messages, add_generation_prompt=True)
    assert rollout.messages == messages


def test_template_arguments_are_those_of_every_prompt(renderer: ChatRenderer) -> None:
    calls: list[Mapping[str, Any]] = []

    class Renderer:
        def __getattr__(self, name: str) -> Any:
            return getattr(renderer, name)

        def render_ids(self, messages: Any, **options: Any) -> list[int]:
            calls.append(options)
            return renderer.render_ids(messages, add_generation_prompt=True)

        def bridge(self, *prior: Any, tools: Any, **options: Any) -> Any:
            calls.append(options)
            return renderer.bridge(*prior, tools=tools)

    own: Any = Renderer()
    arguments = {"enable_thinking": False}
    rollout = Rollout(own, ScriptedSampler(renderer, ["Yes.<|end|>"]), [user("Hi")], chat_template_kwargs=arguments)
    sample(rollout)
    rollout.add([user("And?")])
    assert [options["enable_thinking"] for options in calls] == [False, False]


class ProtocolRenderer:
    """A renderer with the methods of the protocol only."""

    is_prefix_stable = True

    def __init__(self, renderer: ChatRenderer, *, refuses: bool = False, changes: bool = False) -> None:
        self.renderer, self.refuses, self.changes = renderer, refuses, changes

    def render(self, messages: Any, *, tools: Any = None, add_generation_prompt: bool = False) -> RenderedTokens:
        return self.renderer.render(messages, tools=tools, add_generation_prompt=add_generation_prompt)

    def render_ids(self, messages: Any, *, tools: Any = None, add_generation_prompt: bool = False) -> list[int]:
        return self.renderer.render_ids(messages, tools=tools, add_generation_prompt=add_generation_prompt)

    def parse_response(self, token_ids: Any, *, tools: Any = None, prompt_ids: Any = None) -> Any:
        return self.renderer.parse_response(token_ids, tools=tools, prompt_ids=prompt_ids)

    def bridge_to_next_turn(self, prompt: Any, completion: Any, new: Any, *, tools: Any = None) -> Any:
        if self.refuses:
            return None
        tokens = self.renderer.bridge_to_next_turn(prompt, completion, new, tools=tools)
        assert tokens is not None
        return RenderedTokens(token_ids=[0, *tokens.token_ids]) if self.changes else tokens

    def get_stop_token_ids(self) -> list[int]:
        return self.renderer.get_stop_token_ids()


def test_a_renderer_with_the_methods_of_the_protocol_is_enough(renderer: ChatRenderer) -> None:
    own, expected = ProtocolRenderer(renderer), start(renderer, "Yes.<|end|>")[0]
    rollout = Rollout(own, ScriptedSampler(renderer, ["Yes.<|end|>"]), [user("Hi")])
    for each in (rollout, expected):
        sample(each)
        assert each.add([user("And?")]) == Added(True)
    assert rollout.prompt_ids == expected.prompt_ids


def test_a_renderer_without_reasons_opens_a_branch_without_one(renderer: ChatRenderer) -> None:
    own = ProtocolRenderer(renderer, refuses=True)
    rollout = Rollout(own, ScriptedSampler(renderer, ["Yes.<|end|>", "No.<|end|>"]), [user("Hi")])
    sample(rollout)
    assert rollout.add([user("And?")]) == Added(False, None)
    sample(rollout)
    assert len(rollout.branches) == 2


def test_a_bridge_that_changes_earlier_tokens_is_an_error(renderer: ChatRenderer) -> None:
    own = ProtocolRenderer(renderer, changes=True)
    rollout = Rollout(own, ScriptedSampler(renderer, ["Yes.<|end|>"]), [user("Hi")])
    sample(rollout)
    with pytest.raises(RolloutError, match="ProtocolRenderer returned ids that do not begin with the prompt"):
        rollout.add([user("And?")])


# ==================
# Limits
# ==================


def test_sampling_parameters_of_a_turn_take_precedence(renderer: ChatRenderer) -> None:
    rollout, sampler = start(renderer, "A<|end|>", "B<|end|>", sampling_params={"temperature": 1, "max_tokens": 9})
    sample(rollout)
    rollout.add([user("And?")])
    sample(rollout, sampling_params={"temperature": 0})
    stops = renderer.get_stop_token_ids()
    assert [parameters for _, parameters in sampler.requests] == [
        {"temperature": 1, "max_tokens": 9, "stop_token_ids": stops},
        {"temperature": 0, "max_tokens": 9, "stop_token_ids": stops},
    ]


def test_the_sampling_parameters_of_the_next_turn_are_known(renderer: ChatRenderer) -> None:
    rollout, sampler = start(renderer, "A<|end|>", max_total_tokens=40, sampling_params={"seed": 1})
    expected = rollout.sampling_params
    sample(rollout)
    assert sampler.requests[0][1] == expected
    assert expected["max_tokens"] == 40 - len(rollout.prompt_ids)


def test_a_rollout_stops_at_its_total_number_of_tokens(renderer: ChatRenderer) -> None:
    rollout, sampler = start(renderer, "A<|end|>", max_total_tokens=40, sampling_params={"max_tokens": 30})
    length = len(rollout.prompt_ids)
    sample(rollout)
    assert sampler.requests[0][1]["max_tokens"] == min(30, 40 - length)
    rollout.add([user("A question that is longer than the rest of the tokens")])
    assert rollout.stop_reason == "max_total_tokens"
    assert asyncio.run(rollout.generate()) is None
    assert len(sampler.requests) == 1
    assert len(rollout.rows()) == 1


def test_a_turn_that_reaches_the_total_stops_the_rollout(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A<|end|>")
    total = len(rollout.prompt_ids) + len(encode(renderer, "A<|end|>"))
    rollout, _ = start(renderer, "A<|end|>", max_total_tokens=total)
    sample(rollout)
    assert rollout.stop_reason == "max_total_tokens"
    assert asyncio.run(rollout.generate()) is None


def test_a_turn_that_was_cut_off_is_closed_with_tokens_that_are_not_sampled(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A long", "B<|end|>")
    turn = sample(rollout)
    assert turn.completion.is_truncated
    assert rollout.add([user("Go on.")]) == Added(True)
    [end] = encode(renderer, "<|end|>")
    assert rollout.prompt_ids[turn.end] == end
    sample(rollout)
    [row] = rollout.rows()
    assert not row.sampled_mask[turn.end]
    assert row.turns[0].has_stop is False
    assert row.turns[1].has_stop is True


@pytest.mark.parametrize("reason", ["length", "abort"])
def test_a_turn_that_was_cut_off_can_end_the_rollout(renderer: ChatRenderer, reason: str) -> None:
    ids = encode(renderer, "A long")
    completion = Completion(token_ids=ids, logprobs=[-1.0] * len(ids), finish_reason=reason)
    rollout, sampler = start(renderer, completion, on_length="stop")
    sample(rollout)
    assert rollout.stop_reason == reason
    rollout.add([user("Go on.")])
    assert asyncio.run(rollout.generate()) is None
    assert len(sampler.requests) == 1


def test_a_stopped_rollout_records_no_turn_and_has_no_parameters(renderer: ChatRenderer) -> None:
    full, _ = start(renderer, max_total_tokens=1)
    cut, _ = start(renderer, "A long", on_length="stop")
    sample(cut)
    cut.add([user("Go on.")])
    for rollout, reason in ((full, "max_total_tokens"), (cut, "length")):
        turns = rollout.turns
        with pytest.raises(RolloutError, match=rf"the rollout has stopped \({reason}\), so it takes no more turns"):
            rollout.record(completion())
        with pytest.raises(RolloutError, match=rf"the rollout has stopped \({reason}\), so it takes no more turns"):
            _ = rollout.sampling_params
        assert rollout.turns == turns


@pytest.mark.parametrize("options", [{"on_length": "drop"}, {"max_total_tokens": 0}, {"max_total_tokens": True}])
def test_invalid_options_are_rejected(renderer: ChatRenderer, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        start(renderer, **options)


# ==================
# Failures
# ==================


@pytest.mark.parametrize(
    "failure", [asyncio.CancelledError(), ConnectionResetError(), OverlongPromptError(prompt_len=9, max_prompt_len=8)]
)
def test_a_failed_turn_leaves_the_rollout_as_it_was(renderer: ChatRenderer, failure: BaseException) -> None:
    rollout, _ = start(renderer, "A<|end|>", failure, "B<|end|>")
    sample(rollout)
    rollout.add([user("And?")])
    before = rollout.prompt_ids, rollout.messages, rollout.rows()
    with pytest.raises(type(failure)):
        sample(rollout)
    assert (rollout.prompt_ids, rollout.messages, rollout.rows()) == before
    assert sample(rollout).parsed.content == "B"


def test_a_cancelled_turn_is_not_recorded(renderer: ChatRenderer) -> None:
    async def never(prompt_ids: list[int], *, sampling_params: Any) -> Completion:
        await asyncio.Event().wait()
        raise AssertionError

    async def run() -> Rollout:
        rollout = Rollout(renderer, never, [user("Hi")])
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(rollout.generate(), 0.01)
        return rollout

    rollout = asyncio.run(run())
    assert rollout.turns == ()
    rollout.client = ScriptedSampler(renderer, ["A<|end|>"])
    assert sample(rollout).parsed.content == "A"


def test_an_error_of_added_messages_leaves_the_rollout_as_it_was(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A<|end|>")
    sample(rollout)
    for invalid in ([{"role": "user", "content": 3}], [], [{"content": "no role"}]):
        with pytest.raises(MessageError):
            rollout.add(invalid)
    with pytest.raises(TemplateError):
        rollout.add([{"role": "critic", "content": "Bad."}])
    assert rollout.messages[-1]["role"] == "assistant"
    assert rollout.add([user("And?")]) == Added(True)


def completion(**changes: Any) -> Completion:
    return Completion(**{"token_ids": [5, 6], "logprobs": [-1.0, -2.0], "finish_reason": "stop", **changes})


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"logprobs": [-1.0]}, MalformedGenerateResponseError),
        ({"prompt_ids": [1]}, MalformedGenerateResponseError),
        ({"token_ids": [5, -1]}, ValueError),
        ({"token_ids": [5, True]}, TypeError),
    ],
)
def test_a_completion_that_cannot_be_recorded_is_an_error(
    renderer: ChatRenderer, changes: dict[str, Any], error: type[Exception]
) -> None:
    rollout, _ = start(renderer, completion(**changes), "A<|end|>")
    with pytest.raises(error):
        sample(rollout)
    assert rollout.turns == ()
    assert sample(rollout).parsed.content == "A"


def test_a_prompt_that_the_engine_returns_is_compared_and_not_kept(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer)
    rollout.client = ScriptedSampler(renderer, [completion(prompt_ids=rollout.prompt_ids)])
    assert sample(rollout).completion.prompt_ids is None


def test_a_second_call_of_generate_needs_a_fork(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A<|end|>", "B<|end|>")

    async def run() -> None:
        first = asyncio.ensure_future(rollout.generate())
        await asyncio.sleep(0)
        with pytest.raises(RolloutError, match="generate is still running"):
            await rollout.generate()
        for call in (lambda: rollout.add([user("A")]), lambda: rollout.fork(2), lambda: rollout.sync([user("A")])):
            with pytest.raises(RolloutError, match="generate is still running"):
                call()
        await first

    asyncio.run(run())
    assert len(rollout.turns) == 1


def test_a_turn_needs_messages_before_the_next_one(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A<|end|>", "B<|end|>")
    sample(rollout)
    with pytest.raises(RolloutError, match="the last turn has no messages after it"):
        sample(rollout)


def test_a_client_is_an_object_or_a_function(renderer: ChatRenderer, tmp_path: Any) -> None:
    sampler = ScriptedSampler(renderer, ["A<|end|>"])
    rollout = Rollout(renderer, sampler.sample, [user("Hi")])
    assert sample(rollout).parsed.content == "A"
    wrong: Any = 3
    with pytest.raises(TypeError, match="client must be an InferenceClient, an AsyncOpenAI client, another object"):
        Rollout(renderer, wrong, [user("Hi")])
    with pytest.raises(TypeError, match="client must be an InferenceClient, an AsyncOpenAI client, another object"):
        rollout.client = wrong
    rollout.save(tmp_path / "rollout.jsonl")
    with pytest.raises(TypeError, match="client must be an InferenceClient, an AsyncOpenAI client, another object"):
        Rollout.load(tmp_path / "rollout.jsonl", renderer, wrong)
    with pytest.raises(RolloutError, match="has no client"):
        sample(Rollout(renderer, None, [user("Hi")]))


def test_a_completion_can_be_recorded_without_a_client(renderer: ChatRenderer) -> None:
    rollout = Rollout(renderer, None, [user("Hi")])
    sampler = ScriptedSampler(renderer, ())
    turn = rollout.record(sampler.complete(encode(renderer, "A<|end|>")))
    assert turn.parsed.content == "A"
    assert rollout.add([user("And?")]) == Added(True)
    rollout.record(sampler.complete([5]))
    with pytest.raises(RolloutError, match="no messages"):
        rollout.record(sampler.complete([5]))


# ==================
# Event loop
# ==================


def test_long_work_runs_in_a_thread(renderer: ChatRenderer, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: dict[str, set[bool]] = {"render_ids": set(), "parse_response": set()}
    for name, seen in threads.items():
        method = getattr(ChatRenderer, name)

        def traced(self: Any, *args: Any, method: Any = method, seen: set[bool] = seen, **options: Any) -> Any:
            seen.add(threading.current_thread() is threading.main_thread())
            return method(self, *args, **options)

        monkeypatch.setattr(ChatRenderer, name, traced)
    rollout = Rollout(renderer, ScriptedSampler(renderer, ["word " * 60_000 + "<|end|>"]), [user("word " * 25_000)])
    sample(rollout)
    assert threads == {"render_ids": {False}, "parse_response": {False}}


def test_forks_of_a_long_prompt_share_its_ids(renderer: ChatRenderer) -> None:
    rollout = Rollout(renderer, None, [user("word " * 25_000)])
    first, second = rollout.fork(2)
    assert first._position.prompt_ids is second._position.prompt_ids is not None


def count_calls(work: Any) -> int:
    """Return the number of calls of Python functions."""
    calls = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def test_the_work_of_a_turn_does_not_grow_with_the_history(renderer: ChatRenderer) -> None:
    rollout = Rollout(renderer, None, [user("Hi")], tools=TOOLS)
    sampler = ScriptedSampler(renderer, ())

    def turn() -> None:
        rollout.record(sampler.complete(encode(renderer, CALL)))
        rollout.add([tool("It is blue.")])

    calls = [count_calls(turn) for _ in range(64)]
    # The first turns learn the format. Finalizers of other tests may run in between.
    assert statistics.median(calls[2:18]) == statistics.median(calls[-16:]), calls
    turns = rollout.turns
    assert len({len(turn.prompt.token_ids) for turn in turns[1:]}) == 1
    assert sum(len(turn.prompt.token_ids) + len(turn.token_ids) for turn in turns) == turns[-1].end


# ==================
# Forks and histories of a harness
# ==================


def test_forks_share_the_turns_before_them(renderer: ChatRenderer) -> None:
    rollout, sampler = start(renderer, CALL, "Blue.<|end|>", "Red.<|end|>")
    shared = sample(rollout)
    rollout.add([RESULT])
    first, second = rollout.fork(2)
    for fork, reward in ((first, 1.0), (second, 0.0)):
        sample(fork)
        fork.reward = reward
    rows = rollout.rows(advantage=2.0)
    assert [row.reward for row in rows] == [1.0, 0.0]
    assert [len(row.turns) for row in rows] == [2, 1]
    assert [span.rows for row in rows for span in row.shared] == [(0, 1), (0, 1)]
    start_, end, _ = rows[1].shared[0]
    assert rows[1].token_ids[start_:end] == shared.token_ids
    assert not any(rows[1].loss_mask[start_:end])
    assert rows[1].logprobs[start_:end] == sampler.completions[0].logprobs
    each = rollout.rows(shared="each")
    assert [len(row.turns) for row in each] == [2, 2]
    assert first.rows() == first.rows(shared="each")
    with pytest.raises(ValueError, match="shared must be one of 'once', 'each'"):
        rollout.rows(shared="never")  # type: ignore[arg-type]


def test_forks_sample_at_the_same_time(renderer: ChatRenderer) -> None:
    rollout, sampler = start(renderer, *(f"{number}<|end|>" for number in range(8)))

    async def run() -> None:
        await asyncio.gather(*(fork.generate() for fork in rollout.fork(8)))

    asyncio.run(run())
    assert len({tuple(prompt) for prompt, _ in sampler.requests}) == 1
    assert [branch.turns[-1].rollout for branch in rollout.branches] == list(range(1, 9))


def test_an_error_names_the_new_message_that_the_bridge_refuses(renderer: ChatRenderer) -> None:
    class Refusing:
        """A renderer of a template that refuses tool results, and names the turn with the call."""

        parse_response, get_stop_token_ids = renderer.parse_response, renderer.get_stop_token_ids

        def render_ids(self, messages: list[Any], **options: Any) -> list[int]:
            if len(messages) > 1:
                raise TemplateRefusalError("the id is missing", message=1)
            return renderer.render_ids(messages, **options)

        def bridge(self, prompt_ids: Any, completion_ids: Any, new: Any, **_: Any) -> BridgeRefusal:
            return refuse_message("the id is missing", new)

    rollout = Rollout(Refusing(), ScriptedSampler(renderer, [CALL]), [user("Hi")])  # type: ignore[arg-type]
    sample(rollout)
    before = rollout.messages
    text = r"^the template rejects new message 0 \(tool\): the id is missing\. Fix the messages\."
    with pytest.raises(TemplateRefusalError, match=text) as caught:
        rollout.add([RESULT])
    assert caught.value.__notes__ == ["Without a bridge: the chat template refuses message 1: the id is missing"]
    assert rollout.messages == before


def test_a_sampler_that_changes_its_ids_does_not_change_the_rollout(renderer: ChatRenderer) -> None:
    async def sampler(prompt_ids: list[int], *, sampling_params: Mapping[str, Any]) -> Completion:
        prompt_ids.clear()
        return Completion(token_ids=encode(renderer, "A<|end|>"), logprobs=[-1.0, -1.0], finish_reason="stop")

    rollout = Rollout(renderer, sampler, [user("Hi")])
    prompt_ids = rollout.prompt_ids
    sample(rollout)
    assert rollout.prompt_ids == prompt_ids
    assert rollout.rows()[0].token_ids == prompt_ids + encode(renderer, "A<|end|>")


def test_the_order_of_rows_is_that_of_the_forks(renderer: ChatRenderer) -> None:
    rollout, sampler = start(renderer, *(f"{number}<|end|>" for number in range(7)))
    sample(rollout)
    rollout.add([user("And?")])
    first, second = rollout.fork(2)
    sample(second)
    first.add([user("Really?")])
    inner = first.fork(2)
    for fork in (inner[1], inner[0], rollout):
        sample(fork)
    for each, reward in zip((rollout, *inner, second), (0, 1, 2, 3), strict=True):
        each.reward = reward
    rows = rollout.rows()
    assert [row.reward for row in rows] == [0, 1, 2, 3]
    assert [row.rollout for row in rows] == [rollout.number, inner[0].number, inner[1].number, second.number]
    assert [branch.turns[-1].rollout for branch in rollout.branches] == [row.rollout for row in rows]
    assert [len(row.turns) for row in rows] == [2, 1, 1, 1]
    assert [row.rollout for row in second.rows()] == [second.number]
    check_laws(rollout, sampler.completions)


def test_a_reward_of_a_fork_without_turns_is_reported(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A<|end|>", "B<|end|>")
    sample(rollout)
    forks = rollout.fork(3)
    rollout.rows(reward=1.0)
    forks[1].reward = 0.0
    forks[2].advantage = 0.0
    with pytest.warns(UnusedRewardWarning, match=r"sampled no turn, so they have no row: \[2, 3\]") as warned:
        assert [row.reward for row in rollout.rows()] == [None]
    assert warned[0].filename == __file__
    assert [row.reward for row in forks[1].rows()] == [0.0]


def test_a_rollout_goes_on_after_a_fork(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A<|end|>", "B<|end|>", "C<|end|>")
    [fork] = rollout.fork(1)
    sample(rollout)
    sample(fork)
    rollout.add([user("And?")])
    sample(rollout)
    assert [len(branch.turns) for branch in rollout.branches] == [2, 1]
    assert len(fork.branches) == 1


@pytest.mark.parametrize("count", [0, -1, True, 1.5])
def test_a_number_of_forks_is_positive(renderer: ChatRenderer, count: Any) -> None:
    with pytest.raises(ValueError, match="count must be a positive number"):
        start(renderer)[0].fork(count)


def test_a_turn_can_be_sampled_again(renderer: ChatRenderer) -> None:
    rollout, sampler = start(renderer, "A<|end|>", "B<|end|>", "C<|end|>")
    sample(rollout)
    rollout.rewind()
    sample(rollout)
    assert sampler.requests[0] == sampler.requests[1]
    rollout.add([user("And?")])
    rollout.rewind()
    assert sample(rollout).parsed.content == "C"
    assert [branch.turns[-1].parsed.content for branch in rollout.branches] == ["A", "B", "C"]
    with pytest.raises(ValueError, match="turns is 2, and 1 sampled turn is before this position"):
        rollout.rewind(2)
    with pytest.raises(ValueError, match="turns must be a positive number of turns, not 0"):
        rollout.rewind(0)


def test_a_turn_before_a_refused_bridge_can_be_sampled_again(renderer: ChatRenderer) -> None:
    rollout, sampler = start(renderer, "A<|end|>", "<|think|>Open<|end|>", "B<|end|>", "C<|end|>")
    first = sample(rollout)
    rollout.add([user("And?")])
    second = sample(rollout)
    assert rollout.add([user("Well?")]).refusal is not None
    assert rollout.add([user("Please.")]).refusal is not None
    rollout.rewind()
    assert rollout.turns == (first,)
    assert sample(rollout).parsed.content == "B"
    assert sampler.requests[1][0] == sampler.requests[2][0]
    rollout.add([user("And?")])
    rollout.rewind(2)
    assert rollout.prompt_ids == sampler.requests[0][0]
    assert rollout.branches[0].turns == (first, second)


def test_a_branch_names_the_turn_that_it_continues(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A<|end|>", "<|think|>Open<|end|>", "B<|end|>")
    sample(rollout)
    rollout.add([user("And?")])
    second = sample(rollout)
    rollout.add([user("Well?")])
    sample(rollout)
    assert [branch.follows for branch in rollout.branches] == [None, second.number]


def test_a_harness_that_changes_nothing_keeps_the_tokens(renderer: ChatRenderer) -> None:
    rollout, sampler = start(renderer, CALL, "Blue.<|end|>")
    turn = sample(rollout)
    history = rollout.messages
    assert rollout.sync([*history, RESULT]) == Added(True)
    before = [*sampler.requests[0][0], *turn.token_ids]
    assert rollout.prompt_ids[: len(before)] == before
    sample(rollout)
    assert len(rollout.rows()) == 1


def test_a_harness_that_normalises_messages_keeps_the_tokens(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, CALL.replace("<|call|>", " Let me see. \n<|call|>"), "Blue.<|end|>")
    sample(rollout)
    call = {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": '{"query":"sky"}'}}
    history = [user("Hi"), {"role": "assistant", "content": "Let me see.", "tool_calls": [call], "refusal": None}]
    assert rollout.sync([*history, {**RESULT, "tool_call_id": "call_1"}]) == Added(True)
    sample(rollout)
    assert len(rollout.rows()) == 1


def test_a_harness_that_keeps_reasoning_and_calls_in_the_content_keeps_the_tokens(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, CALL, "<|think|>I know.<|/think|>Blue.<|end|>", "Yes.<|end|>", tools=TOOLS)
    turns, history = [sample(rollout)], [user("Hi"), {"role": "assistant", "content": CALL.removesuffix("<|end|>")}]
    for number, (new, text) in enumerate(
        [(RESULT, "<|think|>\nI know.\n<|/think|>\n\nBlue."), (user("Sure?"), "Yes.")]
    ):
        history.append(new)
        assert rollout.sync(history) == Added(True)
        assert rollout.messages[1]["tool_calls"][0]["function"]["name"] == "search"
        turns.append(sample(rollout))
        assert rollout.turns == tuple(turns[: number + 2])
        history.append({"role": "assistant", "content": text})
    assert rollout.sync(pickle.loads(pickle.dumps(history))) == Added(True)
    assert len(rollout.rows()) == 1


@pytest.mark.parametrize(
    "content",
    [
        "<|think|>Other.<|/think|>Blue.",
        "<|think|>I know.<|/think|>Red.",
        "<|think|>I know.Blue.",
        "<|think|>I know.<|/think|>Blue.<|end|>Edited.",
    ],
)
def test_a_harness_that_changes_reasoning_in_the_content_opens_a_branch(renderer: ChatRenderer, content: str) -> None:
    rollout, _ = start(renderer, "<|think|>I know.<|/think|>Blue.<|end|>")
    sample(rollout)
    conversation = [user("Hi"), {"role": "assistant", "content": content}, user("And?")]
    assert rollout.sync(conversation) == Added(False, edited=1)
    assert rollout.prompt_ids == renderer.render_ids(conversation, add_generation_prompt=True)


def test_a_lone_surrogate_after_reasoning_in_the_content_is_an_error_that_names_the_message(
    renderer: ChatRenderer,
) -> None:
    rollout, _ = start(renderer, "<|think|>I know.<|/think|>Blue.<|end|>")
    sample(rollout)
    with pytest.raises(UnencodableTextError, match="message 1: content"):
        rollout.sync([user("Hi"), {"role": "assistant", "content": "<|think|>I know.<|/think|>Blue.\ud800"}])


@pytest.mark.skipif(not HUB_AT_HAND, reason="no real models")
def test_a_rendered_history_has_the_fields_of_reasoning_in_the_content() -> None:
    unpack_hub()
    qwen = create_renderer(load_tokenizer("Qwen/Qwen3-8B"))
    rollout, sampler = Rollout(qwen, None, [user("Hi")]), ScriptedSampler(qwen, ())
    history: list[Any] = [user("Hi")]
    for number in range(3):
        text = f"<think>\nThought {number}.\n</think>\n\nAnswer {number}."
        rollout.record(sampler.complete(encode(qwen, f"{text}<|im_end|>")))
        history += [{"role": "assistant", "content": text}, user("And?")]
        added = rollout.sync(history)
        # The template drops earlier reasoning.
        assert added.refusal is not None
        assert (added.refusal.reason, added.edited) == (BridgeReason.HISTORY_REWRITTEN, None)
        assert rollout.prompt_ids == qwen.render_ids(history, add_generation_prompt=True)
        assert rollout.messages[1] == {"role": "assistant", "content": "Answer 0.", "reasoning_content": "Thought 0."}
    assert [branch.follows for branch in rollout.branches] == [None, 0, 1]


@pytest.mark.skipif(not HUB_AT_HAND, reason="no real models")
def test_a_harness_with_its_own_ids_of_calls_keeps_the_tokens_in_every_sync() -> None:
    unpack_hub()
    kimi = create_renderer(load_tokenizer("moonshotai/Kimi-K2-Instruct"))
    call = '<|tool_call_begin|>functions.search:{}<|tool_call_argument_begin|>{{"query": "sky"}}<|tool_call_end|>'
    section = "<|tool_calls_section_begin|>{}<|tool_calls_section_end|><|im_end|>"
    rollout, sampler = Rollout(kimi, None, [user("Hi")], tools=TOOLS), ScriptedSampler(kimi, ())
    history: list[dict[str, Any]] = [user("Hi")]
    for number in range(3):
        turn = rollout.record(sampler.complete(encode(kimi, section.format(call.format(number)))))
        [sampled] = turn.message["tool_calls"]
        assert sampled["id"] == f"functions.search:{number}"
        replayed = {"id": f"call_{number}", "type": "function", "function": sampled["function"]}
        history += [
            {"role": "assistant", "content": "", "tool_calls": [replayed]},
            {**RESULT, "tool_call_id": f"call_{number}"},
        ]
        assert rollout.sync(history) == Added(True)
        assert rollout.sync(history) == Added(True)
        assert rollout.messages[-1]["tool_call_id"] == f"functions.search:{number}"
    assert len(rollout.rows()) == 1
    history += [{"role": "assistant", "content": "Of the harness."}, user("And?")]
    added = rollout.sync(history)
    assert added.refusal is not None
    assert added.refusal.reason is BridgeReason.ASSISTANT_MESSAGE
    assert "call_0" not in kimi.tokenizer.decode(rollout.prompt_ids)
    rollout.record(sampler.complete(encode(kimi, "Blue.<|im_end|>")))
    assert rollout.sync([*history, {"role": "assistant", "content": "Blue."}, user("Well?")]) == Added(True)


@pytest.mark.parametrize(
    "changed",
    [
        {"role": "assistant", "content": "Something else."},
        {"role": "assistant", "content": "Blue.", "reasoning_content": "Other thoughts."},
        {"role": "assistant", "content": "Blue.", "tool_calls": [{"function": {"name": "search", "arguments": {}}}]},
    ],
)
def test_a_harness_that_changes_a_turn_opens_a_branch(renderer: ChatRenderer, changed: dict[str, Any]) -> None:
    rollout, _ = start(renderer, "Blue.<|end|>", "Red.<|end|>")
    sample(rollout)
    conversation = [user("Hi"), changed, user("And?")]
    assert rollout.sync(conversation) == Added(False, edited=1)
    assert rollout.prompt_ids == renderer.render_ids(conversation, add_generation_prompt=True)
    sample(rollout)
    assert len(rollout.branches) == 2


def test_a_harness_that_changes_a_result_opens_a_branch_after_the_last_equal_turn(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, CALL, "Blue.<|end|>", "Red.<|end|>")
    first = sample(rollout)
    rollout.add([RESULT])
    sample(rollout)
    history = [*rollout.messages[:2], {**RESULT, "content": "red"}]
    assert rollout.sync(history) == Added(True, edited=2)
    sample(rollout)
    assert [branch.turns[0] for branch in rollout.branches] == [first, first]
    assert [branch.shared_turns for branch in rollout.branches] == [0, 1]
    assert [len(row.turns) for row in rollout.rows()] == [2, 1]


def test_a_harness_can_return_to_an_abandoned_branch(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A<|end|>", "B<|end|>", "C<|end|>", "D<|end|>")
    sample(rollout)
    rollout.add([user("And?")])
    old = sample(rollout)
    history = rollout.messages
    rollout.sync([user("Another question")])
    sample(rollout)
    assert rollout.sync([*history, user("More?")]) == Added(True, edited=0)
    assert rollout.turns[-1] is old
    sample(rollout)
    assert [len(branch.turns) for branch in rollout.branches] == [1, 3]


def test_a_harness_can_end_with_the_last_turn(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A<|end|>")
    turn = sample(rollout)
    assert rollout.sync(rollout.messages) == Added(True)
    assert rollout.turns == (turn,)


def test_a_fork_does_not_recognise_turns_of_other_forks(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A<|end|>", "B<|end|>")
    first, second = rollout.fork(2)
    sample(first)
    sample(second)
    assert second.sync([user("Hi"), {"role": "assistant", "content": "A"}, user("And?")]) == Added(False, edited=1)


def test_a_fork_does_not_recognise_turns_that_its_parent_sampled_later(renderer: ChatRenderer, tmp_path: Any) -> None:
    rollout, _ = start(renderer, "A<|end|>", "B<|end|>", "C<|end|>")
    abandoned = sample(rollout)
    rollout.rewind()
    [fork] = rollout.fork(1)
    [child] = fork.fork(1)
    sample(rollout)
    sample(fork)
    rollout.save(tmp_path / "rollout.jsonl")
    loaded = Rollout.load(tmp_path / "rollout.jsonl", renderer)
    for each in (rollout, loaded):
        own, its_child = each.forks[0], each.forks[0].forks[0]
        histories = {text: [user("Hi"), {"role": "assistant", "content": text}, user("And?")] for text in "ABC"}
        assert [own.sync(histories[text]).is_bridged for text in "ABC"] == [True, False, True]
        assert [its_child.sync(histories[text]).is_bridged for text in "ABC"] == [True, False, False]
        its_child.sync(histories["A"])
        assert [turn.number for turn in its_child.turns] == [abandoned.number]
    assert child is rollout.forks[0].forks[0]


def test_a_stopped_rollout_stays_stopped_until_the_harness_drops_the_turn(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A long", "B<|end|>", on_length="stop")
    sample(rollout)
    rollout.sync([*rollout.messages, user("Go on.")])
    assert asyncio.run(rollout.generate()) is None
    rollout.sync([user("Hi")])
    assert sample(rollout).parsed.content == "B"


# ==================
# Storage
# ==================


def test_a_rollout_is_pickled_without_its_client(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, CALL, "Blue.<|end|>", "Red.<|end|>", max_total_tokens=500)
    sample(rollout)
    rollout.add([RESULT])
    for fork in rollout.fork(2):
        sample(fork)
    restored = pickle.loads(pickle.dumps(rollout))
    assert restored.rows() == rollout.rows()
    assert restored.branches == rollout.branches
    with pytest.raises(RolloutError, match="has no client"):
        sample(restored)
    restored.client = ScriptedSampler(renderer, ["Green.<|end|>"])
    assert sample(restored).parsed.content == "Green."
    assert len(restored.rows()) == len(rollout.rows()) + 1


def test_the_model_of_a_rollout_is_kept(renderer: ChatRenderer, tmp_path: Any) -> None:
    def posts(rollout: Rollout) -> list[Any]:
        server = PostingClient(encode(renderer, "A<|end|>"))
        rollout.client = server
        sample(rollout)
        return [body.get("model") for body in server.bodies]

    rollout = Rollout(renderer, None, [user("Hi")], model="adapter")
    rollout.save(tmp_path / "rollout.jsonl")
    copied, pickled = copy.deepcopy(rollout), pickle.loads(pickle.dumps(rollout))
    [fork] = rollout.fork(1)
    for each in (rollout, fork, copied, pickled, Rollout.load(tmp_path / "rollout.jsonl", renderer)):
        assert each.model == "adapter"
        assert posts(each) == ["adapter"]
    with pytest.raises(ValueError, match="model='adapter' is for AsyncOpenAI clients"):
        Rollout(renderer, ScriptedSampler(renderer, []), [user("Hi")], model="adapter")
    with pytest.raises(RolloutError, match="model='adapter' is for AsyncOpenAI clients"):
        Rollout.load(tmp_path / "rollout.jsonl", renderer, ScriptedSampler(renderer, []))
    loaded = Rollout.load(tmp_path / "rollout.jsonl", renderer)
    with pytest.raises(ValueError, match="set the model of the rollout to None"):
        loaded.client = ScriptedSampler(renderer, [])
    loaded.model = None
    loaded.client = ScriptedSampler(renderer, ["B<|end|>"])
    with pytest.raises(ValueError, match="model='other' is for AsyncOpenAI clients"):
        loaded.model = "other"
    assert sample(loaded).parsed.content == "B"


@pytest.mark.parametrize("experts", [{"data": memoryview(b"AQI="), "shape": [2, 1, 1]}, [[[1]], [[2]]], "AQI="])
def test_a_rollout_with_routed_experts_is_stored(renderer: ChatRenderer, experts: Any, tmp_path: Any) -> None:
    rollout, _ = start(renderer, completion(routed_experts=experts))
    kept = sample(rollout).completion.routed_experts
    assert kept == ({"data": "AQI=", "shape": [2, 1, 1]} if isinstance(experts, dict) else experts)
    rollout.save(tmp_path / "rollout.jsonl")
    for each in (
        pickle.loads(pickle.dumps(rollout)),
        copy.deepcopy(rollout),
        Rollout.load(tmp_path / "rollout.jsonl"),
    ):
        assert each.turns[0].completion.routed_experts == kept


def test_a_copy_shares_nothing_with_the_rollout(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A<|end|>")
    sample(rollout)
    with pytest.raises(TypeError, match=r"cannot be copied with copy\.copy\. Use copy\.deepcopy, or fork"):
        copy.copy(rollout)
    copied = copy.deepcopy(rollout)
    copied.add([user("And?")])
    copied.record(completion())
    assert (len(rollout.turns), len(rollout._trajectory.turns)) == (1, 1)


def test_a_client_is_set_for_the_forks_without_one(renderer: ChatRenderer) -> None:
    rollout, sampler = start(renderer, "A<|end|>", "B<|end|>")
    other = ScriptedSampler(renderer, ["C<|end|>"])
    rollout.fork(2)
    restored = pickle.loads(pickle.dumps(rollout))
    restored.forks[1].client = other
    restored.client = sampler
    assert [restored.client, *(fork.client for fork in restored.forks)] == [sampler, sampler, other]
    sample(restored.forks[0])


def test_a_rollout_with_a_pool_can_be_copied_and_saved_but_not_pickled(renderer: ChatRenderer, tmp_path: Any) -> None:
    pool = create_renderer_pool(EXAMPLE_MODEL, size=2)
    rollout = Rollout(pool, ScriptedSampler(renderer, ["A<|end|>"]), [user("Hi")])
    sample(rollout)
    with pytest.raises(TypeError, match=r"a RendererPool cannot be pickled\..* set the renderer of a rollout to None"):
        pickle.dumps(rollout)
    copied = copy.deepcopy(rollout)
    assert copied.renderer is pool
    assert copied.add([user("And?")]).is_bridged
    rollout.save(tmp_path / "rollout.jsonl")
    rollout.renderer = None
    assert pickle.loads(pickle.dumps(rollout)).rows() == Rollout.load(tmp_path / "rollout.jsonl").rows()


def test_a_rollout_of_many_turns_is_pickled(renderer: ChatRenderer) -> None:
    rollout = Rollout(renderer, None, [user("Hi")])
    sampler = ScriptedSampler(renderer, ())
    for _ in range(600):
        rollout.record(sampler.complete(encode(renderer, "A<|end|>")))
        rollout.add([user("And?")])
    assert pickle.loads(pickle.dumps(rollout)).rows() == rollout.rows()


def test_a_rollout_goes_on_after_loading(renderer: ChatRenderer, tmp_path: Any) -> None:
    rollout, _ = start(renderer, CALL, "Blue.<|end|>", tools=TOOLS)
    sample(rollout)
    rollout.add([RESULT])
    rollout.save(tmp_path / "rollout.jsonl")
    loaded = Rollout.load(tmp_path / "rollout.jsonl", renderer, ScriptedSampler(renderer, ["Blue.<|end|>"]))
    assert loaded.prompt_ids == rollout.prompt_ids
    assert sample(loaded).parsed == sample(rollout).parsed
    assert loaded.messages == rollout.messages


def test_a_rollout_is_read_without_a_renderer(renderer: ChatRenderer, tmp_path: Any) -> None:
    rollout, _ = start(renderer, CALL, "<|think|>Open<|end|>", "Red.<|end|>")
    sample(rollout)
    rollout.add([RESULT])
    sample(rollout)
    rollout.add([user("And?")])
    rollout.reward, rollout.extras = 0.25, {"task": "sky"}
    for fork in rollout.fork(1):
        sample(fork)
    rollout.save(tmp_path / "rollout.jsonl")
    loaded = Rollout.load(tmp_path / "rollout.jsonl")
    assert loaded.rows() == rollout.rows()
    assert loaded.rows()[0].reward == 0.25
    assert loaded.branches == rollout.branches
    assert loaded.messages == rollout.messages
    with pytest.raises(RolloutError, match="has no renderer"):
        loaded.add([user("More")])


def test_a_rollout_is_not_loaded_with_the_renderer_of_another_model(renderer: ChatRenderer, tmp_path: Any) -> None:
    rollout, _ = start(renderer, "A<|end|>")
    rollout.save(tmp_path / "rollout.jsonl")
    other = ProtocolRenderer(renderer)
    other.get_stop_token_ids = lambda: [1, 2]  # type: ignore[method-assign]
    with pytest.raises(RolloutError, match=r"has the stop tokens \(1, 2\), and the rollout was sampled with"):
        Rollout.load(tmp_path / "rollout.jsonl", other)


def test_a_rollout_shows_its_state(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A<|end|>")
    sample(rollout)
    assert repr(rollout) == "Rollout(<1 turns>, <0 forks>, stop_reason=None)"


def test_a_second_rewind_says_that_no_turn_is_left(renderer: ChatRenderer) -> None:
    rollout, _ = start(renderer, "A<|end|>")
    sample(rollout)
    rollout.rewind()
    with pytest.raises(ValueError, match="turns is 1, and no sampled turns are before this position"):
        rollout.rewind()


@pytest.mark.parametrize("params", [{"max_tokens": "5"}, {"max_tokens": -5}, {"stop_token_ids": "xy"}, ["x"], 5])
def test_an_invalid_sampling_parameter_of_a_turn_is_an_error(renderer: ChatRenderer, params: Any) -> None:
    rollout, sampler = start(renderer, "A<|end|>", max_total_tokens=100)
    with pytest.raises((TypeError, ValueError), match=r"sampling_params.* must be"):
        asyncio.run(rollout.generate(sampling_params=params))
    assert sampler.requests == []
    assert sample(rollout).parsed.content == "A"


@pytest.mark.parametrize("reason", ["stop", "length", "abort", "repetition", None])
def test_a_completion_without_ids_is_a_turn_of_no_tokens(renderer: ChatRenderer, reason: str | None) -> None:
    rollout = Rollout(renderer, None, [user("Hi")])
    turn = rollout.record(Completion(token_ids=[], logprobs=[], finish_reason=reason))
    assert (turn.token_ids, turn.parsed.content, turn.completion.finish_reason) == ([], "", reason)
    assert rollout.add([user("And?")]).is_bridged
