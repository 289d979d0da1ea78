from array import array

VERSION: int

def join(ids: list[object], texts: bytes, spans: array[int], /) -> tuple[str, bytes] | None: ...
