"""Statements of a report agree with the polls of its recording: sums, bars, waits.

The expected figures are calculated here from the polls, row by row, without any code of the report.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import RunningStatement
from presman.recording.playback_values import StatementLife
from presman.recording.reader import Recording
from presman.recording.statement_lives import past_runs
from presman.recording.store import Store
from presman.recording.writer import RecordingWriter
from presman.reports.compare.window_figures import servers_held
from presman.reports.report.incident import Incident, gather
from presman.reports.report.report_charts import TimeAxis, life_chart
from tests.recording.recorded import Moment, figures, polled, record, recorded
from tests.thorough import THOROUGH, some

POLLS, STEP = 16, 5.0
SCENARIOS = some(("mixed", "storm"), ("holders", "queueing", "rac"))
Key = tuple[int, int, int, str]


def key(row: RunningStatement) -> Key:
    return row.inst_id, row.sid, row.serial, row.sql_id


def plain_server_seconds(readings: Sequence[Reading]) -> dict[str, float]:
    """Servers x seconds by group between the first poll and the last.

    Between two polls that both show an execution, it held its servers all the time, half of it for the group at each
    poll. An execution that came between two polls has held them since its start according to the second poll or, if
    that is before it left the queue, since the middle. One that went held them to the middle, or until the session's
    next execution.
    """
    found: dict[str, float] = defaultdict(float)
    for one, other in pairwise(readings):
        step = (other.at - one.at).total_seconds()
        before, after = ({key(row): row for row in reading.running} for reading in (one, other))
        queued = {(row.inst_id, row.sid, row.serial, row.sql_id) for row in one.queue}
        for execution in before.keys() | after.keys():
            first, second = before.get(execution), after.get(execution)
            again = first and second and second.elapsed is not None and first.elapsed is not None and (
                second.elapsed < first.elapsed + step - 5
            )  # fmt: skip
            if first and second and not again:
                found[first.group] += first.servers * step / 2
                found[second.group] += second.servers * step / 2
                continue
            if second:
                ran = second.elapsed if second.elapsed is not None else second.idle or 0.0
                if execution in queued and ran > step:
                    ran = step / 2
                found[second.group] += second.servers * min(ran, step)
            if first:
                to_the_end = step / 2 if not again or second is None else step - (second.elapsed or 0.0)
                found[first.group] += first.servers * to_the_end
    return found


def whole_report(place: Path) -> tuple[Incident, list[StatementLife]]:
    with Recording(str(place)) as recording:
        playback = recording.playback()
        return gather(recording, playback, playback.indexes()), playback.statements()


def by_group(incident: Incident) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for each in incident.sums:
        found[each.group] += each.server_seconds
    return {group: seconds for group, seconds in found.items() if seconds}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_sums_and_bars_match_the_polls(scenario: str, tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    many = 300 if THOROUGH else POLLS
    moments = list(polled(scenario, many))
    path.write_bytes(recorded(scenario, many))
    readings = [reading for _, reading in moments]
    incident, lives = whole_report(path)
    assert by_group(incident) == pytest.approx(plain_server_seconds(readings), rel=1e-6, abs=1e-3)
    ats = [reading.at for reading in readings]
    held = servers_held(lives, ats)
    for place, (reading, bin_) in enumerate(zip(readings, incident.bins, strict=True)):
        there = [each for each in lives if each.first_seen <= reading.at <= each.gone]
        # A statement that began exactly at a poll was either still queued or executing: the poll shows which.
        executing = {key(row) for row in reading.running}
        working = [
            each for each in there
            if each.held_from is not None
            and (each.held_from < reading.at or (each.held_from == reading.at and each[:4] in executing))
        ]  # fmt: skip
        begun = sum(each.servers for each in there if each.held_from == reading.at)
        servers = sum(row.servers for row in reading.running)
        assert sum(each.servers for each in working) == servers == bin_.servers
        named = sum(row.servers for row in reading.running if row.sql_id)
        assert named <= sum(own[place] for own in held.values()) <= named + begun
        assert len(there) - len(working) == len(reading.queue) == bin_.queued
    with Recording(str(path)) as recording:
        recorded_wait = max((row["waited_s"] or 0.0 for row in figures(recording.playback(), "queue")), default=0.0)
    longest = max((each.longest_wait for each in incident.sums), default=0.0)
    assert recorded_wait - 0.05 <= longest <= recorded_wait + STEP
    assert sum(each.statements for each in incident.sums) == len(lives)


def test_bars_of_running_statements_end_with_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(recorded("storm", POLLS))
    incident, lives = whole_report(path)
    open_ones = [each for each in lives if each.ended_at is None]
    assert len(open_ones) >= 20
    assert {each.last_seen for each in open_ones} == {each.gone for each in open_ones} == {incident.end}
    axis = TimeAxis(incident.start, incident.end)
    assert life_chart(open_ones[:1], axis, incident.colours).count("its end was not seen; last seen") == 1


@pytest.mark.parametrize("polls", some([7], [20]))
def test_a_killed_recorder_leaves_the_same_sums(polls: int, tmp_path: Path) -> None:
    moments = list(polled("mixed", polls))
    record(tmp_path / "closed.presman", moments)
    store = Store(str(tmp_path / "killed.presman"), writing=True)
    writer = RecordingWriter(store, "demo:x", "simulator")
    for moment in moments:
        writer.append(*moment)
    (closed, lives), (killed, left) = (whole_report(tmp_path / f"{name}.presman") for name in ("closed", "killed"))
    assert closed.sums == killed.sums
    assert [(each.came, each.held_from, each.gone) for each in lives] == [
        (each.came, each.held_from, each.gone) for each in left
    ]


def times(lives: Sequence[StatementLife]) -> list[object]:
    names = StatementLife._fields[:-4] + StatementLife._fields[-3:]
    return sorted([str(getattr(each, name)) for name in names] for each in lives)


@pytest.mark.parametrize("is_killed", some([True], [False]))
def test_a_restarted_recorder_continues_the_same_statements(tmp_path: Path, is_killed: bool) -> None:
    moments = list(polled("mixed", 20))
    record(tmp_path / "one.presman", moments)
    if is_killed:
        writer = RecordingWriter(Store(str(tmp_path / "two.presman"), writing=True), "demo:x", "simulator")
        for moment in moments[:11]:
            writer.append(*moment)
    else:
        record(tmp_path / "two.presman", moments[:11])
    record(tmp_path / "two.presman", moments[11:])
    (one, lives), (two, left) = (whole_report(tmp_path / f"{name}.presman") for name in ("one", "two"))
    assert times(lives) == times(left)
    assert one.sums == two.sums


def test_statements_that_went_in_a_gap_have_no_end_and_hold_no_servers(tmp_path: Path) -> None:
    """There are 150 s without polls between polls 4 and 34: statements seen on both sides were there all the time."""
    path = tmp_path / "a.presman"
    moments = list(polled("mixed", 40))
    record(path, moments[:4] + moments[34:])
    before, after = moments[3][1], moments[34][1]
    gone = {key(row) for row in before.running} - {key(row) for row in after.running}
    assert gone
    _, lives = whole_report(path)
    left = {(each.inst_id, each.sid, each.serial, each.sql_id): each for each in lives if each.gone == before.at}
    assert gone <= left.keys()
    assert all(each.ended_at is None and each.last_seen == before.at for each in left.values())


def test_a_statement_across_midnight_is_one(tmp_path: Path) -> None:
    moments = list(polled("mixed", 20))
    days = tmp_path / "days"
    days.mkdir()
    record(tmp_path / "one.presman", moments)
    _two_days(days, moments, 11)
    one, lives = whole_report(tmp_path / "one.presman")
    two, left = whole_report(days)
    assert [each[:4] for each in one.sums] == [each[:4] for each in two.sums]
    for first, second in zip(one.sums, two.sums, strict=True):
        assert second[5:] == pytest.approx(first[5:])
    assert [(each.came, each.held_from, each.gone) for each in lives] == [
        (each.came, each.held_from, each.gone) for each in left
    ]


def _two_days(folder: Path, moments: Sequence[Moment], first: int) -> None:
    """Write the first polls to one file of a folder and the others to the next, as a recorder does at midnight."""
    writer = None
    for day, part in (("2026-03-12", moments[:first]), ("2026-03-13", moments[first:])):
        store = Store(str(folder / f"presman-{day}.presman"), writing=True)
        writer = RecordingWriter(store, "demo:x", "simulator", before=writer)
        for moment in part:
            writer.append(*moment)
        writer.close()


def test_a_replay_has_the_statements_of_its_poll(tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    moments = list(polled("storm", POLLS))
    path.write_bytes(recorded("storm", POLLS))
    with Recording(str(path)) as recording:
        playback = recording.playback()
        for _, reading in moments[1::6]:
            spans = past_runs(playback, reading.at - timedelta(hours=1), reading.at)
            there = {(each.inst_id, each.sid, each.serial, each.sql_id) for each in spans if each.ended is None}
            assert there == {key(row) for row in reading.running} | {
                (row.inst_id, row.sid, row.serial, row.sql_id) for row in reading.queue
            }
