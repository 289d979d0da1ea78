"""Write the golden ids of every family from its reference implementation, and print the table for the changelog.

    python -m scripts.goldens [FAMILY ...]

The ids come from transformers, or from the reference that the tests use instead. This package only converts the
messages to the input format of the template. One available model represents each template of a family. The changelog
is not edited: a row that it lacks means that the ids of that family changed. The rows of encoders in Python are printed
too; their stress tests record their ids.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from renderers import ChatRenderer
from renderers.core.jsontypes import JsonObject as Data
from renderers.families import Family, digest_of
from renderers.programs.adapt import InputAdapter
from renderers.programs.input_formats import probe_arguments
from tests.support.encoder_goldens import ENCODED, encoder_row
from tests.support.golden import (
    CHANGELOG,
    FOLDER,
    KEPT,
    Case,
    Golden,
    Model,
    changelog_row,
    create_template_renderer,
    names_of,
    path_of,
    write_golden,
)
from tests.support.golden_conversations import TOOLS, Question, questions
from tests.support.models import HUB_AT_HAND, hub_models, unpack_hub
from tests.support.parity import NOW
from tests.support.reference import Reference, reference_of, time_is


def main(keys: list[str]) -> int:
    """Write the files. Return 1 if the ids of a family cannot be generated."""
    unknown = [key for key in keys if key not in KEPT]
    if unknown:
        print(f"unknown families: {', '.join(unknown)}. Choose from: {', '.join(KEPT)}", file=sys.stderr)
        return 1
    if not HUB_AT_HAND:
        print("no real models available. Set SHARED to the directory that contains hub/unpack.", file=sys.stderr)
        return 1
    unpack_hub()
    FOLDER.mkdir(exist_ok=True)
    changelog = CHANGELOG.read_text(encoding="utf-8")
    failed = False
    print("| family | version | ids |\n|---|--:|---|")
    for key in keys or KEPT:
        golden = golden_of(KEPT[key])
        if not golden.models:
            print(f"{key}: no available model has one of the templates of its record", file=sys.stderr)
            failed = True
            continue
        path_of(key).write_text(write_golden(golden), encoding="utf-8", newline="\n")
        _print_row(changelog_row(golden), changelog)
    for key in [key for key in keys or ENCODED if key in ENCODED]:
        _print_row(encoder_row(ENCODED[key]), changelog)
    return int(failed)


def _print_row(row: str, changelog: str) -> None:
    print(row if row in changelog else f"{row}  <- not in {CHANGELOG.name} yet", flush=True)


def golden_of(family: Family) -> Golden:
    """Generate all ids of a family with its references."""
    return Golden(family.key, family.version, NOW.isoformat(), list(_models(family)))


def _models(family: Family) -> Iterator[Model]:
    """Yield a model for each template of the record: the first available name with that template."""
    seen: set[str] = set()
    for name in family.names:
        if not hub_models().get(name, {}).get("template"):
            continue
        renderer = create_template_renderer(family, name, NOW)
        template = digest_of(renderer.template().source)
        if template in family.templates and template not in seen:
            seen.add(template)
            print(f"{family.key}: {name}", file=sys.stderr)
            reference = reference_of(name)
            cases = [_case(renderer, reference, question) for question in questions(family)]
            yield Model(name, template, _adapted_tools(renderer, TOOLS), cases)


def _adapted_tools(renderer: ChatRenderer, tools: list[Data]) -> list[Data]:
    """Return tools in the input format of the template."""
    template = renderer.template(tools=True)
    return InputAdapter(template, tuple(renderer.tokenizer.special_tokens_map.items())).tools(tools) or []


def _case(renderer: ChatRenderer, reference: Reference, question: Question) -> Case:
    template = renderer.template(tools=bool(question.tools))
    switches = {key: value for key, value in question.settings.items() if key != "add_generation_prompt"}
    probe = probe_arguments(template, tuple(renderer.tokenizer.special_tokens_map.items()), switches)
    messages, ids = question.messages, None
    try:
        messages = InputAdapter(template, probe).messages(messages)
        with time_is(NOW):
            ids = list(reference(messages, tools=_adapted_tools(renderer, question.tools) or None, **question.settings))
    except Exception as error:  # any failure of a template is a refusal
        print(f"refused: {question.title}: {type(error).__name__}: {error}", file=sys.stderr)
    return Case(question.title, names_of(question.tools), question.settings, messages, ids)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
