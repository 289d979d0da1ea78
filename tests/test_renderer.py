"""The arguments, the immutability and the errors of a renderer."""

from __future__ import annotations

import copy
import datetime
import gc
import itertools
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as RustTokenizer

from renderers import (
    EMBEDDED,
    ChatRenderer,
    ControlTextError,
    Limits,
    MediaError,
    MessageError,
    Qwen3RendererConfig,
    TemplateLimitError,
    TemplateMissingError,
    TemplateRefusalError,
    TemplateRunError,
    TemplateSourceError,
    UnencodableTextError,
    create_renderer,
    load_tokenizer,
)
from renderers.core.options import DEFAULT_DATE
from renderers.core.probes import TOOL
from renderers.family_renderers import FamilyRenderer
from renderers.probing.turn_format import TurnFormat
from tests.support.conversations import CONVERSATIONS, TOOLS
from tests.support.models import one_model_per_template
from tests.tokenizer.encoding.test_encode import Letters

HI = [{"role": "user", "content": "Hi"}]
DATED = "{{ strftime_now('%d %b %Y') }} {{ messages[0].content }}"


@pytest.fixture
def renderer() -> ChatRenderer:
    return create_renderer(load_tokenizer(EMBEDDED))


def text(renderer: ChatRenderer, messages: Any = HI, **arguments: Any) -> str:
    return str(renderer.tokenizer.decode(renderer.render_ids(messages, **arguments)))


def test_ids_are_those_of_the_text(renderer: ChatRenderer) -> None:
    rendered = 0
    for messages, tools in itertools.product(CONVERSATIONS.values(), (None, TOOLS)):
        try:
            trace = renderer.trace(messages, tools=tools)
        except (MessageError, TemplateRefusalError):
            continue
        ids = renderer.tokenizer.encode(trace.text, add_special_tokens=False)
        assert renderer.render_ids(messages, tools=tools) == ids
        rendered += 1
    assert rendered > len(CONVERSATIONS)


def test_the_date_is_fixed_and_visible() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    renderer = create_renderer(tokenizer, chat_template=DATED, date=datetime.date(2024, 7, 26))
    assert renderer.date == datetime.datetime(2024, 7, 26)
    assert text(renderer) == "26 Jul 2024 Hi"
    moment = datetime.datetime(2025, 1, 2, 3, 4)
    assert create_renderer(tokenizer, chat_template=DATED, date=moment).date == moment


def test_the_default_date_is_constant_and_visible() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=DATED)
    assert renderer.date == DEFAULT_DATE
    assert "the template writes the date, which is 2024-07-26 by default. Pass date=." in renderer.resolution.conflicts
    assert not any("date" in conflict for conflict in create_renderer(load_tokenizer(EMBEDDED)).resolution.conflicts)
    again = pickle.loads(pickle.dumps(renderer))
    assert again.date == renderer.date
    assert again.render_ids(HI) == renderer.render_ids(HI)


def test_a_copy_is_equal_to_the_renderer(renderer: ChatRenderer) -> None:
    renderer = create_renderer(
        renderer.tokenizer, chat_template_kwargs={"enable_thinking": [1]}, limits=Limits(steps=10**6)
    )
    for again in (pickle.loads(pickle.dumps(renderer)), copy.deepcopy(renderer), copy.copy(renderer)):
        assert again == renderer
        assert hash(again) == hash(renderer)
        assert again.render_ids(HI) == renderer.render_ids(HI)


def test_a_worker_process_gives_the_same_ids(renderer: ChatRenderer) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as worker:
        assert worker.submit(renderer.render_ids, HI, add_generation_prompt=True).result() == renderer.render_ids(
            HI, add_generation_prompt=True
        )


def test_a_renderer_is_immutable(renderer: ChatRenderer) -> None:
    with pytest.raises(AttributeError):
        renderer.date = datetime.datetime.now()
    with pytest.raises(TypeError):
        renderer.chat_template_kwargs["x"] = 1  # type: ignore[index]
    switches = {"l": [1, {"a": 2}]}
    source = "{{ l }}{{ messages[0].content }}"
    changed = create_renderer(renderer.tokenizer, chat_template=source, chat_template_kwargs=switches)
    with pytest.raises(AttributeError):
        changed.chat_template_kwargs["l"].append(2)
    with pytest.raises(TypeError):
        changed.chat_template_kwargs["l"][1]["a"] = 3
    assert changed.trace(HI).text == "[1, {'a': 2}]Hi"


