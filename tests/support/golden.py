"""Golden ids: the files in `tests/goldens`, one for each family with a template, and their rows in the changelog.

A file has the reference ids of a few conversations, as text, so that a diff shows the changes:

    family qwen3
    version 1
    date 2026-11-15T12:30:00

    model Qwen/Qwen3-8B
    template a55ee1b1660128b7
    tool {"type": "function", ...}

    # a question
    set {"add_generation_prompt": true}
    {"role": "user", "content": "Hi"}
    151644 872 198 ...

A case has the names of its tools, its settings, its messages in the input format of the template, and the ids; or
`refused`, if the template does not render it. Ids that most cases of a model begin with, such as those of a long
default system message, are written once below the model, and as the word `start` in the cases.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

from renderers import ChatRenderer, create_renderer, load_tokenizer
from renderers.families import FAMILIES, Family

__all__ = [
    "CHANGELOG",
    "FOLDER",
    "KEPT",
    "Case",
    "Golden",
    "Model",
    "changelog_row",
    "create_template_renderer",
    "digest_of_ids",
    "has_encoder",
    "names_of",
    "path_of",
    "read_golden",
    "row_in_changelog",
    "row_name",
    "write_golden",
]

Data = dict[str, Any]

FOLDER = Path(__file__).parents[1] / "goldens"
CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
KEPT: dict[str, Family] = {
    key: family
    for key, family in FAMILIES.items()
    if family.verified == "tokens" and (family.program in (None, "sorted-tools") or key == "gpt-oss")
}
"""The families with golden ids of a template. The other families with an encoder have models without a template."""
WIDTH = 120
LEAST_START = 40
"""The minimum number of shared ids that are written once."""
TITLE = "Golden ids of {}: what the reference gives. Made by `make goldens` and not by hand; see CONTRIBUTING.md."


class Case(NamedTuple):
    """A conversation and its ids."""

    title: str
    tools: tuple[str, ...]
    settings: Data
    messages: list[Data]
    ids: list[int] | None
    """None if the template refuses the conversation."""


class Model(NamedTuple):
    """A model that represents all models with its template."""

    name: str
    template: str
    """The digest of its template."""
    tools: list[Data]
    cases: list[Case]


class Golden(NamedTuple):
    """The contents of a file."""

    family: str
    version: int
    """The version of the family record."""
    date: str
    """The current time of templates that read it."""
    models: list[Model]


def names_of(tools: list[Data]) -> tuple[str, ...]:
    """Return the names of tools, with or without a `function` wrapper.

    >>> names_of([{"type": "function", "function": {"name": "search"}}, {"name": "get_weather"}])
    ('search', 'get_weather')
    """
    return tuple(tool.get("function", tool)["name"] for tool in tools)


def path_of(key: str) -> Path:
    """Return the file of a family."""
    return FOLDER / f"{key}.txt"


# ==================
# The file
# ==================


def write_golden(golden: Golden) -> str:
    """Return the text of a file."""
    head = [f"family {golden.family}", f"version {golden.version}", f"date {golden.date}"]
    blocks = [[TITLE.format(golden.family)], head]
    for model in golden.models:
        tools = [f"tool {_json(tool)}" for tool in model.tools]
        start = _start(model.cases)
        once = ["start", *_wrapped(start)] if start else []
        blocks.append([f"model {model.name}", f"template {model.template}", *tools, *once])
        blocks += [_case_lines(case, start) for case in model.cases]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _start(cases: list[Case]) -> list[int]:
    """Return the ids that at least half of the cases begin with; an empty list if these are few."""
    lists = [case.ids for case in cases if case.ids is not None]
    if not lists:
        return []
    shared = sorted(_common_prefix(lists[0], ids) for ids in lists)
    start = lists[0][: shared[len(shared) // 2]]
    return start if len(start) >= LEAST_START else []


def _common_prefix(first: list[int], second: list[int]) -> int:
    """Return the length of the common prefix."""
    pairs = zip(first, second, strict=False)
    return next((at for at, (here, there) in enumerate(pairs) if here != there), min(len(first), len(second)))


def _wrapped(words: list[int] | list[int | str]) -> list[str]:
    return textwrap.wrap(" ".join(map(str, words)), WIDTH)


def _case_lines(case: Case, start: list[int]) -> list[str]:
    ids: list[int | str] | None = None if case.ids is None else [*case.ids]
    if ids and start and ids[: len(start)] == start:
        ids[: len(start)] = ["start"]
    return [
        f"# {case.title}",
        *([" ".join(["tools", *case.tools])] if case.tools else []),
        f"set {_json(case.settings)}",
        *map(_json, case.messages),
        *(["refused"] if ids is None else _wrapped(ids)),
    ]


def _json(value: Data) -> str:
    return json.dumps(value, ensure_ascii=False)


def read_golden(text: str) -> Golden:
    """Parse the text of a file.

    Raises:
        ValueError: The text is not in the format of `write_golden`.
    """
    _, head, *blocks = (block.split("\n") for block in text.removesuffix("\n").split("\n\n"))
    family, version, date = _values(head, "family", "version", "date")
    golden = Golden(family, int(version), date, [])
    start: list[int] = []
    for block in blocks:
        if block[0].startswith("# "):
            golden.models[-1].cases.append(_case(block, start))
        else:
            size = block.index("start") if "start" in block else len(block)
            start = _ids(block[size + 1 :], [])
            name, template, *tools = _values(block[:size], "model", "template", *["tool"] * (size - 2))
            golden.models.append(Model(name, template, [json.loads(tool) for tool in tools], []))
    return golden


def _ids(lines: list[str], start: list[int]) -> list[int]:
    words = [word for line in lines for word in line.split()]
    return start + [int(word) for word in words[1:]] if words[:1] == ["start"] else [int(word) for word in words]


def _case(block: list[str], start: list[int]) -> Case:
    title, *lines = block
    tools = lines.pop(0).split()[1:] if lines[0].startswith("tools ") else []
    (settings,) = _values(lines[:1], "set")
    messages = [json.loads(line) for line in lines if line.startswith("{")]
    last = lines[1 + len(messages) :]
    ids = None if last == ["refused"] else _ids(last, start)
    return Case(title.removeprefix("# "), tuple(tools), json.loads(settings), messages, ids)


def _values(lines: list[str], *keys: str) -> list[str]:
    """Return the rest of each line after its first word, which must be the given key."""
    pairs = [line.split(" ", 1) for line in lines]
    if [pair[0] for pair in pairs] != list(keys):
        raise ValueError(f"expected lines that begin with {', '.join(keys)}, found {lines}; run `make goldens`")
    return [pair[1] for pair in pairs]


# ==================
# The template
# ==================


def create_template_renderer(family: Family, name: str, date: datetime.datetime) -> ChatRenderer:
    """Create the renderer of a model with its chat template, even if an encoder is its default program."""
    forms: Data = {"program": "template", "content_tokens": "template"} if has_encoder(family) else {}
    return create_renderer(load_tokenizer(name), date=date, on_loss="ignore", **forms)


# ==================
# The changelog
# ==================


def digest_of_ids(golden: Golden) -> str:
    """Return 16 hex digits that change when an id, a title or a model does.

    >>> case = Case("a question", (), {}, [], [1, 2])
    >>> digest_of_ids(Golden("qwen3", 1, "", [Model("Qwen/Qwen3-8B", "", [], [case])]))
    '96a579613ca23a63'
    """
    contents = [[model.name, [[case.title, case.ids] for case in model.cases]] for model in golden.models]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()[:16]


def row_name(key: str) -> str:
    """Return the name of a family in the changelog. Its own name is that of its default form.

    >>> row_name("qwen3"), row_name("gpt-oss")
    ('qwen3', 'gpt-oss, template')
    """
    return f"{key}, template" if key in FAMILIES and has_encoder(FAMILIES[key]) else key


def has_encoder(family: Family) -> bool:
    """Return True if the default program of a family is an encoder in Python."""
    return family.program not in (None, "sorted-tools")


def changelog_row(golden: Golden) -> str:
    """Return the required row of the changelog."""
    return f"| {row_name(golden.family)} | {golden.version} | `{digest_of_ids(golden)}` |"


def row_in_changelog(text: str, family: str) -> str | None:
    """Return the newest row of a changelog for a family, which is the first; None if there is none.

    >>> row_in_changelog("| qwen3 | 2 | `1f` |\\n\\n| qwen3 | 1 | `2e` |\\n", "qwen3")
    '| qwen3 | 2 | `1f` |'
    """
    match = re.search(rf"^\| {re.escape(family)} \| \d+ \| `[0-9a-f]+` \|$", text, re.MULTILINE)
    return match and match[0]
