"""Availability of views in a snapshot: which views returned values, and so what may be reported as absent.

A view that could not be read, is not in a spool or lacks the relevant column also has no rows; an all-clear that rests
on it would be wrong. Every sentence of the kind "nothing is ..." checks this first.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from presman.analysis.caches import once
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.session_facts import queued
from presman.analysis.facts.system_facts import SystemFacts, answering
from presman.analysis.instances import ROOT, container_of
from presman.analysis.readings.group_readings import IMPOSSIBLE, GroupReading, GroupTotals, Verdict
from presman.analysis.readings.reading import CLUSTER, Evidence, InstanceReading, UnavailableView
from presman.analysis.readings.statement_readings import Downgrades, is_downgrade
from presman.base.formats import counted, spelled
from presman.base.formats import listed as in_words
from presman.base.sums import summed
from presman.rows.group_rows import (
    CPU_COLUMNS,
    IO_COLUMNS,
    ConsumerGroup,
    ContainerPlanDirective,
    PlanDirective,
    RsrcPlan,
)
from presman.rows.instance_rows import Instance, Pdb, RsrcPdb, Sysstat
from presman.rows.queries import RecordType, Scope, field_types, main_records, view_read
from presman.rows.session_rows import PxSession, Session, SessionCount
from presman.rows.snapshot import Snapshot

_NOT_THERE = " is not there"

_NAMING: Mapping[RecordType, tuple[str, ...]] = {
    Session: ("sid",),
    PxSession: ("sid", "qcsid"),
    ConsumerGroup: ("name",),
    RsrcPlan: ("name",),
    PlanDirective: ("plan", "group_or_subplan"),
    ContainerPlanDirective: ("plan", "group_or_subplan"),
}
"""Columns that identify a row: without their values its view shows nothing."""

TWO_POLLS = "it takes two polls"
"""Why figures that are counted between two polls are not known after one."""

LONG = 60.0
"""Seconds between two polls over which rates are only means: changes in between do not show."""

_FAR = 900.0
"""Seconds between two polls over which a mean hides whether a group that waits was starved for a while."""

_MIXED = frozenset({Verdict.SHORT, Verdict.NOT_EXHAUSTED, Verdict.PARTLY})
"""Verdicts by means of a long time in which the group may have been starved for a while."""

_NAMED = 3
"""The most groups named in a sentence about missing values."""


def view_of(snapshot: Snapshot, record: RecordType) -> str:
    """Return the view that the rows of `record` come from, in the snapshot's scope."""
    return view_read(record, snapshot.release, snapshot.scope)


def unavailable(snapshot: Snapshot, record: RecordType, fields: Collection[str] = ()) -> str:
    """Return why the view of `record` has no values for `fields`, "" if it has. An empty view counts as answered."""
    section = snapshot.section(record)
    if record in snapshot.sections and not section.problem and not section.absent:
        return ""
    fields = dict.fromkeys((*_NAMING.get(record, ()), *fields))
    view = view_of(snapshot, record)
    if section.problem:
        return f"{view}: {section.problem.code or section.problem.text}"
    if record not in snapshot.sections:
        return f"{view} was not read"
    if section.absent >= field_types(record).keys():
        return f"{view}{_NOT_THERE}"
    rounded = [field.upper() for field in fields if field in section.rounded]
    if rounded:
        return f"{view} has {', '.join(rounded)} rounded (SET NUMWIDTH 38)"
    missing = [field.upper() for field in fields if field in section.absent]
    return f"{view} lacks {', '.join(missing)}" if missing else ""


def listed(lacking: Iterable[str]) -> str:
    """Return several results of :func:`unavailable` as one.

    >>> listed(["V$SESSION is not there", "V$PX_SESSION: ORA-00942", "V$OSSTAT is not there"])
    'V$SESSION, V$OSSTAT are not there; V$PX_SESSION: ORA-00942'
    """
    lacking = list(lacking)
    missing = [why.removesuffix(_NOT_THERE) for why in lacking if why.endswith(_NOT_THERE)]
    if len(missing) < 2:
        return "; ".join(lacking)
    return "; ".join([f"{', '.join(missing)} are not there", *(why for why in lacking if not why.endswith(_NOT_THERE))])


