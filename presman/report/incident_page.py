"""Page: the HTML around the sections: its style, and the policy that lets a browser load nothing and run nothing."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime
from hashlib import sha256

from presman.report.area_chart import COLOURS
from presman.report.incident import Incident
from presman.report.life_chart import IDLE
from presman.report.markup import Markup, element
from presman.report.sections import all_sections, heading
from presman.report.time_axis import between

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
svg{display:block;width:100%;height:auto;font-size:11px}
.hover{fill:#24292f;fill-opacity:0}.hover:hover{fill-opacity:.12}
.life:hover rect{stroke:#24292f}.line{color:#24292f}.idle{color:IDLE}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:12px;width:100%}
th,td{padding:2px 7px;text-align:left;vertical-align:top;border-bottom:1px solid #e4e8ec;overflow-wrap:break-word}
th{font-weight:600;background:#f3f5f7;overflow-wrap:normal}th small{display:block;font-weight:400;color:#57606a}
th.right,td.right{text-align:right;font-variant-numeric:tabular-nums}
.bad{color:#b42318}.warn{color:#8f5200}.good{color:#1a7037}.dim{color:#6e7781}.note td{color:inherit}
ul{margin:4px 0;padding-left:20px}dl{columns:2;column-gap:24px;margin:4px 0}dt{font-weight:600}dd{margin:0 0 4px}
@page{margin:12mm}
@media print{body{max-width:none;padding:0;font-size:10pt;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.wide{overflow:visible}table{font-size:7.5pt}thead{display:table-header-group}th,td{padding:1px 3px;min-width:0}
figure,tr,li{break-inside:avoid}h2,h3,figcaption{break-after:avoid}}
""".replace("IDLE", IDLE)
    + "".join(f".c{place}{{color:{colour}}}" for place, colour in enumerate(COLOURS))
)


def page(incident: Incident, made: datetime) -> str:
    """Return the page; `made` is now."""
    digest = b64encode(sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = f"{incident.target} {between(incident.start, incident.end)}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Markup(_STYLE)),
    )
    body = element("body", heading(incident, made), all_sections(incident))
    return "<!DOCTYPE html>\n" + element("html", head, body, lang="en") + "\n"
