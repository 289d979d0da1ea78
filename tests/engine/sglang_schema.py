"""Check requests with the schema that SGLang's server applies to them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.engine.installation import ENGINES, WORKERS
from tests.support.environments import find_environment, install

__all__ = ["SGLANG", "SchemaReport", "check_requests"]

SGLANG = "sglang==0.5.23"


@dataclass(frozen=True)
class SchemaReport:
    """The types of the fields of each class of the schema, and the error of each request; None if it is accepted."""

    fields: dict[str, dict[str, str]]
    errors: list[str | None]


def check_requests(bodies: Sequence[Any]) -> SchemaReport:
    """Check bodies of `/generate`. The environment with the schema is created if it is missing."""
    command = [_install_schema(), str(WORKERS / "sglang_schema.py")]
    done = subprocess.run(command, input=json.dumps(bodies), check=True, stdout=subprocess.PIPE, text=True)
    return SchemaReport(**json.loads(done.stdout))


def _install_schema() -> str:
    requirements = [SGLANG, "msgspec"]
    home = ENGINES / SGLANG.replace("==", "-")
    return find_environment(home, lambda python: install(python, requirements, options=["--no-deps"]))
