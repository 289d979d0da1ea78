"""Messages become plain JSON data, or an error that names the message."""

from __future__ import annotations

import copy
import dataclasses
import enum
import json
import pickle
from collections import OrderedDict, UserDict
from types import MappingProxyType
from typing import Any
from unittest import mock

import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.core.message_types import ImagePart, Message, ToolCall, ToolSpec, VideoPart
from renderers.core.messages import (
    _KEYS,
    finish_usual_in_python,
    normalise_data,
    normalise_messages,
    normalise_tools,
    readable_tools,
)
from renderers.core.native import COMPILED, native
from renderers.errors import MessageError

needs_c = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")


class Role(str, enum.Enum):  # noqa: UP042
    USER = "user"


class Loud(str):
    def __str__(self) -> str:
        return "LOUD"

    def upper(self) -> str:
        return "other"


class Count(int):
    def __str__(self) -> str:
        return "many"


class Function(pydantic.BaseModel):
    name: str
    arguments: str


class Call(pydantic.BaseModel):
    id: str
    function: Function
    type: str = "function"
    index: int | None = None


class SdkMessage(pydantic.BaseModel):
    """A message as in the OpenAI SDK, with None for all optional fields."""

    role: str
    content: str | None = None
    refusal: str | None = None
    audio: Any = None
    function_call: Any = None
    tool_calls: list[Call] | None = None


@dataclasses.dataclass
class Plain:
    role: str
    content: str | None
    tool_calls: list[Any] | None = None


def exact(value: Any) -> bool:
    """Return True if a value consists of exact JSON types only."""
    if type(value) is dict:
        return all(type(key) is str and exact(item) for key, item in value.items())
    return all(map(exact, value)) if type(value) is list else type(value) in (str, int, float, bool, type(None))


def test_subclasses_become_exact_types_without_calls_of_their_methods() -> None:
    message = UserDict(role=Role.USER, content=Loud("hi"), n=Count(3), x=np.float64(0.5), t=(Loud("a"), True))
    (plain,) = normalise_messages([message])
    assert plain == {"role": "user", "content": "hi", "n": 3, "x": 0.5, "t": ["a", True]}
    assert exact(plain)


@pytest.mark.parametrize("kind", [dict, OrderedDict, MappingProxyType, UserDict])
def test_any_mapping_is_a_message(kind: Any) -> None:
    assert normalise_messages([kind({"role": "user", "content": "hi"})]) == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize("scalar", [np.int64(3), np.float32(0.5), np.bool_(False), np.str_("s")])
def test_numpy_scalars_become_python_scalars(scalar: Any) -> None:
    (plain,) = normalise_messages([{"role": "user", "x": scalar}])
    assert plain["x"] == scalar.item()
    assert exact(plain)


def test_sdk_objects_lose_keys_with_none_except_content() -> None:
    call = Call(id="1", function=Function(name="f", arguments="{}"))
    message = SdkMessage(role="assistant", tool_calls=[call])
    assert normalise_messages([message]) == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}, "type": "function"}],
        }
    ]
    assert normalise_messages([{"role": "assistant", "content": None, "tool_calls": [call]}]) == normalise_messages(
        [message]
    )


def test_none_inside_the_data_of_an_sdk_object_is_kept() -> None:
    class Spec(pydantic.BaseModel):
        name: str
        strict: bool | None = None
        parameters: dict[str, Any]

    spec = Spec(name="f", parameters={"default": None, "enum": [None]})
    assert normalise_tools([spec]) == [{"name": "f", "parameters": {"default": None, "enum": [None]}}]


def test_dataclasses_are_messages_too() -> None:
    assert normalise_messages([Plain("user", "hi")]) == [{"role": "user", "content": "hi"}]


def test_none_in_a_dict_of_the_caller_is_kept() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": None}
    assert normalise_messages([message]) == [message]


