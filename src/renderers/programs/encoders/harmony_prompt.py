"""The system and developer messages of Harmony, with the texts that gpt-oss was trained with."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from renderers.core.jsontypes import JsonObject
from renderers.core.probe_words import PROBE_ARGUMENT
from renderers.core.spans import Path
from renderers.core.text import describe_type
from renderers.errors import MessageError, TemplateRefusalError
from renderers.programs.encoders.harmony_types import declare_function, write_description
from renderers.programs.pieces import Piece

MODEL_IDENTITY = "You are ChatGPT, a large language model trained by OpenAI."
KNOWLEDGE_CUTOFF = "2024-06"
REASONING_EFFORT = "medium"
_EFFORTS = "low", "medium", "high"

_BROWSER = """## browser

// Tool for browsing.
// The `cursor` appears in brackets before each browsing display: `[{cursor}]`.
// Cite information from the tool using the following format:
// `【{cursor}†L{line_start}(-L{line_end})?】`, for example: `【6†L9-L11】` or `【8†L3】`.
// Do not quote more than 10 words directly from the tool output.
// sources=web (default: web)
namespace browser {

// Searches for information related to `query` and displays `topn` results.
type search = (_: {
query: string,
topn?: number, // default: 10
source?: string,
}) => any;

// Opens the link `id` from the page indicated by `cursor` starting at line number `loc`, showing `num_lines` lines.
// Valid link ids are displayed with the formatting: `【{id}†.*】`.
// If `cursor` is not provided, the most recent page is implied.
// If `id` is a string, it is treated as a fully qualified URL associated with `source`.
// If `loc` is not provided, the viewport will be positioned at the beginning of the document or centered on the most \
relevant passage, if available.
// Use this function without `id` to scroll to a new location of an opened page.
type open = (_: {
id?: number | string, // default: -1
cursor?: number, // default: -1
loc?: number, // default: -1
num_lines?: number, // default: -1
view_source?: boolean, // default: false
source?: string,
}) => any;

// Finds exact matches of `pattern` in the current page, or the page given by `cursor`.
type find = (_: {
pattern: string,
cursor?: number, // default: -1
}) => any;

} // namespace browser"""

_PYTHON = """## python

Use this tool to execute Python code in your chain of thought. The code will not be shown to the user. This tool \
should be used for internal reasoning, but not for code that is intended to be visible to the user (e.g. when creating \
plots, tables, or files).

When you send a message containing Python code to python, it will be executed in a stateful Jupyter notebook \
environment. python will respond with the output of the execution or time out after 120.0 seconds. The drive at \
'/mnt/data' can be used to save and persist user files. Internet access for this session is UNKNOWN. Depends on the \
cluster."""

BUILTIN_TOOLS = {"browser": _BROWSER, "python": _PYTHON}
"""The declarations of the tools that the model was trained with."""
_CHANNELS = "# Valid channels: analysis, commentary, final. Channel must be included for every message."
_FUNCTION_CHANNEL = "\nCalls to these tools must go to the commentary channel: 'functions'."


class HarmonyOptions(NamedTuple):
    """The arguments of a render."""

    model_identity: str
    knowledge_cutoff: str
    conversation_start_date: str
    reasoning_effort: str
    builtin_tools: tuple[str, ...]
    use_system_prompt: bool
    auto_drop_analysis: bool

    @classmethod
    def read(cls, arguments: Mapping[str, Any], now: datetime.datetime) -> HarmonyOptions:
        """Read the arguments. The default date is that of `now`.

        Raises:
            TemplateRefusalError: An argument has a wrong type or value.
        """
        builtin = arguments.get("builtin_tools") or ()
        if not isinstance(builtin, list | tuple) or any(name not in [*BUILTIN_TOOLS] for name in builtin):
            names = " and ".join(map(repr, BUILTIN_TOOLS))
            raise TemplateRefusalError(
                f"builtin_tools must be a list that contains only {names}, not {builtin!r}", format_name="Harmony"
            )
        options = cls(
            _read_text(arguments, "model_identity", MODEL_IDENTITY),
            _read_text(arguments, "knowledge_cutoff", KNOWLEDGE_CUTOFF),
            _read_text(arguments, "conversation_start_date", f"{now:%Y-%m-%d}"),
            _read_text(arguments, "reasoning_effort", REASONING_EFFORT),
            tuple(name for name in BUILTIN_TOOLS if name in builtin),
            _read_flag(arguments, "use_system_prompt"),
            _read_flag(arguments, "auto_drop_analysis"),
        )
        # In probes all arguments that are only written into the system message have the same text.
        if options.reasoning_effort not in (*_EFFORTS, PROBE_ARGUMENT):
            names = ", ".join(map(repr, _EFFORTS))
            raise TemplateRefusalError(
                f"reasoning_effort must be one of {names}, not {options.reasoning_effort!r}", format_name="Harmony"
            )
        if options.builtin_tools and not options.use_system_prompt:
            raise TemplateRefusalError(
                "builtin_tools need the system message. Remove use_system_prompt=False or builtin_tools",
                format_name="Harmony",
            )
        return options


OPTION_NAMES = frozenset(HarmonyOptions._fields)
"""The names of the arguments that the program reads."""


def _read_text(arguments: Mapping[str, Any], name: str, default: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str | None):
        raise TemplateRefusalError(f"{name} must be a string, not {describe_type(value)}", format_name="Harmony")
    return default if value is None else value


def _read_flag(arguments: Mapping[str, Any], name: str) -> bool:
    value = arguments.get(name)
    if not isinstance(value, bool | None):
        raise TemplateRefusalError(f"{name} must be a bool, not {describe_type(value)}", format_name="Harmony")
    return value is not False


def system_pieces(options: HarmonyOptions, *, has_functions: bool) -> list[Piece]:
    """Return the text of the system message."""
    tools = "".join(f"{BUILTIN_TOOLS[name]}\n\n" for name in options.builtin_tools)
    return [
        _argument(options, "model_identity"),
        Piece("\nKnowledge cutoff: "),
        _argument(options, "knowledge_cutoff"),
        Piece("\nCurrent date: "),
        _argument(options, "conversation_start_date"),
        Piece("\n\nReasoning: "),
        _argument(options, "reasoning_effort"),
        Piece("\n\n" + (f"# Tools\n\n{tools}" if tools else "") + _CHANNELS + _FUNCTION_CHANNEL * has_functions),
    ]


def _argument(options: HarmonyOptions, name: str) -> Piece:
    """Return the text of an argument. It has a path, because it is not text of the format."""
    return Piece(getattr(options, name), -1, (name,))


def tool_pieces(tools: Sequence[JsonObject], no_parameters: str = "") -> list[Piece]:
    """Return the declarations of function tools, for a developer message.

    `no_parameters` is the text for the parameters of a function that has none.

    Raises:
        MessageError: A tool is not a function.
    """
    pieces = [Piece("# Tools\n\n## functions\n\nnamespace functions {\n\n")]
    for number, tool in enumerate(tools):
        function = tool.get("function") or tool
        if "name" not in function:
            kind = tool.get("type")
            fault = f"has the type {kind!r}, but Harmony has only functions. Use builtin_tools for browser and python"
            raise MessageError(fault, path=("tools", number))
        path: Path = ("tools", number) if function is tool else ("tools", number, "function")
        pieces.append(Piece(write_description(function), -1, (*path, "description")))
        pieces.append(Piece(declare_function(function, no_parameters), -1, path))
    return [*pieces, Piece("} // namespace functions")]
