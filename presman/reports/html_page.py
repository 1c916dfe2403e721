"""Frame: the HTML around what a page says, its style, and the policy that lets a browser load and run nothing."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256

from presman.base.colours import HUES
from presman.base.markup import IDLE, Markup, element

_STYLE = (
    """\
:root{color-scheme:light}
body{font:14px/1.45 system-ui,"DejaVu Sans","Liberation Sans",Arial,sans-serif;color:#24292f;background:#fff;
max-width:1080px;margin:0 auto;padding:16px}
h1{font-size:22px;margin:0 0 4px}h2{font-size:17px;margin:28px 0 6px;border-bottom:1px solid #d0d7de}
h3{font-size:14px;margin:16px 0 4px}p{margin:4px 0}
.story{margin:6px 0;font-size:15px}header{border-bottom:3px solid #0072b2;padding-bottom:6px}
.note,.none,.meanings{color:#57606a;font-size:12px}
figure{margin:10px 0}
figcaption{display:flex;flex-wrap:wrap;gap:2px 14px;font-size:13px}
.legend{font-size:12px}.legend>span{margin-right:10px}
svg{display:block;width:100%;height:auto;font-size:11px;overflow:visible}
.hover{fill:#24292f;fill-opacity:0}.hover:hover{fill-opacity:.12}
.life:hover rect{stroke:#24292f}.line{color:#24292f}.idle{color:IDLE}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:12px;width:100%}
th,td{padding:2px 7px;text-align:left;vertical-align:top;border-bottom:1px solid #e4e8ec;overflow-wrap:break-word}
th{font-weight:600;background:#f3f5f7;overflow-wrap:normal}th small{display:block;font-weight:400;color:#57606a}
th.right,td.right{text-align:right;font-variant-numeric:tabular-nums}
.bad{color:#b42318}.warn{color:#8f5200}.good{color:#1a7037}.dim{color:#6e7781}.note td{color:inherit}
td.bar{width:110px;min-width:110px;vertical-align:middle}
ul{margin:4px 0;padding-left:20px}dl{columns:2;column-gap:24px;margin:4px 0}dt{font-weight:600}dd{margin:0 0 4px}
@page{margin:12mm}
@media print{body{max-width:none;padding:0;font-size:10pt;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.wide{overflow:visible}table{font-size:7.5pt}thead{display:table-header-group}th,td{padding:1px 3px;min-width:0}
svg{font-size:14px}.screen,.hover{display:none}
figure,tr,li,p,header,.story{break-inside:avoid}h1,h2,h3,figcaption,thead,h2+.note{break-after:avoid}}
""".replace("IDLE", IDLE)
    + "".join(f".{style}{{color:{hue.page}}}" for style, hue in HUES.items())
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
