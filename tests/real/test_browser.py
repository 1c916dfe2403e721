"""The page of `presman report` in Chromium: no message on its console, no request. Run by `make test-real`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from presman.recording.reader import Recording
from presman.reports.report.incident import gather
from presman.reports.report.incident_page import incident_page
from tests.recording.recorded import START, polled, record

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.skipif(not os.environ.get("PRESMAN_REAL"), reason="needs a real browser: make test-real"),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH"),
]


def test_chromium_shows_it_without_a_complaint(tmp_path: Path) -> None:
    record(tmp_path / "a.presman", list(polled("mixed", 40)))
    with Recording(str(tmp_path / "a.presman")) as recording:
        playback = recording.playback()
        (tmp_path / "a.html").write_text(
            incident_page(gather(recording, playback, playback.indexes()), START), encoding="utf-8"
        )
    done = browse(tmp_path, "a.html")
    assert "What happened" in done.stdout
    assert "CONSOLE" not in done.stderr


def test_a_complaint_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text(
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\"><p style='color:red'>b</p>"
    )
    assert "CONSOLE" in browse(tmp_path, "b.html").stderr


def browse(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None
    return subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
         f"--user-data-dir={folder / 'profile'}", "--dump-dom", (folder / name).as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
