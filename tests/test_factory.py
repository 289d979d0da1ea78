"""`create_renderer` finds the family of a model, and its class and config."""

from __future__ import annotations

import copy
import datetime
import json
import pickle
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from transformers import PreTrainedTokenizerFast

import renderers
from renderers import (
    EMBEDDED,
    AutoRendererConfig,
    BaseRendererConfig,
    CustomRendererConfig,
    DefaultMultimodalRenderer,
    DefaultRenderer,
    DefaultRendererConfig,
    GLM5Renderer,
    GLM5RendererConfig,
    GLM51Renderer,
    GLM51RendererConfig,
    GLM53Renderer,
    GptOssRendererConfig,
    Limits,
    Nemotron3RendererConfig,
    Nemotron35Renderer,
    Nemotron35RendererConfig,
    Qwen3Renderer,
    Qwen3RendererConfig,
    Qwen35RendererConfig,
    Qwen36RendererConfig,
    Qwen38Renderer,
    SamplingConventions,
    TemplateMissingError,
    TokenizerLike,
    UnknownTemplateWarning,
    UnreadSwitchWarning,
    UnsupportedModelError,
    create_renderer,
    load_tokenizer,
)
from renderers import settings as settings_module
from renderers.base import MODEL_RENDERER_MAP, RENDERER_REGISTRY, merge_chat_template_kwargs
from renderers.configs import CONFIG_CLASSES
from renderers.families import FAMILIES, Family
from renderers.programs.encoders.piece_program import PieceProgram
from renderers.programs.registry import PROGRAMS, ProgramRequest
from renderers.settings import resolve_settings
from renderers.templating import LIMITS
from tests.support.models import snapshot_of
from tests.support.standin import byte_tokenizer

HI = [{"role": "user", "content": "Hi"}]


def directory(tmp_path: Path, **config: Any) -> Path:
    """Return a copy of the embedded model with more fields in its config.json."""
    made = tmp_path / "model"
    shutil.copytree(EMBEDDED, made)
    said = json.loads((made / "config.json").read_text())
    (made / "config.json").write_text(json.dumps({**said, **config}))
    return made


def test_a_model_of_no_family_has_the_default_class_and_config() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template_kwargs={"enable_thinking": False})
    assert type(renderer) is DefaultRenderer
    assert renderer.config == DefaultRendererConfig(enable_thinking=False)
    assert (renderer.resolution.family.key, renderer.resolution.found_by) == ("default", "nothing")


def test_arguments_take_precedence_over_the_config_and_are_stored_in_it() -> None:
    config = DefaultRendererConfig(date="2026-01-01", content_tokens="refuse", thinking_retention="tool_cycle")
    renderer = create_renderer(
        load_tokenizer(EMBEDDED),
        config,
        date=datetime.date(2026, 2, 3),
        content_tokens="text",
        thinking_retention="all",
    )
    assert renderer.config == DefaultRendererConfig(
        date="2026-02-03T00:00:00", content_tokens="text", thinking_retention="all"
    )
    assert (renderer.date.day, renderer.content_tokens, renderer.thinking_retention) == (3, "text", "all")


def test_the_fields_of_a_config_without_a_family_are_kept() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), AutoRendererConfig(content_tokens="refuse"))
    assert renderer.config == DefaultRendererConfig(content_tokens="refuse")


def test_none_content_is_an_option_and_a_field_of_configs() -> None:
    tokenizer, messages = load_tokenizer(EMBEDDED), [{"role": "user", "content": None}]
    source = "{% for m in messages %}{{ m.content }};{% endfor %}"
    omitted = create_renderer(tokenizer, chat_template=source)
    written = create_renderer(tokenizer, chat_template=source, none_content="as_template")
    config = DefaultRendererConfig(none_content="as_template")
    assert (omitted.none_content, omitted.trace(messages).text) == ("omitted", ";")
    assert (written.none_content, written.trace(messages).text) == ("as_template", "None;")
    assert written.config == config
    assert create_renderer(tokenizer, config, chat_template=source).trace(messages).text == "None;"
    assert (bool(omitted.resolution.adaptations), written.resolution.adaptations) == (True, ())
    with pytest.raises(ValueError, match=r"none_content"):
        create_renderer(tokenizer, none_content="never")  # type: ignore[arg-type]


