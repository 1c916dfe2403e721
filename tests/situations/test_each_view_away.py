"""Each scenario with each view away: no session is named to be ended and nothing called free that the view refutes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause
from presman.polling.poller import Poller
from presman.rows.instance_rows import Instance
from presman.rows.queries import RecordType, view_read
from presman.rows.snapshot import REMEMBERED, MissingInstance, Problem, Section, Snapshot
from presman.sources.simulator.loading import FOLDER
from presman.sources.simulator_source import SimulatorSource
from tests.recording.recorded import Moment, polled
from tests.scenarios import KINDS
from tests.thorough import THOROUGH

POLLS, EVERY = (80, 2) if THOROUGH else (12, 4)
"""Polls of a course, and the distance of those that are looked at."""

SHORT = {Cause.SYSTEM, Cause.GROUP}
ROOM = {Cause.NOT_CHOSEN, Cause.UNEXPLAINED}


@cache
def played(scenario: str) -> list[Moment]:
    snapshots = [snapshot for snapshot, _ in polled(scenario, POLLS)][EVERY - 1 :: EVERY]
    return [(now, analyse(before, now)) for before, now in zip([None, *snapshots], snapshots, strict=False)]


def view(snapshot: Snapshot, record: RecordType) -> str:
    return "" if record in REMEMBERED else view_read(record, snapshot.release, snapshot.scope)


def away(snapshot: Snapshot, name: str, before: Snapshot | None) -> Snapshot:
    """Return a snapshot in which a view did not answer: it has no rows, or those of the poll `before`."""
    found = dict(snapshot.sections)
    for record, section in snapshot.sections.items():
        if view(snapshot, record) == name:
            kept = Section() if before is None else before.section(record)
            rows = kept if before is not None else replace(section, rows=(), at=None)
            found[record] = replace(rows, problem=Problem("", "no answer in time", name, late=True))
    return replace(snapshot, sections=MappingProxyType(found))


def named(reading: Reading) -> set[object]:
    """Return the sessions that presman offers to end, and the commands of DO."""
    offered = {each.statement.executing() for way in unblock(reading) for each in way.candidates if each.commands}
    step = to_do(reading)
    return offered | ({each.text for each in step.commands} if step is not None else set())


def untrue(blind: Reading, whole: Reading, name: str) -> Iterator[str]:
    """Yield texts of a reading without the view `name` that the whole reading refutes."""
    # Without these it does not show who ends soon: to end another helps all the same.
    shows_an_end = name in {"GV$SESSION_LONGOPS", "GV$SQL_PLAN"}
    if (more := named(blind) - named(whole)) and not shows_an_end:
        yield f"names {more}"
    causes = {(each.con_id, each.group): each for each in whole.heads}
    for head in blind.heads:
        other = causes.get((head.con_id, head.group))
        if other is None or other.statement.executing() != head.statement.executing():
            continue
        if head.cause in ROOM and other.cause not in ROOM:
            yield f"has room: {head.sentence}, and not: {other.sentence}"
        if head.cause is Cause.NEVER_FITS and other.cause is not Cause.NEVER_FITS:
            yield f"never fits: {head.sentence}, and not: {other.sentence}"


@pytest.mark.parametrize("keeps", [False, True], ids=["no rows", "old rows"])
@pytest.mark.parametrize("scenario", KINDS)
def test_no_text_without_a_view_contradicts_that_view(scenario: str, keeps: bool) -> None:
    course = played(scenario)
    views = {view(course[-1][0], record) for record in course[-1][0].sections} - {""}
    assert len(views) > 20
    found = []
    turn = (KINDS.index(scenario) + 4 * keeps) % 8
    for name in sorted(views) if THOROUGH else sorted(views)[turn::8]:
        before: Snapshot | None = course[0][0] if keeps else None
        for number, (snapshot, whole) in enumerate(course):
            if keeps and not number:
                continue
            current = away(snapshot, name, course[number - 1][0] if keeps else None)
            found += [f"{number} without {name}: {each}" for each in untrue(analyse(before, current), whole, name)]
            before = current
    assert not found


def crash(folder: Path, *, keeps: bool) -> Iterator[Reading]:
    """Yield the readings of a crash that V$INSTANCE does not show."""
    text = (FOLDER / "lost.toml").read_text(encoding="utf-8")
    file = folder / "lost.toml"
    file.write_text(f'{text}\n[[outages]]\nat = 4\nlasts = 80\nviews = ["V$INSTANCE"]\n', encoding="utf-8")
    now = [0.0]
    source = SimulatorSource(str(file), clock=lambda: now[0], start=datetime(2026, 3, 14, 9, tzinfo=UTC))
    poller = Poller(source, clock=lambda: now[0], keep_late=keeps)
    poller.open()
    previous = None
    for _ in range(40):
        now[0] += 2.0
        current = poller.poll()
        yield analyse(previous, current)
        previous = current


@pytest.mark.parametrize("keeps", [True, False])
def test_an_instance_that_went_while_v_instance_was_silent_may_be_gone(tmp_path: Path, keeps: bool) -> None:
    """DO advised to cancel a head that was too large only without the instance, as soon as its rows were gone."""
    unsure = [each for each in crash(tmp_path, keeps=keeps) if each.number > 4]
    missing = [(each.inst_id, each.instance_name, each.servers_target) for each in unsure[-1].missing]
    assert keeps or missing == [(2, "LOSTDB2", 32)]
    assert all(each.unanswered("V$INSTANCE") and not each.gone for each in unsure)
    with_heads = [each for each in unsure if each.heads]
    assert any(each.heads[0].cause is Cause.NEVER_FITS for each in with_heads) or keeps
    for reading in with_heads:
        step = to_do(reading)
        assert step is not None
        assert step.text.startswith("wait: whether instance 2 (LOSTDB2) is gone is not known (GV$INSTANCE), so no ")
        assert step.short == "wait: whether instance 2 (LOSTDB2) is gone is not known"
        assert not named(reading)
        assert not any(alert.state == "bad" for alert in wrong(reading) if alert.key == "queue_waits")


def test_it_may_be_missing_only_while_v_instance_is_silent() -> None:
    for snapshot, reading in polled("lost", 20, step=2.0):
        assert not reading.missing
        assert not snapshot.rows(MissingInstance)
        assert snapshot.rows(Instance)
