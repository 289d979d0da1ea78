"""Compare our TypeScript declarations of tools with those of release 0.1, which follow the tokenizer code of Kimi K2.5.

    python -m tests.stress_declarations [--cases N] [--record]

Release 0.1 runs in an environment of its own. `--record` writes its declarations of a few tools to the file that the
tests read.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers import OLD_RELEASE, child_environment, find_python
from renderers.programs.typescript_tools import declare_tools, sort_tools
from tests.support.conversations import TOOLS
from tests.support.golden_conversations import TOOLS as GOLDEN_TOOLS
from tests.support.tool_schemas import random_tools

RECORDED = Path(__file__).parent / "programs" / "typescript_tools.jsonl"
"""A line for each list of tools, with its declarations."""
RECORDED_CASES = 25
WORKER = """
import json, sys
from renderers.kimi_k25 import _encode_tools_typescript as declare
for line in sys.stdin:
    try:
        print(json.dumps(declare(json.loads(line))))
    except Exception:
        print("null")
"""

Data = dict[str, Any]


def declared_by_release(python: str, cases: list[list[Data]]) -> list[str]:
    """Return the declarations of release 0.1 for tools with sorted keys. Empty for tools that it cannot declare."""
    lines = "\n".join(json.dumps(sort_tools(tools)) for tools in cases)
    result = subprocess.run(
        [python, "-I", "-c", WORKER],
        input=lines,
        env=child_environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [json.loads(line) or "" for line in result.stdout.splitlines()]


def main(arguments: list[str]) -> int:
    """Compare the declarations, or record some. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args(arguments)
    python = find_python(OLD_RELEASE)
    if python is None:
        return 1
    rng = random.Random(0)
    size = RECORDED_CASES if options.record else options.cases
    cases = [TOOLS, GOLDEN_TOOLS, *(random_tools(rng) for _ in range(size))]
    expected = declared_by_release(python, cases)
    if options.record:
        lines = [json.dumps(case, ensure_ascii=False) + "\n" for case in zip(cases, expected, strict=True)]
        RECORDED.write_text("".join(lines), encoding="utf-8", newline="\n")
    pairs = zip(cases, expected, strict=True)
    wrong = [tools for tools, text in pairs if declare_tools(tools).declarations != text]
    without = expected.count("")
    print(f"{len(cases)} lists of tools, {without} without declarations, {len(wrong)} with other declarations")
    if wrong:
        print(f"the first one: {json.dumps(wrong[0], ensure_ascii=False)}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
