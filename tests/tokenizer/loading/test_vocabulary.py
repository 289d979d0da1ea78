"""Each form of vocabulary builds the tokenizer that its own reader builds, or is refused by name."""

from __future__ import annotations

import base64
import itertools
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

from renderers import EMBEDDED
from renderers.errors import TokenizerFileError
from renderers.tokenizer.loading.files import only_load_errors
from renderers.tokenizer.loading.model_files import ModelFiles, read_model_files
from renderers.tokenizer.loading.vocabulary import Vocabulary, build_vocabulary
from tests.support.corpus import code_points, nasty_texts
from tests.support.models import KIMI_PATTERN, snapshot_of

NOTHING = read_model_files({})
EMBEDDED_JSON = (EMBEDDED / "tokenizer.json").read_bytes()


def build(content: bytes, file: str = "tokenizer.json", model_files: ModelFiles = NOTHING) -> Vocabulary:
    with only_load_errors(name="org/model", file=file):
        return build_vocabulary(content, file, model_files)


# ==================
# tokenizer.json
# ==================


def test_declared_tokens_are_read_off_the_file() -> None:
    declared = {entry["content"]: entry["id"] for entry in json.loads(EMBEDDED_JSON)["added_tokens"]}
    assert build(EMBEDDED_JSON).declared == declared


def test_a_long_list_of_declared_tokens_is_read_whole() -> None:
    data = json.loads(EMBEDDED_JSON)
    size = len(data["model"]["vocab"])
    entry = data["added_tokens"][0]
    data["added_tokens"] = [entry | {"id": size + at, "content": f"<{'é' * 20}{at}>"} for at in range(3000)]
    assert len(build(json.dumps(data, ensure_ascii=False).encode()).declared) == 3000


def test_truncation_and_padding_that_a_file_switches_on_are_switched_off() -> None:
    data = json.loads(EMBEDDED_JSON)
    data["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    data["padding"] = {
        "strategy": {"Fixed": 16}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
        "pad_token": "x",
    }  # fmt: skip
    text = "This is a sentence of more than four tokens."
    assert (
        build(json.dumps(data).encode()).tokenizer.encode(text).ids == build(EMBEDDED_JSON).tokenizer.encode(text).ids
    )


def test_a_dropout_that_a_file_switches_on_is_switched_off() -> None:
    data = json.loads(EMBEDDED_JSON)
    data["model"]["dropout"] = 0.5
    tokenizer = build(json.dumps(data).encode()).tokenizer
    text = "What is the weather like in Paris right now?"
    plain = build(EMBEDDED_JSON).tokenizer.encode(text).ids
    assert all(tokenizer.encode(text).ids == plain for _ in range(50))


def test_a_subword_prefix_is_refused_however_it_is_spelt() -> None:
    data = json.loads(EMBEDDED_JSON)
    data["model"]["continuing_subword_prefix"] = "##"
    plain = json.dumps(data).encode()
    for content in (plain, plain.replace(b"subword_prefix", b"subword_prefi\\u0078")):
        with pytest.raises(TokenizerFileError, match="continuing_subword_prefix"):
            build(content)


@pytest.mark.parametrize("part", range(20))
def test_a_truncated_file_is_refused_by_name(part: int) -> None:
    with pytest.raises(TokenizerFileError, match=r"org/model: tokenizer.json .* download it again") as caught:
        build(EMBEDDED_JSON.rstrip()[: len(EMBEDDED_JSON) * part // 20])
    assert caught.value.file == "tokenizer.json"


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"{}", b'{"model": {}}', b"\x00" * 100, b"<html></html>"])
def test_what_is_no_tokenizer_is_refused(content: bytes) -> None:
    with pytest.raises(TokenizerFileError, match=r"tokenizer.json cannot be understood \(\w+: .* download it again"):
        build(content)


# ==================
# tiktoken ranks
# ==================


def ranks_file(count: int = 300) -> bytes:
    pairs = itertools.product(b"abcdefghij", repeat=2)
    tokens = [bytes([byte]) for byte in range(256)] + [bytes(pair) for pair in itertools.islice(pairs, count - 256)]
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))


def kimi_config(first: int = 300, **changes: Any) -> ModelFiles:
    config = {
        "tokenizer_class": "TikTokenTokenizer",
        "added_tokens_decoder": {str(first): {"content": "[BOS]"}, str(first + 3): {"content": "<|im_end|>"}},
    }
    return read_model_files({"tokenizer_config.json": json.dumps(config | changes).encode()})


def test_ranks_get_their_special_tokens_and_the_reserved_ones() -> None:
    built = build(ranks_file(), "tiktoken.model", kimi_config())
    assert built.tokenizer.get_vocab_size() == 300 + 256
    assert built.tokenizer.encode("[BOS]ab<|im_end|><|reserved_token_301|>").ids == [300, 257, 303, 301]


