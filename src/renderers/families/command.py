"""Command of Cohere: roles as tokens after the start of a turn, calls as a list of JSON objects."""

from __future__ import annotations

from renderers.families.family import Family, Switch

__all__ = ["COMMAND"]

_STOPS = ("<|END_OF_TURN_TOKEN|>",)

COMMAND_A = Family(
    key="command-a",
    format="""
    <BOS_TOKEN>, then <|START_OF_TURN_TOKEN|><|{ROLE}_TOKEN|>{content}<|END_OF_TURN_TOKEN|>: SYSTEM, USER, CHATBOT
    system     always there: a long preamble, the tools as JSON in it, the system message at its end
    content    <|START_RESPONSE|>{content}<|END_RESPONSE|>
    reasoning  <|START_THINKING|>{plan}<|END_THINKING|>, before calls only
    call       <|START_ACTION|>[\\n    {"tool_call_id": "0", "tool_name": ..., "parameters": ...}\\n]<|END_ACTION|>,
               with ids that count from 0 over the conversation; Command A's default template writes none
    result     a SYSTEM turn of <|START_TOOL_RESULT|>[{"tool_call_id": ..., "results": ...}]<|END_TOOL_RESULT|>
    prompt     <|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>, also without asking for it; Command A adds <|START_RESPONSE|>
    """,
    names=(
        "CohereLabs/c4ai-command-a-03-2025",
        "CohereForAI/c4ai-command-a-03-2025",
        "CohereLabs/c4ai-command-r7b-12-2024",
        "CohereForAI/c4ai-command-r7b-12-2024",
    ),
    templates=("5a3fc70a3b0a5f2d", "cc60b553279347d8"),
    verified="tokens",
    stops=_STOPS,
    switches=(
        Switch("safety_mode", ("CONTEXTUAL", "STRICT"), "CONTEXTUAL"),
        Switch("enable_citations", (True, False), False),
        Switch("enable_thinking", (True, False), False),
    ),
    syntax="command",
)

COMMAND_R = Family(
    key="command-r",
    format="""
    <BOS_TOKEN>, then <|START_OF_TURN_TOKEN|><|{ROLE}_TOKEN|>{content}<|END_OF_TURN_TOKEN|>: SYSTEM, USER, CHATBOT
    system     a preamble, the system message or a default in it, the tools as Python functions at its end
    call       {content}\\nAction:\\n```json\\n[\\n    {"tool_name": ..., "parameters": ...}\\n]```\\n
               and no end of the turn
    result     a SYSTEM turn of <results>\\n{content}</results>
    prompt     a SYSTEM turn that asks for actions, then <|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>
    """,
    names=(
        "CohereLabs/c4ai-command-r-v01",
        "CohereForAI/c4ai-command-r-v01",
        "CohereLabs/c4ai-command-r-plus",
        "CohereForAI/c4ai-command-r-plus",
    ),
    templates=("bf9e9ee8c0f2297c",),
    verified="template",
    stops=_STOPS,
    syntax="command_r",
)

COMMAND = (COMMAND_A, COMMAND_R)
