"""The corpus: models, settings of each family, and generated cases.

Every case is made from a fixed seed, so that two runs compare the same cases. Prompts and completions are those of
this release; both releases get the same ids.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from renderers import ChatRenderer, MessageError, TemplateError
from scripts.compare.conversations import (
    MORE,
    random_answer,
    random_calls,
    random_conversation,
    random_results,
    random_text,
)
from scripts.compare.worker import UNKNOWN
from tests.support.completions import completions
from tests.support.conversations import CONVERSATIONS, TOOLS, assistant, system, tool, user
from tests.support.models import hub_models
from tests.support.parity import LARGE, TOOL_SETS

__all__ = ["Case", "Job", "compared_models", "jobs", "uncovered_switches"]

Data = dict[str, Any]

SETTINGS: dict[str, list[Data]] = {
    "qwen3": [{"enable_thinking": False}],
    "qwen3.5": [{"enable_thinking": False}, {"enable_thinking": True}],
    "qwen3.6": [{"enable_thinking": False}, {"preserve_thinking": True}],
    "qwen3.8": [
        {"enable_thinking": False},
        {"preserve_thinking": False},
        {"reasoning_effort": "low"},
        {"reasoning_effort": "medium"},
    ],
    "gemma4": [
        {"enable_thinking": True},
        {"preserve_thinking": True},
        {"enable_thinking": True, "preserve_thinking": True},
    ],
    "glm-4.5": [{"enable_thinking": False}],
    "glm-5": [{"enable_thinking": False}, {"clear_thinking": False}],
    "glm-5.1": [{"enable_thinking": False}, {"clear_thinking": False}],
    "gpt-oss": [
        {"conversation_start_date": "2026-01-01"},
        {"reasoning_effort": "low"},
        {"reasoning_effort": "high", "conversation_start_date": "2026-01-01"},
        {"use_system_prompt": False},
        {"model_identity": "You are Ada.", "knowledge_cutoff": "2025-01"},
        {"auto_drop_analysis": False, "conversation_start_date": "2026-01-01"},
    ],
    "llama-3": [{"date_string": "01 Jan 2026"}, {"tools_in_user_message": False}],
    "minimax-m2": [{"model_identity": "You are Ada."}],
    "nemotron-3": [{"enable_thinking": False}, {"truncate_history_thinking": False}, {"low_effort": True}],
    "nemotron-3-ultra": [{"enable_thinking": False}, {"truncate_history_thinking": False}, {"medium_effort": True}],
    "nemotron-3.5": [{"enable_thinking": False}, {"truncate_history_thinking": False}],
    "deepseek-v4": [
        {"enable_thinking": True},
        {"drop_thinking": False},
        {"enable_thinking": True, "drop_thinking": False},
        {"enable_thinking": True, "reasoning_effort": "high"},
        {"enable_thinking": True, "reasoning_effort": "max"},
    ],
}
"""Settings of the families of release 0.1, without the default."""
OF_MEDIA = {"add_vision_id", "image_cache_max"}
"""Switches that only affect images. They are not compared."""
RETENTION: list[Data] = [{"thinking_retention": "tool_cycle"}, {"thinking_retention": "all"}]
"""Settings that affect bridges only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A call of the API: its kind, a name to print, and its arguments as JSON data."""

    kind: str
    name: str
    arguments: Data

    @property
    def messages(self) -> list[Data]:
        """Return the messages, or the new messages of a bridge."""
        messages: list[Data] = self.arguments.get("messages") or self.arguments.get("new_messages") or []
        return messages

    def data(self) -> Data:
        """Return the case as JSON data for a worker."""
        return {"kind": self.kind, "arguments": self.arguments}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Settings of a family, and the sizes of its corpus. Settings that only affect bridges have only bridges."""

    settings: Data
    conversations: int
    """The number of generated conversations."""
    completions: int
    """The number of generated turns, with variants of each."""

    def cases(self, renderer: ChatRenderer) -> list[Case]:
        """Return the cases for a renderer with these settings."""
        bridges = list(_bridges(renderer, count=self.completions))
        if self.settings.keys() == {"thinking_retention"}:
            return bridges
        renders = list(_renders(count=self.conversations, turns=1 if self.settings else 2))
        return [
            Case(kind="facts", name="", arguments={}),
            *renders,
            *_spans(renderer, renders),
            *_completions(renderer, count=self.completions),
            *bridges,
            *_samples(count=self.conversations // 4),
        ]


def uncovered_switches(family: str, switches: Iterable[str]) -> list[str]:
    """Return the switches of a family that no settings of the corpus use."""
    used = {name for settings in SETTINGS.get(family, ()) for name in settings}
    return [name for name in switches if name not in used | OF_MEDIA]


def compared_models() -> list[str]:
    """Return one real model for each distinct set of files."""
    first: dict[str, str] = {}
    for name, model in hub_models().items():
        key = [model[key] for key in ("tokenizer", "template", "config", "stop_ids")]
        first.setdefault(str(key if model["template"] else name), name)
    return list(first.values())


def jobs(family: str, *, quick: bool) -> list[Job]:
    """Return the jobs of a family of release 0.1."""
    if family == UNKNOWN:
        return [Job(settings={}, conversations=4, completions=4)]
    settings = [{}, *SETTINGS.get(family, []), *RETENTION]
    size = 4 if quick else 24
    return [Job(settings=chosen, conversations=size if chosen else 2 * size, completions=size) for chosen in settings]


# ==================
# Renders
# ==================


def _renders(*, count: int, turns: int) -> Iterator[Case]:
    """Yield the conversations of the tests and generated ones, with rotating tools and generation prompts."""
    chosen = [(name, messages) for name, messages in CONVERSATIONS.items() if name not in LARGE]
    generated = [(f"generated {seed}", random_conversation(random.Random(seed))) for seed in range(count)]
    choices = list(itertools.product(TOOL_SETS, (False, True)))
    for at, (name, messages) in enumerate([*chosen, *MORE.items(), *generated]):
        for turn in range(turns):
            tools, prompt = choices[(at + 3 * turn) % len(choices)]
            arguments = {"messages": messages, "tools": tools, "add_generation_prompt": prompt}
            label = f"{name}{', tools' if tools else ''}{', prompt' if prompt else ''}"
            yield Case(kind="render", name=label, arguments=arguments)


def _spans(renderer: ChatRenderer, renders: Sequence[Case]) -> Iterator[Case]:
    """Yield the lists of every fourth render, for the methods of `RenderedTokens`."""
    for case in renders[::4]:
        try:
            tokens = renderer.render(**case.arguments)
        except (MessageError, TemplateError):
            continue
        names = ("token_ids", "message_indices", "sampled_mask", "is_content", "message_roles", "message_tool_names")
        arguments = {name: list(getattr(tokens, name)) for name in names}
        yield Case(kind="spans", name=case.name, arguments=arguments)


# ==================
# Completions
# ==================


_ANALYSIS = ("<|channel|>", "analysis", "<|message|>")
"""The tokens that the generation prompt of release 0.1 ends with for gpt-oss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The ids of a prompt, and of a clean turn that follows it."""

    prompt: list[int]
    completion: list[int]
    tools: list[Data] | None
    calls: list[Data]


def _turns(renderer: ChatRenderer, *, count: int) -> Iterator[Turn]:
    """Yield prompts and turns that this release renders. Turns without text are left out."""
    stops = set(renderer.get_stop_token_ids())
    for seed in range(count):
        chance = random.Random(1000 + seed)
        tools = TOOLS if chance.randrange(4) else None
        calls = random_calls(chance, 0) if tools and chance.randrange(3) else []
        message = random_answer(chance, calls=calls or None)
        opening: list[Data] = [system("Be brief.")] if chance.randrange(2) else []
        messages = [*opening, user(random_text(chance))]
        try:
            prompt = renderer.render_ids(messages, tools=tools, add_generation_prompt=True)
            rendered = renderer.render([*messages, message], tools=tools)
        except (MessageError, TemplateError):
            continue
        sampled = zip(rendered.token_ids, rendered.message_indices, rendered.sampled_mask, strict=True)
        completion = [number for number, owner, is_sampled in sampled if is_sampled and owner == len(messages)]
        if not stops.issuperset(completion):
            yield Turn(prompt=prompt, completion=completion, tools=tools, calls=calls)


def _variants(renderer: ChatRenderer, turn: Turn, chance: random.Random) -> Iterator[tuple[str, list[int]]]:
    """Yield a completion as it is, truncated, damaged, and with text around it."""
    ids, encode = turn.completion, renderer.tokenizer.encode
    yield "clean", ids
    body = [number for number in ids if number not in renderer.get_stop_token_ids()]
    yield "no stop token", body
    yield "truncated", body[: chance.randrange(len(body) + 1)]
    at = chance.randrange(len(body) + 1)
    yield "token lost", [*body[:at], *body[at + 1 :]]
    yield "text before", [*encode("Well.\n", add_special_tokens=False), *body]
    yield "text after", [*body, *encode("\nDone.", add_special_tokens=False)]
    yield "twice", [*body, *body]
    yield "unknown id", [*body, 10**7]


def _completions(renderer: ChatRenderer, *, count: int) -> Iterator[Case]:
    """Yield the variants of generated turns, and the odd completions of the tool format."""
    number = -1
    for number, turn in enumerate(_turns(renderer, count=count)):
        for label, ids in _variants(renderer, turn, random.Random(number)):
            yield from _parses(f"turn {number}, {label}", ids, turn.prompt, turn.tools)
        opened = len(_ANALYSIS)
        if [renderer.tokenizer.decode([token]) for token in turn.completion[:opened]] == list(_ANALYSIS):
            prompt = [*turn.prompt, *turn.completion[:opened]]
            yield from _parses(f"turn {number}, opened", turn.completion[opened:], prompt, turn.tools)
    key = renderer.resolution.grammar.tools
    if number < 0 or key is None:
        return
    prompt = renderer.render_ids([user("Hi")], tools=TOOLS, add_generation_prompt=True)
    stop = renderer.tokenizer.decode(renderer.get_stop_token_ids()[:1])
    for number, text in enumerate(completions(key)):
        if " " * 100 not in text and "<|turn|>" not in text:
            ids = renderer.tokenizer.encode(re.sub(r"<\|(?:stop|eos)\|>", stop, text), add_special_tokens=False)
            yield from _parses(f"text {number}", ids, prompt, TOOLS)


def _parses(name: str, ids: list[int], prompt: list[int], tools: list[Data] | None) -> Iterator[Case]:
    """Yield a completion with and without the ids of its prompt."""
    for prompt_ids in (prompt, None):
        arguments = {"token_ids": ids, "prompt_ids": prompt_ids, "tools": tools}
        yield Case(kind="parse", name=f"{name}{'' if prompt_ids else ', no prompt'}", arguments=arguments)


# ==================
# Bridges
# ==================


def _bridges(renderer: ChatRenderer, *, count: int) -> Iterator[Case]:
    """Yield bridges after clean and truncated turns, with every kind of new messages."""
    stops = set(renderer.get_stop_token_ids())
    for number, turn in enumerate(_turns(renderer, count=count)):
        chance = random.Random(number)
        results = random_results(chance, turn.calls)
        news = {
            "user": [user(random_text(chance))],
            "system": [system("Be brief."), user("Go on.")],
            "assistant": [assistant("No."), user("Go on.")],
            **({"results": results, "results, user": [*results, user("Thanks!")]} if results else {}),
            "stray result": [tool("clear", "unknown_tool", 99)],
        }
        body = [token for token in turn.completion if token not in stops]
        sampled = {"clean": turn.completion, "truncated": body[: chance.randrange(1, len(body) + 1)]}
        sampled["stop and more"] = [*turn.completion, *body[:2]]
        sampled["last stop"] = [*body, renderer.get_stop_token_ids()[-1]]
        for (kind, new), (state, completion) in itertools.product(news.items(), sampled.items()):
            if state == "clean" or kind in ("user", "results"):
                prior = {"prompt_ids": turn.prompt, "completion_ids": completion}
                arguments = {**prior, "new_messages": new, "tools": turn.tools}
                yield Case(kind="bridge", name=f"turn {number}, {state}, {kind}", arguments=arguments)


# ==================
# Training samples
# ==================

_OPTIONS: tuple[Data, ...] = (
    {},
    {"roles": ["assistant"]},
    {"roles": ["assistant", "tool"]},
    {"content_sft_roles": ["tool", "user"]},
    {"roles": ["assistant"], "content_sft_roles": ["tool"]},
    {"ensure_final_stop": True},
)


def _samples(*, count: int) -> Iterator[Case]:
    for seed in range(count):
        chance = random.Random(2000 + seed)
        messages = random_conversation(chance)
        tools = TOOLS if chance.randrange(2) else None
        selected = [chance.randrange(2) for _ in messages]
        for options in (*_OPTIONS, {"message_loss_mask": selected}):
            arguments = {"messages": messages, "tools": tools, **options}
            yield Case(kind="sample", name=f"generated {seed}, {', '.join(options)}", arguments=arguments)
