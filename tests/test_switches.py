"""Template arguments are checked by the same rule in `create_renderer` and in a render."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

import pytest

from renderers import (
    EXAMPLE_MODEL,
    DefaultRendererConfig,
    GptOssRendererConfig,
    LoadedTokenizer,
    Qwen3RendererConfig,
    UnknownSwitchError,
    UnreadSwitchWarning,
    create_renderer,
    load_tokenizer,
)
from renderers.switches import OPTIONS

HI = [{"role": "user", "content": "Hi"}]
READS_COLOUR = "{{ messages[0].content }}{{ colour }}"

Apply = Callable[..., list[int]]


def created(tokenizer: LoadedTokenizer, arguments: dict[str, Any], config: Any = None, **options: Any) -> list[int]:
    renderer = create_renderer(tokenizer, config, chat_template_kwargs=arguments, **options)
    return renderer.render_ids(HI, add_generation_prompt=True)


def rendered(tokenizer: LoadedTokenizer, arguments: dict[str, Any], config: Any = None, **options: Any) -> list[int]:
    return create_renderer(tokenizer, config, **options).render_ids(HI, add_generation_prompt=True, **arguments)


def rendered_in_a_batch(
    tokenizer: LoadedTokenizer, arguments: dict[str, Any], config: Any = None, **options: Any
) -> list[int]:
    renderer = create_renderer(tokenizer, config, **options)
    (result,) = renderer.render_batch([HI], add_generation_prompt=True, **arguments)
    return list(result.token_ids)


WAYS = pytest.mark.parametrize("apply", [created, rendered, rendered_in_a_batch])
CONFIGS = pytest.mark.parametrize("config", [None, Qwen3RendererConfig(), DefaultRendererConfig()], ids=repr)


@WAYS
@CONFIGS
def test_an_unknown_switch_is_an_error(apply: Apply, config: Any) -> None:
    with pytest.raises(UnknownSwitchError, match="'colour' is neither an option nor a variable") as caught:
        apply(load_tokenizer(EXAMPLE_MODEL), {"colour": "red"}, config)
    # Callers expect a `ValueError` of `create_renderer`, and a `TypeError` of a render.
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)


@WAYS
@pytest.mark.parametrize("name", ["system", "content", "message", "loop"])
def test_a_word_of_the_template_that_is_no_variable_is_no_switch(apply: Apply, name: str) -> None:
    source = "{% for message in messages %}{{ message.content + 'system loop ' + colour }}{% endfor %} system"
    with pytest.raises(UnknownSwitchError, match=f"'{name}' is neither an option nor a variable"):
        apply(load_tokenizer(EXAMPLE_MODEL), {name: "red"}, chat_template=source)


@pytest.mark.parametrize("name", ["date", "thinking_retention", "on_loss", "none_content", "bpe_engine"])
def test_an_option_that_is_passed_to_a_render_is_an_error_that_names_create_renderer(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}.* is an option of create_renderer"):
        rendered(load_tokenizer(EXAMPLE_MODEL), {name: "2026-01-31"})


@WAYS
@CONFIGS
@pytest.mark.parametrize("name", ["date", "name", "program"])
def test_a_name_of_an_option_is_a_template_argument_if_the_template_reads_it(
    apply: Apply, config: Any, name: str
) -> None:
    tokenizer = load_tokenizer(EXAMPLE_MODEL)
    ids = apply(tokenizer, {name: "today"}, config, chat_template=f"{{{{ {name} + messages[0].content }}}}")
    assert tokenizer.decode(ids) == "todayHi"


@CONFIGS
@pytest.mark.parametrize("name", ["date", "tool_parser", "content_tokens", "on_loss"])
def test_an_option_among_the_template_arguments_is_an_error_that_names_create_renderer(config: Any, name: str) -> None:
    with pytest.raises(UnknownSwitchError, match=rf"reads no variable '{name}'. It is an option of create_renderer"):
        created(load_tokenizer(EXAMPLE_MODEL), {name: "text"}, config)


def test_the_options_that_are_named_in_errors_are_those_of_create_renderer() -> None:
    names = [
        name for name, option in signature(create_renderer).parameters.items() if option.kind is Parameter.KEYWORD_ONLY
    ]
    assert {*names} - {"chat_template_kwargs"} == OPTIONS


@WAYS
@CONFIGS
def test_a_misspelt_switch_is_an_error_with_a_suggestion(apply: Apply, config: Any) -> None:
    with pytest.raises(UnknownSwitchError, match=r"'enable_thinkin' .* Did you mean 'enable_thinking'"):
        apply(load_tokenizer(EXAMPLE_MODEL), {"enable_thinkin": False}, config)


@WAYS
@CONFIGS
def test_a_variable_that_the_template_reads_is_accepted(apply: Apply, config: Any) -> None:
    tokenizer = load_tokenizer(EXAMPLE_MODEL)
    ids = apply(tokenizer, {"colour": "red"}, config, chat_template=READS_COLOUR)
    assert tokenizer.decode(ids) == "Hired"


@WAYS
@pytest.mark.parametrize("config", [None, DefaultRendererConfig()], ids=repr)
def test_the_switches_for_thinking_are_accepted_by_all_models(apply: Apply, config: Any) -> None:
    tokenizer = load_tokenizer(EXAMPLE_MODEL)
    ids = apply(
        tokenizer, {"enable_thinking": False, "thinking": False}, config, chat_template="{{ messages[0].content }}"
    )
    assert tokenizer.decode(ids) == "Hi"


@WAYS
def test_a_switch_of_the_family_that_the_template_does_not_read_gives_a_warning(apply: Apply) -> None:
    tokenizer, config = load_tokenizer(EXAMPLE_MODEL), Qwen3RendererConfig()
    with pytest.warns(UnreadSwitchWarning, match="^enable_thinking=False has no effect") as warned:
        ids = apply(tokenizer, {"enable_thinking": False}, config, chat_template="{{ messages[0].content }}")
    assert tokenizer.decode(ids) == "Hi"
    assert warned[0].filename == __file__


@WAYS
def test_none_and_the_default_of_a_switch_give_no_warning(apply: Apply) -> None:
    tokenizer = load_tokenizer(EXAMPLE_MODEL)
    assert apply(tokenizer, {"thinking": None}, chat_template="{{ messages[0].content }}")
    assert apply(tokenizer, {"enable_thinking": True}, Qwen3RendererConfig(), chat_template="{{ messages[0].content }}")


@WAYS
def test_a_switch_that_only_a_program_reads_is_an_error(apply: Apply, hub: object) -> None:
    tokenizer = load_tokenizer("openai/gpt-oss-20b")
    with pytest.raises(ValueError, match="auto_drop_analysis of gpt-oss needs the program 'harmony'"):
        apply(tokenizer, {"auto_drop_analysis": False}, GptOssRendererConfig(program="template"))
    assert apply(tokenizer, {"auto_drop_analysis": False})


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "zai-org/GLM-4.5-Air", "meta-llama/Llama-3.2-1B-Instruct"])
@WAYS
def test_real_models_accept_the_same_switches_everywhere(apply: Apply, name: str, hub: object) -> None:
    tokenizer = load_tokenizer(name)
    with pytest.raises(UnknownSwitchError):
        apply(tokenizer, {"colour": "red"})
    if name.startswith("meta-llama"):
        assert apply(tokenizer, {"date_string": "1 May 2026"}) != apply(tokenizer, {})
        assert apply(tokenizer, {"enable_thinking": False}) == apply(tokenizer, {})
    else:
        assert apply(tokenizer, {"enable_thinking": False}) != apply(tokenizer, {})


@pytest.mark.parametrize("kwargs", [{5: True}, {None: 1}])
def test_names_of_template_arguments_are_strings(kwargs: Any) -> None:
    with pytest.raises(TypeError, match="the keys of chat_template_kwargs must be strings, not"):
        create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template_kwargs=kwargs)


def test_a_field_of_a_default_config_that_the_template_does_not_read_gives_a_warning() -> None:
    tokenizer = load_tokenizer(EXAMPLE_MODEL)
    with pytest.warns(UnreadSwitchWarning, match="^colour='red' has no effect"):
        create_renderer(tokenizer, DefaultRendererConfig(colour="red"))
    assert create_renderer(tokenizer, DefaultRendererConfig(colour="red"), chat_template=READS_COLOUR)
