"""Moved statements: if the group changes during the wait, the goal of the first group judges the statement, once."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.analysis.goals import Goal, GoalReading
from presman.analysis.readings.reading import Reading
from presman.analysis.trends.goal_counts import GoalCounts
from presman.recording.reader import Recording
from presman.recording.statement_lives import goals_between
from tests.recording.recorded import Moment, polled, record
from tests.tui.readings import queued, running

GOALS = (Goal("REPORTS", 0.9, 60.0), Goal("OTHER_GROUPS", 0.9, 10.0))
SQL_ID = "9md3ukh000j58"


def course(*changes: tuple[str, bool]) -> list[Moment]:
    """Return polls 5 s apart of a statement that has waited for 20 s at the first; `changes`: its group and state."""
    found: list[Moment] = []
    ran = 0.0
    for number, (moment, (group, runs)) in enumerate(zip(polled("mixed", len(changes)), changes, strict=True)):
        held, queue = [], []
        if runs:
            ran += 3.0 if not ran else 5.0
            held = [running(7, elapsed=ran, group=group, serial=7, sql_id=SQL_ID)]
        else:
            queue = [replace(queued(sid=7, waited=20.0 + 5 * number, group=group, sql_id=SQL_ID), serial=7)]
        found.append((moment[0], replace(moment[1], queue=tuple(queue), running=tuple(held))))
    return found


def by_recording(path: Path, moments: list[Moment], at: Reading) -> tuple[GoalReading, ...]:
    if not path.exists():
        record(path, moments)
    with Recording(str(path)) as recording:
        playback = recording.playback()
        assert playback.first is not None
        return goals_between(playback, GOALS, playback.first, at.at)


def fared(found: tuple[GoalReading, ...]) -> list[tuple[int, int]]:
    return [(each.good, each.bad) for each in found]


QUEUED, MOVED = ("REPORTS", False), ("OTHER_GROUPS", False)
STARTED, RUNS = ("OTHER_GROUPS", True), ("REPORTS", True)


@pytest.mark.parametrize(
    "changes",
    [
        [QUEUED, QUEUED, STARTED, STARTED],
        [QUEUED, MOVED, MOVED, STARTED],
        [QUEUED, RUNS, STARTED, STARTED],
        [QUEUED] * 9 + [STARTED] * 2,
        [QUEUED] * 5 + [MOVED] * 5,
    ],
)
def test_a_statement_is_judged_by_the_group_in_which_it_arrived(
    changes: list[tuple[str, bool]], tmp_path: Path
) -> None:
    moments, live = course(*changes), GoalCounts(GOALS)
    for _, reading in moments:
        judged = fared(live.add(reading).goals)
        assert judged[1] == (0, 0), "it never came to OTHER_GROUPS"
        assert fared(by_recording(tmp_path / "a.presman", moments, reading)) == judged
    assert sum(judged[0]) == 1


def test_a_goal_at_an_instant_ignores_later_polls(tmp_path: Path) -> None:
    moments = course(QUEUED, QUEUED, MOVED, MOVED, STARTED, STARTED)
    record(tmp_path / "a.presman", moments)
    with Recording(str(tmp_path / "a.presman")) as recording:
        playback = recording.playback()
        groups = []
        for _, reading in moments:
            (life,) = playback.statements(moments[0][1].at, reading.at)
            groups.append((life.group, life.came_to))
    assert groups == [("REPORTS", "REPORTS")] * 2 + [("OTHER_GROUPS", "REPORTS")] * 4
    assert life.queued_at is not None
    assert moments[0][1].at - life.queued_at == timedelta(seconds=20), "its wait counts from its arrival"
    assert life.held_from is not None
    assert moments[4][1].at - life.held_from == timedelta(seconds=3)
