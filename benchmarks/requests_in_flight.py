"""CPU time of a request with several numbers of requests in flight, with `InferenceClient` and with `AsyncOpenAI`.

python -m benchmarks.requests_in_flight [--tokens 200] [--delay 0.5]

A scripted server in another process answers each request after a delay, so that all requests are in flight at once.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from openai import AsyncOpenAI

from benchmarks.rollouts import server_process
from renderers.client import InferenceClient
from renderers.client.engines.vllm import VllmEngine
from renderers.client.openai_client import OpenAISampler
from renderers.client.sampling import build_sample_request
from renderers.core.text import align_columns
from tests.support.rollout_load import ReplyTable

IN_FLIGHT = (1, 16, 64, 256)
Sample = Callable[[int], Awaitable[Any]]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.requests_in_flight")
    parser.add_argument("--tokens", type=int, default=200, help="tokens of a completion")
    parser.add_argument("--delay", type=float, default=0.5, help="seconds until the server answers")
    options = parser.parse_args()
    with server_process(ReplyTable([list(range(options.tokens))], options.delay)) as url:
        rows = list(asyncio.run(_measure(url)))
    print("milliseconds of CPU time for a request")
    print("\n".join(align_columns([("in flight", "InferenceClient", "AsyncOpenAI"), *rows])))


async def _measure(url: str) -> Iterator[tuple[str, ...]]:
    own = InferenceClient(url, engine="vllm")
    openai = AsyncOpenAI(base_url=f"{url}/v1", api_key="none", timeout=600, max_retries=0)
    sampler = OpenAISampler(openai, VllmEngine())

    async def sample_with_openai(number: int) -> Any:
        return await sampler.sample_request(build_sample_request([number], model="m"), None)

    async with own, openai:
        columns = [
            [f"{await _cpu_milliseconds(sample, count):.2f}" for count in IN_FLIGHT]
            for sample in (lambda number: own.sample([number], model="m"), sample_with_openai)
        ]
    return zip(map(str, IN_FLIGHT), *columns, strict=True)


async def _cpu_milliseconds(sample: Sample, count: int) -> float:
    """Return the CPU time of a request. The first round opens the connections and is not measured."""
    for _ in range(2):
        start = time.thread_time()
        await asyncio.gather(*(sample(number) for number in range(count)))
        spent = time.thread_time() - start
    return 1000 * spent / count


if __name__ == "__main__":
    main()
