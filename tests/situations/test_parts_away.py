"""Missing parts: an instance, a PDB, a view. In no scenario is something unknown called good."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, pairwise, product
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.advice.ending import ending
from presman.analysis.advice.step import Step
from presman.analysis.advice.to_do import to_do
from presman.analysis.alerts.alert_rules import all_clear, basis_not_known, wrong
from presman.analysis.assemble import analyse
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.groups.containers import pdbs
from presman.analysis.groups.verdicts import Judged, conformance, explain
from presman.analysis.parallel.server_pools import budgets
from presman.analysis.readings.container_readings import IoVerdict, PdbReading
from presman.analysis.readings.group_readings import Verdict
from presman.analysis.readings.reading import Reading
from presman.figures.group_figures import held_servers
from presman.figures.statement_figures import running_state
from presman.rows.group_rows import ConsumerGroup, RsrcPlan
from presman.rows.instance_rows import Instance, Pdb, RsrcPdb
from presman.rows.session_rows import PxSession, Session
from presman.rows.snapshot import Problem, Section, Snapshot
from tests.recording.recorded import polled
from tests.scenarios import KINDS
from tests.thorough import THOROUGH, some

Poll = Callable[[Snapshot], Snapshot]
SILENT = (Session, PxSession, ConsumerGroup, RsrcPlan)

KNOWING = {Verdict.NOT_THROTTLED, Verdict.IDLE, Verdict.CONTENDED, Verdict.CAGED, Verdict.CAPPED, Verdict.STARVED}
"""Verdicts that say how much CPU a group got."""


def rows_where(snapshot: Snapshot, keeps: Callable[[Any], bool]) -> Snapshot:
    """Return a snapshot with some of its rows."""
    sections = {
        record: replace(section, rows=tuple(filter(keeps, section.rows)))
        for record, section in snapshot.sections.items()
    }
    return replace(snapshot, sections=sections)


def without_instance(snapshot: Snapshot) -> Snapshot:
    return rows_where(snapshot, lambda row: getattr(row, "inst_id", 1) != 2)


def restarted(snapshot: Snapshot) -> Snapshot:
    """Instance 1 has been started in this moment; the counters that are read are those of before."""
    rows = tuple(row._replace(startup_time=snapshot.at) if row.inst_id == 1 else row for row in snapshot.rows(Instance))
    return replace(snapshot, sections={**snapshot.sections, Instance: replace(snapshot.section(Instance), rows=rows)})


def closed(snapshot: Snapshot) -> Snapshot:
    """The first pluggable database is mounted."""
    first = min((row.con_id for row in snapshot.rows(Pdb) if row.con_id > 2), default=None)
    kept = rows_where(snapshot, lambda row: isinstance(row, Pdb) or getattr(row, "con_id", None) != (first or -1))
    mounted = tuple(row._replace(open_mode="MOUNTED") if row.con_id == first else row for row in snapshot.rows(Pdb))
    return replace(kept, sections={**kept.sections, Pdb: replace(snapshot.section(Pdb), rows=mounted)})


def refused(record: type[Any], snapshot: Snapshot) -> Snapshot:
    why = Section(problem=Problem("ORA-00942", "table or view does not exist", record.__name__))
    return replace(snapshot, sections={**snapshot.sections, record: why})


def whole(snapshot: Snapshot) -> Snapshot:
    return snapshot


def pairs(before: Snapshot, now: Snapshot) -> Iterator[tuple[str, Snapshot | None, Snapshot]]:
    """Yield two polls with a part away in the later one, in both, or in the earlier one: it is back."""
    yield "the first poll", None, now
    yield "a restart", before, restarted(now)
    parts: dict[str, Poll] = {record.__name__: partial(refused, record) for record in now.sections}
    if len(now.rows(Instance)) > 1:
        parts["instance 2"] = without_instance
    if now.rows(Pdb):
        parts["a PDB"] = closed
    for name, away in parts.items():
        yield f"{name} is lost", before, away(now)
        yield f"{name} is away", away(before), away(now)
        yield f"{name} is back", away(before), now


def well_without_figures(reading: Reading) -> Iterator[str]:
    """Yield texts that call something good or bad though it is not known."""
    for row in reading.groups:
        if row.verdict in KNOWING and (row.used is None or row.waiting is None):
            yield f"{row.inst_id} {row.title}: {row.verdict.value}, and used {row.used}, waiting {row.waiting}"
        if row.entitled is not None and row.used is None:
            yield f"{row.inst_id} {row.title}: due {row.entitled}, and what it wants is not known"
    cleared = " ".join(alert.text for alert in all_clear(reading))
    unjudged = [row.title for row in reading.cluster_groups() if row.used is None and row.usage is not None]
    if "no starved group" in cleared and unjudged:
        yield f"nothing is known of {unjudged}: {cleared}"
    if "no downgrade" in cleared and any(each.delta is None for each in reading.downgrades):
        yield f"downgrades are not known: {cleared}"
    for each in conformance(reading):
        unknown = [row.name for row in reading.instance_groups(each.inst_id) if row.in_plan and row.used is None]
        if unknown and each.sentence.startswith("The plan is met"):
            yield f"nothing is known of {unknown}: {each.sentence}"
        if reading.basis[1].lacking in {view.why for view in reading.unseen} and "The plan is" in each.sentence:
            yield f"{reading.basis[1].lacking}: {each.sentence}"


def put_down_to_something_else(reading: Reading, containers: tuple[PdbReading, ...]) -> Iterator[str]:
    """Yield texts that promise an answer at the next poll though their view does not answer."""
    seen_by: dict[str, tuple[Judged, ...]] = {"V$RSRC_CONSUMER_GROUP": reading.groups, "V$RSRC_PDB": containers}
    for view in reading.unseen:
        for row in seen_by.get(view.view.removeprefix("G"), ()):
            if "two polls" in explain(row):
                yield f"{view.why}: {explain(row)}"


def counted_otherwise(reading: Reading) -> Iterator[str]:
    """Yield a text if the running statements are not as many as the groups count, where groups count all holders."""
    running = sum(not each.orphaned for each in reading.running)
    counts = [row.px_active for row in reading.cluster_groups()]
    if not reading.unmanaged_servers and not reading.unseen and sum(filter(None, counts)) != running:
        yield f"{running} run, {counts} by group"


def counted_without_its_view(reading: Reading) -> Iterator[str]:
    """Yield texts of what counts against a group's limit though the only view of it does not answer."""
    if any(view.view.removeprefix("G") == "V$RSRC_CONSUMER_GROUP" for view in reading.unseen):
        for head in reading.heads:
            if f"{head.group} holds" in head.sentence or "group limit" in head.why:
                yield f"{head.why}: {head.sentence}"
        for row in reading.groups:
            if row.px_servers and (row.is_full or not held_servers(row).startswith("≤")):
                yield f"{row.title} {held_servers(row)} of {row.may_hold}"


