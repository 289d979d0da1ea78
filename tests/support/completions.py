"""Completions to parse, stand-in vocabularies, ways to split into chunks, and the invariants of every parse.

Every token belongs to exactly one event, in order, and the events add up to the parsed message.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from renderers import ChatRenderer
from renderers.core.completions import (
    ContentDelta,
    ParsedResponse,
    ParseEvent,
    ReasoningDelta,
    Region,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallParseStatus,
)
from renderers.parsing.compiled import CompiledGrammar, compile_grammar, markers_within
from renderers.parsing.grammar import SPACES, Edges, Grammar, ReasoningFormat
from renderers.parsing.lenient_json import read_json
from renderers.parsing.parser import ResponseParser
from renderers.parsing.pieces import NO_PIECES
from renderers.parsing.tool_formats import TOOL_FORMATS
from renderers.tokenizer.encoding.byte_text import ByteTexts, TokenTexts, to_byte_text
from tests.support.call_formats import Call, format_calls
from tests.support.standin import byte_tokenizer

__all__ = [
    "HUB",
    "OWN",
    "ROME",
    "SEARCH",
    "STOPS",
    "TEMPLATE_ONLY",
    "UNSEEN",
    "Reader",
    "Reading",
    "Vocabulary",
    "assert_accounted",
    "completions",
    "followed_calls",
    "grammar_of",
    "in_two",
    "one_by_one",
    "random_chunks",
    "read",
    "reader_of",
    "reader_of_bytes",
    "reader_of_pieces",
    "turn",
]

STOPS = "<|stop|>", "<|eos|>"

HUB = {
    "hermes": "Qwen/Qwen3-8B",
    "qwen_xml": "Qwen/Qwen3.5-9B",
    "seed_xml": "ByteDance-Seed/Seed-OSS-36B-Instruct",
    "glm": "zai-org/GLM-4.5-Air",
    "kimi": "moonshotai/Kimi-K2.5",
    "deepseek_v3": "deepseek-ai/DeepSeek-V3",
    "deepseek_v31": "deepseek-ai/DeepSeek-V3.1",
    "deepseek_v4": "deepseek-ai/DeepSeek-V4-Flash-0731",
    "minimax": "MiniMaxAI/MiniMax-M2",
    "gemma": "google/gemma-4-31B-it",
    "llama": "meta-llama/Llama-3.2-1B-Instruct",
    "mistral": "mistralai/Ministral-3-14B-Reasoning-2512",
    "harmony": "openai/gpt-oss-20b",
}
"""A real model for each tool-call format with a vocabulary to test with."""

TEMPLATE_ONLY = {
    "apertus": "llamacpp__Apertus-8B-Instruct",
    "atem": "llamacpp__muse-glimmer",
    "solar": "llamacpp__upstage-Solar-Open-100B",
    "kimi_k3": "llamacpp__Kimi-K3",
    "command": "llamacpp__CohereForAI-c4ai-command-r7b-12-2024-tool_use",
    "command_r": "llamacpp__CohereForAI-c4ai-command-r-plus-tool_use",
    "functionary": "llamacpp__meetkai-functionary-medium-v3.1",
    "gigachat": "llamacpp__GigaChat3.1-10B-A1.8B",
    "granite": "llamacpp__ibm-granite-granite-3.3-2B-Instruct",
    "jamba": "llamacpp__Apriel-1.6-15b-Thinker-fixed",
    "lfm2": "llamacpp__LFM2.5-8B-A1B",
    "mistral_list": "llamacpp__mistralai-Mistral-Nemo-Instruct-2407",
    "phi4_mini": "llamacpp__fireworks-ai-llama-3-firefunction-v2",
    "deepseek_v32": "llamacpp__deepseek-ai-DeepSeek-V3.2",
    "hy3": "llamacpp__tencent-Hy3",
    "minimax_m3": "llamacpp__MiniMax-M3",
    "minicpm": "llamacpp__openbmb-MiniCPM5-1B",
}
"""A template of the corpus for each tool-call format that has one, but no vocabulary to test with."""

UNSEEN = {
    *("deepseek_v41", "hy3_plain", "step3", "functiongemma", "dots"),
    *("inkling", "olmo", "pythonic", "xlam"),
}
"""The tool-call formats without a template to test with."""

ROME, SEARCH = Call("get_weather", {"city": "Rom é", "days": 3}), Call("search", {"query": "🙂 <b>\n1 < 2"})

OWN: dict[str, tuple[str, ...]] = {
    "hermes": (
        '<tool_call>{"name": "a"}<tool_call>{"name": "b"}</tool_call>',
        '<tool_call><tool_call>\n{"name": "a", "arguments": "x"}\n</tool_call></tool_call>',
        "<tool_call></tool_call><tool_call> </tool_call>",
        '<tool_call>{"name": "functions.search:0", "arguments": {"query": "é"}}</tool_call>',
    ),
    "qwen_xml": (
        "<tool_call><function=a><parameter=x>\n</parameter>\n</parameter></function></tool_call>",
        "<tool_call>\n<function=a>\n<parameter=x>\n1\n</tool_call>",
        "Look:\n<function=search>\n<parameter=query>\né\n</parameter>\n</function>\n</tool_call>\nThen.",
        "<function=search</function><function=search><|stop|><function=unknown></function>",
        "<function=search>\n</function>" + " " * 300 + "<function=" + "a" * 300,
        "<tool_call><function=a></function>\n<function=b></function></tool_call><function=search>",
    ),
    "minicpm": (
        '<function name="a"><param name="x"><![CDATA[</param></function>é]]></param></function>Then.',
        '<functionname="a"><paramname="x">1</param></function><function name="a"><param name="x"><![CDATA[</function>',
        '<function name="a"><param name="x"><![CDATA[a<|stop|>]]></param></function>',
    ),
    "dots": (
        '<dots_function_call><invoke name="a"></invoke>\n<invoke name="b"></invoke></dots_function_call>é',
        '<dots_function_call>{"name": "a", "arguments": {"x": 1}}</dots_function_call><dots_function_call>é',
    ),
    "seed_xml": ("<seed:tool_call><function=a><parameter=x>1</parameter></function></seed:tool_call><seed:tool_call>",),
    "glm": (
        "<tool_call>a<arg_key>x</arg_key><arg_value>1</arg_value></tool_call>\nAnd é.",
        "<tool_call>a\n<arg_key>x</arg_key>\n<arg_value></arg_value></arg_value>\n</tool_call>",
    ),
    "kimi": (
        "<|tool_call_begin|>functions.a:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
        "<|tool_calls_section_begin|> \n <|tool_call_begin|>a:1<|tool_calls_section_end|>Then.",
        "<|tool_calls_section_begin|>é<|tool_call_begin|>a<|tool_call_end|> é <|tool_calls_section_end|>",
    ),
    "kimi_k3": (
        '<|open|>tools<|sep|><|open|>call tool="a" index="1"<|sep|><|open|>argument key="é" type="null"<|sep|>null',
        "<|open|>tools<|sep|><|open|>call<|close|>call<|sep|>é<|close|>tools<|sep|>é",
        '<|open|>call tool="a"<|sep|><|close|>call<|sep|>',
    ),
    "inkling": (
        "é<|end_message|>é<|content_text|>a<|content_thinking|>é",
        '<|content_thinking|>é<|content_invoke_tool_json|>{"name":"a<|message_model|>',
        "<|message_model|><|message_model|><|end_message|><|stop|>é",
    ),
    "atem": (
        " to=self<|message|>é<|start|>tool x<|message|>é<|eom|>",
        '<|start|>assistant to=a<|message|><atem:function_calls><atem:invoke name="a"><|stop|>é',
        " to=a<|message|><|message|><|eom|><|start|>",
    ),
    "solar": (
        "<|think|>é<|end|><|begin|>assistant<|content|>a<|end|><|stop|>é",
        "<|tool_calls|>é<|tool_call:begin|>1<|tool_call:name|>a<|tool_call:args|>{<|tool_call:begin|><|calls|>",
        "<|begin|>user<|content|>é<|begin|>assistant<|tool_calls|><|tool_call:begin|>1<|tool_call:name|>a",
    ),
    "deepseek_v3": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>a\n```json\n{}\n```<｜tool▁calls▁end｜>",
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>a\n{}<｜tool▁call▁end｜>",
    ),
    "deepseek_v31": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>a<｜tool▁sep｜>{}<｜tool▁call▁end｜>｜<｜tool▁calls▁",
        "<｜tool▁calls▁begin｜><｜tool▁calls▁begin｜><｜tool▁calls▁end｜><｜tool▁calls▁end｜>",
    ),
    "deepseek_v32": (
        '<｜DSML｜function_calls><｜DSML｜invoke name="a"><｜DSML｜parameter name="x">1</｜DSML｜function_calls>',
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="a">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls> é',
        '<｜DSML｜invoke name="a"></｜DSML｜invoke>',
    ),
    "deepseek_v4": (
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="a"><｜DSML｜invoke name="b"></｜DSML｜invoke></｜DSML｜tool>',
        '<｜DSML｜tool><｜DSML｜invoke name="é"></｜DSML｜invoke></｜DSML｜tool_calls>',
        "<｜DSM some text, ｜DSML｜ and <｜DSML｜tool_call>é",
    ),
    "deepseek_v41": (
        '<｜DSML｜ calls>\n<｜DSML｜ invoke name="a">\n<｜DSML｜ parameter name="x" string="false">[1]</｜DSML｜',
        "<｜DSML｜ calls></｜DSML｜ calls>",
    ),
    "minimax": (
        '<minimax:tool_call><invoke name="a"><parameter name="x">1</parameter></minimax:tool_call>',
        '<minimax:tool_call><invoke name="</invoke><invoke name="a"></invoke>',
    ),
    "jamba": (
        '<tool_calls>[{"name": "a"}, {"name": "b", "arguments": {"x": "]</tool_calls>"}}]</tool_calls>',
        '<tool_calls>{"name": "a"} é {"name": "b"}; junk</tool_calls>é<tool_calls>[]</tool_calls>',
        '<tool_calls>[{"name": "a"}, {"name": "b", "argu<|stop|>',
        '<tool_calls>[{"name": "a"}]<|stop|>é',
    ),
    "mistral": (
        '[TOOL_CALLS]a[CALL_ID]0123456ab[ARGS]{"x": "é"}[TOOL_CALLS]b{} é<|stop|>',
        "é[TOOL_CALLS]a<|stop|>",
        '[TOOL_CALLS] [{"name": "a", "arguments": {}}, {"name": "b"}]',
        "[TOOL_CALLS][TOOL_CALLS][ARGS]{é",
    ),
    "mistral_list": (
        '[TOOL_CALLS] [{"name": "a", "arguments": {}, "id": "0123456ab"}, {"name": "b"}]<|stop|>',
        'é[TOOL_CALLS][{"name": "a"}][TOOL_CALLS]{"name": "b"}',
        '[TOOL_CALLS][{"name": "é',
    ),
    "command": (
        '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "a", "parameters": {}}\n]<|END_ACTION|>é',
        '<|START_ACTION|>[{"tool_name": "a"}, é]<|END_ACTION|>',
        "<|START_ACTION|>",
    ),
    "command_r": ('Action:\n```json\n[{"tool_name": "a"}]```\né', "Action:\n```json\n[é```", "Action:\n```jso"),
    "granite": ('<|tool_call|> [{"name": "a"}]\n', '<tool_call> [{"name": "a"}]<|stop|>é', "<|tool_call|>é<|stop|>"),
    "phi4_mini": ('functools[{"name": "a"}]\n', "functools[] é", 'functo é functools{"name": "a"'),
    "hy3": (
        "<tool_call:opensource>a<tool_sep:opensource></tool_call:opensource>",
        "<tool_calls:opensource>é<tool_call:opensource>a<tool_sep:opensource>b</tool_call:opensource> é",
    ),
    "hy3_plain": ("<tool_calls><tool_call>a<tool_sep>\n</tool_call>\n</tool_calls>Then é.",),
    "minimax_m3": (
        ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="a">]<]minimax[>[<x>1]<]minimax[>[</invoke>',
        ']<]minimax[>[<invoke name="a">é]<]minimax[>[</y>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>',
        ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="a">]<]minimax[>[<x>]<]minimax[>[<y>é]<]minimax[>[</x>b',
    ),
    "step3": (
        '<｜tool_calls_begin｜><｜tool_call_begin｜><steptml:invoke name="a"></steptml:invoke><｜tool_call_end｜> é',
        '<｜tool_call_begin｜>b<｜tool_sep｜><steptml:invoke name="a">é<｜tool_call_end｜>Then.',
    ),
    "gemma": (
        '<|tool_call>call:a{x:<|"|>é<|"|>}<tool_call|>Then é.<|tool_call>call:a{x:<|"|>',
        '<|tool_call>a{x:[1,{y:None}],<|"|>z<|"|>:é}<tool_call|><|tool_call><tool_call|>',
        "<|tool_call>call:a{x:{{{[[[<tool_call|><|tool_call>call:a{x<tool_call|>",
    ),
    "functiongemma": ("<start_function_call>call:a{x:<escape>1<escape>}<end_function_call>é<start_function_call>",),
    "apertus": (
        '<|tools_prefix|>[{"a": {"x": 1}}, {"b": "é"}]<|tools_suffix|>é',
        '<|tools_prefix|>[{"a": {}, "b": {}}, {"é": {<|stop|>',
    ),
    "functionary": ('<function=a>{"x": "é"}</function> é', "<function=é{}</function><function=a>", "<function="),
    "gigachat": (
        '<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "a"}<|stop|>é',
        '<|function_call|>{"name": "a"} é<|function_call|>{"name": "é',
        "<|message_sep|>\n\nfunction é",
    ),
    "lfm2": (
        "<|tool_call_start|>[a(x='it's', y='é'), b()]<|tool_call_end|>\né",
        '<|tool_call_start|>[{"name": "a"}]<|tool_call_end|><|tool_call_start|>[]<|tool_call_end|>',
        "<|tool_call_start|>[a(x=1), b(x='é<|stop|>",
        "<|tool_call_start|> a é b(x=[1, 2]) é<|tool_call_end|>",
        "<|tool_call_start|>[a(x='é<|tool_call_end|>', y=1)]<|tool_call_end|>é<|tool_call_start|>[a(x='é<|stop|>",
        "<|tool_call_start|>[a(x='é<|tool_call_end|><|tool_call_start|>[a(x='é')]<|tool_call_end|><|stop|>",
    ),
    "olmo": ("<function_calls>\na(x=1)\nb(y=null)\n</function_calls>é", "<function_calls>a(x=é, y=2)</function_calls>"),
    "pythonic": (
        "[a(x=1), b(y='é')] ",
        "<|python_start|>[a(x=1)]<|python_end|><|stop|>",
        "Look: <|python_start|>[a(x=1)]<|python_end|>é",
        "[a(x=1)] and more",
        "[search(query='é",
        "[é]",
        "[",
    ),
    "xlam": (
        '```json\n[{"name": "a", "arguments": {}}]\n```<|stop|>',
        '[TOOL_CALLS][{"name": "a", "arguments": {"x": "é"}}]',
        'é<tool_call>[{"name": "a", "arguments": {}}]</tool_call>é',
        '[{"name": "search", "argu',
        "[1, 2] é",
        "```python\né```",
    ),
    "llama": (
        '<|python_tag|>{"name": "a", "parameters": {}}',
        '<|python_tag|>{"name": "é", "parameters": {}} ; {"name": "b", "arguments": {}}  <|stop|>',
        '\n {"name": "a", "parameters": {"x": "<|python_tag|>"}}',
        "<|python_tag|>print(1)",
        '{"name": "a"} and more',
        '{"x": 1}; {',
        "{",
        '{"name": "search", "parameters": {"query": "é',
        '{"name": "search", "parameters": {"query": "voilà',
        '{"name": "search", "parameters": {"query": "à \n<|stop|>',
        '<|python_tag|>{"name": "search", "parameters": {é}<|stop|>é',
        '{"name": "a", "parameters": {}}\n{"name": "search"}; {"name": "search", "arguments": ',
        '{"name": "search", "parameters": {}}\n\n{"name": "unknown", ',
    ),
    "harmony": (
        "<|channel|>analysis<|message|>é<|end|><|start|>assistant<|channel|>analysis<|message|>ü<|stop|>",
        "<|start|>assistant to=functions.a<|channel|>commentary json<|message|>{}<|call|>",
        "<|channel|>commentary<|message|>First.<|end|><|start|>assistant<|channel|>final<|message|>Then.",
        "<|channel|>final<|channel|>analysis<|message|>a<|start|>assistant<|channel|>final<|message|>b",
        "<|channel|>analysis" + " no message" * 40,
        "no header" + " at all é" * 40 + "<|end|>é",
        "<|message|>é<|end|><|message|><|end|><|message|>🙂",
        "<|start|><|start|>",
        "<|channel|>analysis<|message|>éassistantcommentary to=functions.search <|constrain|>json<|message|>{}<|call|>",
        "<|channel|>analysis<|message|>The assistantfinal, assistant to=é commentary to=<|message|>é<|end|>",
        "<|channel|>analysis<|message|>é<|end|>assistant to=functions.search<|channel|>commentary<|message|>{}<|call|>",
        " to=functions.searchcommentary <|constrain|>json<|message|>{}<|call|>",
        " to=functions.search {}<|call|><|start|>assistant<|channel|>functions.search<|message|>{}<|call|>",
        " to=functions.search<|start|>assistant to=functions.sea",
    ),
}
"""More completions for single tool-call formats."""

MESSAGE_ENDS = {"harmony": "<|end|>", "inkling": "<|end_message|>", "solar": "<|tool_call:end|>"}
"""The marker that ends a message, in the formats of several messages with JSON arguments."""


def turn(key: str, reasoning: str, content: str, calls: str) -> str:
    """Return the text of a turn in a tool-call format."""
    if key == "harmony":
        messages = [("analysis", reasoning), ("final", content)]
        blocks = [f"<|channel|>{channel}<|message|>{text}<|end|>" for channel, text in messages if text]
        return "<|start|>assistant".join([*blocks, *([calls] if calls else [])])
    if key == "inkling":
        segments = [("thinking", reasoning), ("text", content)]
        blocks = [f"<|content_{kind}|>{text}<|end_message|>" for kind, text in segments if text]
        return "<|message_model|>".join([*blocks, *([calls] if calls else [])])
    if key == "atem":
        messages = [("self", reasoning), ("user", content)]
        blocks = [f" to={recipient}<|message|>{text}<|eom|>" for recipient, text in messages if text]
        return "<|start|>assistant".join([*blocks, *([calls] if calls else [])])
    return (f"<think>\n{reasoning}\n</think>\n\n" if reasoning else "") + content + ("\n" * bool(content)) + calls


def completions(key: str) -> list[str]:
    """Return the texts of completions in a tool-call format."""
    single, double = format_calls(key, [ROME]), format_calls(key, [ROME, SEARCH])
    return [
        "",
        "é",
        turn(key, "", "Yes: 1 < 2 </b> 🙂", ""),
        turn(key, "Hm, é.", "Yes 🙂.  \n", ""),
        turn(key, "", "", single),
        turn(key, "Hm.", "Look: ", double),
        turn(key, "", single + " é\n " + double, "\n\n") + "Done é. ",
        turn(key, f"Then {single} maybe.", "No.", single),
        turn(key, "Hm. ", "", single).replace("\n</think>", ""),
        turn(key, "Hm.", "", double + "<|stop|>" + single),
        turn(key, "Hm.", "<|stop|>é<|eos|><|stop|>", ""),
        turn(key, "a</thi</think>b", "<thi<tool_cal<|tool", single),
        turn(key, "<think><think>", "</think><think>", ""),
        "<think></think>\n\n\nHi",
        "<think>\n</think>" + single,
        "<think>" * 3 + "</think>" * 2 + single * 2,
        "\n<|turn|>assistant\n<|turn|>assistant\n\n<think>\nHm.",
        "<|turn|>assistant<|turn|>",
        *(" " * count + text for count in (255, 256, 257) for text in ("", "<think>a", single, "a" + " " * count)),
        f"<think>a{' ' * 300}</think>{' ' * 300}a{' ' * 300}\n{single}{' ' * 300}",
        *_with_markers_in_strings(key),
        *OWN[key],
    ]


def _with_markers_in_strings(key: str) -> list[str]:
    """Return calls with markers of the format in a string, and one with an open string before it."""
    tool_format = TOOL_FORMATS[key]
    marker = (tool_format.call or ("", ""))[1] or (tool_format.call or ("",))[0] or MESSAGE_ENDS.get(key, "")
    whole = format_calls(key, [Call("search", {"query": f'{marker}é "{marker}', "x": marker})])
    return [whole, whole.replace('"', "", 1) + whole]


Chunks = Iterable[Sequence[Any]]


class Vocabulary(NamedTuple):
    """A vocabulary that can decode only."""

    texts: list[str]
    added_tokens: dict[str, int]

    @property
    def token_texts(self) -> TokenTexts:
        return TokenTexts(dict(enumerate(self.texts)).get)

    @property
    def stored(self) -> None:
        return None

    @property
    def byte_texts(self) -> ByteTexts:
        return ByteTexts(self.texts)

    @property
    def reserved_texts(self) -> frozenset[str]:
        return frozenset(self.added_tokens)


@dataclass(frozen=True)
class Reader:
    """A compiled grammar with tools and a tokenizer."""

    compiled: CompiledGrammar
    tools: Sequence[Any] | None
    encode: Callable[[str], list[int]]
    size: int
    """The number of ids."""


class Reading(NamedTuple):
    """The events of a completion, and the parsed message."""

    events: list[ParseEvent]
    response: ParsedResponse


def grammar_of(key: str, *, trims: bool = False) -> Grammar:
    """Return a grammar with the default markers of a tool-call format; `trims` strips whitespace around fields."""
    tool_format = TOOL_FORMATS[key]
    trimmed = SPACES if trims else ""
    reasoning = ReasoningFormat(
        markers=("<think>", "</think>"),
        edges=Edges(lead="\n", trail="\n", left=trimmed, right=trimmed),
        after="\n\n",
        after_empty="\n",
    )
    return Grammar(
        header="<|turn|>assistant\n",
        lead="\n",
        reasoning=None if key in ("harmony", "inkling", "atem") else reasoning,
        content=Edges(left=trimmed, right=trimmed),
        content_before_calls=Edges(trail="\n", left=trimmed, right=trimmed),
        tools=key,
        section=tool_format.section,
        call=tool_format.call,
    )


def reader_of_bytes(
    grammar: Grammar,
    *,
    tools: Sequence[Any] | None = None,
    marks: bool,
    stops: Sequence[str] = STOPS,
    tokens: Sequence[str] = (),
) -> Reader:
    """Return a reader with bytes as tokens; with `marks`, each marker is a token too. `tokens` are more tokens."""
    added = sorted({*stops, *tokens, "<|turn|>", *(markers_within(grammar) if marks else ())})
    numbers = {text: number for number, text in enumerate(added, 256)}
    vocabulary = Vocabulary([*map(chr, range(256)), *map(to_byte_text, added)], numbers)
    tokenizer = byte_tokenizer(added)
    return Reader(
        compile_grammar(grammar, vocabulary, stops=[numbers[text] for text in stops]),
        tools,
        lambda text: tokenizer.encode(text).ids,
        len(vocabulary.texts),
    )


def reader_of_pieces(grammar: Grammar, text: str, *, tools: Sequence[Any] | None = None, seed: int) -> Reader:
    """Return a reader for one text, with random pieces of it as tokens: they cut markers and characters."""
    numbers = {stop: number for number, stop in enumerate(STOPS)}
    pieces = [*map(to_byte_text, STOPS)]
    ids: list[int] = []
    chance = random.Random(seed)
    for part in _cut_at_stops(text):
        rest = "" if part in numbers else to_byte_text(part)
        ids += [numbers[part]] if part in numbers else []
        while rest:
            size = chance.randint(1, 9)
            ids.append(len(pieces))
            pieces.append(rest[:size])
            rest = rest[size:]
    compiled = compile_grammar(grammar, Vocabulary(pieces, numbers), stops=numbers.values())
    return Reader(compiled, tools, lambda _: ids, len(pieces))


def _cut_at_stops(text: str) -> Iterator[str]:
    while stop := min((candidate for candidate in STOPS if candidate in text), key=text.index, default=None):
        before, _, text = text.partition(stop)
        yield from (before, stop)
    yield text


def reader_of(renderer: ChatRenderer, *, tools: Sequence[Any] | None = None) -> Reader:
    """Return the reader of a renderer, for completions of an unknown prompt."""
    tokenizer = renderer.tokenizer
    return Reader(
        renderer._compiled_grammar,
        tools,
        lambda text: tokenizer.encode(text, add_special_tokens=False),
        len(tokenizer.vocab.byte_texts or ()),
    )


def read(reader: Reader, chunks: Chunks, *, follows_calls: bool = True) -> Reading:
    """Parse a completion in chunks, and close the parser with the last one. `follows_calls` is that of the parser."""
    parser = ResponseParser(reader.compiled, reader.tools, prefill=NO_PIECES, follows_calls=follows_calls)
    *earlier, last = chunks or [[]]
    events = [event for chunk in earlier for event in parser.feed(list(chunk))]
    response = parser.close(list(last))
    return Reading([*events, *parser.last_events], response)


def in_two(ids: Sequence[int], at: int) -> Chunks:
    """Return two chunks.

    >>> in_two([1, 2, 3], 1)
    [[1], [2, 3]]
    """
    return [ids[:at], ids[at:]]


def one_by_one(ids: Sequence[int]) -> Chunks:
    """Return a chunk for each token, and an empty one at the end."""
    return [*([number] for number in ids), []]


def random_chunks(ids: Sequence[int], chance: random.Random) -> Chunks:
    """Return chunks of random size. Some are empty."""
    cuts = sorted(chance.choices(range(len(ids) + 1), k=chance.randint(0, 5)))
    return [ids[start:end] for start, end in zip([0, *cuts], [*cuts, len(ids)], strict=True)]


def assert_accounted(reading: Reading, count: int) -> None:
    """Assert that the events cover `count` tokens once and in order, and add up to the parsed message."""
    response = reading.response
    assert _covered([(event.start, event.end) for event in reading.events]) == count
    assert _covered([(part.start, part.end) for part in response.parts]) == count
    assert all(part.start < part.end for part in response.parts)
    assert all(
        part.region is not following.region for part, following in zip(response.parts, response.parts[1:], strict=False)
    )
    assert _joined(reading.events, ContentDelta) == response.content
    assert _joined(reading.events, ReasoningDelta) == (response.reasoning_content or "")
    block = ""
    for number, call in enumerate(response.tool_calls):
        deltas = [event.text for event in reading.events if isinstance(event, ToolCallDelta) and event.number == number]
        # The text of several calls between two markers has the number of the first one.
        block = "".join(deltas) or block
        assert call.raw == block or (call.raw in block and len(response.tool_calls) > 1)
        names, arguments = followed_calls(reading.events)[number]
        if call.status is ToolCallParseStatus.OK:
            assert names in ([], [call.name])
            # An id that is not a token can cut a character in two, and each half is decoded on its own.
            assert not arguments or "\ufffd" in arguments or repr(read_json(arguments)) == repr(call.arguments)
        assert call.token_span is not None
        assert 0 <= call.token_span[0] <= call.token_span[1] <= count
    assert response.reasoning_complete == (response.state.region is not Region.REASONING)


def followed_calls(events: Sequence[ParseEvent]) -> list[tuple[list[str], str]]:
    """Return the names and the joined arguments in the events of each call."""
    count = sum(isinstance(event, ToolCallEnd) for event in events)
    deltas = [event for event in events if isinstance(event, ToolCallDelta)]
    numbers = range(max(count, *(delta.number + 1 for delta in deltas)) if deltas else count)
    own = [[delta for delta in deltas if delta.number == number] for number in numbers]
    return [
        ([delta.name for delta in call if delta.name is not None], "".join(delta.arguments for delta in call))
        for call in own
    ]


def _covered(spans: Sequence[tuple[int, int]]) -> int:
    """Return the number of tokens that the spans cover, which must begin at 0 and have no gaps."""
    at = 0
    for start, end in spans:
        assert (start, end >= start) == (at, True), spans
        at = end
    return at


def _joined(events: Iterable[ParseEvent], kind: type[ContentDelta | ReasoningDelta]) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))