def tokenizer_of(key: str) -> Any:
    """Return a tokenizer with the special tokens that the program of a family needs."""
    embedded = load_tokenizer(EMBEDDED)
    name = (FAMILIES[key].program if key in FAMILIES else None) or "template"
    program = PROGRAMS[name](ProgramRequest(embedded, None, with_tools=False, limits=LIMITS, verify=False))
    if not isinstance(program, PieceProgram):
        return embedded
    return PreTrainedTokenizerFast(tokenizer_object=byte_tokenizer(program.special_tokens))


@pytest.mark.parametrize("key", RENDERER_REGISTRY)
def test_a_renderer_without_a_config_equals_one_with_the_default_config(key: str) -> None:
    tokenizer = tokenizer_of(key)
    renderer, configured = (RENDERER_REGISTRY[key](tokenizer, config) for config in (None, CONFIG_CLASSES[key]()))
    assert renderer == configured
    assert repr(renderer.chat_template_kwargs) == repr(configured.chat_template_kwargs)
    assert renderer.settings.config == configured.settings.config == CONFIG_CLASSES[key]()
    assert renderer.config == configured.config
    assert renderer == RENDERER_REGISTRY[key](tokenizer, AutoRendererConfig())


@pytest.mark.parametrize(("default", "thinks"), [("true", True), ("false", False)])
def test_the_config_of_a_renderer_has_the_thinking_that_the_template_chooses(default: str, thinks: bool) -> None:
    template = (
        "{% for m in messages %}<|turn|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|turn|>assistant\n"
        f"{{% if enable_thinking|default({default}) %}}<think>{{% endif %}}{{% endif %}}"
    )
    config = Qwen35RendererConfig(any_template=True)
    renderer = create_renderer(load_tokenizer(EMBEDDED), config, chat_template=template)
    assert renderer.config == config.model_copy(update={"enable_thinking": thinks})
    other = create_renderer(load_tokenizer(EMBEDDED), config, chat_template=template.replace("enable_thinking", "x"))
    assert other.config == config


def test_a_config_is_checked_before_the_model_is_loaded() -> None:
    config = GLM51RendererConfig(thinking_retention="tool_cycle")
    with pytest.raises(ValueError, match="clear_thinking=False implies thinking_retention='all'"):
        create_renderer("no/such-model", config, chat_template_kwargs={"clear_thinking": False})


def test_arguments_that_repeat_the_defaults_make_an_equal_renderer() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    renderer = Qwen3Renderer(tokenizer, chat_template_kwargs={"enable_thinking": True}, content_tokens="template")
    assert renderer == Qwen3Renderer(tokenizer)
    assert renderer != Qwen3Renderer(tokenizer, chat_template_kwargs={"enable_thinking": False})


def test_a_class_can_be_instantiated_without_create_renderer() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    renderer = Qwen3Renderer(tokenizer, Qwen3RendererConfig(enable_thinking=False))
    assert renderer.found.family.key == "qwen3"
    assert renderer.chat_template_kwargs == {"enable_thinking": False}
    assert renderer == create_renderer(tokenizer, Qwen3RendererConfig(enable_thinking=False))
    assert Qwen3Renderer(tokenizer).config == Qwen3RendererConfig()
    for again in (pickle.loads(pickle.dumps(renderer)), copy.deepcopy(renderer)):
        assert again == renderer
        assert type(again) is Qwen3Renderer


def test_a_class_names_an_argument_that_it_does_not_have() -> None:
    with pytest.raises(TypeError, match=r"Qwen3Renderer has no argument preserve_all_thinking\. Arguments of"):
        Qwen3Renderer(load_tokenizer(EMBEDDED), preserve_all_thinking=True)


