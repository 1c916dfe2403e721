"""Assembly of a reading from two snapshots."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from presman.analysis import instances, session_list, view_availability
from presman.analysis.caches import LazyRows, RowCache
from presman.analysis.facts.cursor_facts import reads_texts
from presman.analysis.facts.deltas import Deltas
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Key
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.groups import consumer_groups, session_pools
from presman.analysis.groups.container_io import limited_containers
from presman.analysis.groups.containers import missed_minimums, with_minimums
from presman.analysis.latency import system_waits
from presman.analysis.parallel import detail, queue, queue_causes, queue_heads, running, server_pools
from presman.analysis.parallel.usual import hours
from presman.analysis.plans.plan_changes import newest_switch
from presman.analysis.readings.container_readings import IoVerdict, LimitedContainer
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.reading import CLUSTER, InstanceReading, LateView, Reading, ServerPool, UnansweredQuery
from presman.analysis.readings.statement_readings import HourReading, QueuedStatement, QueueHead, RunningStatement
from presman.analysis.session_list import activity
from presman.analysis.totals import instance_totals
from presman.base.formats import counted
from presman.base.sums import summed
from presman.rows.cursor_rows import SqlText
from presman.rows.group_rows import ConsumerGroupDefinition, GroupMetricHistory, RsrcPlanHistory
from presman.rows.instance_rows import EventHistogram, Instance
from presman.rows.queries import OF_AN_UPDATE
from presman.rows.session_rows import PxSession, Session, SessionCount
from presman.rows.snapshot import REMEMBERED, SHOWN, GoneInstance, MissingInstance, PromisedStart, Section, Snapshot


def analyse(previous: Snapshot | None, current: Snapshot, cache: RowCache | None = None) -> Reading:
    """Return what `current` means, given the previous snapshot.

    Never raises for any answer of a database: sections may be missing, empty or partial. Without a usable `previous`
    (None, another target or epoch, a restart, a new plan window) rates are None. `cache` is that of the previous polls.
    """
    facts = Facts.of(previous, current, cache)
    pools = server_pools.pools(facts)
    cluster = server_pools.together(pools[inst_id] for inst_id in facts.system.inst_ids)
    each = instances.instances(facts, pools)
    holdings = running.holdings(facts)
    statements = tuple(_placed(facts, each) for each in running.running(facts, holdings.statements))
    queued = tuple(_placed(facts, each) for each in queue.queued(facts, statements))
    header = instances.header(facts, each, cluster)
    return Reading(
        header=header,
        running=statements,
        sessions=LazyRows(lambda: session_list.sessions(facts, holdings.of(statements))),
        unmanaged_servers=server_pools.unmanaged(facts, cluster),
        monitor_servers=server_pools.of_monitors(facts, holdings.monitors.values()),
        detail=detail.detail(facts),
        notes=notes(facts, mixed_plans=header.mixed_plans),
        **_of_the_poll(facts),
        **_of_groups(facts, _Parallel(pools, cluster, each, statements, queued)),
        **_of_waits(facts),
    )


class _Parallel(NamedTuple):
    """Servers, and the statements that hold them or wait for some, as the views show them."""

    pools: Mapping[int, ServerPool]
    cluster: ServerPool
    instances: tuple[InstanceReading, ...]
    running: tuple[RunningStatement, ...]
    queued: tuple[QueuedStatement, ...]


def _of_the_poll(facts: Facts) -> dict[str, Any]:
    """Return the fields about the poll itself: its time, its cost, and the queries without an answer."""
    current = facts.snapshot
    is_of_now = current.section(Session).at is not None
    is_blind = view_availability.unavailable(current, Session, ("status",))
    return {
        "target": current.target,
        "kind": current.kind,
        "at": current.at,
        "number": current.number,
        "interval": facts.deltas.interval(),
        "poll_seconds": current.seconds,
        "round_trips": current.round_trips,
        "troubles": troubles(current),
        "unseen": view_availability.unavailable_views(facts),
        "statements_to_come": current.statements_to_come,
        "late": late(current),
        "stale": stale(current),
        "unlisted": facts.sessions.unlisted,
        "activity": activity(facts.sessions.users) if is_of_now and not is_blind else None,
        "texts": current.rows(SqlText),
        "reads_texts": reads_texts(current),
    }


def _of_groups(facts: Facts, parallel: _Parallel) -> dict[str, Any]:
    """Return the fields about consumer groups, their queues and limits, and how far these are known."""
    current, queued = facts.snapshot, parallel.queued
    budgets = server_pools.budgets(facts, parallel.cluster)
    waits = session_pools.waits(facts)
    quiesce = session_pools.quiesce(facts, [instance.plan for instance in parallel.instances], waits)
    by_group = consumer_groups.Statements(queued, parallel.running)
    rows = consumer_groups.groups(facts, parallel.instances, by_group, budgets, None if quiesce else waits)
    # Figures that cannot be trusted are taken out before anything is concluded from the rows.
    rows = view_availability.without_impossible(view_availability.known_only(rows, facts), parallel.instances)
    rows = session_pools.held_by_quiesce(rows, waits, quiesce) if quiesce else rows
    cluster_rows = [row for row in rows if row.inst_id == CLUSTER]
    by_key = {(row.con_id, row.name): row for row in cluster_rows}
    queues = queue_heads.Queues(facts, queued, by_key, budgets, parallel.pools, parallel.running)
    queued, heads = queue_heads.with_servers_left(queues), queue_heads.heads(queues)
    queued, heads = queue_causes.with_queue_reasons(queued, heads, quiesced=quiesce is not None)
    limited, missed = limited_containers(facts), missed_minimums(facts)
    operations = system_waits.downgrades(facts)
    return {
        "groups": with_reasons(with_minimums(rows, missed), heads, queued, limited, parallel.running),
        "queue": queued,
        "heads": heads,
        "quiesce": quiesce,
        "io_limited": limited,
        "missed_minimums": missed,
        "downgrades": operations,
        "basis": view_availability.evidence(facts, cluster_rows, operations),
        "part": facts.system.part,
        "hour": facts.cache.call(
            hour, current.rows(GroupMetricHistory), whole_minute(int(current.at.timestamp() // 60))
        ),
        "gone": facts.system.gone,
        "just_gone": just_gone(facts),
        "missing": current.rows(MissingInstance),
        "late_starts": tuple(row[:4] for row in current.rows(PromisedStart) if row.until < current.at),
        "switched": facts.cache.call(newest_switch, current.rows(RsrcPlanHistory)),
        "group_names": facts.cache.call(group_names, current.rows(ConsumerGroupDefinition)),
    }


def _of_waits(facts: Facts) -> dict[str, Any]:
    """Return the fields about waits: events, histograms, redo writes, outliers, counters since startup."""
    waited, histograms = system_waits.events(facts), LazyRows(lambda: system_waits.histograms(facts))
    return {
        "waits": waited,
        "histograms": histograms,
        "histograms_at": facts.snapshot.section(EventHistogram).at,
        "redo": system_waits.redo(facts, waited),
        "outliers": system_waits.outliers(facts, histograms),
        "since_startup": LazyRows(lambda: instance_totals(facts.snapshot)),
    }


_Statement = TypeVar("_Statement", QueuedStatement, RunningStatement)


def _placed(facts: Facts, statement: _Statement) -> _Statement:
    """Return a statement with the name of its container if several are visible."""
    if facts.plans.inside is not None or statement.con_id <= ROOT:
        return statement
    return replace(statement, container=facts.system.container_name(statement.con_id))


@lru_cache(maxsize=64)
def whole_minute(number: int) -> datetime:
    """Return the start of a minute since 1970, always as the same object, so that cached results hold for it."""
    return datetime.fromtimestamp(60 * number, UTC)


_FOR_ONE_POLL = timedelta(minutes=1)
"""For how long an instance without rows counts as seen a poll ago if the poll before is not known."""


def just_gone(facts: Facts) -> tuple[int, ...]:
    """Return the gone instances that the poll before still showed: one poll without rows may be a silent instance."""
    before, at = facts.deltas.previous, facts.snapshot.at
    if before is None:
        return tuple(each.inst_id for each in facts.system.gone if at - each.last_seen < _FOR_ONE_POLL)
    old = {each.inst_id for each in (*before.rows(GoneInstance), *before.rows(MissingInstance))}
    return tuple(each.inst_id for each in facts.system.gone if each.inst_id not in old)


def group_names(rows: tuple[ConsumerGroupDefinition, ...]) -> tuple[str, ...] | None:
    """Return the consumer groups that are defined, None if not known."""
    return tuple(sorted({row.consumer_group for row in rows})) or None


def hour(rows: tuple[GroupMetricHistory, ...], at: datetime) -> tuple[HourReading, ...]:
    """Return the hour of each group's queue before an instant."""
    until = max((row.end_time for row in rows if row.end_time is not None), default=None)
    return tuple(HourReading(*key, usual, until) for key, usual in sorted(hours(rows, at).items()))


