"""A batch runs a function over its items, and raises or returns their errors."""

from __future__ import annotations

import pickle
import traceback
from collections import UserList
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from renderers import (
    EMBEDDED,
    ChatRenderer,
    ControlTextError,
    MessageError,
    ParsedResponse,
    RenderedTokens,
    TemplateError,
    UnencodableTextError,
    adopt_tokenizer,
    create_renderer,
    load_tokenizer,
)
from renderers.batching import run_batch, tools_of_items
from renderers.errors import TemplateLimitError, TemplateRefusalError
from renderers.tokenizer.encoding.piece_cache import PackedIds
from renderers.tokenizer.encoding.plain import PlainEncoder
from tests.support.responses import CALL, TOOLS, embedded
from tests.tokenizer.encoding.test_encode import Letters

TEXTS = ["Hi<|end|>", f"<|think|>A<|/think|>{CALL}<|end|>", "", "cut"]


def completions_of(renderer: ChatRenderer) -> list[list[int]]:
    return [renderer.tokenizer.encode(text) for text in TEXTS]


def test_a_batch_is_parsed_as_each_completion_is() -> None:
    renderer = embedded()
    completions = completions_of(renderer)
    prompts = [None, [], renderer.tokenizer.encode("<|turn|>assistant\n<|think|>"), (1, 2)]
    expected = [
        renderer.parse_response(ids, tools=TOOLS, prompt_ids=prompt)
        for ids, prompt in zip(completions, prompts, strict=True)
    ]
    assert renderer.parse_batch(completions, tools=TOOLS, prompt_ids=prompts) == expected
    assert renderer.parse_batch(iter(completions), tools=iter(TOOLS), prompt_ids=iter(prompts)) == expected
    assert renderer.parse_batch(completions, tools=TOOLS, prompt_ids=prompts, errors="return") == expected
    assert renderer.parse_batch(completions) == [renderer.parse_response(ids) for ids in completions]
    assert renderer.parse_batch([]) == []


def test_rows_of_an_array_are_completions() -> None:
    renderer = embedded()
    rows = np.array([renderer.tokenizer.encode("Hi<|end|>")] * 3)
    assert renderer.parse_batch(rows, prompt_ids=rows) == [renderer.parse_response(rows[0], prompt_ids=rows[0])] * 3


def test_tools_are_for_all_items_or_for_each() -> None:
    tool = {"name": "f"}
    assert tools_of_items(None, 2) == [None, None]
    assert tools_of_items([], 2) == [[], []]
    assert tools_of_items((tool,), 2) == [[tool], [tool]]
    assert tools_of_items([(tool,), None], 2) == [(tool,), None]
    assert tools_of_items([[], []], 2) == [[], []]
    named, own = {"search": tool}.values(), UserList([tool])
    assert tools_of_items([named, own], 2) == [named, own]
    lazily = iter([tool])
    assert tools_of_items([None, lazily], 2) == [None, lazily]
    with pytest.raises(ValueError, match="tools has 1 entry for 2 items"):
        tools_of_items([[tool]], 2)


def test_the_prompts_have_an_entry_for_each_completion() -> None:
    with pytest.raises(ValueError, match="prompt_ids has 1 entry for 2 items"):
        embedded().parse_batch([[1], [2]], prompt_ids=[[1]])


def test_errors_stand_in_the_places_of_their_results() -> None:
    renderer = embedded()
    bad_tools: Any = [object()]
    completions: list[Any] = [[1], "text", [1], 5]
    results = renderer.parse_batch(completions, tools=[None, None, bad_tools, None], errors="return")
    assert [type(result) for result in results] == [ParsedResponse, TypeError, MessageError, TypeError]
    assert results[0] == renderer.parse_response([1])
    with pytest.raises(TypeError) as raised:
        renderer.parse_response(completions[1])
    assert str(results[1]) == str(raised.value)


def test_the_first_error_is_raised_and_names_the_index() -> None:
    completions: list[Any] = [[1], "text", 5]
    with pytest.raises(TypeError, match="completion 1: token_ids must be a list, an array or a tensor"):
        embedded().parse_batch(completions)
    bad_tools: Any = [object()]
    with pytest.raises(MessageError, match=r"^completion 2: tools\.0 ") as raised:
        embedded().parse_batch([[1], [1], [1]], tools=[None, None, bad_tools])
    assert raised.value.path == ("tools", 0)


