"""A million rollouts that no model would leave are extended: what was there stays as it is, or it is said why not.

    python -m tests.stress_bridging --cases 1000000

Prompts and completions come from `tests.support.sources`: real ones, broken ones, or random ids, with stop tokens
anywhere. The messages that follow have any role and any form of content, including control text. Only the errors that
`bridge` documents may be raised, and every token must be accounted for.
"""

from __future__ import annotations

import functools
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from renderers import BridgeReason, BridgeRefusal, ChatRenderer, MessageError, RenderedTokens
from tests.support.conversations import TOOLS
from tests.support.settings import with_settings
from tests.support.sources import MODELS, Source, Task, source_of, spread
from tests.support.stress_report import run_long_form

__all__ = ["new_messages", "outcome_of", "problem_of", "stress"]

Message = dict[str, Any]

KINDS = 8
"""So many kinds of messages follow the rollouts of a portion: each has to be proven for every kind of turn."""
RARELY = 200
"""One of so many rollouts has something in it that is no id."""
NO_IDS: tuple[Any, ...] = (None, "a", 2.5, [1], 2**70, float("nan"))

HELLO, BLANK = ({"role": "user", "content": content} for content in ("Hi é 🙂", ""))
PARTS = {"role": "user", "content": [{"type": "text", "text": "a"}]}
RESULT = {"role": "tool", "tool_call_id": "call00000", "name": "search", "content": '{"x": [1]}'}
NAMELESS = {"role": "tool", "content": "3"}
MESSAGES: tuple[Message, ...] = (
    *(HELLO, BLANK, PARTS, RESULT, NAMELESS),
    {"role": "user", "content": None},
    {"role": "user", "content": "  spaced \n"},
    {"role": "tool", "tool_call_id": "call00001", "content": ""},
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": "Be brief."},
    {"role": "critic", "content": "No."},
    {"role": "", "content": "No."},
    {"role": "assistant", "content": "Yes."},
)
NO_MESSAGES = ({"content": "x"}, {"role": 3, "content": "x"}, None, "Hi", {**HELLO, "content": [{"type": "image"}]})
FOLLOWING: tuple[tuple[Message, ...], ...] = (
    *((one,) for one in MESSAGES),
    (),
    (RESULT, NAMELESS),
    (RESULT, {**RESULT, "tool_call_id": "call00001"}, NAMELESS),
    (RESULT, HELLO),
    (HELLO, HELLO),
    (HELLO, RESULT),
    ({"role": "system", "content": "Be brief."}, HELLO),
)
"""What may follow a turn."""


def new_messages(source: Source, chance: random.Random) -> list[Any]:
    """Returns messages that may follow a turn; some have control text in them, and some are none."""
    if chance.randrange(8) == 0:
        return chance.choices((*MESSAGES, *NO_MESSAGES), k=chance.randint(1, 4))
    new = list(chance.choice(FOLLOWING))
    if new and chance.randrange(4) == 0:
        text = source.renderer.tokenizer.decode(chance.choice(source.bits))
        new[-1] = {**new[-1], "content": f"a{text}b"}
    return new


@functools.lru_cache(maxsize=2)
def keeping(renderer: ChatRenderer) -> ChatRenderer:
    """Returns a renderer that keeps all reasoning."""
    return with_settings(renderer, thinking_retention="all")


def outcome_of(
    renderer: ChatRenderer, prompt: list[Any], completion: list[Any], new: list[Any], tools: list[Message] | None
) -> tuple[str, str | None]:
    """Extends a rollout; returns what came of it, and what is wrong about it."""
    given = [*prompt], [*completion]
    try:
        bridged = renderer.bridge(*given, new, tools=tools)
    except MessageError:
        return "error", None
    except Exception as error:
        return "raised", f"{type(error).__name__}: {error}"
    if isinstance(bridged, BridgeRefusal):
        return str(bridged.reason), None
    for one in given:
        one.append(0)
    return "extended", problem_of(bridged.tokens, [*prompt, *completion], new)


def problem_of(tokens: RenderedTokens, prior: Sequence[Any], new: Sequence[Any]) -> str | None:
    """Returns what is wrong about an extended rollout."""
    ids, before = tokens.token_ids, len(prior)
    # By their texts, as NaN is not equal to itself.
    if repr(ids[:before]) != repr(list(prior)):
        return "the prior is not there as it was"
    if not len(ids) > before or not all(type(number) is int and number >= 0 for number in ids[before:]):
        return "what is added are no ids"
    # `runs` would fall back to the lists if the stored runs do not cover the ids.
    ends = [run.end for run in vars(tokens)["_runs"]]
    if ends[-1] != len(ids) or any(one >= other for one, other in zip([0, *ends], ends, strict=False)):
        return "the runs do not tile"
    if any(run.sampled for run in tokens.runs):
        return "something is sampled"
    if {run.message for run in tokens.runs if run.end <= before} != {-1}:
        return "the prior is a new message's"
    if not all(-1 <= run.message < len(new) for run in tokens.runs):
        return "a token is of a message that is none"
    lists = tokens.message_indices, tokens.sampled_mask, tokens.is_content, tokens.channels
    if any(len(one) != len(ids) for one in lists):
        return "the lists have not all tokens"
    if tokens.message_indices[:before] != [-1] * before or True in tokens.is_content[:before]:
        return "the lists say that the prior is a new message's"
    if tokens.message_roles != [message["role"] for message in new]:
        return "the roles are not those of the new messages"
    return None


def run(task: Task) -> Counter[str]:
    """Extends so many rollouts of a model, from a seed; counts what came of them."""
    name, seed, count = task
    source, chance = source_of(name), random.Random(seed)
    following = [new_messages(source, chance) for _ in range(KINDS)]
    counts: Counter[str] = Counter()
    started = time.perf_counter()
    for _ in range(count):
        renderer = chance.choice((source.renderer, keeping(source.renderer)))
        prompt, completion, new = source.prompt(chance), source.completion(chance), chance.choice(following)
        if chance.randrange(RARELY) == 0:
            prompt, completion = [chance.choice(NO_IDS), *prompt], [*completion, chance.choice(NO_IDS)]
        outcome, problem = outcome_of(renderer, prompt, completion, new, chance.choice((None, TOOLS[1:])))
        counts[outcome] += 1
        if problem is not None:
            counts[f"WRONG: {name}: {problem}: {completion} after {prompt}, then {new}"] += 1
    counts["rollouts"] = count
    counts["milliseconds"] = round(1000 * (time.perf_counter() - started))
    return counts


def stress(
    cases: int, *, models: Sequence[str] = tuple(MODELS), processes: int | None = None
) -> dict[str, Counter[str]]:
    """Extends so many rollouts in all; counts by model what came of them."""
    return spread(run, cases, models=models, processes=processes)


def _reasons(found: dict[str, Counter[str]]) -> list[str]:
    reasons = [reason for reason in BridgeReason if any(reason in counts for counts in found.values())]
    return ["extended", *reasons, "error"]


def main() -> int:
    """Runs the long form, prints a table, and fails where anything was wrong."""
    return run_long_form(stress, description=__doc__, cases=1_000_000, what="rollouts", columns=_reasons)


if __name__ == "__main__":
    sys.exit(main())
