"""A view that does not answer: the other views still count, and the rest is shown as not known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.advice.queue_step import queue_step
from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts.alert_rules import all_clear, wrong
from presman.analysis.alerts.not_known import not_known, of_rules
from presman.analysis.assemble import analyse
from presman.analysis.fleet import key_figures_of
from presman.analysis.groups.verdicts import conformance, explain
from presman.analysis.readings.reading import Evidence, Reading
from presman.analysis.trends.database_events import EventWatch
from presman.analysis.trends.series import Series
from presman.base.formats import duration
from presman.figures.drawing.lines import plain
from presman.figures.statement_figures import _timeout
from presman.output import text_report
from presman.output.alert_list import listed
from presman.output.plugin_check import PluginState, result
from presman.output.why_answer import AskedStatement, ReasonHistory, as_text, why_not_known
from presman.recording.reader import Recording
from presman.rows.session_rows import PxSession, Session
from presman.rows.snapshot import Problem, Section, Snapshot
from presman.sources.simulator_source import SimulatorSource
from presman.tabs.alerts import alerts, no_queue
from presman.tabs.choices import Link
from presman.tui.pages.row_details import group, queued
from tests.analysis.test_simulated import Clock, play
from tests.recording.recorded import polled, record
from tests.scenarios import FOLDER, KINDS, with_short_past, without

POLLS, EVERY = 12, 4
"""Polls of a course, and the distance of those that are looked at."""


@cache
def unseen(*views: str) -> Reading:
    """Return the second reading of the scenario storm in which some views never answer."""
    with TemporaryDirectory() as folder:
        file = without(Path(folder), "storm", *views) if views else with_short_past("storm")
        clock = Clock()
        source = SimulatorSource(file, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC))
        return list(play(source, clock, 2, 20.0))[-1]


def answer(found: Reading, session: str) -> str:
    return as_text(found, AskedStatement.of(session), ReasonHistory())


def test_a_session_that_cannot_be_seen_is_not_denied() -> None:
    whole, no_sessions, no_servers = (unseen(*views) for views in ((), ("V$SESSION",), ("V$PX_SESSION",)))
    queued, holder = whole.queue[0], next(each for each in whole.running if each.idle is not None)
    first, idle = f"{queued.sid}", f"{holder.sid}"
    assert answer(whole, "1").startswith("session 1 is neither queued nor running")
    for reading, sid in ((no_sessions, first), (no_servers, idle)):
        assert answer(reading, sid).startswith(f"cannot tell whether session {sid} is queued or runs in parallel: GV$")
        assert why_not_known(reading, AskedStatement.of(sid))
    assert answer(no_servers, first).startswith(f"{queued.sql_id} of "), "V$SESSION shows it"
    assert answer(no_sessions, idle).splitlines()[0].endswith(f"holds {holder.servers} servers")
    assert "cannot tell whether it runs or is idle" in answer(no_sessions, idle)


def test_a_queue_that_is_only_counted_is_an_alert_with_its_number() -> None:
    whole, blind = unseen(), unseen("V$SESSION")
    number = len(whole.queue)
    assert blind.queued_by_group() == {row.title: row.px_queued for row in whole.cluster_groups() if row.px_queued}
    assert sum(blind.queued_by_group().values()) == number > 0
    by_group = {alert.subject: alert.short for alert in wrong(blind) if alert.key == "queue_waits"}
    counts = blind.queued_by_group().items()
    assert by_group == {name: f"{name}: {n} queued, why they wait is not known" for name, n in counts}
    line = " ".join(each.text for each in alerts(blind, Link()))
    assert "Whether there is a queue" not in line
    assert "No starved group" not in line
    assert f"{number} statements are queued (by V$RSRC_CONSUMER_GROUP)" in plain(no_queue(blind))
    step = to_do(blind)
    assert step is not None
    assert step.text.startswith(f"check why V$SESSION does not show which {number} statements are queued: GV$SESSION:")
    checked = result(blind, (), ())
    assert checked.state is PluginState.WARNING
    assert f"queued={number};" in checked.line
    assert checked.line.count("no answer in time") == 1, "one outage is named once"
    assert "servers_idle_held=U;" in checked.line, "V$SESSION shows which holders are idle"
    member = key_figures_of(blind)
    assert (member.queued, member.severity) == (number, "warn")
    assert "not known: which statements are queued and whether a session" in member.unknown
    assert member.worst.endswith(f"; {member.unknown}"), "the alert does not hide what is not known"


@pytest.mark.parametrize(
    ("view", "cause"),
    [
        (
            "V$SESSION",
            "which statements are queued and whether a session that holds parallel servers is idle or blocked "
            "(GV$SESSION: no answer in time)",
        ),
        (
            "V$PX_SESSION",
            "whether there is a downgrade and whether a session that holds parallel servers is idle or blocked "
            "(GV$PX_SESSION: no answer in time)",
        ),
        (
            "V$INSTANCE",
            "whether an instance is gone or was started and whether the database is quiesced "
            "(GV$INSTANCE: no answer in time)",
        ),
        ("V$SYSTEM_PARAMETER", "whether all parallel servers are in use (GV$SYSTEM_PARAMETER: no answer in time)"),
        (
            "DBA_RSRC_PLAN_DIRECTIVES",
            "whether a queued statement times out soon (DBA_RSRC_PLAN_DIRECTIVES: no answer in time)",
        ),
    ],
)
def test_check_once_alerts_and_a_fleet_name_the_same_cause_once(view: str, cause: str) -> None:
    """`check -v` reported it four times; `alerts` did not name what is not known."""
    reading = unseen(view)
    assert cause in not_known(reading)
    checked = "\n".join(result(reading, (), (), verbose=True).more)
    once = text_report.brief(reading, 500)
    for text in (checked, once, listed((), reading, ())):
        found = [line for line in text.splitlines() if "no answer in time" in line and not line.startswith(("DO", "!"))]
        assert [line for line in found if line.startswith(("not known", "problem", "note"))] == [f"not known: {cause}"]
    assert key_figures_of(reading).unknown.startswith("not known: ")
    assert cause in key_figures_of(reading).unknown


def test_a_database_without_answers_has_no_list_of_views(tmp_path: Path) -> None:
    clock = Clock()
    *_, reading = play(SimulatorSource(without(tmp_path, "storm"), clock=clock), clock, 2, 20.0)
    checked = result(reading, (), (), verbose=True)
    assert [line for line in checked.more if "V$" in line] == []
    assert checked.more[0] == "not known: whether anything is wrong (no view answers)"


def _states(reading: Reading, *keys: str) -> set[str]:
    return {line.split()[0] for line in listed((), reading, ()).splitlines() if line.split()[1] in keys}


def test_whether_a_queue_has_a_timeout_is_not_known_without_its_directives() -> None:
    whole, blind = unseen(), unseen("DBA_RSRC_PLAN_DIRECTIVES")
    assert not any(each.no_timeout for each in whole.queue)
    first = blind.queue[0]
    assert (first.timeout_left, _timeout(first)) == (None, "?")
    assert _states(blind, "queue_timeout") == {"unknown"}
    assert "whether it has a queue timeout is not known (DBA_RSRC_PLAN_DIRECTIVES:" in answer(blind, f"{first.sid}")
    assert "has no queue timeout" not in " ".join(map(plain, queued(first, blind)))


def test_a_limit_that_no_view_shows_is_not_called_none() -> None:
    metrics, directives = "V$RSRCMGRMETRIC", "DBA_RSRC_PLAN_DIRECTIVES"
    for views, cpu, servers in (
        ((), "none", "none"),
        ((metrics,), "none", "none"),
        ((directives,), "none", "none"),  # on one instance the metrics show both
        ((directives, metrics), f"not known ({directives})", f"not known ({directives})"),
    ):
        found = unseen(*views)
        (row,) = (each for each in found.cluster_groups() if each.name == "REPORTS")
        page = [" ".join(plain(line).split()) for line in group(row, found)]
        assert f"limit {cpu}" in page, views
        assert f"servers limit {servers}" in page, views


def test_what_a_group_is_guaranteed_is_not_known_without_the_plan_in_force() -> None:
    found = unseen("V$RSRC_PLAN")
    lines = [line for line in map(explain, found.groups) if "Wants no CPU" in line]
    assert lines
    assert all("what it is guaranteed is not known" in line for line in lines), lines
    assert {row.guaranteed for row in found.groups} == {None}


@pytest.mark.parametrize("view", ["V$PX_SESSION", "V$RSRC_PLAN", "V$RSRC_CONSUMER_GROUP", "V$SESSION"])
def test_the_screen_names_all_that_check_does_not_know(view: str) -> None:
    found = unseen(view)
    shown = " ".join(alert.text for alert in alerts(found, Link()))
    for _, words in (*found.not_known(), *of_rules(found)):
        assert words in shown or words.removeprefix("whether there is ") in shown or "why they wait" in shown, words


def test_without_v_instance_no_instance_is_called_gone_or_present() -> None:
    whole, blind = unseen(), unseen("V$INSTANCE")
    assert _states(whole, "instance_gone", "instance_started") == {"ok"}
    assert _states(blind, "instance_gone", "instance_started") == {"unknown"}
    (one,), (snapshot, _) = whole.header.instances, next(polled("storm", 1))
    for last, gone in ((whole, True), (blind, False)):
        watch = EventWatch()
        watch.add(replace(whole, header=replace(whole.header, instances=(one, replace(one, inst_id=2)))), snapshot)
        events = watch.add(replace(last, header=whole.header), snapshot)
        assert any("no view shows" in event.text for event in events) is gone


def test_no_end_is_offered_while_an_instance_may_be_gone(tmp_path: Path) -> None:
    outage = '\n[[outages]]\nat = 4\nlasts = 36000\nviews = ["V$INSTANCE"]\n'
    file = tmp_path / "lost.toml"
    file.write_text((FOLDER / "lost.toml").read_text(encoding="utf-8") + outage, encoding="utf-8")
    clock = Clock()
    source = SimulatorSource(str(file), clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC))
    found = [each for each in play(source, clock, 20, 2.0) if each.heads and each.why_unavailable("V$INSTANCE")]
    lacking = [each for each in found if any(one.servers.target is None for one in each.header.instances)]
    assert lacking
    for reading in lacking:
        (each,) = unblock(reading)
        assert not each.candidates
        assert each.sentence.startswith("whether instance 2 (LOSTDB2) is gone is not known (GV$INSTANCE")
        assert "whether instance 2 (LOSTDB2) is gone is not known" in answer(reading, f"{each.head.statement.sid}")
        assert (step := queue_step(reading)) is not None
        assert step.text.startswith(f"wait: {each.sentence} for the head of ")


def test_charts_and_recordings_have_the_number_that_is_counted(tmp_path: Path) -> None:
    snapshot, whole = next(polled("storm", 1))
    number, series = len(whole.queue), Series()
    blind = replace(whole, queue=(), heads=(), basis=(Evidence("queue", ("V$SESSION",), "no grant"),))
    uncounted = replace(blind, at=whole.at + timedelta(seconds=9), groups=())
    series.add(blind)
    series.add(uncounted)
    start, end = (each.at.timestamp() for each in (blind, uncounted))
    assert series.most(("queued", 0, 0, ""), start, start) == number > 0
    assert series.most(("queued", 0, 0, ""), end, end) is None, "not known is no queue of 0"
    record(tmp_path / "a.presman", [(snapshot, blind)])
    with Recording(str(tmp_path / "a.presman")) as recording:
        assert [each.queued for each in recording.playback().strip(1)] == [number]


def test_without_a_view_that_counts_it_the_queue_is_not_known() -> None:
    blind = unseen("V$SESSION", "V$RSRC_CONSUMER_GROUP")
    assert blind.queued_by_group() == {}
    assert key_figures_of(blind).queued is None
    assert "Whether a statement is queued is not known" in plain(no_queue(blind))


def silent(record: type[Any], snapshot: Snapshot) -> Snapshot:
    """Return what is read where a view has never answered."""
    view = f"GV${'PX_SESSION' if record is PxSession else 'SESSION'}"
    why = Section(problem=Problem("", "no answer in time", view, late=True))
    return replace(snapshot, sections={**snapshot.sections, record: why})


@pytest.mark.parametrize("record", [Session, PxSession])
@pytest.mark.parametrize("scenario", KINDS)
def test_what_only_a_missing_view_shows_is_not_denied(scenario: str, record: type[Any]) -> None:
    """The same instants, with the view and without."""
    moments = list(polled(scenario, POLLS))
    for (before, _), (now, whole) in list(pairwise(moments))[::EVERY]:
        blind = analyse(silent(record, before), silent(record, now))
        assert blind.at == whole.at
        checked, line = result(blind, (), ()), " ".join(each.text for each in alerts(blind, Link()))
        assert checked.state is not PluginState.OK
        assert "Nothing is wrong" not in line
        if record is Session:
            assert key_figures_of(blind).queued in {sum(row.px_queued or 0 for row in whole.cluster_groups()), None}
            assert "no queue" not in line.lower()
        for each in (*whole.queue, *(each for each in whole.running if not each.orphaned)):
            text = answer(blind, f"{each.inst_id}:{each.sid}")
            assert "neither queued nor running" not in text
            assert "it runs -" not in text


@pytest.mark.parametrize(
    ("view", "key", "is_absent"),
    [("V$INSTANCE", "quiesced", "no starved group"), ("DBA_RSRC_PLAN_DIRECTIVES", "cpu_starved", "no downgrade")],
)
def test_all_is_not_well_while_a_rule_cannot_be_checked(tmp_path: Path, view: str, key: str, is_absent: str) -> None:
    """ "Nothing is wrong", and "no starved group", while `alerts` called it not known."""
    file, clock = without(tmp_path, "quiet", view, at=-600), Clock()
    found = list(play(SimulatorSource(file, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC)), clock, 2, 1.0))[1]
    (clear,) = all_clear(found)
    assert is_absent in clear.text
    for text in (clear.text, clear.short, *clear.between, key_figures_of(found).worst):
        assert "Nothing is wrong" not in text
        assert key != "cpu_starved" or "starved" not in text
    lines = listed((), found, ()).splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith(f"unknown   {key} "))
    assert any(line.strip().startswith("not known: ") and view in line for line in lines[at + 1 : at + 3])


def test_a_plan_met_by_older_directives_has_their_age(tmp_path: Path) -> None:
    file, clock = without(tmp_path, "storm", "DBA_RSRC_PLAN_DIRECTIVES", at=30), Clock()
    source = SimulatorSource(file, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC))
    first, *_, last = play(source, clock, 12, 20.0)
    (age,) = (each.age for each in last.late if each.view == "DBA_RSRC_PLAN_DIRECTIVES")
    assert age is not None
    (kept,) = conformance(last)
    assert f", and by DBA_RSRC_PLAN_DIRECTIVES of {duration(age)} ago)" in kept.sentence
    assert "DBA_RSRC_PLAN_DIRECTIVES" not in conformance(first)[0].sentence
