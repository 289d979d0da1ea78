"""A logits processor for vLLM that forces sampled ids and logs prompts. Runs in the environment of the engine.

A request names the ids as `forced_ids` in `sampling_params.extra_args`, or in `vllm_xargs` of an OpenAI endpoint. After
the last of them, sampling is free. Requests without them are not changed.

The prompt of each request, as the engine has it, is appended as a line of JSON to the file in `PROMPT_LOG`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vllm.v1.sample.logits_processor import (  # type: ignore[import-not-found, unused-ignore]
    AdapterLogitsProcessor,
)


class ForcedIds(AdapterLogitsProcessor):  # type: ignore[misc, unused-ignore]
    """Force the ids of requests that name them, and log the prompts of all requests."""

    def is_argmax_invariant(self) -> bool:
        """Return False: the forced token becomes the most probable one."""
        return False

    def new_req_logits_processor(self, params: Any) -> Callable[[Sequence[int], list[int], Any], Any]:
        """Return the function that changes the logits of a request."""
        forced = (params.extra_args or {}).get("forced_ids") or []

        def force(prompt_ids: Sequence[int], output_ids: list[int], logits: Any) -> Any:
            position = len(output_ids)
            if position == 0:
                with Path(os.environ["PROMPT_LOG"]).open("a") as log:
                    log.write(json.dumps([int(token) for token in prompt_ids]) + "\n")
            if position < len(forced):
                logits[:] = float("-inf")
                logits[forced[position]] = 0.0
            return logits

        return force
