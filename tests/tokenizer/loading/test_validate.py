"""A built tokenizer is held against its files, and its walls and bytes are found out by trying."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors

from renderers import EMBEDDED, adopt_tokenizer, load_tokenizer
from renderers.errors import TokenizerCheckError, TokenizerFileError
from renderers.tokenizer.loading.files import only_load_errors
from renderers.tokenizer.loading.validate import check_tokenizer, find_isolating_tokens, is_byte_level
from tests.support.corpus import nasty_texts


def embedded() -> Tokenizer:
    return Tokenizer.from_file(str(EMBEDDED / "tokenizer.json"))


def check(tokenizer: Tokenizer, **changes: Any) -> None:
    facts: dict[str, Any] = {"declared": {}, "special_tokens": set(), "stop_token_ids": ()}
    with only_load_errors(name="org/model", file="tokenizer.json"):
        check_tokenizer(tokenizer, **(facts | changes))


def test_a_sound_tokenizer_passes() -> None:
    check(embedded(), declared={"<|end|>": 870}, special_tokens={"<|end|>"}, stop_token_ids=[870])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"declared": {"<|end|>": 5}}, r"'<\|end\|>' as 870, and it is declared to be 5"),
        ({"declared": {"<|no|>": 5}}, r"'<\|no\|>' as None"),
        ({"special_tokens": {"<|no|>"}}, r"does not contain '<\|no\|>'"),
        ({"stop_token_ids": [5, 100_000]}, "no token 100000.*generation_config.json"),
    ],
)
def test_files_that_contradict_each_other_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(TokenizerFileError, match=rf"org/model: tokenizer.json .*{says}"):
        check(embedded(), **changes)


def test_a_special_token_that_does_not_encode_to_itself_is_refused() -> None:
    with pytest.raises(TokenizerCheckError, match=r"encodes its special token 'Ġweather' to"):
        check(embedded(), special_tokens={"Ġweather"})


def test_a_tokenizer_that_loses_text_is_refused() -> None:
    lossy = embedded()
    lossy.normalizer = normalizers.Lowercase()
    with pytest.raises(TokenizerCheckError, match="does not give back what it encoded"):
        check(lossy)
    mute = embedded()
    mute.decoder = decoders.WordPiece()
    with pytest.raises(TokenizerCheckError, match="does not give back what it encoded"):
        check(mute)


def test_a_post_processor_that_adds_unknown_tokens_is_refused() -> None:
    framing = embedded()
    framing.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 5000)])
    with pytest.raises(TokenizerCheckError, match=r"adds ids which are not in the vocabulary.*\[5000,"):
        check(framing)


def test_a_post_processor_that_makes_the_backend_panic_is_our_error(tmp_path: Path) -> None:
    data = json.loads((EMBEDDED / "tokenizer.json").read_text())
    data["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {},
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    with pytest.raises(TokenizerFileError, match="PanicException"):
        load_tokenizer(tmp_path)
    with pytest.raises(TokenizerFileError, match="PanicException"):
        adopt_tokenizer(Tokenizer.from_file(str(tmp_path / "tokenizer.json")))


def test_an_id_that_a_file_declares_and_the_backend_moves_is_found(tmp_path: Path) -> None:
    data = json.loads((EMBEDDED / "tokenizer.json").read_text())
    data["added_tokens"][-1]["id"] = 5000
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    with pytest.raises(TokenizerFileError, match=r"'<\|/result\|>' as 878, and it is declared to be 5000"):
        load_tokenizer(tmp_path)


# ==================
# Walls
# ==================


def walls_of(tokenizer: Tokenizer) -> set[str]:
    return {tokenizer.id_to_token(number) or "" for number in find_isolating_tokens(tokenizer)}


def with_token(token: AddedToken, tokenizer: Tokenizer | None = None) -> Tokenizer:
    tokenizer = tokenizer or embedded()
    tokenizer.add_tokens([token])
    return tokenizer


def test_every_token_of_the_embedded_model_is_a_wall() -> None:
    tokenizer = embedded()
    assert find_isolating_tokens(tokenizer) == set(tokenizer.get_added_tokens_decoder())


@pytest.mark.parametrize("flag", ["lstrip", "rstrip", "single_word"])
def test_a_token_that_looks_at_its_surroundings_is_no_wall(flag: str) -> None:
    walls = walls_of(with_token(AddedToken("<x>", normalized=False, **{flag: True})))
    assert "<x>" not in walls
    assert "<|end|>" in walls


@pytest.mark.parametrize("text", ["\n\n", "aa", "<|end|>\n", "x<|"])
def test_tokens_that_can_overlap_are_no_walls(text: str) -> None:
    tokenizer = with_token(AddedToken(text, normalized=False))
    walls = walls_of(tokenizer)
    spoilt = {"\n\n": "\n\n", "aa": "aa", "<|end|>\n": "<|end|>", "x<|": "<|end|>"}[text]
    assert spoilt not in walls


def test_a_normaliser_that_joins_marks_to_a_token_spoils_it() -> None:
    tokenizer = embedded()
    tokenizer.normalizer = normalizers.NFC()
    assert "<x>" not in walls_of(with_token(AddedToken("<x>", normalized=True), tokenizer))
    assert "<y>" in walls_of(with_token(AddedToken("<y>", normalized=False), tokenizer))


def test_plain_tokens_take_the_end_or_the_middle_of_later_ones() -> None:
    tokenizer = with_token(AddedToken("a<#", normalized=True))
    assert "a<#" in walls_of(tokenizer)
    assert "a<#" not in walls_of(with_token(AddedToken("<#x", normalized=False), tokenizer))
    assert "b#c" not in walls_of(
        with_token(AddedToken("#", normalized=False), with_token(AddedToken("b#c", normalized=True)))
    )


def test_a_token_that_must_be_a_word_spoils_walls_that_end_in_letters() -> None:
    tokenizer = with_token(AddedToken("END", normalized=False))
    assert "END" in walls_of(tokenizer)
    walls = walls_of(with_token(AddedToken("word", normalized=False, single_word=True), tokenizer))
    assert "END" not in walls
    assert "<|end|>" in walls


def test_a_normaliser_that_is_not_known_spoils_tokens_matched_after_it() -> None:
    tokenizer = with_token(AddedToken("[x]", normalized=True))
    tokenizer.normalizer = normalizers.Replace("q", "r")
    assert "[x]" not in walls_of(tokenizer)
    tokenizer.normalizer = normalizers.Sequence([])
    assert "[x]" in walls_of(tokenizer)
    tokenizer.normalizer = normalizers.NFC()
    assert "[x]" in walls_of(tokenizer)


def test_many_added_tokens_are_not_looked_at_one_by_one() -> None:
    tokenizer = embedded()
    tokenizer.add_tokens([AddedToken(f"<{at:0120}>", normalized=False) for at in range(5000)])
    assert find_isolating_tokens(tokenizer) == frozenset()


def test_a_prefix_space_at_the_start_of_a_text_leaves_no_walls() -> None:
    tokenizer = embedded()
    first = pre_tokenizers.Metaspace(replacement="_", prepend_scheme="first")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([first, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    assert find_isolating_tokens(tokenizer) == frozenset()


def test_a_token_of_absurd_length_leaves_no_walls() -> None:
    assert find_isolating_tokens(with_token(AddedToken("x" * 1000, normalized=False))) == frozenset()


WALL_MODELS = (
    "Qwen/Qwen3-8B zai-org/GLM-4.5-Air moonshotai/Kimi-K2-Instruct deepseek-ai/DeepSeek-V3 MiniMaxAI/MiniMax-M2 "
    "google/gemma-3-4b-it google/gemma-4-31B-it mistralai/Mistral-Small-3.2-24B-Instruct-2506 openai/gpt-oss-20b"
).split()


@pytest.mark.parametrize("name", ["embedded", *WALL_MODELS])
def test_texts_cut_at_walls_give_the_ids_of_the_whole(request: pytest.FixtureRequest, name: str) -> None:
    if name != "embedded":
        request.getfixturevalue("hub")
    tokenizer = load_tokenizer(EMBEDDED if name == "embedded" else name)
    chance = random.Random(0)
    walls = sorted(tokenizer.vocab.isolating_token_ids)
    isolating_texts = {number: tokenizer.convert_ids_to_tokens(number) or "" for number in walls}
    others = [text for text in tokenizer.added_tokens if text not in tokenizer.vocab.isolating_texts]
    bodies = [*nasty_texts(code_files=0, random_texts=300), *others[:200], *(" " + text for text in others[:50])]
    bodies = [body for body in bodies if len(body) < 500 and not any(text in body for text in isolating_texts.values())]
    assert walls
    for _ in range(800):
        parts: list[str | int] = []
        for _ in range(chance.randrange(1, 5)):
            parts += ["".join(chance.choices(bodies, k=chance.randrange(3))), chance.choice(walls)]
        parts.append(chance.choice(bodies))
        whole = "".join(isolating_texts[part] if isinstance(part, int) else part for part in parts)
        pieces = [
            [part] if isinstance(part, int) else tokenizer.encode(part, add_special_tokens=False) for part in parts
        ]
        assert tokenizer.encode(whole, add_special_tokens=False) == list(itertools.chain(*pieces)), whole


def test_walls_of_real_models(hub: Path) -> None:
    phi, gemma, qwen = (load_tokenizer(name) for name in ("microsoft/phi-4", "google/gemma-3-4b-it", "Qwen/Qwen3-8B"))
    assert phi.vocab.isolating_token_ids == frozenset()
    assert qwen.vocab.isolating_token_ids == set(qwen.added_tokens.values())
    assert gemma.vocab.special_ids <= gemma.vocab.isolating_token_ids
    assert gemma.added_tokens["\n\n"] not in gemma.vocab.isolating_token_ids
    assert gemma.added_tokens["<start_of_turn>"] in gemma.vocab.isolating_token_ids


# ==================
# Bytes
# ==================


def test_byte_level_is_found_by_pipeline_and_vocabulary() -> None:
    assert is_byte_level(embedded())
    other = embedded()
    other.decoder = decoders.Fuse()
    assert not is_byte_level(other)
    bare = embedded()
    bare.pre_tokenizer = pre_tokenizers.Whitespace()
    assert not is_byte_level(bare)


def test_byte_level_of_real_models(hub: Path) -> None:
    assert load_tokenizer("Qwen/Qwen3-8B").vocab.byte_level
    assert not load_tokenizer("google/gemma-3-4b-it").vocab.byte_level
