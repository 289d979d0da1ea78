"""Every record says what its templates and vocabularies show, and no more."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import pytest

from renderers import MessageError, TemplateError, create_renderer, is_multimodal, load_tokenizer
from renderers.configs import CONFIG_CLASSES
from renderers.families import FAMILIES, MODEL_RENDERER_MAP, Family
from renderers.family_renderers import RENDERER_REGISTRY
from renderers.parse.derive import writes_calls
from renderers.parse.normalise import NORMALISATIONS
from renderers.parse.syntax import SYNTAXES
from tests.conversations import CONVERSATIONS, TOOLS
from tests.families import Known, known, renderer_for
from tests.models import HUB_AT_HAND, hub_models

SOME = {name: CONVERSATIONS[name] for name in list(CONVERSATIONS)[:12]}
KNOWN = [pytest.param(one, id=str(one)) for one in known()]
RECORDS = [pytest.param(one, id=one.key) for one in FAMILIES.values()]

needs_hub = pytest.mark.skipif(not HUB_AT_HAND, reason="real models are not at hand (set SHARED)")


def test_a_name_and_a_template_belong_to_one_family() -> None:
    names = Counter(chain.from_iterable(one.names for one in FAMILIES.values()))
    templates = Counter(chain.from_iterable(one.templates for one in FAMILIES.values()))
    assert {one for one, count in (names | templates).items() if count > 1} == set()


def test_every_family_has_a_config_and_a_class() -> None:
    assert CONFIG_CLASSES.keys() - {"auto", "custom", "default"} == FAMILIES.keys()
    assert RENDERER_REGISTRY.keys() - {"default"} == FAMILIES.keys()
    assert all(kind.family == key for key, kind in RENDERER_REGISTRY.items())


@pytest.mark.parametrize("family", RECORDS)
def test_a_record_is_whole_and_short(family: Family) -> None:
    assert family.stops
    assert 2 <= len(family.format.strip().splitlines()) <= 10
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
    level = "tokens" if any(one.path is None for one in found) else "template" if found else "none"
    assert family.verified == level


@needs_hub
@pytest.mark.parametrize("name", [name for name, model in hub_models().items() if model["template"]])
def test_a_model_at_hand_is_of_the_family_of_its_name(hub: object, name: str) -> None:
    renderer = create_renderer(load_tokenizer(name))
    if name in MODEL_RENDERER_MAP:
        assert (renderer.resolution.family.key, renderer.resolution.found_by) == (MODEL_RENDERER_MAP[name], "name")
    else:
        assert renderer.resolution.found_by == "template"
    assert type(renderer) is RENDERER_REGISTRY[renderer.resolution.family.key]


@pytest.mark.parametrize("one", KNOWN)
def test_stop_tokens_are_tokens_and_the_first_closes_a_turn(one: Known) -> None:
    renderer = renderer_for(one)
    ids = [renderer.tokenizer.added_tokens.get(text) for text in one.family.stops]
    if one.path is None:
        assert None not in ids
        assert renderer.get_stop_token_ids() == ids
        assert renderer.resolution.stops_from == "record"


@pytest.mark.parametrize("one", KNOWN)
def test_calls_are_written_in_the_syntax_of_the_record(one: Known) -> None:
    renderer = renderer_for(one)
    derived = renderer.resolution.grammar.tools
    if one.family.syntax in SYNTAXES:
        assert derived in (one.family.syntax, None)
        assert derived is not None or not writes_calls(renderer._writer.ways(tools=True))
    else:
        assert derived is None


@pytest.mark.parametrize("one", KNOWN)
def test_a_model_takes_the_media_of_its_record(one: Known) -> None:
    assert is_multimodal(renderer_for(one)) == bool(one.family.media)


@pytest.mark.parametrize("one", KNOWN)
def test_the_switches_of_a_record_are_read_and_their_defaults_change_nothing(one: Known) -> None:
    renderer = renderer_for(one)
    sources = renderer.template().source + renderer.template(tools=True).source
    others = [renderer_for(other).template().source for other in known() if other.family == one.family]
    nothing: dict[str, Any] = {}
    for switch in one.family.switches:
        if one.family.program is None:
            assert any(switch.name in source for source in (sources, *others)), switch.name
        if switch.default is None or switch.name not in sources:
            continue
        for name, messages in SOME.items():
            for tools in (None, TOOLS):
                texts = []
                for given in (nothing, {switch.name: switch.default}):
                    try:
                        texts.append(renderer.trace(messages, tools=tools, add_generation_prompt=True, **given).text)
                    except (MessageError, TemplateError) as error:
                        texts.append(f"{type(error).__name__}: {error}")
                assert texts[0] == texts[1], (switch.name, name)
