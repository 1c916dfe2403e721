"""Pages and files that browsers get: textual-serve's terminal in a page of presman's own, which loads nothing else."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from pathlib import Path

from presman.base.errors import InputError

STATIC = Path(__file__).parent / "static"

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",  # the terminal writes its colours and sizes into style elements
        "font-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""What a page may do (Content-Security-Policy): speak to where it came from, and to nobody else."""

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


def static_files() -> dict[str, Path]:
    """Return the files that pages load, by name: there are no others. Raises InputError if one is missing."""
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
            raise InputError(f"{path} is missing: this release of textual-serve is not one that presman knows")
    return found


def monitor_page(target: str) -> str:
    """Return the page with the terminal."""
    return (STATIC / "monitor.html").read_text(encoding="utf-8").replace("@TARGET@", escape(target))


def token_page(*, is_wrong: bool) -> str:
    """Return the page that asks for the token; it says nothing of what is behind it."""
    said = "That is not the token." if is_wrong else ""
    return (STATIC / "token.html").read_text(encoding="utf-8").replace("@SAID@", said)