def evidence(facts: Facts, groups: Sequence[GroupReading], operations: Sequence[Downgrades]) -> tuple[Evidence, ...]:
    """Return the evidence for "is a statement queued, a group starved, a statement downgraded?".

    `groups` are the cluster's, `operations` are the counters of V$SYSSTAT on the open instances. Statements queue in
    the whole cluster: what is seen of it alone never shows that none does.
    """
    snapshot, system = facts.snapshot, facts.system
    queue = unavailable(snapshot, Session, ("event",)) or unlisted_queue(facts) or system.part
    starved = _no_starvation(snapshot, groups) or without_rows(system, ConsumerGroup)
    starved = starved or _hidden(groups, facts.deltas.interval())
    downgrade = unavailable(snapshot, PxSession, ("degree", "req_degree"))
    downgrade = downgrade or _no_downgrades(snapshot, operations, system.inst_ids)
    return (
        Evidence("queue", (view_of(snapshot, Session),), queue),
        Evidence("starved group", (view_of(snapshot, RsrcPlan), view_of(snapshot, ConsumerGroup)), starved),
        Evidence("downgrade", (view_of(snapshot, PxSession), view_of(snapshot, Sysstat)), downgrade),
    )


def _no_downgrades(snapshot: Snapshot, operations: Sequence[Downgrades], inst_ids: Iterable[int]) -> str:
    """Return why it is not known whether operations were downgraded since the last poll.

    An operation that is downgraded to serial has no servers, so no row in V$PX_SESSION: only V$SYSSTAT counts it.
    """
    found = unavailable(snapshot, Sysstat, ("name", "value"))
    if found:
        return found
    downgrades = [each for each in operations if is_downgrade(each.name)]
    if not {each.inst_id for each in downgrades} >= set(inst_ids) or not downgrades:
        return f"{view_of(snapshot, Sysstat)} does not count them"
    return TWO_POLLS if any(each.delta is None for each in downgrades) else ""


def _no_starvation(snapshot: Snapshot, groups: Sequence[GroupReading]) -> str:
    """Return why it is not known whether a group is starved."""
    found = unavailable(snapshot, RsrcPlan, ("cpu_managed",)) or unavailable(snapshot, ConsumerGroup, CPU_COLUMNS)
    found = found or next((row.doubt for row in groups if row.doubt), "")
    if found:
        return found
    if not snapshot.rows(ConsumerGroup):
        return f"{view_of(snapshot, ConsumerGroup)} has no rows"
    unjudged = (row for row in groups if row.verdict is Verdict.UNKNOWN and row.used is not None)
    if unseen := [row.name for row in unjudged if row.waiting is None]:
        return f"how long {_some(unseen)} waits is not known"
    verdicts = {Verdict.UNKNOWN if _has_no_rates(row) else row.verdict for row in groups}
    if verdicts <= {Verdict.UNKNOWN}:
        return TWO_POLLS
    unshared = [row.name for row in groups if row.verdict is Verdict.THROTTLED]
    if unshared:
        return f"what {in_words(unshared)} {'is' if len(unshared) == 1 else 'are'} entitled to is not known"
    uncounted = [row.name for row in groups if not row.is_judged or _has_no_rates(row)]
    return f"no delta of {_some(uncounted)} yet" if uncounted else ""


def _hidden(groups: Sequence[GroupReading], interval: float | None) -> str:
    """Return whose starvation a mean over a long time may hide: who waited then may have lost CPUs to another."""
    short = [row.name for row in groups if row.verdict in _MIXED]
    if not short or interval is None or interval <= _FAR:
        return ""
    return f"{_some(short)} waited for CPU, but only the mean over {spelled(interval)} is known"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _has_no_rates(row: GroupReading) -> bool:
    """Whether the view lists the group but there is no delta yet, whether or not a plan manages its CPU."""
    return row.used is None and row.is_listed()


def unavailable_views(facts: Facts) -> tuple[UnavailableView, ...]:
    """Return the views that were queried and returned nothing, even of one instance (`Reading.unseen`, as in JSON).

    A count of idle sessions that takes too long does not make V$SESSION unavailable: `Reading.unlisted` is None then.
    """
    snapshot = facts.snapshot
    asked = (each for each in main_records(snapshot.release) if each in snapshot.sections and each is not SessionCount)
    # Nothing else shows whether a session is idle, or what CPU a container gets.
    fields: dict[RecordType, tuple[str, ...]] = {Session: ("status",), RsrcPdb: CPU_COLUMNS}
    whys = ((record, unavailable(snapshot, record, fields.get(record, ()))) for record in asked)
    found = [(record, why or _without_some_rows(facts, record)) for record, why in whys]
    return tuple(UnavailableView(view_of(snapshot, record), why) for record, why in found if why)


def _without_some_rows(facts: Facts, record: RecordType) -> str:
    if record is PxSession:
        return unlisted_servers(facts) or _without_coordinator(facts.snapshot)
    return without_rows(facts.system, record) or (_without_status(facts) if record is Session else "")


def _without_coordinator(snapshot: Snapshot) -> str:
    """Return the sentence that V$PX_SESSION does not show whose some servers are, "" if it does."""
    unnamed = sum(not row.qcsid and row.degree is not None for row in snapshot.rows(PxSession))
    return f"{view_of(snapshot, PxSession)} lacks QCSID of {counted(unnamed, 'server')}" if unnamed else ""


