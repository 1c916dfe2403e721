from __future__ import annotations

from typing import Any

import pytest

from presman.analysis.assemble import analyse
from presman.base.release import Release
from presman.polling.poller import LATER, Poller
from presman.rows.cursor_rows import PlanXml, SqlText
from presman.rows.group_rows import (
    CdbPlanDirective,
    ContainerPlanDirective,
    GroupMetricHistory,
    PlanDirective,
    RsrcPlan,
    RsrcPlanHistory,
)
from presman.rows.instance_rows import (
    ActiveService,
    Database,
    Instance,
    Parameter,
    Pdb,
    PdbMetric,
    PdbMetricHistory,
    RsrcPdb,
)
from presman.rows.queries import Cadence, Scope, load
from presman.rows.session_rows import PxProcess, PxSession, Session, SessionLongops
from presman.rows.snapshot import Problem, Section, Snapshot
from presman.sources import Exhausted, Request
from presman.sources.simulator_source import SimulatorSource
from tests.sources.fakes import START, FakeSource, row


def poller(source: FakeSource) -> Poller:
    """A poller whose own clock stands still, so that only the source's counts."""
    made = Poller(source, clock=lambda: 0.0)
    made.open()
    return made


def cadence(name: Cadence) -> set[Any]:
    return {record for record, query in load(Release(19)).items() if query.cadence is name and not query.only}


def everywhere() -> set[Any]:
    return {record for record, query in load(Release(19)).items() if not query.only}


def test_first_poll_asks_everything_but_what_is_on_demand() -> None:
    source = FakeSource()
    snapshot = poller(source).poll()
    assert set(source.asked(0)) == everywhere() - cadence(Cadence.DEMAND)
    assert len(source.reads) == 1
    assert (snapshot.number, snapshot.epoch, snapshot.round_trips) == (1, 1, 1)
    assert snapshot.at == source.now
    assert snapshot.section(Instance).at == source.now


def test_the_first_screen_waits_only_for_what_it_shows() -> None:
    """For a distant database with many histogram rows, groups, sessions and the queue are shown first."""
    previews: list[Snapshot] = []
    source = FakeSource()
    source.kind = "oracle"
    polling = poller(source)
    whole = polling.poll(previews.append)
    (early,) = previews
    assert set(source.asked(0)) == everywhere() - cadence(Cadence.DEMAND) - LATER
    assert set(source.asked(1)) == LATER
    assert early.sections.keys() == whole.sections.keys() - LATER
    assert (early.number, early.at, early.round_trips, whole.round_trips) == (1, whole.at, 1, 2)
    polling.poll(previews.append)
    assert previews == [early], "later on there is something to see while one waits"


def test_the_first_screen_agrees_with_the_whole_poll() -> None:
    """What has not been read is not known yet; nothing else differs."""
    source = SimulatorSource("storm", seed=3, clock=lambda: 0.0, release=Release(19))
    source.kind = "oracle"
    previews: list[Snapshot] = []
    polling = poller(source)
    whole, early = analyse(None, polling.poll(previews.append)), analyse(None, previews[0])
    differ = {name for name in whole.__struct_fields__ if getattr(early, name) != getattr(whole, name)}
    texts_and_plans = {"queue", "heads", "running", "notes", "statements_to_come", "texts"}
    later = {"histograms", "histograms_at", "hour", "since_startup", "group_names"}
    assert differ - {"sessions"} == texts_and_plans | later | {"groups"}
    assert [each._replace(px_queued_minute=None) for each in whole.groups] == list(early.groups), (
        "only the metric views have it"
    )
    assert [(each.sid, each.waited) for each in early.queue] == [(each.sid, each.waited) for each in whole.queue]


def test_cluster_queries_start_once_a_cluster_is_known() -> None:
    source = FakeSource(rows={Instance: (row(Instance, inst_id=1, parallel="YES"),)})
    polling = poller(source)
    polling.poll()
    assert (PxProcess in source.asked(0), source.asked(1)) == (False, [ActiveService, PxProcess])
    polling.poll()
    assert set(source.asked(2)) == cadence(Cadence.REFRESH) | {PxProcess}


def test_it_may_be_a_cluster_if_no_view_shows_otherwise() -> None:
    source = FakeSource(rows={Instance: ()})
    poller(source).poll()
    assert source.asked(1) == [ActiveService, PxProcess]


def test_progress_is_read_at_each_poll_while_a_statement_is_queued() -> None:
    queued = row(Session, inst_id=1, sid=1, event="resmgr:pq queued", state="WAITING")
    source = FakeSource(rows={Session: (queued,)})
    polling = poller(source)
    for _ in range(3):
        polling.poll()
    source.rows[Session] = (queued._replace(state="WAITED SHORT TIME"),)
    polling.poll()
    polling.poll()
    assert [SessionLongops in source.asked(read) for read in range(5)] == [True, True, True, True, False]