@pytest.mark.parametrize("key", ["reasoning_content", "thinking", "reasoning"])
def test_reasoning_is_passed_under_the_names_that_templates_read(key: str) -> None:
    (plain,) = normalise_messages([{"role": "assistant", "content": "x", key: "Hm."}])
    assert plain["reasoning_content"] == plain["thinking"] == "Hm."
    assert plain[key] == "Hm."


def test_the_standard_name_for_reasoning_takes_precedence() -> None:
    (plain,) = normalise_messages([{"role": "assistant", "reasoning": "b", "thinking": None, "reasoning_content": "a"}])
    assert plain["reasoning_content"] == "a"
    assert plain["reasoning"] == "b"


def test_reasoning_aliases_equal_those_of_transformers() -> None:
    from transformers.utils.chat_template_utils import _alias_reasoning_fields

    for keys in (["reasoning"], ["thinking"], ["reasoning_content", "thinking"], ["thinking", "reasoning"], []):
        message = {"role": "assistant", "content": "x", **{key: f"by {key}" for key in keys}}
        assert normalise_messages([message]) == _alias_reasoning_fields([message])


def test_the_callers_objects_are_never_changed() -> None:
    messages = [{"role": "assistant", "reasoning": "Hm.", "content": [{"type": "text", "text": "x"}]}]
    before = copy.deepcopy(messages)
    plain = normalise_messages(messages)
    plain[0]["content"][0]["text"] = "y"
    plain[0]["new"] = 1
    assert messages == before


def test_an_image_object_in_a_part_becomes_its_class_name() -> None:
    part = {"type": "image", "image": object(), "detail": {"n": 1}}
    (plain,) = normalise_messages([{"role": "user", "content": [part]}])
    assert plain["content"] == [{"type": "image", "image": "<object>", "detail": {"n": 1}}]


class Link(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)

    url: Any
    detail: str | None = None


class Part(pydantic.BaseModel):
    type: str
    text: Any = None
    image_url: Link | None = None


@dataclasses.dataclass
class Frames:
    type: str
    video: list[Any]


class Image:
    """An image as in PIL: neither JSON data nor an object with fields."""


PICTURE = Image()


@pytest.mark.parametrize(
    ("part", "plain"),
    [
        ({"type": "image_url", "image_url": {"url": PICTURE}}, {"type": "image_url", "image_url": {"url": "<Image>"}}),
        ({"type": "image", "image": {"data": b"x"}}, {"type": "image", "image": {"data": "<bytes>"}}),
        ({"type": "image", "image": np.zeros((2, 2))}, {"type": "image", "image": "<ndarray>"}),
        ({"type": "audio", "audio": {"a": ({"b": object()},)}}, {"type": "audio", "audio": {"a": [{"b": "<object>"}]}}),
        ({"image": PICTURE}, {"image": "<Image>"}),
        ({"image_url": {"url": PICTURE}}, {"image_url": {"url": "<Image>"}}),
        (Part(type="image_url", image_url=Link(url=PICTURE)), {"type": "image_url", "image_url": {"url": "<Image>"}}),
        ({"type": "image_url", "image_url": Link(url="x")}, {"type": "image_url", "image_url": {"url": "x"}}),
        (Frames("video", [PICTURE, PICTURE]), {"type": "video", "video": ["<Image>", "<Image>"]}),
        (Part(type="text", text="Hi"), {"type": "text", "text": "Hi"}),
    ],
)
def test_media_can_be_at_any_depth_of_a_part_and_a_part_can_be_an_object(part: Any, plain: Any) -> None:
    assert normalise_messages([{"role": "user", "content": [part]}])[0]["content"] == [plain]


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"type": "text", "text": PICTURE}, ("text",)),
        ({"type": "text", "text": "Hi", "image": PICTURE}, ("image",)),
        ({"type": "text", "text": {"value": PICTURE}}, ("text", "value")),
        (Part(type="text", text=PICTURE), ("text",)),
        ({"text": PICTURE, "image": PICTURE}, ("text",)),
        ({"type": "image", "text": PICTURE}, ("text",)),
        ({"type": "thinking", "thinking": PICTURE}, ("thinking",)),
        ({"note": PICTURE}, ("note",)),
    ],
)
def test_an_object_in_place_of_text_is_rejected_with_its_path(part: Any, path: tuple[str, ...]) -> None:
    with pytest.raises(MessageError, match="is an Image, which is not JSON data") as caught:
        normalise_messages([{"role": "user"}, {"role": "user", "content": ["Hi", part]}])
    assert (caught.value.message, caught.value.path) == (1, ("content", 1, *path))