def test_a_class_rejects_a_config_of_another_family() -> None:
    with pytest.raises(ValueError, match="of the family qwen3 needs a config of this family, not of glm-5"):
        Qwen3Renderer(load_tokenizer(EMBEDDED), GLM5RendererConfig())


def test_switches_unknown_to_the_family_are_rejected_with_a_list_of_its_switches() -> None:
    with pytest.raises(ValueError, match=r"enable_thinknig.*are: enable_thinking"):
        create_renderer(
            load_tokenizer(EMBEDDED), Qwen3RendererConfig(), chat_template_kwargs={"enable_thinknig": False}
        )


def test_a_switch_with_a_list_is_passed_to_the_template(hub: object) -> None:
    renderer = create_renderer(
        load_tokenizer("meta-llama/Llama-3.2-1B-Instruct"), chat_template_kwargs={"custom_tools": []}
    )
    assert renderer.chat_template_kwargs["custom_tools"] == ()


def test_a_switch_that_only_a_program_reads_is_rejected(hub: object) -> None:
    tokenizer = load_tokenizer("openai/gpt-oss-20b")
    with pytest.raises(ValueError, match="auto_drop_analysis of gpt-oss needs the program 'harmony'"):
        create_renderer(tokenizer, GptOssRendererConfig(auto_drop_analysis=False), program="template")
    renderer = create_renderer(tokenizer, GptOssRendererConfig(reasoning_effort="high"), program="template")
    assert renderer.resolution.program == "template"


def test_gpt_oss_encodes_control_text_as_text_like_the_encoder_of_its_vendor(hub: object) -> None:
    tokenizer = load_tokenizer("openai/gpt-oss-20b")
    for config in (None, AutoRendererConfig(), GptOssRendererConfig()):
        assert create_renderer(tokenizer, config).content_tokens == "text"
    assert create_renderer(tokenizer, content_tokens="template").content_tokens == "template"


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_config_has_the_content_tokens_of_its_record(family: Family) -> None:
    assert CONFIG_CLASSES[family.key].model_fields["content_tokens"].default == family.content_tokens


def test_a_family_that_needs_a_program_raises_if_there_is_none(hub: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_module, "PROGRAMS", {"template": PROGRAMS["template"]})
    with pytest.raises(TemplateMissingError, match=r"has no chat template, and the program 'deepseek-v4'"):
        create_renderer(load_tokenizer("deepseek-ai/DeepSeek-V4-Flash-0731"))


def test_a_bare_tokenizer_of_a_family_raises_with_advice_to_pass_a_template(tmp_path: Path) -> None:
    shutil.copy(EMBEDDED / "tokenizer.json", tmp_path)
    with pytest.raises(TemplateMissingError, match="has no chat template: pass chat_template= as source text"):
        create_renderer(load_tokenizer(tmp_path), Qwen3RendererConfig())


def test_a_renamed_model_is_recognised_by_its_template(hub: object, tmp_path: Path) -> None:
    shutil.copytree(snapshot_of("Qwen/Qwen3-0.6B"), tmp_path / "mine", symlinks=False)
    renderer = create_renderer(load_tokenizer(tmp_path / "mine"))
    assert type(renderer) is Qwen3Renderer
    assert renderer.resolution.found_by == "template"
    assert renderer.resolution.template_digest in renderer.resolution.family.templates


def test_a_known_name_with_another_template_gives_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    monkeypatch.setitem(renderers.MODEL_RENDERER_MAP, tokenizer.name_or_path, "qwen3")
    with pytest.warns(UnknownTemplateWarning, match="is a model of qwen3, but the chat template"):
        renderer = create_renderer(tokenizer)
    assert type(renderer) is DefaultRenderer
    assert any("is a model of qwen3" in conflict for conflict in renderer.resolution.conflicts)
    # A template that the caller passes gives no warning.
    create_renderer(tokenizer, chat_template="{{ messages[0].content }}")


