"""Build the request for one completion from sampling parameters, and check the prompt that an engine returns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from renderers.client.completion import Completion
from renderers.client.engines.base import SampleRequest
from renderers.core.arguments import check_int, check_mapping, check_optional_str
from renderers.core.text import common_prefix_length, describe_type
from renderers.core.token_ids import as_ids
from renderers.errors import MalformedGenerateResponseError

__all__ = ["build_sample_request", "check_prompt", "read_headers", "read_sampling_params"]


def read_sampling_params(sampling_params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a checked copy of sampling parameters. Names that are not checked here are left to the engine.

    Numbers of NumPy and of similar packages become those of Python.

    Raises:
        TypeError: They are not a mapping, or the stop tokens are not ids.
        TokenIdError: A stop token is negative, or above 4,294,967,295.
        ValueError: `max_tokens` or `min_tokens` is not an int from 0 on.
    """
    params = {
        name: value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
        for name, value in check_mapping("sampling_params", sampling_params).items()
    }
    stops = params.get("stop_token_ids")
    if stops is not None:
        listed = list(stops) if isinstance(stops, Set) else stops
        params["stop_token_ids"] = list(as_ids(listed, name="sampling_params['stop_token_ids']"))
    for name in ("max_tokens", "min_tokens"):
        if params.get(name) is not None:
            # SGLang accepts 0 as the maximum, to process a prompt alone.
            params[name] = check_int(f"sampling_params[{name!r}]", params[name], least=0)
    return params


def build_sample_request(
    prompt_ids: list[int],
    *,
    model: str | None,
    sampling_params: Mapping[str, Any] | None = None,
    stop_token_ids: Iterable[int] = (),
    cache_salt: str | None = None,
    priority: int | None = None,
    features: Mapping[str, Any] | None = None,
    content_parts: Sequence[Mapping[str, Any]] = (),
    stream: bool = False,
) -> SampleRequest:
    """Return a request. `stop_token_ids` are added before those of the sampling parameters.

    Raises:
        TypeError, TokenIdError: As `read_sampling_params`. Or the model is not a str, or a parameter is not JSON data.
        ValueError: There are no ids, more than one completion is requested, a number of tokens or logprobs is invalid,
            or another number is not finite.
    """
    if not prompt_ids:
        raise ValueError("prompt_ids is empty: an engine samples after at least one token")
    check_optional_str("model", model)
    params = read_sampling_params(sampling_params)
    for name, value in params.items():
        _check_json(f"sampling_params[{name!r}]", value)
    if params.pop("n", None) not in (None, 1):
        raise ValueError("sampling_params['n'] must be 1: a request samples one completion. Send a request for each.")
    top_logprobs = params.pop("logprobs", None)
    if top_logprobs is None or isinstance(top_logprobs, bool):
        top_logprobs = 0
    if type(top_logprobs) is not int or top_logprobs < 0:
        raise ValueError(f"sampling_params['logprobs'] must be a number of tokens, not {top_logprobs!r}")
    stops = list(dict.fromkeys((*stop_token_ids, *(params.pop("stop_token_ids", None) or ()))))
    if stops:
        params["stop_token_ids"] = stops
    return SampleRequest(
        prompt_ids=prompt_ids,
        model=model,
        sampling_params=params,
        top_logprobs=top_logprobs,
        cache_salt=cache_salt,
        priority=priority,
        features=features,
        content_parts=content_parts,
        stream=stream,
    )


def _check_json(name: str, value: Any) -> None:
    """Raise an error if a parameter cannot be sent as JSON."""
    if isinstance(value, str | int | None):
        return
    try:
        json.dumps(value, allow_nan=False)
    except TypeError as error:
        raise TypeError(f"{name} must be JSON data, not {describe_type(value)}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} must be JSON data with finite numbers, not {repr(value)[:80]}") from error


def read_headers(name: str, headers: Mapping[str, str] | None) -> dict[str, str]:
    """Return a copy of the headers of a request.

    Raises:
        TypeError: They are not a mapping of texts.
    """
    checked = check_mapping(name, headers)
    for key, value in checked.items():
        if not isinstance(key, str):
            raise TypeError(f"the names of {name} must be str, not {describe_type(key)}")
        if not isinstance(value, str):
            raise TypeError(f"{name}[{key!r}] must be a str, not {describe_type(value)}")
    return checked


def check_prompt(completion: Completion, request: SampleRequest) -> None:
    """Check that the engine sampled after the ids that were sent, if it returns them. It may expand media.

    Raises:
        MalformedGenerateResponseError: The ids differ, or the expanded ids of media are missing.
    """
    returned = completion.prompt_ids
    if request.content_parts:
        for name, value in (
            ("prompt_token_ids", returned),
            ("mm_placeholders", completion.extras.get("mm_placeholders")),
        ):
            if value is None:
                raise MalformedGenerateResponseError(f"the response must have {name}: the engine expands the media")
    elif request.features is None and returned is not None and returned != request.prompt_ids:
        index = common_prefix_length(returned, request.prompt_ids)
        raise MalformedGenerateResponseError(
            f"prompt_token_ids has {len(returned)} ids and differs from the {len(request.prompt_ids)} ids that were "
            f"sent, from index {index} on: the engine changed the prompt"
        )