def test_arguments_of_a_render_take_precedence_over_those_of_the_renderer() -> None:
    source = "{{ style | default('-') }} {{ bos_token | default('-') }} {{ documents[0].text if documents else '-' }}"
    source += "{{ messages[0].content }}"
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=source, chat_template_kwargs={"style": "a"})
    assert text(renderer).split()[0] == "a"
    assert text(renderer, style="b").split()[0] == "b"
    assert text(renderer, documents=[{"text": "D"}]).split()[-1] == "DHi"


def test_the_text_is_that_of_the_ids(renderer: ChatRenderer) -> None:
    messages = [*HI, {"role": "assistant", "content": "Yes"}]
    options: list[dict[str, Any]] = [{"add_generation_prompt": True}, {"tools": TOOLS}]
    options += [{"continue_final_message": True}, {"continue_final_message": []}]
    for arguments in options:
        assert renderer.render_text(messages, **arguments) == text(renderer, messages, **arguments)
    images = create_renderer(EMBEDDED, chat_template="{% for p in messages[0].content %}[{{ p.type }}]{% endfor %}")
    image = [{"role": "user", "content": [{"type": "image", "image": "x"}]}]
    with pytest.raises(MediaError):
        images.render_text(image)
    assert images.render_text(image, process_multimodal=False) == "[image]"


def test_the_text_of_a_renderer_that_refuses_control_text_has_none() -> None:
    messages = [{"role": "user", "content": "Hi<|end|>"}]
    for mode in ("template", "text"):
        renderer = create_renderer(EMBEDDED, content_tokens=mode)
        assert renderer.render_text(messages) == "<|turn|>user\nHi<|end|><|end|>\n"
    with pytest.raises(ControlTextError):
        create_renderer(EMBEDDED, content_tokens="refuse").render_text(messages)


@pytest.mark.filterwarnings("ignore::renderers.errors.UnreadSwitchWarning")
@pytest.mark.parametrize("name", [str(EMBEDDED), *one_model_per_template()])
def test_a_completion_is_parsed_with_the_arguments_of_its_prompt(name: str) -> None:
    renderer = create_renderer(name)
    texts = "Sure.", "Hm.</think>\n\nSure.", "<think>\nHm.\n</think>\n\nSure."
    completions = [renderer.tokenizer.encode(text, add_special_tokens=False) for text in texts]
    for value, tools in itertools.product((True, False), (None, [TOOL])):
        arguments: Any = {"enable_thinking": value, "thinking": value}
        prompt = renderer.render_ids(HI, tools=tools, add_generation_prompt=True, **arguments)
        expected = [renderer.parse_response(ids, tools=tools, prompt_ids=prompt) for ids in completions]
        assert renderer.parse_batch(completions, tools=tools, **arguments) == expected
        assert renderer.parser(tools=tools, **arguments).close(completions[1]) == expected[1]
        others: Any = dict.fromkeys(arguments, not value)
        assert renderer.parse_response(completions[1], tools=tools, prompt_ids=prompt, **others) == expected[1]


@pytest.mark.parametrize("verb", ["render", "render_ids", "render_text", "trace", "parse_response"])
def test_an_argument_that_the_template_does_not_read_is_an_error(verb: str) -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED))
    given: Any = [1] if verb == "parse_response" else [{"role": "user", "content": "Hi"}]
    with pytest.raises(TypeError, match="'add_generation_promt' is neither an option nor a variable that"):
        getattr(renderer, verb)(given, add_generation_promt=True)
    assert getattr(renderer, verb)(given, enable_thinking=True)


def test_later_changes_of_the_callers_arguments_have_no_effect() -> None:
    kwargs = {"list": ["a"]}
    source = "{{ list | join('') }}{{ messages[0].content }}"
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=source, chat_template_kwargs=kwargs)
    kwargs["list"].append("b")
    assert text(renderer) == "aHi"


