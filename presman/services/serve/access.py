"""Access to the web server: the host names it accepts, the origins it accepts, and the token."""

import hmac
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote_plus, urlsplit

from msgspec import Struct

from presman.base.listeners import is_loopback
from presman.base.secret import Secret

_TOKEN = re.compile(rb"(?:[?&]|\r\n\r\n)token=([^&\s]*)")
_HOST = re.compile(r"[\w.:\[\]-]+", re.ASCII)


class Access(Struct, frozen=True):
    """Rules of access.

    `token` is None if none is required. `names` are the host names under which presman may be called. Without them a
    foreign page whose host name briefly resolves to this address could call presman (DNS rebinding). Addresses cannot
    be abused in this way, so all are accepted, but on loopback only loopback addresses. `public` is the URL of a
    reverse proxy, "" for none; `secure` is whether presman itself uses TLS; `cookie` is the name of the cookie.
    """

    token: Secret | None
    names: frozenset[str]
    only_loopback: bool
    public: str
    secure: bool
    cookie: str

    def accepts_host(self, host: str) -> bool:
        """Return whether the Host header names presman."""
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
        """Return whether a page with this Origin is presman's own; `host` is the Host header of the same request.

        Any page may open a websocket to any address: browsers only send which page it is.
        """
        if self.public and origin == origin_of(self.public):
            return True
        return origin.lower() == f"{'https' if self.secure else 'http'}://{host.lower()}"

    def is_token(self, given: str) -> bool:
        """Return whether this is the token, if one is required; a wrong one takes as long as the right one."""
        return self.token is None or _same(given, self.token.reveal())

    def is_pass(self, cookie: str) -> bool:
        """Return whether this is the cookie that a browser gets for the token, if one is required."""
        return self.token is None or _same(cookie, self.pass_for_token())

    def shows_token(self, sent: bytes) -> bool:
        """Return whether the beginning of a request has the token, in its address, cookie or form.

        This decides only who gets a connection: each request is checked again when it has been read.
        """
        given = (unquote_plus(each.decode("latin-1")) for each in _TOKEN.findall(sent))
        passes = re.findall(rb"[ ;]" + re.escape(self.cookie.encode()) + rb"=([^;\s]*)", sent)
        return any(map(self.is_token, given)) or any(self.is_pass(each.decode("latin-1")) for each in passes)

    def pass_for_token(self) -> str:
        """Return the value that a browser stores in place of the token."""
        key = self.token.reveal() if self.token is not None else ""
        return hmac.new(key.encode(), b"presman serve", sha256).hexdigest()

    @property
    def path(self) -> str:
        """The path of presman's pages as browsers see it."""
        return _split(self.public).path or "/"

    @property
    def is_encrypted(self) -> bool:
        """Whether browsers use TLS, to presman or to the proxy."""
        return self.secure or self.public.startswith("https:")


def origin_of(url: str) -> str:
    """Return the scheme, host and port of a URL as browsers send them."""
    parts = _split(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    port = "" if parts.port in {None, usual} else f":{parts.port}"
    name = parts.hostname or ""
    return f"{parts.scheme}://{f'[{name}]' if ':' in name else name}{port}"


def _same(given: str, right: str) -> bool:
    # Digests are equally long: comparing the texts would show the length of the right one.
    return hmac.compare_digest(*(sha256(each.encode("utf-8", "replace")).digest() for each in (given, right)))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


# ---- Serving: the target, how its monitors are started, who may see them, and how many at the same time.


class Launch(Struct, frozen=True):
    """How to start a monitor: its command, the orders in its first line of input, its environment."""

    command: tuple[str, ...]
    orders: Secret
    environment: Mapping[str, str]


class Serving(Struct, frozen=True):
    """What to serve: the target's name, how to start its monitors, who may see them, and how many at the same time."""

    target: str
    launch: Launch
    access: Access
    viewers: int
    note: Callable[[str], None]
