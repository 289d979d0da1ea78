"""Check JSON bodies with the schema of SGLang. Runs in an environment with msgspec, and sglang without dependencies.

Reads a JSON list of bodies of `/generate` from standard input. Writes an object: `fields`, the types of the fields of
the classes of the schema, and `errors`, for each body the text of the error of the server, or null.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from types import ModuleType
from typing import Any

CLASSES = (
    "GenerateRequest",
    "SamplingParams",
    "GenerateResponse",
    "GenerateMetaInfo",
    "LogprobEntry",
    "FinishStop",
    "FinishLength",
    "FinishAbort",
    "WeightVersionSpan",
    "ModelCard",
)


def main() -> None:
    """Check the bodies of standard input."""
    schema = load_schema()
    fields = {name: getattr(schema, name).__annotations__ for name in CLASSES}
    errors = [check(schema, body) for body in json.load(sys.stdin)]
    json.dump({"fields": fields, "errors": errors}, sys.stdout)


def load_schema() -> ModuleType:
    """Return the module with the schema. The package itself cannot be imported without its dependencies."""
    package = importlib.util.find_spec("sglang")
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("sglang is not installed")
    path = f"{package.submodule_search_locations[0]}/api/v1/api_types.py"
    spec = importlib.util.spec_from_file_location("api_types", path)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(path)
    schema = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(schema)
    return schema


def check(schema: ModuleType, body: Any) -> str | None:
    """Return the error of a body, or None."""
    try:
        schema.GenerateRequest.from_json_value(body)
    except schema.JsonContractError as error:
        return str(error)
    return None


if __name__ == "__main__":
    main()
