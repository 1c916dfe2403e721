"""Instances that are gone: V$INSTANCE has no row for them, so earlier polls show that they existed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from subprocess import CompletedProcess

from presman.analysis.alerts.alert_rules import instances_gone, is_wrong, wrong
from presman.analysis.assemble import analyse
from presman.polling.poller import Poller
from presman.rows.group_rows import RsrcPlan
from presman.rows.instance_rows import Database, Instance
from presman.rows.queries import Scope
from presman.rows.snapshot import GoneInstance, Problem, Section, Snapshot
from presman.sources import Request
from tests.recording.recorded import START, polled, record
from tests.sources.fakes import FakeSource, row

ONE, TWO = (row(Instance, inst_id=number, instance_name=f"I{number}", status="OPEN") for number in (1, 2))
MOUNTED = TWO._replace(status="MOUNTED")


def polls(*answers: tuple[Instance, ...], source: FakeSource | None = None) -> list[Snapshot]:
    """Return polls two seconds apart with these rows of V$INSTANCE."""
    source = source or FakeSource()
    poller = Poller(source, clock=lambda: 0.0)
    poller.open()
    found = []
    for rows in answers:
        source.rows[Instance] = rows
        found.append(poller.poll())
    return found


def gone(snapshots: list[Snapshot]) -> list[list[int]]:
    return [[each.inst_id for each in snapshot.rows(GoneInstance)] for snapshot in snapshots]


def test_a_seen_instance_is_gone_until_it_is_open_again() -> None:
    found = polls((ONE, TWO), (ONE,), (ONE, MOUNTED), (ONE, TWO))
    assert gone(found) == [[], [2], [2], []]
    assert found[2].rows(GoneInstance)[0].last_seen == found[0].at


def test_it_is_known_how_many_servers_it_had() -> None:
    source = FakeSource()
    plans = [(1, 0, 32), (2, 0, 48), (2, 3, 8)]  # a container on instance 2 has a target of its own
    source.rows[RsrcPlan] = tuple(
        row(RsrcPlan, inst_id=inst_id, con_id=con_id, parallel_servers_total=total) for inst_id, con_id, total in plans
    )
    _, after = polls((ONE, TWO), (ONE,), source=source)
    assert [each.servers_target for each in after.rows(GoneInstance)] == [48]
    source.rows[RsrcPlan] = ()
    _, after = polls((ONE, TWO), (ONE,), source=source)
    assert [each.servers_target for each in after.rows(GoneInstance)] == [None]


def test_no_instance_is_gone_that_was_never_seen_or_if_all_are_mounted() -> None:
    assert gone(polls((ONE,), (ONE,))) == [[], []]
    mounted = tuple(each._replace(status="MOUNTED") for each in (ONE, TWO))
    assert gone(polls((ONE, TWO), mounted)) == [[], []]


def test_a_gone_instance_is_reported_for_an_hour() -> None:
    assert gone(polls((ONE, TWO), (ONE,), (ONE,), source=FakeSource(step=1799.0))) == [[], [2], [2]]
    assert gone(polls((ONE, TWO), (ONE,), (ONE,), source=FakeSource(step=1800.0))) == [[], [2], []]


def test_without_an_answer_of_v_instance_none_is_gone() -> None:
    late = Section(problem=Problem("", "no answer", late=True))
    source = FakeSource()
    poller = Poller(source, clock=lambda: 0.0)
    poller.open()
    source.rows[Instance] = (ONE, TWO)
    poller.poll()

    def answer(request: Request) -> Section | None:
        return late if request.query.record is Instance else None

    source.answers = answer
    assert gone([poller.poll()]) == [[]]


def test_another_database_or_scope_has_others() -> None:
    """A standby that took over has one instance; V$ instead of GV$ shows the one that presman is connected to."""
    for change in ("database", "scope"):
        source = FakeSource(rows={Database: (row(Database, db_unique_name="A"),), Instance: (ONE, TWO)})
        poller = Poller(source, clock=lambda: 0.0)
        poller.open()
        poller.poll()
        source.rows[Instance] = (ONE,)
        if change == "scope":
            source.scope = Scope.INSTANCE
        else:
            source.rows[Database] = (row(Database, db_unique_name="B"),)
            poller.open()
        assert gone([poller.poll()]) == [[]], change


def test_tab_changes_shows_the_instance_until_it_is_back() -> None:
    """The view is silent from 300 s for 90 s: no all-clear meanwhile, and no instance gone afterwards."""
    alerted = []
    for _, reading in polled("changes", 40, step=10.0):
        found = instances_gone(reading)
        if found:
            assert is_wrong(wrong(reading))
            alerted.append((reading.at - START).total_seconds())
        assert reading.just_gone == ((2,) if reading.at - START == timedelta(seconds=300) else ())
    assert alerted == [float(at) for at in range(300, 390, 10)]
    *_, (_, last) = polled("changes", 31, step=10.0)
    (alert,) = instances_gone(last)
    assert alert.short == "instance 2 (CHGDB2) is gone, last seen 0:20 ago"
    assert alert.subject == "2"


def test_a_poll_alone_shows_whether_the_instance_may_have_been_silent_for_a_poll() -> None:
    for seconds, just_gone in ((300, (2,)), (340, (2,)), (350, ())):
        *_, (snapshot, _) = polled("changes", seconds // 10, step=10.0)
        assert analyse(None, snapshot).just_gone == just_gone


def test_a_recording_shows_the_first_poll_without_an_instance(
    tmp_path: Path, inside: Callable[..., CompletedProcess[str]]
) -> None:
    place = tmp_path / "a.presman"
    record(place, list(polled("changes", 30, step=10.0)))
    shown = inside("once", str(place)).stdout
    assert "No view shows instance 2 (CHGDB2), last seen 0:10 ago" in shown
    assert "is gone, last seen" not in shown


def test_a_recording_shows_it_for_any_poll_alone(tmp_path: Path, inside: Callable[..., CompletedProcess[str]]) -> None:
    place = tmp_path / "a.presman"
    record(place, list(polled("changes", 36, step=10.0)))
    assert "instance 2 (CHGDB2) is gone, last seen 1:10 ago" in inside("once", str(place)).stdout.replace(
        "Inst", "inst"
    )
    checked = inside("check", str(place), "--at", "last")
    assert checked.returncode == 1
    assert "nstance 2 (CHGDB2) is gone" in checked.stdout
