"""A logits processor for vLLM that forces the sampled ids. Runs in the environment of the engine.

A request names the ids as `forced_ids` in `sampling_params.extra_args`, or in `vllm_xargs` of an OpenAI endpoint. After
the last of them, sampling is free. Other requests are not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vllm.v1.sample.logits_processor import (  # type: ignore[import-not-found, unused-ignore]
    AdapterLogitsProcessor,
)


class ForcedIds(AdapterLogitsProcessor):  # type: ignore[misc, unused-ignore]
    """Force the ids of requests that name them."""

    def is_argmax_invariant(self) -> bool:
        """Return False: the forced token becomes the most probable one."""
        return False

    def new_req_logits_processor(self, params: Any) -> Callable[[list[int], Any], Any] | None:
        """Return the function that changes the logits of a request. None if the request names no ids."""
        forced = (params.extra_args or {}).get("forced_ids")
        if not forced:
            return None

        def force(output_ids: list[int], logits: Any) -> Any:
            position = len(output_ids)
            if position < len(forced):
                logits[:] = float("-inf")
                logits[forced[position]] = 0.0
            return logits

        return force
