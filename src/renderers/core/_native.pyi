from array import array

VERSION: int

def fill(entries: bytearray, texts: bytes, ends: array[int], markers: bytes, /) -> None: ...
def join(
    ids: list[object], entries: bytes | bytearray, texts: bytes | bytearray, first: int, /
) -> tuple[str, bytes, list[int]] | list[object]: ...
