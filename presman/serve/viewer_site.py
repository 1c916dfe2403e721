"""Web application of `presman serve`: a page, the files it loads, a websocket for each viewer, downloads."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from aiohttp import WSMsgType, web
from msgspec import Struct

from presman.serve.browser_message import Pinged, packet_of, read_message, within
from presman.serve.door import Door
from presman.serve.pages import HEADERS, monitor_page, static_files, token_page
from presman.serve.seldom import Seldom
from presman.serve.viewer import File, Launch, Viewer

LARGEST_MESSAGE = 1 << 16
"""Bytes of a message from a browser: more is no key, and no text that anybody pastes."""

LARGEST_FORM = 4096

SEAT_IN = 5.0
"""Seconds that a page waits for a seat: one that is loaded again comes before its old monitor has ended."""

HEARTBEAT = 10.0
"""Seconds between two questions whether a browser is still there; it has half of that to answer."""

GOING_AWAY, WRONG_MESSAGE, FULL, HAS_QUIT, DIED = 1001, 1008, 1013, 4000, 4001
"""Codes that a websocket is closed with; presman.js says what they mean."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Serving(Struct, frozen=True):
    """What is served: the target's name, how a monitor of it is started, to whom, and to how many at once."""

    target: str
    launch: Launch
    door: Door
    viewers: int
    say: Callable[[str], None]