def troubles(snapshot: Snapshot) -> tuple[UnansweredQuery, ...]:
    """Return the queries without an answer, by name; for several with the same problem of a view, the plainest one."""
    found = []
    for record, problem in snapshot.problems().items():
        if record in OF_AN_UPDATE and problem.code == "ORA-00904":  # invalid identifier: this update lacks the column
            continue
        if record is SessionCount and snapshot.section(Session).problem:  # both read the same view
            continue
        name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in record.__name__).lstrip("_")
        text = f"{problem.code}: {problem.text}" if problem.code else problem.text
        age = _age(snapshot, snapshot.section(record)) if problem.late else None
        found.append(UnansweredQuery(name, problem.view, text, problem.cure, age))
    alike: dict[tuple[str, str], UnansweredQuery] = {}
    for trouble in sorted(found, key=lambda each: len(each.query)):  # the query of a view bears its name
        alike.setdefault((trouble.view, trouble.sentence), trouble)
    return tuple(sorted(alike.values(), key=lambda trouble: trouble.query))


def late(snapshot: Snapshot) -> tuple[LateView, ...]:
    """Return the views that did not answer in time, by name."""
    late_ones = {problem.view: record for record, problem in snapshot.problems().items() if problem.late}
    ages = ((view, _age(snapshot, snapshot.section(record))) for view, record in sorted(late_ones.items()))
    return tuple(LateView(view, age) for view, age in ages)


