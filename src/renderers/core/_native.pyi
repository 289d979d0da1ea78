from array import array
from typing import Any, TypeVar

Match = TypeVar("Match", bound=tuple[int, int, str])

Run = TypeVar("Run", bound=tuple[object, ...])

VERSION: int

def attribute(
    text: str,
    ids: array[int],
    sizes: array[int],
    borders: list[int],
    ends: list[int],
    labels: tuple[tuple[object, ...], ...],
    run: type[Run],
    /,
) -> tuple[tuple[Run, ...], tuple[int, ...]] | list[int] | int: ...
def expand(runs: tuple[tuple[Any, ...], ...], column: int, /) -> list[Any]: ...
def find(text: str, trie: array[int], tokens: tuple[str, ...], match: type[Match], /) -> list[Match]: ...
def join(ids: list[object], texts: bytes, spans: array[int], /) -> tuple[str, bytes] | None: ...
def locate(
    text: str,
    ids: array[int],
    sizes: array[int],
    borders: list[int],
    ends: list[int],
    places: list[int],
    /,
) -> tuple[list[int], list[int]] | list[int] | int: ...
def copy_json(value: Any, depth: int, /) -> Any: ...
def same_json(value: Any, plain: Any, /) -> bool: ...
