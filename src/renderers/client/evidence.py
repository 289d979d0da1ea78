"""Check the sampled ids and logprobs of a response. A training run on wrong ones fails silently."""

from __future__ import annotations

import base64
import binascii
import math
import sys
from array import array
from collections.abc import Iterable, Mapping
from typing import Any

from renderers.client.completion import WeightVersion
from renderers.core.jsontypes import JsonObject
from renderers.core.text import describe_type
from renderers.core.token_ids import LARGEST_ID, find_invalid_id
from renderers.errors import MalformedGenerateResponseError

MISSING_LOGPROB = -9999.0
"""The number that vLLM writes for a logprob that it does not have, and for minus infinity."""

_TOKEN_PREFIX = "token_id:"
_JSON_TYPES: dict[type, str] = {str: "a string", int: "an int", dict: "an object"}


def read_object(value: Any, *, name: str) -> JsonObject:
    """Return a JSON object.

    Raises:
        MalformedGenerateResponseError: It is another value.
    """
    if not isinstance(value, dict):
        raise MalformedGenerateResponseError(f"{name} must be an object, not {describe_type(value)}")
    return value


def read_list(value: Any, *, name: str) -> list[Any]:
    """Return a JSON array.

    Raises:
        MalformedGenerateResponseError: It is another value.
    """
    if not isinstance(value, list):
        raise MalformedGenerateResponseError(f"{name} must be an array, not {describe_type(value)}")
    return value


def read_ids(value: Any, *, name: str) -> list[int]:
    """Return token ids. An id that the tokenizer lacks is kept, because the model can sample it.

    Raises:
        MalformedGenerateResponseError: It is not an array, or an item is not an int from 0 to `LARGEST_ID`.
    """
    ids = read_list(value, name=name)
    invalid = find_invalid_id(ids)
    if invalid >= 0:
        raise MalformedGenerateResponseError(f"{name}[{invalid}] must be a token id, not {ids[invalid]!r}")
    return ids


def read_logprob(value: Any, *, name: str) -> float:
    """Return the logprob of a sampled token.

    Raises:
        MalformedGenerateResponseError: It is not a number, not finite, positive, or the engine's mark for a missing
            logprob.
    """
    logprob = read_candidate_logprob(value, name=name)
    if logprob <= MISSING_LOGPROB:
        raise MalformedGenerateResponseError(
            f"{name} is {logprob}, which does not contain sampling evidence: engines write it for a missing logprob"
        )
    return logprob