def _without_status(facts: Facts) -> str:
    """Return the sentence that V$SESSION does not show whether a session that holds servers is idle, "" if it does."""
    snapshot = facts.snapshot
    if not (unknown := {(row.inst_id, row.sid) for row in snapshot.rows(Session) if not row.status}):
        return ""
    held = {row.coordinator for row in snapshot.rows(PxSession)}
    names = [f"{inst_id}:{sid}" for inst_id, sid in sorted(unknown & held)]
    return f"{view_of(snapshot, Session)} lacks STATUS of {in_words(names)}" if names else ""


_COLUMNS_OF = {
    "used": frozenset({"consumed_cpu_time"}),
    "waiting": frozenset({"cpu_wait_time"}),
    "yields_per_s": frozenset({"yields"}),
    "requests_per_s": frozenset({"requests"}),
    "cpu_waits_per_s": frozenset({"cpu_waits"}),
    "execution_waiters": frozenset({"execution_waiters"}),
    "pool_queue_length": frozenset({"queue_length"}),
    "io": frozenset(IO_COLUMNS),
}
"""Figures of a group that may be unknown, with the columns of V$RSRC_CONSUMER_GROUP that they need."""

_IO_OF = {"service_ms": "io_service_time", "waits": "io_service_waits"}
"""Figures of a group's I/O that need one column more."""

_GAUGES = frozenset({"execution_waiters", "queue_length"})
"""Those of them that are known as soon as their column has values; what is counted takes two polls."""


def known_only(rows: tuple[GroupReading, ...], facts: Facts) -> tuple[GroupReading, ...]:
    """Return the groups without figures whose columns are missing, or were at the last poll: they are not zero."""
    snapshot = facts.snapshot
    absent = snapshot.section(ConsumerGroup).absent
    uncounted = absent | (facts.deltas.changed(ConsumerGroup) - _GAUGES)
    if why := unavailable(snapshot, ConsumerGroup):
        return tuple(row._replace(doubt=why) for row in rows)
    gone: dict[str, Any] = {field: None for field, columns in _COLUMNS_OF.items() if not columns.isdisjoint(uncounted)}
    if not gone and not absent:
        return rows
    blank: dict[str, Any] = dict.fromkeys(absent.intersection(ConsumerGroup._fields))
    io: dict[str, Any] = {field: None for field, column in _IO_OF.items() if column in absent}
    if not gone.keys().isdisjoint({"used", "waiting"}):
        gone["doubt"] = unavailable(snapshot, ConsumerGroup, CPU_COLUMNS) or TWO_POLLS
    known = []
    for row in rows:
        counters = [each._replace(**blank) if each is not None else None for each in row.counters.rows]
        figures = {"io": row.io._replace(**io) if row.io is not None else None} | gone
        figures["counters"] = GroupTotals(tuple(counters))
        # If CPU is not managed no session is throttled, whatever it uses.
        if "doubt" in gone and row.verdict is not Verdict.NOT_MANAGED:
            figures["verdict"] = Verdict.UNKNOWN
        known.append(row._replace(**figures))
    return tuple(known)


_MOST = 1.25
"""Multiple of the CPUs, plus one, above which the use in an interval was counted wrong."""


def without_impossible(
    rows: tuple[GroupReading, ...], instances: Sequence[InstanceReading]
) -> tuple[GroupReading, ...]:
    """Return the groups, without a verdict for those whose CPU figures are impossible: more used than there is."""
    used = summed((row.inst_id, row.used or 0.0) for row in rows)
    doubts: dict[int, str] = {}
    for each in instances:
        place = each.inst_id if len(instances) > 1 else CLUSTER
        if each.num_cpus and used.get(place, 0.0) > _MOST * each.num_cpus + 1:
            doubts[place] = f"{used[place]:.0f} of {each.num_cpus:.0f} {IMPOSSIBLE}"
    if not doubts:
        return rows
    doubts.setdefault(CLUSTER, "; ".join(doubts.values()))
    return tuple(
        row._replace(verdict=Verdict.UNKNOWN, doubt=doubts[row.inst_id]) if row.inst_id in doubts else row
        for row in rows
    )


# ---- Rows that are missing from a view although it answered: those of an instance, or of queued statements.

_ON_EACH_INSTANCE: dict[RecordType, tuple[RecordType, ...]] = {
    Instance: (Instance,),
    Session: (Session, SessionCount),
    ConsumerGroup: (ConsumerGroup,),
}
"""Records of which an open instance of a cluster always has rows, and where they may be: idle sessions are counted.

On each other instance, the server of the GV$ query itself is a session.
"""


