"""Functions as tools: the schemas of usual functions equal those of transformers."""

from __future__ import annotations

import enum
import gc
import inspect
import json
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from pydantic import BaseModel, Field
from transformers import AutoTokenizer
from transformers.utils import get_json_schema

from renderers import EMBEDDED, MessageError, create_renderer, load_tokenizer
from renderers.core.function_tools import describe_function, is_function_tool, read_docstring
from renderers.core.messages import normalise_tools


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Mixed(enum.Enum):
    ONE = 1
    TEXT = "text"
    NOTHING = None


def weather(city: str, days: int = 1, ratio: float = 0.5, exact: bool = True) -> str:
    """Get the weather.

    In any city.

    Args:
        city: The city
            of interest.
        days: How many days.
        ratio: A ratio: any.
        exact: Whether it is exact.

    Returns:
        The weather,
        in words.

    Raises:
        ValueError: Never.
    """
    return f"{city} {days} {ratio} {exact}"


def collections_of(
    texts: list[str],
    numbers: dict[str, int],
    rows: list[list[int]],
    any_list: list,  # type: ignore[type-arg]
    any_dict: dict,  # type: ignore[type-arg]
    _schema: int = 1,
) -> list[str]:
    """Collect.

    Args:
        texts: Texts.
        numbers: Numbers.
        rows: Rows.
        any_list: A list.
        any_dict: A dict.
        _schema: A number.
    """
    return texts


def choices(
    unit: Literal["celsius", "fahrenheit"],
    colour: Colour,
    level: Literal[1] = 1,
    anything: Any = None,
    limit: Optional[int] = None,  # noqa: UP045
    key: Union[str, int] = 1,  # noqa: UP007
    name: str | int | None = None,
    many: list[int] | str | None = None,
    drink: str = "tea",
) -> None:
    """Choose.

    Args:
        unit: A unit.
        colour: A colour.
        level: A level.
        anything: Anything.
        limit: A limit.
        key: A key.
        name: A name.
        many: One or many.
        drink: A drink (choices: ["tea", "coffee"])
    """


def nothing():  # type: ignore[no-untyped-def]
    """Do nothing."""


class Station:
    def read(self, sensor: int) -> float:
        """Read a sensor.

        Args:
            sensor: Its number.
        """
        return float(sensor)

    @classmethod
    def count(cls, kind: str) -> int:
        """Count stations.

        Args:
            kind: Their kind.
        """
        return len(kind)


@pytest.mark.parametrize(
    "function", [weather, collections_of, choices, nothing, Station().read, Station.read, Station.count]
)
def test_the_tool_of_a_usual_function_equals_that_of_transformers(function: Callable[..., Any]) -> None:
    # The order of the keys matters: templates write it.
    assert json.dumps(describe_function(function)) == json.dumps(get_json_schema(function))


@pytest.mark.parametrize(
    "hint",
    [
        tuple[int, str],
        tuple[()],
        list[tuple[int, str]] | None,
        tuple[Any, list[int]],
        list[Any],
        list[list[Any]],
        dict[str, Any],
        dict[str, Any] | None,
        dict[Any, Any],
        list[dict[str, Any]],
        list[Any] | dict[str, Any],
        dict[str, Literal[1, "a"]],
        list | tuple,
        Literal[1, "a"],
        Literal["a", None],
        Literal[1.5, 2, True],
        Literal["a", 1] | None,
        Mixed,
        Mixed | int | None,
        list[Colour | None],
        list[int | str | None],
        Any | None,
    ],
)
@pytest.mark.parametrize("default", [inspect.Parameter.empty, None])
def test_the_schema_of_a_type_equals_that_of_transformers(hint: Any, default: Any) -> None:
    def use(x):  # type: ignore[no-untyped-def]
        """Use x.

        Args:
            x: Anything.

        Returns:
            It.
        """

    use.__annotations__ = {"x": hint, "return": hint}
    use.__defaults__ = None if default is inspect.Parameter.empty else (default,)
    assert json.dumps(describe_function(use)) == json.dumps(get_json_schema(use))


@dataclass
class Place:
    """A place on earth."""

    city: str
    country: str = "IT"


class Tree(BaseModel):
    """A tree."""

    label: str
    branches: list[Tree] = []


def travel(to: Place, when: date, note: Annotated[str, Field(description="A note.", max_length=9)]) -> Tree:
    """Travel.

    Args:
        to (Place): The place.
    """
    raise NotImplementedError


def test_types_beyond_those_of_transformers_have_schemas() -> None:
    parameters = describe_function(travel)["function"]["parameters"]
    place = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "country": {"type": "string"}},
        "required": ["city"],
        "description": "The place.",
    }
    assert parameters["properties"] == {
        "to": place,
        "when": {"type": "string", "format": "date"},
        "note": {"type": "string", "maxLength": 9, "description": "A note."},
    }
    assert parameters["required"] == ["to", "when", "note"]


