"""Texts that tokenizers often get wrong."""

from __future__ import annotations

import random
import string
import sysconfig
from collections.abc import Iterator
from pathlib import Path

__all__ = ["code_points", "nasty_texts"]

HAND_WRITTEN = (
    "",
    " ",
    "\n",
    "Hello, world!",
    "don't DON'T I'll we'VE it's 'tis o'clock ’s",
    "  leading and trailing  ",
    "tabs\t\tand\n\n\nnewlines\r\n\r\n and \v\f rare ones\u2028\u2029\x85",
    "\n \n  \n   x\n\t \n",
    "1234567890 3.14159 1,000,000 1e-10 ١٢٣ ⅷ ²³ 12345678901234567890",
    "def f(x: int) -> None:\n\tif x != 0:  # no\n        return x**2 << 3\n",
    '{"a": [1, 2.5, null, true], "b": {"c": "\\u00e9\\n"}}',
    "<p class='x'>&amp; &#x27; <!-- --></p>",
    "SELECT * FROM t WHERE a = 'b''c'; -- end",
    "你好，世界！我在学习。繁體中文　全形ＡＢＣ１２３",
    "日本語のテキスト、カタカナ ｶﾀｶﾅ ー々〆",
    "한국어 텍스트 ㅎㅏㄴ \u1112\u1161\u11ab",
    "مرحبا بالعالم، كيف حالك؟ ١٢٣ \u064e\u064f",
    "שלום עולם \u05b0\u05b1 \u200f\u200e\u202b\u202c",
    "नमस्ते दुनिया \u0915\u094d\u0937 ไทยไม่มีช่องว่าง",
    "Привет, МИР! ёЁ Ω≈ç√∫ µ",
    "e\u0301 a\u030a\u0323 \u0338= >\u0338 \u0300\u0300\u0300 o\u0308\u0304",
    "ﬁ ﬂ ½ ㎏ ™ Å Å \u212b ſ ẞ ß İ ı ǅ",
    "🙂 👩‍👩‍👧‍👦 👍🏽 🇩🇪🇫🇷 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ☀️ ☀︎ #️⃣ 🫠🪿🩷",
    "\u200b\u200c\u200d\ufeff\u00ad\u2060 \u00a0\u3000\u2003\u202f",
    "\x00\x01\x1b[0m\x7f\x80\x9f",
    "\U0010ffff \ue000 \ufdd0 \ufffe \uffff \ufffd",
    "a" * 10_000,
    " " * 10_000,
    "\n" * 1_000,
    "=" * 3_000 + "-" * 3_000,
    "ab" * 5_000,
    "是" * 3_000,
    "🙂" * 1_000,
    "0" * 2_000,
    "\u0301" * 500,
    "A.B.C. e.g. i.e. ... !!! ??? ,,, ;;; ::: ''' \"\"\" ``` *** ___ --- ~~~ ### @@@ %%% ^^^ &&& $$$ |||",
    "<|im_start|> <|im_end|><|endoftext|> <think> </think> <tool_call>\n{}\n</tool_call> [INST] [/INST] <s> </s>",
    "<|im_start|",
    "<|",
    "|>",
    "<think",
    "think>",
    "<<think>>",
    " <think> ",
    "<THINK>",
)


def nasty_texts(*, code_files: int = 24, random_texts: int = 240, seed: int = 0) -> Iterator[str]:
    """Yield hand-written edge cases, source code, and random mixtures of both."""
    yield from HAND_WRITTEN
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:code_files]:
        yield path.read_text(encoding="utf-8")[:20_000]
    chance = random.Random(seed)
    parts = [*HAND_WRITTEN[:26], *string.printable, " ", "  ", "\n"]
    for _ in range(random_texts):
        yield "".join(_random_part(chance, parts) for _ in range(chance.randrange(1, 12)))


def _random_part(chance: random.Random, parts: list[str]) -> str:
    kind = chance.random()
    if kind < 0.5:
        part = chance.choice(parts)
        start = chance.randrange(len(part) + 1)
        return part[start : start + chance.randrange(1, 20)]
    low, high = chance.choice([(0x20, 0x7F), (0xA0, 0x2FFF), (0x3000, 0x9FFF), (0xE000, 0xFFFF), (0x10000, 0x1FAFF)])
    return "".join(map(chr, (chance.randrange(low, high + 1) for _ in range(chance.randrange(1, 6)))))


def code_points(template: str, *, per_text: int = 512) -> Iterator[str]:
    """Yield texts that contain every assigned code point, and some of the others, each formatted with the template."""
    planes = range(0x40000), range(0xE0000, 0xE1000), range(0x40000, 0x110000, 16)
    scalars = [point for points in planes for point in points if not 0xD800 <= point < 0xE000]
    for start in range(0, len(scalars), per_text):
        yield "\n".join(template.format(chr(point)) for point in scalars[start : start + per_text])
