"""Frame: the HTML around what a page says, its style, and the policy that lets a browser load and run nothing."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from presman.base.colours import HUES
from presman.base.markup import IDLE, Markup, element

_STYLE = Path(__file__).with_name("page.css").read_text("utf-8").replace("IDLE", IDLE) + "".join(
    f".{style}{{color:{hue.page}}}" for style, hue in HUES.items()
)


def page(title: str, *body: Markup) -> str:
    """Return a page as text."""
    digest = b64encode(sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Markup(_STYLE)),
    )
    return "<!DOCTYPE html>\n" + element("html", head, element("body", *body), lang="en") + "\n"


def section(title: str, *parts: str, note: str = "") -> Markup:
    """Return a section with its heading and a line on what it shows."""
    told = [element("p", note, class_="note")] if note else []
    return element("section", element("h2", title), *told, *parts)


def word_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """Return a table of texts."""
    body = [element("tr", *(element("td", cell) for cell in row)) for row in rows]
    head = element("thead", element("tr", *(element("th", each) for each in heads)))
    return element("div", element("table", head, element("tbody", *body)), class_="wide")
