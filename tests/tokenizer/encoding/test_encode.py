"""Pieces between walls give the ids of the whole text."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers

from renderers import EMBEDDED, LoadedTokenizer, UnencodableTextError, adopt_tokenizer, load_tokenizer
from renderers.core.spans import Channel, LabelledSpan
from renderers.core.tokens import TokenRun
from renderers.rendering.control_text import find_special_tokens
from renderers.tokenizer.encoding.encode import (
    Cuts,
    _aligned,
    _near_an_end,
    _Piece,
    _Places,
    _sized,
    cut_at_isolating_tokens,
    cut_at_own,
    encode_labelled,
    encode_text,
    locate_marks,
)
from renderers.tokenizer.encoding.token_sizes import TokenSizes, replaces_only_spaces
from renderers.tokenizer.vocab import Vocab
from tests.support.corpus import nasty_texts
from tests.support.models import one_model_per_vocabulary

LONG = 1_000


def with_control_texts(tokenizer: LoadedTokenizer, texts: list[str]) -> list[str]:
    """Puts the tokenizer's own control texts into texts: at the ends, next to each other, cut short, after spaces.

    Long texts, of which encoding takes its time, get these forms in turn.
    """
    tokens = sorted(tokenizer.added_tokens, key=lambda token: (len(token), token))
    chosen = [*tokens[:12], *tokens[-12:], *tokens[:: max(1, len(tokens) // 20)]]
    found: list[str] = []
    for at, text in enumerate(texts):
        one, other = chosen[at % len(chosen)], chosen[(at * 7 + 3) % len(chosen)]
        forms = [
            one + text + other,
            f"{text} {one}\n{other}{one}{text}",
            f"{text}{one[:-1]}{other}\u0301 {one[1:]}",
        ]
        found += forms if len(text) < LONG else [forms[at % 3]]
    return found


def at_walls(tokenizer: LoadedTokenizer, text: str) -> Cuts:
    return cut_at_isolating_tokens(tokenizer, find_special_tokens(text, tokenizer.vocab.reserved_texts))


def check_ids(tokenizer: LoadedTokenizer, text: str) -> None:
    """The ids are those of the whole text, and so they are where every mark in it is the template's own."""
    whole = tokenizer.encode(text, add_special_tokens=False)
    assert encode_text(tokenizer, text, at_walls(tokenizer, text)) == whole
    own = cut_at_own(tokenizer, text, find_special_tokens(text, tokenizer.vocab.reserved_texts))
    assert encode_text(tokenizer, text, own) == whole
    check_plain(tokenizer, text)


def check_plain(tokenizer: LoadedTokenizer, text: str) -> None:
    """Without any mark of the template's own nothing becomes a control token, and the text is the same."""
    reserved = {tokenizer.added_tokens[control] for control in tokenizer.vocab.reserved_texts}
    cuts = Cuts([], tokenizer.vocab.plain)
    ids = encode_text(tokenizer, text, cuts)
    assert reserved.isdisjoint(ids)
    assert spaced(tokenizer.decode(ids)) == spaced(tokenizer.vocab.normalized(text))
    marks = find_special_tokens(text, tokenizer.vocab.reserved_texts)
    for mark, (start, end) in zip(marks, locate_marks(tokenizer, text, cuts, marks), strict=True):
        assert start < end
        assert spaced(mark.text) in spaced(tokenizer.decode(ids[start:end]))


def spaced(text: str) -> str:
    # Gemma's vocabulary has the one for the other.
    return text.replace("▁", " ")


@pytest.mark.parametrize("name", one_model_per_vocabulary())
def test_real_tokenizers_give_the_ids_of_the_whole_text(name: str, hub: object) -> None:
    tokenizer = load_tokenizer(name)
    for text in with_control_texts(tokenizer, list(nasty_texts(code_files=2, random_texts=60))):
        check_ids(tokenizer, text)


def test_the_embedded_one_does() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    assert tokenizer.vocab.isolating_texts
    for text in ["", *with_control_texts(tokenizer, list(nasty_texts(code_files=2, random_texts=80)))]:
        check_ids(tokenizer, text)


class Letters:
    """A caller's own tokenizer: a token for each character."""

    name_or_path = "letters"
    eos_token_id = unk_token_id = None

    def encode(self, text: str) -> list[int]:
        return list(map(ord, text))

    def decode(self, ids: list[int]) -> str:
        return "".join(map(chr, ids))

    def convert_tokens_to_ids(self, token: str) -> int:
        return ord(token)


def test_a_tokenizer_of_a_callers_own_gets_the_whole_text() -> None:
    assert encode_text(adopt_tokenizer(Letters()), "<|end|>é", Cuts([])) == list(map(ord, "<|end|>é"))


@pytest.mark.parametrize("plain", [False, True])
def test_a_lone_surrogate_is_refused_by_its_place(plain: bool) -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    cuts = Cuts([], tokenizer.vocab.plain if plain else None)
    with pytest.raises(UnencodableTextError, match=r"U\+D800"):
        encode_text(tokenizer, "a<|end|>b\ud800", cuts)


def labelled(borders: list[int], size: int) -> list[LabelledSpan]:
    """Cuts a text into labels that differ from their neighbours."""
    places = sorted({0, size, *(border for border in borders if border < size)})
    return [
        LabelledSpan(start, end, at, ("content",), Channel.CONTENT, at % 2 == 0, True)
        for at, (start, end) in enumerate(itertools.pairwise(places))
    ]


