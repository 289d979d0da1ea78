"""Whether reasoning stays in the history: what the switches of a template say, and what contradicts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from renderers.bridging.sample_histories import EARLIER_THOUGHT, Feature, skeletons
from renderers.core.options import ThinkingRetention
from renderers.families import Family
from renderers.probing.turn_format import THINKING_SWITCHES
from renderers.programs.input_formats import Data

__all__ = ["find_contradiction", "retention_of"]


def find_contradiction(
    write: Callable[[list[Data], Mapping[str, Any]], str | None],
    switches: Mapping[str, Any],
    retention: ThinkingRetention | None,
) -> str | None:
    """Returns what is wrong with a retention beside the switches of a template; None where nothing is.

    `write` gives the text of messages with some switches set otherwise, None where the template refuses.
    A switch counts if the reasoning of an earlier turn is written with one of its values and not with the other.
    """
    history = next(one for one in skeletons() if Feature.THOUGHT in one.features)
    for name, value in switches.items():
        if retention is None or not isinstance(value, bool):
            continue
        here, otherwise = (write(list(history.messages), {name: one}) for one in (value, not value))
        if here is None or otherwise is None or (EARLIER_THOUGHT in here) == (EARLIER_THOUGHT in otherwise):
            continue
        if (EARLIER_THOUGHT in here) != (retention == "all"):
            does = "keeps" if EARLIER_THOUGHT in here else "drops"
            return (
                f"with {name}={value} the template {does} the reasoning of earlier turns, so it cannot be {retention!r}"
            )
    return None


def retention_of(family: Family, switches: Mapping[str, Any], *, silent: bool) -> ThinkingRetention | None:
    """Returns what of the reasoning in a history a bridge keeps with some switches; None for what the template keeps.

    `silent` says that the prompt lets the model not think, which counts where no switch says it.

    >>> from renderers.families import FAMILIES
    >>> retention_of(FAMILIES["qwen3"], {"enable_thinking": False}, silent=True)
    'all'
    """
    values = {
        **dict.fromkeys(THINKING_SWITCHES, not silent),
        **{switch.name: switch.default for switch in family.switches if switch.default is not None},
        **switches,
    }
    # They are names of one switch, the last of which counts; one that is not given says nothing beside another.
    for name in THINKING_SWITCHES:
        if name in switches:
            values |= dict.fromkeys(THINKING_SWITCHES, switches[name])
    kept = [rule.keeps for rule in family.retains if values.get(rule.switch) is rule.value]
    return "all" if "all" in kept else None
