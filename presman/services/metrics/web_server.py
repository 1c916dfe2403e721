"""Web server of the metrics: /metrics with the configured credentials, /-/healthy for anyone.

Its event loop has a thread of its own. A missing request or a client that does not read holds a slot for a limited
time. When all are taken, a new connection takes the slot of the oldest one that has not sent a request, or of one
without a password that takes long to read its answer.
"""

import asyncio
import base64
import binascii
import gzip
import hmac
import re
import threading
from collections.abc import Callable
from typing import NamedTuple

from aiohttp import web

from presman.base.certificates import Certificates
from presman.base.listeners import Standing
from presman.base.secret import Secret
from presman.services.listener import Connections, accepting, host_and_port, listening_sockets
from presman.services.metrics.metric_page import Exposition

PAGE, HEALTH = "/metrics", "/-/healthy"
CHALLENGE = 'Basic realm="presman", charset="UTF-8"'


class Credentials(NamedTuple):
    """User and password that give access to the page."""

    user: str
    password: Secret

    def is_valid(self, header: str) -> bool:
        """Return whether an Authorization header is valid; the time this takes does not depend on what is wrong."""
        scheme, _, encoded = header.partition(" ")
        try:
            given = base64.b64decode(encoded.strip(), validate=True) if scheme.lower() == "basic" else b""
        except (binascii.Error, ValueError):
            given = b""
        return hmac.compare_digest(given, f"{self.user}:{self.password.reveal()}".encode())


QUICK = 1
"""The compression level of gzip: even the fastest shrinks the page to a fifteenth."""


class WebApp(NamedTuple):
    """What requests are answered. `is_healthy` returns whether everything works that should."""

    exposition: Exposition
    is_healthy: Callable[[], bool]
    credentials: Credentials | None = None

    def is_allowed(self, header: str) -> bool:
        """Return whether an Authorization header has valid credentials; False if none are configured."""
        return self.credentials is not None and self.credentials.is_valid(header)

    def answer(self, request: web.BaseRequest, *, is_allowed: bool) -> web.Response:
        """Return the answer to a request, which may have valid credentials."""
        if request.method not in {"GET", "HEAD"}:
            return web.Response(status=405, text="only GET is allowed\n", headers={"Allow": "GET, HEAD"})
        # Health needs no login; everything else does, also pages that do not exist.
        if request.path == HEALTH and self.is_healthy():
            return web.Response(text="presman is healthy\n")
        if request.path == HEALTH:
            return web.Response(status=503, text="a database is no longer polled: restart presman\n")
        if self.credentials and not is_allowed:
            text = "user name and password are required\n"
            return web.Response(status=401, text=text, headers={"WWW-Authenticate": CHALLENGE})
        if request.path == PAGE:
            return self._page(request)
        return web.Response(status=404, text=f"{PAGE} has the metrics, {HEALTH} says whether presman works\n")

    def _page(self, request: web.BaseRequest) -> web.Response:
        body, kind = self.exposition.write(request.headers.get("Accept", ""))
        headers = {"Content-Type": kind, "Vary": "Accept, Accept-Encoding"}
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            body, headers["Content-Encoding"] = gzip.compress(body, QUICK), "gzip"
        return web.Response(body=body, headers=headers)


AT_ONCE, OF_ADDRESS = 16, 12
"""Connections in total and of one address; further ones are refused while all of these are being answered."""

LONGEST = 30.0
"""Seconds that a connection may last."""

_AUTHORIZATION = re.compile(rb"\r\nauthorization:[ \t]*([^\r\n]*)\r\n", re.IGNORECASE)


class WebServer:
    """Web server at `host` and `port` in its own thread; port 0 chooses a free one. Raises InputError.

    `note` is called, at a limited rate, when connections cannot be accepted or answered.
    """

    def __init__(
        self,
        app: WebApp,
        host: str,
        port: int,
        certificates: Certificates | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._app, self._note = app, note
        self._sockets = listening_sockets(host, port)
        self._connections = Connections(
            AT_ONCE,
            OF_ADDRESS,
            note,
            longest=LONGEST,
            certificates=certificates,
            is_known=self._has_password if app.credentials else None,
        )
        self.url = f"{'https' if certificates else 'http'}://{host_and_port(host, self._sockets[0].getsockname()[1])}"
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ends = asyncio.Event()
        self._has_ended = threading.Event()
        """Set when the thread has ended. Neither two threads nor a signal handler may wait for the thread itself."""

    def start(self) -> None:
        """Start. Raises OSError if no event loop can be made, RuntimeError if no thread is available."""
        loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, args=(loop,), name="presman-web", daemon=True).start()
        self._loop = loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(self._serve())
        finally:
            self._has_ended.set()

    async def _serve(self) -> None:
        server = web.Server(self._answer)
        async with accepting(self._connections, self._sockets, server, self._note):
            await self._ends.wait()
        self._connections.cut_all_but(())
        await server.shutdown(0)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer the only request of a connection."""
        is_allowed = self._app.is_allowed(request.headers.get("Authorization", ""))
        self._connections.note(request, Standing.SAFE if is_allowed else Standing.ASKED)
        answer = self._app.answer(request, is_allowed=is_allowed)
        answer.headers.update({"Cache-Control": "no-store", "Server": "presman"})
        answer.force_close()
        return answer

    def _has_password(self, sent: bytes) -> bool:
        """Return whether what a connection has sent has a valid password."""
        found = _AUTHORIZATION.search(sent)
        return found is not None and self._app.is_allowed(found[1].decode("latin-1"))

    def stop(self) -> None:
        """Stop listening."""
        if self._loop is not None and not self._has_ended.is_set():
            self._loop.call_soon_threadsafe(self._ends.set)
            self._has_ended.wait()
        for each in self._sockets:
            each.close()
