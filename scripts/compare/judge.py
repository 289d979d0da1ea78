"""Match differences with entries, and count agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scripts.compare.corpus import uncovered_switches
from scripts.compare.differences import Difference, Pair, differences
from scripts.compare.entries import TOPICS, Entry
from scripts.compare.releases import Results

__all__ = ["ENTRIES", "Agreement", "Verdict"]

ENTRIES = tuple(entry for topic in TOPICS for entry in topic.entries)


@dataclass(kw_only=True)
class Agreement:
    """The number of cases of a family, and of those without a difference, by kind."""

    models: set[str] = field(default_factory=set)
    settings: set[str] = field(default_factory=set)
    cases: Counter[str] = field(default_factory=Counter)
    same: Counter[str] = field(default_factory=Counter)
    same_ids: int = 0
    """The number of renders with the same ids, or refused by both releases."""


@dataclass(kw_only=True)
class Verdict:
    """The result of a comparison."""

    entries: Sequence[Entry] = ENTRIES
    families: dict[str, Agreement] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    """Models and settings that were not compared, with the reasons."""
    known_families: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """All families of release 0.1, with the switches of each."""
    sampled: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Differences in `sampled_mask` by family: by default, and with the conventions of release 0.1."""
    used: Counter[Entry] = field(default_factory=Counter)
    used_by: dict[Entry, set[str]] = field(default_factory=dict)
    """The families of each used entry."""
    examples: dict[Entry, Difference] = field(default_factory=dict)
    """The smallest difference of each used entry."""
    unknown: list[Difference] = field(default_factory=list)

    @property
    def unused(self) -> list[Entry]:
        """Return the entries that explain no difference."""
        return [entry for entry in self.entries if entry not in self.used]

    @property
    def uncovered(self) -> list[str]:
        """Return the switches of compared families that the corpus does not use."""
        known = ((family, self.known_families.get(family, ())) for family in self.families)
        return [f"{family}: {name}" for family, names in known for name in uncovered_switches(family, names)]

    @property
    def failed(self) -> bool:
        """Return whether there is an unexplained difference, an unused entry, or a switch that is not compared."""
        moved = any(moved for _, moved in self.sampled.values())
        return bool(self.unknown or self.unused or self.uncovered or moved)

    def add(self, results: Results) -> None:
        """Add the results of a model with settings."""
        if results.reason is not None:
            settings = ", ".join(f"{key}={value!r}" for key, value in results.settings.items())
            self.left_out.append(f"{results.model}{f' with {settings}' if settings else ''}: {results.reason}")
            return
        agreement = self.families.setdefault(results.family, Agreement())
        agreement.models.add(results.model)
        agreement.settings.add(str(results.settings))
        for pair in results.pairs:
            self._add_pair(pair, agreement)
        if results.with_conventions:
            default, moved = self.sampled.get(results.family, (0, 0))
            renders = [pair for pair in results.pairs if pair.case.kind == "render"]
            counts = _sampled_differences(renders), _sampled_differences(results.with_conventions)
            self.sampled[results.family] = default + counts[0], moved + counts[1]

    def _add_pair(self, pair: Pair, agreement: Agreement) -> None:
        found = list(differences(pair))
        kind = pair.case.kind
        agreement.cases[kind] += 1
        agreement.same[kind] += not found
        agreement.same_ids += kind == "render" and not any(item.field in ("outcome", "token_ids") for item in found)
        self.explain(found)

    def explain(self, found: Iterable[Difference]) -> None:
        """Count each difference for the first entry that explains it."""
        for difference in found:
            entry = next((entry for entry in self.entries if entry.explains(difference)), None)
            if entry is None:
                self.unknown.append(difference)
            else:
                self.used[entry] += 1
                self.used_by.setdefault(entry, set()).add(difference.family)
                self.examples[entry] = min(self.examples.get(entry, difference), difference, key=_size)


def _size(difference: Difference) -> int:
    return len(str(difference))


def _sampled_differences(pairs: Sequence[Pair]) -> int:
    return sum(difference.field == "sampled_mask" for pair in pairs for difference in differences(pair))
