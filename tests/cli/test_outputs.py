"""JSON output is valid for any encoding of the terminal, and has one field per line."""

from __future__ import annotations

import io
import json
import sys

import pytest

from renderers.cli.outputs import to_json

FIELDS = {"ids": [1, 2], "text": "é☀️\n", "lone": "\ud800", "none": None, "object": {"a": [True]}}


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1", "cp1252"])
def test_the_output_is_json_in_any_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding=encoding, errors="backslashreplace"))
    sys.stdout.write(to_json(FIELDS))
    sys.stdout.flush()
    assert json.loads(written.getvalue().decode(encoding)) == FIELDS


def test_a_field_has_a_line_of_its_own() -> None:
    lines = to_json(FIELDS).splitlines()
    assert len(lines) == len(FIELDS) + 2
    assert lines[1] == '  "ids": [1, 2],'
