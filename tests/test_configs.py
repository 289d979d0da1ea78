"""Typed configs: their fields, conversions and checks, and their agreement with the family records."""

from __future__ import annotations

import copy
import datetime
import pickle
import subprocess
import sys
import types
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from renderers import configs
from renderers.configs import (
    CONFIG_CLASSES,
    AutoRendererConfig,
    BaseRendererConfig,
    DefaultRendererConfig,
    GLM5RendererConfig,
    InklingRendererConfig,
    KimiK2RendererConfig,
    Qwen3RendererConfig,
    Qwen3VLRendererConfig,
    Qwen35RendererConfig,
    RendererConfig,
    SeedOssRendererConfig,
    config_from_name,
    merge_chat_template_kwargs,
    switches_of,
    template_field_names,
)
from renderers.families import FAMILIES, Family, RetentionRule, TemplateSwitch

ANY_CONFIG: TypeAdapter[BaseRendererConfig] = TypeAdapter(RendererConfig)
CLASSES: list[type[BaseRendererConfig]] = list(get_args(get_args(RendererConfig)[0]))
WITHOUT_REQUIRED_FIELDS = [kind for kind in CLASSES if "import_path" not in kind.model_fields]
BY_NAME = {kind.model_fields["name"].default: kind for kind in CLASSES}
RULED = Family(
    key="glm-5",
    class_name="GLM5",
    format="",
    retains=(
        RetentionRule("clear_thinking", False, "all"),
        RetentionRule("enable_thinking", False, "all"),
        RetentionRule("clear_thinking", True, "tool_cycle"),
    ),
)


@pytest.fixture
def retention_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A family record with a retention rule for `clear_thinking`."""
    monkeypatch.setattr(GLM5RendererConfig, "_family", RULED)


def in_scope(switch: TemplateSwitch) -> bool:
    """Return True for switches with plain values. Lists and dicts are arguments of `render`."""
    return switch.values not in (list, dict)


def kinds_of(annotation: Any) -> set[object]:
    """Return the types of a field except None, with bools and literals expanded to their values."""
    if get_origin(annotation) in (Union, types.UnionType):
        return set().union(*map(kinds_of, get_args(annotation)))
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    if get_origin(annotation) is tuple:
        return {tuple}
    return {True, False} if annotation is bool else {annotation} - {type(None)}


def test_every_family_has_a_config() -> None:
    assert FAMILIES.keys() <= BY_NAME.keys()


@pytest.mark.parametrize("key", FAMILIES)
def test_a_config_class_its_name_and_its_record_agree(key: str) -> None:
    config_class = BY_NAME[key]
    assert config_class is CONFIG_CLASSES[key]
    assert config_class._family is FAMILIES[key]
    assert config_class.__name__ == f"{FAMILIES[key].class_name}RendererConfig"


def test_the_union_has_every_config_class_and_star_imports_have_every_name() -> None:
    assert list(CONFIG_CLASSES.values()) == CLASSES
    functions = {"config_from_name", "merge_chat_template_kwargs", "switches_of", "template_field_names"}
    names = {"BaseRendererConfig", "RendererConfig", *functions, *(kind.__name__ for kind in CLASSES)}
    assert set(vars(configs)["__all__"]) == names


def test_a_subclass_of_a_config_keeps_the_record_and_is_not_registered() -> None:
    class Own(GLM5RendererConfig):
        pass

    assert Own._family is FAMILIES["glm-5"]
    assert CONFIG_CLASSES["glm-5"] is GLM5RendererConfig


def test_threads_may_create_the_first_config_all_at_once() -> None:
    code = """
