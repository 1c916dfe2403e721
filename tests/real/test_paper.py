"""The page of `presman report` on paper: nothing is wider than the sheet, nothing needs a mouse."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from presman.recording.reader import Recording
from presman.reports.report.incident import gather
from presman.reports.report.incident_page import incident_page
from tests.real.chromium import CHROMIUM, chromium
from tests.recording.recorded import START, polled, record
from tests.tui.drive import acted

pytestmark = [
    pytest.mark.skipif(not os.environ.get("PRESMAN_REAL"), reason="needs a real browser: make test-real"),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH"),
]

A4 = round((210 - 2 * 12) / 25.4 * 96)
"""Pixels between the margins of a sheet."""

WIDER = """[...document.querySelectorAll("body *")].map(e => [e, e.getBoundingClientRect()])
.filter(([e, box]) => box.right > innerWidth + 1 || box.left < -1)
.map(([e]) => e.tagName + " " + e.textContent.slice(0, 40))"""


@acted
async def test_a_report_fits_on_paper(tmp_path: Path) -> None:
    record(tmp_path / "a.presman", list(polled("mixed", 40)))
    with Recording(str(tmp_path / "a.presman")) as recording:
        playback = recording.playback()
        (tmp_path / "a.html").write_text(
            incident_page(gather(recording, playback, playback.indexes()), START), encoding="utf-8"
        )
    async with chromium(tmp_path) as browser:
        page = await browser.open((tmp_path / "a.html").as_uri(), A4, 1000)
        await page.wait_for_text("What this is based on")
        assert "Hover for figures." in await page.evaluate("document.body.innerText")
        await page.call("Emulation.setEmulatedMedia", media="print")
        assert await page.evaluate(WIDER) == []
        assert "Hover" not in await page.evaluate("document.body.innerText")
        printed = base64.b64decode((await page.call("Page.printToPDF", preferCSSPageSize=True))["data"])
    assert printed.startswith(b"%PDF-")
    assert 2 <= printed.count(b"/Type /Page\n") <= 20
