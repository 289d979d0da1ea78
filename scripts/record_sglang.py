"""Record the fields of SGLang's requests and responses: tests/client/recorded/sglang-0.5.23.json.

python -m scripts.record_sglang
"""

from __future__ import annotations

from tests.engine.sglang_schema import SGLANG, check_requests
from tests.support.recorded import RECORDED, OneLine, indented_json


def main() -> None:
    """Write the file."""
    fields = {name: OneLine(types) for name, types in check_requests([]).fields.items()}
    path = RECORDED / f"{SGLANG.replace('==', '-')}.json"
    path.write_text(indented_json(fields) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
