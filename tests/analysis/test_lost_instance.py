"""A lost instance: nothing shows its statements as running, and DO names the instance."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from msgspec.structs import replace

from presman.analysis.advice.ending import ending, objection
from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts.alert_rules import instances_gone, instances_started, wrong
from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, running_in_words
from presman.analysis.trends.database_events import DOWNGRADE, EventWatch
from presman.analysis.trends.statement_runs import StatementRuns
from presman.figures.statement_figures import running_state
from presman.forecast.statement_history import StatementHistory
from presman.output.text_report import full
from presman.output.why_answer import AskedStatement, ReasonHistory, as_json, as_text
from presman.rows.group_rows import GroupMetric
from presman.rows.instance_rows import Instance
from presman.rows.queries import Scope
from presman.rows.session_rows import SessionInfo
from presman.rows.snapshot import GoneInstance, Problem, Section, Snapshot
from tests.recording.recorded import START, polled

AWAY, BACK = 300.0, 390.0
"""The seconds of the demo `changes` at which its instance 2 goes and comes."""


def changes(since: float, until: float) -> list[tuple[Snapshot, Reading]]:
    """Return its polls of a period, three seconds apart."""
    moments = polled("changes", int((until - AWAY) // 3.0) + 4, step=3.0, since=AWAY - 12.0)
    return [(snapshot, reading) for snapshot, reading in moments if seconds(reading) >= since]


def seconds(reading: Reading) -> float:
    return (reading.at - START).total_seconds()


def just_after() -> tuple[Snapshot, Reading]:
    return changes(AWAY, AWAY)[0]


def test_statements_of_a_lost_instance_do_not_run() -> None:
    _, reading = just_after()
    (gone,) = reading.running
    assert (gone.inst_id, gone.orphaned, gone.servers_by_instance) == (2, True, {1: 12})
    assert running_state(gone) == "✕ gone with inst 2"
    assert sum(row.px_active or 0 for row in reading.cluster_groups()) == 0
    assert running_in_words(reading.running) == ["1 gone with the instance on 12 servers"]
    assert ending(gone, reading).commands == ()
    assert objection(gone) == "it is gone with instance 2, so there is no session to end"


def test_a_lost_statement_is_no_new_downgrade() -> None:
    snapshot, reading = just_after()
    (gone,) = reading.running
    less = replace(reading, running=(replace(gone, degree=6, requested=12, downgraded=50.0),))
    runs, watch = StatementRuns(), EventWatch()
    runs.add(less)
    assert not runs.downgraded_since(less.at)
    assert DOWNGRADE not in [each.kind for each in watch.add(less, snapshot)]


@pytest.mark.parametrize("at", [AWAY, AWAY + 15.0, BACK, BACK + 30.0])
def test_as_many_run_by_the_table_as_by_the_groups(at: float) -> None:
    ((_, reading),) = changes(at, at)
    running = sum(not each.orphaned for each in reading.running)
    assert running == sum(row.px_active or 0 for row in reading.cluster_groups())
    rows = re.findall(r"^\w{13} .* (?:●|○|✕) .*$", full(reading).split("-- Running")[1].split("-- Servers")[0], re.M)
    assert len(rows) == len(reading.running)
    assert sum("gone with inst 2" in row for row in rows) == len(rows) - running


def test_the_alert_names_what_is_not_freed_and_do_the_instance() -> None:
    (_, first), *_, (_, last) = changes(AWAY, AWAY + 30.0)
    (alert,) = instances_gone(first)
    assert alert.text.endswith("are gone with it; 12 servers still held on other instances for its statements")
    assert instances_gone(last)[0].text.endswith("are gone with it")
    for reading, why in (first, "no view shows instance 2 (CHGDB2)"), (last, "instance 2 (CHGDB2) is gone"):
        step = to_do(reading)
        assert step is not None
        assert step.short == f"find out why {why}; start it if nobody stopped it"
        assert step.subject == alert.subject


def test_a_queue_behind_what_is_gone_says_so_once() -> None:
    *_, (_, reading) = polled("lost", 6, step=2.0)
    assert [(each.orphaned, each.servers) for each in reading.running] == [(True, 12), (True, 8)]
    (found,) = unblock(reading)
    assert found.sentence == "statements lost with instance 2 still hold 20 servers, and there is no session to end"
    assert not any(each.commands for each in found.candidates)


def test_other_advice_comes_before_an_instance_that_is_long_gone() -> None:
    _, reading = just_after()
    (gone,) = reading.gone
    host = replace(reading.header.instances[0], host_busy=1.0)  # nearly all of it is used by others
    reading = replace(reading, header=replace(reading.header, instances=(host,)))
    for seconds_ago, subject in ((599.0, "2"), (600.0, "")):
        then = gone._replace(last_seen=reading.at - timedelta(seconds=seconds_ago))
        step = to_do(replace(reading, gone=(then,)))
        assert step is not None
        assert step.subject == subject


def test_a_head_too_large_without_the_lost_instance_waits_for_it() -> None:
    """16 s after the crash DO advised to cancel what started by itself when the instance was back."""
    *_, (snapshot, reading) = polled("lost", 20, step=2.0)
    queued = next(each for each in reading.queue if each.position == 1)
    (gone,) = reading.gone
    assert gone.servers_target == 32

    def at_the_head(dop: int, servers_target: int | None = 32, seconds_ago: float = 60.0) -> Reading:
        """Return the reading with a head of that DOP, and a lost instance that had so many servers."""
        sessions = snapshot.rows(SessionInfo)
        changed = tuple(
            each._replace(dop=dop) if (each.inst_id, each.sid) == (queued.inst_id, queued.sid) else each
            for each in sessions
        )
        then = gone._replace(servers_target=servers_target, last_seen=reading.at - timedelta(seconds=seconds_ago))
        sections = {**snapshot.sections, SessionInfo: Section(changed), GoneInstance: Section((then,))}
        return analyse(None, replace(snapshot, sections=sections))

    for dop, target, fits in ((12, 32, (2,)), (12, 16, (2,)), (12, 15, ()), (17, 32, ()), (12, None, ())):
        (head,) = at_the_head(dop, target).heads
        assert (head.cause, head.fits_with, head.never_starts) == (Cause.NEVER_FITS, fits, not fits), (dop, target)
    fitting = at_the_head(12)
    asked = as_text(fitting, AskedStatement(sid=queued.sid, inst_id=queued.inst_id), ReasonHistory())
    assert re.search(r"\(50 % of 32\), \d+ held; this lasts while instance 2 is gone", asked)
    assert "to start it: it fits again once instance 2 is back; until then it is too large for its limit" in asked
    critical = replace(fitting, heads=(replace(fitting.heads[0], queue_waited=7200.0),))
    for each in (fitting, critical):
        assert to_do(each).short == "find out why instance 2 (LOSTDB2) is gone; start it if nobody stopped it"  # type: ignore[union-attr]
    later = to_do(at_the_head(12, seconds_ago=600.0))
    assert later is not None
    assert later.text == (
        "the head of REPORTS fits again once instance 2 is back; else cancel it and run it with a lower DOP, or in "
        "another group"
    )
    assert later.short == "run REPORTS's head with a lower DOP, or wait until instance 2 is back"


def test_servers_held_for_an_instance_that_was_never_seen_reveal_it() -> None:
    snapshot, _ = just_after()
    sections = {record: each for record, each in snapshot.sections.items() if record is not GoneInstance}
    reading = analyse(None, replace(snapshot, sections=sections))
    (alert,) = instances_gone(reading)
    assert alert.text == "Instance 2 is gone: 12 servers still held on other instances for its statements"
    step = to_do(reading)
    assert step is not None
    assert step.short == "find out why instance 2 is gone; start it if nobody stopped it"


def test_a_statement_that_is_asked_about_is_gone_or_nowhere() -> None:
    _, reading = just_after()
    (gone,) = reading.running
    answer = as_text(reading, AskedStatement.of(gone.sql_id), ReasonHistory())
    assert answer.endswith("is gone with instance 2: 12 servers not freed yet\n")
    assert json.loads(as_json(reading, AskedStatement.of(gone.sql_id), ReasonHistory()))["state"] == "gone"
    nobody = as_text(reading, AskedStatement.of("0000000000000"), ReasonHistory())
    assert "(0 statements queued, 0 in parallel)" in nobody


def test_its_run_ends_with_the_instance() -> None:
    runs = StatementRuns()
    for _, reading in changes(AWAY - 9.0, AWAY):
        runs.add(reading)
    assert runs.open == []


def test_lost_statements_do_not_count_as_durations() -> None:
    history = StatementHistory()
    for _, reading in polled("lost", 6, step=2.0):
        history.add(reading)
    assert [each.inst_id for each in reading.gone] == [2]
    assert (history.ended, len(history.arrivals)) == (0, 0)


def test_only_v_instance_of_the_whole_cluster_shows_that_it_is_gone() -> None:
    snapshot, _ = just_after()
    problem = Section(snapshot.section(Instance).rows, problem=Problem("ORA-00942", "no grant", "GV$INSTANCE"))
    unanswered = replace(snapshot, sections={**snapshot.sections, Instance: problem})
    for doubtful in (unanswered, replace(snapshot, scope=Scope.INSTANCE)):
        assert [each.orphaned for each in analyse(None, doubtful).running] == [False]


def test_its_start_is_reported_for_an_hour() -> None:
    _, back = changes(BACK + 30.0, BACK + 30.0)[0]
    (note,) = instances_started(back)
    assert (note.state, note.short) == ("note", "instance 2 (CHGDB2) was started 0:30 ago")
    assert note.text.startswith("Instance 2 (CHGDB2) was started 0:30 ago, at 03:06:30")
    assert note in wrong(back)
    assert f"{note.glyph} {note.text}" in full(back)
    for uptime, count in ((3599.0, 1), (3600.0, 0), (None, 0)):
        header = replace(back.header, instances=(replace(back.header.instances[0], uptime=uptime),))
        assert len(instances_started(replace(back, header=header))) == count


def test_an_instance_that_was_started_knows_nothing_of_the_minutes_before() -> None:
    """Its first minute was that of the lost instance, so a lost queue still took turns."""
    counted = {
        round(seconds(reading)): {each.inst_id for each in snapshot.section(GroupMetric).rows}
        for snapshot, reading in changes(BACK, BACK + 130.0)
    }
    assert counted[round(BACK)] == {1}
    assert [inst_ids for at, inst_ids in counted.items() if at > BACK + 121.0] == [{1, 2}] * 3
    assert sorted(counted.values(), key=len) == list(counted.values()), "once it has a minute it has every minute"
