"""V$PX_SESSION falls silent while statements run and queue: holders of servers are less known with every poll."""

from __future__ import annotations

from pathlib import Path

import pytest

from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.alerts.not_known import unavailable
from presman.analysis.parallel.running import SAME_CLOCK
from presman.analysis.totals import totals
from presman.analysis.trends import Watch
from presman.base.formats import duration
from presman.figures.drawing.lines import plain
from presman.figures.session_figures import SESSIONS
from presman.rows.session_rows import PxSession, Session
from presman.rows.session_state import is_queued
from presman.tabs.parts import Moment
from presman.tabs.top import statements
from presman.tui.pages.row_details import page
from tests.situations import silence
from tests.situations.silence import Course


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Return the polls of the scenario storm in which V$PX_SESSION is silent."""
    return silence.silent(silence.storm_without("V$PX_SESSION", tmp_path_factory.mktemp("silent"), 30))


def test_a_newly_queued_session_is_not_shown_with_its_earlier_servers(silent: Course) -> None:
    snapshot, reading = silent[-1]
    once = {(row.inst_id, row.qcsid) for row in snapshot.rows(PxSession)}
    now_queued = {(row.inst_id, row.sid) for row in snapshot.rows(Session) if is_queued(row.event, row.state)}
    assert once & now_queued, "some have ended their statement, and queue with the next"
    assert reading.running
    assert not {(each.inst_id, each.sid) for each in reading.running} & now_queued
    assert once & now_queued <= {(each.inst_id, each.sid) for each in reading.queue}


def test_the_next_statement_is_not_shown_with_the_servers_of_the_last(silent: Course) -> None:
    again = set()
    for snapshot, reading in silent:
        read = snapshot.section(PxSession).at
        assert read is not None
        once = {(row.inst_id, row.qcsid) for row in snapshot.rows(PxSession)}
        later = {
            (row.inst_id, row.sid)
            for row in snapshot.rows(Session)
            if row.sql_exec_start is not None and (row.sql_exec_start - read).total_seconds() > SAME_CLOCK
        }
        again |= once & later
        assert not {(each.inst_id, each.sid) for each in reading.running} & later
    assert again


def test_no_session_is_a_coordinator_of_servers_that_it_may_have_freed(silent: Course) -> None:
    """Tab Sessions showed QC with the servers of the last statement."""
    freed = set()
    for snapshot, reading in silent:
        running = {(each.inst_id, each.sid) for each in reading.running}
        shown = {(each.inst_id, each.sid): each.px_servers for each in reading.sessions if each.px_role == "QC"}
        assert shown.keys() <= running
        assert not any(each.px_servers for each in reading.sessions if (each.inst_id, each.sid) not in running)
        servers = [each for each in reading.sessions if each.px_role == "server"]
        assert {each.coordinator[:2] for each in servers if each.coordinator} <= running
        freed |= {(row.inst_id, row.qcsid) for row in snapshot.rows(PxSession) if row.qcsid} - running
    assert freed


def test_alerts_and_pages_of_holders_have_the_age_of_the_list(silent: Course) -> None:
    _, reading = silent[-1]
    age = duration(next(each.age for each in reading.late))
    (alert,) = [each for each in wrong(reading) if each.key == "idle_holder"]
    assert alert.text.startswith(f"{alert.short}: ")
    assert alert.short.endswith(f" servers (as of {age} ago)")
    row = next(each for each in reading.sessions if each.px_role == "QC")
    lines = [plain(line).split() for line in page(row, SESSIONS, reading)]
    assert ["servers", f"{row.px_servers},", "DOP", str(row.dop), "as", "of", age, "ago"] in lines


def test_servers_of_a_statement_are_not_0_because_no_view_shows_them(tmp_path: Path) -> None:
    """Tab Top showed 0 servers for statements, and averaged that over the time of the silence."""
    watch, before = Watch(), set[str]()
    for _, reading in silence.polls_without(("V$PX_SESSION",), "storm", tmp_path, 20, at=60):
        watch.add(reading)
        rows = statements(Moment(reading, watch=watch))
        if reading.late:
            assert {each.now for each in rows} == {None}
            held = {(each.activity.sql_id, each.activity.servers) for each in rows if each.activity.servers}
            assert held == before
        else:
            before = {(each.activity.sql_id, each.activity.servers) for each in rows if each.activity.servers}
    assert before


def test_downgrades_are_counted_by_another_view(silent: Course) -> None:
    """`check` had their number, and the list of alerts called it not known."""
    _, reading = silent[-1]
    now, away = totals(reading), unavailable(reading)
    assert (now.downgrades, "downgrade" in away) == (0, False)
    assert (now.downgraded, "degrees" in away) == (None, True)
