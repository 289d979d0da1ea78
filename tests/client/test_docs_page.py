"""The examples of the page on the client run against a server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from renderers import EXAMPLE_MODEL
from tests.client.test_generate import encode
from tests.support.scripted_server import Reply, ScriptedServer, serve

PAGE = Path(__file__).parents[2] / "docs" / "client.md"
EXAMPLES = re.findall(r"```py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs_against_a_server(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    reply = Reply(encode("It is 4.<|end|>"))
    with serve(ScriptedServer(lambda body: reply)) as server:
        code = code.replace("http://localhost:8000", server.base_url)
        code = code.replace('create_renderer("Qwen/Qwen3-8B")', f"create_renderer({str(EXAMPLE_MODEL)!r})")
        exec(compile(code, "example", "exec"), {"__name__": "__main__"})
    assert server.samples
    assert capsys.readouterr().out


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) >= 5
