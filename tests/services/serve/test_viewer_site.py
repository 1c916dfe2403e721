"""Viewer site: the web server on loopback, with a small program in place of the monitor; tests/real has browsers."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType, web
from aiohttp.test_utils import make_mocked_request
from aiohttp.web import AppRunner
from msgspec.structs import replace
from yarl import URL

from presman.base.certificates import CertificateFiles, Certificates
from presman.base.errors import InputError, LimitError
from presman.base.listeners import RateLimited
from presman.base.secret import Secret
from presman.services import listener
from presman.services.listener import listening_sockets
from presman.services.serve import viewer_site, viewer_slots
from presman.services.serve.access import Access, Launch, Serving
from presman.services.serve.viewer_site import HEADERS, running
from tests.oracle.test_login import Authority
from tests.patience import PATIENCE
from tests.services.serve.test_access import LOOPBACK, OPEN, PROXIED
from tests.thorough import some
from tests.tui.drive import acted

STAND_IN = (sys.executable, "-S", str(Path(__file__).parent / "stand_in.py"))

TOKEN = OPEN.token.reveal() if OPEN.token else ""


class Site:
    """The server, a browser's session with it, and the server's messages."""

    def __init__(self, runner: AppRunner, session: aiohttp.ClientSession, log: list[str], port: int) -> None:
        self.runner = runner
        self.session = session
        self.log = log
        self.url = URL.build(scheme="http", host="127.0.0.1", port=port)
        self.get, self.post = session.get, session.post

    @property
    def here(self) -> dict[str, str]:
        return {"Origin": str(self.url.origin())}

    async def look(self, size: str = "width=90&height=30", **headers: str) -> aiohttp.ClientWebSocketResponse:
        return await self.session.ws_connect(f"/ws?{size}", headers=self.here | headers)

    async def logged(self, text: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while not any(text in line for line in self.log):
                await asyncio.sleep(0.005)


@asynccontextmanager
async def site(
    access: Access = LOOPBACK,
    viewers: int = 2,
    orders: str = '{"name": "monitor"}',
    command: tuple[str, ...] = STAND_IN,
    certificates: Certificates | None = None,
) -> AsyncIterator[Site]:
    log: list[str] = []
    launch = Launch(command, Secret(orders), {"PATH": os.defpath})
    serving = Serving("demo:<b>mixed</b>", launch, access, viewers, log.append)
    scheme = "https" if certificates else "http"
    sockets = listening_sockets("127.0.0.1", 0)
    port = sockets[0].getsockname()[1]
    async with running(serving, sockets, certificates) as runner:
        base = URL.build(scheme=scheme, host="127.0.0.1", port=port)
        async with aiohttp.ClientSession(base, cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            yield Site(runner, session, log, port)


async def shown(line: aiohttp.ClientWebSocketResponse, text: str) -> str:
    """Wait until a text was sent to the terminal."""
    found = ""
    while text not in found:
        message = await line.receive(PATIENCE)
        assert message.type is WSMsgType.BINARY, (message, found)
        found += message.data.decode()
    return found


async def closing(line: aiohttp.ClientWebSocketResponse) -> int | None:
    """Wait for the end, and return its code."""
    async with asyncio.timeout(PATIENCE):
        async for _ in line:
            pass
    return line.close_code


@acted
async def test_the_page_loads_nothing_from_elsewhere_and_has_a_strict_policy() -> None:
    async with site() as client:
        async with client.get("/") as answer:
            text = await answer.text()
            assert answer.status == 200
            for name, value in HEADERS.items():
                assert answer.headers[name] == value
        assert "//" not in text
        assert "demo:&lt;b&gt;mixed&lt;/b&gt;" in text
        for name in ("presman.js", "presman.css", "presman.svg", "textual.js", "xterm.css", "RobotoMono.ttf"):
            async with client.get(f"/static/{name}") as answer:
                assert (answer.status, answer.headers["X-Content-Type-Options"]) == (200, "nosniff")


def test_missing_files_of_the_terminal_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(viewer_site, "files", lambda _: tmp_path)
    with pytest.raises(
        InputError, match=r"textual\.js is missing: this release of textual-serve is not one that presman can use$"
    ):
        viewer_site.static_files()


@acted
@pytest.mark.parametrize(
    "path",
    [
        "/static/", "/static/../connections.py", "/static/%2e%2e/connections.py", "/static/..%2fconnections.py",
        "/static/%00",
        "/static//etc/passwd", "/static/monitor.html", "/download/", "/download/x", "/nothing",
    ],
)  # fmt: skip
async def test_other_paths_are_not_found(path: str) -> None:
    async with site() as client:
        url = client.url.with_path(path, encoded=True)
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            assert answer.status == 404


@acted
async def test_other_host_names_are_refused() -> None:
    async with site() as client:
        for path in ("/", "/static/presman.js", "/ws", "/alive"):
            async with client.get(path, headers={"Host": "evil.example"}) as answer:
                assert answer.status == 421


@acted
async def test_pages_of_other_origins_get_no_websocket() -> None:
    async with site() as client:
        for origin in ("http://evil.example", "null", str(client.url.with_scheme("https").origin()), ""):
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await client.look(Origin=origin)
        assert client.log == []


@acted
async def test_without_the_token_nothing_is_served() -> None:
    async with site(OPEN) as client:
        for path in ("/", "/?token=", "/?token=wrong", "/static/presman.js", "/ws", "/download/x"):
            async with client.get(path, headers=client.here) as answer:
                assert answer.status == 401, path
                assert "Set-Cookie" not in answer.headers
                assert "mixed" not in await answer.text(), "not even a name"
        with pytest.raises(aiohttp.WSServerHandshakeError, match="401"):
            await client.look(Cookie=f"{OPEN.cookie}={TOKEN}")
        async with client.post("/token", data={"token": "wrong"}) as answer:
            assert answer.status == 401
            assert "That is not the token." in await answer.text()
        async with client.post("/token", data={"token": "x" * 10_000}) as answer:
            assert answer.status == 413
        async with client.post("/token", data=b"x", headers={"Content-Type": "multipart/form-data"}) as answer:
            assert answer.status == 415
        assert client.log == ["a wrong token from 127.0.0.1"], "one line, not four"


@acted
async def test_the_token_becomes_a_private_cookie() -> None:
    async with site(OPEN) as client:
        async with client.get("/", params={"token": TOKEN}) as answer:
            assert answer.status == 200
            cookie = answer.headers["Set-Cookie"]
        assert TOKEN not in cookie
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
        async with client.get("/static/presman.js") as answer:
            assert answer.status == 200
        async with await client.look() as line:
            await shown(line, "monitor 90x30")


@acted
async def test_a_token_that_is_typed_is_as_good() -> None:
    async with site(PROXIED) as client, client.post("/token", data={"token": TOKEN}, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (303, "./")
        assert {"Secure", "Path=/prod/"} <= set(answer.headers["Set-Cookie"].split("; "))


@acted
async def test_keys_reach_the_monitor_and_its_screen_the_browser() -> None:
    async with site() as client, await client.look() as line:
        await shown(line, "monitor 90x30")
        await line.send_str('["stdin", "4\\ud800\\u001b"]')
        await shown(line, "D:4?\x1b")
        await line.send_json(["resize", {"width": 10**9, "height": -1}])
        await shown(line, 'M:{"type": "resize", "width": 1000, "height": 1}')
        await line.send_json(["focus"])
        await shown(line, '"focus"')
        await line.send_json(["ping", "17"])
        assert (await line.receive_json()) == ["pong", "17"]
        await line.send_json(["stdin", "q"])
        assert await closing(line) == viewer_slots.HAS_QUIT
        await client.logged("viewer 1 has left")
        assert client.log == ["viewer 1 came from 127.0.0.1", "viewer 1 has left"]


@acted
async def test_a_file_is_handed_over_once_to_its_viewer_alone() -> None:
    async with site(OPEN) as client:
        async with client.get("/", params={"token": TOKEN}):
            line = await client.look()
        await shown(line, "monitor")
        await line.send_json(["stdin", "e"])
        kind, key = await line.receive_json()
        assert kind == "deliver_file_start"
        path = f"/download/{key}"
        async with aiohttp.ClientSession() as stranger, stranger.get(client.url.with_path(path)) as answer:
            assert answer.status == 401
        async with client.get(path, headers={"Sec-Fetch-Site": "cross-site"}) as answer:
            assert answer.status == 403
        async with client.get(path) as answer:
            assert await answer.text() == "time,x\n"
            assert answer.headers["Content-Disposition"] == 'attachment; filename="a..b.csv"'
        async with client.get(path) as answer:
            assert answer.status == 404
        await line.send_json(["stdin", "e"])
        _, key = await line.receive_json()
        await line.close()
        await client.logged("viewer 1 has left")
        async with client.get(f"/download/{key}") as answer:
            assert answer.status == 404, "it ended with its viewer"


@acted
@pytest.mark.parametrize(
    ("message", "code"),
    some(
        [
            ('["resize", {"width": 1e99, "height": 1}]', viewer_slots.WRONG_MESSAGE),
            (b"\0", viewer_slots.WRONG_MESSAGE),
            ("x" * viewer_slots.LARGEST_MESSAGE * 2, 1009),
        ],
        [(text, viewer_slots.WRONG_MESSAGE) for text in ("{", '["rm", "x"]', '["stdin", 4]', "[" * 60_000)],
    ),
    ids=lambda value: f"{len(value)} characters" if isinstance(value, (str, bytes)) else None,
)
async def test_an_invalid_message_ends_the_connection_and_the_monitor(message: str | bytes, code: int) -> None:
    async with site() as client, await client.look() as line:
        await shown(line, "monitor")
        await (line.send_bytes(message) if isinstance(message, bytes) else line.send_str(message))
        assert await closing(line) == code
        await client.logged("viewer 1 has left")


@acted
async def test_a_monitor_that_dies_is_reported_on_both_sides() -> None:
    async with site() as client:
        async with await client.look() as line:
            await shown(line, "monitor")
            await line.send_json(["stdin", "k"])
            assert await closing(line) == viewer_slots.DIED
        await client.logged("viewer 1 has left; the monitor was killed by SIGABRT")
    async with site(orders='{"fails": 1}') as client:
        async with await client.look("width=x&height=y") as line:
            assert await closing(line) == viewer_slots.DIED
        await client.logged("viewer 1 has left; the monitor ended with code 2: presman: no target of that name")


@acted
async def test_a_monitor_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer_slots, "GRACE", 0.1)
    async with site(viewers=1, orders='{"name": "deaf", "stays": 1}') as client:
        line = await client.look()
        await shown(line, "deaf")
        await line.close()
        await client.logged("viewer 1 has left; the monitor did not end when asked to, and was killed")
        async with await client.look() as line:
            await shown(line, "deaf")


@acted
@pytest.mark.parametrize("hangs", [True, False])
async def test_a_monitor_that_does_not_answer_is_killed(monkeypatch: pytest.MonkeyPatch, hangs: bool) -> None:
    monkeypatch.setattr(viewer_slots, "ASKED_EVERY", 0.02)
    monkeypatch.setattr(viewer_slots, "SILENT_FOR", 0.1 if hangs else PATIENCE)
    async with site(orders=f'{{"name": "monitor", "hangs": {int(hangs)}}}') as client, await client.look() as line:
        await shown(line, "monitor")
        if hangs:
            assert await closing(line) == viewer_slots.DIED
            await client.logged("the monitor showed nothing and did not answer for 0.1 s, and was killed")
        else:
            await line.send_json(["stdin", "x"])
            await shown(line, "D:x ")


@acted
async def test_a_monitor_that_is_still_starting_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer_slots, "GRACE", 10 * PATIENCE)
    sleeping = (sys.executable, "-S", "-c", "import time; time.sleep(600)")
    async with site(command=sleeping) as client:
        line = await client.look()
        await client.logged("viewer 1 came")
        await line.close()
        await client.logged("viewer 1 has left")
        assert client.log[-1].endswith("viewer 1 has left")


@acted
async def test_viewers_are_limited_and_a_waiting_page_gets_a_free_place(monkeypatch: pytest.MonkeyPatch) -> None:
    async with site(viewers=1) as client:
        first = await client.look()
        await shown(first, "monitor")
        async with await client.look() as second:
            await first.close()
            await shown(second, "monitor")  # like a reloaded page
            monkeypatch.setattr(viewer_slots, "SLOT_WITHIN", 0.05)
            async with await client.look() as third:
                assert await closing(third) == viewer_slots.FULL
        await client.logged("viewer 2 has left")
        assert len(client.log) == 4


@acted
async def test_a_server_that_ends_sends_everybody_away() -> None:
    async with site() as client:
        lines = [await client.look(), await client.look()]
        for line in lines:
            await shown(line, "monitor")
        codes = asyncio.gather(*map(closing, lines))
        await client.runner.cleanup()
        assert await codes == [viewer_slots.GOING_AWAY] * 2
        assert sorted(client.log)[1::2] == ["viewer 1 has left", "viewer 2 has left"]


@acted
async def test_a_server_that_ends_waits_for_no_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "SILENCE", 2 * PATIENCE)
    monkeypatch.setattr(viewer_slots, "ANSWERED_WITHIN", 0.01)
    async with site() as client:
        monkeypatch.setattr(client.runner, "_shutdown_timeout", 2 * PATIENCE)
        line = await client.look()
        await shown(line, "monitor")
        ((reader, writer),) = await lines_with(SLOW_BODY, 1, client.url.port)
        await acquainted(client.url.port)
        code = asyncio.create_task(closing(line))
        async with asyncio.timeout(PATIENCE):
            await client.runner.cleanup()
            assert await code == viewer_slots.GOING_AWAY, "the viewer gets the message anyway"
            with suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()


@acted
async def test_a_client_that_does_not_read_a_file_is_disconnected_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer_slots, "ANSWERED_WITHIN", 0.01)
    async with site() as client:
        monkeypatch.setattr(client.runner, "_shutdown_timeout", 2 * PATIENCE)
        with socket.socket() as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.setblocking(False)
            await asyncio.get_running_loop().sock_connect(line, ("127.0.0.1", client.url.port))
            asked = b"GET /static/textual.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20
            await asyncio.get_running_loop().sock_sendall(line, asked)  # more than the system buffers
            await acquainted(client.url.port)
            async with asyncio.timeout(PATIENCE):
                await client.runner.cleanup()
        assert client.log == []


async def acquainted(port: int | None) -> None:
    """Wait until the server has read all earlier data."""
    ((reader, writer),) = await lines_with(b"GET /alive HTTP/1.1\r\nHost: localhost\r\n\r\n", 1, port)
    assert b"204" in await reader.readline()
    writer.close()


@acted
async def test_a_monitor_that_cannot_be_started_is_reported() -> None:
    async with site(command=("/nonexistent/presman",)) as client:
        async with await client.look() as line:
            assert await closing(line) == viewer_slots.DIED
        await client.logged("the monitor cannot be started: No such file or directory")


@acted
async def test_over_tls_a_renewed_certificate_is_taken(tmp_path: Path) -> None:
    authority = Authority("an authority")
    path = authority.issue(tmp_path / "both.pem", "first")
    (tmp_path / "authority.pem").write_bytes(authority.pem())
    trusting = ssl.create_default_context(cafile=str(tmp_path / "authority.pem"))

    async def holder(port: int) -> str:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
        names = writer.get_extra_info("peercert")["subject"]
        writer.close()
        return str(names[0][0][1])

    secure = replace(LOOPBACK, secure=True)
    async with site(secure, certificates=Certificates(CertificateFiles(path))) as client:
        port = client.url.port or 0
        assert await holder(port) == "first"
        authority.issue(path, "second")
        os.utime(path, (1, 1))
        assert await holder(port) == "second"
        here = {"Origin": f"https://127.0.0.1:{port}"}
        async with client.session.ws_connect("/ws?width=90&height=30", headers=here, ssl=trusting) as line:
            await shown(line, "monitor 90x30")


@acted
async def test_a_connection_that_brings_no_request_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "SILENCE", 0.05)
    async with site() as client, await client.look() as line:
        await shown(line, "monitor")
        reader, writer = await asyncio.open_connection("127.0.0.1", client.url.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        async with asyncio.timeout(PATIENCE):
            assert await reader.read() == b""
        writer.close()
        await line.send_json(["focus"])
        await shown(line, '"focus"')


SLOW_BODY = (
    b"POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 4000\r\n\r\ntok"
)
"""Beginnings of requests that never end."""


async def lines_with(
    data: bytes, number: int, port: int | None
) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Return `number` connections on which `data` was sent."""
    lines = [await asyncio.open_connection("127.0.0.1", port) for _ in range(number)]
    for _, writer in lines:
        writer.write(data)
    return lines


