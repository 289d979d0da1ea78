"""Which templates keep what they have written when messages are appended, and what changes first, as a table.

    python -m scripts.stability_table [--corpus]

The templates of the real models at hand are listed, with `--corpus` also those of the corpus.
"""

from __future__ import annotations

import sys

from renderers import EMBEDDED
from tests.support.bridging import TEMPLATES, renderer_of
from tests.support.models import hub_models


def main() -> None:
    """Prints the table."""
    print("| template | stable | smallest change |")
    print("|---|---|---|")
    for template, source in TEMPLATES.items():
        if source != EMBEDDED and source not in hub_models() and "--corpus" not in sys.argv[1:]:
            continue
        renderer = renderer_of(template)
        if renderer is None:
            continue
        found = renderer.prefix_stability()
        what = found.tried[-1].replace("after a question: ", "") if found.tried and not found.stable else ""
        change = f"{what}: {found.change}" if what else found.change
        print(f"| {template} | {'yes' if found.stable else 'no'} | {_cell(change)} |", flush=True)


def _cell(text: str) -> str:
    """Returns a text as it may stand in a table: markers have bars, and are no HTML."""
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    main()
