"""Web server of the metrics: /metrics for those who may, /-/healthy for anybody.

It is wsgiref's, each request in a thread, with bounds so that nobody who connects can hold it up. A handshake, a
request that does not come or a reader that does not read keep one thread for so many seconds at most, and there are
only so many. When all are taken, a new request ends the oldest one that has asked for nothing, or one that has been
taking an answer for more than a moment without having shown a password.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hmac
import io
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from presman.base.certificates import Certificates
from presman.base.errors import InputError
from presman.base.listeners import MINUTE, TURN, WAITING, Places, RateLimited, Standing
from presman.base.secret import Secret
from presman.services.metrics.metric_page import Exposition

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse


Environment = dict[str, Any]

PAGE, HEALTH = "/metrics", "/-/healthy"
PLAIN = "text/plain; charset=utf-8"
CHALLENGE = 'Basic realm="presman", charset="UTF-8"'


class Credentials(NamedTuple):
    """Who may see the page."""

    user: str
    password: Secret

    def admit(self, header: str) -> bool:
        """Tell whether an Authorization header is theirs; it takes as long whatever is wrong with it."""
        scheme, _, encoded = header.partition(" ")
        try:
            given = base64.b64decode(encoded.strip(), validate=True) if scheme.lower() == "basic" else b""
        except (binascii.Error, ValueError):
            given = b""
        return hmac.compare_digest(given, f"{self.user}:{self.password.reveal()}".encode())


class Response(NamedTuple):
    """What is answered."""

    status: str
    body: bytes
    kind: str = PLAIN
    headers: tuple[tuple[str, str], ...] = ()


NOT_FOUND = Response("404 Not Found", f"{PAGE} has the metrics, {HEALTH} says whether presman works\n".encode())
NOT_ALLOWED = Response("405 Method Not Allowed", b"GET is all there is\n", headers=(("Allow", "GET, HEAD"),))
DENIED = Response("401 Unauthorized", b"who are you?\n", headers=(("WWW-Authenticate", CHALLENGE),))


class WebApp:
    """Answers requests (WSGI). `is_healthy` tells whether everything works that should."""

    def __init__(
        self, exposition: Exposition, is_healthy: Callable[[], bool], credentials: Credentials | None = None
    ) -> None:
        self._exposition = exposition
        self._is_healthy = is_healthy
        self._credentials = credentials

    def __call__(self, environment: Environment, start: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        response = self._answer(environment)
        headers = [
            ("Content-Type", response.kind),
            ("Content-Length", str(len(response.body))),
            ("Cache-Control", "no-store"),
            ("Server", "presman"),
            *response.headers,
        ]
        start(response.status, headers)
        return [] if environment["REQUEST_METHOD"] == "HEAD" else [response.body]

    @property
    def asks(self) -> bool:
        """Whether anybody is asked who it is."""
        return self._credentials is not None

    def knows(self, header: str) -> bool:
        """Return whether an Authorization header shows who it is; where nobody is asked, none does."""
        return self._credentials is not None and self._credentials.admit(header)

    def _answer(self, environment: Environment) -> Response:
        path = environment["PATH_INFO"]
        if environment["REQUEST_METHOD"] not in {"GET", "HEAD"}:
            return NOT_ALLOWED
        if path == HEALTH:
            return self._health()
        if self.asks and not self.knows(environment.get("HTTP_AUTHORIZATION", "")):
            return DENIED
        return self._page(environment) if path == PAGE else NOT_FOUND

    def _health(self) -> Response:
        if self._is_healthy():
            return Response("200 OK", b"presman is healthy\n")
        return Response("503 Service Unavailable", b"a database is not polled any more: presman is to be restarted\n")

    def _page(self, environment: Environment) -> Response:
        body, kind = self._exposition.write(environment.get("HTTP_ACCEPT", ""))
        vary = (("Vary", "Accept, Accept-Encoding"),)
        if "gzip" in environment.get("HTTP_ACCEPT_ENCODING", ""):
            return Response("200 OK", gzip.compress(body, QUICK), kind, (("Content-Encoding", "gzip"), *vary))
        return Response("200 OK", body, kind, vary)


QUICK = 1
"""How hard gzip tries: the page is a fifteenth even so."""

AT_ONCE, OF_ONE = 16, 12
"""Connections at a time, and those of one address; who comes while all are being answered is turned away."""

SILENCE = 10.0
"""Seconds in which a whole request must have come, and for which a client may take nothing."""

LONGEST = 30.0
"""Seconds for which a connection may last."""

LOOK = 0.5
"""Seconds from one look at connections that last too long to the next, and until it ends when it is told to."""

LONGEST_HEAD = 8_192
"""Bytes of a request that are looked at before there is a thread for it."""

_AUTHORIZATION = re.compile(rb"\r\nauthorization:[ \t]*([^\r\n]*)\r\n", re.IGNORECASE)

HEARING = 0.005
"""Seconds in which threads that have begun read what a connection brought with it."""

REST = 0.1
"""Seconds until the next try where the system accepts no connection."""


class ListenError(InputError):
    """An address cannot be listened at; the text is one line."""


class _Written(io.BufferedIOBase):
    """Writes to a client, who breaks the pipe where he takes it no more: of other errors wsgiref prints tracebacks."""

    def __init__(self, line: Any) -> None:
        self._line = line

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, content: Any) -> int:
        """Send it all. Raises BrokenPipeError."""
        try:
            self._line.sendall(content)
        except OSError as error:  # of TLS, and when he has taken nothing for too long
            raise BrokenPipeError(*error.args) from error
        return len(content)


class _Handler(WSGIRequestHandler):
    """Reads requests. Nothing is logged: what is asked, Prometheus knows."""

    server: _Listener
    timeout = SILENCE
    default_request_version = "HTTP/1.0"  # of what is no HTTP: it, too, is answered with a status line
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = PLAIN

    def setup(self) -> None:
        """Prepare to read and to write."""
        super().setup()
        self.wfile = _Written(self.connection)

    def version_string(self) -> str:
        """Return who answers, without versions."""
        return "presman"

    def parse_request(self) -> bool:
        """Read what is asked, and tell that it is; return whether it can be answered."""
        understood = super().parse_request()
        self.server.asked(self.connection, self.headers.get("Authorization", "") if understood else "")
        return understood

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Say in plain words that a request is not understood; nothing of it is said back."""
        super().send_error(code)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the standard library
        """Log nothing."""


