"""Website of `presman serve`: the application, and the server that runs until a signal ends it and all monitors.

It has a page, the files that the page loads, a websocket for each viewer, and downloads.
"""

import asyncio
import os
import resource
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from html import escape
from importlib.resources import files
from pathlib import Path

from aiohttp import web

from presman.base.certificates import Certificates
from presman.base.errors import InputError, LimitError
from presman.base.listeners import RateLimited, Standing
from presman.services import listener
from presman.services.listener import Connections, accepting
from presman.services.serve.access import Serving
from presman.services.serve.viewer_slots import ViewerSlots

LARGEST_FORM = 4096

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ViewerSite:
    """The web application. It reports the standing of each connection to `lines`."""

    def __init__(self, serving: Serving, lines: Connections) -> None:
        self._serving, self._lines = serving, lines
        self._files = static_files()
        self._slots = ViewerSlots(serving, lines)
        self._refusals = RateLimited(serving.note)

    def application(self) -> web.Application:
        """Return the application for aiohttp."""
        app = web.Application(middlewares=[self._guard], client_max_size=LARGEST_FORM)
        for path, handler in (("/", self._page), ("/alive", self._alive), ("/static/{name}", self._static)):
            app.router.add_get(path, handler)
        for path, handler in (("/ws", self._watch), ("/download/{key}", self._download)):
            # A HEAD request would use up a file that can be downloaded only once; a websocket begins with GET.
            app.router.add_get(path, handler, allow_head=False)
        app.router.add_post("/token", self._token)
        app.on_response_prepare.append(self._head)
        app.on_shutdown.append(lambda _app: self._slots.close())
        return app

    # ---- access

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let in requests with an accepted host name and the token."""
        # The name is checked first: a foreign page whose host name leads here (DNS rebinding) sends its own name.
        access = self._serving.access
        if not (access.accepts_host(request.host) and "Host" in request.headers):
            text = "presman does not answer to this host name. --public sets the name that it answers to.\n"
            raise web.HTTPMisdirectedRequest(text=text)
        if self._is_admitted(request):
            self._lines.note(request, Standing.SAFE if access.token else Standing.ASKED)
            return await handler(request)
        if request.path in {"/token", "/alive"}:
            return await handler(request)
        if request.path != "/":
            raise web.HTTPUnauthorized(text="This needs the token of presman serve.\n")
        given = request.query.get("token")
        if given is not None and access.is_token(given):
            return self._with_pass(request, await handler(request))
        return self._asks_again(request) if given is not None else _html(token_page(is_wrong=False), 401)

    def _is_admitted(self, request: web.Request) -> bool:
        access = self._serving.access
        return access.is_pass(request.cookies.get(access.cookie, ""))

    def _with_pass(self, request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
        access = self._serving.access
        self._lines.note(request, Standing.SAFE)
        response.set_cookie(
            access.cookie,
            access.pass_for_token(),
            path=access.path,
            httponly=True,
            samesite="Strict",
            secure=access.is_encrypted,
        )
        return response

    def _asks_again(self, request: web.Request) -> web.Response:
        self._refusals.note(f"a wrong token from {request.remote}")
        return _html(token_page(is_wrong=True), 401)

    async def _token(self, request: web.Request) -> web.StreamResponse:
        """Check a token that was typed into the form."""
        if request.content_type != "application/x-www-form-urlencoded":
            raise web.HTTPUnsupportedMediaType
        try:
            if request.transport is None:  # closed before its body is read, for which aiohttp would wait
                raise ConnectionResetError
            async with asyncio.timeout(listener.SILENCE):
                form = await request.post()
        except (TimeoutError, ConnectionError):  # closed in the meantime: the answer is lost
            raise web.HTTPRequestTimeout from None
        if not self._serving.access.is_token(str(form.get("token", ""))):
            return self._asks_again(request)
        return self._with_pass(request, web.Response(status=303, headers={"Location": "./"}))

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        """Serve the monitor to one of presman's own pages."""
        if not self._serving.access.is_own(request.headers.get("Origin", ""), request.host):
            raise web.HTTPForbidden(text="This is not a page of presman.\n")
        return await self._slots.watch(request)

    async def _head(self, request: web.Request, response: web.StreamResponse) -> None:
        for name, value in HEADERS.items():
            response.headers[name] = value
        if not self._is_admitted(request):  # one answer per connection: without the token the next needs another
            response.headers["Connection"] = "close"
            response.force_close()

    # ---- content

    async def _page(self, _request: web.Request) -> web.StreamResponse:
        return _html(monitor_page(self._serving.target))

    async def _alive(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(status=204)

    async def _static(self, request: web.Request) -> web.StreamResponse:
        if (file := self._files.get(request.match_info["name"])) is None:
            raise web.HTTPNotFound
        kind, content = file
        answer = web.StreamResponse(headers={"Content-Type": kind, "Content-Length": str(len(content))})
        await answer.prepare(request)
        if request.method != "HEAD":
            with suppress(ConnectionError):  # the client has left or was cut off
                for begin in range(0, len(content), PIECE):
                    await answer.write(content[begin : begin + PIECE])
        return answer

    async def _download(self, request: web.Request) -> web.StreamResponse:
        """Send a file, once."""
        # No other page may start a download, even if it knew the key. Old browsers do not send the header.
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
            raise web.HTTPForbidden
        if (file := self._slots.downloads.pop(request.match_info["key"], None)) is None:
            raise web.HTTPNotFound
        name = "".join(each for each in file.name if each.isascii() and (each.isalnum() or each in "-_."))
        kind = "text/csv; charset=utf-8" if file.kind == "text/csv" else "application/octet-stream"
        headers = {"Content-Type": kind, "Content-Disposition": f'attachment; filename="{name}"'}
        return web.Response(body=file.content, headers=headers)


def _html(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, status=status, content_type="text/html", charset="utf-8")


# ---- Pages and files for browsers: textual-serve's terminal in a page of presman's own, which loads nothing else.

STATIC = Path(__file__).parent / "static"

POLICY = (
    "default-src 'none'; script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; "  # the terminal puts its colours and sizes into style elements
    "font-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may do (Content-Security-Policy): connect to its own server and to no other."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "Permissions-Policy": "clipboard-read=(), camera=(), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    "Server": "presman",
}
"""Headers of every answer."""


PIECE = 1 << 16
"""Bytes of a file to send at a time: a client that does not read holds no more. asyncio's own way to send files fails
when the connection is cut.
"""


def static_files() -> dict[str, tuple[str, bytes]]:
    """Return the files that pages load, by name, each with its media type; no others are served.

    Raises InputError if one is missing.
    """
    terminal = Path(str(files("textual_serve"))) / "static"
    found = {
        "presman.css": STATIC / "presman.css",
        "presman.js": STATIC / "presman.js",
        "presman.svg": STATIC / "presman.svg",
        "textual.js": terminal / "js" / "textual.js",
        "xterm.css": terminal / "css" / "xterm.css",
        "RobotoMono.ttf": terminal / "fonts" / "RobotoMono-VariableFont_wght.ttf",
    }
    for path in found.values():
        if not path.is_file():
            raise InputError(f"{path} is missing: this release of textual-serve is not one that presman can use")
    return {name: (KINDS[path.suffix], path.read_bytes()) for name, path in found.items()}


KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".ttf": "font/ttf"}
"""Media types, independent of the machine's own list."""