_NOT_READ = frozenset({*SHOWN, *REMEMBERED})


def stale(snapshot: Snapshot) -> float | None:
    """Return by how many seconds the newest rows are older than the snapshot, None if there never were any.

    Rows that polls remember are no answer, however new.
    """
    read = [section.at for record, section in snapshot.sections.items() if section.at and record not in _NOT_READ]
    return max(0.0, (snapshot.at - max(read)).total_seconds()) if read else None


def _age(snapshot: Snapshot, section: Section) -> float | None:
    return None if section.at is None else max(0.0, (snapshot.at - section.at).total_seconds())


def _plan_activated(deltas: Deltas) -> bool:
    """Whether a plan was activated on an instance that both polls saw.

    Instances that come or go do not count. Neither does a container that is closed: its plan ends with it.
    """
    before = set() if deltas.previous is None else {row.inst_id for row in deltas.previous.rows(Instance)}
    now = {row.inst_id for row in deltas.current.rows(Instance)}
    both = before & now if before and now else {inst_id for inst_id, _ in deltas.activated}
    return any(key[0] in both and (key in deltas.windows or not deltas.windows) for key in deltas.activated)


def notes(facts: Facts, *, mixed_plans: bool) -> tuple[str, ...]:
    """Return the notes on the origin of the figures, which a reader must know to understand them."""
    found = []
    deltas = facts.deltas
    if deltas.restarted:
        numbers = ", ".join(str(inst_id) for inst_id in sorted(deltas.restarted))
        found.append(f"instance {numbers} restarted since the last poll: no rates yet")
    elif _plan_activated(deltas):
        found.append("a plan was activated since the last poll: no rates of its groups yet")
    for inst_id, status in facts.system.not_open.items():
        found.append(f"instance {inst_id} is {status}, not OPEN: it is left out of CPUs, shares and servers")
    if mixed_plans:
        found.append(server_pools.DIFFERENT_PLANS)
    if facts.system.part:
        found.append(f"{facts.system.part}; queues and server limits are cluster-wide")
    if number := [row.qcsid for row in facts.snapshot.rows(PxSession)].count(0):
        which = "which statements they work for is not known"
        found.append(f"{counted(number, 'session')} of V$PX_SESSION have no QCSID: {which}")
    if number := facts.snapshot.statements_to_come:
        missing = f"{counted(number, 'statement')} in the queue or running"
        found.append(f"SQL texts and plans of {missing} are still being read, a few at each poll")
    return (*found, *facts.snapshot.notes)


