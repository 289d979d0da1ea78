"""A copy of an exception has its state, and is changed alone."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest

from renderers.core.exceptions import copy_exception
from renderers.errors import LossError, MessageError, RendererPoolError, TemplateLimitError, TokenizerFileError


class OwnError(ValueError):
    """An error that cannot be made from its `args`."""

    def __init__(self, name: str, *, number: int) -> None:
        super().__init__(f"{name} {number}")
        self.number = number


class OwnOSError(OSError):
    """The same with an error number."""

    def __init__(self, name: str) -> None:
        super().__init__(5, f"no {name}", "a file")


class SlotsError(Exception):
    """An error with an attribute that is not in its dict."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class CountedError(Exception):
    """An error that counts the calls of its constructor."""

    calls = 0

    def __init__(self, text: str) -> None:
        super().__init__(f"error {text}")
        type(self).calls += 1


class Settings(pydantic.BaseModel):
    """A class with an error that Python cannot construct."""

    number: int


def invalid() -> pydantic.ValidationError:
    with pytest.raises(pydantic.ValidationError) as raised:
        Settings.model_validate({"number": "x"})
    return raised.value


ERRORS: list[Exception] = [
    MessageError("is a set", message=1, path=("content",)),
    LossError("is not written", path=("tools",), kind="tool"),
    TemplateLimitError("steps", 10),
    TokenizerFileError("is broken", name="org/model", file="config.json"),
    RendererPoolError("failed", 3),
    OwnError("a", number=1),
    OwnOSError("disk"),
    SlotsError(7),
    KeyError("x"),
    ValueError(),
    OSError("disk"),
    FileNotFoundError(2, "no such file", "model.json"),
    BlockingIOError(11, "busy", 5),
    OSError(18, "cross-device", "from", None, "to"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    SyntaxError("invalid", ("f", 1, 2, "a b", 1, 3)),
    AttributeError("no x", name="x", obj=5),
    ImportError("no module", name="a", path="b"),
    StopIteration(3),
    ExceptionGroup("several", [ValueError(1)]),
    invalid(),
]


def state(error: Exception) -> dict[str, Any]:
    """Return the attributes of an exception that are no methods."""
    values = {name: getattr(error, name, "none") for name in dir(error) if not name.startswith("__") and name != "args"}
    return {name: repr(value) for name, value in values.items() if not callable(value)}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_copy_has_the_state_of_the_original(error: Exception) -> None:
    error.add_note("a note")
    copied = copy_exception(error)
    assert type(copied) is type(error)
    assert str(copied) == str(error)
    assert (state(copied), vars(copied)) == (state(error), vars(error))
    assert copied.__notes__ == ["a note"]
    copied.add_note("another")
    assert error.__notes__ == ["a note"]


def test_the_constructor_is_not_called_again() -> None:
    copied = copy_exception(CountedError("a"))
    assert (str(copied), copied.args, CountedError.calls) == ("error a", ("error a",), 1)


def test_an_attribute_in_a_slot_can_be_none() -> None:
    error = SlotsError(1)
    error.number = None  # type: ignore[assignment]
    copied: Any = copy_exception(error)
    assert copied.number is None
