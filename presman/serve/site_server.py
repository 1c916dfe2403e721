"""Server: runs the web application until a signal ends it, and every monitor with it."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
from collections.abc import Callable

from aiohttp import web

from presman.base.certificates import Certificates
from presman.serve.seldom import Seldom
from presman.serve.viewer_site import Serving, ViewerSite

Sockets = list[socket.socket]

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

PATIENCE = 8.0
"""Seconds that all monitors together have to end."""


def run(serving: Serving, sockets: Sockets, certificates: Certificates | None, ready: Callable[[], None]) -> int:
    """Serve until a signal comes, and return its number. `ready` is called once browsers can come."""
    return asyncio.run(_serve(serving, sockets, certificates, ready))


async def _serve(
    serving: Serving, sockets: Sockets, certificates: Certificates | None, ready: Callable[[], None]
) -> int:
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    _hear(ended)
    runner = await begin(serving, sockets, certificates)
    try:
        ready()
        return await ended
    finally:
        await runner.cleanup()


async def begin(serving: Serving, sockets: Sockets, certificates: Certificates | None = None) -> web.AppRunner:
    """Serve from now on, until what is returned is cleaned up."""
    runner = web.AppRunner(
        ViewerSite(serving).application(), access_log=None, logger=_logger(serving.say), shutdown_timeout=PATIENCE,
        keepalive_timeout=30.0, auto_decompress=False,
    )  # fmt: skip
    await runner.setup()
    context = None if certificates is None else _renewing(certificates)
    for each in sockets:
        await web.SockSite(runner, each, ssl_context=context).start()
    return runner


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


class _Lines(logging.Handler):
    """What the web server complains of, as lines of presman's."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._say = Seldom(say).say

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._say(f"web server: {record.getMessage()}" + (f": {type(error).__name__}: {error}" if error else ""))


def _logger(say: Callable[[str], None]) -> logging.Logger:
    logger = logging.getLogger("presman.serve")
    logger.propagate = False
    logger.handlers = [_Lines(say)]
    return logger
