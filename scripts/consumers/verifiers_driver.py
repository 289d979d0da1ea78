"""Run rollouts of verifiers against a scripted token endpoint, and check the tokens of its trace.

    python scripts/consumers/verifiers_driver.py --wire vllm-0.32 [--retention all] [--rollouts 32]

This file runs in an environment with verifiers and the package under test. It uses verifiers as a trainer does: the
client for training, and the graph of messages that becomes training samples. A rollout has three turns: a tool call, an
answer to the result, and an answer to another message. The endpoint returns tokens that are not those of their text, so
that a client that encodes the text again fails. Print a line of JSON: the lengths of prompts, completions and nodes,
the turns that were bridged, and the number of branches.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tests.support.scripted_server import Reply, ScriptedServer, serve

MODEL = "Qwen/Qwen3-8B"
STOP_IDS = [151645, 151643]
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
START = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}]
RESULT = {"role": "tool", "tool_call_id": "call_0", "content": "18 C, sunny"}
THANKS = {"role": "user", "content": "Thanks!"}
# Each piece is encoded on its own, which splits words that the tokenizer would join.
COMPLETIONS = (
    (
        "<think>Look",
        " it up.</think>\n\n",
        '<tool_call>\n{"name": "get_wea',
        'ther", "arguments": {"city": "Oslo"}}\n</tool_call><|im_end|>',
    ),
    ("<think>Ok.</think>\n\nIt is sun", "ny in Oslo.<|im_end|>"),
    ("<think>Done.</think>\n\nYou are very wel", "come.<|im_end|>"),
)
MESSAGES = (("Look it up.", None), ("Ok.", "It is sunny in Oslo."), ("Done.", "You are very welcome."))
"""The reasoning and the content of each turn."""


def encode_completions(tokenizer: Any) -> list[list[int]]:
    """Return the ids of the completions. They are not the ids of their texts."""
    encoded = []
    for pieces in COMPLETIONS:
        ids = [token for piece in pieces for token in tokenizer.encode(piece, add_special_tokens=False)]
        assert ids != tokenizer.encode("".join(pieces), add_special_tokens=False)
        encoded.append(ids)
    return encoded


async def run_rollout(client: Any) -> tuple[Any, list[bool]]:
    """Run three turns. Return the trace, and whether each turn was bridged."""
    api = import_module("verifiers.v1")
    graph = import_module("verifiers.v1.graph")
    chat = import_module("verifiers.v1.dialects.chat")
    sampling = import_module("verifiers.v1.clients.train").SamplingConfig(temperature=1.0)
    data = import_module("verifiers.v1.task").TaskData(idx=0, prompt="Weather in Oslo?")
    agent = api.AgentInfo(config=api.AgentConfig())
    trace = api.Trace(agent=agent, task=api.TraceTask(type="Task", data=data))
    dialect = chat.ChatDialect()
    messages: list[Any] = list(START)
    bridged: list[bool] = []
    for following in (RESULT, THANKS, None):
        body = {"model": MODEL, "messages": messages, "tools": [TOOL]}
        request = dialect.parse_request(body)
        turn = graph.prepare_turn(trace, request.messages, request.tools)
        response = await client.get_response(dialect, body, sampling, session_id=trace.id, turn=turn)
        check_response(response, len(bridged))
        bridged.append(bool(response.tokens.bridged))
        turn.commit(response)
        messages = [*messages, chat.message_to_wire(response.message), following]
    return trace, bridged


def check_response(response: Any, turn: int) -> None:
    """Check the parsed message of a turn."""
    message = response.message
    equal("reasoning and content", (message.reasoning_content, message.content or None), MESSAGES[turn])
    calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls or []]
    equal("calls", calls, [("get_weather", {"city": "Oslo"})] if turn == 0 else [])
    equal("finish reason", response.finish_reason, "tool_calls" if turn == 0 else "stop")


def check_trace(trace: Any, requests: Sequence[Any], completions: Sequence[list[int]], tokenizer: Any) -> None:
    """Check that each sampled node follows the tokens that the endpoint received, and holds those that it sent."""
    sampled = [index for index, node in enumerate(trace.nodes) if node.sampled]
    for index, request, completion in zip(sampled, requests, completions, strict=True):
        node = trace.nodes[index]
        equal("tokens of the path", path_ids(trace, index), request["token_ids"] + completion)
        unsampled = len(node.token_ids) - len(completion)
        equal("mask", [bool(flag) for flag in node.mask], [False] * unsampled + [True] * len(completion))
        equal("logprobs", [float(value) for value in node.logprobs], Reply(completion).logprob_list())
        parameters = request["sampling_params"]
        equal("stop ids", parameters["stop_token_ids"], STOP_IDS)
        equal("logprobs parameter", parameters["logprobs"], 1)
        equal("special tokens parameter", parameters["skip_special_tokens"], False)
    options = {"tools": [TOOL], "add_generation_prompt": True, "return_dict": False}
    equal("first prompt", requests[0]["token_ids"], list(tokenizer.apply_chat_template(START, **options)))
    for node in trace.nodes:
        if node.message.role != "assistant":
            flags = [bool(flag) for flag in node.is_content]
            content = tokenizer.decode([int(token) for token in itertools.compress(node.token_ids, flags)])
            # The last token of a content can contain the newlines that follow it.
            equal("content tokens", content.rstrip(), node.message.content)


def path_ids(trace: Any, index: int | None) -> list[int]:
    """Return the tokens from the root to a node."""
    ids: list[int] = []
    while index is not None:
        ids = [*map(int, trace.nodes[index].token_ids), *ids]
        index = trace.nodes[index].parent
    return ids


def equal(name: str, found: object, expected: object) -> None:
    """Fail with both values if they differ."""
    if found != expected:
        raise AssertionError(f"{name}: {found!r} is not {expected!r}")


async def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run all rollouts at once. Return their summary, which must be the same for all."""
    tokenizer = import_module("transformers").AutoTokenizer.from_pretrained(MODEL)
    completions = encode_completions(tokenizer)
    header = tokenizer.encode("<|im_start|>assistant", add_special_tokens=False)

    def next_turn(body: Any) -> Reply:
        ids = body["token_ids"]
        turns = sum(ids[start : start + 2] == header for start in range(len(ids)))
        return Reply(completions[turns - 1])

    train = import_module("verifiers.v1.clients.train")
    config_class = import_module("verifiers.v1.configs.client").TrainClientConfig
    renderer = {"name": "qwen3", "thinking_retention": options.retention} if options.retention else None
    with serve(ScriptedServer(next_turn, formats=[options.wire], model=MODEL)) as server:
        config = {"base_url": f"{server.base_url}/v1", "api_key_var": "NO_KEY", "renderer": renderer}
        client = train.TrainClient(config_class.model_validate({"type": "train", **config}))
        results = await asyncio.gather(*(run_rollout(client) for _ in range(options.rollouts)))
    sessions: dict[str, list[Any]] = {trace.id: [] for trace, _ in results}
    for received in server.requests:
        if received.method == "POST":
            sessions[received.headers["x-session-id"]].append(received.body)
    summaries = []
    for trace, bridged in results:
        check_trace(trace, sessions[trace.id], completions, tokenizer)
        summary = {
            "prompts": [len(request["token_ids"]) for request in sessions[trace.id]],
            "completions": [len(completion) for completion in completions],
            "bridged": bridged,
            "branches": len(trace.branches),
            "nodes": [len(node.token_ids) for node in trace.nodes],
        }
        summaries.append(summary)
        equal("summary of a rollout", summary, summaries[0])
    if options.rollouts == 1:
        equal("lookups of the context length", sum(received.method == "GET" for received in server.requests), 1)
    return summaries[0]


def main() -> None:
    """Print the summary."""
    parser = argparse.ArgumentParser(description="Run rollouts of verifiers against a scripted endpoint.")
    parser.add_argument("--wire", required=True)
    parser.add_argument("--retention")
    parser.add_argument("--rollouts", type=int, default=1)
    print(json.dumps(asyncio.run(run(parser.parse_args()))))


if __name__ == "__main__":
    main()
