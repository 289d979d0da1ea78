from array import array
from typing import Any, TypeVar

VERSION: int

_Owner = tuple[int, tuple[str | int, ...]]
_T = TypeVar("_T")

def join(ids: list[object], texts: bytes, spans: array[int], /) -> tuple[str, bytes] | None: ...
def json_text(value: object, /) -> str | None: ...
def is_plain(value: object, /) -> bool: ...
def wrap_contents(
    container: dict[str, object] | list[object],
    message: int,
    path: tuple[str | int, ...],
    types: tuple[type, type, type, type, type],
    /,
) -> None: ...
def output_parts(
    pieces: list[str], root: object, types: tuple[type, type, type], /
) -> tuple[list[int], list[Any], list[int], int]: ...
def merge_parts(ends: list[int], owners: list[_Owner | None], message: int, span_type: type[_T], /) -> list[_T]: ...