import sys, threading
from renderers.configs import CONFIG_CLASSES
sys.setswitchinterval(1e-6)
made = []
for config_class in list(CONFIG_CLASSES.values())[3:]:
    start = threading.Barrier(8)
    def work():
        start.wait()
        made.append(config_class(date="2026-01-31").name == config_class.model_fields["name"].default)
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print(len(made) == 8 * (len(CONFIG_CLASSES) - 3) and all(made))
"""
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "True\n"


@pytest.mark.parametrize("key", FAMILIES)
def test_every_config_has_the_switches_of_its_record_and_no_others(key: str) -> None:
    switches = {switch.name: switch for switch in FAMILIES[key].switches if in_scope(switch)}
    assert BY_NAME[key].template_field_names() == switches.keys()
    for name, switch in switches.items():
        field = BY_NAME[key].model_fields[name]
        values = set(switch.values) - {None} if isinstance(switch.values, tuple) else {switch.values}
        assert values <= kinds_of(field.annotation), name
        assert field.default is None or switch.default is None or field.default == switch.default, name


@pytest.mark.parametrize("key", FAMILIES)
def test_a_record_passes_the_defaults_of_its_config_in_the_same_order(key: str) -> None:
    # A renderer without a config is made from the record alone.
    assert list(FAMILIES[key].default_switches.items()) == list(switches_of(BY_NAME[key]()).items())


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_class_and_its_fields_have_documentation(kind: type[BaseRendererConfig]) -> None:
    assert kind.__doc__
    assert getattr(configs, kind.__name__) is kind
    assert kind.__name__ in vars(configs)["__all__"]
    assert all(field.description for name, field in kind.model_fields.items() if name != "name")
    assert kind._internal_fields <= kind.model_fields.keys()


@pytest.mark.parametrize("kind", WITHOUT_REQUIRED_FIELDS, ids=lambda kind: kind.__name__)
def test_a_config_is_equal_after_every_round_trip(kind: type[BaseRendererConfig]) -> None:
    config = kind(thinking_retention="all", content_tokens="text", date="2026-01-31", conventions="0.1", prefill="kept")
    fields = {name: getattr(config, name) for name in kind.model_fields}
    assert ANY_CONFIG.validate_json(config.model_dump_json()) == config
    assert ANY_CONFIG.validate_python(config.model_dump()) == config
    assert kind(**fields) == config
    assert pickle.loads(pickle.dumps(config)) == config
    assert copy.deepcopy(config) == config
    assert len({config, kind(**fields), kind()}) == 2


def test_a_config_can_be_a_field_of_another_model() -> None:
    class Client(BaseModel):
        renderer: RendererConfig | None = None

    data = {"renderer": {"name": "qwen3", "enable_thinking": False}}
    assert Client.model_validate(data).renderer == Qwen3RendererConfig(enable_thinking=False)


def test_a_config_does_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Qwen3RendererConfig().enable_thinking = False


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="enable_thinkin\n"):
        Qwen3RendererConfig(enable_thinkin=False)  # type: ignore[call-arg]


def read(kind: type[BaseRendererConfig], **fields: object) -> BaseRendererConfig:
    """Create a config from values of any type, as a command line or a file does."""
    return kind.model_validate(fields)


def test_text_from_a_command_line_is_converted() -> None:
    assert read(Qwen3RendererConfig, enable_thinking="false") == Qwen3RendererConfig(enable_thinking=False)
    assert read(Qwen35RendererConfig, enable_thinking="None") == Qwen35RendererConfig()
    assert read(SeedOssRendererConfig, thinking_budget="512") == SeedOssRendererConfig(thinking_budget=512)
    with pytest.raises(ValidationError, match=r"enable_thinking\n.*valid boolean"):
        read(Qwen3RendererConfig, enable_thinking="perhaps")


@pytest.mark.parametrize("number", [0, 1, 1.0])
def test_a_number_is_rejected_for_a_bool(number: float) -> None:
    with pytest.raises(ValidationError, match="enable_thinking must be a bool"):
        read(Qwen3RendererConfig, enable_thinking=number)
    with pytest.raises(ValidationError, match="enable_thinking must be a bool"):
        read(Qwen35RendererConfig, enable_thinking=number)


def test_a_bool_is_rejected_for_a_number() -> None:
    with pytest.raises(ValidationError, match="thinking_budget must be a number"):
        read(SeedOssRendererConfig, thinking_budget=True)


def test_a_field_of_a_custom_config_can_accept_both() -> None:
    class Own(BaseRendererConfig):
        depth: bool | int = False

    assert [Own(depth=value).depth for value in (True, 3)] == [True, 3]


def test_a_date_is_stored_as_iso_text() -> None:
    assert read(AutoRendererConfig, date=datetime.date(2026, 1, 31)) == AutoRendererConfig(date="2026-01-31")
    moment = datetime.datetime(2026, 1, 31, 12, 30)
    assert read(AutoRendererConfig, date=moment) == AutoRendererConfig(date="2026-01-31T12:30:00")
    with pytest.raises(ValidationError, match=r"'31 Jan' is not a date\. Use ISO text"):
        AutoRendererConfig(date="31 Jan")


def test_an_effort_is_a_number_or_a_known_name() -> None:
    efforts: list[Any] = ["low", "0.5", 0, 0.99]
    assert [InklingRendererConfig(reasoning_effort=effort).reasoning_effort for effort in efforts] == [
        "low",
        0.5,
        0.0,
        0.99,
    ]
    for wrong in ("bogus", 1.5, -0.1, "nan"):
        with pytest.raises(ValidationError, match=r"is not an effort\. Use a number from 0 to 0\.99, or one of none"):
            InklingRendererConfig(reasoning_effort=wrong)


@pytest.mark.usefixtures("retention_rule")
def test_a_switch_that_contradicts_the_retention_is_refused() -> None:
    with pytest.raises(
        ValidationError, match=r"clear_thinking=True implies thinking_retention='tool_cycle', .* only one of the two"
    ):
        GLM5RendererConfig(thinking_retention="all", clear_thinking=True)
    with pytest.raises(ValidationError, match="clear_thinking=False implies thinking_retention='all'"):
        GLM5RendererConfig(thinking_retention="tool_cycle", clear_thinking=False)
    with pytest.raises(ValueError, match="clear_thinking=True implies thinking_retention='tool_cycle'"):
        merge_chat_template_kwargs(GLM5RendererConfig(thinking_retention="all"), {"clear_thinking": True})


@pytest.mark.usefixtures("retention_rule")
def test_switches_that_agree_with_the_retention_are_accepted() -> None:
    GLM5RendererConfig(thinking_retention="all", clear_thinking=False)
    GLM5RendererConfig(thinking_retention="tool_cycle", enable_thinking=False)
    config = GLM5RendererConfig(thinking_retention="all")
    assert GLM5RendererConfig(**config.model_dump()) == config


def test_switches_are_the_fields_that_the_template_reads() -> None:
    assert template_field_names(GLM5RendererConfig()) == {"enable_thinking", "clear_thinking"}
    assert template_field_names(Qwen3VLRendererConfig()) == {"add_vision_id"}
    for config in (KimiK2RendererConfig(), AutoRendererConfig(), DefaultRendererConfig(a=1), BaseRendererConfig()):
        assert template_field_names(config) == frozenset()


def test_values_that_are_not_none_are_passed_to_the_template() -> None:
    assert switches_of(Qwen35RendererConfig()) == {"add_vision_id": False}
    assert switches_of(Qwen35RendererConfig(enable_thinking=True)) == {"enable_thinking": True, "add_vision_id": False}
    assert switches_of(DefaultRendererConfig(tool_parser="qwen3", a=[1], b=None)) == {"a": [1], "b": None}


def test_a_config_can_be_created_by_name() -> None:
    assert config_from_name("auto") is None
    for name, kind in BY_NAME.items():
        if name not in ("auto", "custom"):
            assert config_from_name(name) == kind()


def test_a_custom_renderer_cannot_be_created_by_name() -> None:
    with pytest.raises(ValueError, match=r"CustomRendererConfig\(import_path=\.\.\.\)"):
        config_from_name("custom")


@pytest.mark.parametrize("name", ["qwen9", ""])
def test_an_unknown_name_is_rejected_with_a_suggestion_and_a_list_of_the_known_ones(name: str) -> None:
    if name:
        with pytest.raises(ValueError, match=r"Did you mean 'qwen3'\?"):
            config_from_name(name)
    with pytest.raises(ValueError, match=f"there is no renderer '{name}'.* The names are auto, command-a, .*, qwen3,"):
        config_from_name(name)


def test_merged_switches_take_precedence_and_do_not_change_the_config() -> None:
    config = GLM5RendererConfig(enable_thinking=False, date="2026-01-31")
    merged = merge_chat_template_kwargs(config, {"enable_thinking": True})
    assert merged == GLM5RendererConfig(enable_thinking=True, date="2026-01-31")
    assert not config.enable_thinking
    assert merged.model_fields_set == {"enable_thinking", "date"}
    assert merge_chat_template_kwargs(config, None) is merge_chat_template_kwargs(config, {}) is config


def test_an_unknown_switch_is_rejected_with_a_list_of_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"has bar, date: not a switch of Qwen3RendererConfig\. Allowed: enable_thinking\."
    ):
        merge_chat_template_kwargs(Qwen3RendererConfig(), {"date": "2026-01-31", "bar": 1})
    with pytest.raises(ValueError, match=r"has image_cache_max: .* Allowed: add_vision_id\."):
        merge_chat_template_kwargs(Qwen3VLRendererConfig(), {"image_cache_max": 1})
    with pytest.raises(ValueError, match=r"of AutoRendererConfig\. It has no switches\."):
        merge_chat_template_kwargs(AutoRendererConfig(), {"enable_thinking": True})
    with pytest.raises(ValidationError, match="enable_thinking\n"):
        merge_chat_template_kwargs(Qwen3RendererConfig(), {"enable_thinking": None})


def test_a_default_config_accepts_any_switch_except_its_own_fields() -> None:
    merged = merge_chat_template_kwargs(DefaultRendererConfig(a=1, b=2), {"a": 3, "c": [1]})
    assert merged == DefaultRendererConfig(a=3, b=2, c=[1])
    with pytest.raises(ValueError, match=r"has name, tool_parser: .* Set the fields of a config in the config\."):
        merge_chat_template_kwargs(DefaultRendererConfig(), {"tool_parser": "qwen3", "name": "qwen3"})


@pytest.mark.parametrize("config", [Qwen3RendererConfig(), DefaultRendererConfig()])
def test_switches_that_are_not_a_mapping_are_rejected(config: BaseRendererConfig) -> None:
    pairs: Any = [("enable_thinking", False)]
    with pytest.raises(TypeError, match="chat_template_kwargs must be a mapping, not a list"):
        merge_chat_template_kwargs(config, pairs)


@pytest.mark.parametrize("flag", ["preserve_all_thinking", "preserve_thinking_between_tool_calls"])
def test_flags_that_thinking_retention_replaced_are_rejected(flag: str) -> None:
    with pytest.raises(ValidationError, match=f"{flag} was replaced by thinking_retention"):
        DefaultRendererConfig(**{flag: True})
    with pytest.raises(ValidationError, match=f"{flag} was replaced by thinking_retention. Leave it out"):
        DefaultRendererConfig(**{flag: False})
