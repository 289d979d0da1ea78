"""Tests of `renderers.rollout.files`."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from renderers import EXAMPLE_MODEL, Completion, create_renderer
from renderers.errors import RolloutError, RolloutFileError
from renderers.rollout import Rollout, load_rollouts
from renderers.rollout.files import write_records
from tests.support.conversations import user
from tests.support.scripted_sampler import ScriptedSampler, encode


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the line of a rollout."""
    renderer = create_renderer(EXAMPLE_MODEL)
    rollout = Rollout(renderer, None, [user("Größe? 🙂\u2028")])
    rollout.record(ScriptedSampler(renderer, ()).complete(encode(renderer, "A<|end|>")))
    path = tmp_path_factory.mktemp("rollout") / "rollout.jsonl"
    rollout.save(path)
    return path.read_text(encoding="utf-8")


def test_a_rollout_is_one_line_of_json(line: str) -> None:
    assert line.count("\n") == 1
    assert line.endswith("\n")
    assert json.loads(line)["format"] == "renderers.rollout"


def test_a_file_that_is_cut_off_is_an_error_at_every_place(line: str, tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    data = (line + line).encode()
    for size in range(len(data) // 2 + 1, len(data) - 1, 97):
        path.write_bytes(data[:size])
        with pytest.raises(RolloutFileError, match=r"cut\.jsonl"):
            load_rollouts(path)


def test_the_error_of_a_cut_file_names_the_line_and_the_remedy(line: str, tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text(line + line[:200], encoding="utf-8")
    with pytest.raises(RolloutFileError, match=r"cut.jsonl, line 2 is not JSON: .*\. The file was cut off: save"):
        load_rollouts(path)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b'{"messages": []}\n', r"line 1 is not a rollout\. Pass a file that"),
        (b"[1, 2]\n", "line 1 is not a rollout"),
        (b"\n", "line 1 is not JSON"),
        (b"role: user\n", "line 1 is not JSON"),
        (b"PAR1\x00\xff\xfe", "is not a file of rollouts|is not JSON"),
        (b'{"format": "renderers.rollout", "version": 99}\n', "has version 99 of the format, .* reads version 1"),
        (b'{"format": "renderers.rollout", "version": 1}\n', "line 1 is damaged: options is missing"),
    ],
)
def test_another_file_is_an_error(content: bytes, text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_bytes(content)
    with pytest.raises(RolloutFileError, match=text):
        load_rollouts(path)


def damaged(line: str, *path: Any) -> str:
    """Return a line with a value of another type at a path."""
    record = json.loads(line)
    place = record
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = None if not isinstance(place[path[-1]], dict | type(None)) else 3
    return json.dumps(record) + "\n"


@pytest.mark.parametrize(
    "path",
    [
        ("prompts",),
        ("turns",),
        ("rollouts",),
        ("options", "stop_token_ids"),
        ("turns", 0, "completion"),
        ("turns", 0, "prompt"),
        ("turns", 0, "parsed"),
        ("turns", 0, "parsed", "state"),
        ("rollouts", 0, "position"),
        ("rollouts", 0, "lineage"),
        ("prompts", 0, "messages"),
    ],
)
def test_damaged_values_are_an_error(line: str, path: tuple[Any, ...], tmp_path: Path) -> None:
    file = tmp_path / "damaged.jsonl"
    file.write_text(damaged(line, *path))
    with pytest.raises(RolloutFileError, match="line 1 is damaged"):
        load_rollouts(file)


def test_a_line_without_rollouts_is_damaged(line: str, tmp_path: Path) -> None:
    file = tmp_path / "damaged.jsonl"
    file.write_text(json.dumps({**json.loads(line), "rollouts": []}) + "\n")
    with pytest.raises(RolloutFileError, match="line 1 is damaged"):
        load_rollouts(file)


def test_a_file_stays_as_it_was_if_writing_fails(line: str, tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(TypeError):
        write_records(path, [{"a": 1}, {"a": object()}])
    assert path.read_text(encoding="utf-8") == line
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_files_of_several_writers_are_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"

    def records() -> Iterator[dict[str, Any]]:
        yield {"a": 1}
        write_records(path, [{"b": 1}])
        yield {"a": 2}

    write_records(path, records())
    assert path.read_text(encoding="utf-8") == '{"a":1}\n{"a":2}\n'
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_an_empty_file_has_no_rollouts(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    assert load_rollouts(tmp_path / "empty.jsonl") == []


def test_logprobs_are_exact(tmp_path: Path) -> None:
    renderer = create_renderer(EXAMPLE_MODEL)
    rollout = Rollout(renderer, None, [user("Hi")])
    logprobs = [-0.1, -1e-300, -9998.5, -2 / 3]
    rollout.record(Completion(token_ids=[5, 6, 7, 8], logprobs=logprobs, finish_reason="stop"))
    rollout.save(tmp_path / "rollout.jsonl")
    assert Rollout.load(tmp_path / "rollout.jsonl").turns[0].logprobs == logprobs


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values in JSON data."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places_in(item, (*path, key))


VALUES: tuple[Any, ...] = (None, True, -1, 7, 10**12, 0.5, math.nan, "", "stop", [], [1], [None], {}, {"a": 1})


@pytest.fixture(scope="module")
def forked_line(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the line of a rollout with forks, calls and a refused bridge."""
    renderer = create_renderer(EXAMPLE_MODEL)
    rollout, sampler = Rollout(renderer, None, [user("Hi")]), ScriptedSampler(renderer, ())
    for text in ('A<|call|>{"name": "search", "arguments": {}}<|/call|><|end|>', "<|think|>Open<|end|>"):
        rollout.record(sampler.complete(encode(renderer, text)))
        rollout.add([user("And?")])
    for fork in rollout.fork(2):
        fork.record(sampler.complete(encode(renderer, "A<|end|>")))
    path = tmp_path_factory.mktemp("rollout") / "rollout.jsonl"
    rollout.save(path)
    return path.read_text(encoding="utf-8")


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_value_anywhere_is_an_error_or_does_no_harm(data: st.DataObject, forked_line: str) -> None:
    record = json.loads(forked_line)
    *path, last = data.draw(st.sampled_from(list(places_in(record))))
    place = record
    for key in path:
        place = place[key]
    if data.draw(st.booleans()):
        place[last] = data.draw(st.sampled_from(VALUES))
    else:
        del place[last]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rollout.jsonl"
        file.write_text(json.dumps(record) + "\n")
        try:
            [rollout] = load_rollouts(file)
        except RolloutFileError:
            return
        rows = rollout.rows()
        rollout.save(file)
        assert len(load_rollouts(file)[0].rows()) == len(rows)
    for row in rows:
        assert len(row.token_ids) == len(row.logprobs) == len(row.loss_mask)
        row.arrays()


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("logprobs", float("nan"), r"turn 0: completion.logprobs\[0\] must be finite"),
        ("logprobs", 5.0, r"turn 0: completion.logprobs\[0\] must not be positive"),
        ("token_ids", -1, r"turn 0: completion.token_ids\[0\] is -1"),
        ("weight_versions", ["a", 0, 999], r"turn 0: weight_versions\[0\] must have a version and a range"),
    ],
)
def test_evidence_that_is_not_valid_is_an_error(line: str, tmp_path: Path, key: str, value: Any, text: str) -> None:
    record = json.loads(line)
    record["turns"][0]["completion"][key] = [value, *record["turns"][0]["completion"][key][1:]]
    path = tmp_path / "wrong.jsonl"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    with pytest.raises(RolloutFileError, match=rf"line 1 is damaged: {text}"):
        Rollout.load(path)


def test_a_renderer_with_another_prompt_is_an_error(line: str, tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_text(line, encoding="utf-8")
    renderer = create_renderer(EXAMPLE_MODEL)
    template = renderer.tokenizer.chat_template
    assert template is not None
    Rollout.load(path, renderer)
    for other, text in (
        (f"X{template}", "gives another first prompt than the rollout has: .* differ from index"),
        ("{{ raise_exception('never') }}", "cannot render the first prompt of the rollout: .*never"),
    ):
        with pytest.raises(RolloutError, match=f"{text}.* Pass the renderer that the rollout was sampled with"):
            load_rollouts(path, create_renderer(EXAMPLE_MODEL, chat_template=other))
    assert Rollout.load(path).rows()


def test_a_file_is_valid_json_although_numbers_are_not_finite(tmp_path: Path) -> None:
    renderer = create_renderer(EXAMPLE_MODEL)
    rollout = Rollout(renderer, None, [user("Hi")])
    call = '<|call|>{"name": "look", "arguments": {"c": 1e999, "d": -1e999}}<|/call|><|end|>'
    turn = rollout.record(ScriptedSampler(renderer, ()).complete(encode(renderer, call)))
    rollout.extras = {"score": math.nan, "$float": "nan"}
    path = tmp_path / "rollout.jsonl"
    rollout.save(path)
    json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda name: pytest.fail(name))
    loaded = Rollout.load(path)
    assert loaded.turns[0].parsed.tool_calls == turn.parsed.tool_calls
    assert repr(loaded.extras) == repr(rollout.extras)
