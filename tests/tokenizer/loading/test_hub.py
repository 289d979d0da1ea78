"""Repositories: what is cached is used without a request, what is not comes from the hub, all of one commit."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from renderers import EMBEDDED, TRUSTED_REVISIONS, TokenizerFileError, TokenizerUnreachableError, load_tokenizer
from renderers.tokenizer.loading import hub as hub_module
from tests.support.fake_hub import FakeHub, serve_hub

NAME = "org/model"
FILES = {path.name: path.read_bytes() for path in EMBEDDED.iterdir()}

LOAD = """
import json, logging, sys, threading, time
time.sleep = lambda seconds: None  # the hub's client waits between its retries
from renderers import load_tokenizer
from renderers.errors import TokenizerLoadError
records = []
class Keep(logging.Handler):
    def emit(self, record): records.append(record.getMessage())
logging.getLogger("renderers").addHandler(Keep())
def load():
    try:
        loaded = load_tokenizer(sys.argv[1], revision=sys.argv[2] or None)
        results.append(dict(name=loaded.name_or_path, location=loaded.source.location, commit=loaded.source.commit,
            files=loaded.source.files, missing=dict(loaded.source.missing), templates=dict(loaded.chat_templates),
            ids=loaded.encode("Hello, world!"), object=id(loaded)))
    except TokenizerLoadError as error:
        results.append(dict(error=type(error).__name__, text=str(error)))
