"""A prompt with the default date is reported once, with the remedy."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, ChatRenderer, create_renderer, load_tokenizer
from renderers.errors import DefaultDateWarning

HI = [{"role": "user", "content": "Hi"}]
CLOCK = "{% for m in messages %}{{ m.content }}{% endfor %} {{ strftime_now('%d %B %Y') }}"
CONSTANT = "{% if not date_string is defined %}{% set date_string = '26 Jul 2024' %}{% endif %}"
CONSTANT += "{{ date_string }}{{ messages[0].content }}"
CLOCK_OR_CONSTANT = (
    "{% if date_string is not defined %}{% if strftime_now is defined %}"
    "{% set date_string = strftime_now('%d %b %Y') %}"
    "{% else %}{% set date_string = '26 Jul 2024' %}{% endif %}{% endif %}{{ date_string }}{{ messages[0].content }}"
)
TEMPLATES_WITH_DATE = {
    "openai/gpt-oss-20b": "date='2026-01-31'",
    "meta-llama/Llama-3.2-1B-Instruct": "date='2026-01-31'",
    "meta-llama/Llama-3.1-8B-Instruct": "chat_template_kwargs={'date_string': '31 Jan 2026'}",
    "mistralai/Mistral-Small-3.2-24B-Instruct-2506": "date='2026-01-31'",
    "HuggingFaceTB/SmolLM3-3B": "date='2026-01-31'",
}


def example(source: str, **options: Any) -> ChatRenderer:
    return create_renderer(load_tokenizer(EXAMPLE_MODEL), chat_template=source, **options)


def reported(renderer: ChatRenderer, **arguments: Any) -> list[warnings.WarningMessage]:
    """Return the warnings about the date of one render."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        renderer.render_ids(arguments.pop("messages", HI), **arguments)
    return [warning for warning in caught if warning.category is DefaultDateWarning]


def test_the_first_prompt_with_the_default_date_is_reported_where_it_is_rendered() -> None:
    renderer = example(CLOCK)
    (warning,) = reported(renderer)
    assert "default date, 26 July 2024" in str(warning.message)
    assert "date='2026-01-31'" in str(warning.message)
    assert Path(warning.filename) == Path(__file__)
    assert reported(renderer) == []
    assert len(reported(example(CLOCK))) == 1


@pytest.mark.parametrize("date", ["2026-01-31", "2024-07-26", datetime.date(2024, 7, 26)])
def test_a_date_that_the_caller_sets_is_not_reported(date: Any) -> None:
    assert reported(example(CLOCK, date=date)) == []


def test_a_date_that_the_template_does_not_write_is_not_reported() -> None:
    renderer = example("{% set today = strftime_now('%d %B %Y') %}{{ messages[0].content }}")
    assert reported(renderer) == []
    assert renderer._text_renderer.date_notice.is_pending
    assert not example("{{ messages[0].content }}")._text_renderer.date_notice.is_pending


def test_a_date_string_replaces_the_constant_of_a_template() -> None:
    assert reported(example(CONSTANT, chat_template_kwargs={"date_string": "31 Jan 2026"})) == []
    renderer = example(CONSTANT)
    assert reported(renderer, date_string="31 Jan 2026") == []
    (warning,) = reported(renderer)
    assert "date_string" in str(warning.message)


@pytest.mark.parametrize(
    "source",
    [
        "{% set form = '%Y-%m-%d' %}{{ strftime_now(form) }}{{ messages[0].content }}",
        "{{ strftime_now(format='%Y-%m-%d') }}{{ messages[0].content }}",
        "{{ messages[0].content }}{% if add_generation_prompt %}{{ strftime_now('%d ' ~ '%B') }}{% endif %}",
    ],
)
def test_a_date_in_any_form_is_reported(source: str) -> None:
    assert len(reported(example(source), add_generation_prompt=True)) == 1


def test_dates_of_the_caller_are_not_reported() -> None:
    ask = [{"role": "user", "content": "on 26 Jul 2024?"}]
    with_tools = "{% if tools %}{{ strftime_now('%Y') }}{% endif %}{{ messages[0].content }}"
    assert reported(example(with_tools), messages=ask) == []
    assert reported(example(CLOCK_OR_CONSTANT, date="2026-01-31"), messages=ask) == []
    for source in (CONSTANT, CLOCK_OR_CONSTANT):
        for date in ("31 Jan 2026", "26 Jul 2024"):
            assert reported(example(source, chat_template_kwargs={"date_string": date}), messages=ask) == []
            assert reported(example(source), messages=ask, date_string=date) == []


def test_a_constant_is_reported_although_a_date_is_set() -> None:
    (warning,) = reported(example(CONSTANT, date="2026-01-31"))
    assert "date has no effect" in str(warning.message)
    assert "chat_template_kwargs={'date_string': '31 Jan 2026'}" in str(warning.message)


def test_a_template_that_writes_no_date_is_checked_a_few_times_only() -> None:
    renderer = example("{% if never %}{{ strftime_now('%Y') }}{% endif %}{{ messages[0].content }}")
    for _ in range(40):
        assert reported(renderer, messages=[{"role": "user", "content": "in 2024"}]) == []
    assert not renderer._text_renderer.date_notice.is_pending


def test_the_render_works_if_warnings_are_errors() -> None:
    renderer = example(CLOCK)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DefaultDateWarning):
            renderer.render_ids(HI)
        assert renderer.render_ids(HI)


@pytest.mark.parametrize("name", TEMPLATES_WITH_DATE)
def test_real_models_with_a_date_are_reported_and_others_are_not(hub: Path, name: str) -> None:
    (warning,) = reported(create_renderer(load_tokenizer(name)))
    assert TEMPLATES_WITH_DATE[name] in str(warning.message)
    assert reported(create_renderer(load_tokenizer("Qwen/Qwen3-8B"))) == []


def test_llama_3_1_ignores_the_option_date(hub: Path) -> None:
    name = "meta-llama/Llama-3.1-8B-Instruct"
    (warning,) = reported(create_renderer(name, date="2026-01-31"))
    assert TEMPLATES_WITH_DATE[name] in str(warning.message)
    assert reported(create_renderer("meta-llama/Llama-3.2-1B-Instruct", date="2026-01-31")) == []


def test_a_system_message_that_replaces_the_date_is_not_reported(hub: Path) -> None:
    renderer = create_renderer(load_tokenizer("mistralai/Mistral-Small-3.2-24B-Instruct-2506"))
    assert reported(renderer, messages=[{"role": "system", "content": "Be brief."}, *HI]) == []
    assert len(reported(renderer)) == 1
