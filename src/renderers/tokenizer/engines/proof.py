"""Texts on which an engine is compared with the tokenizer."""

from __future__ import annotations

import itertools
import random
import unicodedata
from collections.abc import Iterator, Sequence

_ASCII = "".join(map(chr, range(128)))
_KINDS = (
    "aeiost",
    "AEIOST",
    "0123456789",
    " ",
    " \n",
    "\r\n\t",
    "'",
    ".,-_/<>(){}",
    "éßñж中文字ひ한ع",
    "🙂́\u200d\ufe0f",
    _ASCII,
)
_SAMPLES = (
    "Hello, world! It's 12:30; don't, we'll, I'VE, you're, O'Neil's, 'tis, rock'n'roll.",
    "def f(x: int = 0x1F) -> list[str]:\n\treturn [f'{x!r:>10}' for _ in range(10_000)]  # 3.14e-10\r\n\r\n",
    '{"name": "get_weather", "arguments": {"city": "Zürich", "days": [1, 22, 333, 4444, 55555]}}\n',
    '<div class="a b">&nbsp;&#160;</div><br/>\n\n\n    if (a && b || !c) { return a ? b : c; } // ok',
    "| a | b |\n|---|--:|\n| 1 | **2** |\n\n> quote\n\n- [x] done\n1. first\n```python\npass\n```",
    "https://example.com/a%20b?q=1&r=%E2%9C%93#top user@example.org C:\\Users\\x ~/.config",
    "$x^2 + \\frac{a}{b} \\leq \\sum_{i=0}^{n} \\alpha_i$ ½ ² ³ Ⅷ ① ٣ ३ 三 ≠ ∑ √ ∞ € £ ¥",
    "Größe, naïve café, Łódź, Đặng, Příliš žluťoučký kůň, İstanbul'da, ǅ ﬁ ŉ",
    "Съешь же ещё этих мягких французских булок. Ο γρήγορος άσσος. Արագ աղվեսը. სწრაფი მელა",
    "敏捷的棕色狐狸跳过了懒狗。「引用」，１２３ＡＢＣ！すばやい茶色の狐がﾃｽﾄ。빠른 갈색 여우는 개를 뛰어넘는다.",
    "الثعلب البني السريع يقفز فوق الكلب، ١٢٣؟ שועל מהיר קופץ מעל כלב. גֶּרֶשׁ",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है। १२३ দ্রুত বাদামী শিয়াল வேகமான நரி สุนัขจิ้งจอก",
    "🙂👍🏽👩‍👩‍👧‍👦🏳️‍🌈🇩🇪🇯🇵 ok😀😀 ❤️ ☕ ©️ 1️⃣ \U0001fae0\U0001fae8\U0001faf8\U0001f6dc",
    "e\u0301 a\u0323\u0302 \u1100\u1161\u11a8 q\u0301\u0323 \u0344 \u2126\u212b \u0958 \ufb1d x\u0338=\u0338",
    "a\u00a0b\u2003c\u3000d\u200be\u200fz\u2028f\u2029g\ufeffh\u00adi\u180ej\u2060k\u0085l",
    "Zal\u0335\u031bgo\u0321\u0310 t\u0336\u030de\u0334\u0300 \U0001d400\U0001d7d8 \U00020000 \ue000 \uffff \U0010ffff",
)
_SPACES = (" ", "\n", "\t", "\r\n", " \n", "\n ", "\r", "\u00a0", "\u3000", "\f", "\v")
_LENGTHS = (*range(1, 20), 24, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 1000)


def probe_texts(*, words: Sequence[str]) -> list[str]:
    """Return the texts that an engine must encode as the tokenizer does.

    They contain all pairs of ASCII characters, many scripts, runs of spaces, digits and letters, sequences that a
    normalizer composes, random mixtures, and `words`, which are texts of tokens.
    """
    return [
        "",
        *_SAMPLES,
        *(sample.upper() for sample in _SAMPLES),
        *(first + second * 2 + other for first, second, other in itertools.product("a.1", _SPACES, "a.1")),
        *(f"{start}{space * length}{end}" for space in _SPACES for length in _LENGTHS for start, end in ("ab", ".\n")),
        *(letter * length for letter in "0aA.-='中🙂" for length in _LENGTHS),
        *("".join(first + second for second in _ASCII) for first in _ASCII),
        *_composed_sequences(),
        *_mixtures(random.Random(0)),
        *_sentences(words),
    ]


def _composed_sequences() -> Iterator[str]:
    """Yield the decomposition of every character that has one, a few in a text."""
    decomposed = [
        unicodedata.normalize("NFD", character)
        for character in map(chr, itertools.chain(range(0x80, 0x3100), range(0xF900, 0xFB50), range(0x11000, 0x11A00)))
        if not unicodedata.is_normalized("NFD", character)
    ]
    for start in range(0, len(decomposed), 8):
        yield "x".join(decomposed[start : start + 8])


def _mixtures(chance: random.Random) -> Iterator[str]:
    for _ in range(150):
        kinds = chance.choices(_KINDS, k=60)
        yield "".join(chance.choice(kind) for kind in kinds for _ in range(chance.randrange(4)))


def _sentences(words: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(words), 10):
        group = words[start : start + 10]
        yield " ".join(group)
        yield "".join(group)


def contexts_of(character: str) -> str:
    """Return a text with a character next to letters, digits, spaces, punctuation, line ends and itself."""
    c = character
    text = f"a{c}b  {c}  C{c}d1{c}2 {c}{c}{c}{c}.{c}!\n{c}\n\n{c}'s {c}x"
    # Marks are also put in order by a normalizer.
    return f"{text} e{c}\u0301\u0323{c} \u0323{c}" if unicodedata.combining(c) else text
