"""Clients of a running server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal, get_args

from openai import AsyncOpenAI

from renderers.client import InferenceClient
from tests.engine.server import EngineServer

__all__ = ["CLIENTS", "ClientKind", "connect"]

ClientKind = Literal["AsyncOpenAI", "InferenceClient", "InferenceClient with openai_completions"]
CLIENTS: tuple[ClientKind, ...] = get_args(ClientKind)


@asynccontextmanager
async def connect(kind: ClientKind, server: EngineServer) -> AsyncIterator[Any]:
    """Open a client of a server, which the end of the block closes."""
    client: AsyncOpenAI | InferenceClient
    if kind == "AsyncOpenAI":
        client = AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
    else:
        engine = "openai_completions" if kind.endswith("openai_completions") else "auto"
        client = InferenceClient(server.url, model=server.model, engine=engine)
    async with client:
        yield client
