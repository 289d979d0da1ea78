"""Read the compact form of logprobs, an extension of vLLM servers for training: `format` `u32-f32-le-v1`.

The ids and logprobs of all candidates are two arrays of 32-bit numbers in one base64 text. `offsets` has the first
candidate of each position.
"""

from __future__ import annotations

import itertools
from array import array
from typing import Any

from renderers.client.evidence import read_candidate_logprob, read_list, read_logprob, read_object, unpack
from renderers.errors import MalformedGenerateResponseError

__all__ = ["read_compact_logprobs"]

_FORMAT = "u32-f32-le-v1"


def read_compact_logprobs(packed: Any, ids: list[int], *, name: str) -> tuple[list[float], list[dict[int, float]]]:
    """Return the logprob of each sampled token, and the candidates of each position.

    Raises:
        MalformedGenerateResponseError: The form is another one, or a sampled token has no usable logprob.
    """
    fields = read_object(packed, name=name)
    if fields.get("format") != _FORMAT:
        raise MalformedGenerateResponseError(f"{name}.format must be {_FORMAT!r}, not {fields.get('format')!r}")
    offsets = _read_offsets(fields.get("offsets"), len(ids), name=f"{name}.offsets")
    top_count = fields.get("num_top_logprobs")
    if type(top_count) is not int or top_count < -1:
        raise MalformedGenerateResponseError(f"{name}.num_top_logprobs must be a number of tokens, not {top_count!r}")
    count = offsets[-1]
    numbers = unpack(fields.get("data"), "I", name=f"{name}.data")
    if len(numbers) != 2 * count:
        raise MalformedGenerateResponseError(f"{name}.data has {len(numbers)} numbers for {count} candidates")
    candidate_ids, values = numbers[:count].tolist(), _as_floats(numbers[count:])
    sampled, rows = [], []
    for index, (token_id, (start, end)) in enumerate(zip(ids, itertools.pairwise(offsets), strict=True)):
        place = f"{name}[{index}]"
        row: dict[int, float] = {}
        for candidate, value in zip(candidate_ids[start:end], values[start:end], strict=True):
            logprob = read_candidate_logprob(value, name=place)
            # The sampled token can be listed twice: on its own, and among the most probable ones.
            if row.setdefault(candidate, logprob) != logprob:
                raise MalformedGenerateResponseError(f"{place} has two logprobs for the id {candidate}")
        if token_id not in row:
            raise MalformedGenerateResponseError(f"{place} has no logprob for the sampled id {token_id}")
        sampled.append(read_logprob(row[token_id], name=place))
        rows.append(row if top_count < 0 else dict(itertools.islice(row.items(), max(top_count, 1))))
    return sampled, rows


def _read_offsets(value: Any, count: int, *, name: str) -> list[int]:
    offsets = read_list(value, name=name)
    are_ints = all(type(offset) is int for offset in offsets)
    if len(offsets) != count + 1 or not are_ints or offsets[0] != 0:
        raise MalformedGenerateResponseError(f"{name} must be {count + 1} ints that start at 0")
    if any(end <= start for start, end in itertools.pairwise(offsets)):
        raise MalformedGenerateResponseError(f"{name} must increase: every token has a logprob")
    return offsets


def _as_floats(numbers: array[Any]) -> list[float]:
    floats = array("f")
    floats.frombytes(numbers.tobytes())
    return floats.tolist()