CYCLE: dict[str, Any] = {"role": "user", "content": "x"}
CYCLE["self"] = [CYCLE]
DEEP: Any = "x"
for _ in range(200):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([], "there are no messages: a conversation needs at least one"),
        ((), "there are no messages"),
        ("hello", "messages must be a list of messages, not a str"),
        ({"role": "user"}, "messages must be a list of messages, not a dict"),
        (None, "messages must be a list of messages, not None"),
        (["hi"], "message 0: must be a dict with a role and a content, not a str"),
        ([[{"role": "user"}]], "message 0: must be a dict with a role and a content, not a list"),
        ([{"role": "user"}, {"content": "x"}], "message 1: role must be a string such as 'user', and is missing"),
        ([{"role": None}], "message 0: role must be a string such as 'user', not None"),
        ([{"role": "user"}, {"role": "user", "content": {1}}], "message 1: content is a set, which is not JSON data"),
        ([{"role": "user", "content": b"x"}], "message 0: content is a bytes, which is not JSON data"),
        ([{"role": "user", "content": object()}], "message 0: content is an object, which is not JSON data"),
        ([{"role": "user", "x": {1: "y"}}], "message 0: x has the key 1, and keys of JSON data are strings"),
        ([{"role": "user", "x": [{None: 1}]}], "message 0: x.0 has the key None"),
        ([{"role": "user"}, CYCLE], "message 1: self.0 contains itself, so it is not JSON data"),
        ([{"role": "user", "content": DEEP}], "is nested more than 100 levels deep"),
        (
            [{"role": "user", "content": [{"type": "text", "text": object()}]}],
            "message 0: content.0.text is an object",
        ),
    ],
)
def test_a_value_that_cannot_be_rendered_is_rejected_with_its_path(messages: Any, error: str) -> None:
    with pytest.raises(MessageError) as caught:
        normalise_messages(messages)
    assert error in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.message, again.path) == (str(caught.value), caught.value.message, caught.value.path)


def test_an_object_that_occurs_twice_is_not_a_circular_reference() -> None:
    part = {"type": "text", "text": "x"}
    assert normalise_messages([{"role": "user", "content": [part, part]}])[0]["content"] == [part, part]


def test_tools_to_read_at_once_are_checked_in_all_depths() -> None:
    tool: Any = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"x": {"type": "string"}}}}}
    tools = [tool]
    assert readable_tools(tools) is tools
    tool["function"]["parameters"]["properties"]["x"] = object()
    with pytest.raises(
        MessageError, match=r"^tools\.0\.function\.parameters\.properties\.x is an object, which is not"
    ):
        readable_tools(tools)


def test_tools_are_converted_to_plain_data_and_checked() -> None:
    assert normalise_tools(None) is None
    assert normalise_tools([Function(name="f", arguments="{}")]) == [{"name": "f", "arguments": "{}"}]
    with pytest.raises(MessageError, match=r"^tools\.1 must be a dict with the tool's name and schema$"):
        normalise_tools([{"name": "f"}, "g"])
    with pytest.raises(MessageError, match="tools must be a list of tools, not a dict"):
        normalise_tools({"name": "f"})
    with pytest.raises(MessageError, match=r"^tools\.0\.f is a builtin_function_or_method"):
        normalise_tools([{"f": print}])


