"""Compare the sampled mask with the `{% generation %}` tags in hand-tagged templates, and print a table.

    python -m scripts.sampled

Then compare the mask of every template with its own generation prompts. Fail if there is a difference other than the
three that docs/tables/sampled.md explains, or if text of a prompt is sampled or text after it is not.
"""

from __future__ import annotations

import sys
from collections import Counter

from tests.support.masks import faults_of_template
from tests.support.parity import EACH_ONCE
from tests.support.sampling import KNOWN, TAGGED, compare_with_tags


def main() -> int:
    """Print the table and the faults. Return 1 if a template has an unknown difference or a fault."""
    if not TAGGED:
        print("no templates with tags available: set SHARED")
        return 0
    print("| template | renders | characters that agree | tags begin with | tags end with | other |")
    print("|---|--:|--:|---|---|--:|")
    unknown = 0
    for path in TAGGED:
        result = compare_with_tags(path)
        unknown += result.other != KNOWN.get(path.stem, Counter())
        differing = sum(len(text) * count for part in (result.head, result.tail) for text, count in part.items())
        differing += sum((len(text) - 1) * count for text, count in result.other.items())
        share = f"{100 * result.same / (result.same + differing):.1f} %"
        others = sum(result.other.values())
        tags = f"{_quote_all(result.head)} | {_quote_all(result.tail)}"
        print(f"| {path.stem} | {result.renders} | {share} | {tags} | {others} |")
    print(f"\n{unknown} templates with unknown differences")
    faults = [f"{path.stem}: {fault}" for path in EACH_ONCE for fault in faults_of_template(path)]
    print(*faults, f"{len(faults)} faults in {len(EACH_ONCE)} templates", sep="\n")
    return 1 if unknown or faults else 0


def _quote_all(texts: Counter[str]) -> str:
    return ", ".join(f"`{text!r}` {count}".replace("|", "\\|") for text, count in texts.most_common())


if __name__ == "__main__":
    sys.exit(main())
