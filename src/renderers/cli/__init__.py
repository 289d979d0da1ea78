"""The `renderers` command."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence

from renderers import EXAMPLE_MODEL, TokenizerLoadError, UnencodableTextError, UnknownFamilyError, __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    options = vars(_parser().parse_args(argv))
    command = options.pop("command")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Escape characters that the terminal cannot print.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        # Each command loads only its own module.
        run = getattr(importlib.import_module(f"renderers.cli.{command}"), command)
        print(run(**options), flush=True)
    except (TokenizerLoadError, UnencodableTextError, UnknownFamilyError) as error:
        print(f"renderers: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # A reader such as `head` has closed the pipe. Python must not flush into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="renderers",
        description="Render chat messages to the exact tokens of an open-weight LLM, and parse its completions.",
        epilog="Run 'renderers COMMAND --help' for the options of a command.",
    )
    parser.add_argument("--version", action="version", version=__version__, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    commands.add_parser("demo", help="render and parse a conversation with the example model")
    inspect = commands.add_parser("inspect", help="show a tokenizer's files, special tokens and templates")
    inspect.add_argument(
        "model",
        nargs="?",
        default=str(EXAMPLE_MODEL),
        help="a directory, a file or a repository on the Hugging Face Hub (default: the example model)",
    )
    inspect.add_argument("--revision", help="a branch, a tag or a commit of the repository")
    inspect.add_argument("--text", help="also show the tokens of this text")
    models = commands.add_parser("models", help="list the known model families, or show one of them")
    models.add_argument("name", nargs="?", help="a family such as qwen3, or a model such as Qwen/Qwen3-8B")
    return parser
