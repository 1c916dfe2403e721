"""Access to the web server: the host names it accepts, the origins it accepts, and the token."""

import hmac
import re
import socket
from collections.abc import Callable, Mapping
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from presman.base.errors import InputError
from presman.base.listeners import is_loopback
from presman.base.secret import Secret

_HOST = re.compile(r"[\w.:\[\]-]+", re.ASCII)


class Access(Struct, frozen=True):
    """Who may come in.

    `token` is None where nobody is asked for it. `names` are the host names that presman is called by; without them a
    page of somebody else, whose name leads to this address for a moment, could speak to it (DNS rebinding). Numbers
    cannot be bent like that: all are good, but on loopback only its own. `public` is the URL of a reverse proxy, "" for
    none; `secure` whether presman itself speaks TLS; `cookie` is the name of the cookie.
    """

    token: Secret | None
    names: frozenset[str]
    only_loopback: bool
    public: str
    secure: bool
    cookie: str

    def knows(self, host: str) -> bool:
        """Return whether presman is called by what stands in the header Host."""
        name = _split(f"//{host}").hostname if _HOST.fullmatch(host) else None
        if not name:
            return False
        if name in self.names or name == _split(self.public).hostname:
            return True
        try:
            return is_loopback(name) or (not self.only_loopback and bool(ip_address(name)))
        except ValueError:
            return False

    def is_own(self, origin: str, host: str) -> bool:
        """Return whether a page of this Origin is presman's own; `host` is the header Host beside it.

        Every page in the world may open a websocket to any address: browsers only say which page it is.
        """
        if self.public and origin == origin_of(self.public):
            return True
        return origin.lower() == f"{'https' if self.secure else 'http'}://{host.lower()}"

    def opens_to(self, given: str) -> bool:
        """Return whether this is the token; how long it takes does not tell how much of it is right."""
        return self.token is None or _same(given, self.token.reveal())

    def admits(self, cookie: str) -> bool:
        """Return whether this is what a browser was given for the token."""
        return self.token is None or _same(cookie, self.pass_for_token())

    def pass_for_token(self) -> str:
        """Return what a browser keeps in place of the token."""
        key = self.token.reveal() if self.token is not None else ""
        return hmac.new(key.encode(), b"presman serve", sha256).hexdigest()

    @property
    def path(self) -> str:
        """Where presman's pages stand for browsers."""
        return _split(self.public).path or "/"

    @property
    def is_encrypted(self) -> bool:
        """Whether browsers speak TLS, with presman or with the proxy."""
        return self.secure or self.public.startswith("https:")


def origin_of(url: str) -> str:
    """Return the scheme, host and port of a URL as browsers send them."""
    parts = _split(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    port = "" if parts.port in {None, usual} else f":{parts.port}"
    name = parts.hostname or ""
    return f"{parts.scheme}://{f'[{name}]' if ':' in name else name}{port}"


def _same(given: str, right: str) -> bool:
    return hmac.compare_digest(*(sha256(each.encode("utf-8", "replace")).digest() for each in (given, right)))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


# ---- Serving: the target, how a monitor of it is started, to whom it is shown, and to how many at once.


class Launch(Struct, frozen=True):
    """How a monitor is started: its command, the orders in its first line of input, its environment."""

    command: tuple[str, ...]
    orders: Secret
    environment: Mapping[str, str]


class Serving(Struct, frozen=True):
    """What is served: the target's name, how a monitor of it is started, to whom, and to how many at once."""

    target: str
    launch: Launch
    access: Access
    viewers: int
    note: Callable[[str], None]


# ---- Sockets that the web server listens on.


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Return a socket for each address that `host` means, all with the same port; 0 takes a free one.

    Raises InputError if an address is not to be had.
    """
    made: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, (address, *_) in dict.fromkeys(found):
            made.append(_bound(socket.socket(family, socket.SOCK_STREAM), str(address), port))
            port = made[0].getsockname()[1]
    except (OSError, UnicodeError) as error:
        for each in made:
            each.close()
        why = getattr(error, "strerror", None) or "it is no address"
        raise InputError(f"cannot listen on {host}:{port}: {why}") from None
    return made


def _bound(made: socket.socket, address: str, port: int) -> socket.socket:
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if made.family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((address, port))
    except OSError:
        made.close()
        raise
    return made
