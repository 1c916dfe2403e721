"""Web server of metrics: access, and that no client can block it."""

from __future__ import annotations

import asyncio
import base64
import gc
import gzip
import http.client
import os
import resource
import socket
import ssl
import sys
import threading
from asyncio import sslproto
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from aiohttp import web

from presman.base import listeners
from presman.base.certificates import CertificateError, CertificateFiles, Certificates
from presman.base.errors import InputError
from presman.base.secret import Secret
from presman.services import listener
from presman.services.metrics import web_server
from presman.services.metrics.metric_page import Exposition
from presman.services.metrics.web_server import Credentials, WebApp, WebServer
from tests.oracle.test_login import Authority
from tests.patience import PATIENCE, until
from tests.services.metrics.observed import Shown, observed
from tests.tui.drive import acted

PASSWORD = "pä:ss wörd"
HOST = "127.0.0.1"


class Site:
    """A server with one database, and requests to it."""

    def __init__(self, credentials: Credentials | None = None, certificates: Certificates | None = None) -> None:
        self.healthy = True
        exposition = Exposition([Shown(observed("mixed"))])  # type: ignore[list-item]
        self.server = WebServer(WebApp(exposition, lambda: self.healthy, credentials), HOST, 0, certificates)
        self.port = int(self.server.url.rpartition(":")[2])
        self.server.start()

    def ask(self, path: str = "/metrics", method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=30)
        return answer(connection, path, method, {name.replace("_", "-"): value for name, value in headers.items()})


def answer(
    connection: http.client.HTTPConnection, path: str, method: str = "GET", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    try:
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.server.stop()


@pytest.fixture(scope="module")
def guarded() -> Iterator[Site]:
    made = Site(Credentials("prometheus", Secret(PASSWORD)))
    yield made
    made.server.stop()


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("an authority")


def test_the_page_and_its_health(site: Site) -> None:
    status, headers, body = site.ask()
    assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert b"presman_group_cpu_seconds_total{" in body
    assert headers["server"] == "presman"
    status, headers, packed = site.ask(Accept_Encoding="gzip", Accept="application/openmetrics-text; version=1.0.0")
    assert headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed).endswith(b"# EOF\n")
    assert len(packed) < 8_000
    assert site.ask("/-/healthy")[0] == 200
    site.healthy = False
    assert site.ask("/-/healthy")[0] == 503
    site.healthy = True


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", "/metrics", 200), ("POST", "/metrics", 405), ("DELETE", "/-/healthy", 405), ("GET", "/", 404),
        ("GET", "/metrics/../etc/passwd", 404), ("GET", "/metrics?name[]=x", 200),
    ],
)  # fmt: skip
def test_requests_for_other_paths_and_methods(site: Site, method: str, path: str, status: int) -> None:
    found, _, body = site.ask(path, method)
    assert found == status
    assert bool(body) is (method != "HEAD")


def test_the_page_needs_the_password(guarded: Site) -> None:
    assert guarded.ask(Authorization=basic("prometheus", PASSWORD))[0] == 200
    status, headers, body = guarded.ask()
    assert (status, headers["www-authenticate"]) == (401, 'Basic realm="presman", charset="UTF-8"')
    assert b"presman_" not in body
    assert guarded.ask("/-/healthy")[0] == 200
    assert guarded.ask("/anything")[0] == 401


@pytest.mark.parametrize(
    "header",
    [
        "", "Basic", "Basic !!!", "Basic " + "A" * 8000, "Bearer x", basic("prometheus", ""), basic("", PASSWORD),
        basic("Prometheus", PASSWORD), basic("prometheus", PASSWORD + "x"), "Basic \x80",
    ],
)  # fmt: skip
def test_wrong_credentials_are_refused(guarded: Site, header: str) -> None:
    assert guarded.ask(Authorization=header)[0] == 401


def test_the_scheme_is_known_in_any_case(guarded: Site) -> None:
    assert guarded.ask(Authorization=basic("prometheus", PASSWORD).replace("Basic", "bAsIc"))[0] == 200


