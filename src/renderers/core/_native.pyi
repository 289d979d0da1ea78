from array import array
from collections.abc import Callable, Container, Mapping
from mmap import mmap
from typing import Any, Literal, TypeVar

_Match = TypeVar("_Match", bound=tuple[int, int, str])
_Run = TypeVar("_Run", bound=tuple[object, ...])
_Span = TypeVar("_Span")
_Value = TypeVar("_Value")
_Text = TypeVar("_Text", bound=str)
_Owner = tuple[int, tuple[str | int, ...]]

VERSION: int

def attribute(
    text: str,
    ids: array[int],
    sizes: array[int],
    borders: array[int],
    ends: array[int],
    normalized: str,
    moves: array[int],
    labels: tuple[tuple[object, ...], ...],
    run: type[_Run],
    /,
) -> tuple[tuple[_Run, ...], tuple[int, ...]] | list[int] | int: ...
def attribute_spans(
    text: str,
    ids: array[int],
    sizes: array[int],
    borders: array[int],
    ends: array[int],
    normalized: str,
    moves: array[int],
    spans: tuple[Any, ...],
    results: list[bool],
    channel_of: Callable[..., Any],
    channels: tuple[Any, ...],
    role: str,
    headers: list[Any],
    marks: list[Any],
    rules: tuple[frozenset[str], frozenset[str], str | None, tuple[str | None, str | None]],
    run: type[_Run],
    /,
) -> tuple[tuple[_Run, ...], tuple[int, ...]] | list[int] | int | None: ...
def size_entries(ends: memoryview[int] | array[int], /) -> bytes: ...
def expand(runs: tuple[tuple[Any, ...], ...], column: int, /) -> list[Any]: ...
def find(text: str, trie: array[int], tokens: tuple[str, ...], match: type[_Match], /) -> list[_Match]: ...
def finish_messages(messages: list[Any], words: tuple[str, ...], /) -> list[int]: ...
def find_invalid_id(ids: list[Any], /) -> int: ...
def find_layout(wanted: bool, /) -> bool: ...
def find_ids(ids: array[int] | bytes, sequence: array[int] | bytes, start: int, /) -> int: ...
def find_turns(
    text: str,
    spans: tuple[Any, ...],
    places: list[Any],
    headers: list[Any],
    marks: list[Any],
    rules: tuple[frozenset[str], frozenset[str], str | None, tuple[str | None, str | None]],
    types: tuple[type[_Run], type[Any]],
    /,
) -> list[_Run | Literal[False] | None]: ...
def fill(entries: bytearray, texts: bytes, ends: array[int], markers: bytes, /) -> None: ...
def index_spans(
    spans: tuple[Any, ...],
    results: list[bool],
    channel_of: Callable[..., Any],
    channels: tuple[Any, ...],
    role: str,
    kind: type[_Run],
    /,
) -> tuple[list[Any], list[_Run | None]]: ...
def touching_fields(spans: tuple[Any, ...], tokens: list[_Match], /) -> list[_Match]: ...
def label_spans(
    spans: tuple[Any, ...],
    channels: list[Any],
    turns: list[Any],
    media: dict[int, Any],
    kinds: tuple[Any, ...],
    kind: type[_Run],
    otherwise: Callable[..., list[Any]],
    /,
) -> tuple[_Run, ...]: ...
def join(
    ids: list[int], entries: bytes | bytearray, texts: bytes | bytearray, first: int, /
) -> tuple[str, bytes, list[int]] | list[int]: ...
def encode_bpe(
    block: bytes | bytearray | memoryview | mmap, texts: list[str], cache: bytearray | memoryview, normalized: bool, /
) -> list[bytes | None]: ...
def encode_parts(
    block: bytes | bytearray | memoryview | mmap,
    cache: bytearray,
    seen: bytearray,
    texts: tuple[str, ...],
    marks: tuple[list[_Match], ...],
    added: Mapping[str, int],
    young: dict[str, bytes],
    old: dict[str, bytes],
    shortest: int,
    normalize: Callable[[str], str],
    /,
) -> tuple[tuple[tuple[bytes, bytes, bytes] | None, ...], dict[str, bytes]]: ...
def keeps_bpe(block: bytes | bytearray | memoryview | mmap, text: str, /) -> bool: ...
def fill_bpe(block: bytearray, merges: array[int], model: bytes | bytearray, /) -> None: ...
def join_pieces(
    pieces: list[bytes], first: int, borders: bytes, marks: list[_Match], added_tokens: Mapping[str, int], /
) -> tuple[bytes, bytes]: ...
def join_regions(regions: list[_Value], tokens: list[int], first: _Value, kind: type[_Run], /) -> tuple[_Run, ...]: ...
def pack_ids(ids: list[Any], packed: array[int], /) -> int: ...
def unpack_ids(ids: array[int], /) -> list[int]: ...
def locate(
    text: str,
    ids: array[int],
    sizes: array[int],
    borders: array[int],
    ends: array[int],
    normalized: str,
    moves: array[int],
    places: list[int],
    /,
) -> tuple[list[int], list[int]] | list[int] | int: ...
def split_text(text: str, marks: list[_Match], /) -> tuple[bytes, list[str]]: ...
def copy_json(value: Any, depth: int, untracked: bool, /) -> Any: ...
def untrack(value: _Value, /) -> _Value: ...
def same_json(value: Any, plain: Any, /) -> bool: ...
def json_text(value: object, /) -> str | None: ...
def is_plain(value: object, /) -> bool: ...
def find_mark(text: str, marks: list[int], characters: str, start: int, offset: int, /) -> int: ...
def find_start(positions: array[int], position: int, low: int, high: int, /) -> int: ...
def find_starts(positions: array[int], wanted: list[int], /) -> list[int]: ...
def is_simple_json(text: str, brackets: int, /) -> bool: ...
def wrap_contents(
    container: dict[str, object] | list[object],
    message: int,
    path: tuple[str | int, ...],
    types: tuple[type, type, type, type, type],
    /,
) -> None: ...
def wrap_messages(
    messages: list[Any],
    wrapped: list[Any],
    kind: type[dict[str, Any]],
    types: tuple[type, type, type, type, type],
    /,
) -> None: ...
def field_text(kind: type[_Text], attribute: str, text: str, owner: _Owner, /) -> _Text: ...
def enter_message(
    kinds: tuple[type[_Text], str, str, str, str], outer: object, message: object, output: list[str], /
) -> _Text: ...
def settle(
    text: str,
    pieces: list[str],
    root: object,
    roles: list[Any],
    leading: frozenset[str],
    types: tuple[type, type, type, type[_Run]],
    /,
) -> list[_Run]: ...
def written_fields(pieces: list[str], types: tuple[type, type, type], /) -> set[_Owner]: ...
def may_lose(
    pieces: list[str],
    messages: list[dict[str, Any]],
    items: tuple[tuple[str, Any], ...],
    kinds: Container[str],
    types: tuple[type, type, type],
    words: tuple[str, ...],
    /,
) -> bool: ...
