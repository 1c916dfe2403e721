"""Web application: /metrics for those who may, /-/healthy for anybody."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from presman.base.secret import Secret
from presman.services.metrics.metric_page import Exposition, compressed

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

    def knows(self, header: str) -> bool:
        """Return whether an Authorization header shows who it is; where nobody is asked, none does."""
        return self._credentials is not None and self._credentials.admit(header)

    def _answer(self, environment: Environment) -> Response:
        path = environment["PATH_INFO"]
        if environment["REQUEST_METHOD"] not in {"GET", "HEAD"}:
            return NOT_ALLOWED
        if path == HEALTH:
            return self._health()
        if self._credentials is not None and not self.knows(environment.get("HTTP_AUTHORIZATION", "")):
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
            return Response("200 OK", compressed(body), kind, (("Content-Encoding", "gzip"), *vary))
        return Response("200 OK", body, kind, vary)
