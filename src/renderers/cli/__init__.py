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
    """Run the command line and return the exit code."""
    arguments = _parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Escape characters that the terminal cannot print.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        print(_output(arguments), flush=True)
    except (TokenizerLoadError, UnencodableTextError, UnknownFamilyError) as error:
        print(f"renderers: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # A reader such as `head` has closed the pipe. Python must not flush into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _output(arguments: argparse.Namespace) -> str:
    """Return the output of a command. Imports are local, so that each command loads only its own modules."""
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
    commands.add_parser("demo", help="render and parse a conversation with the embedded model")
    inspect = commands.add_parser("inspect", help="show the facts in a tokenizer's files")
    inspect.add_argument("model", nargs="?", default=str(EMBEDDED), help="a directory, a file or a repository")
    inspect.add_argument("--revision", help="a branch, tag or commit of the repository")
    inspect.add_argument("--text", help="a text to tokenize")
    models = commands.add_parser("models", help="list the known model families, or show one of them")
    models.add_argument("name", nargs="?", help="a family, or the name of a model")
    return parser
