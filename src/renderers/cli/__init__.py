"""The `renderers` command."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from renderers import EMBEDDED, TokenizerLoadError, UnencodableTextError, __version__
from renderers.errors import UnknownFamilyError

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code."""
    arguments = _parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a character gets its escape, not an error.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        print(_answer(arguments), flush=True)
    except (TokenizerLoadError, UnencodableTextError, UnknownFamilyError) as error:
        print(f"renderers: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever reads, as `head` does, has seen enough; nothing is left to be written when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _answer(arguments: argparse.Namespace) -> str:
    """Returns what a command prints; what only one of them needs is imported by it alone."""
    if arguments.command == "demo":
        from renderers.cli.demo import demo

        return demo()
    if arguments.command == "models":
        from renderers.cli.models import models

        return models(arguments.name)
    from renderers.cli.inspect import inspect

    return inspect(arguments.model, revision=arguments.revision, text=arguments.text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="renderers", description="Chat messages to exact tokens, and back.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("demo", help="run the main job on the model that comes with the package")
    inspect = commands.add_parser("inspect", help="show what a tokenizer's files say")
    inspect.add_argument("model", nargs="?", default=str(EMBEDDED), help="a directory, a file or a repository")
    inspect.add_argument("--revision", help="a branch, tag or commit of the repository")
    inspect.add_argument("--text", help="a text to show the tokens of")
    models = commands.add_parser("models", help="show the families of models that are known, or one of them")
    models.add_argument("name", nargs="?", help="a family, or the name of a model")
    return parser