def test_there_are_two_ways_to_treat_errors() -> None:
    odd: Any = "ignore"
    with pytest.raises(ValueError, match="errors must be 'raise' or 'return', not 'ignore'"):
        embedded().parse_batch([], errors=odd)


@pytest.mark.parametrize(
    "error",
    [
        MessageError("is a set", message=1, path=("content",)),
        TemplateError("the template fails", 1),
        TemplateRefusalError("no system message", 1),
        TemplateLimitError("steps", 10),
        KeyError("x"),
        OSError(5, "disk"),
        FileNotFoundError(2, "no such file", "model.json"),
        OSError("disk"),
        Exception(),
    ],
)
def test_an_error_keeps_its_index_in_another_process(error: Exception) -> None:
    def fail(_: int) -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        run_batch(fail, [0], errors="raise", kind="item")
    assert "item 0: " in str(raised.value)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_an_error_with_a_text_of_its_own_has_the_index_in_a_note() -> None:
    error = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    def fail(_: int) -> None:
        raise error

    with pytest.raises(UnicodeDecodeError) as raised:
        run_batch(fail, [0], errors="raise", kind="item")
    assert raised.value.__notes__ == ["item 0"]
    assert raised.value.encoding == "utf-8"
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_an_error_with_several_arguments_keeps_them_and_has_a_note() -> None:
    def fail(_: int) -> None:
        raise ValueError(1, "two")

    with pytest.raises(ValueError, match="two") as raised:
        run_batch(fail, [0], errors="raise", kind="item")
    assert (raised.value.args, raised.value.__notes__) == ((1, "two"), ["item 0"])


class OwnArgumentsError(ValueError):
    """An error that cannot be made from its `args`."""

    def __init__(self, name: str, *, number: int) -> None:
        super().__init__(f"{name} {number}")
        self.number = number


class OwnTextError(ValueError):
    """An error that makes its text from an argument that is no text."""

    def __str__(self) -> str:
        return str(self.args[0]["text"])


class NoCopyError(ValueError):
    """An error that cannot be copied."""

    def __new__(cls, text: str, *, _number: int) -> NoCopyError:
        return super().__new__(cls, text)

    def __init__(self, text: str, *, _number: int) -> None:
        super().__init__(text)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MessageError("is a set", message=1, path=("content",)), "item 1: message 1: content is a set"),
        (FileNotFoundError(2, "no such file", "a"), "[Errno 2] item 1: no such file: 'a'"),
        (KeyError("x"), "\"item 1: 'x'\""),
        (OwnArgumentsError("a", number=5), "item 1: a 5"),
        (OwnTextError({"text": "a text"}), "a text"),
        (ValueError(1, 2), "(1, 2)"),
    ],
)
def test_an_error_that_is_raised_twice_is_not_changed(error: Exception, expected: str) -> None:
    def fail(number: int) -> None:
        if number:
            raise error

    error.add_note("a note")
    before = str(error), error.args, {**vars(error), "__notes__": ["a note"]}
    for _ in range(2):
        with pytest.raises(type(error)) as raised:
            run_batch(fail, [0, 1], errors="raise", kind="item")
        assert type(raised.value) is type(error)
        assert str(raised.value) == expected
        assert raised.value.__notes__ == ["a note", *(["item 1"] if "item 1" not in expected else [])]
        assert {**vars(raised.value), "__notes__": None} == {**vars(error), "__notes__": None}
        assert raised.value.__context__ is None
        assert raised.traceback[-1].name == "fail"
        assert (str(error), error.args, vars(error)) == before


def test_an_error_that_cannot_be_copied_has_a_note() -> None:
    error = NoCopyError("no copy", _number=1)

    def fail(_: int) -> None:
        raise error

    with pytest.raises(NoCopyError, match="no copy") as raised:
        run_batch(fail, [0], errors="raise", kind="item")
    assert raised.value is error
    assert error.__notes__ == ["item 0"]


@dataclass(frozen=True)
class FrozenError(Exception):
    """An error with attributes that cannot be set."""

    number: int


