"""The examples of the pages on the client and on rollouts run against a server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL
from tests.client.test_generate import RENDERER, encode
from tests.support.scripted_server import Reply, ScriptedServer, serve

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": 1, "docs/client.md": 5, "docs/rollouts.md": 2}
"""The pages, and the least number of examples of each."""
CALL = '<|call|>{"name": "weather", "arguments": {"city": "Rome"}}<|/call|><|end|>'


def examples_of(page: str) -> list[str]:
    return re.findall(r"```py\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def answer(body: Any) -> Reply:
    """Return a call if there is a tool without a result, else an answer."""
    prompt = RENDERER.tokenizer.decode(body["token_ids"])
    return Reply(encode(CALL if '"weather"' in prompt and "It rains" not in prompt else "It is 4.<|end|>"))


@pytest.mark.parametrize("code", [pytest.param(code, id=page) for page in PAGES for code in examples_of(page)])
def test_an_example_runs_against_a_server(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    with serve(ScriptedServer(answer)) as server:
        code = code.replace("http://localhost:8000", server.base_url)
        code = code.replace('"Qwen/Qwen3-8B"', repr(str(EXAMPLE_MODEL)), 1)
        exec(compile(code, "example", "exec"), {"__name__": "__main__"})
    assert len(server.samples) >= 1 + code.count("rollout.add(results)") + code.count("rollout.add([")
    assert capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_examples(page: str) -> None:
    assert len(examples_of(page)) >= PAGES[page]