def test_other_arguments_are_converted_to_plain_data_too() -> None:
    assert normalise_data({"documents": ({"text": Loud("x")},), "flag": np.bool_(True)}) == {
        "documents": [{"text": "x"}],
        "flag": True,
    }
    with pytest.raises(MessageError, match=r"^documents\.0 is an object"):
        normalise_data({"documents": [object()]})


FIELDS = st.sampled_from(["role", "content", "name", "tool_calls", "tool_call_id", "thinking", "reasoning", "extra"])
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}
ODD_CALLS: list[Any] = [
    [{**CALL, "id": []}],
    [{"name": "f"}],
    [{}],
    [{"function": {"name": 1}}],
    [{"function": []}],
    ["x"],
    (CALL,),
    OrderedDict(CALL),
    Call(id="1", function=Function(name="f", arguments="")),
]
SIMPLE: list[Any] = ["user", "assistant", "", None, True, 0, 1.5, [], {}, [CALL], [{"type": "text", "text": ""}]]
VALUES = st.sampled_from([*SIMPLE, *ODD_CALLS, Loud("x"), Count(1), print, {1: 2}, DEEP])
MESSAGES = st.lists(
    st.dictionaries(FIELDS, VALUES).map(lambda fields: {"role": "user", **fields}) | VALUES, min_size=1, max_size=3
)


def outcome(messages: list[Any]) -> Any:
    try:
        return [list(message.items()) for message in normalise_messages(messages)]
    except MessageError as error:
        return str(error), error.message, error.path


@given(messages=MESSAGES)
def test_messages_of_exact_types_are_normalised_like_others(messages: list[Any]) -> None:
    fast = outcome(messages)
    with mock.patch("renderers.core.messages.copy_json", return_value=NotImplemented):
        assert repr(outcome(messages)) == repr(fast)


def test_the_typed_dicts_declare_the_required_keys() -> None:
    required = {kind.__name__: kind.__required_keys__ for kind in (Message, ToolSpec, ToolCall, ImagePart, VideoPart)}
    assert required == {
        "Message": {"role"},
        "ToolSpec": {"name"},
        "ToolCall": frozenset(),
        "ImagePart": frozenset(),
        "VideoPart": frozenset(),
    }
    assert {"reasoning", "reasoning_content", "tool_calls"} <= Message.__optional_keys__


SOME = st.sampled_from(["text", "", None, 1, True, [], [1], {}, {"a": 1}])
CALLS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "id": SOME,
            "function": SOME | st.fixed_dictionaries({}, optional={"name": SOME, "arguments": SOME}),
        },
    )
    | SOME,
    max_size=2,
)
DRAFTS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "other": SOME,
            **dict.fromkeys(("role", "content"), st.just("text") | SOME),
            **dict.fromkeys(("reasoning", "thinking", "reasoning_content", "name", "tool_call_id"), SOME),
            "tool_calls": CALLS | SOME,
        },
    ).flatmap(lambda message: st.permutations(list(message.items())).map(dict))
    | SOME,
    max_size=3,
)


@needs_c
@given(DRAFTS)
def test_usual_messages_are_finished_alike_in_c_and_in_python(drafts: list[Any]) -> None:
    finished = []
    for finish in (native.finish_messages, finish_usual_in_python):
        messages = copy.deepcopy(drafts)
        finished.append((finish(messages, _KEYS), json.dumps(messages)))
    assert finished[0] == finished[1]


@needs_c
@pytest.mark.parametrize("arguments", [((), _KEYS), ([], ()), ([], [*_KEYS]), ([], (*_KEYS[:-1], 1)), ([],)])
def test_arguments_that_do_not_fit_are_refused(arguments: Any) -> None:
    with pytest.raises(TypeError):
        native.finish_messages(*arguments)
