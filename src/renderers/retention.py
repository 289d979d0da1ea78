"""Which reasoning of earlier turns stays in the history: by the arguments of a template, and conflicts with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from renderers.bridging.sample_histories import HistoryFeature, sample_histories
from renderers.core.jsontypes import JsonObject
from renderers.core.options import ThinkingRetention
from renderers.core.probe_words import PROBE_EARLIER_REASONING
from renderers.families import Family
from renderers.probing.turn_format import THINKING_SWITCHES


def find_contradiction(
    render: Callable[[list[JsonObject], Mapping[str, Any]], str | None],
    switches: Mapping[str, Any],
    retention: ThinkingRetention | None,
) -> str | None:
    """Return how a retention contradicts the switches of a template; None if it does not.

    `render` returns the text of messages with some switches replaced, or None if the template rejects them. A switch
    counts if the reasoning of an earlier turn is rendered with one of its values and not with the other.
    """
    history = next(sample for sample in sample_histories() if HistoryFeature.THOUGHT in sample.features)
    keep_all = retention == "all"
    for name, value in switches.items():
        if retention is None or not isinstance(value, bool):
            continue
        texts = [render(list(history.messages), {name: setting}) for setting in (value, not value)]
        kept = [text is not None and PROBE_EARLIER_REASONING in text for text in texts]
        if None not in texts and kept == [not keep_all, keep_all]:
            effect = f"{'drops' if keep_all else 'keeps'} the reasoning of earlier turns"
            return f"with {name}={value} the template {effect}, so it cannot be {retention!r}"
    return None


def retention_of(family: Family, switches: Mapping[str, Any], *, silent: bool) -> ThinkingRetention | None:
    """Return which reasoning a bridge keeps with some switches; None for the reasoning that the template keeps.

    `silent` is True if the prompt disables thinking, used only if no switch turns thinking on or off.

    >>> from renderers.families import FAMILIES
    >>> retention_of(FAMILIES["qwen3"], {"enable_thinking": False}, silent=True)
    'all'
    """
    values = {
        **dict.fromkeys(THINKING_SWITCHES, not silent),
        **{switch.name: switch.default for switch in family.switches if switch.default is not None},
        **switches,
    }
    # They are names of the same switch. The last one that is set counts for all.
    for name in THINKING_SWITCHES:
        if name in switches:
            values |= dict.fromkeys(THINKING_SWITCHES, switches[name])
    kept = [rule.keeps for rule in family.retains if values.get(rule.switch) is rule.value]
    return "all" if "all" in kept else family.retention


def keeping_switch(family: Family, switches: Mapping[str, Any]) -> str | None:
    """Return the switch of a family that keeps the reasoning of earlier turns, as an argument; None if there is none.

    >>> from renderers.families import FAMILIES
    >>> keeping_switch(FAMILIES["qwen3.6"], {})
    'preserve_thinking=True'
    """
    for rule in family.retains:
        if rule.keeps == "all" and rule.switch not in THINKING_SWITCHES and switches.get(rule.switch) is not rule.value:
            return f"{rule.switch}={rule.value}"
    return None
