"""Every family record agrees with its templates and vocabularies, and with its classes."""

from __future__ import annotations

import re
import sys
from collections import Counter
from itertools import chain
from typing import Any

import pytest

from renderers import ChatRenderer, MessageError, TemplateError, is_multimodal
from renderers.configs import CONFIG_CLASSES
from renderers.families import FAMILIES, MODEL_RENDERER_MAP, Family
from renderers.families.registry import UNKNOWN_FAMILY, FamilyMatch, find_family
from renderers.family_renderers import RENDERER_REGISTRY
from renderers.parsing.infer import writes_calls
from renderers.parsing.tool_formats import TOOL_FORMATS
from tests.support.conversations import CONVERSATIONS, TOOLS
from tests.support.families import Known, known, renderer_for
from tests.support.models import HUB_AT_HAND
from tests.support.normalise import NORMALISATIONS

SOME = ("two", "system", "reasoning in history", "cycle then user")
RECORDS = [pytest.param(one, id=one.key) for one in FAMILIES.values()]

UNREAD = {("qwen3-2507", "enable_thinking")}
"""What is taken for callers' sake, with a warning."""

needs_hub = pytest.mark.skipif(not HUB_AT_HAND, reason="real models are not at hand (set SHARED)")


def test_a_name_and_a_template_belong_to_one_family() -> None:
    names = Counter(chain.from_iterable(one.names for one in FAMILIES.values()))
    templates = Counter(chain.from_iterable(one.templates for one in FAMILIES.values()))
    assert {one for one, count in (names | templates).items() if count > 1} == set()


def test_every_family_has_a_config_and_a_class() -> None:
    assert CONFIG_CLASSES.keys() - {"auto", "custom", "default"} == FAMILIES.keys()
    assert RENDERER_REGISTRY.keys() - {"default"} == FAMILIES.keys()
    assert all(kind.family == key for key, kind in RENDERER_REGISTRY.items())


def test_a_renderer_class_has_the_name_in_its_record() -> None:
    assert {key: kind.__name__ for key, kind in RENDERER_REGISTRY.items()} == {
        family.key: f"{family.class_name}Renderer" for family in (*FAMILIES.values(), UNKNOWN_FAMILY)
    }


def test_every_record_of_a_vendor_module_is_registered() -> None:
    modules = [module for name, module in sys.modules.items() if name.startswith("renderers.families.")]
    records = {record.key for module in modules for record in vars(module).values() if isinstance(record, Family)}
    assert records == {*FAMILIES, UNKNOWN_FAMILY.key}


@pytest.mark.parametrize("family", RECORDS)
def test_a_record_is_whole_and_short(family: Family) -> None:
    assert family.stop_tokens
    assert 1 <= len(family.format.strip().splitlines()) <= 12
    assert max(map(len, family.format.splitlines())) <= 120
    assert set(family.normalisations) <= NORMALISATIONS.keys()
    switches = {one.name: one for one in family.switches}
    assert len(switches) == len(family.switches)
    for rule in family.retains:
        values = switches[rule.switch].values
        assert isinstance(values, tuple)
        assert rule.value in values


@needs_hub
@pytest.mark.parametrize("family", RECORDS)
def test_a_record_says_how_far_it_could_be_checked(family: Family) -> None:
    found = [one for one in known() if one.family == family]
    assert {one.digest for one in found} == set(family.templates)
    whole = family.program is None and any(one.has_vocabulary for one in found)
    level = "tokens" if whole else "template" if found else "none"
    assert family.verified == level


@pytest.mark.parametrize("one", [one for one in known() if one.path is None], ids=str)
def test_a_model_at_hand_is_of_the_family_of_its_name_or_of_its_template(one: Known) -> None:
    named = find_family(key=None, name=one.model, templates=[one.text])
    assert (named.family, named.matched_by) == (one.family, "name" if one.model in MODEL_RENDERER_MAP else "template")
    renamed = find_family(key=None, name="my/fine-tune", templates=[one.text])
    assert renamed == FamilyMatch(one.family, "template")


@pytest.mark.parametrize("one", known(), ids=str)
def test_a_template_is_what_the_record_of_its_family_says(one: Known) -> None:
    # All that a renderer of one model can be asked at once, as loading a vocabulary takes its time.
    renderer = renderer_for(one)
    assert is_multimodal(renderer) == bool(one.family.media)
    check_stops(one, renderer)
    check_syntax(one, renderer)
    check_switches(one, renderer)


READ = [
    ("qwen3", '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>'),
    ("qwen3-coder", "<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>"),
    ("glm-4.5", "<tool_call>f\n<arg_key>x</arg_key>\n<arg_value>1</arg_value>\n</tool_call>"),
    ("step-3.5", "<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>"),
]
"""Calls as models of a family write them, by families."""


@pytest.mark.parametrize(
    ("one", "said"), [(one, said) for key, said in READ for one in known() if one.family.key == key]
)
def test_a_call_is_read_as_its_family_writes_it(one: Known, said: str) -> None:
    renderer = renderer_for(one)
    parsed = renderer.parse_response(renderer.tokenizer.encode(said, add_special_tokens=False))
    assert [(call.name, call.arguments) for call in parsed.tool_calls] == [("f", {"x": 1})]


def check_stops(one: Known, renderer: ChatRenderer) -> None:
    """Stop tokens are tokens, and they are given in the order of the record."""
    if one.has_vocabulary:
        assert renderer.get_stop_token_ids() == [
            renderer.tokenizer.added_tokens[text] for text in one.family.stop_tokens
        ]
        assert renderer.resolution.stops_from == "record"


def check_syntax(one: Known, renderer: ChatRenderer) -> None:
    """Calls are written in the record's syntax, or not at all."""
    derived = renderer.resolution.grammar.tools
    if one.family.syntax in TOOL_FORMATS:
        assert derived in (one.family.syntax, None)
        assert derived is not None or not writes_calls(renderer._pipeline.turn_format(with_tools=True))
    else:
        assert derived is None


def check_switches(one: Known, renderer: ChatRenderer) -> None:
    """A switch is read by a template of the family, and its default changes nothing."""
    source = renderer.template().source + renderer.template(tools=True).source
    sources = [source, *(other.text for other in known() if other.family == one.family)]
    asked = [(name, tools) for name in SOME for tools in (None, TOOLS)]
    plain = [text_of(renderer, name, tools) for name, tools in asked]
    for switch in one.family.switches:
        read = any(re.search(rf"\b{switch.name}\b", text) for text in sources)
        assert read or one.family.program or (one.family.key, switch.name) in UNREAD, switch.name
        if switch.default is not None and switch.name in source:
            given = {switch.name: switch.default}
            assert [text_of(renderer, name, tools, **given) for name, tools in asked] == plain, switch.name


def text_of(renderer: ChatRenderer, name: str, tools: list[dict[str, Any]] | None, **switches: Any) -> str:
    """Returns what is written of a conversation, or what is said of why not."""
    try:
        return renderer.trace(CONVERSATIONS[name], tools=tools, add_generation_prompt=True, **switches).text
    except (MessageError, TemplateError) as error:
        return f"{type(error).__name__}: {error}"