results, threads = [], [threading.Thread(target=load) for _ in range(int(sys.argv[3]))]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps(dict(results=results, log=records)))
"""


@dataclass
class Machine:
    """A machine of its own: a cache directory and an environment, on which processes load tokenizers."""

    hub: FakeHub
    home: Path
    settings: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    stderr: str = ""

    def load_all(self, name: str, *, revision: str = "", threads: int, **settings: str) -> list[dict[str, Any]]:
        inherited = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith("HF_") and not key.lower().endswith("_proxy")
        }
        ours = {"HF_HOME": str(self.home), "HF_ENDPOINT": self.hub.url, "HF_HUB_DISABLE_TELEMETRY": "1"}
        done = subprocess.run(
            [sys.executable, "-c", LOAD, name, revision, str(threads)],
            env=inherited | ours | self.settings | settings,
            check=True,
            capture_output=True,
            text=True,
        )
        answer = json.loads(done.stdout)
        self.log = answer["log"]
        self.stderr = done.stderr
        results: list[dict[str, Any]] = answer["results"]
        return results

    def load(self, name: str = NAME, *, revision: str = "", **settings: str) -> dict[str, Any]:
        return self.load_all(name, revision=revision, threads=1, **settings)[0]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with serve_hub(FakeHub()) as hub:
        yield Machine(hub, tmp_path)


def test_the_first_load_asks_the_hub_and_the_second_asks_nobody(machine: Machine) -> None:
    commit = machine.hub.publish(NAME, FILES)
    first = machine.load()
    assert (first["location"], first["commit"]) == (NAME, commit)
    assert set(first["files"]) == set(FILES)
    assert machine.hub.requests
    machine.hub.requests.clear()
    second = machine.load()
    assert second["ids"] == first["ids"]
    assert machine.hub.requests == []


def test_a_cached_repository_loads_when_offline_and_when_the_hub_is_down(machine: Machine) -> None:
    machine.hub.publish(NAME, FILES)
    online = machine.load()
    for settings in ({"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}):
        assert machine.load(**settings)["ids"] == online["ids"]


def test_all_files_are_of_one_commit_though_the_branch_moves(machine: Machine) -> None:
    first = machine.hub.publish(NAME, FILES)
    config_of_second = FILES | {"tokenizer_config.json": b'{"pad_token": "<|pad|>"}'}
    answer = machine.hub.answer

    def moving(path: str, authorization: str | None) -> tuple[int, dict[str, str], bytes]:
        given = answer(path, authorization)
        if path.endswith("/tokenizer.json") and len(machine.hub.requests) == 2:  # the first one only checks the hub
            machine.hub.publish(NAME, config_of_second)
        return given

    machine.hub.answer = moving  # type: ignore[method-assign]
    loaded = machine.load()
    assert loaded["commit"] == first
    assert machine.load(revision="main")["commit"] == first  # what is cached stays until asked anew


def test_a_file_that_the_cache_lacks_is_fetched_at_the_cached_commit(machine: Machine) -> None:
    machine.hub.publish(NAME, FILES)
    machine.load()
    snapshot = next((machine.home / "hub" / "models--org--model" / "snapshots").iterdir())
    (snapshot / "tokenizer_config.json").unlink()
    machine.hub.publish(NAME, {"tokenizer.json": b"of another commit"})
    loaded = machine.load()
    assert "tokenizer_config.json" in loaded["files"]
    assert loaded["commit"] == snapshot.name


def test_offline_a_partial_cache_loads_and_says_what_it_lacks(machine: Machine) -> None:
    machine.hub.publish(NAME, FILES)
    machine.load()
    snapshot = next((machine.home / "hub" / "models--org--model" / "snapshots").iterdir())
    (snapshot / "tokenizer_config.json").unlink()
    missing = machine.load(HF_HUB_OFFLINE="1")["missing"]
    assert "not in the cache" in missing["tokenizer_config.json"]
    assert missing["special_tokens_map.json"] == "not there"


def test_a_partial_cache_and_no_hub_is_an_error_not_half_a_tokenizer(machine: Machine) -> None:
    machine.hub.publish(NAME, FILES)
    machine.load()
    snapshot = next((machine.home / "hub" / "models--org--model" / "snapshots").iterdir())
    (snapshot / "tokenizer_config.json").unlink()
    refused = machine.load(HF_ENDPOINT="http://127.0.0.1:9")
    assert refused["error"] == "TokenizerUnreachableError"
    assert "could not be reached" in refused["text"]
    assert "HF_HUB_OFFLINE=1" in refused["text"]


def test_a_link_into_a_lost_blob_is_fetched_again_and_offline_an_error(machine: Machine) -> None:
    machine.hub.publish(NAME, FILES)
    first = machine.load()
    root = machine.home / "hub" / "models--org--model"
    link = next((root / "snapshots").iterdir()) / "tokenizer.json"
    link.resolve().unlink()
    offline = machine.load(HF_HUB_OFFLINE="1")
    assert offline["error"] == "TokenizerFileError"
    assert "tokenizer.json" in offline["text"]
    assert machine.load()["ids"] == first["ids"]


def test_named_templates_in_their_folder_are_fetched(machine: Machine) -> None:
    machine.hub.publish(NAME, FILES | {"additional_chat_templates/tool_use.jinja": b"{{ tools }}"})
    assert machine.load()["templates"]["tool_use"] == "{{ tools }}"
    assert set(machine.load(HF_HUB_OFFLINE="1")["templates"]) == {"default", "tool_use"}


def test_a_fetch_that_broke_off_does_not_lose_named_templates(machine: Machine) -> None:
    machine.hub.publish(NAME, FILES | {"additional_chat_templates/tool_use.jinja": b"{{ tools }}"})
    answer = machine.hub.answer
    for broken in ("/tree/", "tool_use.jinja", "/tokenizer_config.json"):

        def failing(path: str, authorization: str | None, broken: str = broken) -> tuple[int, dict[str, str], bytes]:
            return (500, {}, b"") if broken in path else answer(path, authorization)

        machine.hub.answer = failing  # type: ignore[method-assign]
        assert machine.load()["error"] == "TokenizerUnreachableError"
    machine.hub.answer = answer  # type: ignore[method-assign]
    assert set(machine.load()["templates"]) == {"default", "tool_use"}


def test_a_cache_that_cannot_remember_what_is_absent_still_says_so(machine: Machine) -> None:
    machine.hub.publish(NAME, FILES)
    machine.load()
    absent = machine.home / "hub" / "models--org--model" / ".no_exist"
    shutil.rmtree(absent)
    absent.write_text("in the way of the folder")
    assert machine.load()["missing"]["special_tokens_map.json"] == "not there"


def test_a_garbled_branch_in_the_cache_is_asked_for_again(machine: Machine) -> None:
    commit = machine.hub.publish(NAME, FILES)
    machine.load()
    ref = machine.home / "hub" / "models--org--model" / "refs" / "main"
    for garbage in (b"", b"x", b"../../elsewhere"):
        ref.write_bytes(garbage)
        assert machine.load(HF_HUB_OFFLINE="1")["error"] == "TokenizerNotFoundError"
        assert machine.load()["commit"] == commit


def test_a_mirror_is_not_read_because_the_hub_is_down(machine: Machine) -> None:
    gated, mirror = "meta-llama/Llama-3.2-1B-Instruct", "unsloth/Llama-3.2-1B-Instruct"
    machine.hub.publish(mirror, FILES)
    machine.load(mirror)
    assert machine.load(gated, HF_ENDPOINT="http://127.0.0.1:9")["error"] == "TokenizerUnreachableError"
    assert machine.load(gated, HF_HUB_OFFLINE="1")["location"] == mirror


def test_a_revision_is_a_branch_or_a_commit(machine: Machine) -> None:
    main = machine.hub.publish(NAME, FILES)
    other = machine.hub.publish(NAME, FILES | {"config.json": b"{}"}, branch="other")
    assert machine.load()["commit"] == main
    assert machine.load(revision="other")["commit"] == other
    assert machine.load(revision=main)["commit"] == main
    unknown = machine.load(revision="nowhere")
    assert unknown["error"] == "TokenizerNotFoundError"
    assert "no such revision" in unknown["text"]


def test_a_pinned_revision_is_taken_unless_the_caller_names_one(machine: Machine) -> None:
    name = "moonshotai/Kimi-K2.5"
    pinned = TRUSTED_REVISIONS[name]
    machine.hub.publish(name, FILES)
    machine.hub.files[name, pinned] = FILES
    assert machine.load(name)["commit"] == pinned
    assert machine.load(name, revision="main")["commit"] == machine.hub.branches[name, "main"]


def test_a_gated_repository_is_read_with_a_token_and_from_its_mirror_without(machine: Machine) -> None:
    gated, mirror = "meta-llama/Llama-3.2-1B-Instruct", "unsloth/Llama-3.2-1B-Instruct"
    machine.hub.gated.add(gated)
    machine.hub.publish(gated, FILES)
    machine.hub.publish(mirror, FILES | {"config.json": b"{}"})
    without = machine.load(gated)
    assert (without["name"], without["location"]) == (gated, mirror)
    assert any("gated" in line and mirror in line for line in machine.log)
    granted = machine.load(gated, HF_TOKEN="hf_granted")
    assert (granted["name"], granted["location"]) == (gated, gated)
    assert machine.log == []


def test_a_gated_repository_without_a_mirror_says_what_to_do(machine: Machine) -> None:
    machine.hub.gated.add(NAME)
    machine.hub.publish(NAME, FILES)
    refused = machine.load()
    assert refused["error"] == "TokenizerNotFoundError"
    assert "HF_TOKEN" in refused["text"]


def test_unknown_repositories_and_those_without_a_vocabulary_are_named(machine: Machine) -> None:
    machine.hub.publish(NAME, {"config.json": b"{}"})
    assert "no repository org/unknown" in machine.load("org/unknown")["text"]
    for _ in range(2):
        nothing = machine.load()
        assert nothing["error"] == "TokenizerNotFoundError"
        assert "none of tokenizer.json, tiktoken.model, tekken.json" in nothing["text"]
    offline = machine.load("org/unknown", HF_HUB_OFFLINE="1")
    assert offline["error"] == "TokenizerNotFoundError"
    assert "HF_HUB_OFFLINE" in offline["text"]


@pytest.mark.parametrize(
    ("status", "error", "remedy", "attempts"),
    [
        (401, "TokenizerNotFoundError", "HF_TOKEN", 1),
        (403, "TokenizerNotFoundError", "HF_TOKEN", 1),
        (404, "TokenizerNotFoundError", "Check the name", 1),
        (429, "TokenizerUnreachableError", "Wait, set HF_TOKEN", 3),
        (500, "TokenizerUnreachableError", "Try again later", 3),
        (599, "TokenizerUnreachableError", "Try again later", 3),
    ],
)
def test_a_hub_that_fails_is_an_error_of_one_line_after_a_few_requests(
    machine: Machine, status: int, error: str, remedy: str, attempts: int
) -> None:
    machine.hub.answer = lambda *_: (status, {"Retry-After": "300"}, b"")  # type: ignore[method-assign]
    failed = machine.load()
    assert failed["error"] == error
    assert NAME in failed["text"]
    assert remedy in failed["text"]
    assert "\n" not in failed["text"]
    assert machine.stderr == ""
    assert len(requests_of_files(machine.hub)) == attempts


def requests_of_files(hub: FakeHub) -> list[str]:
    return [path for _, path, _ in hub.requests if f"/{NAME}/" in path]


def test_a_hub_that_fails_at_first_is_asked_again(machine: Machine) -> None:
    machine.hub.publish(NAME, FILES)
    answer = machine.hub.answer

    def busy(path: str, authorization: str | None) -> tuple[int, dict[str, str], bytes]:
        return answer(path, authorization) if len(requests_of_files(machine.hub)) > 2 else (503, {}, b"")

    machine.hub.answer = busy  # type: ignore[method-assign]
    assert set(machine.load()["files"]) == set(FILES)


def test_an_unreachable_hub_is_tried_once_and_without_noise(machine: Machine) -> None:
    failed = machine.load(HF_ENDPOINT="http://127.0.0.1:9")
    assert failed["error"] == "TokenizerUnreachableError"
    assert "127.0.0.1 could not be reached (" in failed["text"]
    assert (failed["text"].count("\n"), machine.stderr) == (0, "")
    failed = machine.load(HF_ENDPOINT="http://hub.invalid")
    assert "hub.invalid could not be reached" in failed["text"]
    assert machine.stderr == ""


def test_a_hub_that_does_not_respond_is_asked_once_and_the_error_names_the_time_out(machine: Machine) -> None:
    released = threading.Event()

    def hang(path: str, authorization: str | None) -> tuple[int, dict[str, str], bytes]:
        released.wait()
        return 500, {}, b""

    machine.hub.answer = hang  # type: ignore[method-assign]
    failed = machine.load(HF_HUB_ETAG_TIMEOUT="1")
    released.set()
    assert failed["error"] == "TokenizerUnreachableError"
    assert "did not respond in time" in failed["text"]
    assert "HF_HUB_ETAG_TIMEOUT" in failed["text"]
    assert machine.stderr == ""
    assert len(requests_of_files(machine.hub)) == 1


def test_a_listing_that_does_not_respond_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def hang(*_: object, **__: object) -> list[object]:
        released.wait()
        return []

    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", lambda *_, **__: None)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda *_, **__: "")
    monkeypatch.setattr("huggingface_hub.HfApi.list_repo_tree", hang)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub_module, "LISTING_SECONDS", 0.01)
    with pytest.raises(TokenizerUnreachableError, match=r"no response within 0\.01 seconds"):
        load_tokenizer(NAME)
    released.set()


def test_close_matches_of_a_name_are_in_the_error(machine: Machine) -> None:
    machine.hub.publish("org/my-model", FILES)
    machine.load("org/my-model")
    for settings in ({}, {"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}):
        assert machine.load("org/My-Model", **settings)["text"].endswith("Did you mean org/my-model (in the cache)?")
        assert "or Qwen/Qwen3-" in machine.load("Qwen/Qwen3-88B", **settings)["text"]
    machine.hub.gated.add("org/my-model")
    assert "Did you mean" not in machine.load("org/my-model", revision="other")["text"]


class TransportError(Exception):
    """An error of a transport that is no OSError."""


TransportError.__module__ = "httpx._exceptions"


@pytest.mark.parametrize(
    "error",
    [
        ConnectionError("down"),
        TimeoutError("down"),
        TransportError("down"),
        socket.gaierror(socket.EAI_NONAME, "down"),
        OSError(errno.ENETUNREACH, "down"),
    ],
)
def test_errors_of_the_network_and_of_the_client_are_unreachable(error: Exception) -> None:
    def download() -> None:
        raise error

    with pytest.raises(TokenizerUnreachableError, match=f"{type(error).__name__}: .*down"):
        hub_module._request(NAME, download)


@pytest.mark.parametrize(
    ("error", "path"),
    [
        (PermissionError(errno.EACCES, "no reason", "/cache/blob"), "/cache/blob"),
        (TimeoutError(errno.ETIMEDOUT, "no reason", "/share/blob"), "/share/blob"),
        (OSError(errno.ENOSPC, "no reason"), "models--org--model"),
        (RuntimeError("no reason"), "models--org--model"),
    ],
)
def test_errors_of_the_disk_and_of_the_downloader_name_the_path_and_not_the_network(
    error: Exception, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", lambda *_, **__: None)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(TokenizerFileError, match=f"{type(error).__name__}: .*no reason") as raised:
        load_tokenizer(NAME)
    assert path in str(raised.value)
    assert "network" not in str(raised.value)
    assert raised.value.__cause__ is error


def test_a_cache_that_cannot_be_written_is_not_reported_as_the_networks(machine: Machine) -> None:
    machine.hub.publish(NAME, FILES)
    (machine.home / "hub").write_text("a file, so that no directory can be created")
    failed = machine.load()
    assert failed["error"] == "TokenizerFileError"
    assert str(machine.home / "hub") in failed["text"]
    assert "network" not in failed["text"]


@pytest.mark.parametrize("error", [TypeError("a bug"), KeyError("a bug"), NotImplementedError("a bug")])
def test_other_errors_are_not_reported_as_the_networks(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", lambda *_, **__: None)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(type(error), match="a bug"):
        load_tokenizer(NAME)


def test_a_name_that_the_hub_does_not_accept_is_not_found(machine: Machine) -> None:
    refused = machine.load("org/a--b")
    assert refused["error"] == "TokenizerNotFoundError"
    assert "does not accept org/a--b" in refused["text"]


def test_proxies_are_honoured(machine: Machine) -> None:
    machine.hub.publish(NAME, FILES)
    loaded = machine.load(HF_ENDPOINT="http://hub.invalid", HTTP_PROXY=machine.hub.url)
    assert set(loaded["files"]) == set(FILES)
    assert all(path.startswith("http://hub.invalid/") for _, path, _ in machine.hub.requests)


def test_threads_that_ask_at_once_share_one_download_and_one_object(machine: Machine) -> None:
    machine.hub.publish(NAME, FILES)
    results = machine.load_all(NAME, threads=16)
    assert len({result["object"] for result in results}) == 1
    assert sum(method == "GET" and path.endswith("/tokenizer.json") for method, path, _ in machine.hub.requests) == 1
