"""What each template loses of a turn that is rendered and read again, as a table.

    python -m scripts.inverse [--examples 300]

Turns with reasoning, content and calls are made at random, rendered with control text as ordinary text, and read. A row
counts the turns that were read back and gave the same ids once more, the calls in them, and how often each loss that
the template is known for was seen. A loss that is not known ends the run with an error. Turns that a template refuses
are counted, and those whose first token is also the prompt's last one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from renderers import create_renderer, load_tokenizer
from tests.support.inverse import MODELS, read_back


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=300)
    examples = parser.parse_args().examples
    print("| model | syntax of calls | turns | calls | refused | not apart | lost, and how often |")
    print("|---|---|--:|--:|--:|--:|---|")
    for name, record in MODELS.items():
        used = read_back(name, examples=examples)
        syntax = create_renderer(load_tokenizer(name)).resolution.grammar.tools
        lost = ", ".join(f"{loss} {used[loss]:,}" for loss in (*record.normalisations, *record.once))
        counts = " | ".join(f"{used[count]:,}" for count in ("read", "calls", "refused", "not apart"))
        print(f"| {Path(name).name} | {syntax} | {counts} | {lost or 'nothing'} |", flush=True)


if __name__ == "__main__":
    main()