@pytest.mark.parametrize(
    "create",
    [
        lambda tokenizer: create_renderer(tokenizer, GLM5RendererConfig()),
        lambda tokenizer: create_renderer(tokenizer, GLM5RendererConfig(), content_tokens="text"),
        lambda tokenizer: create_renderer(tokenizer, GLM5RendererConfig(), chat_template=tokenizer.chat_template),
        lambda tokenizer: GLM5Renderer(tokenizer),
        lambda tokenizer: GLM51Renderer(tokenizer, GLM5RendererConfig()),
    ],
)
def test_a_config_of_another_family_than_the_template_is_rejected(create: Any, hub: object) -> None:
    with pytest.raises(
        ValueError, match=r"^the config is for glm-5.*, but the chat template .* is that of qwen3.*any_template=True"
    ):
        create(load_tokenizer("Qwen/Qwen3-8B"))


def test_a_config_for_any_template_gives_a_warning_and_keeps_the_stop_tokens(hub: object) -> None:
    config = GLM5RendererConfig(any_template=True)
    with pytest.warns(
        UnknownTemplateWarning, match=r"the config is for glm-5, but the chat template .* is that of qwen3"
    ):
        renderer = create_renderer(load_tokenizer("Qwen/Qwen3-8B"), config)
    assert renderer.config == config
    assert pickle.loads(pickle.dumps(renderer)) == renderer
    assert renderer.get_stop_token_ids() == [151645, 151643]
    assert any("'<|user|>', '<|observation|>'" in conflict for conflict in renderer.resolution.conflicts)


def test_configs_of_consumers_work_with_tokenizers_of_the_family_and_of_fine_tunes(hub: object) -> None:
    instruct = load_tokenizer("Qwen/Qwen3-4B-Instruct-2507")
    with pytest.warns(UnknownTemplateWarning, match="is that of qwen3-2507"):
        assert type(create_renderer(instruct, Qwen3RendererConfig())) is Qwen3Renderer
    changed = f"{instruct.chat_template} "
    for tokenizer, template in ((instruct, changed), (load_tokenizer(EMBEDDED), None)):
        for config in (Qwen3RendererConfig(), GLM5RendererConfig(), DefaultRendererConfig(), AutoRendererConfig()):
            assert create_renderer(tokenizer, config, chat_template=template).render_ids(HI)
    assert type(create_renderer(instruct, DefaultRendererConfig())) is DefaultRenderer


def test_a_switch_that_the_template_does_not_read_gives_a_warning(hub: object) -> None:
    tokenizer = load_tokenizer("Qwen/Qwen3-4B-Instruct-2507")
    with pytest.warns(UnreadSwitchWarning, match="enable_thinking=False has no effect") as warned:
        renderer = create_renderer(tokenizer, chat_template_kwargs={"enable_thinking": False})
    assert warned[0].filename == __file__
    assert isinstance(renderer, Qwen3Renderer)
    with pytest.warns(UnreadSwitchWarning, match="enable_thinking=True has no effect") as warned:
        assert renderer.render_ids(HI, enable_thinking=True) == create_renderer(tokenizer).render_ids(HI)
    assert warned[0].filename == __file__


@pytest.mark.parametrize("kind", [str, Path])
def test_a_renderer_is_created_from_the_path_of_a_model(kind: type) -> None:
    renderer = create_renderer(kind(EMBEDDED), chat_template_kwargs={"enable_thinking": False})
    assert renderer == create_renderer(load_tokenizer(EMBEDDED), chat_template_kwargs={"enable_thinking": False})
    assert Qwen3Renderer(kind(EMBEDDED)) == Qwen3Renderer(load_tokenizer(EMBEDDED))
    custom: Any = create_renderer(kind(EMBEDDED), CustomRendererConfig(import_path=f"{__name__}:Own"))
    assert (type(custom), custom.tokenizer) == (Own, load_tokenizer(EMBEDDED))