def monitor_page(target: str) -> str:
    """Return the page with the terminal."""
    return (STATIC / "monitor.html").read_text(encoding="utf-8").replace("@TARGET@", escape(target))


def token_page(*, is_wrong: bool) -> str:
    """Return the page that asks for the token; it reveals nothing about the target."""
    message = "That is not the token." if is_wrong else ""
    return (STATIC / "token.html").read_text(encoding="utf-8").replace("@MESSAGE@", message)


Sockets = list[socket.socket]

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

PATIENCE = 8.0
"""Seconds for all monitors together to end."""

MOST = 256
"""The most connections besides those of viewers, whatever the limit of descriptors; one address may have half."""

FEWEST = 16
"""The fewest connections with which two browsers do not get in each other's way."""

OWN, PER_VIEWER = 40 + listener.SILENT, 10
"""Descriptors of presman itself, and of each viewer: the pipes of the monitor, and those used to start it."""


def most_connections(viewers: int) -> int:
    """Return the most connections besides the monitors. Raises LimitError if too few are possible."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return MOST + viewers
    found = min(MOST + viewers, allowed - OWN - viewers * PER_VIEWER)
    if found < FEWEST + viewers:
        takes = OWN + viewers * PER_VIEWER + FEWEST + viewers
        raise LimitError(f"open files (ulimit -n) are limited to {allowed}: --viewers {viewers} takes {takes}")
    return found


def run(serving: Serving, sockets: Sockets, certificates: Certificates | None, ready: Callable[[], None]) -> int:
    """Serve until a signal arrives, and return its number. `ready` is called once browsers can connect.

    Raises LimitError.
    """
    most_connections(serving.viewers)  # before anything else uses descriptors
    if sys.version_info < (3, 12) and hasattr(os, "pidfd_open"):
        # No thread for each monitor, as in later releases: if none were available, a monitor would be left behind.
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
    return asyncio.run(_serve(serving, sockets, certificates, ready))


async def _serve(
    serving: Serving, sockets: Sockets, certificates: Certificates | None, ready: Callable[[], None]
) -> int:
    arrived = asyncio.Queue[int]()
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # ignored as nohup sets it
            asyncio.get_running_loop().add_signal_handler(number, arrived.put_nowait, number)
    async with running(serving, sockets, certificates):
        ready()
        return await arrived.get()


@asynccontextmanager
async def running(
    serving: Serving, sockets: Sockets, certificates: Certificates | None = None
) -> AsyncIterator[web.AppRunner]:
    """Serve while the context is open."""
    most = most_connections(serving.viewers)
    connections = Connections(
        most,
        most // 2,
        serving.note,
        certificates=certificates,
        is_known=serving.access.shows_token if serving.access.token is not None else None,
    )
    runner = web.AppRunner(ViewerSite(serving, connections).application(), shutdown_timeout=PATIENCE)
    await runner.setup()
    assert runner.server is not None
    try:
        async with accepting(connections, sockets, runner.server, serving.note):
            yield runner
    finally:
        await runner.cleanup()
