"""What the files beside a vocabulary say is read in all its forms, and nothing is guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.errors import TokenizerFileError
from renderers.tokenizer.loading.model_files import ModelFiles, read_model_files


def read(**files: object) -> ModelFiles:
    """Reads companions given as keyword arguments: `tokenizer_config={...}`."""
    return read_model_files({f"{name}.json": json.dumps(value).encode() for name, value in files.items()})


def test_no_files_say_nothing() -> None:
    nothing = read()
    assert nothing == ModelFiles(None, {}, (), {}, frozenset(), {}, None, None, None)


def test_special_tokens_are_texts_or_objects_and_switches_are_none() -> None:
    config = {
        "bos_token": {"__type": "AddedToken", "content": "<s>", "lstrip": False},
        "eos_token": "</s>",
        "unk_token": None,
        "add_bos_token": True,
        "image_token": "<image>",
        "additional_special_tokens": ["<a>", {"content": "<b>"}],
        "extra_special_tokens": {"x": "<c>", "y": "<a>"},
    }
    got = read(tokenizer_config=config)
    assert got.special_tokens == {"bos_token": "<s>", "eos_token": "</s>", "image_token": "<image>"}
    assert got.extra_special_tokens == ("<c>", "<a>", "<b>")


def test_keys_that_only_look_like_tokens_and_empty_texts_say_nothing() -> None:
    got = read(tokenizer_config={"num_image_token": 256, "unk_token": "", "x_token": ["a"], "eos_token": None})
    assert got.special_tokens == {}


def test_a_broken_file_is_an_error_even_where_it_would_not_count() -> None:
    listed = json.dumps({"added_tokens_decoder": {"1": {"content": "<a>"}}}).encode()
    with pytest.raises(TokenizerFileError, match="special_tokens_map"):
        read_model_files({"tokenizer_config.json": listed, "special_tokens_map.json": b"{"})
    with pytest.raises(TokenizerFileError, match=r"chat_template\.json"):
        read_model_files({"chat_template.jinja": b"x", "chat_template.json": b"{"})


def test_the_older_map_counts_only_where_the_config_lists_no_added_tokens() -> None:
    older = {"eos_token": {"content": "<old>"}, "pad_token": "<pad>"}
    config: dict[str, Any] = {"eos_token": "<new>"}
    assert read(tokenizer_config=config, special_tokens_map=older).special_tokens["eos_token"] == "<old>"
    config["added_tokens_decoder"] = {
        "7": {"content": "<new>", "special": True},
        "8": {"content": "<x>", "special": False},
    }
    got = read(tokenizer_config=config, special_tokens_map=older)
    assert got.special_tokens == {"eos_token": "<new>"}
    assert got.added_tokens == {"<new>": 7, "<x>": 8}
    assert got.ordinary_tokens == {"<x>"}


@pytest.mark.parametrize(("value", "ids"), [(5, (5,)), ([5, 7, 5], (5, 7)), (None, None), ([], ())])
def test_stop_tokens_are_a_number_or_a_list(value: object, ids: tuple[int, ...] | None) -> None:
    assert read(generation_config={"eos_token_id": value}).stop_token_ids == ids
    assert read(generation_config={}).stop_token_ids is None


@pytest.mark.parametrize(
    ("config", "images", "audio"),
    [
        ({}, False, False),
        ({"vision_config": {}}, True, False),
        ({"vision_config": None}, False, False),
        ({"thinker_config": {"vision_config": {}, "audio_config": {}}}, True, True),
        ({"audio_token_id": 5}, False, True),
    ],
)
def test_modalities(config: object, images: bool, audio: bool) -> None:
    got = read(config=config)
    assert (got.takes_images, got.takes_audio) == (images, audio)


def test_templates_inline_by_name_and_as_files() -> None:
    assert read(tokenizer_config={"chat_template": "one"}).chat_templates == {"default": "one"}
    several = [{"name": "default", "template": "one"}, {"name": "tool_use", "template": "two"}]
    assert read(tokenizer_config={"chat_template": several}).chat_templates == {"default": "one", "tool_use": "two"}
    assert read(chat_template={"chat_template": "of a processor"}).chat_templates == {"default": "of a processor"}
    files = {"chat_template.jinja": b"file\r\nends", "additional_chat_templates/rag.jinja": "é".encode()}
    contents = {"tokenizer_config.json": json.dumps({"chat_template": several}).encode(), **files}
    assert read_model_files(contents).chat_templates == {"default": "file\nends", "rag": "é"}


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("tokenizer_config.json", b"", "is empty"),
        ("tokenizer_config.json", b'{"eos_token": "<|im_', "not valid JSON"),
        ("tokenizer_config.json", b"\x00\x01\x02", "not valid JSON"),
        ("tokenizer_config.json", b"[" * 100_000, "not valid JSON"),
        ("tokenizer_config.json", b"[]", "instead of an object"),
        ("tokenizer_config.json", b'{"eos_token": 5}', r"eos_token = 5 instead of a token"),
        ("tokenizer_config.json", b'{"added_tokens_decoder": []}', None),
        ("tokenizer_config.json", b'{"added_tokens_decoder": [1]}', "added_tokens_decoder"),
        ("tokenizer_config.json", b'{"added_tokens_decoder": {"x": {"content": "a"}}}', "added_tokens_decoder"),
        ("tokenizer_config.json", b'{"additional_special_tokens": "abc"}', "a list of tokens"),
        ("tokenizer_config.json", b'{"chat_template": 5}', "chat_template"),
        ("tokenizer_config.json", b'{"chat_template": [{"name": "a"}]}', "chat_template"),
        ("tokenizer_config.json", b'{"chat_template": [{"name": [], "template": "a"}]}', "chat_template"),
        ("special_tokens_map.json", b"{", "not valid JSON"),
        ("special_tokens_map.json", b'{"eos_token": 5}', "eos_token = 5"),
        ("generation_config.json", b'{"eos_token_id": "</s>"}', "token ids"),
        ("generation_config.json", b'{"eos_token_id": [true]}', "token ids"),
        ("generation_config.json", b'{"eos_token_id": -1}', "token ids"),
        ("config.json", b"null", "instead of an object"),
        ("chat_template.jinja", b"\xff\xfe", "not UTF-8"),
        ("chat_template.json", b"{", "not valid JSON"),
    ],
)
def test_a_file_that_is_there_and_broken_is_an_error_that_names_it(file: str, content: bytes, says: str | None) -> None:
    if says is None:
        read_model_files({file: content})
        return
    with pytest.raises(TokenizerFileError, match=says) as caught:
        read_model_files({file: content})
    assert caught.value.file == file


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    "eos_token added_tokens_decoder additional_special_tokens extra_special_tokens chat_template eos_token_id "
    "tokenizer_class vision_config text_config".split()
)


@given(
    file=st.sampled_from(
        "tokenizer_config.json special_tokens_map.json generation_config.json config.json chat_template.json".split()
    ),
    content=values | st.dictionaries(keys, values, max_size=4),
)
def test_whatever_json_holds_the_answer_is_companions_or_our_error(file: str, content: object) -> None:
    try:
        got = read_model_files({file: json.dumps(content).encode()})
    except TokenizerFileError:
        return
    assert isinstance(got, ModelFiles)
    assert all(isinstance(text, str) for text in (*got.special_tokens.values(), *got.chat_templates.values()))
