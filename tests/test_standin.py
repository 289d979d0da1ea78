"""Stand-in tokenizers of bytes and control strings, here and in transformers."""

from __future__ import annotations

from pathlib import Path

import pytest

from renderers import EMBEDDED, adopt_tokenizer
from renderers.tokenizer import LoadedTokenizer
from tests.support.corpus import nasty_texts
from tests.support.parity import CORPUS
from tests.support.standin import BY_STEM, byte_tokenizer, control_strings, end_tokens, stand_in

TEMPLATES = [EMBEDDED / "chat_template.jinja", *CORPUS]


def test_every_byte_is_a_token_and_every_text_round_trips() -> None:
    tokenizer = byte_tokenizer(["<|end|>"])
    for text in nasty_texts(code_files=5, random_texts=200):
        if "<|end|>" not in text:
            ids = tokenizer.encode(text).ids
            assert ids == list(text.encode())
            assert tokenizer.decode(ids, skip_special_tokens=False) == text


@pytest.mark.parametrize(
    "text",
    "<|im_start|> <｜Assistant｜> <｜tool▁calls▁begin｜> [INST] [/INST] [gMASK] <start_of_turn> <think> </tool_call> "
    ']~b] ]~!b[ [e~[ <|turn> <turn|> <|"|> <seed:think> <SPECIAL_12> <|tool_call:begin|> ｜DSML｜'.split(),
)
def test_a_control_string_is_found_between_other_text(text: str) -> None:
    assert control_strings(f"{{{{ '{text}' + messages[0]['role'] }}}} a < b > c {text}x") == [text]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_control_strings_bos_and_eos_are_one_token_each_here_and_in_transformers(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    reference = stand_in(path)
    tokenizer = adopt_tokenizer(reference)
    assert isinstance(tokenizer, LoadedTokenizer)
    bos, eos = end_tokens(path.stem, source)
    assert (reference.bos_token, reference.eos_token, reference.chat_template) == (bos, eos, source)
    assert (tokenizer.bos_token, tokenizer.eos_token, tokenizer.chat_template) == (bos, eos, source)
    for text in {*control_strings(source), *filter(None, (bos, eos))}:
        ids = reference.encode(f"é{text}é", add_special_tokens=False)
        assert ids == tokenizer.encode(f"é{text}é", add_special_tokens=False)
        assert (ids[:2], ids[3:]) == ([195, 169], [195, 169]), text
        assert reference.convert_ids_to_tokens(ids[2]) == text
        assert ids[2] in tokenizer.all_special_ids


@pytest.mark.skipif(not CORPUS, reason="the corpus of templates is not available (set SHARED)")
def test_every_named_template_exists() -> None:
    assert BY_STEM.keys() <= {path.stem for path in CORPUS}