def lost_in_silence(reading: Reading) -> list[str]:
    """Return the statements shown as lost with an instance that no alert names."""
    named = {alert.subject for alert in wrong(reading) if alert.key == "instance_gone"}
    return [each.who for each in reading.running if each.orphaned and str(each.inst_id) not in named]


@pytest.mark.parametrize("scenario", ["pdb", "tenants"])
def test_servers_of_containers_are_not_known_without_both_views(scenario: str) -> None:
    """They held 0 servers of their limit, however many ran in them."""
    *_, (before, _), (now, reading) = polled(scenario, 3)
    without_pdbs = refused(RsrcPdb, now)
    of_views, of_groups, unknown = (
        {row.name: row.px_servers for row in pdbs(analyse(before, each), before, each) if not row.inst_id}
        for each in (now, without_pdbs, refused(ConsumerGroup, without_pdbs))
    )
    assert of_views == of_groups
    assert set(unknown.values()) == {None}
    assert len(unknown) == len(of_views) > 0
    budget_of_all = budgets(Facts.of(before, refused(ConsumerGroup, without_pdbs)), reading.header.servers)
    assert {found.in_use for con_id, found in budget_of_all.items() if con_id != ROOT} <= {None}


def texts(reading: Reading) -> list[str]:
    found = [alert.text for alert in (*wrong(reading), *all_clear(reading), *basis_not_known(reading))]
    return [*found, *map(running_state, reading.running)]


@pytest.mark.parametrize("scenario", KINDS)
def test_what_is_not_known_is_not_called_well(scenario: str) -> None:
    *_, (before, _), (now, _) = polled(scenario, 3)
    cases = list(pairs(before, now))
    for what, first, second in cases if THOROUGH else cases[KINDS.index(scenario) % 4 :: 4]:
        reading = analyse(first, second)
        assert list(well_without_figures(reading)) == [], what
        assert list(counted_without_its_view(reading)) == [], what
        assert list(put_down_to_something_else(reading, pdbs(reading, first, second))) == [], what
        assert "PDB" in what or list(counted_otherwise(reading)) == [], what
        assert lost_in_silence(reading) == [], what
        for text in texts(reading):
            assert "? of" not in text, what
            assert not text.startswith("● its coordinator"), what
            assert "None" not in text, what
        for pdb in pdbs(reading, first, second):
            assert pdb.io is not None or pdb.io_verdict not in {IoVerdict.UNDER, IoVerdict.NEAR}, (what, pdb.name)
            assert pdb.used is not None or pdb.verdict not in KNOWING, (what, pdb.name)


def late(record: type[Any], before: Snapshot, now: Snapshot) -> Snapshot:
    """Return the poll with the rows of `record` from the poll before, as its view does not answer."""
    known = replace(before.section(record), at=before.section(record).at or before.at)
    why = Problem("", "no answer in time", record.__name__, late=True)
    sections = {each: replace(section, at=section.at or now.at) for each, section in now.sections.items()}
    return replace(now, sections={**sections, record: replace(known, problem=why)})


@pytest.mark.parametrize(
    ("scenario", "record"),
    some(
        list(zip(KINDS, cycle(SILENT), strict=False)),
        list(product(KINDS, SILENT)),
    ),
)
def test_a_silent_view_makes_no_session_idle_or_offered(scenario: str, record: type[Any]) -> None:
    moments = list(polled(scenario, 6))
    for (before, old), (now, true) in pairwise(moments[1:]):
        reading = analyse(before, late(record, before, now))
        known = {each.executing() for each in (*old.running, *true.running) if each.idle is not None}
        assert {each.executing() for each in reading.running if each.idle is not None} <= known
        holding = {(each.inst_id, each.sid, each.serial) for each in reading.running if not each.queued}
        assert not holding & {(each.inst_id, each.sid, each.serial) for each in reading.queue}
        assert all(ending(each, reading).commands == () for each in reading.running)
        step = to_do(reading)
        assert step is None or step.step is not Step.END