def check_labels(tokenizer: LoadedTokenizer, text: str, borders: list[int]) -> None:
    """Each token has the label of its first character, by the offsets of the tokenizer itself."""
    labels = labelled(borders, len(text))
    ids, runs, straddling = encode_labelled(tokenizer, text, at_walls(tokenizer, text), labels)
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    assert ids.tolist() == encoded.input_ids
    got = [run.message for run, count in zip(runs, sizes(runs), strict=True) for _ in range(count)]
    expected = [
        next(one.message for one in labels if one.start <= start < one.end) for start, _ in encoded.offset_mapping
    ]
    assert got == expected, text
    across = [
        at
        for at, (start, end) in enumerate(encoded.offset_mapping)
        if any(start < one.end < end for one in labels[:-1])
    ]
    assert list(straddling) == across, text


def sizes(runs: tuple[TokenRun, ...]) -> list[int]:
    return [end - start for start, end in itertools.pairwise([0, *(run.end for run in runs)])]


@pytest.mark.parametrize("name", one_model_per_vocabulary())
def test_each_token_of_a_real_tokenizer_has_the_label_of_its_first_character(name: str, hub: object) -> None:
    tokenizer = load_tokenizer(name)
    chance = random.Random(name)
    for text in with_control_texts(tokenizer, list(nasty_texts(code_files=1, random_texts=40))):
        if text:
            check_labels(tokenizer, text, [chance.randrange(len(text)) for _ in range(6)])


@settings(deadline=None)
@given(st.text(max_size=30), st.lists(st.integers(0, 30), max_size=4))
def test_each_token_of_the_embedded_one_does(text: str, borders: list[int]) -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    text += "<|end|>é"
    check_labels(tokenizer, text, borders)


@pytest.mark.parametrize("layout", ["\t", "\r\n", "  "])
def test_an_added_token_that_is_layout_keeps_its_ids(layout: str) -> None:
    backend = Tokenizer.from_file(str(EMBEDDED / "tokenizer.json"))
    backend.add_tokens([AddedToken(layout, normalized=False)])
    tokenizer = adopt_tokenizer(backend)
    assert isinstance(tokenizer, LoadedTokenizer)
    for text in (f"a{layout}b", f"{layout}<|end|>x{layout}{layout}", layout):
        whole = backend.encode(text, add_special_tokens=False).ids
        assert encode_text(tokenizer, text, at_walls(tokenizer, text)) == whole
        own = cut_at_own(tokenizer, text, find_special_tokens(text, tokenizer.vocab.reserved_texts))
        assert encode_text(tokenizer, text, own) == whole


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "google/gemma-3-4b-it", "google/gemma-4-31B-it", "microsoft/phi-4"])
def test_places_by_sizes_are_those_of_the_tokenizer(name: str, hub: object) -> None:
    vocab = load_tokenizer(name).vocab
    texts = [text[:2_000] for text in nasty_texts(code_files=2, random_texts=100) if text]
    texts = [text for text in texts if not any(token in text for token in vocab.isolated_texts)]
    sized = 0
    for text, encoded in zip(texts, vocab.encode_pieces(texts), strict=True):
        piece = _Piece(0, text, encoded.ids, encoded)
        places = _sized(vocab, piece)
        if places is None:
            continue
        sized += 1
        by_sizes, by_offsets = _Places(places, text), _Places(_aligned(vocab, piece), text)
        for at in range(0, len(text), 7):
            assert by_sizes.across(at).stop == by_offsets.across(at).stop, (text, at)
    assert sized > 0.8 * len(texts)


def test_attribution_does_not_encode_a_piece_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    text = "naïve text, 你好 and more of it " * 20
    labels = [LabelledSpan(0, 300, 0, (), Channel.CONTENT, True, True)]
    labels.append(LabelledSpan(300, len(text), 1, (), Channel.CONTENT, False, True))
    first = encode_labelled(tokenizer, text, Cuts([]), labels)
    for name in ("encode", "offsets", "normalized"):
        monkeypatch.setattr(Vocab, name, None)
    assert encode_labelled(tokenizer, text, Cuts([]), labels) == first


def test_spaces_of_gemma_are_one_byte_and_text_with_its_space_character_is_aligned() -> None:
    tokens = {"<unk>": 0, "▁": 1, "a": 2, "▁a": 3, **{f"<0x{byte:02X}>": 4 + byte for byte in range(256)}}
    backend = Tokenizer(models.BPE(tokens, [("▁", "a")], byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    backend.normalizer = normalizers.Replace(" ", "▁")
    assert replaces_only_spaces(backend)
    sizes = TokenSizes(backend, {}, byte_level=False)
    assert [sizes[number] for number in backend.encode("a a é").ids] == [1, 2, 1, 1, 1]
    for change in (normalizers.Lowercase(), normalizers.Sequence([backend.normalizer, normalizers.NFC()])):
        backend.normalizer = change
        assert not replaces_only_spaces(backend)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "google/gemma-3-4b-it", "moonshotai/Kimi-K2-Instruct"])
def test_borders_near_an_end_are_those_of_the_tokenizer(name: str, hub: object) -> None:
    vocab = load_tokenizer(name).vocab
    texts = [text[:300] for text in nasty_texts(code_files=0, random_texts=300) if text]
    texts = [text for text in texts if not any(token in text for token in vocab.isolated_texts)]
    near = 0
    for text, encoded in zip(texts, vocab.encode_pieces(texts), strict=True):
        piece = _Piece(0, text, encoded.ids, encoded)
        places = _Places(_aligned(vocab, piece), text)
        for at in range(1, len(text)):
            tokens = _near_an_end(vocab, piece, at)
            if tokens is not None:
                near += 1
                assert tokens.stop == places.across(at).stop, (text, at)
    assert near > 3_000
