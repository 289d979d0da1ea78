"""Write the golden spans of all available templates to tests/span_goldens.

    python -m scripts.span_goldens

Run this only after a deliberate change of attribution, and explain the change in the changelog.
"""

from __future__ import annotations

import json

from tests.support.span_goldens import (
    DIGESTS,
    EMBEDDED_SPANS,
    OTHER_TEMPLATES,
    embedded_spans,
    span_digests,
    template_key,
)


def main() -> None:
    spans = (json.dumps({name: row}, ensure_ascii=False)[1:-1] for name, row in embedded_spans().items())
    EMBEDDED_SPANS.write_text("{\n" + ",\n".join(spans) + "\n}\n", encoding="utf-8")
    digests = {template_key(path): " ".join(span_digests(path)) for path in OTHER_TEMPLATES}
    lines = (json.dumps({key: found})[1:-1] for key, found in sorted(digests.items()))
    DIGESTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