def without_rows(system: SystemFacts, record: RecordType) -> str:
    """Return of which open instances a view of the cluster has no rows although there must be some, "" if of none.

    A pluggable database may have no sessions on an instance, and no groups where it is not open.
    """
    snapshot, kinds = system.snapshot, _ON_EACH_INSTANCE.get(record, ())
    sees_all = snapshot.scope is Scope.CLUSTER and kinds and container_of(snapshot.rows(Pdb)) == ROOT
    if not sees_all or not all(_answered(snapshot, kind) for kind in kinds):
        return ""
    there = set[int]().union(*(_instances_in(snapshot, kind) for kind in kinds))
    missing = (each for each in system.inst_ids if each not in there)
    away = [str(inst_id) for inst_id in missing if record is not Instance or inst_id in answering(system)]
    return _has_no_rows_of(away, record, snapshot) if there else ""


def _instances_in(snapshot: Snapshot, record: RecordType) -> set[int]:
    """Return the instances that a view of the cluster has rows of."""
    return {row.inst_id for row in snapshot.section(record).rows}


def _has_no_rows_of(away: Sequence[str], record: RecordType, snapshot: Snapshot) -> str:
    words = f"has no rows of instance{'s' * (len(away) > 1)} {in_words(away)}"
    return f"{view_of(snapshot, record)} {words}" if away else ""


@once
def unlisted_queue(facts: Facts) -> str:
    """Return the sentence that V$SESSION lacks queued statements: it has no rows of an instance, or too few."""
    if why := without_rows(facts.system, Session):
        return why
    now, counted, listed = facts.snapshot, _counted_in_queue(facts.snapshot), len(facts.sessions.queued)
    if counted <= listed or not _lists_events(now) or not _is_no_race(facts):
        return ""
    return f"{view_of(now, Session)} lists {listed} of {counted} queued statements"


def _is_no_race(facts: Facts) -> bool:
    """Whether queued statements are missing, and have not just left the queue: the views are read one after the other.

    That is so if more were counted than listed at the poll before, too, or if the session of one that was queued then
    has no row now: a statement that starts keeps its session. At a first poll nothing else is known.
    """
    before = facts.deltas.previous
    if before is None:
        return True
    if not _lists_events(before):
        return False
    were = queued(before.rows(Session))
    least = min(map(_counted_in_queue, (before, facts.snapshot)))
    if least > max(len(were), len(facts.sessions.queued)):
        return True
    return any(facts.sessions.find(row.inst_id, row.sid, row.serial) is None for row in were)


def _lists_events(snapshot: Snapshot) -> bool:
    return _answered(snapshot, Session) and "event" not in snapshot.section(Session).absent


def _counted_in_queue(snapshot: Snapshot) -> int:
    """Return how many queued statements V$RSRC_CONSUMER_GROUP counts, 0 if it does not show that."""
    section = snapshot.section(ConsumerGroup)
    if not _answered(snapshot, ConsumerGroup) or "current_pqs_queued" in section.absent:
        return 0
    return sum([row.current_pqs_queued for row in section.rows])


def unlisted_servers(facts: Facts) -> str:
    """Return of which instances V$PX_SESSION has no rows although groups hold servers there, "" if of none.

    V$RSRC_CONSUMER_GROUP does not count the servers of GV$ queries, which V$PX_SESSION may list for monitors only. The
    views are read one after the other while statements come and go. So there must be a second witness: V$RSRC_PLAN,
    which is read after V$PX_SESSION and not before it, or the same at the poll before.
    """
    now, before = facts.snapshot, facts.deltas.previous
    away = _unlisted_at(now) & (_counted_by_plan(now) | (set() if before is None else _unlisted_at(before)))
    return _has_no_rows_of(list(map(str, sorted(away))), PxSession, now)


def _unlisted_at(snapshot: Snapshot) -> set[int]:
    """Return the instances on which groups hold servers, and of which V$PX_SESSION has no row at this poll."""
    if not _answered(snapshot, PxSession):
        return set()
    return _instances_with_servers(snapshot) - _instances_in(snapshot, PxSession)


def _instances_with_servers(snapshot: Snapshot) -> set[int]:
    """Return the instances on which V$RSRC_CONSUMER_GROUP counts servers."""
    if unavailable(snapshot, ConsumerGroup, ("current_pq_servers_active",)):
        return set()
    return {row.inst_id for row in snapshot.rows(ConsumerGroup) if row.current_pq_servers_active}


def _counted_by_plan(snapshot: Snapshot) -> set[int]:
    """Return the instances on which V$RSRC_PLAN counts servers."""
    rows = snapshot.rows(RsrcPlan) if _answered(snapshot, RsrcPlan) else ()
    return {row.inst_id for row in rows if row.parallel_servers_active}


def _answered(snapshot: Snapshot, record: RecordType) -> bool:
    return record in snapshot.sections and snapshot.section(record).problem is None
