"""Every family record agrees with its templates and vocabularies, and with its classes."""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from itertools import chain, product
from typing import Any

import pytest

from renderers import (
    ChatRenderer,
    MessageError,
    TemplateError,
    UnreadSwitchWarning,
    create_renderer,
    is_multimodal,
    load_tokenizer,
)
from renderers.configs import CONFIG_CLASSES, BaseRendererConfig
from renderers.families import FAMILIES, MODEL_RENDERER_MAP, MULTIMODAL_MODELS, Family
from renderers.families.registry import UNKNOWN_FAMILY, FamilyMatch, find_family
from renderers.family_renderers import RENDERER_REGISTRY
from renderers.parsing.evidence import RoundTrip
from renderers.parsing.infer import call_end_token, infer_grammar, writes_calls
from renderers.parsing.tool_formats import TOOL_FORMATS
from renderers.probing.turn_format import THINKING_SWITCHES
from renderers.programs.registry import PROGRAMS
from tests.support.conversations import CONVERSATIONS, TOOLS
from tests.support.families import FamilyTemplate, family_templates, renderer_for
from tests.support.models import HUB_AT_HAND, hub_models
from tests.support.normalise import NORMALISATIONS

SOME = ("two", "system", "reasoning in history", "cycle then user")
RECORDS = [pytest.param(family, id=family.key) for family in FAMILIES.values()]

UNREAD = {("qwen3-2507", "enable_thinking")}
"""Switches that a family accepts with a warning, although its template does not read them."""

needs_hub = pytest.mark.skipif(not HUB_AT_HAND, reason="real models are not available (set SHARED)")


def test_a_name_and_a_template_belong_to_one_family() -> None:
    names = Counter(chain.from_iterable(family.names for family in FAMILIES.values()))
    templates = Counter(chain.from_iterable(family.templates for family in FAMILIES.values()))
    assert {name for name, count in (names | templates).items() if count > 1} == set()


def test_every_family_has_a_config_and_a_class() -> None:
    assert CONFIG_CLASSES.keys() - {"auto", "custom", "default"} == FAMILIES.keys()
    assert RENDERER_REGISTRY.keys() - {"default"} == FAMILIES.keys()
    assert all(kind.family == key for key, kind in RENDERER_REGISTRY.items())


def test_multimodal_models_lists_the_media_that_release_0_1_processes() -> None:
    assert {name for name, media in MULTIMODAL_MODELS.items() if media != {"image"}} == set(FAMILIES["inkling"].names)
    assert MULTIMODAL_MODELS["thinkingmachines/Inkling"] == {"image", "audio"}
    assert MULTIMODAL_MODELS["google/gemma-4-31B-it"] == {"image"}


def test_a_renderer_class_has_the_name_in_its_record() -> None:
    assert {key: kind.__name__ for key, kind in RENDERER_REGISTRY.items()} == {
        family.key: f"{family.class_name}Renderer" for family in (*FAMILIES.values(), UNKNOWN_FAMILY)
    }


def test_every_record_of_a_vendor_module_is_registered() -> None:
    modules = [module for name, module in sys.modules.items() if name.startswith("renderers.families.")]
    records = {record.key for module in modules for record in vars(module).values() if isinstance(record, Family)}
    assert records == {*FAMILIES, UNKNOWN_FAMILY.key}


@pytest.mark.parametrize("family", RECORDS)
def test_a_record_is_complete_and_short(family: Family) -> None:
    assert family.stop_tokens
    assert 1 <= len(family.format.strip().splitlines()) <= 12
    assert max(map(len, family.format.splitlines())) <= 120
    assert set(family.normalisations) <= NORMALISATIONS.keys()
    switches = {switch.name: switch for switch in family.switches}
    assert len(switches) == len(family.switches)
    for rule in family.retains:
        values = switches[rule.switch].values
        assert isinstance(values, tuple)
        assert rule.value in values


@needs_hub
@pytest.mark.parametrize("family", RECORDS)
def test_a_record_has_the_level_of_verification_of_its_models(family: Family) -> None:
    templates = [template for template in family_templates() if template.family == family]
    assert {template.digest for template in templates} == set(family.templates)
    # The vocabulary of Kimi K3 there belongs to another model.
    others = hub_models().keys() - {"moonshotai/Kimi-K3"}
    has_vocabulary = any(template.has_vocabulary for template in templates)
    if family.program in PROGRAMS:
        has_vocabulary = has_vocabulary or not others.isdisjoint(family.names)
    exact = family.program in (None, *PROGRAMS) and has_vocabulary
    level = "tokens" if exact else "template" if templates else "none"
    assert family.verified == level