class ViewerSite:
    """The application, and who looks now."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._files = static_files()
        self._seats = asyncio.Semaphore(serving.viewers)
        self._came = 0
        self._sockets: set[web.WebSocketResponse] = set()
        self._downloads: dict[str, File] = {}
        self._ends = False
        self._refusals = Seldom(serving.say)

    def application(self) -> web.Application:
        """Return what aiohttp runs."""
        app = web.Application(middlewares=[self._guard], client_max_size=LARGEST_FORM)
        app.add_routes(
            [
                web.get("/", self._page),
                web.get("/alive", self._alive),
                web.post("/token", self._token),
                web.get("/static/{name}", self._static),
                web.get("/ws", self._watch, allow_head=False),
                web.get("/download/{key}", self._download, allow_head=False),
            ]
        )
        app.on_response_prepare.append(self._head)
        app.on_shutdown.append(self._close)
        return app

    # ---- who comes in

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let in who calls presman by its name, and has the token."""
        door = self._serving.door
        if not (door.knows(request.host) and "Host" in request.headers):
            text = "presman is not called so: --public says by which name it may be.\n"
            raise web.HTTPMisdirectedRequest(text=text)
        if request.path in {"/token", "/alive"} or self._is_admitted(request):
            return await handler(request)
        if request.path != "/":
            raise web.HTTPUnauthorized(text="This needs the token of presman serve.\n")
        given = request.query.get("token")
        if given is not None and door.opens_to(given):
            return self._with_pass(await handler(request))
        if given is not None:
            self._refused(request)
        return _html(token_page(self._serving.target, is_wrong=given is not None), 401)

    def _is_admitted(self, request: web.Request) -> bool:
        door = self._serving.door
        return door.admits(request.cookies.get(door.cookie, ""))

    def _with_pass(self, response: web.StreamResponse) -> web.StreamResponse:
        door = self._serving.door
        response.set_cookie(
            door.cookie, door.pass_for_token(), path=door.path, httponly=True, samesite="Strict",
            secure=door.is_encrypted,
        )  # fmt: skip
        return response

    def _refused(self, request: web.Request) -> None:
        self._refusals.say(f"a wrong token from {request.remote}")

    async def _token(self, request: web.Request) -> web.StreamResponse:
        """Take a token that was typed."""
        if request.content_type != "application/x-www-form-urlencoded":
            raise web.HTTPUnsupportedMediaType
        form = await request.post()
        if not self._serving.door.opens_to(str(form.get("token", ""))):
            self._refused(request)
            return _html(token_page(self._serving.target, is_wrong=True), 401)
        return self._with_pass(web.Response(status=303, headers={"Location": "./"}))

    async def _head(self, _request: web.Request, response: web.StreamResponse) -> None:
        for name, value in HEADERS.items():
            response.headers[name] = value

    # ---- what is there

    async def _page(self, _request: web.Request) -> web.StreamResponse:
        return _html(monitor_page(self._serving.target))

    async def _alive(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(status=204)

    async def _static(self, request: web.Request) -> web.StreamResponse:
        path = self._files.get(request.match_info["name"])
        if path is None:
            raise web.HTTPNotFound
        return web.FileResponse(path)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        """Hand over a file, once."""
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
            raise web.HTTPForbidden
        file = self._downloads.pop(request.match_info["key"], None)
        if file is None:
            raise web.HTTPNotFound
        name = "".join(each for each in file.name if each.isascii() and (each.isalnum() or each in "-_."))
        return web.Response(
            body=file.content,
            headers={
                "Content-Type": "text/csv; charset=utf-8" if file.kind == "text/csv" else "application/octet-stream",
                "Content-Disposition": f'attachment; filename="{name}"',
            },
        )

    # ---- who looks

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        """Run a monitor for a page as long as it is there."""
        if not self._serving.door.is_own(request.headers.get("Origin", ""), request.host):
            raise web.HTTPForbidden(text="This is not a page of presman.\n")
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT, max_msg_size=LARGEST_MESSAGE, timeout=2.0)
        await socket.prepare(request)
        self._sockets.add(socket)
        try:
            async with self._seat():
                if not self._ends and request.transport is not None:
                    await self._show(request, socket)
        except TimeoutError:
            await socket.close(code=FULL)
        finally:
            self._sockets.discard(socket)
        return socket

    @asynccontextmanager
    async def _seat(self) -> AsyncIterator[None]:
        """Have a seat. Raises TimeoutError if none is free for a while."""
        async with asyncio.timeout(SEAT_IN):
            await self._seats.acquire()
        try:
            yield
        finally:
            self._seats.release()

    async def _show(self, request: web.Request, socket: web.WebSocketResponse) -> None:
        self._came += 1
        who = f"viewer {self._came}"
        keys: list[str] = []

        async def offer(file: File) -> None:
            for old in keys:
                self._downloads.pop(old, None)
            keys[:] = [secrets.token_urlsafe(24)]
            self._downloads[keys[0]] = file
            await socket.send_json(["deliver_file_start", keys[0]])

        viewer = Viewer(self._serving.launch, socket.send_bytes, offer)
        self._serving.say(f"{who} came from {request.remote}")
        wrong = ""
        try:
            await viewer.start(*_size(request))
            shown = asyncio.create_task(_run(viewer, socket))
            try:
                await _pass_on(socket, viewer)
            finally:
                viewer.leave()
                wrong = await shown
        except OSError as error:  # no more processes, or files
            wrong = f"cannot be started: {error.strerror or error}"
            await socket.close(code=DIED)
        finally:
            for old in keys:
                self._downloads.pop(old, None)
            self._serving.say(f"{who} has gone" + (f"; the monitor {wrong}" if wrong else ""))

    async def _close(self, _app: web.Application) -> None:
        """Have everybody go, and nobody come."""
        self._ends = True
        await asyncio.gather(*(socket.close(code=GOING_AWAY) for socket in set(self._sockets)))


async def _run(viewer: Viewer, socket: web.WebSocketResponse) -> str:
    """Show a monitor until it ends, tell the browser how it did, and return what was wrong."""
    try:
        return await viewer.run()
    finally:
        await socket.close(code=HAS_QUIT if viewer.has_quit else DIED)


async def _pass_on(socket: web.WebSocketResponse, viewer: Viewer) -> None:
    """Hand what a browser sends to the monitor until one of them has gone."""
    with suppress(ConnectionError, TimeoutError):
        async for each in socket:
            try:
                if each.type is not WSMsgType.TEXT:
                    raise ValueError
                message = read_message(each.data)
            except ValueError:
                await socket.close(code=WRONG_MESSAGE)
                return
            if isinstance(message, Pinged):
                await socket.send_json(["pong", message.stamp])
            else:
                await viewer.send(packet_of(message))


def _size(request: web.Request) -> tuple[int, int]:
    """Return the columns and rows that a page asks for, those of a plain terminal where it makes no sense."""
    try:
        return within(*(int(request.query[name][:9]) for name in ("width", "height")))
    except (KeyError, ValueError):
        return 80, 24


def _html(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, status=status, content_type="text/html", charset="utf-8")
