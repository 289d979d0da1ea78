VERSION: int

def join(
    ids: list[object], entries: bytes | bytearray, texts: bytes | bytearray, first: int, /
) -> tuple[str, bytes, list[int]] | list[object]: ...
