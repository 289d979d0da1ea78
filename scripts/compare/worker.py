"""Run cases with the release of `renderers` that is installed, through the public API of release 0.1.

    python -I scripts/compare/worker.py

Read one job per line from standard input, as JSON, and print the answer of each as one line. A job has a `model`, the
`settings` of its typed config, and `cases`, each with a `kind` and its `arguments`. The answer has the `family` of the
model and the `results` of the cases, or an `error`. A case that raises an exception has an `error` as its result. A job
with `families` is answered with the names of all families and the switches of each.

This file runs with release 0.1 in an environment of its own, and with this release in the process of the comparison.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
import textwrap
from collections.abc import Callable
from typing import Any

Data = dict[str, Any]

LISTS = ("token_ids", "message_indices", "sampled_mask", "is_content")
UNKNOWN = "default"
"""The family of models that release 0.1 has no renderer for."""


def answer(job: Data) -> Data:
    """Run all cases of a job."""
    base = _import_module("renderers.base")
    if "families" in job:
        return {"families": {name: switches(name) for name in sorted(set(base.MODEL_RENDERER_MAP.values()))}}
    model = job["model"]
    family = base.MODEL_RENDERER_MAP.get(model, UNKNOWN)
    try:
        renderer = create(model, family=family, settings=job["settings"])
    except Exception as error:
        return {"family": family, "error": describe(error)}
    return {"family": family, "results": [run_case(renderer, case) for case in job["cases"]]}


def switches(family: str) -> list[str]:
    """Return the fields of a config that not all configs have."""
    api = _import_module("renderers")
    fields = type(api.config_from_name(family)).model_fields
    return [name for name in fields if name not in api.BaseRendererConfig.model_fields and name != "name"]


def create(model: str, *, family: str, settings: Data) -> Any:
    """Create a renderer with settings of the typed config of its family."""
    api = _import_module("renderers")
    config = type(api.config_from_name(family))(**settings) if settings else None
    return api.create_renderer(_tokenizer(model), config)


@functools.lru_cache(maxsize=1)
def _tokenizer(model: str) -> Any:
    return _import_module("renderers.base").load_tokenizer(model)


def run_case(renderer: Any, case: Data) -> Data:
    """Run one case and return its result as JSON data."""
    # A copy, so that a renderer that modifies its input does not change the next case.
    arguments = json.loads(json.dumps(case["arguments"]))
    try:
        return _RUNNERS[case["kind"]](renderer, arguments)
    except Exception as error:
        return {"error": describe(error)}


# ==================
# Kinds of cases
# ==================


def _render(renderer: Any, arguments: Data) -> Data:
    messages = arguments.pop("messages")
    return tokens_data(renderer.render(messages, **arguments))


def tokens_data(rendered: Any) -> Data:
    """Return rendered tokens as JSON data. Channels are empty in release 0.1."""
    lists = {name: [int(value) for value in getattr(rendered, name)] for name in LISTS}
    names = {"message_roles": list(rendered.message_roles), "message_tool_names": list(rendered.message_tool_names)}
    return {**lists, **names, "channels": [str(channel) for channel in getattr(rendered, "channels", ())]}


def _spans(_: Any, arguments: Data) -> Data:
    """Call all methods of `RenderedTokens` on lists that the case has."""
    tokens = _import_module("renderers").RenderedTokens(**arguments)
    return {
        "message_token_spans": tokens.message_token_spans(),
        "role_token_spans": tokens.role_token_spans(),
        "tokens_per_message": tokens.tokens_per_message(),
        "sampled_tokens_per_message": tokens.tokens_per_message(sampled_only=True),
        "tokens_by_role": tokens.tokens_by_role(),
        "sampled_tokens_by_role": tokens.tokens_by_role(sampled_only=True),
        "content_token_spans_by_role": tokens.content_token_spans_by_role(),
        "content_mask_for_roles": tokens.content_mask_for_roles({"user", "tool"}),
    }


def _parse(renderer: Any, arguments: Data) -> Data:
    parsed = renderer.parse_response(arguments.pop("token_ids"), **arguments)
    fields = ("name", "arguments", "status", "id", "token_span", "raw")
    return {
        "content": parsed.content,
        "reasoning_content": parsed.reasoning_content,
        "reasoning_complete": parsed.reasoning_complete,
        "tool_calls": [{field: getattr(call, field) for field in fields} for call in parsed.tool_calls],
    }


def _bridge(renderer: Any, arguments: Data) -> Data:
    prior = [arguments.pop(name) for name in ("prompt_ids", "completion_ids", "new_messages")]
    tokens = renderer.bridge_to_next_turn(*prior, **arguments)
    if tokens is not None:
        return tokens_data(tokens)
    # Release 0.1 gives no reason.
    return {"refused": str(renderer.bridge(*prior, **arguments).reason) if hasattr(renderer, "bridge") else "None"}


def _sample(renderer: Any, arguments: Data) -> Data:
    api = _import_module("renderers")
    roles, content_roles = (arguments.pop(name, None) for name in ("roles", "content_sft_roles"))
    if roles is not None:
        arguments["role_to_mask"] = lambda message: message["role"] in roles
    if content_roles is not None:
        arguments["content_sft_roles"] = set(content_roles)
    sample = api.build_training_sample(renderer, arguments.pop("messages"), **arguments)
    return {
        "token_ids": list(sample.token_ids),
        "loss_mask": [int(value) for value in sample.loss_mask],
        "mm_token_type_ids": sample.mm_token_type_ids,
    }


def _facts(renderer: Any, _: Data) -> Data:
    return {
        "stop_token_ids": renderer.get_stop_token_ids(),
        "is_prefix_stable": renderer.is_prefix_stable,
        "renderer_class": type(renderer).__name__,
        "config_name": renderer.config.name,
    }


_RUNNERS: dict[str, Callable[[Any, Data], Data]] = {
    "render": _render,
    "spans": _spans,
    "parse": _parse,
    "bridge": _bridge,
    "sample": _sample,
    "facts": _facts,
}


# ==================
# The process
# ==================


def _import_module(module: str) -> Any:
    # A static import would make type checkers use the package of this repository.
    return importlib.import_module(module)


def describe(error: Exception) -> str:
    """Return the class and the text of an exception, shortened."""
    return textwrap.shorten(f"{type(error).__name__}: {error}", 160, placeholder=" …")


def main() -> None:
    """Answer jobs until the input ends."""
    # Keeps the output of libraries apart from the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
