"""The `renderers` command."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from renderers import EXAMPLE_MODEL, __version__
from renderers.cli.usage import UsageError

_MODEL = "a directory, a file or a repository on the Hugging Face Hub, or 'example' for the example model"
_TEMPLATE = "a chat template in place of the model's own: a file, or the name of one of the model's templates"
_CONVERSATION = (
    "a JSON file with a list of messages, or an object with messages and tools; "
    "a JSON-lines file with --line; - (default) for standard input"
)

_OPTIONS = {
    r'create the renderer with on_loss=\{"\w+": "ignore"\}': "pass --on-loss ignore",
    "as chat_template=": "with --chat-template",
    r"Pass the date to create_renderer, such as date='([\d-]+)'": r"Pass --date \1",
    r"Pass the argument to create_renderer, such as chat_template_kwargs=\{'(\w+)': '(.+?)'\}": r"Pass --set '\1=\2'",
    r"(?<='date'\. )It is an option of create_renderer\.": "Pass --date.",
    r"The option date has no effect on it\.": "--date has no effect on it.",
}
"""The options of commands, by patterns for those of the library in errors and warnings."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0, 1 for an error, 2 for wrong usage, 3 for a difference."""
    options = vars(_parser().parse_args(argv))
    command = options.pop("command")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Escape characters that the terminal cannot print.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: _print_warning(message)
            # Each command loads only its own module.
            run = getattr(importlib.import_module(f"renderers.cli.{command}"), command)
            result = run(**options)
        text, status = result if isinstance(result, tuple) else (result, 0)
        print(text, flush=True)
    except BrokenPipeError:
        # A reader such as `head` has closed the pipe. Python must not flush into it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        print(f"renderers: {_one_line(error)}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    return int(status)


def _one_line(error: Exception) -> str:
    """Return the text of an error in one line. The type is named if the text does not describe the fault."""
    text = _name_options(error)
    named = isinstance(error, OSError | ValueError | TypeError) or type(error).__module__.startswith("renderers.")
    return text if text and named else f"{type(error).__name__}: {text}"


def _print_warning(message: Warning | str) -> None:
    print(f"renderers: warning: {_name_options(message)}", file=sys.stderr)


def _name_options(message: object) -> str:
    """Return a text in one line, with the options of the command in place of those of the library.

    >>> _name_options('To leave it out, create the renderer with on_loss={"name": "ignore"}.')
    'To leave it out, pass --on-loss ignore.'
    """
    text = " ".join(str(message).split())
    for pattern, option in _OPTIONS.items():
        text = re.sub(pattern, option, text)
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="renderers",
        description="Render chat messages to the exact tokens of an open-weight LLM, and parse its completions.",
        epilog="Run 'renderers COMMAND --help' for the options of a command. "
        "Exit status: 0, 1 for an error, 2 for wrong usage, 3 if diff finds a difference.",
    )
    parser.add_argument("--version", action="version", version=__version__, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    commands.add_parser("demo", help="render and parse a conversation with the example model")
    _add_render(commands)
    _add_parse(commands)
    _add_diff(commands)
    inspect = commands.add_parser("inspect", help="show a tokenizer's files, special tokens and templates")
    inspect.add_argument("model", nargs="?", default=str(EXAMPLE_MODEL), help=f"{_MODEL} (default: the example model)")
    _add_revision(inspect)
    inspect.add_argument("--text", help="also show the tokens of this text")
    compile_command = commands.add_parser("compile", help="compile vocabularies to the cache folder, for faster starts")
    compile_command.add_argument("models", metavar="MODEL", nargs="+", help=_MODEL)
    _add_revision(compile_command)
    models = commands.add_parser("models", help="list the known model families, or show one of them")
    models.add_argument("name", nargs="?", help=f"a family such as qwen3, or a model: {_MODEL}")
    return parser


def _add_render(commands: Any) -> None:
    render = commands.add_parser("render", help="show the tokens, the ids or the text of a conversation")
    render.add_argument("model", metavar="MODEL", help=_MODEL)
    render.add_argument("file", metavar="FILE", nargs="?", default="-", help=_CONVERSATION)
    render.add_argument(
        "--format",
        dest="output",
        choices=("table", "tokens", "ids", "text", "json"),
        default="table",
        help="table (default): a line per run of tokens; tokens: a line per token; ids: a JSON list; "
        "text: the text of the template; json: ids, text and masks",
    )
    _add_conversation_options(render)
    _add_template_options(render)


def _add_parse(commands: Any) -> None:
    parse = commands.add_parser("parse", help="show content, reasoning and tool calls of a completion as JSON")
    parse.add_argument("model", metavar="MODEL", help=_MODEL)
    source = "a JSON list or numbers between spaces, a file with them, or - for standard input"
    parse.add_argument("ids", metavar="IDS", nargs="?", help=f"{source} (default)")
    parse.add_argument("--text", help="parse this text in place of ids; - for the text in standard input")
    parse.add_argument("--tools", metavar="FILE", help="a JSON file with the tools of the prompt")
    parse.add_argument("--prompt-ids", metavar="IDS", help=f"the ids of the prompt: {source}")
    _add_template_options(parse)


def _add_diff(commands: Any) -> None:
    diff = commands.add_parser(
        "diff",
        help="show the first token that differs between two conversations or two models, and why",
        epilog="Exit status: 0 if the ids are the same, 3 if they differ, 1 for an error, 2 for wrong usage.",
    )
    diff.add_argument("model", metavar="MODEL", help=_MODEL)
    diff.add_argument("file", metavar="FILE", help=_CONVERSATION.replace(" (default)", ""))
    diff.add_argument("other", metavar="OTHER", nargs="?", help="another conversation (default: FILE)")
    diff.add_argument("--other-model", metavar="MODEL", help="another model for the second rendering")
    diff.add_argument("--other-revision", metavar="REVISION", help="another revision for the second rendering")
    diff.add_argument("--other-chat-template", metavar="FILE", help="another template for the second rendering")
    diff.add_argument(
        "--other-set",
        dest="other_settings",
        metavar="NAME=VALUE",
        action="append",
        help="template arguments of the second rendering, in place of those of --set",
    )
    diff.add_argument(
        "--format", dest="output", choices=("text", "json"), default="text", help="lines of text (default), or JSON"
    )
    _add_conversation_options(diff)
    _add_template_options(diff)


def _add_conversation_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tools", metavar="FILE", help="a JSON file with a list of tools")
    parser.add_argument("--line", type=int, metavar="N", help="the line of a JSON-lines file, from 1")
    parser.add_argument(
        "--on-loss",
        choices=("error", "warn", "ignore"),
        help="how to treat input of which the template writes nothing "
        "(default: an error for a whole message, a warning for most fields)",
    )
    parser.add_argument("--date", help="the date that the template writes, such as 2026-01-31 (default: a fixed date)")
    parser.add_argument("--generation-prompt", action="store_true", help="add the start of the assistant's next turn")


def _add_template_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an argument of the chat template, such as enable_thinking=false; can be repeated",
    )
    parser.add_argument("--chat-template", metavar="FILE", help=_TEMPLATE)
    _add_revision(parser)


def _add_revision(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--revision", help="a branch, a tag or a commit of the repository")
