"""Server: runs the web application until a signal ends it, and every monitor with it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from presman.base.certificates import Certificates
from presman.base.listeners import Seldom
from presman.services.serve.connections import Connections, most_connections
from presman.services.serve.door import Serving
from presman.services.serve.viewer_site import ViewerSite

Sockets = list[socket.socket]

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

PATIENCE = 8.0
"""Seconds that all monitors together have to end."""

LINGERING = 1.0
"""Seconds for which the rest of a request is still taken after its answer."""

WAITING = 1024
"""Connections that the system holds until they are accepted; of more it drops some, who then come a second later."""


def run(serving: Serving, sockets: Sockets, certificates: Certificates | None, ready: Callable[[], None]) -> int:
    """Serve until a signal comes, and return its number. `ready` is called once browsers can come.

    Raises LimitError.
    """
    most_connections(serving.viewers)  # before anything else takes descriptors
    if sys.version_info < (3, 12) and hasattr(os, "pidfd_open"):
        # Without a thread for each monitor, as later releases do: where none can be had a monitor would be left behind.
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
    return asyncio.run(_serve(serving, sockets, certificates, ready))


async def _serve(
    serving: Serving, sockets: Sockets, certificates: Certificates | None, ready: Callable[[], None]
) -> int:
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    _hear(ended)
    async with running(serving, sockets, certificates):
        ready()
        return await ended


@asynccontextmanager
async def running(
    serving: Serving, sockets: Sockets, certificates: Certificates | None = None
) -> AsyncIterator[web.AppRunner]:
    """Serve meanwhile."""
    connections = Connections(most_connections(serving.viewers), serving.say)
    complaints = _Complaints(serving.say)
    asyncio.get_running_loop().set_exception_handler(complaints.of_loop)
    runner = web.AppRunner(
        ViewerSite(serving, connections).application(), access_log=None, logger=_logger(complaints),
        shutdown_timeout=PATIENCE, keepalive_timeout=30.0, lingering_time=LINGERING, auto_decompress=False,
    )  # fmt: skip
    await runner.setup()
    assert runner.server is not None
    context = None if certificates is None else _renewing(certificates)
    for each in sockets:
        each.listen(WAITING)
        each.setblocking(False)
    tasks = [asyncio.create_task(connections.accept(each, runner.server, context)) for each in sockets]
    tasks.append(asyncio.create_task(connections.close_silent()))
    try:
        yield runner
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for each in sockets:
            each.close()
        await runner.cleanup()


def _renewing(certificates: Certificates) -> ssl.SSLContext:
    """Return a context that takes another's place at each handshake: that of the certificate there is by then."""

    def renew(line: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        line.context = certificates.context()

    context = certificates.context()
    context.sni_callback = renew
    return context


def _hear(ended: asyncio.Future[int]) -> None:
    def end(number: int) -> None:
        if not ended.done():
            ended.set_result(number)

    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            asyncio.get_running_loop().add_signal_handler(number, end, number)


class _Complaints(logging.Handler):
    """What the web server and its event loop complain of, as lines of presman's: strangers can make them complain."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._say = Seldom(say).say

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(record.getMessage(), record.exc_info[1] if record.exc_info else None)

    def of_loop(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._tell(str(context["message"]), context.get("exception"))

    def _tell(self, text: str, error: BaseException | None) -> None:
        self._say(f"web server: {text}" + (f": {type(error).__name__}: {error}" if error else ""))


def _logger(complaints: _Complaints) -> logging.Logger:
    logger = logging.getLogger("presman.services.serve")
    logger.propagate = False
    logger.handlers = [complaints]
    return logger