class _Listener(ThreadingMixIn, WSGIServer):
    """Accepts connections."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = WAITING

    def __init__(
        self,
        family: socket.AddressFamily,
        address: tuple[Any, ...],
        app: WebApp,
        certificates: Certificates | None,
        note: Callable[[str], None],
    ) -> None:
        self.address_family = family
        self._app = app
        self._certificates = certificates
        self._refused = RateLimited(note, pause=MINUTE)
        self._answering = threading.BoundedSemaphore(AT_ONCE)
        self._places: Places[Any] = Places(AT_ONCE, OF_ONE)
        self._open: dict[Any, float] = {}
        super().__init__(address, _Handler)
        self.set_app(app)

    def server_bind(self) -> None:
        """Bind, without asking the name service for a name that nobody needs."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.setblocking(False)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection. Raises OSError for one that is gone already, or where none can be had."""
        try:
            request, client_address = super().get_request()
        except (ConnectionError, BlockingIOError):
            raise
        except OSError as error:
            self._refused.note(f"web server: no connection can be accepted: {error.strerror or error}")
            time.sleep(REST)  # it still waits, and would be tried again at once
            raise
        request.settimeout(SILENCE)
        if self._certificates is not None:
            context = self._certificates.context()
            request = context.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
        return request, client_address

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer it, and what else waits, as far as there are places: of a flood nearly all is closed unheard."""
        came: dict[Any, Any] = {}
        self._take(request, client_address, came)
        end = time.monotonic() + TURN
        while time.monotonic() < end and not self._are_to_be_heard(len(came)):
            try:
                self._take(*self.get_request(), came)
            except OSError:
                break
        for each, address in came.items():
            self._begin(each, address)
        if self._are_to_be_heard(len(came)):
            time.sleep(HEARING)

    def _are_to_be_heard(self, came: int) -> bool:
        """Return whether threads have to read what those brought that just came, before others take their places."""
        is_known_at_once = self._certificates is None and self._app.asks
        return not is_known_at_once and self._places.are_to_be_heard(came)

    def _take(self, request: Any, client_address: Any, came: dict[Any, Any]) -> None:
        """Keep a connection among those that came if it has a place."""
        has_place, gone = self._places.take(request, client_address[0], time.monotonic())
        if gone is not None:
            (self.shutdown_request if came.pop(gone, None) else _cut)(gone)  # of another its thread has to let go
        if not has_place:
            self.shutdown_request(request)
            return
        came[request] = client_address
        if self._has_brought_password(request):
            self._places.rise(request, Standing.SAFE, time.monotonic())

    def _has_brought_password(self, request: Any) -> bool:
        """Look, without taking it, whether what a connection has brought already shows who it is: not over TLS."""
        if self._certificates is not None:
            return False
        request.setblocking(False)
        try:
            found = _AUTHORIZATION.search(request.recv(LONGEST_HEAD, socket.MSG_PEEK))
        except OSError:
            return False
        finally:
            request.settimeout(SILENCE)
        return found is not None and self._app.knows(found[1].decode("latin-1"))

    def _begin(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, if there is one left, or can be."""
        if not self._answering.acquire(timeout=LOOK):
            self._places.leave(request)
            self.shutdown_request(request)
            return
        self._open[request] = time.monotonic()
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread could be had
            self._end(request)
            self._refused.note("web server: a connection is not answered: no more threads are available")
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room for another."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._end(request)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Shake hands where there is a certificate, then answer."""
        if self._certificates is not None:
            request.do_handshake()
            self._places.rise(request, Standing.ASKED, time.monotonic())  # it takes a stranger as long as presman
        super().finish_request(request, client_address)

    def asked(self, request: Any, header: str) -> None:
        """Take note that a connection has asked for something, perhaps with a password."""
        self._places.rise(request, Standing.SAFE if self._app.knows(header) else Standing.ASKED, time.monotonic())

    def _end(self, request: Any) -> None:
        self._places.leave(request)
        self._open.pop(request, None)
        self._answering.release()

    def service_actions(self) -> None:
        """Cut connections that last too long: whoever sends a letter every few seconds would otherwise stay."""
        now = time.monotonic()
        for request in self._places.silent_since(now - SILENCE):
            _cut(request)
        for request, begun in list(self._open.items()):
            if now - begun > LONGEST:
                _cut(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that goes away in the middle is its own affair."""


def _cut(request: socket.socket) -> None:
    """End a connection that another thread reads from or writes to."""
    with suppress(OSError):
        socket.socket.shutdown(request, socket.SHUT_RDWR)  # that of TLS would take the keys from under that thread


class WebServer:
    """Answers at `host` and `port` in a thread of its own; port 0 takes a free one. Raises ListenError.

    `note` is called, at most once a minute, when no connection can be accepted.
    """

    def __init__(
        self,
        app: WebApp,
        host: str,
        port: int,
        certificates: Certificates | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self._listener = _Listener(family, address, app, certificates, note)
        except (OSError, OverflowError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ListenError(f"cannot listen at {_place(host, port)}: {reason}") from None
        scheme = "https" if certificates else "http"
        self.url = f"{scheme}://{_place(host, self._listener.server_port)}"
        self._begins = False
        self._has_ended = threading.Event()
        """The thread has ended: it is not asked itself, which may not be done by two at a time, nor by a handler."""

    def start(self) -> None:
        """Begin. Raises RuntimeError where no thread can be had."""
        threading.Thread(target=self._listen, name="presman-web", daemon=True).start()
        self._begins = True

    def _listen(self) -> None:
        try:
            self._listener.serve_forever(LOOK)
        finally:
            self._has_ended.set()

    @property
    def is_alive(self) -> bool:
        """Whether it listens."""
        return self._begins and not self._has_ended.is_set()

    def stop(self) -> None:
        """Listen no more."""
        if self.is_alive:
            self._listener.shutdown()
            self._has_ended.wait()
        self._listener.server_close()


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
