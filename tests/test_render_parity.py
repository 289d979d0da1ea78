"""Ids equal those of transformers, for every real model and for every template with a stand-in tokenizer.

A renderer adapts messages to the input format of the template, so transformers gets the adapted messages. It must not
reject adapted messages if it accepts the original ones. All combinations of switches are compared as text in
`templating/test_template.py`; here they rotate.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from types import UnionType
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from renderers import EMBEDDED, ChatRenderer, LoadedTokenizer, adopt_tokenizer, create_renderer, load_tokenizer
from renderers.core.messages import normalise_messages, normalise_tools
from renderers.errors import MessageError, TemplateError
from renderers.probing.turn_format import THINKING_SWITCHES
from renderers.programs.adapt import InputAdapter
from renderers.programs.input_formats import probe_arguments
from renderers.templating import ChatTemplate
from tests.support.conversations import CONVERSATIONS, TOOLS, assistant, system, user
from tests.support.models import one_model_per_template
from tests.support.parity import CORPUS, DOCUMENTS, LARGE, OF_MODELS, PLAIN_TOOL, Data, rotated
from tests.support.reference import Reference, apply_chat_template, automatic, reference_of, reference_with, time_is
from tests.support.settings import template_renderer
from tests.support.standin import byte_tokenizer, stand_in

# The same switches are passed to all models.
pytestmark = pytest.mark.filterwarnings("ignore::renderers.UnreadSwitchWarning")

WITH_TEMPLATE = one_model_per_template()
SEVERAL = [
    "Qwen/Qwen3-8B",
    "meta-llama/Llama-3.2-1B-Instruct",
    "mistralai/Mistral-Small-3.2-24B-Instruct-2506",
    "CohereLabs/c4ai-command-a-03-2025",
]
STAND_INS = [EMBEDDED / "chat_template.jinja", *CORPUS]
WITHOUT_MODEL = [path for path in STAND_INS if path not in OF_MODELS]
WITH_DOCUMENTS = [path for path in CORPUS if "documents" in path.read_text(encoding="utf-8")]
WITH_IMAGES = ("image", "images")


def outcome(render: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the result of a call, or the exception that it raises."""
    try:
        return render(*args, **kwargs)
    except Exception as error:
        return error


def assert_same(got: Any, expected: Any, about: Any, *, refusals: type | UnionType = TemplateError) -> None:
    """Assert that both results are equal, or that transformers raised and this package raised one of `refusals`."""
    if isinstance(expected, Exception):
        assert isinstance(got, refusals), (about, got, expected)
    else:
        assert got == expected, about


# ==================
# Every template
# ==================


CONVERTED = {
    "assistant parts",
    "call as text",
    "developer",
    "empty parts",
    "no reply yet",
    "parts",
    "system parts",
    "tool parts",
}
"""Conversations that the renderer adapts, because some templates drop them or print them as data."""


WITH_NONE = ("none", "call none")
"""Conversations that the renderer adapts by default if the template would write the word None."""


def loses_text(template: ChatTemplate, messages: list[Data], arguments: Data) -> bool:
    """Return True if a template drops the content or the reasoning of a message."""
    text = template.run(normalise_messages(messages), **arguments).text
    contents = [message["content"] for message in messages if isinstance(message.get("content"), str)]
    thoughts = [message["reasoning_content"] for message in messages if message.get("reasoning_content")]
    return any(field.strip() not in text for field in (*contents, *thoughts[-1:]))


def compare(
    renderer: ChatRenderer, reference: Reference, *, names: Collection[str] = tuple(CONVERSATIONS)
) -> Counter[str]:
    """Compare a renderer with its reference. Return the number of successful renders and of unchanged messages."""
    tokens = renderer.tokenizer.special_tokens_map
    counts = Counter[str]()
    read = {name for tools in (False, True) for name in renderer.template(tools=tools).arguments}
    for at, (name, options) in enumerate(rotated(turns=2)):
        if name not in names or (name in LARGE and at % 2):
            continue
        messages, tools = CONVERSATIONS[name], options.pop("tools")
        always = {"add_generation_prompt", *THINKING_SWITCHES}
        # A renderer rejects arguments that its template does not read.
        arguments = {key: options[key] for key in options if key in always or key in read}
        got = outcome(renderer.render_ids, messages, tools=tools, process_multimodal=False, **arguments)
        template = renderer.template(tools=tools is not None)
        switches = {key: value for key, value in arguments.items() if key != "add_generation_prompt"}
        probe = probe_arguments(template, tuple(tokens.items()), switches)
        try:
            adapter = InputAdapter(template, probe, none_content=renderer.none_content)
            adapted = adapter.messages(normalise_messages(messages))
        except MessageError:
            assert isinstance(got, MessageError), (name, got)
            assert name in WITH_IMAGES
            continue
        adapted_tools = InputAdapter(template, probe).tools(normalise_tools(tools))
        with time_is(renderer.date):
            expected = outcome(reference, adapted, tools=adapted_tools, **arguments)
            unchanged = (adapted, adapted_tools) == (messages, tools)
            raw = expected if unchanged else outcome(reference, messages, tools=tools, **arguments)
        if name == "only system" and isinstance(expected, Exception) and not isinstance(got, Exception):
            # Such a template requires a user message. Its text is left out.
            with time_is(renderer.date):
                whole = reference([*adapted, user("Hi")], tools=adapted_tools, **arguments)
            alike = sum(itertools.takewhile(bool, map(operator.eq, got, whole)))
            assert whole[len(whole) - len(got) + alike :] == got[alike:], (name, arguments)
            continue
        assert_same(got, expected, (name, arguments))
        if unchanged:
            counts["unchanged"] += 1
        else:
            assert isinstance(raw, Exception) or not isinstance(expected, Exception), (name, arguments)
            # Messages that transformers renders without a loss must not be adapted.
            everything = {**tokens, **arguments}
            converted = name in CONVERTED or (name in WITH_NONE and renderer.none_content == "omitted")
            explained = isinstance(raw, Exception) or converted or loses_text(template, messages, everything)
            assert explained or got == raw, (name, arguments)
        counts["rendered"] += not isinstance(expected, Exception)
    return counts


