"""Record the responses of vLLM that the tests of the client read: tests/client/recorded.

python -m scripts.record_engine [0.31.0 0.32.0]
"""

from __future__ import annotations

import sys

from tests.engine.recording import CONTEXT_LENGTH, record, record_disabled
from tests.engine.server import running_server
from tests.support.recorded import VLLM_VERSIONS, write_exchanges


def main() -> None:
    """Record all requests with each version."""
    for version in sys.argv[1:] or VLLM_VERSIONS:
        with running_server(version, context_length=CONTEXT_LENGTH) as server:
            exchanges = list(record(server))
        with running_server(version, context_length=CONTEXT_LENGTH, scale_out=False) as server:
            exchanges += record_disabled(server)
        write_exchanges(f"vllm-{version}", exchanges)
        print(f"vLLM {version}: {len(exchanges)} exchanges")


if __name__ == "__main__":
    main()
