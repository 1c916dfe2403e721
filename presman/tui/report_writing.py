"""Report writing: the report of what is on show, a replay or the live history, made in a thread and named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from presman.base.formats import counted
from presman.base.text import clean, one_line
from presman.tui.exports import PollRecording, file_name, write_past

if TYPE_CHECKING:
    from presman.recording.recording_source import RecordingSource
    from presman.tui.frame_app import FrameApp


async def write_report(app: FrameApp) -> None:
    """Write the report, and name its file or say in one line why there is none."""
    from presman.base.errors import InputError
    from presman.recording.store import RecordingError
    from presman.sources import SourceError

    path = (app.folder or Path.cwd()) / file_name(app.monitor.name, "report", datetime.now(UTC), "html")
    try:
        app.notify("Writing the report …", timeout=3)
        polls = await _of_replay(app, path) if app.replayed is not None else await _of_history(app, path)
        app.notify(f"Report of {counted(polls, 'poll')}: {path}", timeout=15)
    except (OSError, RecordingError, SourceError, InputError) as error:
        why = (isinstance(error, OSError) and error.strerror) or str(error)
        app.notify(f"No report in {path.parent}: {one_line(clean(str(why)), 300)}", severity="error", timeout=15)
    except Exception as error:
        app.complain(error)
    finally:
        app.is_reporting = False


async def _of_replay(app: FrameApp, path: Path) -> int:
    reading, replayed = app.monitor.reading, app.replayed
    assert replayed is not None
    return await asyncio.to_thread(_make, replayed, reading.at if reading is not None else None, path, "")


async def _of_history(app: FrameApp, path: Path) -> int:
    """Report the minutes that charts show: they are recorded first, as the key R does, in a folder that goes again."""
    from presman.recording.recording_source import RecordingSource
    from presman.recording.store import RecordingError

    monitor, troubles = app.monitor, list[str]()
    latest, at = monitor.latest, monitor.reading.at if monitor.is_frozen and monitor.reading is not None else None
    assert latest is not None
    with TemporaryDirectory(prefix="presman-") as folder:
        poll_recording = PollRecording(Path(folder), troubles.append)
        location = str(poll_recording.begin(monitor.name, latest.kind))
        try:
            await write_past(monitor, poll_recording, latest)
        finally:
            await asyncio.to_thread(poll_recording.close)
        if troubles:
            raise RecordingError(troubles[0])
        name = monitor.name
        return await asyncio.to_thread(
            _make, lambda: RecordingSource(location, name=name), at, path, "the monitor's own polls"
        )


def _make(make_source: Callable[[], RecordingSource], at: datetime | None, path: Path, source: str) -> int:
    """Write the page and return how many polls it is of; `source` is what it is said to come from, "" for its file."""
    from msgspec.structs import replace

    from presman.base.private_files import replace_private
    from presman.reports.report.incident_page import incident_of, incident_page

    incident = incident_of(make_source(), at, lambda _text: None)
    if source:
        incident = replace(incident, source=source)
    replace_private(path, incident_page(incident, datetime.now(UTC)).encode("utf-8"))
    return incident.polls
