"""Llama 3: roles in headers, one call as the JSON of a whole turn."""

from __future__ import annotations

from renderers.families.family import Family, Switch

__all__ = ["LLAMA"]

_STOPS = ("<|eot_id|>", "<|end_of_text|>", "<|eom_id|>")
_CUSTOM = Switch("custom_tools", list)
_IN_USER = Switch("tools_in_user_message", (True, False), True)
_NORMALISATIONS = ("drops_reasoning", "drops_content_with_calls", "trims_content")

LLAMA_3 = Family(
    key="llama-3",
    format="""
    <|begin_of_text|>, then <|start_header_id|>{role}<|end_header_id|>\\n\\n{content}<|eot_id|>
    system     always there: the cutoff and the date, then the system message
    tools      JSON with an indent of four, before the first user's message, or in the system message
    call       {"name": ..., "parameters": ...}, the whole of a turn and only one
    result     the role ipython, its content as JSON
    prompt     <|start_header_id|>assistant<|end_header_id|>\\n\\n
    """,
    names=(
        "meta-llama/Llama-3.2-1B-Instruct",
        "meta-llama/Llama-3.2-3B-Instruct",
        "unsloth/Llama-3.2-1B-Instruct",
        "unsloth/Llama-3.2-3B-Instruct",
    ),
    templates=("5816fce10444e03c",),
    verified="tokens",
    stops=_STOPS,
    # Without a date the template writes today's, so there is no default.
    switches=(Switch("date_string", str), _IN_USER, _CUSTOM),
    syntax="llama",
    normalisations=_NORMALISATIONS,
)

LLAMA_31 = Family(
    key="llama-3.1",
    format="""
    as llama-3, but the date is 26 Jul 2024 where none is given
    builtin_tools are named in the system message; with them a turn of calls ends in <|eom_id|>, and a call of one is
               <|python_tag|>{name}.call({key}="{value}", ...)
    """,
    names=(
        "meta-llama/Llama-3.1-8B-Instruct",
        "meta-llama/Llama-3.1-70B-Instruct",
        "meta-llama/Llama-3.1-405B-Instruct",
        "meta-llama/Meta-Llama-3.1-8B-Instruct",
        "meta-llama/Meta-Llama-3.1-70B-Instruct",
        "meta-llama/Meta-Llama-3.1-405B-Instruct",
        "meta-llama/Llama-3.3-70B-Instruct",
    ),
    templates=("e10ca381b1ccc5cf",),
    verified="tokens",
    stops=_STOPS,
    switches=(Switch("date_string", str, "26 Jul 2024"), _IN_USER, _CUSTOM, Switch("builtin_tools", list)),
    syntax="llama",
    normalisations=_NORMALISATIONS,
)

LLAMA = (LLAMA_3, LLAMA_31)
