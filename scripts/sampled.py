"""Compares what is sampled with the `{% generation %}` tags that people put into templates by hand, and prints a table.

    python -m scripts.sampled

Fails where there is a difference that is none of the three that docs/sampled.md explains.
"""

from __future__ import annotations

import sys
from collections import Counter

from tests.support.sampling import KNOWN, TAGGED, compare_with_tags


def main() -> int:
    if not TAGGED:
        print("templates with tags are not at hand (set SHARED)")
        return 0
    print("| template | renders | characters that agree | tags begin with | tags end with | other |")
    print("|---|--:|--:|---|---|--:|")
    unknown = 0
    for path in TAGGED:
        found = compare_with_tags(path)
        unknown += found.other != KNOWN.get(path.stem, Counter())
        differing = sum(len(text) * count for part in (found.head, found.tail) for text, count in part.items())
        differing += sum((len(text) - 1) * count for text, count in found.other.items())
        share = f"{100 * found.same / (found.same + differing):.1f} %"
        others = sum(found.other.values())
        print(f"| {path.stem} | {found.renders} | {share} | {_shown(found.head)} | {_shown(found.tail)} | {others} |")
    print(f"\n{unknown} templates with differences that are not known")
    return 1 if unknown else 0


def _shown(texts: Counter[str]) -> str:
    return ", ".join(f"`{text!r}` {count}".replace("|", "\\|") for text, count in texts.most_common())


if __name__ == "__main__":
    sys.exit(main())
