"""Benchmark of template runs: microseconds per message, against Jinja as transformers configures it.

    python -m benchmarks.template_run [--other DIRECTORY] [--rounds 5]

`text` is a run without owners, `owners` a run with the owner of every character, and `compile` the milliseconds to
compile a template. `--other` adds the package in another source directory, such as an earlier release. Each round
starts new processes that take turns, and the fastest round counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.chats import TOOLS, agentic_chat, short_chat

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = Path(os.environ.get("SHARED", "../shared")) / "hub" / "templates"
NAMES = "qwen3 glm-4.5 llama-3.2 gpt-oss deepseek-v3.1 minimax-m2 gemma-4 nemotron-3-nano mistral-small-3.2".split()
TOKENS: dict[str, Any] = {"bos_token": "<s>", "eos_token": "</s>"}
SECONDS = 0.05
"""The time of one measurement."""


def workloads() -> dict[str, list[dict[str, Any]]]:
    """Return short chats of 6 messages, and an agentic chat of 80 messages with 10 tools."""
    tools = [
        {**tool, "function": {**tool["function"], "name": f"{tool['function']['name']}_{number}"}}
        for number in range(10)
        for tool in TOOLS[number % len(TOOLS) : number % len(TOOLS) + 1]
    ]
    short = [
        {"messages": [message for message in short_chat(f"{seed}")["messages"] if message["role"] != "tool"]}
        for seed in range(8)
    ]
    for chat in short:
        for message in chat["messages"]:
            message.pop("tool_calls", None)
        questions = [{"role": "user", "content": "And then?"}, {"role": "assistant", "content": "That is all."}]
        chat["messages"] = [*[m for m in chat["messages"] if m["content"]][:2], questions[1], *questions, questions[0]]
    chat = agentic_chat("agentic", turns=40)
    return {"short": short, "agentic": [{"messages": chat["messages"][:80], "tools": tools}]}


def measure(function: Callable[[], object]) -> float:
    """Return the seconds of one call, averaged over many."""
    function()
    calls, started = 0, time.thread_time()
    while (taken := time.thread_time() - started) < SECONDS:
        function()
        calls += 1
    return taken / calls


def work(engine: str) -> dict[str, float]:
    """Measure an engine on all templates and workloads."""
    found: dict[str, float] = {}
    # Imports do not count.
    runner(engine, "")
    for name in NAMES:
        source = (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")
        started = time.thread_time()
        run = runner(engine, source)
        found[f"{name} compile"] = 1e3 * (time.thread_time() - started)
        for kind, chats in workloads().items():
            messages = sum(len(chat["messages"]) for chat in chats)
            try:
                seconds = measure(lambda: [run(chat) for chat in chats])  # noqa: B023
            except Exception as error:
                print(f"{name} {kind}: {error}", file=sys.stderr)
                continue
            found[f"{name} {kind}"] = 1e6 * seconds / messages
    return found


def runner(engine: str, source: str) -> Callable[[dict[str, Any]], object]:
    """Return the function that renders a chat."""
    if engine == "jinja":
        from transformers.utils.chat_template_utils import _compile_jinja_template

        compiled = _compile_jinja_template(source)
        return lambda chat: compiled.render(**{"tools": None, **chat, **TOKENS}, add_generation_prompt=True)
    from renderers.templating import ChatTemplate

    template = ChatTemplate(source, verify=False)
    if engine == "text":
        return lambda chat: template.run(**chat, **TOKENS, add_generation_prompt=True).text
    return lambda chat: template.run(**chat, **TOKENS, add_generation_prompt=True).spans


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark template runs.")
    parser.add_argument("--other", type=Path, help="a source directory with another version of the package")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", choices=("jinja", "text", "owners"))
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(work(options.worker)))
        return
    own = ROOT / "src"
    contestants = {"jinja": ("jinja", own), "text": ("text", own), "owners": ("owners", own)}
    if options.other:
        contestants["other"] = ("owners", options.other)
    best: dict[str, dict[str, float]] = {name: {} for name in contestants}
    for _ in range(options.rounds):
        for name, (engine, directory) in contestants.items():
            command = [sys.executable, "-W", "ignore", "-m", "benchmarks.template_run", "--worker", engine]
            environment = {**os.environ, "PYTHONPATH": str(directory)}
            output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment)
            for key, value in json.loads(output.stdout.splitlines()[-1]).items():
                best[name][key] = min(value, best[name].get(key, value))
    print(f"{'':28}" + "".join(f"{name:>9}" for name in contestants))
    for key in best["jinja"]:
        print(f"{key:28}" + "".join(f"{best[name].get(key, float('nan')):9.1f}" for name in contestants))


if __name__ == "__main__":
    main()