@pytest.mark.parametrize("template", [template for template in family_templates() if template.path is None], ids=str)
def test_an_available_model_is_recognised_by_name_or_by_template(template: FamilyTemplate) -> None:
    named = find_family(key=None, name=template.model, templates=[template.text])
    assert (named.family, named.matched_by) == (
        template.family,
        "name" if template.model in MODEL_RENDERER_MAP else "template",
    )
    renamed = find_family(key=None, name="my/fine-tune", templates=[template.text])
    assert renamed == FamilyMatch(template.family, "template")


@pytest.mark.parametrize("template", family_templates(), ids=str)
def test_a_template_agrees_with_the_record_of_its_family(template: FamilyTemplate) -> None:
    # One test for all checks, because loading a vocabulary is slow.
    renderer = renderer_for(template)
    assert is_multimodal(renderer) == bool(template.family.media)
    check_stops(template, renderer)
    check_derived_grammar(template, renderer)
    check_switches(template, renderer)
    check_reuse_of_config(renderer)


def check_reuse_of_config(renderer: ChatRenderer) -> None:
    """Check that a renderer from the config of another renders as it does, with each switch for thinking."""
    ask = [{"role": "user", "content": "Hi"}]

    def ids(renderer: ChatRenderer, **switches: Any) -> list[int]:
        return renderer.render_ids(ask, add_generation_prompt=True, **switches)

    def create(config: BaseRendererConfig | None, **switches: Any) -> ChatRenderer:
        return create_renderer(renderer.tokenizer, config, **switches)

    config = renderer.config
    again = create(config)
    for name, value in product(THINKING_SWITCHES, (False, True)):
        if name in type(config).template_field_names():
            with warnings.catch_warnings(action="ignore", category=UnreadSwitchWarning):
                assert ids(again) == ids(renderer)
                expected = ids(renderer, **{name: value})
                assert ids(again, **{name: value}) == expected
                assert ids(create(config, chat_template_kwargs={name: value})) == expected
                assert ids(create(config.model_copy(update={name: value}))) == expected


WITHOUT_END = ("command-r", "glm-4.5", "glm-4.6", "glm-5", "glm-5.1", "glm-5.2", "glm-5.3-flash", "kimi-k3")
"""Families with templates that end a turn with nothing, or with the header of the next one."""
OTHER_END = {"gpt-oss": "<|end|>"}
"""The token that ends a turn of a history, if a completion ends with another one."""
MISREAD = {"llamacpp__LFM2.5-8B-A1B": {"code in arguments"}}
"""The classes of turns that are not parsed back, by template. This one does not escape backslashes in strings."""
ABBREVIATED = "kimi-k3"
"""The family with a description that has an abbreviation for its markers. Others refer to that of another family."""

CALLS = [
    ("qwen3", '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>'),
    ("qwen3-coder", "<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>"),
    ("glm-4.5", "<tool_call>f\n<arg_key>x</arg_key>\n<arg_value>1</arg_value>\n</tool_call>"),
    ("minicpm5", '<function name="f"><param name="x">1</param></function>'),
    ("step-3.5", "<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>"),
]
"""A call in the format of each family."""


@pytest.mark.parametrize(
    ("template", "completion"),
    [
        (template, completion)
        for key, completion in CALLS
        for template in family_templates()
        if template.family.key == key
    ],
)
def test_a_call_in_the_format_of_a_family_is_parsed(template: FamilyTemplate, completion: str) -> None:
    renderer = renderer_for(template)
    parsed = renderer.parse_response(renderer.tokenizer.encode(completion, add_special_tokens=False))
    assert [(call.name, call.arguments) for call in parsed.tool_calls] == [("f", {"x": 1})]


def check_stops(template: FamilyTemplate, renderer: ChatRenderer) -> None:
    """Check that stop tokens are special tokens, in the order of the record."""
    if template.has_vocabulary:
        assert renderer.get_stop_token_ids() == [
            renderer.tokenizer.added_tokens[text] for text in template.family.stop_tokens
        ]
        assert renderer.resolution.stops_from == "record"


