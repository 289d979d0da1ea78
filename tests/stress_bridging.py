"""Bridge a million malformed rollouts: each keeps its tokens, or is refused with a reason.

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

from renderers import BridgeReason, BridgeRefusal, ChatRenderer, MessageError, RenderedTokens, TokenIdError
from renderers.core.token_ids import find_invalid_id
from tests.support.conversations import TOOLS
from tests.support.settings import with_settings
from tests.support.sources import MODELS, Source, Task, source_of, spread
from tests.support.stress_report import run_long_form

__all__ = ["new_messages", "outcome_of", "problem_of", "stress"]

Message = dict[str, Any]

KINDS = 8
"""The number of different new messages in a portion. Each needs a proof for every kind of turn."""
RARELY = 200
"""One of this many rollouts contains an id without a token, or a value that is not an id."""
ODD_IDS: tuple[Any, ...] = (10**6, 2**32 - 1, None, "a", 2.5, [1], True, -1, 2**70, float("nan"))

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
    *((message,) for message in MESSAGES),
    (),
    (RESULT, NAMELESS),
    (RESULT, {**RESULT, "tool_call_id": "call00001"}, NAMELESS),
    (RESULT, HELLO),
    (HELLO, HELLO),
    (HELLO, RESULT),
    ({"role": "system", "content": "Be brief."}, HELLO),
)
"""The messages that can follow a turn."""


def new_messages(source: Source, chance: random.Random) -> list[Any]:
    """Return messages that can follow a turn. Some contain control text, and some are invalid."""
    if chance.randrange(8) == 0:
        return chance.choices((*MESSAGES, *NO_MESSAGES), k=chance.randint(1, 4))
    new = list(chance.choice(FOLLOWING))
    if new and chance.randrange(4) == 0:
        text = source.renderer.tokenizer.decode(chance.choice(source.bits))
        new[-1] = {**new[-1], "content": f"a{text}b"}
    return new


@functools.lru_cache(maxsize=2)
def keeping(renderer: ChatRenderer) -> ChatRenderer:
    """Return a renderer with `thinking_retention="all"`."""
    return with_settings(renderer, thinking_retention="all")


def outcome_of(
    renderer: ChatRenderer, prompt: list[Any], completion: list[Any], new: list[Any], tools: list[Message] | None
) -> tuple[str, str | None]:
    """Bridge a rollout. Return the outcome, and an error description or None."""
    copies = [*prompt], [*completion]
    has_invalid_id = find_invalid_id([*prompt, *completion]) >= 0
    try:
        bridged = renderer.bridge(*copies, new, tools=tools)
    except MessageError:
        return "error", None
    except (TypeError, TokenIdError) as error:
        return "invalid id", None if has_invalid_id else f"{type(error).__name__}: {error}"
    except Exception as error:
        return "raised", f"{type(error).__name__}: {error}"
    if has_invalid_id:
        return "accepted", "a value that is not an id is accepted"
    if isinstance(bridged, BridgeRefusal):
        return str(bridged.reason), None
    for ids in copies:
        ids.append(0)
    return "extended", problem_of(bridged.tokens, [*prompt, *completion], new)


def problem_of(tokens: RenderedTokens, prior: Sequence[Any], new: Sequence[Any]) -> str | None:
    """Return a description of an error in a bridged rollout; None if it is right."""
    ids, before = tokens.token_ids, len(prior)
    # Compares representations, because NaN is not equal to itself.
    if repr(ids[:before]) != repr(list(prior)):
        return "the prior ids are changed"
    if not len(ids) > before or not all(type(number) is int and number >= 0 for number in ids[before:]):
        return "the added values are not ids"
    # `runs` would fall back to the lists if the stored runs do not cover the ids.
    ends = [run.end for run in tokens._attribution.runs]
    if ends[-1] != len(ids) or any(start >= end for start, end in zip([0, *ends], ends, strict=False)):
        return "the runs do not tile"
    if any(run.sampled for run in tokens.runs):
        return "a token is sampled"
    if {run.message for run in tokens.runs if run.end <= before} != {-1}:
        return "a prior token belongs to a new message"
    if not all(-1 <= run.message < len(new) for run in tokens.runs):
        return "a token belongs to a message that does not exist"
    lists = tokens.message_indices, tokens.sampled_mask, tokens.is_content, tokens.channels
    if any(len(values) != len(ids) for values in lists):
        return "a list has a wrong length"
    if tokens.message_indices[:before] != [-1] * before or True in tokens.is_content[:before]:
        return "the lists attribute a prior token to a new message"
    if tokens.message_roles != [message["role"] for message in new]:
        return "the roles are not those of the new messages"
    return None


def run(task: Task) -> Counter[str]:
    """Bridge `count` rollouts of a model, from a seed. Return the number by outcome."""
    name, seed, count = task
    source, chance = source_of(name), random.Random(seed)
    following = [new_messages(source, chance) for _ in range(KINDS)]
    counts: Counter[str] = Counter()
    started = time.perf_counter()
    for _ in range(count):
        renderer = chance.choice((source.renderer, keeping(source.renderer)))
        new = chance.choice(following)
        # Only parsing accepts negative numbers.
        prompt, completion = ([*map(abs, ids)] for ids in (source.prompt(chance), source.completion(chance)))
        if chance.randrange(RARELY) == 0:
            prompt, completion = [chance.choice(ODD_IDS), *prompt], [*completion, chance.choice(ODD_IDS)]
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
    """Bridge `cases` rollouts in total. Return the number by outcome, for each model."""
    return spread(run, cases, models=models, processes=processes)


def _reasons(outcomes: dict[str, Counter[str]]) -> list[str]:
    reasons = [reason for reason in BridgeReason if any(reason in counts for counts in outcomes.values())]
    return ["extended", *reasons, "error", "invalid id"]


def main() -> int:
    """Run the long form and print a table. Return 1 if a result was wrong."""
    return run_long_form(stress, description=__doc__, cases=1_000_000, what="rollouts", columns=_reasons)


if __name__ == "__main__":
    sys.exit(main())
