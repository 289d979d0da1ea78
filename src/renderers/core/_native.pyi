from array import array
from typing import TypeVar

Match = TypeVar("Match", bound=tuple[int, int, str])

VERSION: int

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
