"""Random tools with schemas of many kinds, for programs that write schemas in their own words."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["random_tools"]

Data = dict[str, Any]

NAMES = ["city", "query", "limit", "a", "b", "Zed", "x_1", "é", "items", "type", "名", "long name"]
TEXTS = ["Searches the web.", "a\nb", "", "line\n\nlast\n", " pad ", 'Größe "q"', "<|im_end|> x", "// c"]
VALUES = ["a", "b", 1, None, True, 1.5, 'q"x', "é", ["z"]]
DEFAULTS = ["x", 1, None, False, [], {"b": 1, "a": "é"}, 1.0, ""]
CONSTRAINTS: Data = {
    "minLength": 1,
    "maxLength": 9,
    "pattern": "^a.*$",
    "minimum": 0,
    "maximum": 1.5,
    "format": "uri",
    "exclusiveMinimum": 2,
}
TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"]


def random_tools(rng: random.Random) -> list[Data]:
    """Return one to three tools, some without a `function` wrapper."""
    return [_random_tool(rng, f"tool_{number}") for number in range(rng.randint(1, 3))]


def _random_tool(rng: random.Random, name: str) -> Data:
    definitions = rng.sample(["Node", "Kind", "Point"], rng.randint(1, 3)) if rng.random() < 0.3 else []
    parameters = _random_object(rng, 3, definitions)
    if definitions:
        parameters["$defs"] = {key: _random_schema(rng, 2, definitions) or {} for key in definitions}
    function: Data = {"name": name, "parameters": rng.choice([parameters] * 20 + [{}])}
    if rng.random() < 0.7:
        function["description"] = rng.choice(TEXTS)
    if rng.random() < 0.1:
        function["strict"] = True
    return function if rng.random() < 0.2 else {"type": "function", "function": function}


def _random_schema(rng: random.Random, depth: int, definitions: list[str]) -> Any:
    kind = rng.random()
    if kind < 0.04:
        return rng.choice([{}, True, False])
    schema = _random_core(rng, kind, depth, definitions)
    if rng.random() < 0.4:
        schema["description"] = rng.choice(TEXTS)
    if rng.random() < 0.25:
        schema["default"] = rng.choice(DEFAULTS)
    if rng.random() < 0.1:
        schema["title"] = "T"
    return schema


def _random_core(rng: random.Random, kind: float, depth: int, definitions: list[str]) -> Data:
    if kind < 0.1 and definitions:
        return {"$ref": f"#/$defs/{rng.choice(definitions)}"}
    if kind < 0.12:
        return {"$ref": "#"}
    if kind < 0.22 and depth:
        return {"anyOf": [_random_schema(rng, depth - 1, definitions) for _ in range(rng.randint(1, 3))]}
    if kind < 0.32:
        return {"enum": rng.sample(VALUES, rng.randint(1, 4)), **({"type": "string"} if rng.random() < 0.5 else {})}
    if kind < 0.38:
        return {"type": rng.sample(TYPES, rng.randint(1, 3))}
    if kind < 0.39:
        return {rng.choice(["oneOf", "allOf"]): [{"type": "string"}]}
    if kind < 0.6 and depth:
        bounds = {key: rng.randint(0, 9) for key in ("minItems", "maxItems") if rng.random() < 0.3}
        items = {"items": _random_schema(rng, depth - 1, definitions)} if rng.random() < 0.9 else {}
        return {"type": "array", **items, **bounds}
    if kind < 0.8 and depth:
        return _random_object(rng, depth - 1, definitions)
    constraints = {key: value for key, value in CONSTRAINTS.items() if rng.random() < 0.2}
    return {"type": rng.choice([*TYPES[:5], "any", "date"]), **constraints}


def _random_object(rng: random.Random, depth: int, definitions: list[str]) -> Data:
    schema: Data = {"type": "object"}
    if rng.random() < 0.9:
        names = rng.sample(NAMES, rng.randint(0, 5))
        schema["properties"] = {name: _random_schema(rng, depth, definitions) for name in names}
    if rng.random() < 0.5:
        schema["required"] = rng.sample(NAMES, rng.randint(0, 4))
    if rng.random() < 0.25:
        schema["additionalProperties"] = rng.choice([True, False, _random_schema(rng, depth, definitions)])
    return schema
