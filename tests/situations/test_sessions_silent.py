"""V$SESSION falls silent while statements are queued: its last rows show less of the queue with every poll."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from presman.analysis.advice.to_do import with_unchecked
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.alerts.queue_alerts import blocked_holders, session_words
from presman.analysis.alerts.rule_book import dated
from presman.analysis.assemble import analyse
from presman.analysis.readings.statement_readings import runs
from presman.analysis.trends.statement_runs import StatementRuns
from presman.base.formats import duration, spelled
from presman.figures.drawing.lines import plain
from presman.figures.session_figures import SESSIONS
from presman.figures.statement_figures import QUEUE, RUNNING
from presman.output.text_report import full
from presman.output.why_answer import AskedStatement, why_not_known
from presman.rows.session_rows import PxSession, SessionInfo
from presman.rows.snapshot import Section, StartedSession
from presman.tui.pages.row_details import page
from tests.situations.silence import Course, silent, storm_without


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Return the polls of the scenario storm, in which V$SESSION is silent for some minutes, then answers again."""
    return storm_without("V$SESSION", tmp_path_factory.mktemp("silent"), 53)


def test_a_statement_that_was_seen_to_start_is_not_queued_again_when_its_servers_are_gone(course: Course) -> None:
    started: set[tuple[int, int, int]] = set()
    came_back, gone = [], set()
    for snapshot, reading in silent(course):
        holders = {(each.qcinst_id, each.qcsid, each.qcserial) for each in snapshot.rows(PxSession) if each.qcserial}
        started |= holders
        gone |= started - holders
        came_back += [each for each in reading.queue if (each.inst_id, each.sid, each.serial) in started]
    shown = {(each.inst_id, each.sid, each.serial) for each in course[0][1].queue}
    assert shown & gone, "some were queued when V$SESSION last answered, and have ended since"
    assert not came_back
    _, last = silent(course)[-1]
    inst_id, sid, _ = min(shown & gone)
    assert "GV$SESSION" in why_not_known(last, AskedStatement.of(f"{inst_id}:{sid}"))


def test_noted_starts_end_with_the_next_answer(course: Course) -> None:
    assert silent(course)[-1][0].rows(StartedSession)
    assert not course[-1][1].late
    assert not course[-1][0].rows(StartedSession)
    assert course[-1][1].queue


def test_a_queue_counted_as_empty_lists_no_statement(course: Course) -> None:
    listed = {each.group for _, reading in silent(course) for each in reading.queue}
    assert listed
    for _, reading in silent(course):
        counted = {row.title: row.px_queued for row in reading.cluster_groups()}
        assert all(counted[each.group] for each in reading.queue)


def test_every_text_has_the_number_that_is_counted_now(course: Course) -> None:
    """`check` had 6 where the table of groups had 23, and left out groups that the old list did not have."""
    differ = 0
    for _, reading in silent(course):
        alerts = {each.subject: each for each in wrong(reading) if each.key == "queue_waits"}
        counted = {row.title: row.px_queued for row in reading.cluster_groups() if row.px_queued}
        assert {name: each.short.split(" queued, ")[0] for name, each in alerts.items()} == {
            name: f"{name}: {number}" for name, number in counted.items()
        }
        differ += sum(counted.values()) != len(reading.queue)
    assert differ
    assert not any("as of" in each.text for each in wrong(course[-1][1]))


def test_only_what_the_list_shows_of_a_queue_has_its_age(course: Course) -> None:
    """The age stood beside everything: current servers, limits and counts seemed to be as old as the list."""
    for _, reading in silent(course):
        old = f" (as of {duration(next(each.age for each in reading.late))} ago)"
        alerts = {each.subject: each for each in wrong(reading) if each.key == "queue_waits"}
        for head in reading.heads:
            text, short, waited = alerts[head.group].text, alerts[head.group].short, duration(head.statement.waited)
            assert f"; head {head.statement.sql_id}{old} wants " in text.replace(f"{head.group}: ", "; ")
            assert text.count(old) == 1 or f" wait{old}, the first {waited}, " in text
            assert text.endswith(head.sentence)
            assert f" queued, head{old} now {waited}, {head.why}" in short
            whole, *shorter = alerts[head.group].between
            assert whole.endswith(head.sentence)
            assert whole.count(old) == 1
            assert all(each.endswith(f" head{old}, {head.why}") for each in shorter)


def test_a_wait_that_only_the_old_list_shows_has_its_age(course: Course) -> None:
    """It was shown as if it were current where V$RSRC_SESSION_INFO, which goes on counting, did not show it."""
    for snapshot, reading in silent(course):
        age = duration(next(each.age for each in reading.late))
        assert all(each.waited_ago is None for each in reading.queue)
        blind = analyse(None, replace(snapshot, sections={**snapshot.sections, SessionInfo: Section()}))
        alerts = {each.subject: each for each in wrong(blind) if each.key == "queue_waits"}
        for head in blind.heads:
            long = duration(head.statement.waited)
            assert f" queued, head {long} (as of {age} ago), " in alerts[head.group].short
    row = reading.queue[0]
    lines = [plain(each) for each in page(row, QUEUE, reading)]
    assert f" (as of {age} ago), queued for" not in (text := " ".join(lines))
    assert f"{row.event} as of {age} ago, queued for {spelled(row.waited)} by now." in text


