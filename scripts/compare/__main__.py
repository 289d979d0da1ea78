"""Compare this release with release 0.1.12, and write docs/tables/differences.md and tests/compare/examples.jsonl.

    python -m scripts.compare [--quick] [--model Qwen/Qwen3-8B] [-v]

Fail if a difference has no entry in `scripts/compare/entries`, or if an entry explains none. With `--quick` or
`--model` the corpus is smaller, nothing is written, and unused entries are no failure.
"""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks.peers import OLD_RELEASE, find_python
from scripts.compare.corpus import compared_models
from scripts.compare.examples import write_examples
from scripts.compare.judge import Verdict
from scripts.compare.releases import OldRelease, run_model
from scripts.compare.report import PAGE, page, problems
from tests.support.harmony_reference import harmony_vocabulary
from tests.support.models import hub_models, unpack_hub


def main() -> int:
    """Run the comparison and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="compare a small corpus")
    parser.add_argument("--model", action="append", help="compare only this model; can be repeated")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the page")
    arguments = parser.parse_args()
    if not hub_models():
        print("no real models available: set SHARED")
        return 0
    unpack_hub()
    python = find_python(OLD_RELEASE)
    if python is None:
        return 1
    verdict = Verdict()
    with OldRelease(python, TIKTOKEN_ENCODINGS_BASE=str(harmony_vocabulary())) as release:
        verdict.known_families = release.families()
        for model in arguments.model or compared_models():
            start = time.monotonic()
            for results in run_model(release, model, quick=arguments.quick):
                verdict.add(results)
            print(f"{model}: {time.monotonic() - start:.0f} s", file=sys.stderr)
    if arguments.verbose:
        print(page(verdict))
    print(*problems(verdict), sep="\n")
    if arguments.quick or arguments.model:
        return int(bool(verdict.unknown))
    if not verdict.failed:
        PAGE.write_text(page(verdict), encoding="utf-8")
        write_examples({entry.name: example for entry, example in verdict.examples.items()})
    return int(verdict.failed)


if __name__ == "__main__":
    sys.exit(main())
