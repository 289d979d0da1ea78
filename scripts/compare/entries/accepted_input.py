"""Conversations that only one release renders."""

from __future__ import annotations

from scripts.compare.differences import Difference
from scripts.compare.entries.base import BROKEN_ARGUMENTS, NEMOTRON, OUTCOME, Entry, has_role
from scripts.compare.worker import UNKNOWN

__all__ = ["ENTRIES"]

_BROKEN = ("broken arguments", "text as arguments")


def _only_new(difference: Difference, text: str) -> bool:
    """Return whether only release 0.1 refuses, with a text in its error."""
    return difference.new == "" and text in difference.old


def _only_old(difference: Difference, text: str) -> bool:
    """Return whether only this release refuses, with a text in its error."""
    return difference.old == "" and text in difference.new


ENTRIES = (
    Entry(
        name="content parts that the format does not accept",
        fields=OUTCOME,
        kinds=("render", "sample"),
        matches=lambda found: _only_old(found, "MessageError") and "is a part of type 'image'" in found.new,
        old="dropped",
        new="`MessageError`",
        reason="the model would not see the image",
        remedy="remove the parts",
    ),
    Entry(
        name="`developer` role that the template lacks: error",
        fields=OUTCOME,
        kinds=("render", "sample"),
        matches=lambda found: _only_new(found, "role: developer"),
        old="`ValueError`",
        new="rendered as `system`",
        reason="the OpenAI API uses the role for system messages",
    ),
    Entry(
        name="roles that the format lacks",
        fields=OUTCOME,
        kinds=("render", "sample"),
        families=("deepseek-r1", "gpt-oss"),
        matches=lambda found: _only_old(found, "there is no role"),
        old="dropped, or written in a form of its own",
        new="`TemplateRefusalError`",
        reason="the vendor's encoder has no such role",
        remedy="change the role to `user` or `system`",
    ),
    Entry(
        name="messages of which the template writes nothing",
        fields=OUTCOME,
        kinds=("render", "sample"),
        matches=lambda found: _only_old(found, "LossError"),
        old="dropped, or written in a form that the template lacks",
        new="`LossError`",
        reason="input is not lost silently",
        remedy='`on_loss={"message": "ignore"}` drops them',
    ),
    Entry(
        name="conversations that the template refuses",
        fields=OUTCOME,
        kinds=("render", "sample"),
        families=("qwen3.5", "qwen3.6"),
        matches=lambda found: _only_old(found, "TemplateRefusalError") and not has_role(found, "user"),
        old="rendered, if there is no user message",
        new="`TemplateRefusalError`",
        reason="the template raises an error",
        remedy="add a user message",
    ),
    Entry(
        name="conversations that only release 0.1 refuses: no user message",
        fields=OUTCOME,
        kinds=("render", "sample"),
        families=("qwen3.8",),
        matches=lambda found: _only_new(found, "No user query") and not has_role(found, "user"),
        old="`ValueError`",
        new="rendered",
        reason="follows the template",
    ),
    Entry(
        name="conversations that only release 0.1 refuses: roles and late system messages",
        fields=OUTCOME,
        kinds=("render", "sample"),
        families=NEMOTRON,
        matches=lambda found: any(_only_new(found, text) for text in ("System message must be", "message role: ")),
        old="`ValueError`",
        new="rendered",
        reason="follows the template",
    ),
    Entry(
        name="conversations that only release 0.1 refuses: tools without a user message",
        fields=OUTCOME,
        kinds=("render", "sample"),
        families=("llama-3",),
        matches=lambda found: _only_new(found, "tools_in_user_message=True requires"),
        old="`ValueError`",
        new="rendered",
        reason="follows the template",
    ),
    Entry(
        name="message formats in models without a family in release 0.1",
        fields=OUTCOME,
        kinds=("render", "sample"),
        families=(UNKNOWN,),
        matches=lambda found: found.new == "",
        old="the template fails for parts, None or a missing field",
        new="rendered: messages are converted to the format that the template accepts",
        reason="works with any template",
    ),
    Entry(
        name="thinking parts: error",
        fields=OUTCOME,
        kinds=("render", "sample"),
        matches=lambda found: _only_new(found, "'type': 'thinking'"),
        old="`ValueError`",
        new="reasoning",
        reason="the part type is public",
    ),
    Entry(
        name="data as result: error",
        fields=OUTCOME,
        kinds=("render", "sample"),
        matches=lambda found: _only_new(found, "Unexpected content type: <class 'dict'>"),
        old="`TypeError`",
        new="written as JSON",
        reason="tools return data",
    ),
    Entry(
        name="broken JSON in `arguments`: error",
        fields=OUTCOME,
        kinds=("render", "sample"),
        matches=lambda found: found.case.name.startswith(_BROKEN) and found.new == "",
        old="an error for some families",
        new=BROKEN_ARGUMENTS,
        reason="a sampled call can be broken, and must be rendered in the next prompt",
    ),
)
