"""Connections that nobody asks anything on: they are closed, or strangers could take all that there may be."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

SILENCE = 10.0
"""Seconds in which a connection must have brought its first request; what it is between requests aiohttp bounds."""


class SilentConnections:
    """Closes connections of a server that have not brought a request; `heard` is told of those that have."""

    def __init__(self) -> None:
        self._since: dict[Any, float] = {}
        self._heard: set[Any] = set()

    def heard(self, request: web.BaseRequest) -> None:
        """Take note of a request."""
        self._heard.add(request.protocol)

    async def close(self, server: web.Server) -> None:
        """Look again and again, until this is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SILENCE / 4)
            there = server.connections
            self._heard.intersection_update(there)
            self._since = {each: self._since.get(each, loop.time()) for each in there}
            for each, since in self._since.items():
                if each not in self._heard and loop.time() - since > SILENCE:
                    each.force_close()