def test_the_callers_template_takes_precedence_over_the_tokenizers(tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_text("file: {{ messages[0].content }}")
    tokenizer = load_tokenizer(EMBEDDED)
    assert text(create_renderer(tokenizer, chat_template="text: {{ messages[0].content }}")) == "text: Hi"
    assert text(create_renderer(tokenizer, chat_template=path)) == "file: Hi"


def test_the_tool_use_template_is_used_with_tools(tmp_path: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((EMBEDDED / name).read_bytes())
    (tmp_path / "chat_template.jinja").write_text("default {{ messages[0].content }}")
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "tool_use.jinja").write_text(
        "{{ tools[0].function.name }} {{ messages[0].content }}"
    )
    tokenizer = load_tokenizer(tmp_path)
    renderer = create_renderer(tokenizer)
    assert text(renderer) == "default Hi"
    assert text(renderer, tools=TOOLS) == "get_weather Hi"
    assert text(create_renderer(tokenizer, chat_template="tool_use"), tools=TOOLS[1:]) == "search Hi"


def test_a_tokenizer_without_a_template_is_rejected_at_creation() -> None:
    bare = RustTokenizer.from_file(str(EMBEDDED / "tokenizer.json"))
    with pytest.raises(TemplateMissingError, match="has no chat template: pass chat_template="):
        create_renderer(bare)
    assert create_renderer(bare, chat_template="{{ messages[0].content }}").render_ids(HI)


def test_a_broken_template_is_rejected_at_creation() -> None:
    with pytest.raises(TemplateSourceError, match="at line 2: "):
        create_renderer(load_tokenizer(EMBEDDED), chat_template="a\n{% for %}")


def test_a_custom_tokenizer_can_be_used() -> None:
    renderer = create_renderer(Letters(), chat_template="<{{ messages[0].content }}>")
    assert renderer.render_ids(HI) == list(map(ord, "<Hi>"))
    rendered = renderer.render(HI)
    assert (rendered.token_ids, rendered.message_indices) == (list(map(ord, "<Hi>")), [-1, 0, 0, 0])
    assert rendered.message_roles == ["user"]


class Labelled(FamilyRenderer):
    """A caller's subclass with an attribute of its own."""


def test_a_pickle_of_a_subclass_keeps_its_attributes_whatever_else_is_in_the_process() -> None:
    renderer = Labelled._from_settings(create_renderer(load_tokenizer(EMBEDDED)).settings)
    vars(renderer)["label"] = "mine"
    renderer.render(HI)
    pickled = pickle.dumps(renderer)
    first = pickle.loads(pickled)
    assert first is not renderer
    del renderer
    gc.collect()
    assert vars(first)["label"] == vars(pickle.loads(pickled))["label"] == "mine"


def test_a_config_that_is_a_dict_is_rejected() -> None:
    config: Any = {"name": "qwen3"}
    with pytest.raises(TypeError, match=r"config must be a renderer config, .*, not the class Qwen3RendererConfig"):
        create_renderer(load_tokenizer(EMBEDDED), Qwen3RendererConfig)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="chat_template_kwargs must be a dict, not a str"):
        create_renderer(load_tokenizer(EMBEDDED), chat_template_kwargs="x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="verify must be True, False or None, not a str"):
        create_renderer(load_tokenizer(EMBEDDED), verify="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"config must be a renderer config, .*, not a dict"):
        create_renderer(load_tokenizer(EMBEDDED), config)


def test_a_final_message_can_be_continued(renderer: ChatRenderer) -> None:
    messages = [*HI, {"role": "assistant", "content": "Well, "}]
    full = text(renderer, messages)
    assert full.startswith(text(renderer, messages, continue_final_message=True))
    assert text(renderer, messages, continue_final_message=True).endswith("Well, ")


@pytest.mark.parametrize(
    ("source", "messages", "error", "words"),
    [
        ("{{ messages }}", [], MessageError, "there are no messages"),
        ("{{ messages }}", [{"role": "user", "content": {1, 2}}], MessageError, "message 0: content is a set"),
        (
            "{% for m in messages if m.role == 'critic' %}{{ raise_exception('Unknown role ' + m.role) }}{% endfor %}",
            [*HI, {"role": "critic", "content": "Bad."}],
            TemplateRefusalError,
            "the chat template refuses message 1: Unknown role critic",
        ),
        (
            "{% for m in messages %}{{ m.content.nothing.more }}{% endfor %}",
            HI,
            TemplateRunError,
            "the chat template fails at message 0: UndefinedError: ",
        ),
        (
            "{% for m in messages %}{{ m.content.__class__.x }}{% endfor %}",
            HI,
            TemplateRunError,
            "the chat template fails at message 0: SecurityError: access to attribute '__class__'",
        ),
        ("{{ 'a' * 10 ** 12 }}", HI, TemplateLimitError, "processes more than 268,435,456 characters"),
    ],
)
def test_every_error_names_the_problem_and_its_place(source: str, messages: Any, error: type, words: str) -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=source)
    with pytest.raises(error) as caught:
        renderer.render_ids(messages)
    assert words in str(caught.value)
    assert isinstance(caught.value, ValueError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (error, str(caught.value))


def test_a_lone_surrogate_is_rejected_with_its_message(renderer: ChatRenderer) -> None:
    with pytest.raises(UnencodableTextError, match=r"^message 1: content: a character is the lone surrogate U\+DC00"):
        renderer.render_ids([*HI, {"role": "assistant", "content": "a\udc00"}])


def test_a_lone_surrogate_elsewhere_is_rejected_with_its_field() -> None:
    source = "{{ tools[0].function.name if tools }}{{ x }}"
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=source, on_loss="ignore")
    with pytest.raises(UnencodableTextError, match=r"^tools\.0\.function\.name: a character is"):
        renderer.render_ids(HI, tools=[{"type": "function", "function": {"name": "\ud800"}}])
    with pytest.raises(UnencodableTextError, match=r"^x: a character is"):
        renderer.render_ids(HI, x="\ud800")
    broken = create_renderer(load_tokenizer(EMBEDDED), chat_template="{{ '\ud800' }}", on_loss="ignore")
    with pytest.raises(UnencodableTextError, match=r"^the chat template: a character is"):
        broken.render_ids(HI)


def test_arguments_of_render_are_rejected_as_template_arguments() -> None:
    with pytest.raises(MessageError, match="add_generation_prompt is not a template argument"):
        create_renderer(load_tokenizer(EMBEDDED), chat_template_kwargs={"add_generation_prompt": True})


def test_a_date_can_be_a_string() -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    assert create_renderer(tokenizer, date="2026-01-31").date == datetime.datetime(2026, 1, 31)
    with pytest.raises(ValueError, match="31 Jan"):
        create_renderer(tokenizer, date="31 Jan 2026")
    number: Any = 5
    with pytest.raises(TypeError, match="date must be a date, a datetime or ISO text, not an int"):
        create_renderer(tokenizer, date=number)


def test_a_string_argument_does_not_cause_another_probe_of_the_turn_format(monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "{{ note }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{{ '<think>' if think }}{% endif %}"
    )
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=source)
    messages = [*HI, {"role": "assistant", "content": "<think>Yes"}]
    probe, probed = TurnFormat._probe_headers, []

    def counted(turns: TurnFormat, role: str) -> Any:
        probed.append(role)
        return probe(turns, role)

    monkeypatch.setattr(TurnFormat, "_probe_headers", counted)
    for number in range(5):
        assert renderer.render(messages, note=f"{number}" * 50).sampled_mask
    assert probed == ["user"]
    sampled = [
        renderer.tokenizer.decode(
            [token for token, is_sampled in zip(rendered.token_ids, rendered.sampled_mask, strict=True) if is_sampled]
        )
        for rendered in (renderer.render(messages, think=think) for think in (False, True))
    ]
    assert sampled == ["<think>Yes", "Yes"]