@acted
@pytest.mark.parametrize("data", [SLOW_BODY, SLOW_BODY[:30], b""], ids=["bodies", "heads", "nothing"])
async def test_a_client_with_the_token_gets_in_beside_a_crowd_of_its_address(
    monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    monkeypatch.setattr(viewer_site, "most_connections", lambda viewers: 8)  # half of them for one address
    async with site(OPEN) as client:
        async with client.get("/", params={"token": TOKEN}) as answer:
            assert answer.status == 200
        crowd = await lines_with(data, 40, client.url.port)
        async with aiohttp.ClientSession(client.url) as another, another.get("/", params={"token": TOKEN}) as answer:
            assert answer.status == 200
        async with await client.look() as line:
            await shown(line, "monitor 90x30")
            crowd += await lines_with(data, 20, client.url.port)
            await line.send_json(["focus"])
            await shown(line, '"focus"')
        messages = [line for line in client.log if line.startswith("web server")]
        full = ["web server: all connections are in use: idle ones are closed, or new ones refused"]
        assert messages == (full if data else []), "a silent connection takes no place"
        for _, writer in crowd:
            writer.close()


@acted
@pytest.mark.parametrize("access", [OPEN, LOOPBACK], ids=["token", "none asked for"])
async def test_a_missing_body_times_out(monkeypatch: pytest.MonkeyPatch, access: Access) -> None:
    monkeypatch.setattr(listener, "SILENCE", 0.05)
    monkeypatch.setattr(listener, "LINGERING", 0.05)
    async with site(access) as client:
        ((reader, writer),) = await lines_with(SLOW_BODY, 1, client.url.port)
        answer = b""
        async with asyncio.timeout(PATIENCE):
            with suppress(ConnectionResetError):  # if the server had not read everything
                answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 408 ") or not answer
        writer.close()


@acted
async def test_the_body_of_a_closed_connection_is_not_awaited() -> None:
    async def post() -> None:
        await asyncio.Event().wait()

    gone: Any = SimpleNamespace(content_type="application/x-www-form-urlencoded", transport=None, post=post)
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(web.HTTPRequestTimeout):
            await viewer_site.ViewerSite._token(SimpleNamespace(), gone)  # type: ignore[arg-type]


@acted
async def test_a_connection_that_cannot_be_accepted_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "REST", 0.001)
    loop = asyncio.get_running_loop()
    accept, failures = loop.sock_accept, iter([errno.EMFILE] * 5 + [errno.ECONNABORTED])

    async def failing(listening: socket.socket) -> tuple[socket.socket, Any]:
        number = next(failures, 0)
        if number:
            raise OSError(number, os.strerror(number))
        return await accept(listening)

    monkeypatch.setattr(loop, "sock_accept", failing)
    async with site() as client, client.get("/alive") as answer:
        assert answer.status == 204
        assert client.log == ["web server: no connection can be accepted: Too many open files"]