def test_limits_are_read_again_while_a_statement_is_queued() -> None:
    """An end is proven by current limits, not by those of a minute ago; a CDB_ view is read in every container."""
    queued = row(Session, inst_id=1, sid=1, event="resmgr:pq queued", state="WAITING")
    root = {Database: (row(Database, cdb="YES"),), Pdb: (row(Pdb, inst_id=1, con_id=2),)}
    source = FakeSource(rows=dict(root), step=5.0)
    polling = poller(source)
    ages: list[list[float | None]] = []
    for sessions in [(), (), (queued,), (queued,), (queued,), (queued,), (), ()]:
        source.rows[Session] = sessions
        snapshot = polling.poll()
        sections = [
            snapshot.section(each) for each in (PlanDirective, CdbPlanDirective, ContainerPlanDirective, Parameter)
        ]
        ages.append([(snapshot.at - each.at).total_seconds() if each.at else None for each in sections])
    assert [each[0] for each in ages] == [0, 5, 0, 0, 0, 0, 0, 5]
    assert [each[1] for each in ages] == [0, 5, 0, 0, 0, 0, 0, 5]
    for number in (2, 3):
        found = [each[number] for each in ages]
        assert found[:6] == [0, 5, 0, 5, 0, 5], "less than ten seconds old while a statement is queued"


def test_cdb_queries_start_once_a_cdb_is_known() -> None:
    source = FakeSource(rows={Database: (row(Database, cdb="YES"),)})
    polling = poller(source)
    polling.poll()
    assert not {RsrcPdb, PdbMetric} & set(source.asked(0))
    assert set(source.asked(1)) == {CdbPlanDirective, RsrcPdb, PdbMetric, PdbMetricHistory}
    polling.poll()
    assert set(source.asked(2)) == cadence(Cadence.REFRESH) | {RsrcPdb}


def test_refresh_queries_run_at_each_poll_others_keep_their_last_section() -> None:
    source = FakeSource(rows={Parameter: (row(Parameter, name="cpu_count", value="16"),)})
    polling = poller(source)
    first = polling.poll()
    second = polling.poll()
    assert set(source.asked(1)) == cadence(Cadence.REFRESH)
    assert second.section(Parameter) is first.section(Parameter)
    assert second.section(Instance).at != first.section(Instance).at


def test_minute_queries_run_once_a_minute_of_the_sources_clock() -> None:
    source = FakeSource(step=25.0)
    polling = poller(source)
    asked = []
    for _ in range(7):
        before = len(source.reads)
        polling.poll()
        asked.append(any(Parameter in source.asked(read) for read in range(before, len(source.reads))))
    assert asked == [True, False, False, True, False, False, True]


def test_a_clock_that_runs_like_ours_needs_no_second_read() -> None:
    source = FakeSource(step=61.0)
    seconds = iter(range(0, 100_000, 61))
    polling = Poller(source, clock=lambda: float(next(seconds)))
    polling.open()
    polling.poll()
    polling.poll()
    assert len(source.reads) == 2
    assert Parameter in source.asked(1)


def test_once_queries_run_again_after_reconnecting() -> None:
    source = FakeSource()
    polling = poller(source)
    polling.poll()
    polling.close()
    polling.open()
    snapshot = polling.poll()
    assert GroupMetricHistory in source.asked(1)
    assert (snapshot.number, snapshot.epoch) == (2, 2)


@pytest.mark.parametrize(
    ("record", "before", "after"),
    [
        (RsrcPlan, {"name": "DAY"}, {"name": "NIGHT"}),
        (RsrcPlanHistory, {"sequence": 1}, {"sequence": 2}),
    ],
)
def test_a_plan_change_makes_plans_and_history_due(record: Any, before: Any, after: Any) -> None:
    source = FakeSource(rows={record: (row(record, inst_id=1, **before),)})
    polling = poller(source)
    polling.poll()
    source.rows[record] = (row(record, inst_id=1, **after),)
    snapshot = polling.poll()
    assert {PlanDirective, GroupMetricHistory} <= set(source.asked(2))
    assert snapshot.epoch == 1
    assert len(source.reads) == 3


def test_another_target_makes_parameters_due_and_an_answer_in_another_order_nothing() -> None:
    """GV$ views answer in the order in which the instances do."""
    first, second = (row(RsrcPlan, inst_id=number, name="DAY", parallel_servers_total=96) for number in (1, 2))
    source = FakeSource(rows={RsrcPlan: (first, second)})
    polling = poller(source)
    asked = []
    for rows in (
        (first, second),
        (second, first),
        (first, second._replace(parallel_servers_total=48)),
        (first, second),
    ):
        before = len(source.reads)
        source.rows[RsrcPlan] = rows
        polling.poll()
        asked.append([Parameter in source.asked(number) for number in range(before, len(source.reads))])
    assert asked == [[True], [False], [False, True], [False, True]]


