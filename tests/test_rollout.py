"""A rollout of 200 turns keeps every sampled token at its position, for any split of the text into tokens."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from renderers import EMBEDDED, Bridge, BridgeReason, ChatRenderer, create_renderer, load_tokenizer
from renderers.core.text import compile_alternation
from tests.support.conversations import TOOLS, assistant, call, tool, user
from tests.support.models import HUB_AT_HAND, unpack_hub

Message = dict[str, Any]

TURNS = 200
WORDS = ("Hm, ", "the weather", " in Größe ", "is fine", "1 < 2", "🙂", "\n", "\n\n", "  ", "北京", "don't ", "é", ". ")


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A model, the shape of its turns, and the allowed reasons of refusals."""

    name: str
    retention: Any = None
    reasoning_share: float = 0.7
    """The share of turns with reasoning."""
    most_calls: int = 2
    allowed_refusals: frozenset[BridgeReason] = frozenset({BridgeReason.REASONING_OPEN})
    """By default, open reasoning: the closing marker can be split into ordinary tokens."""


POLICIES = (
    Policy(name=str(EMBEDDED)),
    Policy(name="Qwen/Qwen3-8B", retention="all"),
    Policy(name="zai-org/GLM-4.5-Air", retention="all"),
    Policy(name="deepseek-ai/DeepSeek-V3.1", reasoning_share=0, allowed_refusals=frozenset()),
    Policy(name="meta-llama/Llama-3.2-1B-Instruct", reasoning_share=0, most_calls=1, allowed_refusals=frozenset()),
    Policy(name="moonshotai/Kimi-K2.5", retention="all"),
    # The generation prompt opens reasoning.
    Policy(name="MiniMaxAI/MiniMax-M2", retention="all", reasoning_share=1),
)


@dataclass(frozen=True)
class Sampler:
    """Sample turns with words and markers split as no tokenizer would split them."""

    renderer: ChatRenderer
    policy: Policy
    chance: random.Random

    def turn(self) -> tuple[Message, list[Message]]:
        """Return a turn, and the messages that follow it."""
        calls = self.chance.randint(0, self.policy.most_calls)
        numbers = range(calls)
        names = [self.chance.choice(TOOLS)["function"]["name"] for _ in numbers]
        tool_calls = [
            {**call(name, {"query": self._words()}), "id": f"functions.{name}:{at}"}
            for at, name in zip(numbers, names, strict=True)
        ]
        reasoning = self._words() if self.chance.random() < self.policy.reasoning_share else None
        content = self._words() if not calls or self.chance.random() < 0.5 else ""
        results = [
            {**tool(self._words(), name), "tool_call_id": request["id"]}
            for name, request in zip(names, tool_calls, strict=True)
        ]
        return assistant(content, reasoning, tool_calls or None), results or [user(self._words())]

    def completion(self, turn: Message, new: list[Message]) -> list[int]:
        """Return the ids of a turn up to its stop token."""
        ids = self._sampled([user("Hi"), turn])
        stop = self._sampled([user("Hi"), turn, *new])[-1]
        assert stop in self.renderer.get_stop_token_ids()
        return [*self._resampled(ids if ids[-1] != stop else ids[:-1]), stop]

    def _sampled(self, messages: list[Message]) -> list[int]:
        rendered = self.renderer.render(messages, tools=TOOLS)
        origins = zip(rendered.token_ids, rendered.message_indices, rendered.sampled_mask, strict=True)
        return [number for number, message, sampled in origins if message == 1 and sampled]

    def _resampled(self, ids: list[int]) -> list[int]:
        """Return different ids of the same text. Special tokens are kept, except for a random one now and then."""
        tokenizer = self.renderer.tokenizer
        control = set(tokenizer.added_tokens.values())
        broken = self.chance.choice(ids) if ids and self.chance.random() < 0.1 else None
        resampled: list[int] = []
        for is_control, run in itertools.groupby(ids, lambda number: number in control and number != broken):
            part = list(run)
            resampled += part if is_control else self._in_pieces(tokenizer.decode(part))
        return resampled

    def _in_pieces(self, text: str) -> list[int]:
        """Return the ids of a text that is split at random positions."""
        cuts = sorted(self.chance.choices(range(len(text) + 1), k=len(text) // 3))
        # A piece that contains a marker is split into characters, so that it is not encoded as a special token.
        pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        encode = self.renderer.tokenizer.encode
        markers = compile_alternation(frozenset(self.renderer.tokenizer.added_tokens))
        assert markers is not None
        return [
            number
            for piece in pieces
            for part in ([*piece] if markers.search(piece) else [piece])
            for number in encode(part, add_special_tokens=False)
        ]

    def _words(self) -> str:
        return "".join(self.chance.choices(WORDS, k=self.chance.randint(1, 9))).strip() or "Yes"


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name.rpartition("/")[2])
def test_every_sampled_token_keeps_its_position(policy: Policy) -> None:
    if policy.name != str(EMBEDDED):
        if not HUB_AT_HAND:
            pytest.skip("real models are not available (set SHARED)")
        unpack_hub()
    renderer = create_renderer(load_tokenizer(policy.name), thinking_retention=policy.retention)
    sampler = Sampler(renderer, policy, random.Random(policy.name.rpartition("/")[2]))
    ids = renderer.render_ids([user("Hi")], tools=TOOLS, add_generation_prompt=True)
    mask: list[bool] = []
    sampled: list[tuple[int, list[int]]] = []
    seen: Counter[str] = Counter()
    while len(sampled) < TURNS:
        turn, new = sampler.turn()
        completion = sampler.completion(turn, new)
        if sampler.chance.random() < 0.1:
            completion, new = completion[: sampler.chance.randrange(len(completion))], [user("Go on.")]
            seen["truncated"] += 1
        bridged = renderer.bridge(ids, completion, new, tools=TOOLS)
        if not isinstance(bridged, Bridge):
            # Samples another completion.
            assert bridged.reason in policy.allowed_refusals, (bridged, renderer.tokenizer.decode(completion), new)
            seen[bridged.reason] += 1
            continue
        sampled.append((len(ids), completion))
        mask += [False] * (len(ids) - len(mask)) + [True] * len(completion)
        ids = bridged.tokens.token_ids
        assert not any(run.sampled for run in bridged.tokens.runs)
        assert {*bridged.tokens.message_indices[len(mask) :]} >= {*range(len(new))}
        canonical = renderer.tokenizer.encode(renderer.tokenizer.decode(completion), add_special_tokens=False)
        seen["not canonical"] += completion != canonical
        seen["calls"] += new[0]["role"] == "tool"
    mask += [False] * (len(ids) - len(mask))
    for start, completion in sampled:
        assert ids[start : start + len(completion)] == completion
    places = {start + at for start, completion in sampled for at in range(len(completion))}
    assert mask == [at in places for at in range(len(ids))]
    assert sum(seen[reason] for reason in policy.allowed_refusals) < 0.1 * TURNS, seen
    assert min(seen["not canonical"], seen["calls"], seen["truncated"]) > 0.05 * TURNS, seen
