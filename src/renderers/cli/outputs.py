"""Format the results of commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any


def to_json(fields: Mapping[str, Any]) -> str:
    """Return a JSON object with one field per line, so that a list of many ids takes one line.

    >>> print(to_json({"ids": [1, 2], "text": "Hi"}))
    {
      "ids": [1, 2],
      "text": "Hi"
    }
    """
    # Characters that the output cannot encode would become Python escapes, which are not JSON.
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    lines = [f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=plain)}" for name, value in fields.items()]
    return "\n".join(["{", ",\n".join(lines), "}"])