def read_candidate_logprob(value: Any, *, name: str) -> float:
    """Return the logprob of a token that was not necessarily sampled.

    Raises:
        MalformedGenerateResponseError: It is not a number, not finite, or positive beyond rounding.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MalformedGenerateResponseError(f"{name} must be a number, not {describe_type(value)}")
    if not math.isfinite(value):
        raise MalformedGenerateResponseError(f"{name} must be finite, not {value}")
    if value > 1e-4:
        raise MalformedGenerateResponseError(f"{name} must not be positive, but is {value}")
    return float(value)


def check_count(ids: list[int], logprobs: list[Any]) -> None:
    """Check that there is a logprob for each id.

    Raises:
        MalformedGenerateResponseError: There are more or fewer.
    """
    if len(ids) != len(logprobs):
        raise MalformedGenerateResponseError(
            f"completion token count ({len(ids)}) does not match logprob count ({len(logprobs)})"
        )


def check_completion_tokens(usage: Any, ids: list[int]) -> None:
    """Check that all sampled tokens were returned, if the engine counts them.

    Raises:
        MalformedGenerateResponseError: The engine sampled more or fewer tokens.
    """
    count = usage.get("completion_tokens") if isinstance(usage, dict) else None
    if type(count) is int and count != len(ids):
        raise MalformedGenerateResponseError(f"the engine counts {count} completion tokens, and returned {len(ids)}")


def read_entry_id(entry: Mapping[str, Any]) -> int | None:
    """Return the id of a logprob entry: `token_id`, or `token` in the form `token_id:N`. None if there is none.

    >>> read_entry_id({"token": "token_id:7"}), read_entry_id({"token_id": 7}), read_entry_id({"token": " a"})
    (7, 7, None)
    """
    if "token_id" in entry:
        token_id = entry["token_id"]
        return token_id if type(token_id) is int and 0 <= token_id <= LARGEST_ID else None
    return read_marked_id(entry.get("token"))


def read_marked_id(token: Any) -> int | None:
    """Return the id of a text of the form `token_id:N`. None for another value."""
    digits = token.removeprefix(_TOKEN_PREFIX) if isinstance(token, str) and token.startswith(_TOKEN_PREFIX) else ""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 11 else None


def check_entry_id(entry: Mapping[str, Any], token_id: int, *, name: str) -> None:
    """Check that a logprob entry is for the sampled id.

    Raises:
        MalformedGenerateResponseError: It is for another id, or for none.
    """
    if read_entry_id(entry) == token_id:
        return
    if "token_id" in entry:
        raise MalformedGenerateResponseError(f"{name}.token_id must be {token_id}, not {entry['token_id']!r}")
    expected = f"{_TOKEN_PREFIX}{token_id}"
    raise MalformedGenerateResponseError(f"{name}.token must be {expected!r}, not {entry.get('token')!r}")


def read_entries(entries: list[Any], ids: list[int], *, name: str) -> list[float]:
    """Return the logprob of each sampled token from an entry with its id and its logprob.

    Raises:
        MalformedGenerateResponseError: An entry is for another id, or its logprob is not usable.
    """
    logprobs = []
    for index, (token_id, entry) in enumerate(zip(ids, entries, strict=True)):
        logprob = entry.get("logprob") if type(entry) is dict and read_entry_id(entry) == token_id else None
        if type(logprob) is not float or not MISSING_LOGPROB < logprob <= 0:
            # Texts of errors are made only here: most entries are correct, and completions are long.
            place = f"{name}[{index}]"
            check_entry_id(read_object(entry, name=place), token_id, name=place)
            logprob = read_logprob(entry.get("logprob"), name=f"{place}.logprob")
        logprobs.append(logprob)
    return logprobs


def read_optional(value: Any, *kinds: type, name: str) -> Any:
    """Return a value of one of the types, or None if the engine gives none.

    Raises:
        MalformedGenerateResponseError: It has another type.
    """
    if value is None or (isinstance(value, kinds) and not isinstance(value, bool)):
        return value
    expected = " or ".join(_JSON_TYPES[kind] for kind in kinds)
    raise MalformedGenerateResponseError(f"{name} must be {expected}, not {describe_type(value)}")


def read_weight_versions(value: Any, *, name: str, count: int) -> tuple[WeightVersion, ...]:
    """Return the versions of the weights that sampled `count` tokens.

    Raises:
        MalformedGenerateResponseError: A range is outside of the completion, or has no version.
    """
    versions = []
    for index, item in enumerate(read_list(value, name=name) if value is not None else []):
        span = read_object(item, name=f"{name}[{index}]")
        version: Any = span.get("version")
        start: Any = span.get("start")
        end: Any = span.get("end")
        is_range = type(start) is int and type(end) is int and 0 <= start <= end <= count
        if not is_range or not isinstance(version, str | int) or isinstance(version, bool):
            raise MalformedGenerateResponseError(
                f"{name}[{index}] must have a version and a range of the {count} tokens, not {span!r}"
            )
        versions.append(WeightVersion(str(version), start, end))
    return tuple(versions)


def unpack(value: Any, typecode: str, *, name: str) -> array[Any]:
    """Return the numbers of 32 bits, in little-endian order, of a base64 text.

    Raises:
        MalformedGenerateResponseError: The text is not base64, or its length is not that of whole numbers.
    """
    numbers = array(typecode)
    try:
        numbers.frombytes(base64.b64decode(value, validate=True))
    except (TypeError, ValueError, binascii.Error) as error:
        raise MalformedGenerateResponseError(f"{name} must be base64 of whole 32-bit numbers: {error}") from error
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def read_packed_logprobs(packed: Any, ids: list[int], *, name: str) -> list[float]:
    """Return logprobs in the packed form: base64 of one float32 for each token.

    Raises:
        MalformedGenerateResponseError: The form is another one, or a logprob is not usable.
    """
    fields = read_object(packed, name=name)
    if fields.get("dtype", "float32") not in ("float32", "<f4"):
        raise MalformedGenerateResponseError(f"{name}.dtype must be 'float32', not {fields['dtype']!r}")
    values = unpack(fields.get("data"), "f", name=f"{name}.data").tolist()
    check_count(ids, values)
    return [read_logprob(value, name=f"{name}[{index}]") for index, value in enumerate(values)]


def read_sampling_mask(mask: Any, ids: list[int], *, name: str) -> list[list[int]]:
    """Return the tokens that the sampler allowed at each position.

    `mask` is a list of ids for each token, or the packed form: `counts` and `ids`, each base64 of int32.

    Raises:
        MalformedGenerateResponseError: The form is another one, or a sampled token was not allowed.
    """
    rows = _unpack_rows(mask, name=name) if isinstance(mask, dict) else read_list(mask, name=name)
    if len(rows) != len(ids):
        raise MalformedGenerateResponseError(f"{name} has {len(rows)} rows for {len(ids)} tokens")
    for index, (token_id, row) in enumerate(zip(ids, rows, strict=True)):
        if token_id not in read_ids(row, name=f"{name}[{index}]"):
            raise MalformedGenerateResponseError(f"{name}[{index}] must contain the sampled id {token_id}")
    return rows


def _unpack_rows(mask: JsonObject, *, name: str) -> list[Any]:
    packed: dict[str, list[int]] = {}
    for part in ("counts", "ids"):
        fields = read_object(mask.get(part), name=f"{name}.{part}")
        if fields.get("dtype") != "int32":
            raise MalformedGenerateResponseError(f"{name}.{part}.dtype must be 'int32', not {fields.get('dtype')!r}")
        packed[part] = unpack(fields.get("data"), "i", name=f"{name}.{part}.data").tolist()
    counts = packed["counts"]
    if any(count < 0 for count in counts) or sum(counts) != len(packed["ids"]):
        raise MalformedGenerateResponseError(f"{name}.counts must add up to the number of ids")
    return list(_split(packed["ids"], counts))


def _split(values: list[int], counts: list[int]) -> Iterable[list[int]]:
    start = 0
    for count in counts:
        yield values[start : start + count]
        start += count
