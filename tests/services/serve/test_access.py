"""Access: host names, pages, tokens."""

from __future__ import annotations

from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from presman.base.secret import Secret
from presman.services.serve.access import Access, origin_of

LOOPBACK = Access(None, frozenset({"localhost"}), True, "", False, "presman_8000")
OPEN = Access(Secret("a-token-that-nobody-knows"), frozenset({"localhost", "dbhost"}), False, "", False, "presman_8000")
TOKEN = OPEN.token.reveal() if OPEN.token else ""
PROXIED = replace(OPEN, only_loopback=True, public="https://dba.example.com/prod/")


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "LOCALHOST:9", "127.0.0.1:8000", "127.8.8.8", "[::1]:80"]
)
def test_loopback_is_called_by_its_names(host: str) -> None:
    assert LOOPBACK.accepts_host(host)


@pytest.mark.parametrize(
    "host",
    [
        "", "evil.example", "localhost.evil.example", "evil.example:8000", "10.0.0.1", "[::1", "localhost@evil.example",
        "evil.example#localhost", "127.1", "0x7f.1", "localhost\r\nX: y", "localhost/", "dbhost", "[fe80::1%25eth0]",
    ],
)  # fmt: skip
def test_loopback_accepts_only_its_own_names(host: str) -> None:
    assert not LOOPBACK.accepts_host(host)


def test_a_reachable_server_accepts_numbers_and_its_own_names() -> None:
    assert all(map(OPEN.accepts_host, ("10.0.0.1:8000", "[2001:db8::1]:8000", "dbhost", "127.0.0.1")))
    assert not any(map(OPEN.accepts_host, ("evil.example", "dbhost.evil.example", "dba.example.com")))
    assert PROXIED.accepts_host("dba.example.com:443")
    assert not PROXIED.accepts_host("10.0.0.1")


def test_only_its_own_pages_may_connect() -> None:
    assert LOOPBACK.is_own("http://localhost:8000", "localhost:8000")
    for origin in (
        "",
        "null",
        "http://evil.example",
        "https://localhost:8000",
        "http://localhost",
        "http://localhost:80001",
    ):
        assert not LOOPBACK.is_own(origin, "localhost:8000")
    assert replace(OPEN, secure=True).is_own("https://dbhost:8000", "dbhost:8000")
    assert PROXIED.is_own("https://dba.example.com", "127.0.0.1:8000")
    assert not PROXIED.is_own("http://dba.example.com", "127.0.0.1:8000")


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Dba.Example.com/prod/", "https://dba.example.com"),
        ("https://dba.example.com:443/", "https://dba.example.com"),
        ("http://dba.example.com:443/", "http://dba.example.com:443"),
        ("http://[::1]:8000/", "http://[::1]:8000"),
    ],
)
def test_the_origin_of_a_url_is_written_as_by_browsers(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@given(st.text())
def test_only_the_token_gives_access(text: str) -> None:
    right = OPEN.token.reveal() if OPEN.token else ""
    assert OPEN.is_token(text) == (text == right)
    assert OPEN.is_pass(text) == (text == OPEN.pass_for_token())
    assert OPEN.is_token(right)
    assert not OPEN.is_pass(right), "the cookie is not the token"
    assert LOOPBACK.is_token(text)
    assert LOOPBACK.is_pass(text)


@given(st.text())
def test_no_header_is_too_odd(text: str) -> None:
    for access in (LOOPBACK, OPEN, PROXIED):
        assert isinstance(access.accepts_host(text), bool)
        assert isinstance(access.is_own(text, text), bool)


def test_the_path_of_pages_and_whether_the_line_is_encrypted() -> None:
    assert (OPEN.path, OPEN.is_encrypted) == ("/", False)
    assert (PROXIED.path, PROXIED.is_encrypted) == ("/prod/", True)
    assert "nobody-knows" not in repr(OPEN)


@pytest.mark.parametrize(
    ("sent", "shows"),
    [
        (f"GET /?token={TOKEN} HTTP/1.1\r\n", True),
        (f"GET /?a=b&token={quote_plus(TOKEN)} HTTP/1.1\r\n", True),
        (f"POST /token HTTP/1.1\r\n\r\ntoken={TOKEN}", True),
        (f"GET / HTTP/1.1\r\nCookie: a=b; {OPEN.cookie}={OPEN.pass_for_token()}\r\n", True),
        (f"GET / HTTP/1.1\r\nCookie: {OPEN.cookie}={TOKEN}\r\n", False),
        (f"GET /?token={TOKEN}x HTTP/1.1\r\n", False),
        (f"GET /?nottoken={TOKEN} HTTP/1.1\r\n", False),
        ("GET /?token=&token= HTTP/1.1\r\n", False),
        ("", False),
    ],
)
def test_the_token_is_found_before_the_request_is_read(sent: str, *, shows: bool) -> None:
    assert OPEN.shows_token(sent.encode()) is shows
