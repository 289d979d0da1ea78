"""Select the most probable tokens of each position, independently of the token that was sampled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from renderers.client.evidence import (
    MISSING_LOGPROB,
    read_candidate_logprob,
    read_entry_id,
    read_list,
    read_object,
)
from renderers.errors import MalformedGenerateResponseError

EXTRA_CANDIDATES = 2
"""How many candidates are requested beyond the wanted ones.

An engine lists the sampled token first, in place of the last candidate. The other one shows a tie at the boundary.
"""


class TopLogprobs(NamedTuple):
    """The ids of the most probable tokens at each position, most probable first, and their logprobs."""

    ids: list[list[int]]
    logprobs: list[list[float]]


def select_top(
    rows: Sequence[Mapping[int, float]], *, wanted: int, masks: Sequence[Sequence[int]] | None, name: str
) -> TopLogprobs:
    """Return the `wanted` most probable candidates of each position. Tokens that tie at the boundary are left out.

    With the tokens that the sampler allowed, `masks`, all of these are returned instead.

    Raises:
        MalformedGenerateResponseError: There are too few candidates, or their probabilities are impossible.
    """
    top = TopLogprobs([], [])
    for index, row in enumerate(rows):
        place = f"{name}[{index}]"
        # An engine lists tokens that the sampler excluded with the mark for a missing logprob.
        possible = ((token_id, logprob) for token_id, logprob in row.items() if logprob > MISSING_LOGPROB)
        ranked = sorted(possible, key=lambda candidate: (-candidate[1], candidate[0]))
        if masks is not None:
            ranked = _within_mask(ranked, masks[index], name=place)
        elif len(row) < wanted + EXTRA_CANDIDATES:
            raise MalformedGenerateResponseError(
                f"{place} has {len(row)} candidates, and {wanted + EXTRA_CANDIDATES} were requested"
            )
        elif len(ranked) > wanted:
            boundary = ranked[wanted][1]
            ranked = [candidate for candidate in ranked[:wanted] if candidate[1] > boundary]
        mass = math.fsum(math.exp(logprob) for _, logprob in ranked)
        if mass > 1.0001:
            raise MalformedGenerateResponseError(f"{place}: the probabilities of the candidates add up to {mass:.4f}")
        top.ids.append([token_id for token_id, _ in ranked])
        top.logprobs.append([logprob for _, logprob in ranked])
    return top


def _within_mask(ranked: list[tuple[int, float]], mask: Sequence[int], *, name: str) -> list[tuple[int, float]]:
    allowed = set(mask)
    kept = [candidate for candidate in ranked if candidate[0] in allowed]
    if len(kept) < len(allowed):
        raise MalformedGenerateResponseError(f"{name} lacks candidates of the sampling mask")
    mass = math.fsum(math.exp(logprob) for _, logprob in kept)
    if not math.isclose(mass, 1, abs_tol=1e-4):
        raise MalformedGenerateResponseError(f"{name}: the probabilities of the sampling mask add up to {mass:.4f}")
    return kept


def read_candidates(entries: Sequence[Any], *, name: str) -> list[dict[int, float]]:
    """Return the candidates of each position from `top_logprobs` of its entry.

    Raises:
        MalformedGenerateResponseError: A candidate has no id or no logprob, is listed twice, or differs from the
            sampled one.
    """
    rows = []
    for index, entry in enumerate(entries):
        place = f"{name}[{index}].top_logprobs"
        row: dict[int, float] = {}
        for number, candidate in enumerate(read_list(entry.get("top_logprobs"), name=place)):
            fields = read_object(candidate, name=f"{place}[{number}]")
            token_id = read_entry_id(fields)
            if token_id is None or token_id in row:
                problem = "must have a token id" if token_id is None else f"repeats the id {token_id}"
                raise MalformedGenerateResponseError(f"{place}[{number}] {problem}")
            row[token_id] = read_candidate_logprob(fields.get("logprob"), name=f"{place}[{number}].logprob")
        rows.append(row)
    return rows


def check_sampled(rows: Sequence[Mapping[int, float]], ids: list[int], logprobs: list[float], *, name: str) -> None:
    """Check that a sampled token has the same logprob among the candidates, if it is one.

    Raises:
        MalformedGenerateResponseError: The two logprobs differ.
    """
    for index, (row, token_id, logprob) in enumerate(zip(rows, ids, logprobs, strict=True)):
        if not math.isclose(row.get(token_id, logprob), logprob, rel_tol=1e-6, abs_tol=1e-5):
            raise MalformedGenerateResponseError(
                f"{name}[{index}]: the sampled id {token_id} has the logprobs {logprob} and {row[token_id]}"
            )
