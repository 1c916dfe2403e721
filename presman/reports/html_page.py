"""Frame of a page: its HTML, its style, and the policy that lets a browser load and run nothing."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from presman import __version__
from presman.base.colours import HUES
from presman.base.markup import BY, IDLE, Markup, element

_STYLE = Path(__file__).with_name("page.css").read_text("utf-8").replace("IDLE", IDLE) + "".join(
    f".{style}{{color:{hue.page}}}" for style, hue in HUES.items()
)


def page(title: str, *body: Markup) -> str:
    """Return a page as text."""
    # The page has texts of strangers: the browser loads and runs nothing, and takes only the style with this digest.
    digest = b64encode(sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="generator", content=BY),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Markup(_STYLE)),
    )
    return "<!DOCTYPE html>\n" + element("html", head, element("body", *body), lang="en") + "\n"


def section(title: str, *parts: str, note: str = "") -> Markup:
    """Return a section with its heading and a line that explains it."""
    paragraphs = [element("p", note, class_="note")] if note else []
    return element("section", element("h2", title), *paragraphs, *parts)


def bullets(texts: Iterable[str], style: str | None = None) -> Markup:
    """Return texts as a list."""
    return element("ul", *(element("li", each) for each in texts), class_=style)


def word_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """Return texts as a table."""
    return cell_table((element("th", each) for each in heads), ((element("td", cell) for cell in row) for row in rows))


def cell_table(heads: Iterable[Markup], rows: Iterable[Iterable[Markup]], *below: Markup) -> Markup:
    """Return cells as a table, and what follows below it."""
    body = element("tbody", *(element("tr", *row) for row in rows))
    table = element("table", element("thead", element("tr", *heads)), body)
    return element("div", table, *below, class_="wide")


def heading(
    title: str, parts: Iterable[Markup], notes: Iterable[str], made: datetime, times: Sequence[datetime]
) -> Markup:
    """Return the head of a page: its subject, notes, the time zone, and when and by which presman it was made."""
    rests = f"All times in {zone_of(times)}. By presman {__version__}, {made_at(made, times)}."
    paragraphs = [element("p", f"Note: {note}.") for note in notes]
    return element("header", element("h1", title), *parts, *paragraphs, element("p", rests, class_="note"))


def zone_of(times: Sequence[datetime]) -> str:
    """Return the time zone of a page: the user's, in which the clocks may have changed meanwhile."""
    return " and, after the clock change, ".join(dict.fromkeys(map(_offset, sorted(times))))


def made_at(made: datetime, times: Sequence[datetime]) -> str:
    """Return when a page was made, with the UTC offset if none of its times has the same."""
    offset = _offset(made)
    return f"{made.astimezone():%Y-%m-%d %H:%M:%S}" + (f" {offset}" if offset not in map(_offset, times) else "")


def _offset(at: datetime) -> str:
    text = at.astimezone().strftime("UTC%z")
    return f"{text[:6]}:{text[6:8]}"
