"""Selection of the template, its arguments, and the end of a continued message."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from renderers.core.spans import Trace
from renderers.errors import MessageError, TemplateMissingError
from renderers.templating import ChatTemplate
from renderers.templating.chat import choose_template, normalise_template_kwargs, read_template, run_chat

NOW = datetime.datetime(2026, 11, 15)
PLAIN = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
TRIMMED = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</>{% endfor %}"
PARTS = "{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}</>{% endfor %}"


def continued(source: str, *messages: dict[str, Any], field: bool | str = True, **more: Any) -> Trace:
    arguments = {"tools": None, "add_generation_prompt": False, "now": NOW, "arguments": {}, **more}
    return run_chat(ChatTemplate(source), list(messages), continue_final_message=field, **arguments)


def test_a_string_is_a_template_and_a_path_is_read(tmp_path: Path) -> None:
    path = tmp_path / "chat.jinja"
    path.write_text("{{ 'from a file' }}", encoding="utf-8")
    assert read_template("{{ x }}", named={}) == "{{ x }}"
    assert read_template("two\nlines", named={}) == "two\nlines"
    assert read_template(path, named={}) == read_template(str(path), named={}) == "{{ 'from a file' }}"


def test_a_name_selects_one_of_the_tokenizers_templates() -> None:
    assert read_template("rag", named={"rag": "{{ 'R' }}"}) == "{{ 'R' }}"


@pytest.mark.parametrize("template", ["nowhere.jinja", "toll_use", Path("nowhere.jinja"), "a\0b"])
def test_a_string_that_is_no_template_file_or_name_is_rejected(template: Any) -> None:
    with pytest.raises(
        TemplateMissingError, match=r"neither the source .* nor a template of the tokenizer \(tool_use\)"
    ):
        read_template(template, named={"tool_use": ""})


def test_an_empty_template_is_rejected_with_advice() -> None:
    with pytest.raises(TemplateMissingError, match=r"chat_template is empty\. Pass None"):
        read_template("", named={})


def test_a_value_that_is_neither_a_string_nor_a_path_is_rejected() -> None:
    template: Any = b"x"
    with pytest.raises(TypeError, match="chat_template must be a string or a path, not a bytes"):
        read_template(template, named={})


def test_templates_are_selected_as_in_transformers() -> None:
    named = {"default": "D", "tool_use": "T", "rag": "R"}
    assert choose_template(named, tools=False, name="m") == "D"
    assert choose_template(named, tools=True, name="m") == "T"
    assert choose_template({"default": "D"}, tools=True, name="m") == "D"


def test_a_tokenizer_without_a_template_is_rejected_with_advice() -> None:
    with pytest.raises(TemplateMissingError, match=r"^the tokenizer org/m has no chat template: pass chat_template="):
        choose_template({}, tools=False, name="org/m")
    with pytest.raises(TemplateMissingError, match=r"has only named chat templates \(rag, x\): "):
        choose_template({"rag": "R", "x": ""}, tools=True, name="")


def test_a_continued_message_ends_with_its_text() -> None:
    trace = continued(PLAIN, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Well, "})
    assert trace.text == "<user>Hi</><assistant>Well, "
    assert trace.spans[-1].end == len(trace.text)
    assert (trace.spans[-1].message, trace.spans[-1].path) == (1, ("content",))


def test_a_template_that_trims_the_text_trims_a_continued_message_too() -> None:
    assert continued(TRIMMED, {"role": "assistant", "content": " Well, "}).text == "<assistant>Well,"


def test_the_last_text_part_is_continued() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image"}]
    assert continued(PARTS, {"role": "assistant", "content": parts}).text == "ab"


def test_an_empty_text_can_be_continued() -> None:
    assert continued(PLAIN, {"role": "assistant", "content": ""}).text == "<assistant>"


@pytest.mark.parametrize("content", [None, [], [{"type": "image"}], 7])
def test_a_message_without_text_cannot_be_continued(content: Any) -> None:
    with pytest.raises(MessageError, match="message 1: content cannot be continued: it has no text"):
        continued(PLAIN, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": content})


def test_a_message_that_the_template_drops_cannot_be_continued() -> None:
    with pytest.raises(MessageError, match="message 0: cannot be continued: the chat template does not write all"):
        continued("nothing", {"role": "assistant", "content": "x"})
    with pytest.raises(MessageError, match="message 0: cannot be continued: the chat template does not write all"):
        continued("{{ messages[0].content[1:] }}", {"role": "assistant", "content": "xy"})


def test_a_continued_message_has_no_generation_prompt() -> None:
    with pytest.raises(MessageError, match="exclude each other"):
        continued(PLAIN, {"role": "assistant", "content": "x"}, add_generation_prompt=True)


@pytest.mark.parametrize("name", ["reasoning_content", "thinking"])
def test_reasoning_is_continued_under_the_name_that_the_template_reads(name: str) -> None:
    source = "{% for m in messages %}<think>{{ m.NAME }}</think>{{ m.content }}{% endfor %}".replace("NAME", name)
    message = {"role": "assistant", "content": "", "reasoning_content": "Well, ", "thinking": "Well, "}
    trace = continued(source, message, field="reasoning_content")
    assert trace.text == "<think>Well, "
    assert trace.spans[-1].path == (name,)
    with pytest.raises(MessageError, match=r"^message 0: reasoning cannot be continued: it has no text$"):
        continued(source, message, field="reasoning")


@pytest.mark.parametrize("name", ["add_generation_prompt", "continue_final_message", "messages", "now", "tools"])
def test_an_argument_of_render_is_not_a_template_argument(name: str) -> None:
    with pytest.raises(MessageError, match=f"^{name} is not a template argument"):
        normalise_template_kwargs({name: True})


def test_a_message_that_is_written_twice_cannot_be_continued() -> None:
    with pytest.raises(
        MessageError, match="message 0: cannot be continued: the chat template writes its content twice"
    ):
        continued("{{ messages[0].content }}|{{ messages[0].content }}", {"role": "assistant", "content": "abc"})


@pytest.mark.parametrize("arguments", [[1], {1: 2}])
def test_template_arguments_must_be_a_mapping_with_string_keys(arguments: Any) -> None:
    with pytest.raises(MessageError, match="argument"):
        normalise_template_kwargs(arguments)


def test_text_that_looks_like_the_internal_tag_is_text() -> None:
    content = "THE_MESSAGE_GOES_ON_HERE and on"
    assert continued(PLAIN, {"role": "assistant", "content": content}).text == f"<assistant>{content}"
