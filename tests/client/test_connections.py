"""Tests of `renderers.client.connections`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("httpx")

from renderers.client.connections import SeparateConnections


class TransportTakenByOthers:
    """A transport that lets another request take all idle ones while it is closed."""

    def __init__(self, connections: SeparateConnections) -> None:
        self.connections = connections
        self.is_closed = False

    async def aclose(self) -> None:
        self.is_closed = True
        self.connections._idle.clear()


def test_connections_can_be_taken_while_old_ones_are_closed() -> None:
    connections = SeparateConnections(encrypted=False)
    old: Any = TransportTakenByOthers(connections)
    new: Any = TransportTakenByOthers(connections)
    connections._idle.append((float("-inf"), old))
    asyncio.run(connections.keep(new))
    assert old.is_closed
    assert not new.is_closed
