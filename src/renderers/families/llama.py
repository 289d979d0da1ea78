"""Llama 3: roles in headers, a single call as the JSON of a whole turn."""

from __future__ import annotations

from functools import partial

from renderers.families.family import Family, TemplateSwitch, flag, unpassed, words

_CUSTOM = TemplateSwitch("custom_tools", list)
_IN_USER = flag("tools_in_user_message", True)

_llama = partial(
    Family,
    verified="tokens",
    stop_tokens=("<|eot_id|>", "<|end_of_text|>", "<|eom_id|>"),
    syntax="llama",
    normalisations=("drops_reasoning", "drops_content_with_calls", "trims_content"),
)

_LLAMA_3 = _llama(
    key="llama-3",
    class_name="Llama3",
    version=2,
    format="""
    <|begin_of_text|>, then <|start_header_id|>{role}<|end_header_id|>\\n\\n{content}<|eot_id|>
    system     always: the cutoff and the date, then the system message
    tools      JSON with an indent of four, before the first user message, or in the system message
    call       {"name": ..., "parameters": ...}, the whole turn, only one call
    result     the role ipython, its content as JSON
    prompt     <|start_header_id|>assistant<|end_header_id|>\\n\\n
    """,
    names=words("""
        meta-llama/Llama-3.2-1B-Instruct meta-llama/Llama-3.2-3B-Instruct unsloth/Llama-3.2-1B-Instruct
        unsloth/Llama-3.2-3B-Instruct
    """),
    templates=("5816fce10444e03c",),
    # The default is the current date, so it is not listed.
    switches=(TemplateSwitch("date_string", str), _IN_USER, _CUSTOM),
)

_LLAMA_31 = _llama(
    key="llama-3.1",
    class_name="Llama31",
    version=2,
    format="""
    as llama-3, but the default date is 26 Jul 2024
    builtin_tools are listed in the system message; with them a turn with calls ends in <|eom_id|>, and a call is
               <|python_tag|>{name}.call({key}="{value}", ...)
    """,
    names=words("""
        meta-llama/Llama-3.1-8B-Instruct meta-llama/Llama-3.1-70B-Instruct meta-llama/Llama-3.1-405B-Instruct
        meta-llama/Meta-Llama-3.1-8B-Instruct meta-llama/Meta-Llama-3.1-70B-Instruct
        meta-llama/Meta-Llama-3.1-405B-Instruct meta-llama/Llama-3.3-70B-Instruct
    """),
    templates=("e10ca381b1ccc5cf",),
    switches=unpassed(
        TemplateSwitch("date_string", str, "26 Jul 2024"),
        _IN_USER,
        _CUSTOM,
        TemplateSwitch("builtin_tools", list),
    ),
)

RECORDS = (
    _LLAMA_3,
    _LLAMA_31,
)