def test_a_renderer_is_created_from_the_name_of_a_model(hub: object) -> None:
    assert create_renderer("Qwen/Qwen3-8B") == create_renderer(load_tokenizer("Qwen/Qwen3-8B"))


class Own(Qwen3Renderer):
    """A custom renderer class."""

    config_class = Qwen3RendererConfig


@pytest.mark.parametrize(
    "arguments",
    [
        {"chat_template": "{{ 1 }}"},
        {"date": "2026-01-31"},
        {"content_tokens": "text"},
        {"thinking_retention": "all"},
        {"conventions": SamplingConventions()},
        {"verify": False},
        {"limits": Limits(steps=1)},
    ],
)
def test_arguments_besides_the_config_are_rejected_for_a_custom_class(arguments: dict[str, Any]) -> None:
    config = CustomRendererConfig(import_path=f"{__name__}:Own", enable_thinking=False)
    assert type(create_renderer(load_tokenizer(EMBEDDED), config)) is Own
    with pytest.raises(TypeError, match=f"{next(iter(arguments))} cannot be combined with a custom renderer class"):
        create_renderer(load_tokenizer(EMBEDDED), config, **arguments)


def test_a_class_accepts_the_config_of_its_base_class() -> None:
    renderer = GLM51Renderer(load_tokenizer(EMBEDDED), GLM5RendererConfig(enable_thinking=False))
    assert isinstance(renderer, GLM5Renderer)
    assert renderer.config == GLM51RendererConfig(enable_thinking=False)
    assert renderer.found.family.key == "glm-5.1"


def test_a_config_of_another_family_keeps_its_values_or_is_rejected() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    assert Nemotron35Renderer(tokenizer, Nemotron3RendererConfig(enable_thinking=False)).config == (
        Nemotron35RendererConfig(enable_thinking=False)
    )
    with pytest.raises(ValueError, match="GLM53RendererConfig has no field enable_thinking of GLM5RendererConfig"):
        GLM53Renderer(tokenizer, GLM5RendererConfig(enable_thinking=False))


def test_a_config_of_another_family_keeps_its_defaults() -> None:
    with pytest.warns(UnreadSwitchWarning, match="preserve_thinking=False"):
        renderer = Qwen38Renderer(load_tokenizer(EMBEDDED), Qwen36RendererConfig())
    assert renderer.chat_template_kwargs["preserve_thinking"] is False


def test_a_class_of_no_family_is_rejected() -> None:
    class Mine(Qwen3Renderer):
        family = "mine"

    with pytest.raises(ValueError, match="there is no family 'mine'"):
        Mine(load_tokenizer(EMBEDDED), Qwen3RendererConfig())


def test_a_switch_that_no_template_reads_can_be_combined_with_a_retention() -> None:
    config = DefaultRendererConfig(foo=True)
    with pytest.warns(UnreadSwitchWarning, match="foo=True has no effect"):
        renderer = create_renderer(load_tokenizer(EMBEDDED), config, thinking_retention="all")
    assert renderer.thinking_retention == "all"


def test_a_config_without_a_family_is_rejected() -> None:
    with pytest.raises(TypeError, match="BaseRendererConfig has no `name` field"):
        create_renderer(load_tokenizer(EMBEDDED), BaseRendererConfig())