def test_a_token_of_the_config_that_is_not_special_is_added_as_such() -> None:
    tokens = {"300": {"content": "[BOS]", "special": True}, "301": {"content": "<think>", "special": False}}
    built = build(ranks_file(), "tiktoken.model", kimi_config(added_tokens_decoder=tokens)).tokenizer
    special = {number: token.special for number, token in built.get_added_tokens_decoder().items()}
    assert (special[300], special[301], special[302]) == (True, False, True)
    assert built.encode("<think>").ids == [301]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "lacks one of the 256 bytes"),
        (ranks_file()[:-3], "line 300"),
        (ranks_file()[:-7], "line 300"),
        (b"".join(ranks_file().splitlines(keepends=True)[:290]), "has 290 ranks.*300"),
        (b"".join(ranks_file().splitlines(keepends=True)[:200]), "256 bytes"),
        (ranks_file().replace(b" 7\n", b" 8\n"), "line 8 .*rank 8 where 7"),
        (ranks_file().replace(b"AA== 0", b"!!== 0"), "line 1 "),
        (ranks_file().replace(b"AA== 0", b"AQ== 0"), "twice"),
        (b"\x00\xff" * 50, "line 1 "),
    ],
)
def test_broken_ranks_are_refused_by_name(content: bytes, says: str) -> None:
    with pytest.raises(TokenizerFileError, match=f"(?s)org/model: tiktoken.model.*({says})"):
        build(content, "tiktoken.model", kimi_config())


def test_ranks_without_a_known_class_are_refused() -> None:
    with pytest.raises(TokenizerFileError, match="must have the tokenizer_class TikTokenTokenizer, not None"):
        build(ranks_file(), "tiktoken.model")
    with pytest.raises(TokenizerFileError, match="not QWenTokenizer"):
        build(ranks_file(), "qwen.tiktoken", kimi_config(tokenizer_class="QWenTokenizer"))


def test_ranks_without_special_tokens_are_refused() -> None:
    with pytest.raises(TokenizerFileError, match="it is empty"):
        build(ranks_file(), "tiktoken.model", kimi_config(added_tokens_decoder={}))


@pytest.fixture(scope="module")
def kimi(hub: Path) -> tuple[Vocabulary, tiktoken.Encoding]:
    snapshot = snapshot_of("moonshotai/Kimi-K2-Instruct")
    config = {"tokenizer_config.json": (snapshot / "tokenizer_config.json").read_bytes()}
    content = (snapshot / "tiktoken.model").read_bytes()
    built = build(content, "tiktoken.model", read_model_files(config))
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, content.splitlines())}
    special = dict(built.declared)
    return built, tiktoken.Encoding("kimi", pat_str=KIMI_PATTERN, mergeable_ranks=ranks, special_tokens=special)


def test_kimi_gives_the_ids_of_tiktoken(kimi: tuple[Vocabulary, tiktoken.Encoding]) -> None:
    built, theirs = kimi
    for text in (*nasty_texts(code_files=150, random_texts=3000), *built.declared):
        assert built.tokenizer.encode(text).ids == theirs.encode(text, allowed_special="all"), text[:80]


def test_kimi_gives_the_ids_of_tiktoken_on_every_assigned_code_point(
    kimi: tuple[Vocabulary, tiktoken.Encoding],
) -> None:
    built, theirs = kimi
    for text in code_points("a{0}b {0}1"):
        assert built.tokenizer.encode(text).ids == theirs.encode(text, disallowed_special=()), text[:80]


# ==================
# tekken.json
# ==================


@pytest.fixture(scope="module")
def tekken_path() -> Path:
    return Path(str(files("mistral_common") / "data" / "tekken_240911.json"))


def test_tekken_gives_the_ids_of_its_own_reader(tekken_path: Path) -> None:
    built = build(tekken_path.read_bytes(), "tekken.json")
    theirs = Tekkenizer.from_file(tekken_path)
    for text in nasty_texts():
        if not any(token in text for token in built.declared):
            assert built.tokenizer.encode(text).ids == theirs.encode(text, bos=False, eos=False), text[:80]
    assert all(built.tokenizer.encode(text).ids == [number] for text, number in built.declared.items())
    assert built.declared["[TOOL_CONTENT]"] == theirs.get_special_token("[TOOL_CONTENT]")
    assert built.special_tokens["eos_token"] == "</s>"


def small_tekken(**changes: Any) -> bytes:
    vocab = [
        {"rank": byte, "token_bytes": base64.b64encode(bytes([byte])).decode(), "token_str": None}
        for byte in range(256)
    ]
    data = {
        "config": {"pattern": r"\s+|\S+", "default_vocab_size": 258, "default_num_special_tokens": 2},
        "vocab": vocab,
        "special_tokens": [{"rank": 1, "token_str": "<x>", "is_control": True}],
    }
    return json.dumps(data | changes).encode()


def test_tekken_lists_its_special_tokens_and_fills_the_rest() -> None:
    built = build(small_tekken(), "tekken.json")
    assert built.declared == {"<SPECIAL_0>": 0, "<x>": 1}
    assert built.tokenizer.encode("a<x>").ids == [2 + ord("a"), 1]
    assert built.special_tokens == {}


def test_tekken_is_known_by_its_content_too() -> None:
    assert build(small_tekken(), "other.json").declared["<x>"] == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        small_tekken()[:-100],
        small_tekken(vocab=[]),
        small_tekken(config={}),
        small_tekken(special_tokens=[{"rank": 7, "token_str": "<x>"}]),
        small_tekken(special_tokens=[{"rank": 0, "token_str": "<x>"}, {"rank": 1, "token_str": "<x>"}]),
        small_tekken(special_tokens=[{"rank": 1, "token_str": "a"}]),
        small_tekken(vocab=[{"rank": 0, "token_bytes": "!!", "token_str": None}] * 256),
        small_tekken(config={"pattern": "(", "default_vocab_size": 258, "default_num_special_tokens": 2}),
    ],
)
def test_broken_tekken_is_refused_by_name(content: bytes) -> None:
    with pytest.raises(TokenizerFileError, match=r"org/model: tekken.json"):
        build(content, "tekken.json")