def check_derived_grammar(template: FamilyTemplate, renderer: ChatRenderer) -> None:
    """Check that the derived grammar agrees with everything that the record states about completions."""
    family = template.family
    turns, tool_turns = (renderer._pipeline.turn_format(with_tools=with_tools) for with_tools in (False, True))
    derived = infer_grammar(turns if turns.headers("user") else tool_turns, tool_turns)
    tool_format = TOOL_FORMATS.get(family.syntax or "")
    if tool_format is None:
        assert derived.tools is None
    elif derived.tools is None:
        assert not writes_calls(tool_turns)
    else:
        markers = tool_format.key, tool_format.section, tool_format.call
        assert (derived.tools, derived.section, derived.call) == markers
    if derived.reasoning is not None and family.variants.reasoning is not None:
        assert derived.reasoning.markers == family.variants.reasoning
    refers = family.format.strip().startswith("as ") or family.key == ABBREVIATED
    if derived.reasoning is not None and not refers:
        assert all(marker in family.format for marker in derived.reasoning.markers)
    ends = {turns.end_token, call_end_token(tool_turns, derived)} - {None, OTHER_END.get(family.key)}
    assert ends or family.key in (*WITHOUT_END, *OTHER_END)
    assert ends <= {*family.stop_tokens}
    outcomes = {name: evidence.outcome for name, evidence in renderer.resolution.evidence.items()}
    different = {name for name, outcome in outcomes.items() if outcome is RoundTrip.DIFFERENT}
    assert different <= MISREAD.get(template.model, set())


def check_switches(template: FamilyTemplate, renderer: ChatRenderer) -> None:
    """Check that each switch is read by a template of the family, and that its default changes nothing."""
    source = renderer.template().source + renderer.template(tools=True).source
    sources = [source, *(other.text for other in family_templates() if other.family == template.family)]
    cases = [(name, tools) for name in SOME for tools in (None, TOOLS)]
    plain = [text_of(renderer, name, tools) for name, tools in cases]
    for switch in template.family.switches:
        read = any(re.search(rf"\b{switch.name}\b", text) for text in sources)
        assert read or template.family.program or (template.family.key, switch.name) in UNREAD, switch.name
        if switch.default is not None and switch.name in source:
            default = {switch.name: switch.default}
            assert [text_of(renderer, name, tools, **default) for name, tools in cases] == plain, switch.name


def text_of(renderer: ChatRenderer, name: str, tools: list[dict[str, Any]] | None, **switches: Any) -> str:
    """Return the rendered text of a conversation, or the error."""
    try:
        return renderer.trace(CONVERSATIONS[name], tools=tools, add_generation_prompt=True, **switches).text
    except (MessageError, TemplateError) as error:
        return f"{type(error).__name__}: {error}"


def test_command_a_can_reason_after_a_prompt_that_opens_its_answer(hub: object) -> None:
    renderer = create_renderer("CohereLabs/c4ai-command-a-03-2025")
    prompt = renderer.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    assert renderer.tokenizer.decode(prompt[-1:]) == "<|START_RESPONSE|>"
    text = "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>"
    completion = renderer.tokenizer.encode(text, add_special_tokens=False)
    parsed = renderer.parse_response(completion, prompt_ids=prompt)
    assert (parsed.reasoning_content, parsed.content) == ("Hm.", "Hello.")


def test_gemma_4_names_results_by_the_ids_of_their_calls(hub: object) -> None:
    """Without ids, the template names each result after the last call."""
    renderer = create_renderer(load_tokenizer("google/gemma-4-31B-it"))
    names = ["first", "second"]

    def written_names(*, with_ids: bool) -> list[str]:
        calls: list[dict[str, Any]] = [
            {"type": "function", "function": {"name": name, "arguments": {}}} for name in names
        ]
        results = [{"role": "tool", "name": name, "content": "x"} for name in names]
        for call, result, name in zip(calls, results, names, strict=True) if with_ids else ():
            call["id"] = result["tool_call_id"] = f"id of {name}"
        turn = {"role": "assistant", "content": "", "tool_calls": calls}
        text = renderer.trace([{"role": "user", "content": "Hi"}, turn, *results]).text
        return re.findall(r"response:(\w+)", text)

    assert written_names(with_ids=True) == names
    assert written_names(with_ids=False) == ["second", "second"]