def test_an_error_that_cannot_be_changed_is_raised_as_it_is() -> None:
    error = FrozenError(1)

    def fail(_: int) -> None:
        raise error

    with pytest.raises(FrozenError) as raised:
        run_batch(fail, [0], errors="raise", kind="item")
    assert raised.value is error


def test_an_error_keeps_its_cause_and_is_shown_once() -> None:
    def fail(how: str) -> None:
        try:
            raise KeyError("first")
        except KeyError as error:
            if how == "from":
                raise ValueError("second") from error
            if how == "from None":
                raise ValueError("second") from None
            if how == "in":
                raise ValueError("second")  # noqa: B904
        raise ValueError("second")

    for how, expected in {"from": True, "from None": False, "in": True, "alone": False}.items():
        with pytest.raises(ValueError, match="item 0: second") as raised:
            run_batch(fail, [how], errors="raise", kind="item")
        assert isinstance(raised.value.__cause__, KeyError) is (how == "from")
        shown = "".join(traceback.format_exception(raised.value))
        assert ("KeyError: 'first'" in shown) is expected
        assert shown.count(": second") == 1
        assert "ValueError: item 0: second" in shown


class FailingTokenizer(Letters):
    """A tokenizer that fails like one that reads from a disk."""

    def encode(self, text: str) -> list[int]:
        if "disk" in text:
            raise OSError(5, "no disk")
        return super().encode(text)


def test_an_error_of_a_rendered_batch_has_the_index_and_the_place_in_the_code() -> None:
    renderer = create_renderer(FailingTokenizer(), chat_template="{% for m in messages %}{{ m.content }}{% endfor %}")
    chats: list[Any] = [[{"role": "user", "content": content}] for content in ("a", "disk", "b")]
    with pytest.raises(OSError, match="conversation 1: no disk") as raised:
        renderer.render_batch(chats)
    assert raised.traceback[-1].name == "encode"
    chats[1] = [{"role": "user", "content": object()}]
    with pytest.raises(MessageError, match=r"^conversation 1: ") as invalid:
        renderer.render_batch(chats)
    with pytest.raises(MessageError) as alone:
        renderer.render(chats[1])
    assert invalid.traceback[-1].name == alone.traceback[-1].name
    (error,) = renderer.render_batch(chats[1:2], errors="return")
    assert isinstance(error, MessageError)
    assert error.__traceback__ is None


CHATS = [
    [{"role": "user", "content": "Hi"}],
    [{"role": "user", "content": "Why?<|end|>"}, {"role": "assistant", "content": "é 你好", "reasoning": "So."}],
    [{"role": "user", "content": ""}],
]


@pytest.mark.parametrize("options", [{}, {"content_tokens": "text"}])
def test_a_batch_is_rendered_as_each_conversation_is(options: dict[str, Any]) -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), **options)
    for tools in (None, TOOLS, [TOOLS, None, []]):
        each: Any = tools if tools is not None and isinstance(tools[0], list) else [tools] * 3
        for prompt in (False, True):
            expected = [
                renderer.render(chat, tools=some, add_generation_prompt=prompt)
                for chat, some in zip(CHATS, each, strict=True)
            ]
            assert renderer.render_batch(CHATS, tools=tools, add_generation_prompt=prompt) == expected
    assert renderer.render_batch(iter(map(iter, CHATS))) == [renderer.render(chat) for chat in CHATS]
    assert renderer.render_batch([]) == []


def test_a_batch_with_special_tokens_as_text_is_encoded_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), content_tokens="text")
    chats = [*CHATS, [{"role": "user", "content": "<|end|><|turn|>"}], CHATS[0]]
    expected = [renderer.render(chat) for chat in chats]
    calls = []
    encode = PlainEncoder.encode

    def counted(encoder: PlainEncoder, texts: list[str], *, first: set[int]) -> list[PackedIds]:
        calls.append(texts)
        return encode(encoder, texts, first=first)

    monkeypatch.setattr(PlainEncoder, "encode", counted)
    rendered = renderer.render_batch(chats)
    assert len(calls) == 1
    assert rendered == expected
    assert [tokens.injected for tokens in rendered] == [tokens.injected for tokens in expected]
    assert rendered[3].injected


FAULTY: list[Any] = [
    CHATS[0],
    [{"role": "user", "content": "a\ud800"}],
    [{"role": "user", "content": object()}],
    CHATS[1],
    [{"role": "user", "content": "<|end|>"}],
]


