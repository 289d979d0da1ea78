"""The programs in `examples/` run as their docstrings show."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples import grpo_rollouts
from renderers import EXAMPLE_MODEL, Renderer, build_training_samples, create_renderer
from renderers.configs import CustomRendererConfig
from tests.support.scripted_server import Reply, ScriptedServer, serve

EXAMPLES = Path(__file__).parent.parent / "examples"
GOOD: list[dict[str, Any]] = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello!", "reasoning_content": "Greet."},
]


def run(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, EXAMPLES / name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_the_custom_renderer_renders_parses_and_bridges() -> None:
    assert run("custom_renderer.py").stdout.splitlines() == [
        "parsed: Hello!",
        "bridged: user:",
        "Hi<|end|>bot:",
        "Hello!<|end|>user:",
        "Bye<|end|>bot:",
        "",
        "trained: Hello!<|end|>",
    ]


def test_the_custom_renderer_implements_the_protocol() -> None:
    config = CustomRendererConfig(import_path=f"{EXAMPLES / 'custom_renderer.py'}:TranscriptRenderer")
    renderer = create_renderer(EXAMPLE_MODEL, config)
    assert isinstance(renderer, Renderer)
    prompt = renderer.render_ids(GOOD[:1], add_generation_prompt=True)
    completion = renderer.tokenizer.encode("Hello!", add_special_tokens=False)
    bridged = renderer.bridge_to_next_turn(prompt, completion, GOOD[:1])
    assert bridged is not None
    conversation = [*GOOD[:1], {"role": "assistant", "content": "Hello!"}, *GOOD[:1]]
    assert bridged.token_ids == renderer.render_ids(conversation, add_generation_prompt=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_sample_builder_writes_rows_and_reports_bad_lines(workers: int, tmp_path: Path) -> None:
    source, target = tmp_path / "chats.jsonl", tmp_path / "rows.jsonl"
    bad = [{"role": "user", "content": 5}]
    lines = [json.dumps({"messages": GOOD}), "not JSON", "", json.dumps({"messages": bad}), json.dumps({})]
    source.write_text("\n".join(lines))
    done = run("sft_samples.py", EXAMPLE_MODEL, source, target, "--workers", str(workers))
    (expected,) = build_training_samples(create_renderer(EXAMPLE_MODEL), GOOD, ensure_final_stop=True)
    assert [json.loads(line) for line in target.read_text().splitlines()] == [
        {"input_ids": expected.token_ids, "labels": expected.labels()}
    ]
    assert done.stdout.startswith("4 conversations, 3 failed: 1 rows, ")
    assert "line 2: JSONDecodeError" in done.stderr
    assert "line 4: MessageError: message 0: content must be" in done.stderr
    assert "line 5: KeyError: 'messages'" in done.stderr


def test_the_grpo_rollouts_write_rows_with_advantages(tmp_path: Path) -> None:
    pytest.importorskip("httpx")
    renderer = create_renderer(EXAMPLE_MODEL)
    [task] = grpo_rollouts.make_tasks(1)
    first, second = re.findall(r"\d+", task.question)
    call = f'<|call|>{{"name": "multiply", "arguments": {{"a": {first}, "b": {second}}}}}<|/call|><|end|>'

    def answer(body: Any) -> Reply:
        """Call the tool first, then give the right answer or, every second time, a wrong one."""
        text = renderer.tokenizer.decode(body["token_ids"])
        has_result = str(task.answer) in text
        sampled = call if not has_result else next(answers)
        return Reply(renderer.tokenizer.encode(sampled, add_special_tokens=False))

    answers = itertools.cycle([f"It is {task.answer:,}.<|end|>", "I do not know.<|end|>"])
    target = tmp_path / "rows.jsonl"
    with serve(ScriptedServer(answer)) as server:
        options = ("--base-url", server.base_url, "--tasks", "1", "--group", "4")
        done = run("grpo_rollouts.py", EXAMPLE_MODEL, target, *options)
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert sorted(row["reward"] for row in rows) == [0.0, 0.0, 1.0, 1.0]
    for row in rows:
        assert len(row["input_ids"]) == len(row["labels"]) == len(row["logprobs"]) == len(row["advantages"])
        trained = [value for value, label in zip(row["advantages"], row["labels"], strict=True) if label != -100]
        assert {round(value, 3) for value in trained} == {1.0 if row["reward"] else -1.0}
    assert done.stdout.startswith("4 rows, ")
    assert done.stdout.endswith("mean reward 0.50\n")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 6, "b": 7}', "42"),
        ('{"a": 6}', "Error: multiply() missing 1 required positional argument: 'b'"),
        ('{"a": ', "Error: the call is not valid: invalid_json"),
    ],
)
def test_the_grpo_rollouts_report_calls_that_fail(arguments: str, expected: str) -> None:
    renderer = create_renderer(EXAMPLE_MODEL)
    text = f'<|call|>{{"name": "multiply", "arguments": {arguments}}}<|/call|><|end|>'
    parsed = renderer.parse_response(renderer.tokenizer.encode(text, add_special_tokens=False))
    assert [message["content"] for message in grpo_rollouts.run_tools(parsed)] == [expected]


def test_equal_rewards_have_no_advantage() -> None:
    assert grpo_rollouts.advantages_of([1.0, 1.0]) == [0.0, 0.0]