@pytest.mark.parametrize("name", WITH_TEMPLATE)
def test_ids_equal_those_of_transformers_for_every_real_model(hub: Path, name: str) -> None:
    renderer = template_renderer(load_tokenizer(name), verify=False, on_loss="ignore")
    counts = compare(renderer, reference_of(name))
    assert counts["unchanged"] > len(CONVERSATIONS)
    assert counts["rendered"] > len(CONVERSATIONS)


@pytest.mark.parametrize("name", WITH_TEMPLATE)
def test_ids_equal_those_of_transformers_if_none_is_passed_to_the_template(hub: Path, name: str) -> None:
    renderer = template_renderer(load_tokenizer(name), verify=False, none_content="as_template")
    counts = compare(renderer, reference_of(name), names=WITH_NONE)
    assert counts["unchanged"] or not renderer.resolution.adaptations


@pytest.mark.parametrize("path", WITHOUT_MODEL, ids=lambda path: path.stem)
def test_ids_equal_those_of_transformers_for_every_template_with_a_stand_in(path: Path) -> None:
    tokenizer = stand_in(path)
    counts = compare(template_renderer(tokenizer, verify=False, on_loss="ignore"), reference_with(tokenizer))
    assert counts["rendered"] > 0


# ==================
# Continued messages
# ==================

BEGINNINGS: dict[str, Any] = {
    "text": "Hello",
    "a space at the end": "Hello ",
    "lines at the end": "Hello\n\n",
    "a space in front": " Hello",
    "blank": "  ",
    "empty": "",
    "thoughts": "<think>\nThey greet me.\n</think>\n\nHello",
    "the end of thoughts": "They greet me.</think>Hello ",
    "open thoughts": "<think>\nHel",
    "nothing": None,
    "parts": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}],
    "parts with a space at the end": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo "}],
    "text before an image": [{"type": "text", "text": "Hello"}, {"type": "image"}],
    "an image": [{"type": "image"}],
    "no parts": [],
}


@pytest.mark.parametrize("path", STAND_INS, ids=lambda path: path.stem)
def test_a_continued_message_ends_as_in_transformers(path: Path) -> None:
    reference_tokenizer = stand_in(path)
    renderer = template_renderer(reference_tokenizer, verify=False, on_loss="ignore")
    tokenizer = renderer.tokenizer
    assert isinstance(tokenizer, LoadedTokenizer)
    tokens = tuple(tokenizer.special_tokens_map.items())
    for (about, content), reasoning in itertools.product(BEGINNINGS.items(), (None, "They greet me.")):
        messages = [user("Hi"), assistant(content, reasoning)]
        expected = outcome(
            apply_chat_template, reference_tokenizer, messages, continue_final_message=True, tokenize=False
        )
        got = outcome(tokenizer.apply_chat_template, messages, continue_final_message=True, tokenize=False)
        assert_same(got, expected, about, refusals=TemplateError | MessageError)
        adapted = outcome(InputAdapter(renderer.template(), tokens).messages, normalise_messages(messages))
        ids = outcome(renderer.render_ids, messages, continue_final_message=True, process_multimodal=False)
        if isinstance(adapted, Exception):
            assert type(ids) is type(adapted), about
            continue
        with time_is(renderer.date):
            expected = outcome(reference_with(reference_tokenizer), adapted, continue_final_message=True)
        assert_same(ids, expected, about, refusals=TemplateError | MessageError)


def test_a_message_that_the_template_drops_in_part_cannot_be_continued() -> None:
    template = "{% for m in messages %}{{ m.content.split('</think>')[-1] }}<end>{% endfor %}"
    reference_tokenizer = PreTrainedTokenizerFast(tokenizer_object=byte_tokenizer(["<end>"]), chat_template=template)
    messages = [user("Hi"), assistant("They greet me.</think>Hello")]
    with pytest.raises(ValueError, match="does not appear in the chat"):
        reference_tokenizer.apply_chat_template(messages, continue_final_message=True)
    with pytest.raises(MessageError):
        create_renderer(reference_tokenizer).render_ids(messages, continue_final_message=True)