def test_a_recursive_type_is_a_definition() -> None:
    def plant(tree: Tree) -> None:
        """Plant."""

    parameters = describe_function(plant)["function"]["parameters"]
    assert parameters["properties"]["tree"]["properties"]["branches"]["items"] == {"$ref": "#/$defs/Tree"}
    assert parameters["$defs"]["Tree"]["required"] == ["label"]


def test_a_pydantic_class_is_a_tool_and_its_instance_is_data() -> None:
    class Look(BaseModel):
        """Look at the sky."""

        city: str = Field(description="The city.")
        days: int = 1

    parameters = {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "The city."}, "days": {"type": "integer"}},
        "required": ["city"],
    }
    function = {"name": "Look", "description": "Look at the sky.", "parameters": parameters}
    assert normalise_tools([Look]) == [{"type": "function", "function": function}]
    assert not is_function_tool(Look(city="Rome"))


def undocumented(x: int) -> int:
    return x


def untyped(x) -> int:  # type: ignore[no-untyped-def]
    """Do it."""
    return int(x)


def unknown(x: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Do it."""


def opaque(x: weakref.finalize[..., Any]) -> None:
    """Do it."""


def collects(*args: int) -> None:
    """Do it."""


def positional(x: int, /) -> None:
    """Do it."""


def mistaken(x: str) -> None:
    """Do it.

    Args:
        x: One (choices: tea)
    """


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (undocumented, "it has no docstring"),
        (untyped, "the parameter 'x' has no type hint"),
        (unknown, "Nowhere"),
        (opaque, "finalize"),
        (collects, "the parameter 'args' collects positional arguments"),
        (positional, "the parameter 'x' is positional-only"),
        (mistaken, "the choices of 'x' are not a JSON list"),
    ],
)
def test_a_function_that_cannot_be_described_is_an_error(function: Callable[..., Any], fault: str) -> None:
    name = function.__name__
    with pytest.raises(MessageError, match=rf"tools\.1 '{name}' cannot be described as a tool: .*{fault}"):
        normalise_tools([weather, function])


def test_a_function_is_described_once_and_not_kept_alive() -> None:
    def look(city: str) -> None:
        """Look."""

    first, second = describe_function(look), describe_function(look)
    assert first == second
    first["function"]["parameters"]["properties"].clear()
    assert describe_function(look) == second
    reference = weakref.ref(look)
    del look
    gc.collect()
    assert reference() is None


def test_functions_are_tools_of_every_method() -> None:
    renderer = create_renderer(EMBEDDED)
    messages, described = [{"role": "user", "content": "Hi"}], [get_json_schema(weather)]
    prompt = renderer.render_ids(messages, tools=[weather], add_generation_prompt=True)
    assert prompt == renderer.render_ids(messages, tools=described, add_generation_prompt=True)
    assert renderer.render_batch([messages], tools=[[weather]])[0] == renderer.render(messages, tools=described)
    text = '<|call|>{"name": "weather", "arguments": {"city": "Rome"}}<|/call|><|end|>'
    completion = renderer.tokenizer.encode(text, add_special_tokens=False)
    parsed = renderer.parse_response(completion, tools=[weather], prompt_ids=prompt)
    assert parsed == renderer.parse_response(completion, tools=described, prompt_ids=prompt)
    assert parsed == renderer.parser(tools=iter([weather]), prompt_ids=prompt).close(completion)
    new = [{"role": "tool", "name": "weather", "content": "dry"}]
    bridges = [renderer.bridge_to_next_turn(prompt, completion, new, tools=tools) for tools in ([weather], described)]
    assert bridges[0] is not None
    assert bridges[0] == bridges[1]


def test_a_tokenizer_accepts_functions_as_that_of_transformers_does() -> None:
    messages, tools = [{"role": "user", "content": "Hi"}], [weather, choices]
    ours = load_tokenizer(EMBEDDED).apply_chat_template(messages, tools=tools, tokenize=False)
    theirs: Any = AutoTokenizer.from_pretrained(EMBEDDED)
    expected = theirs.apply_chat_template(messages, tools=tools, tokenize=False)
    assert ours == expected


def test_sections_of_a_docstring_end_at_the_next_heading() -> None:
    arguments = "Args:\n        a: A\n          b: still a\n        c (int): C\n    Raises:\n        E: No."
    text = f"\n    Look.\n\n    Closely.\n\n    {arguments}\n"
    docstring = read_docstring(text)
    assert docstring.description == "Look.\n\nClosely."
    assert docstring.arguments == {"a": "A b: still a", "c": "C"}
    assert docstring.returns == ""