def test_bytes_that_are_no_http_do_not_harm_the_server(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    for data in (
        b"",
        b"\x16\x03\x01\x02\x00",
        b"GET " + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET\r\n\r\n",
        b"\0" * 99,
    ):
        with socket.create_connection((HOST, site.port), timeout=30) as line, suppress(OSError):
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            while line.recv(4096):
                pass
    assert site.ask()[0] == 200
    assert capsys.readouterr().err == ""


def _raw(port: int, data: bytes) -> bytes:
    """Return the whole answer to some bytes."""
    with socket.create_connection((HOST, port), timeout=30) as line:
        line.sendall(data)
        return b"".join(iter(lambda: line.recv(4096), b""))


@pytest.mark.parametrize(
    "data",
    [
        b"GET /" + b"x" * 65_532,
        b"GET /metrics HTTP/1.1\r\nAuthorization: Basic " + b"A" * 9000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 129 + b"\r\n",
        b"GET / HTTP/one\r\n\r\n",
        b"GET / <b>HTTP/1.1\r\n\r\n",
        b"GET /metrics <script>\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
    ],
    ids=["long path", "long password", "many headers", "no version", "words", "version", "no path", "TLS"],
)
def test_an_invalid_request_gets_a_plain_answer(site: Site, data: bytes) -> None:
    head, _, body = _raw(site.port, data).partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"HTTP/1.0 400 Bad Request"
    assert b"Content-Type: text/plain; charset=utf-8" in lines
    assert b"Server: presman" in lines
    assert body == b"400 Bad Request\n"
    assert b"Python" not in head


@pytest.mark.parametrize(
    ("sent", "secure"),
    [(b"", False), (b"GET /metrics HTTP/1.1\r\nHost: x\r\n", False), (b"", True)],
    ids=["nothing", "half a request", "no handshake"],
)
def test_silent_connections_make_room_for_requests(
    site: Site, authority: Authority, tmp_path: Path, sent: bytes, monkeypatch: pytest.MonkeyPatch, *, secure: bool
) -> None:
    monkeypatch.setattr(listener, "SILENCE", 3.0)
    made = Site(None, Certificates(CertificateFiles(authority.issue(tmp_path / "a.pem", HOST)))) if secure else site
    lines = [socket.create_connection((HOST, made.port), timeout=30) for _ in range(web_server.AT_ONCE + 4)]
    for line in lines:
        line.sendall(sent)
    context = ssl._create_unverified_context()
    for _ in range(3):
        connection = (
            http.client.HTTPSConnection(HOST, made.port, context=context, timeout=30)
            if secure
            else http.client.HTTPConnection(HOST, made.port, timeout=30)
        )
        assert answer(connection, "/metrics")[0] == 200
    with suppress(ConnectionResetError):
        assert lines[0].recv(1) == b""
    for line in lines:
        line.close()
    if secure:
        made.server.stop()


def test_a_silent_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "SILENCE", 0.2)
    site = Site()
    lines = [socket.create_connection((HOST, site.port), timeout=30) for _ in range(web_server.AT_ONCE)]
    for line in lines:
        line.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
    with suppress(ConnectionResetError):
        assert lines[0].recv(1) == b""
    until(lambda: _answers(site), "the server answers again")
    for line in lines:
        line.close()
    site.server.stop()
    with pytest.raises(ConnectionRefusedError):
        site.ask()


