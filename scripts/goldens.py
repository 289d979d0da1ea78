"""Writes the golden ids of every family from its reference, and prints what the changelog has to say of them.

    python -m scripts.goldens [FAMILY ...]

The ids are those of transformers, or of what the tests have in its place; this package only puts the messages into the
form that the template takes. Each template of a family that is at hand has a model that stands for it. The changelog is
not touched: where it does not have a line of the table yet, the ids of that family changed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from renderers import ChatRenderer, create_renderer, load_tokenizer
from renderers.core.jsontypes import JsonObject as Data
from renderers.families import Family, digest_of
from renderers.programs.adapt import adapt_messages, adapt_tools
from renderers.programs.input_formats import probe_arguments
from tests.support.golden import (
    CHANGELOG,
    FOLDER,
    KEPT,
    Case,
    Golden,
    Model,
    changelog_row,
    names_of,
    path_of,
    write_golden,
)
from tests.support.golden_conversations import TOOLS, Question, questions
from tests.support.models import HUB_AT_HAND, hub_models, unpack_hub
from tests.support.parity import NOW
from tests.support.reference import Reference, reference_of, time_is

__all__ = ["golden_of"]


def main(keys: list[str]) -> int:
    """Writes the files; returns 1 where a family cannot be written."""
    unknown = [key for key in keys if key not in KEPT]
    if unknown:
        print(f"no family with verified ids: {', '.join(unknown)}; there are {', '.join(KEPT)}", file=sys.stderr)
        return 1
    if not HUB_AT_HAND:
        print("real models are not at hand: set SHARED to the folder that has hub/unpack", file=sys.stderr)
        return 1
    unpack_hub()
    FOLDER.mkdir(exist_ok=True)
    changelog = CHANGELOG.read_text(encoding="utf-8")
    failed = False
    print("| family | version | ids |\n|---|--:|---|")
    for key in keys or KEPT:
        golden = golden_of(KEPT[key])
        if not golden.models:
            print(f"{key}: none of its models is at hand with a template that its record knows", file=sys.stderr)
            failed = True
            continue
        path_of(key).write_text(write_golden(golden), encoding="utf-8", newline="\n")
        row = changelog_row(golden)
        print(row if row in changelog else f"{row}  <- not in {CHANGELOG.name} yet", flush=True)
    return int(failed)


def golden_of(family: Family) -> Golden:
    """Asks the references of a family for all ids."""
    return Golden(family.key, family.version, NOW.isoformat(), list(_models(family)))


def _models(family: Family) -> Iterator[Model]:
    """Yields a model for each template that the record knows: the first name that has it."""
    seen: set[str] = set()
    for name in family.names:
        if not hub_models().get(name, {}).get("template"):
            continue
        renderer = create_renderer(load_tokenizer(name), date=NOW)
        template = digest_of(renderer.template().source)
        if template in family.templates and template not in seen:
            seen.add(template)
            print(f"{family.key}: {name}", file=sys.stderr)
            reference = reference_of(name)
            cases = [_asked(renderer, reference, question) for question in questions(family)]
            yield Model(name, template, _taken(renderer, TOOLS), cases)


def _taken(renderer: ChatRenderer, tools: list[Data]) -> list[Data]:
    """Returns tools in the form that the template takes."""
    template = renderer.template(tools=True)
    return adapt_tools(template, tools, arguments=tuple(renderer.tokenizer.special_tokens_map.items())) or []


def _asked(renderer: ChatRenderer, reference: Reference, question: Question) -> Case:
    template = renderer.template(tools=bool(question.tools))
    switches = {key: value for key, value in question.settings.items() if key != "add_generation_prompt"}
    given = probe_arguments(template, tuple(renderer.tokenizer.special_tokens_map.items()), switches)
    messages, ids = question.messages, None
    try:
        messages = adapt_messages(template, messages, arguments=given)
        with time_is(NOW):
            ids = list(reference(messages, tools=_taken(renderer, question.tools) or None, **question.settings))
    except Exception as error:  # a template may fail in any way, and each of them is a refusal
        print(f"refused: {question.title}: {type(error).__name__}: {error}", file=sys.stderr)
    return Case(question.title, names_of(question.tools), question.settings, messages, ids)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
