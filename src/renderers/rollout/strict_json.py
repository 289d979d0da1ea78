"""Write and read JSON text with NaN and infinities, which JSON does not have, as objects."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_KEY = "$float"
_MARK = f'{_KEY}"'
"""Every text with such an object contains it."""
_ESCAPED = re.compile(r"\$+float")


def dump_json(value: Any) -> str:
    """Return the text of JSON data in one line, which every JSON parser reads.

    A number that is not finite is written as `{"$float": "nan"}`, `{"$float": "inf"}` or `{"$float": "-inf"}`. An
    object of the caller with this only key gets another `$` before it.

    >>> dump_json([1.5, float("-inf"), {"$float": "nan"}])
    '[1.5,{"$float":"-inf"},{"$$float":"nan"}]'
    """
    try:
        text = _dump(value)
    except ValueError:
        return _dump(_encode(value))
    # Most data has neither such numbers nor such keys.
    return _dump(_encode(value)) if _MARK in text else text


def load_json(text: str) -> Any:
    """Return the data of a text that `dump_json` wrote, or of other JSON.

    Raises:
        ValueError: The text is not JSON.

    >>> load_json('[1.5,{"$float":"-inf"},{"$$float":"nan"}]')
    [1.5, -inf, {'$float': 'nan'}]
    """
    return json.loads(text, object_pairs_hook=_decode if _MARK in text else None)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _encode(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {_KEY: str(value)}
    if isinstance(value, dict):
        if len(value) == 1 and _ESCAPED.fullmatch(next(iter(value))):
            return {f"${key}": _encode(item) for key, item in value.items()}
        return {key: _encode(item) for key, item in value.items()}
    return [*map(_encode, value)] if isinstance(value, list | tuple) else value


def _decode(pairs: list[tuple[str, Any]]) -> Any:
    if len(pairs) == 1 and _ESCAPED.fullmatch(pairs[0][0]):
        ((key, value),) = pairs
        if key != _KEY:
            return {key[1:]: value}
        if value in ("nan", "inf", "-inf"):
            return float(value)
    return dict(pairs)