@pytest.mark.parametrize(
    ("query", "size"),
    [
        ("?width=120&height=35", (120, 35)),
        ("?width=120", (80, 24)),
        ("?width=wide&height=35", (80, 24)),
        ("", (80, 24)),
    ],
)
def test_a_page_without_a_size_has_that_of_a_plain_terminal(query: str, size: tuple[int, int]) -> None:
    assert viewer_slots._size(make_mocked_request("GET", f"/ws{query}")) == size


def test_connections_are_limited_by_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = [resource.RLIM_INFINITY]
    monkeypatch.setattr(resource, "getrlimit", lambda _: (allowed[0], allowed[0]))
    assert viewer_site.most_connections(4) == 260
    allowed[0] = 256  # 88 for presman, 10 for each of 4 monitors, 1 for each connection
    assert viewer_site.most_connections(4) == 128
    allowed[0] = 147
    with pytest.raises(LimitError, match=r"\(ulimit -n\) are limited to 147: --viewers 4 takes 148$"):
        viewer_site.most_connections(4)
    allowed[0] = 148
    assert viewer_site.most_connections(4) == 20


@acted
async def test_in_a_flood_only_connections_with_a_slot_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are closed before anything is allocated; otherwise the server could not keep up with them."""
    monkeypatch.setattr(listener, "TURN", PATIENCE)
    made: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as lines:
        listening.setblocking(False)
        for _ in range(50):
            lines.enter_context(socket.create_connection(listening.getsockname())).sendall(SLOW_BODY)
        some = listener.Connections(8, 4, lambda _: None, is_known=lambda _: False)

        def server() -> asyncio.Protocol:
            made.append(asyncio.Protocol())
            return made[-1]  # type: ignore[return-value]

        accepting = asyncio.create_task(some.accept(listening, server))  # type: ignore[arg-type]
        async with asyncio.timeout(PATIENCE):
            while not made:
                await asyncio.sleep(0)
        with pytest.raises(BlockingIOError):
            listening.accept()
        assert len(made) == 4, "half of all places are for one address"
        accepting.cancel()
        some.cut_all_but(())
        await asyncio.wait([accepting])


@acted
async def test_errors_caused_by_clients_are_one_line() -> None:
    async with site() as client:
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", client.url.port)
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.0 400 ")
            writer.close()
        asyncio.get_running_loop().call_exception_handler({"message": "no more files", "exception": OSError("x")})
        (line,) = client.log
        assert line.startswith("web server: Error handling request from 127.0.0.1: BadHttpMe")


def test_omitted_lines_are_counted() -> None:
    log: list[str] = []
    now = [100.0]
    seldom = RateLimited(log.append, lambda: now[0])
    for text in "abc":
        seldom.note(text)
    now[0] += 10.0
    seldom.note("d")
    assert log == ["a", "d (and 2 more before)"]


def test_room_for_connections_is_checked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def none_left(viewers: int) -> int:
        asked.append(viewers)
        raise LimitError("too few")

    monkeypatch.setattr(viewer_site, "most_connections", none_left)
    monkeypatch.setattr(viewer_site.asyncio, "run", lambda served: served.close())
    with pytest.raises(LimitError):
        viewer_site.run(SimpleNamespace(viewers=7), [], None, lambda: None)  # type: ignore[arg-type]
    assert asked == [7]
