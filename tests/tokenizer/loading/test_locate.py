"""A name means, in this order: a local directory or file, a cached repository, one on the hub."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from renderers import EMBEDDED, load_tokenizer
from renderers.errors import TokenizerFileError, TokenizerLoadError, TokenizerNotFoundError
from renderers.tokenizer.loading.locate import locate


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EMBEDDED, tmp_path / "model"))


def test_a_directory_is_looked_through_for_every_file_of_interest(model: Path) -> None:
    (model / "additional_chat_templates").mkdir()
    (model / "additional_chat_templates" / "tool_use.jinja").write_text("x")
    (model / "additional_chat_templates" / "README.md").write_text("x")
    (model / "weights.bin").write_text("x")
    found = locate(str(model), None)
    assert list(found.paths) == [
        "tokenizer.json",
        "tokenizer_config.json",
        "generation_config.json",
        "config.json",
        "chat_template.jinja",
        "additional_chat_templates/tool_use.jinja",
    ]
    assert dict(found.missing) == {"special_tokens_map.json": "not there", "chat_template.json": "not there"}
    assert (found.name, found.location, found.commit) == (str(model), str(model), None)


def test_of_several_vocabularies_the_first_is_taken_and_the_others_are_not_read(model: Path) -> None:
    (model / "tekken.json").write_text("{}")
    found = locate(str(model), None)
    assert found.vocabulary == "tokenizer.json"
    assert "tekken.json" not in found.paths


def test_a_file_is_the_vocabulary_and_its_folder_has_the_rest(model: Path) -> None:
    (model / "tokenizer.json").rename(model / "vocabulary.json")
    (model / "tekken.json").write_text("{}")
    found = locate(str(model / "vocabulary.json"), None)
    assert found.vocabulary == "vocabulary.json"
    assert set(found.paths) == {
        "vocabulary.json",
        "tokenizer_config.json",
        "generation_config.json",
        "config.json",
        "chat_template.jinja",
    }


def test_a_local_directory_comes_before_a_repository_of_that_name(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    (model.parent / "Qwen").mkdir()
    model.rename(model.parent / "Qwen" / "Qwen3-8B")
    found = locate("Qwen/Qwen3-8B", None)
    assert found.name == "Qwen/Qwen3-8B"
    assert found.location == str(model.parent / "Qwen" / "Qwen3-8B")


def test_a_directory_without_a_vocabulary_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(TokenizerNotFoundError, match=r"none of tokenizer.json, tiktoken.model, tekken.json\.$"):
        locate(str(tmp_path), None)
    (tmp_path / "tokenizer.model").write_bytes(b"")
    with pytest.raises(TokenizerNotFoundError, match="SentencePiece"):
        locate(str(tmp_path), None)


@pytest.mark.parametrize("name", ["", "/no/such", "./model", "~/model", "a b", "a/b/c", "a\0b", "\ud800", "x" * 5000])
def test_what_is_neither_a_path_nor_a_repository_is_an_os_error(name: str) -> None:
    with pytest.raises(TokenizerLoadError, match=r"neither a file nor a directory|too long"):
        locate(name, None)


@pytest.mark.parametrize("revision", ["", "a b", "../../x", "-x", "a\0b", "x" * 500])
def test_what_cannot_be_a_revision_is_an_os_error(revision: str) -> None:
    with pytest.raises(TokenizerNotFoundError, match="cannot be a revision"):
        locate("org/model", revision)


def test_a_path_that_is_there_but_out_of_reach_is_not_taken_for_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("org").mkdir()
    Path("org/model").symlink_to(tmp_path / "gone")
    with pytest.raises(TokenizerFileError, match=r"is a link to .*gone"):
        locate("org/model", None)
    Path("org/model").unlink()
    os.mkfifo("org/model")
    with pytest.raises(TokenizerFileError, match="neither a file nor a directory"):
        locate("org/model", None)
    see = os.stat

    def stale(path: Any, **keywords: Any) -> os.stat_result:
        if str(path) == "org/model":
            raise OSError(116, "Stale file handle")
        return see(path, **keywords)

    monkeypatch.setattr("os.stat", stale)
    with pytest.raises(TokenizerFileError, match="Stale file handle"):
        locate("org/model", None)


def test_a_repository_that_is_not_cached_is_not_found_offline() -> None:
    with pytest.raises(
        TokenizerNotFoundError, match=r"org/model at revision 'main' is not in the cache.*HF_HUB_OFFLINE"
    ):
        locate("org/model", None)


def test_an_unreadable_template_folder_is_an_error(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.listdir", refuse)
    with pytest.raises(TokenizerFileError, match="additional_chat_templates cannot be listed"):
        locate(str(model), None)


def test_a_cached_mirror_stands_in_for_a_gated_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    gated, mirror = "meta-llama/Llama-3.2-1B-Instruct", "unsloth/Llama-3.2-1B-Instruct"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))

    def cache(name: str) -> None:
        repository = tmp_path / ("models--" + name.replace("/", "--"))
        shutil.copytree(EMBEDDED, repository / "snapshots" / "c0ffee")
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text("c0ffee")

    cache(mirror)
    found = locate(gated, None)
    assert (found.name, found.location) == (gated, mirror)
    assert f"mirror {mirror}" in caplog.text
    with pytest.raises(TokenizerNotFoundError, match=gated):
        locate(gated, "main")  # a revision of the gated repository is not one of the mirror
    cache(gated)
    assert locate(gated, None).location == gated


def test_an_error_about_a_mirror_names_the_tokenizer_that_was_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    refs = tmp_path / "models--unsloth--Llama-3.2-1B-Instruct" / "refs"
    refs.mkdir(parents=True)
    (refs / "main").symlink_to(tmp_path / "gone")
    with pytest.raises(TokenizerFileError, match=r"main is a link to .*gone") as caught:
        load_tokenizer("meta-llama/Llama-3.2-1B-Instruct")
    assert caught.value.name == "meta-llama/Llama-3.2-1B-Instruct"
    assert caught.value.file == str(refs / "main")
