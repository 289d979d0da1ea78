"""Print a table of the losses of each template when a turn is rendered, parsed and rendered again.

    python -m scripts.inverse [--examples 300]

Random turns with reasoning, content and tool calls are rendered with control text as plain text, and parsed. A row
counts the turns that give the same ids when rendered again, the calls in them, and the occurrences of each known loss
of the template. An unknown loss ends the run with an error. `refused` counts the turns that the template refuses,
`no boundary` the turns with a first token that is also the last token of the prompt.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from renderers import create_renderer, load_tokenizer
from tests.support.inverse import MODELS, read_back


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=300)
    examples = parser.parse_args().examples
    print("| model | tool-call format | turns | calls | refused | no boundary | losses |")
    print("|---|---|--:|--:|--:|--:|---|")
    for name, record in MODELS.items():
        counters = read_back(name, examples=examples)
        tool_format = create_renderer(load_tokenizer(name)).resolution.grammar.tools
        losses = ", ".join(f"{loss} {counters[loss]:,}" for loss in (*record.normalisations, *record.once))
        counts = " | ".join(f"{counters[count]:,}" for count in ("read", "calls", "refused", "no boundary"))
        print(f"| {Path(name).name} | {tool_format or 'none'} | {counts} | {losses or 'none'} |", flush=True)


if __name__ == "__main__":
    main()
