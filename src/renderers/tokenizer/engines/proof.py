"""Compare an engine with the tokenizer: on texts made for the vocabulary, and for every character that is used."""

from __future__ import annotations

import itertools
import random
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

Encode = Callable[[list[str]], Sequence[Sequence[int]]]
"""A function that returns the ids of each text."""

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
_ROW = 16
_BMP = 0x10000


def probe_texts(*, words: Sequence[str], added: Collection[str] = ()) -> list[str]:
    """Return the texts that an engine must encode as the tokenizer does.

    They contain all pairs of ASCII characters, many scripts, runs of spaces, digits and letters, sequences that a
    normalizer composes, random mixtures, and `words`, which are texts of tokens. `added` are the added tokens that the
    engine must find in text.
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
        *(
            text
            for token in sorted(added)
            for text in (
                f"a{token}b",
                f"a {token} b",
                f"\n{token}\n",
                token * 2,
                token[:-1],
                token[1:],
                f" {token[:-1]} x",
            )
        ),
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


def differing(engine: Encode, truth: Encode, texts: list[str]) -> list[str]:
    """Return the texts for which an engine gives other ids than the tokenizer.

    >>> differing(lambda texts: [[1] for _ in texts], lambda texts: [[len(text)] for text in texts], ["a", "ab"])
    ['ab']
    """
    both = zip(texts, engine(texts), truth(texts), strict=True)
    return [text for text, ids, due in both if list(ids) != list(due)]


class ProvenCharacters:
    """The characters that an engine is known to encode as the tokenizer does, next to any kind of character.

    Engines have different tables of Unicode, so they disagree about single characters. A character is tried when a text
    first contains it; above U+FFFF, the aligned row of 16 is. Threads share an object without a lock: two that race may
    try a character twice.

    >>> characters = ProvenCharacters(lambda texts: [text for text in texts if "ж" in text])
    >>> characters.contain("naïve"), characters.contain("жук"), characters.refused
    (True, False, frozenset({'ж'}))
    """

    def __init__(self, differing: Callable[[list[str]], list[str]]) -> None:
        """Take a function that returns the texts for which the ids differ. ASCII characters must be proven already."""
        self._differing = differing
        self._proven = set(_ASCII)
        self.refused: frozenset[str] = frozenset()
        """The characters that are encoded differently, so far."""
        self._pattern = _only(self._proven)
        self._in_pattern = len(self._proven)

    def contain(self, text: str) -> bool:
        """Return True if all characters of a text are proven. Those that were never seen are tried."""
        if self._pattern.fullmatch(text) is not None:
            return True
        new = set(text) - self._proven
        if not new:
            return True
        if new & self.refused or any("\ud800" <= character <= "\udfff" for character in new):
            return False
        rows = {ord(character) // _ROW for character in new if ord(character) >= _BMP}
        neighbours = {chr(row * _ROW + at) for row in rows for at in range(_ROW)}
        self._prove(sorted(new | neighbours - self.refused))
        return new <= self._proven

    def _prove(self, characters: list[str]) -> None:
        probes = dict(zip(map(_contexts, characters), characters, strict=True))
        wrong = {probes[text] for text in self._differing(list(probes))}
        self.refused |= wrong
        self._proven.update(set(characters) - wrong)
        # Compiling takes as long as there are characters. The set is enough until a pattern has many more.
        if len(self._proven) > self._in_pattern + (self._in_pattern >> 4):
            self._pattern, self._in_pattern = _only(sorted(self._proven)), len(self._proven)


def _contexts(character: str) -> str:
    """Return a text with a character next to letters, digits, spaces, punctuation, line ends and itself."""
    c = character
    text = f"a{c}b  {c}  C{c}d1{c}2 {c}{c}{c}{c}.{c}!\n{c}\n\n{c}'s {c}x"
    # Marks are also put in order by a normalizer.
    return f"{text} e{c}\u0301\u0323{c} \u0323{c}" if unicodedata.combining(c) else text


def _only(characters: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches texts of these characters: one class, which `re` searches by table."""
    ranges: list[list[int]] = []
    for code in sorted(map(ord, characters)):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return re.compile("[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges) + "]*")