# ==================
# apply_chat_template
# ==================


@pytest.mark.parametrize("name", SEVERAL)
def test_apply_chat_template_equals_that_of_transformers(hub: Path, name: str) -> None:
    reference_tokenizer, tokenizer = automatic(name), load_tokenizer(name)
    for conversation, arguments in rotated(turns=1):
        messages = CONVERSATIONS[conversation]
        for options in ({"tokenize": False}, {"return_dict": False}):
            expected = outcome(apply_chat_template, reference_tokenizer, messages, **arguments, **options)
            got = outcome(tokenizer.apply_chat_template, messages, **arguments, **options)
            assert_same(got, expected, (conversation, arguments, options))


def test_apply_chat_template_returns_a_mapping_unless_return_dict_is_false() -> None:
    reference_tokenizer = stand_in(EMBEDDED / "chat_template.jinja")
    tokenizer = adopt_tokenizer(reference_tokenizer)
    assert isinstance(tokenizer, LoadedTokenizer)
    expected = reference_tokenizer.apply_chat_template([user("Hi")], add_generation_prompt=True)
    got = tokenizer.apply_chat_template([user("Hi")], add_generation_prompt=True)
    assert isinstance(got, dict)
    assert got == {key: expected[key] for key in ("input_ids", "attention_mask")}


def test_apply_chat_template_rejects_unsupported_options() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    off: Data = {"padding": False, "truncation": False, "max_length": None, "return_tensors": None}
    assert tokenizer.apply_chat_template([user("Hi")], **off) == tokenizer.apply_chat_template([user("Hi")])
    for name in ("return_tensors", "truncation", "max_length", "padding", "return_assistant_tokens_mask"):
        on: Data = {name: 1}
        with pytest.raises(TypeError, match=f"does not support {name}="):
            tokenizer.apply_chat_template([user("Hi")], **on)


@pytest.mark.parametrize("name", SEVERAL)
def test_reasoning_is_continued_as_in_transformers(hub: Path, name: str) -> None:
    reference_tokenizer, tokenizer = automatic(name), load_tokenizer(name)
    messages = [user("Hi"), {"role": "assistant", "content": "", "reasoning_content": "They greet, "}]
    arguments: Data = {"continue_final_message": "reasoning_content", "tokenize": False}
    expected = outcome(reference_tokenizer.apply_chat_template, messages, **arguments)
    assert_same(outcome(tokenizer.apply_chat_template, messages, **arguments), expected, name, refusals=MessageError)


@pytest.mark.parametrize("path", WITH_DOCUMENTS, ids=lambda path: path.stem)
def test_documents_reach_the_template(path: Path) -> None:
    reference_tokenizer = stand_in(path)
    tokenizer = adopt_tokenizer(reference_tokenizer)
    assert isinstance(tokenizer, LoadedTokenizer)
    # Cohere templates loop over the tools if there are documents, and fail without tools.
    arguments: Data = {"documents": DOCUMENTS, "tools": [PLAIN_TOOL]}
    messages = [system("Be brief."), user("Does it rain?")]
    expected = reference_with(reference_tokenizer)(messages, **arguments)
    assert "It rains in Rome." in reference_tokenizer.decode(expected)
    assert tokenizer.apply_chat_template(messages, **arguments, return_dict=False) == expected
    assert create_renderer(reference_tokenizer, on_loss="ignore").render_ids(messages, **arguments) == expected


NAMED = {
    "default": "{% for m in messages %}<d>{{ m.content }}{% endfor %}",
    "tool_use": "{{ tools | length }} tools: {% for m in messages %}<t>{{ m.content }}{% endfor %}",
    "rag": "{% for m in messages %}<r>{{ m.content }}{% endfor %}",
}


@pytest.mark.parametrize("tools", [None, [], TOOLS])
@pytest.mark.parametrize("template", [None, "default", "rag", "tool_use", "<x>{{ messages[0].content }}"])
def test_the_template_is_selected_as_in_transformers(template: str | None, tools: list[Data] | None) -> None:
    reference_tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_tokenizer(["<d>", "<t>", "<r>"]), chat_template=NAMED
    )
    tokenizer = adopt_tokenizer(reference_tokenizer)
    assert isinstance(tokenizer, LoadedTokenizer)
    messages = [user("Hi")]
    expected = outcome(reference_with(reference_tokenizer), messages, tools=tools, chat_template=template)
    got = outcome(tokenizer.apply_chat_template, messages, tools=tools, chat_template=template, return_dict=False)
    assert_same(got, expected, template)
    assert_same(
        outcome(
            create_renderer(reference_tokenizer, chat_template=template, on_loss="ignore").render_ids,
            messages,
            tools=tools,
        ),
        expected,
        template,
    )