def test_a_model_with_images_needs_a_template_with_images(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(directory(tmp_path, vision_config={}))
    assert tokenizer.takes_images
    with pytest.raises(UnsupportedModelError, match="accepts images but its chat template drops them"):
        create_renderer(tokenizer)
    assert type(create_renderer(tokenizer, DefaultRendererConfig())) is DefaultRenderer


def test_a_template_with_images_gives_a_multimodal_renderer(tmp_path: Path) -> None:
    template = (
        "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
        "{% if p.type == 'image' %}<|result|>{% else %}{{ p.text }}{% endif %}{% endfor %}{% endif %}{% endfor %}"
    )
    tokenizer = load_tokenizer(directory(tmp_path, vision_config={}))
    renderer = create_renderer(tokenizer, chat_template=template)
    assert type(renderer) is DefaultMultimodalRenderer
    assert isinstance(renderer, DefaultRenderer)


def test_settings_need_a_config() -> None:
    config: Any = "qwen3"
    with pytest.raises(TypeError, match="config must be a renderer config"):
        resolve_settings(load_tokenizer(EMBEDDED), config)


class Registered:
    """A renderer class as in release 0.1: it accepts only a tokenizer and a config."""

    def __init__(self, tokenizer: object, config: BaseRendererConfig) -> None:
        self.tokenizer = tokenizer
        self.config = config


class RegisteredConfig(BaseRendererConfig):
    name: Literal["own"] = "own"
    style: str = "plain"


class Derived(DefaultRenderer):
    def __init__(self, tokenizer: TokenizerLike, config: BaseRendererConfig | None = None) -> None:
        super().__init__(tokenizer, config)


class Overriding(DefaultRenderer):
    def get_stop_token_ids(self) -> list[int]:
        return [1]


def registered(monkeypatch: pytest.MonkeyPatch, key: str, kind: Any) -> None:
    monkeypatch.setitem(RENDERER_REGISTRY, key, kind)


@pytest.mark.parametrize("config", [None, AutoRendererConfig(), DefaultRendererConfig()])
def test_a_registered_custom_class_gets_a_tokenizer_and_a_config(monkeypatch: pytest.MonkeyPatch, config: Any) -> None:
    registered(monkeypatch, "default", Registered)
    tokenizer = load_tokenizer(EMBEDDED)
    renderer: Any = create_renderer(tokenizer, config, chat_template_kwargs={"enable_thinking": False})
    assert type(renderer) is Registered
    assert renderer.tokenizer is tokenizer
    assert renderer.config == merge_chat_template_kwargs(DefaultRendererConfig(), {"enable_thinking": False})


@pytest.mark.parametrize("config", [None, AutoRendererConfig(thinking_retention="all")])
def test_a_class_can_be_registered_for_the_name_of_a_model(monkeypatch: pytest.MonkeyPatch, config: Any) -> None:
    registered(monkeypatch, "qwen3", Registered)
    monkeypatch.setitem(MODEL_RENDERER_MAP, "someone/model", "qwen3")
    tokenizer: Any = SimpleNamespace(name_or_path="someone/model")
    renderer: Any = create_renderer(tokenizer, config, chat_template_kwargs={"enable_thinking": False})
    assert renderer.tokenizer is tokenizer
    retention: Literal["all"] | None = None if config is None else "all"
    assert renderer.config == Qwen3RendererConfig(enable_thinking=False, thinking_retention=retention)


def test_a_class_can_be_registered_under_a_new_name(monkeypatch: pytest.MonkeyPatch) -> None:
    registered(monkeypatch, "own", Registered)
    renderer: Any = create_renderer(load_tokenizer(EMBEDDED), RegisteredConfig(style="loud"))
    assert (type(renderer), renderer.config) == (Registered, RegisteredConfig(style="loud"))


@pytest.mark.parametrize("kind", [Derived, Overriding])
def test_a_registered_class_can_be_derived_from_that_of_a_family(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    registered(monkeypatch, "default", kind)
    renderer = create_renderer(load_tokenizer(EMBEDDED))
    assert type(renderer) is kind
    assert renderer.render_ids([{"role": "user", "content": "Hi"}])


@pytest.mark.parametrize("option", [{"verify": True}, {"date": "2026-01-31"}, {"chat_template": "{{ messages }}"}])
def test_options_besides_the_config_are_rejected_for_a_registered_custom_class(
    monkeypatch: pytest.MonkeyPatch, option: dict[str, Any]
) -> None:
    registered(monkeypatch, "default", Registered)
    with pytest.raises(TypeError, match=f"^{next(iter(option))} cannot be combined with a custom"):
        create_renderer(load_tokenizer(EMBEDDED), **option)
