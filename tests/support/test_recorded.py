"""Recorded exchanges are read as they were written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import recorded
from tests.support.recorded import RECORDED, Exchange, read_exchanges, write_exchanges


def exchange(name: str, *, content_type: str, body: str) -> Exchange:
    return Exchange(
        name=name, method="POST", path="/x", request={"ids": [1, 2]}, status=200, content_type=content_type, body=body
    )


EXCHANGES = [
    exchange("plain", content_type="application/json", body='{"ids":[1,2],"text":"é"}'),
    exchange("stream", content_type="text/event-stream; charset=utf-8", body='data: {"ids":[1]}\n\ndata: [DONE]\n\n'),
    exchange("empty", content_type="", body=""),
]


def test_exchanges_are_read_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "RECORDED", tmp_path)
    write_exchanges("engine-1", EXCHANGES)
    assert list(read_exchanges("engine-1").values()) == EXCHANGES
    assert '"ids":[1,2]' in (tmp_path / "engine-1.json").read_text(encoding="utf-8")


def test_a_stream_has_events() -> None:
    assert EXCHANGES[1].events == [{"ids": [1]}, "[DONE]"]


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda path: path.stem)
def test_recordings_contain_no_path_of_the_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert json.loads(text)
    assert str(recorded.RECORDED.parents[2]) not in text