def test_servers_of_holders_are_current(course: Course) -> None:
    for _, reading in silent(course):
        age = f"as of {duration(next(each.age for each in reading.late))} ago"
        (alert,) = [each for each in wrong(reading) if each.key == "idle_holder"]
        assert alert.short in {f"1 idle holder ({age}) keeps 16 servers", f"2 idle holders ({age}) keep 32 servers"}


def test_how_long_a_holder_is_idle_has_its_age(course: Course) -> None:
    """The time stayed the same and looked exact, while `Waited` beside it grew."""
    for _, reading in silent(course):
        age = duration(next(each.age for each in reading.late))
        (text,) = [each.text for each in wrong(reading) if each.key == "idle_holder"]
        assert text.count(f" as of {age} ago)") == text.count(", idle ") > 0
    assert not any(" as of " in each.text for each in wrong(course[0][1]))


def test_every_form_of_an_alert_has_the_age_of_the_list(course: Course) -> None:
    """The short text, in the line of alerts and in `check`, gave the shortage of a head as if it were current."""
    for _, reading in silent(course):
        age = duration(next(each.age for each in reading.late))
        heads = {each.group for each in reading.heads}
        old = [each for each in wrong(reading) if each.key == "idle_holder" or each.subject in heads]
        assert old
        assert all(text.count(f" (as of {age} ago)") == 1 for each in old for text in (each.short, *each.between))
        counted = [each for each in wrong(reading) if each.key == "queue_waits" and each.subject not in heads]
        assert not any("as of" in each.short for each in counted), "V$RSRC_CONSUMER_GROUP counts them now"
    assert not any("as of" in each.short for each in wrong(course[-1][1]))


def test_how_long_a_statement_runs_has_its_age_or_is_left_out(course: Course) -> None:
    _, reading = silent(course)[-1]
    age = duration(next(each.age for each in reading.late))
    found = [each for each in reading.running if each.elapsed is not None]
    assert found
    assert {RUNNING.column("elapsed_s").show(each) for each in found} == {"-"}
    assert all(runs(each) == f"runs {duration(each.elapsed)} as of {age} ago" for each in found)
    whole = [each for each in course[-1][1].running if each.elapsed is not None]
    assert all(RUNNING.column("elapsed_s").show(each) == duration(each.elapsed) for each in whole)


def test_a_statement_that_runs_on_is_one_execution(course: Course) -> None:
    """Its time stayed the same, so it seemed to begin later with each poll: every few seconds another execution."""
    watched = StatementRuns()
    for _, reading in course[: len(silent(course)) + 1]:
        watched.add(reading)
    holder = next(each for each in course[0][1].running if each.idle is not None)
    (run,) = [each for each in watched.of(holder.sql_id) if each.sid == holder.sid]
    assert run.idle is not None
    assert abs((course[0][1].at - run.idle).total_seconds() - (holder.idle or 0.0)) < 2


def test_the_page_of_a_session_has_its_age(course: Course) -> None:
    snapshot, reading = silent(course)[-1]
    age = duration(next(each.age for each in reading.late))
    row = next(each for each in reading.sessions if each.status == "INACTIVE")
    lines = [plain(line) for line in page(row, SESSIONS, reading)]
    dated = [line for line in lines if line.endswith(f" as of {age} ago")]
    assert [line.split()[0] for line in dated] == ["status", "waits"]
    assert f"-- Sessions ({len(reading.sessions)})  ◌ " in full(reading, snapshots=(snapshot, snapshot))
    assert "◌" not in full(course[-1][1], snapshots=(snapshot, snapshot))


def test_a_session_with_new_servers_is_no_idle_holder(course: Course) -> None:
    """Sessions of reports that had ended one statement were idle holders of the servers of their next."""
    first = silent(course)[0]
    held = {(each.qcinst_id, each.qcsid) for each in course[0][0].rows(PxSession)}
    idle = {(each.inst_id, each.sid) for each in first[1].sessions if each.status == "INACTIVE"}
    again = set()
    for snapshot, reading in silent(course):
        started = {(each.qcinst_id, each.qcsid) for each in snapshot.rows(PxSession)} & idle - held
        shown = [each for each in reading.running if (each.inst_id, each.sid) in started]
        assert all((each.idle, each.sql_id, each.event, each.elapsed) == (None, "", "", None) for each in shown)
        again |= started
    assert again


def test_how_long_a_blocker_is_idle_has_its_age(course: Course) -> None:
    _, reading = silent(course)[-1]
    blocker = next(each for each in reading.sessions if each.status == "INACTIVE")
    age = duration(next(each.age for each in reading.late))
    words = f"{blocker.who}, idle {duration(blocker.last_call)}"
    name = f"{blocker.inst_id}:{blocker.sid}"
    assert session_words(name, reading, " then") == f"{words} then"
    (blocked,) = blocked_holders(replace(reading, running=(replace(reading.running[0], blocker=name),)))
    assert f"{words} as of {age} ago" in dated(blocked, reading).text


def test_an_alert_that_ends_unseen_is_as_old_as_its_answer(course: Course) -> None:
    """Alerts of the old list had two ages: that of the list, and that of their last display."""
    before, kept = None, 0
    for _, alone in course:
        reading = with_unchecked(before, alone)
        age = duration(next((each.age for each in reading.late), None))
        for each in wrong(reading):
            for words in (each.text, each.short):
                assert set(re.findall(r"as of ([\d:]+) ago", words)) <= {age}, words
            assert each.short.count("as of") <= 1
        kept += bool(reading.late) and any(each.alert.key == "queue_waits" for each in reading.unchecked)
        before = reading
    assert kept