# ---- Reasons besides CPU why a group waits: the cause of its queue, its blocker, the I/O limit of its container.


def with_reasons(
    rows: Iterable[GroupReading],
    heads: Iterable[QueueHead],
    queue: Iterable[QueuedStatement],
    limited: Iterable[LimitedContainer],
    running: Iterable[RunningStatement],
) -> tuple[GroupReading, ...]:
    """Return the groups with the causes of their queues, and the limit that holds their I/O back if they do some."""
    first = {(head.con_id, head.group): head for head in heads}
    left, starts = _until_timeouts(queue)
    throttled = [(each, each.held_by or "its PDB's limits") for each in limited if each.verdict is IoVerdict.THROTTLED]
    held = {(inst_id, each.con_id): by for each, by in throttled for inst_id in (CLUSTER, each.inst_id)}
    blocked = _blocked_servers(running)
    queues = first.keys() | left.keys() | starts.keys()
    found = list(rows)
    for index, row in enumerate(found):
        key, place = (row.con_id, row.name), (row.inst_id, row.con_id)
        if key in queues or place in held or (*place, row.name) in blocked:  # a row is large, and costly to copy
            head = first.get(key)
            found[index] = row._replace(
                head_cause=None if head is None else head.cause,
                queue_hurts=head is not None and head.is_critical,
                timeout_left=left.get(key),
                starts_in=starts.get(key),
                blocked=blocked.get((*place, row.name), 0),
                io_held_by=held.get(place, "") if row.io is not None and row.io.requests else "",
            )
    return tuple(found)


def _until_timeouts(queue: Iterable[QueuedStatement]) -> tuple[dict[Key, float], dict[Key, float]]:
    """Return the seconds until the first of each group's queue times out, and until one is started by its timeout."""
    left: dict[Key, float] = {}
    starts: dict[Key, float] = {}
    for each in queue:
        if each.timeout_left is not None and each.timeout_action:
            key, found = (each.con_id, each.group), starts if each.timeout_action == "RUN" else left
            found[key] = min(found.get(key, each.timeout_left), each.timeout_left)
    return left, starts


def _blocked_servers(running: Iterable[RunningStatement]) -> dict[tuple[int, int, str], int]:
    """Count the servers of statements that wait for a session: by instance or CLUSTER, container and group."""
    return summed(
        ((inst_id, each.con_id, each.group), servers)
        for each in running
        if each.blocker
        for inst_id, servers in {CLUSTER: each.servers, **each.servers_by_instance}.items()
    )
