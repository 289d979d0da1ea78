"""Record the responses of vLLM that the tests of the client read: tests/client/recorded.

python -m scripts.record_engine [0.31.0 0.32.0]
"""

from __future__ import annotations

import sys

from tests.engine.recording import CONTEXT_LENGTH, record_all, record_disabled
from tests.engine.server import running_server
from tests.support.recorded import VLLM_VERSIONS, Exchange, write_exchanges


def main() -> None:
    """Record all requests with each version."""
    for version in sys.argv[1:] or VLLM_VERSIONS:
        exchanges: list[Exchange] = []
        for scale_out, record in ((True, record_all), (False, record_disabled)):
            with running_server(version, context_length=CONTEXT_LENGTH, scale_out=scale_out) as server:
                exchanges += record(server)
            write_exchanges(f"vllm-{version}", exchanges)
        print(f"vLLM {version}: {len(exchanges)} exchanges")


if __name__ == "__main__":
    main()
