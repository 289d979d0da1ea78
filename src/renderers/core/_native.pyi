from array import array

VERSION: int

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