def test_a_failed_query_rests_for_a_minute() -> None:
    def answers(request: Request) -> Section | None:
        return Section(problem=Problem("ORA-00942", "no table")) if request.query.record is Session else None

    source = FakeSource(step=20.0, answers=answers)
    polling = poller(source)
    asked = []
    for _ in range(7):
        before = len(source.reads)
        snapshot = polling.poll()
        asked.append(sum(Session in source.asked(read) for read in range(before, len(source.reads))))
        assert snapshot.problems()[Session].code == "ORA-00942"
    assert asked == [1, 0, 0, 1, 0, 0, 1]


def test_a_clock_that_stands_still_is_still_polled() -> None:
    source = FakeSource(step=0.0)
    polling = poller(source)
    polling.poll()
    polling.poll()
    assert set(source.asked(1)) == cadence(Cadence.REFRESH)


def test_a_clock_that_jumps_back_begins_an_epoch() -> None:
    source = FakeSource()
    polling = poller(source)
    polling.poll()
    source.step = -3600.0
    snapshot = polling.poll()
    assert snapshot.epoch == 2
    assert set(snapshot.sections) >= everywhere() - cadence(Cadence.DEMAND)
    # What was just read is not read again, what was read before the jump is.
    assert set(source.asked(2)) == cadence(Cadence.MINUTE) | cadence(Cadence.ONCE)


def test_another_scope_begins_an_epoch() -> None:
    source = FakeSource()
    polling = poller(source)
    polling.poll()
    source.scope = Scope.INSTANCE
    snapshot = polling.poll()
    assert (snapshot.epoch, snapshot.scope) == (2, Scope.INSTANCE)
    assert Parameter in source.asked(1)


def test_statements_on_show_are_looked_up_once() -> None:
    def answers(request: Request) -> Section | None:
        if request.query.record in {PlanXml, SqlText}:
            return Section((row(request.query.record, inst_id=1, sql_id=request.binds["sql_id"]),))
        return None

    source = FakeSource(
        answers=answers,
        rows={
            Session: (
                row(Session, inst_id=1, sid=7, sql_id="q1", event="resmgr:pq queued"),
                row(Session, inst_id=1, sid=8),
            ),
            PxSession: (row(PxSession, inst_id=1, sid=9, qcsid=8, qcinst_id=1),),
        },
    )
    polling = poller(source)
    first = polling.poll()
    second = polling.poll()
    assert [read for read in range(len(source.reads)) if PlanXml in source.asked(read)] == [1]
    for snapshot in (first, second):
        assert [found.sql_id for found in snapshot.rows(SqlText)] == ["q1"]
        assert [found.sql_id for found in snapshot.rows(PlanXml)] == ["q1"]
    assert (first.round_trips, second.round_trips) == (2, 1)
    source.rows[Session] = ()
    assert polling.poll().rows(SqlText) == ()


@pytest.mark.parametrize(("kind", "to_come"), [("oracle", [12, 4, 0]), ("spool", [0, 0, 0]), ("simulator", [0, 0, 0])])
def test_texts_of_a_database_are_read_in_parts_and_of_local_sources_at_once(kind: str, to_come: list[int]) -> None:
    queue = [row(Session, inst_id=1, sid=sid, sql_id=f"q{sid}", event="resmgr:pq queued") for sid in range(20)]
    source = FakeSource(
        kind=kind,
        answers=lambda request: (
            Section((row(SqlText, inst_id=1, sql_id=request.binds["sql_id"]),))
            if request.query.record is SqlText
            else None
        ),
        rows={Session: tuple(queue)},
    )
    polling = poller(source)
    snapshots = [polling.poll() for _ in range(3)]
    assert [each.statements_to_come for each in snapshots] == to_come
    assert [len(each.rows(SqlText)) for each in snapshots] == [20 - each for each in to_come]
    notes = [analyse(None, each).notes for each in snapshots]
    note = "SQL texts and plans of 12 statements in the queue or running are still being read, a few at each poll"
    assert (note in notes[0], notes[2]) == (kind == "oracle", ())


def test_licensed_packs_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from msgspec.structs import replace

    known = dict(load(Release(19)))
    known[Session] = replace(known[Session], pack="diagnostics")
    monkeypatch.setattr("presman.polling.poller.load", lambda release: known)
    without, with_pack = FakeSource(), FakeSource()
    poller(without).poll()
    polling = Poller(with_pack, packs=["diagnostics"])
    polling.open()
    polling.poll()
    assert Session not in without.asked(0)
    assert Session in with_pack.asked(0)


def test_polling_needs_an_open_source_and_stops_at_its_end() -> None:
    source = FakeSource(length=1)
    with pytest.raises(RuntimeError):
        Poller(source).poll()
    polling = poller(source)
    assert polling.poll().at > START
    with pytest.raises(Exhausted):
        polling.poll()
