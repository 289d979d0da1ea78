"""Text in other scripts than ASCII, made from English text.

Each English word is replaced by one made of characters of the script, always the same one. So line lengths, word
frequencies and punctuation are those of real text, and no corpus has to be downloaded.
"""

from __future__ import annotations

import functools
import random
import re

ASCII = "ASCII"
SCRIPTS = ("Chinese", "Arabic", "Hindi", "emoji", "mixed")

SHARES = {ASCII: 1.0, "Chinese": 0.35, "Arabic": 0.5, "Hindi": 0.35, "emoji": 0.7, "mixed": 0.6}
"""The length of a text relative to one in ASCII with about as many tokens."""

WORD = re.compile(r"[A-Za-z]+")

CHINESE = (
    "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会那后能对着事其里所去行过家"
    "十用发天如然作方成者多日都三小军二无同么经法当起与好看学进种将还分此心前面又定见只主没公从知现文件函数变量代码"
    "测试返回列表字符编译运行错误模块类型参数对象线程数据接口服务系统请求响应缓存内容消息工具调用结果检查更新删除创建"
)
ARABIC = "اااالللييمممونننررتتبعسدهكفقحجشصخطذغضزثئءى"
CONSONANTS = "कककरररनननतततससलमहपदयबवगजचधभशथखटडषणघठछझ"
VOWEL_SIGNS = ("ा", "ि", "ी", "ु", "े", "ो", "ं", "्", "", "", "", "")
EMOJI = "🙂 🚀 ✅ 🔥 ❤️ 👍🏽 👩‍💻 🇩🇪 🧪 🐍 📦 ⚠️ 🎉 🤔 💡 🛠️ 👨‍👩‍👧 🏳️‍🌈 1️⃣ 🫠".split()


def rewrite(text: str, script: str) -> str:
    """Return an English text in another script. Line breaks stay."""
    if script == "mixed":
        return "\n".join(_mixed_line(line, number) for number, line in enumerate(text.split("\n")))
    text = WORD.sub(lambda match: _word(match[0].lower(), script), text)
    if script == "Chinese":
        text = re.sub(r"(?<=[^\x00-\x7f]) (?=[^\x00-\x7f])", "", text).replace(", ", "，").replace(". ", "。")
    return text


def _mixed_line(line: str, number: int) -> str:
    """Return a line as it is, in another script, or with a comment in another script."""
    script = SCRIPTS[number // 3 % 4]
    match number % 3:
        case 0:
            return line
        case 1:
            return f"{line}  # {rewrite(line.strip()[:40], script)}"
        case _:
            return rewrite(line, script)


@functools.cache
def _word(word: str, script: str) -> str:
    rng = random.Random(f"{script} {word}")
    match script:
        case "Chinese":
            return "".join(rng.choices(CHINESE, k=1 if len(word) < 5 else 2))
        case "Arabic":
            return rng.choice(("", "", "ال")) + "".join(rng.choices(ARABIC, k=len(word)))
        case "Hindi":
            syllables = range(1 + len(word) // 2)
            return "".join(rng.choice(CONSONANTS) + rng.choice(VOWEL_SIGNS) for _ in syllables)
        case _:
            return word if rng.random() < 0.75 else f"{word} {rng.choice(EMOJI)}"