def test_errors_of_a_rendered_batch_are_returned_in_their_places() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), content_tokens="refuse")
    results = renderer.render_batch(FAULTY, errors="return")
    kinds = [RenderedTokens, UnencodableTextError, MessageError, ControlTextError, ControlTextError]
    assert list(map(type, results)) == kinds
    for chat, result in zip(FAULTY, results, strict=True):
        if isinstance(result, Exception):
            with pytest.raises(type(result)) as alone:
                renderer.render(chat)
            assert str(alone.value) == str(result)
        else:
            assert result == renderer.render(chat)


def test_returned_errors_hold_no_frames() -> None:
    def frames(error: BaseException | None) -> bool:
        return error is not None and (
            error.__traceback__ is not None or frames(error.__cause__) or frames(error.__context__)
        )

    def fail(number: int) -> None:
        try:
            raise KeyError(number)
        except KeyError as error:
            raise ValueError(number) from error

    renderer = create_renderer(load_tokenizer(EMBEDDED), content_tokens="refuse")
    rendered = renderer.render_batch([chat for chat in FAULTY if chat not in CHATS], errors="return")
    returned = [*rendered, *run_batch(fail, [1, 2], errors="return", kind="number")]
    errors = [error for error in returned if isinstance(error, Exception)]
    assert len(errors) == len(returned)
    assert any(error.__context__ for error in errors)
    assert not any(map(frames, errors))


@pytest.mark.parametrize(("start", "index"), [(0, 1), (1, 0), (2, 0), (3, 0)])
def test_the_first_error_of_a_rendered_batch_is_raised_with_its_index(start: int, index: int) -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), content_tokens="refuse")
    with pytest.raises(ValueError, match=f"^conversation {index}: message 0: content"):
        renderer.render_batch(FAULTY[start:])


def test_a_policy_or_a_number_of_tools_that_does_not_fit_is_an_error() -> None:
    renderer = embedded()
    with pytest.raises(ValueError, match="errors must be 'raise' or 'return', not 'ignore'"):
        renderer.render_batch(CHATS, errors="ignore")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="tools has 2 entries for 3 items"):
        renderer.render_batch(CHATS, tools=[TOOLS, None])
    with pytest.raises(TypeError, match="'unknown'"):
        renderer.render_batch(CHATS, unknown=1)


@pytest.mark.parametrize("name", ["add_generation_prompt", "continue_final_message", "process_multimodal"])
@pytest.mark.parametrize("value", [[True, False, True], (False,), []])
def test_an_option_is_one_for_all_conversations(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"^{name} is one value for all conversations, not a (list|tuple)"):
        embedded().render_batch(CHATS, **{name: value})


def test_the_tools_of_an_item_can_be_an_iterator() -> None:
    renderer = embedded()
    expected = [renderer.render(chat, tools=tools) for chat, tools in zip(CHATS, [TOOLS, None, []], strict=True)]
    assert renderer.render_batch(CHATS, tools=[iter(TOOLS), None, iter([])]) == expected
    completions = completions_of(renderer)
    parsed = [renderer.parse_response(ids, tools=TOOLS) for ids in completions]
    assert renderer.parse_batch(completions, tools=[iter(TOOLS) for _ in completions]) == parsed


class Fussy(Letters):
    """A tokenizer that cannot encode one text, and remembers all texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def encode(self, text: str) -> list[int]:
        self.texts.append(text)
        if "no" in text:
            raise RuntimeError("no")
        return super().encode(text)


def test_an_error_of_a_custom_tokenizer_is_that_of_its_conversation() -> None:
    tokenizer = Fussy()
    renderer = create_renderer(adopt_tokenizer(tokenizer), chat_template="{{ messages[0].content }}")
    chats = [[{"role": "user", "content": text}] for text in ("yes", "no", "yes")]
    results = renderer.render_batch(chats, errors="return")
    assert [text for text in tokenizer.texts if text in {"yes", "no"}] == ["yes", "no", "yes"]
    assert list(map(type, results)) == [RenderedTokens, RuntimeError, RenderedTokens]
    with pytest.raises(RuntimeError, match=r"^conversation 1: no$"):
        renderer.render_batch(chats)