def test_an_error_has_its_cause() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template="{{ 1 + 'a' }}")
    with pytest.raises(TemplateRunError) as caught:
        renderer.render_ids(HI)
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_renderer_does_not_follow_later_changes_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = load_tokenizer(EMBEDDED)
    for value, expected in (("1", True), ("0", False)):
        monkeypatch.setenv("RENDERERS_VERIFY", value)
        renderer = create_renderer(tokenizer)
        monkeypatch.setenv("RENDERERS_VERIFY", "0" if expected else "1")
        assert renderer.verify is expected
        assert renderer.template().verify is expected
        assert pickle.loads(pickle.dumps(renderer)).template().verify is expected
        assert create_renderer(tokenizer, verify=expected).template().verify is expected


def test_an_unpickled_renderer_is_the_equal_one_of_the_process() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template_kwargs={"enable_thinking": False})
    other = create_renderer(load_tokenizer(EMBEDDED), chat_template_kwargs={"enable_thinking": True})
    assert pickle.loads(pickle.dumps(renderer)) is renderer
    assert pickle.loads(pickle.dumps(other)) is other
    # Equal settings may still differ: 1 == True, and a template writes them differently.
    numbers = [
        create_renderer(
            load_tokenizer(EMBEDDED), chat_template="{{ x }}{{ messages[0].content }}", chat_template_kwargs=x
        )
        for x in ({"x": 1}, {"x": True})
    ]
    texts = [pickle.loads(pickle.dumps(number)).trace(HI).text for number in numbers]
    assert texts == [number.trace(HI).text for number in numbers]
    content = pickle.dumps(renderer)
    del renderer
    gc.collect()
    assert pickle.loads(content).chat_template_kwargs == {"enable_thinking": False}


def test_renderers_with_equal_arguments_of_other_types_differ() -> None:
    one, other, third = (
        create_renderer(load_tokenizer(EMBEDDED), chat_template_kwargs={"enable_thinking": value})
        for value in (1, True, True)
    )
    assert one != other
    assert other == third
    assert len({one, other, third}) == 2
