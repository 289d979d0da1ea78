"""Print a table of the templates with a stable prefix when messages are appended, and of the first change otherwise.

    python -m scripts.stability_table [--corpus]

Lists the templates of all available models; with `--corpus` also those of the corpus.
"""

from __future__ import annotations

import sys

from renderers import EMBEDDED
from tests.support.bridging import TEMPLATES, renderer_of
from tests.support.models import hub_models


def main() -> None:
    """Print the table."""
    print("| template | stable | smallest change |")
    print("|---|---|---|")
    for template, source in TEMPLATES.items():
        if source != EMBEDDED and source not in hub_models() and "--corpus" not in sys.argv[1:]:
            continue
        renderer = renderer_of(template)
        if renderer is None:
            continue
        stability = renderer.prefix_stability()
        case = stability.tried[-1].replace("after a question: ", "") if stability.tried and not stability.stable else ""
        change = f"{case}: {stability.change}" if case else stability.change
        print(f"| {template} | {'yes' if stability.stable else 'no'} | {_cell(change)} |", flush=True)


def _cell(text: str) -> str:
    """Return a text as a table cell, with bars and angle brackets escaped."""
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    main()
