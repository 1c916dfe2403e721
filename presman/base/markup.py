"""Markup: elements of HTML and SVG as text, with everything escaped that is not markup already.

The result is also well-formed XML: each element is closed, each attribute quoted.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from zlib import crc32

from presman import __version__
from presman.base.errors import InputError

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML forbids, and so every page of presman."""

_VOID = frozenset({"meta", "rect", "path", "line", "circle"})


class Markup(str):
    """Text that is markup: already escaped."""

    __slots__ = ()


def safe(text: str) -> Markup:
    """Return any text as markup that shows it."""
    return Markup(escape(_FORBIDDEN.sub("\ufffd", text), quote=True))


def element(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """Return an element; children that are not Markup are escaped, attributes that are None are left out.

    A trailing underscore in the name of an attribute is dropped (`class_`), others become hyphens (`stroke_width`).
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-") if key != "viewBox" else key}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID and not children:
        return Markup(f"<{name}{pairs}/>")
    return Markup(f"<{name}{pairs}>{joined(children)}</{name}>")


def joined(children: Iterable[str]) -> Markup:
    """Return several pieces as one; those that are not Markup are escaped."""
    return Markup("".join(each if isinstance(each, Markup) else safe(each) for each in children))


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return value if isinstance(value, Markup) else safe(value)
    return f"{value:.1f}".removesuffix(".0")


# ---- SVG: the elements of every drawing, as a file of its own or within a page; PNG through resvg-py.

WIDTH = 1000.0
INK, FAINT, RULE, BLANK = "#24292f", "#57606a", "#d0d7de", "#e6e6e6"
BAD = "#b42318"
"""For what went wrong; not a colour of a group."""

IDLE = "#b4b9c1"
"""For what is idle."""

_FONTS = "DejaVu Sans, Liberation Sans, Noto Sans, Helvetica, Arial, sans-serif"


BY = f"presman {__version__}"
"""The program that made a file: pages and pictures name it, and presman replaces only files that name it."""

_PNG_HEAD = 33
"""Bytes of a PNG before its second chunk."""


_SOFTWARE = b"tEXtSoftware\0" + BY.encode()
_BY_IN_PNG = (len(_SOFTWARE) - len(b"tEXt")).to_bytes(4) + _SOFTWARE + crc32(_SOFTWARE).to_bytes(4)


class PictureError(InputError):
    """A picture cannot be made; the text is one line and says what to do."""


def label(
    x: float, y: float, text: str, anchor: str = "middle", fill: str = FAINT, size: float | None = None
) -> Markup:
    """Return a text in a drawing."""
    return element("text", text, x=x, y=y, text_anchor=anchor, fill=fill, font_size=size)


def block(title: str, x: float, y: float, width: float, height: float, **attributes: str | float | None) -> Markup:
    """Return a rectangle in a drawing, with `title` as its tooltip."""
    return element("rect", element("title", title), x=x, y=y, width=width, height=height, **attributes)


def level(y: float, text: str, left: float, right: float) -> Markup:
    """Return a horizontal line across a drawing with its label to the left."""
    line = element("path", d=f"M{left:.0f} {y:.1f}H{right:.0f}", stroke=RULE)
    return Markup(line + label(left - 8, y + 4, text, "end"))


def drawing(height: float, named: str, parts: Sequence[Markup]) -> Markup:
    """Return a drawing within a page; `named` describes it for screen readers."""
    return element("svg", *parts, viewBox=f"0 0 {WIDTH:.0f} {height:.0f}", role="img", aria_label=named)


def picture(panels: Sequence[Sequence[Markup]], height: float) -> str:
    """Return panels of `height` each, one above the other, as a document."""
    whole = height * max(1, len(panels))
    paper = element("rect", width=WIDTH, height=whole, fill="#ffffff")
    drawn = (element("g", *parts, transform=f"translate(0 {row * height:.0f})") for row, parts in enumerate(panels))
    document = element(
        "svg",
        element("metadata", BY),
        paper,
        *drawn,
        xmlns="http://www.w3.org/2000/svg",
        width=WIDTH,
        height=whole,
        viewBox=f"0 0 {WIDTH:.0f} {whole:.0f}",
        font_family=_FONTS,
        font_size=13,
    )
    return f"{document}\n"


def require_png() -> None:
    """Raise PictureError if PNG cannot be written here."""
    try:
        import resvg_py  # noqa: F401
    except ImportError as error:
        raise PictureError("PNG needs resvg-py: install presman[png], or choose a name that ends in .svg") from error


def png(text: str) -> bytes:
    """Return an SVG as PNG. Raises PictureError."""
    require_png()
    import resvg_py

    drawn = bytes(resvg_py.svg_to_bytes(svg_string=text))
    return drawn[:_PNG_HEAD] + _BY_IN_PNG + drawn[_PNG_HEAD:]