def _answers(site: Site) -> bool:
    try:
        return site.ask("/-/healthy")[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def _with_a_large_page(monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(WebApp, "answer", lambda _, __, is_allowed: web.Response(body=b"x" * (16 << 20)))
    return Site()


def test_a_connection_that_does_not_read_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "GRACE", 0.05)
    site = _with_a_large_page(monkeypatch)
    lines = [_asked(site.port) for _ in range(web_server.AT_ONCE)]
    until(lambda: len(site.server._connections._open) >= web_server.OF_ADDRESS, "all places of this address are taken")
    monkeypatch.undo()
    until(lambda: _answers(site), "the server answers")
    for line in lines:
        line.close()
    site.server.stop()


def test_a_connection_that_reads_too_slowly_is_closed_silently(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(web_server, "LONGEST", 0.3)
    site = _with_a_large_page(monkeypatch)
    line = _asked(site.port)
    assert line.recv(1) == b"H"
    until(lambda: not site.server._connections._open, "it is let go")
    line.close()
    site.server.stop()
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has one address on loopback")
def test_a_connection_with_the_password_gets_a_place_in_a_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    """All waiting connections are accepted together. Nothing is allocated for those that get no place."""
    monkeypatch.setattr(listener, "TURN", PATIENCE)
    server = WebServer(WebApp(Exposition([]), lambda: True, Credentials("prometheus", Secret(PASSWORD))), HOST, 0)
    begun: list[str] = []

    async def make(connection: Any, _protocol: object, _context: object) -> None:
        begun.append(connection.address)

    monkeypatch.setattr(server._connections, "_make", make)
    header = f"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: {basic('prometheus', PASSWORD)}\r\n\r\n"
    with ExitStack() as lines:
        for number in range(80):
            own = (f"127.0.0.{number + 2}", 0)
            line = lines.enter_context(socket.create_connection(server._sockets[0].getsockname(), 30, own))
            line.sendall(header.encode() if number == 75 else b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
        asyncio.run(_one_turn(server, begun))
        assert begun == [*(f"127.0.0.{number}" for number in range(2, 18)), "127.0.0.77"]
        server._connections.cut_all_but(())
    server.stop()


async def _one_turn(server: WebServer, begun: list[str]) -> None:
    """Accept once."""
    accepting = asyncio.create_task(server._connections.accept(server._sockets[0], lambda: None))  # type: ignore[arg-type,return-value]
    async with asyncio.timeout(PATIENCE):
        while not begun:
            await asyncio.sleep(0)
    accepting.cancel()
    await asyncio.wait([accepting])


def test_a_slow_request_beside_a_silent_crowd_is_answered(guarded: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each connection has a moment to send something, which is read before the connection is closed."""
    monkeypatch.setattr(listener, "MOMENT", 0.05)
    with ExitStack() as lines:

        def come(number: int) -> list[socket.socket]:
            return [lines.enter_context(socket.create_connection((HOST, guarded.port), 30)) for _ in range(number)]

        header = f"Host: x\r\nAuthorization: {basic('prometheus', PASSWORD)}\r\n\r\n"
        come(listener.SILENT - 1)
        until(lambda: len(guarded.server._connections._silent) == listener.SILENT - 1, "they are accepted")
        (owner,) = come(1)
        come(listener.SILENT)
        owner.sendall(f"GET /metrics HTTP/1.1\r\n{header}".encode())
        assert owner.recv(15) == b"HTTP/1.1 200 OK"
    assert guarded.ask(Authorization=basic("prometheus", PASSWORD))[0] == 200


def _asked(port: int) -> socket.socket:
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    line.connect((HOST, port))
    line.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    return line


def test_many_at_once_are_answered_or_turned_away(site: Site) -> None:
    answers: list[int] = []

    def ask() -> None:
        with suppress(OSError, http.client.HTTPException):
            answers.append(site.ask()[0])

    threads = [threading.Thread(target=ask) for _ in range(40)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert set(answers) == {200}
    assert site.ask()[0] == 200


def test_an_address_in_use_is_reported(site: Site) -> None:
    app = WebApp(Exposition([]), lambda: True)
    with pytest.raises(InputError, match=f"cannot listen at 127.0.0.1:{site.port}: Address already in use"):
        WebServer(app, HOST, site.port)
    with pytest.raises(InputError, match=r"cannot listen at no\.such\.host\.invalid:9730: "):
        WebServer(app, "no.such.host.invalid", 9730)
    with pytest.raises(InputError, match=r"cannot listen at \[2001:db8::1\]:9730: "):
        WebServer(app, "2001:db8::1", 9730)


# -- TLS --------------------------------------------------------------------------------------------------------


def test_over_tls_with_certificates_on_both_sides(tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "ca.pem").write_bytes(authority.pem())
    server = authority.issue(tmp_path / "server.pem", "localhost")
    client = authority.issue(tmp_path / "client.pem", "prometheus")
    site = Site(None, Certificates(CertificateFiles(server, clients=tmp_path / "ca.pem")))
    assert site.server.url.startswith("https://")
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    context.check_hostname = False
    with pytest.raises((ssl.SSLError, OSError, http.client.HTTPException)):
        answer(http.client.HTTPSConnection(HOST, site.port, context=context, timeout=30), "/metrics")
    context.load_cert_chain(client)
    assert answer(http.client.HTTPSConnection(HOST, site.port, context=context, timeout=30), "/metrics")[0] == 200
    with pytest.raises((OSError, http.client.HTTPException)):
        site.ask()  # plain HTTP
    site.server.stop()


@pytest.fixture
def encrypted(tmp_path: Path, authority: Authority) -> Iterator[Site]:
    """A server with TLS and a password."""
    server = authority.issue(tmp_path / "server.pem", "localhost")
    made = Site(Credentials("prometheus", Secret(PASSWORD)), Certificates(CertificateFiles(server)))
    yield made
    made.server.stop()


def _shaken(site: Site, lines: ExitStack) -> ssl.SSLSocket:
    context = ssl._create_unverified_context()
    return lines.enter_context(context.wrap_socket(socket.create_connection((HOST, site.port), 30)))


def _gets_the_page(line: socket.socket) -> bool:
    line.sendall(f"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: {basic('prometheus', PASSWORD)}\r\n\r\n".encode())
    return line.recv(15) == b"HTTP/1.1 200 OK"


def test_connections_without_a_handshake_take_no_slot(encrypted: Site) -> None:
    """Each failed handshake took a slot, so that the owner's connection was closed if its address had no slot left."""
    with ExitStack() as lines:
        first = _shaken(encrypted, lines)
        junk = [lines.enter_context(socket.create_connection((HOST, encrypted.port), 30)) for _ in range(90)]
        for number, each in enumerate(junk):
            each.sendall((b"GET / HTTP/1.1\r\n", b"\0\1\2", b"\x16\2")[number % 3])
        for each in junk:
            with suppress(ConnectionResetError):
                assert each.recv(1) == b""
        assert len(encrypted.server._connections._in_handshake) == 1
        assert _gets_the_page(first)


def test_a_handshake_has_its_moment_in_any_crowd(encrypted: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection is closed for another before its moment is over, and failed handshakes take no slot."""
    monkeypatch.setattr(listener, "HANDSHAKE", PATIENCE)
    connections = encrypted.server._connections
    connections._most_handshakes = most = 8  # few, so that all begin in time on a busy machine
    with ExitStack() as lines:
        first = _shaken(encrypted, lines)
        for _ in range(most + 100):
            lines.enter_context(socket.create_connection((HOST, encrypted.port), 30)).sendall(b"\x16\x03\x01\x02\0\1")
        until(
            lambda: len(connections._in_handshake) >= most, "the others wait to be accepted"
        )  # one may have been accepted
        assert not connections._slots._taken
        assert _gets_the_page(first)
        monkeypatch.setattr(listener, "HANDSHAKE", 0.0)
        assert _gets_the_page(_shaken(encrypted, lines))


def test_a_failed_handshake_leaves_nothing_in_memory(encrypted: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes a quarter of a megabyte. A crowd that reconnected repeatedly took a gigabyte in a minute."""
    monkeypatch.setattr(listener, "SILENCE", 0.3)
    gc.collect()
    gc.disable()
    try:
        with ExitStack() as lines:
            for sent in (b"\x16\x03\x01\0\5abcde", b"\x16\x03\x01\2\0\1"):
                lines.enter_context(socket.create_connection((HOST, encrypted.port), 30)).sendall(sent)
            _shaken(encrypted, lines)
            until(lambda: _handshakes_kept(encrypted), "they begin")
            until(lambda: not _handshakes_kept(encrypted), "nothing of them is left")
    finally:
        gc.enable()


def _handshakes_kept(site: Site) -> int:
    loop = site.server._loop
    return sum(isinstance(each, sslproto.SSLProtocol) and each._loop is loop for each in gc.get_objects())  # type: ignore[attr-defined]


@acted
async def test_of_many_waiting_handshakes_the_newest_is_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner does not wait for an earlier crowd, and no handshake begins on a connection that was closed."""
    connections = listener.Connections(8, 4, lambda _: None, certificates=mock.Mock())
    begun: list[str] = []
    monkeypatch.setattr(connections, "_begin", lambda connection: begun.append(connection.address))
    with ExitStack() as lines:
        for name in ("first", "second", "closed", "owner"):
            line = lines.enter_context(socket.socket())
            connections._queue_handshake(listener._Connection(line, name, asyncio.Protocol, 0.0), b"\x16\x03\x01")
        connections._leave(connections._next[2])
        handshakes = asyncio.create_task(connections.run_handshakes())
        async with asyncio.timeout(PATIENCE):
            while len(begun) < 3:
                await asyncio.sleep(0)
        handshakes.cancel()
        await asyncio.wait([handshakes])
    assert begun == ["owner", "second", "first"]


@pytest.mark.parametrize(
    ("soft", "hard", "room"),
    [(256, -1, 320), (256, 10_000, 320), (256, 300, 44), (256, 256, 32), (20_000, 20_000, 320), (-1, -1, 320)],
)
def test_handshakes_use_spare_file_descriptors(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, room: int
) -> None:
    given: list[tuple[int, int]] = [(soft, hard)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: given[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: given.append(limits))
    assert listener._room_for_handshakes() == room
    assert given[-1][0] == {(256, -1): 576, (256, 10_000): 576, (256, 300): 300}.get((soft, hard), soft)


def test_the_password_after_the_handshake_replaces_any_other_connection(encrypted: Site) -> None:
    connections = encrypted.server._connections
    with ExitStack() as lines:
        for _ in range(web_server.OF_ADDRESS):
            _shaken(encrypted, lines).sendall(b"GET /metrics HTTP/1.1\r\n")
        until(lambda: len(connections._open) == web_server.OF_ADDRESS, "this address has all its places")
        late = _shaken(encrypted, lines)
        late.sendall(b"GET /metrics HTTP/1.1\r\n")
        with suppress(ConnectionResetError):
            assert late.recv(1) == b""
        assert _gets_the_page(_shaken(encrypted, lines))


def test_a_handshake_that_is_not_completed_is_cut_in_time(encrypted: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "SILENCE", 0.2)
    with ExitStack() as lines:
        silent = lines.enter_context(socket.create_connection((HOST, encrypted.port), 30))
        silent.sendall(b"\x16\x03\x01\x02\0\1")
        after = _shaken(encrypted, lines)
        for each in (silent, after):
            with suppress(ConnectionResetError, ssl.SSLEOFError):
                assert each.recv(1) == b""
        until(lambda: not encrypted.server._connections._in_handshake, "they are forgotten")


def test_a_renewed_certificate_is_taken_and_a_broken_one_is_not(tmp_path: Path, authority: Authority) -> None:
    chain = authority.issue(tmp_path / "server.pem", "localhost")
    certificates = Certificates(CertificateFiles(chain))
    first = certificates.context()
    assert certificates.context() is first
    good = chain.read_bytes()
    chain.write_text("half of it")
    os.utime(chain, ns=(1, 1))
    assert certificates.context() is first
    chain.write_bytes(good)
    os.utime(chain, ns=(2, 2))
    assert certificates.context() is not first
    chain.unlink()
    assert certificates.context() is not first


def test_an_invalid_certificate_is_reported_in_a_line(tmp_path: Path, authority: Authority) -> None:
    chain = authority.issue(tmp_path / "server.pem", "localhost")
    other = Authority("another").issue(tmp_path / "other.pem", "localhost")
    text = tmp_path / "text.pem"
    text.write_text("no certificate")
    locked = authority.issue(tmp_path / "locked.pem", "localhost", password=b"secret")
    for files, why in (
        (CertificateFiles(tmp_path / "away.pem"), "cannot read .*away.pem: No such file"),
        (CertificateFiles(text), "text.pem: no certificate with its key: "),
        (CertificateFiles(chain, key=text), "no certificate with its key: "),
        (CertificateFiles(chain, key=other), "no certificate with its key: key values mismatch"),
        (CertificateFiles(locked), "no certificate with its key: "),
        (CertificateFiles(chain, clients=text), "text.pem: no certificates: "),
        (CertificateFiles(tmp_path), "cannot read .*: Is a directory"),
    ):
        with pytest.raises(CertificateError, match=why) as caught:
            Certificates(files)
        assert "\n" not in str(caught.value)
