"""The key that writes a report: of the live history or a replay, and the messages when it cannot."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from unittest import mock

from msgspec.structs import replace

from presman.analysis.goals import Goal, GoalReading
from presman.recording.recording_source import RecordingSource
from tests.recording.recorded import START, polled, record
from tests.tui.drive import Stage, acted
from tests.tui.replays import replaying, waited
from tests.tui.test_live import playing


def notices(acting: Stage) -> list[str]:
    return [str(each.message) for each in acting.app._notifications]


async def written(acting: Stage) -> None:
    """Wait until the report is written, or has failed, and the notice is shown."""
    await waited(acting, lambda: not acting.app.is_reporting)
    await acting.settle()


async def reported(acting: Stage, folder: Path) -> str:
    """Press the key and return the page, from the file that the notice names."""
    acting.app.folder = folder
    await acting.keys("r")
    await written(acting)
    (path,) = folder.iterdir()
    assert notices(acting)[-1].endswith(f": {path}")
    assert path.stat().st_mode & 0o777 == 0o600, "names and texts are in it"
    return path.read_text(encoding="utf-8")


@acted
async def test_the_live_history_as_a_page(tmp_path: Path) -> None:
    async with playing("changes") as (acting, polls):
        await polls(35)
        page = await reported(acting, tmp_path)
        assert notices(acting)[-1].startswith("Report of 35 polls: ")
        assert next(tmp_path.iterdir()).name.startswith("presman-DWPROD-report-")
        assert "CHGDB: " in page
        assert "35 polls, usually 2.0 s apart" in page
        assert "From the monitor&#x27;s own polls by presman" in page
        assert "plan DAY_PLAN → NIGHT_PLAN (by NIGHT_WINDOW)" in page, "70 seconds are enough for it"
        await polls(1)
        assert acting.app.monitor.latest.number == 36, "polls go on"


@acted
async def test_the_report_has_the_shown_moment(tmp_path: Path) -> None:
    async with playing("quiet") as (acting, polls):
        await polls(6)
        await acting.keys("left", "left")
        goal = GoalReading(Goal("BATCH", 0.95, 60.0), 0, 0, (0, 0), (0, 0), 0.0)
        acting.app.monitor.reading = replace(acting.app.monitor.reading, goals=(goal,))
        at = acting.app.monitor.reading.at
        page = await reported(acting, tmp_path)
    assert "Goal: 95 % of BATCH start within 1 min: no statement was seen." in page
    assert f"{at.astimezone():%H:%M:%S}: asked for" in page, "of a live view it is the worst one"


@acted
async def test_the_report_of_a_replay_covers_the_replayed_polls(tmp_path: Path) -> None:
    place, folder = str(tmp_path / "a.presman"), tmp_path / "reports"
    folder.mkdir()
    record(place, list(polled("queueing", 24)))
    begin = f"{START.astimezone():%Y-%m-%d %H:%M}:30"

    def source() -> RecordingSource:
        found = RecordingSource(place, name="recording:a", start=begin)
        found.goals = (Goal("BATCH", 0.95, 60.0),)
        return found

    async with replaying(source) as acting:
        app = acting.app
        await waited(acting, lambda: app.monitor.reading is not None and "event " in acting.screen)
        (goal,) = app.monitor.reading.goals
        page = await reported(acting, folder)
    assert goal.watched == 25.0, "since the first poll, 5 s after the start"
    assert "Goal: 95 % of BATCH start within 1 min" in page
    assert "19 polls, usually 5.0 s apart" in page, "30 to 120 seconds"
    assert f"From {place} by presman" in page


@acted
async def test_a_report_that_cannot_be_written_is_one_line_and_leaves_no_file(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    async with playing("quiet") as (acting, polls):
        await polls(3)
        acting.app.folder = tmp_path / "gone"
        await acting.keys("r")
        await written(acting)
        assert notices(acting)[-1] == f"No report in {tmp_path / 'gone'}: No such file or directory"
        acting.app.folder = tmp_path
        with mock.patch.object(Path, "replace", side_effect=full):
            await acting.keys("r")
            await written(acting)
        assert notices(acting)[-1] == f"No report in {tmp_path}: No space left on device"
        assert list(tmp_path.iterdir()) == []
        await acting.keys("r")
        await written(acting)
        assert notices(acting)[-1].startswith("Report of 3 polls: "), "the next one can be written"


@acted
async def test_a_second_press_waits_for_the_first(tmp_path: Path) -> None:
    async with playing("quiet") as (acting, polls):
        await polls(3)
        acting.app.is_reporting = True
        await acting.keys("r")
        assert notices(acting)[-1] == "The report is being written."
