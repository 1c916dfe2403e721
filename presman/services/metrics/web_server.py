"""Web server of the metrics: /metrics with the configured credentials, /-/healthy for anybody.

It is wsgiref's, with a thread for each request and limits so that no client can block it. A slow handshake, a
missing request or a client that does not read holds one thread for a limited time, and the number of threads is
limited. When all are in use, a new request ends the oldest connection that has not sent a request, or one without a
password that has been taking its answer for more than a moment.
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


class Response(NamedTuple):
    """The answer to a request."""

    status: str
    body: bytes
    kind: str = PLAIN
    headers: tuple[tuple[str, str], ...] = ()


NOT_FOUND = Response("404 Not Found", f"{PAGE} has the metrics, {HEALTH} says whether presman works\n".encode())
NOT_ALLOWED = Response("405 Method Not Allowed", b"GET is all there is\n", headers=(("Allow", "GET, HEAD"),))
DENIED = Response("401 Unauthorized", b"who are you?\n", headers=(("WWW-Authenticate", CHALLENGE),))


class WebApp:
    """WSGI application that answers requests. `is_healthy` returns whether everything works that should."""

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
    def needs_credentials(self) -> bool:
        """Whether access needs credentials."""
        return self._credentials is not None

    def is_allowed(self, header: str) -> bool:
        """Return whether an Authorization header has valid credentials; False if none are configured."""
        return self._credentials is not None and self._credentials.is_valid(header)

    def _answer(self, environment: Environment) -> Response:
        path = environment["PATH_INFO"]
        if environment["REQUEST_METHOD"] not in {"GET", "HEAD"}:
            return NOT_ALLOWED
        if path == HEALTH:
            return self._health()
        if self.needs_credentials and not self.is_allowed(environment.get("HTTP_AUTHORIZATION", "")):
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
"""The compression level of gzip: even the fastest shrinks the page to a fifteenth."""

AT_ONCE, OF_ADDRESS = 16, 12
"""Connections in total and of one address; further ones are refused while all of these are being answered."""

SILENCE = 10.0
"""Seconds in which a whole request must arrive, and for which a client may read nothing."""

LONGEST = 30.0
"""Seconds that a connection may last."""

CHECK_EVERY = 0.5
"""Seconds between two checks for connections that last too long, and until the server notices that it must stop."""

LONGEST_HEAD = 8_192
"""Bytes of a request to examine before it has a thread."""

_AUTHORIZATION = re.compile(rb"\r\nauthorization:[ \t]*([^\r\n]*)\r\n", re.IGNORECASE)

READING_TIME = 0.005
"""Seconds for new threads to read what their connections have already sent."""

REST = 0.1
"""Seconds until the next attempt after the system could not accept a connection."""


class ListenError(InputError):
    """The address cannot be listened on; the text is one line."""


class _ClientOutput(io.BufferedIOBase):
    """Output to a client. All errors become BrokenPipeError, because wsgiref prints a traceback for any other."""

    def __init__(self, line: Any) -> None:
        self._line = line

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, content: Any) -> int:
        """Send all of it. Raises BrokenPipeError."""
        try:
            self._line.sendall(content)
        except OSError as error:  # an error of TLS, or a timeout because the client reads nothing
            raise BrokenPipeError(*error.args) from error
        return len(content)


class _Handler(WSGIRequestHandler):
    """Reader of requests. It logs nothing: Prometheus knows what it requests."""

    server: _Listener
    timeout = SILENCE
    default_request_version = "HTTP/1.0"  # for input that is not HTTP, so that it is answered with a status line, too
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = PLAIN

    def setup(self) -> None:
        """Prepare to read and write."""
        super().setup()
        self.wfile = _ClientOutput(self.connection)

    def version_string(self) -> str:
        """Return the server's name, without versions."""
        return "presman"

    def parse_request(self) -> bool:
        """Read the request and mark its connection; return whether it can be answered."""
        understood = super().parse_request()
        self.server.asked(self.connection, self.headers.get("Authorization", "") if understood else "")
        return understood

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Send an error in plain words, which repeat nothing of the request."""
        super().send_error(code)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the standard library
        """Log nothing."""


class _Listener(ThreadingMixIn, WSGIServer):
    """Acceptor of connections."""

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
        self._places: Places[Any] = Places(AT_ONCE, OF_ADDRESS)
        self._open: dict[Any, float] = {}
        super().__init__(address, _Handler)
        self.set_app(app)

    def server_bind(self) -> None:
        """Bind without a DNS lookup of the host name, which is not needed."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.setblocking(False)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection. Raises OSError if it is already gone, or none can be accepted."""
        try:
            request, client_address = super().get_request()
        except (ConnectionError, BlockingIOError):
            raise
        except OSError as error:
            self._refused.note(f"web server: no connection can be accepted: {error.strerror or error}")
            time.sleep(REST)  # it is still waiting and would be accepted at once
            raise
        request.settimeout(SILENCE)
        if self._certificates is not None:
            context = self._certificates.context()
            request = context.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
        return request, client_address

    def process_request(self, request: Any, client_address: Any) -> None:
        """Accept and answer this and other waiting connections within the limits; most of a flood is closed unread."""
        accepted: dict[Any, Any] = {}
        self._take(request, client_address, accepted)
        end = time.monotonic() + TURN
        while time.monotonic() < end and not self._must_read_first(len(accepted)):
            try:
                self._take(*self.get_request(), accepted)
            except OSError:
                break
        for each, address in accepted.items():
            self._begin(each, address)
        if self._must_read_first(len(accepted)):
            time.sleep(READING_TIME)

    def _must_read_first(self, accepted: int) -> bool:
        """Return whether threads must read what the new connections have sent before others take their places."""
        is_known_at_once = self._certificates is None and self._app.needs_credentials
        return not is_known_at_once and self._places.should_read_now(accepted)

    def _take(self, request: Any, client_address: Any, accepted: dict[Any, Any]) -> None:
        """Keep a connection in `accepted` if there is a place for it."""
        has_place, replaced = self._places.take(request, client_address[0], time.monotonic())
        if replaced is not None:
            (self.shutdown_request if accepted.pop(replaced, None) else _cut)(replaced)  # else its thread does it
        if not has_place:
            self.shutdown_request(request)
            return
        accepted[request] = client_address
        if self._has_sent_password(request):
            self._places.rise(request, Standing.SAFE, time.monotonic())

    def _has_sent_password(self, request: Any) -> bool:
        """Return whether a connection has already sent a valid password, without consuming it; False over TLS."""
        if self._certificates is not None:
            return False
        request.setblocking(False)
        try:
            found = _AUTHORIZATION.search(request.recv(LONGEST_HEAD, socket.MSG_PEEK))
        except OSError:
            return False
        finally:
            request.settimeout(SILENCE)
        return found is not None and self._app.is_allowed(found[1].decode("latin-1"))

    def _begin(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, if one is free and can be started."""
        if not self._answering.acquire(timeout=CHECK_EVERY):
            self._places.leave(request)
            self.shutdown_request(request)
            return
        self._open[request] = time.monotonic()
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread available
            self._end(request)
            self._refused.note("web server: a connection is not answered: no more threads are available")
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and release the place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._end(request)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Perform the TLS handshake if there is a certificate, then answer."""
        if self._certificates is not None:
            request.do_handshake()
            self._places.rise(request, Standing.ASKED, time.monotonic())  # a handshake takes as long for the client
        super().finish_request(request, client_address)

    def asked(self, request: Any, header: str) -> None:
        """Record that a connection has sent a request, perhaps with a password."""
        self._places.rise(request, Standing.SAFE if self._app.is_allowed(header) else Standing.ASKED, time.monotonic())

    def _end(self, request: Any) -> None:
        self._places.leave(request)
        self._open.pop(request, None)
        self._answering.release()

    def service_actions(self) -> None:
        """Cut connections that last too long: a client that sends a byte every few seconds would stay forever."""
        now = time.monotonic()
        for request in self._places.silent_since(now - SILENCE):
            _cut(request)
        for request, begun in list(self._open.items()):
            if now - begun > LONGEST:
                _cut(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a client may leave in the middle."""


def _cut(request: socket.socket) -> None:
    """End a connection while another thread reads from or writes to it."""
    with suppress(OSError):
        socket.socket.shutdown(request, socket.SHUT_RDWR)  # a TLS shutdown would take the keys from that thread


class WebServer:
    """Web server at `host` and `port` in its own thread; port 0 chooses a free one. Raises ListenError.

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
        """Set when the thread has ended. Neither two threads nor a signal handler may wait for the thread itself."""

    def start(self) -> None:
        """Start. Raises RuntimeError if no thread is available."""
        threading.Thread(target=self._listen, name="presman-web", daemon=True).start()
        self._begins = True

    def _listen(self) -> None:
        try:
            self._listener.serve_forever(CHECK_EVERY)
        finally:
            self._has_ended.set()

    @property
    def is_alive(self) -> bool:
        """Whether it is listening."""
        return self._begins and not self._has_ended.is_set()

    def stop(self) -> None:
        """Stop listening."""
        if self.is_alive:
            self._listener.shutdown()
            self._has_ended.wait()
        self._listener.server_close()


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
