"""The programs in `examples/` run as their docstrings show."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, Renderer, build_training_samples, create_renderer
from renderers.configs import CustomRendererConfig

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
