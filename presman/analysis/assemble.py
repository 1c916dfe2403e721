"""From two snapshots to one reading."""

from __future__ import annotations

from presman.analysis import details, header, heads, outliers, queue, redo, running, servers, sessions, waits
from presman.analysis import groups as consumer_groups
from presman.analysis.deferred import Deferred
from presman.analysis.facts import Facts
from presman.analysis.reading import CLUSTER, Header, HourReading, Reading, Trouble
from presman.analysis.usual import hours
from presman.queries import Scope
from presman.rows import OF_AN_UPDATE, GroupMetricHistory, PxSession
from presman.snapshot import Snapshot


def analyse(previous: Snapshot | None, current: Snapshot) -> Reading:
    """Return what `current` means, given the snapshot before it.

    Never raises for what a database may answer: sections may be missing, empty or partial. Without a usable
    `previous` (None, another target or epoch, a restart, a new plan window) rates are None.
    """
    facts = Facts.of(previous, current)
    pools = servers.pools(facts)
    cluster = servers.together(pools.values())
    rooms = servers.rooms(facts, cluster)
    instances = header.instances(facts, pools)
    holdings = running.holdings(current.rows(PxSession))
    statements = running.running(facts, holdings)
    queued = queue.queued(facts, statements)
    rows = consumer_groups.groups(facts, instances, consumer_groups.Statements(queued, statements), rooms)
    top = header.header(facts, instances, cluster)
    waited = waits.events(facts)
    histograms = waits.histograms(facts)
    return Reading(
        target=current.target,
        kind=current.kind,
        at=current.at,
        number=current.number,
        interval=facts.deltas.interval(),
        poll_seconds=current.seconds,
        round_trips=current.round_trips,
        header=top,
        groups=rows,
        queue=queued,
        heads=heads.heads(facts, queued, [row for row in rows if row.inst_id == CLUSTER], rooms),
        running=statements,
        sessions=Deferred(lambda: sessions.sessions(facts, holdings)),
        waits=waited,
        histograms=histograms,
        downgrades=waits.downgrades(facts),
        unmanaged_servers=servers.unmanaged(facts, cluster),
        troubles=troubles(current),
        notes=notes(facts, top),
        detail=details.detail(facts),
        hour=hour(current.rows(GroupMetricHistory)),
        redo=redo.redo(facts, waited),
        outliers=outliers.outliers(facts, histograms),
    )


_last_hour: tuple[tuple[GroupMetricHistory, ...], tuple[HourReading, ...]] = ((), ())
"""The rows that were summed up last, and their sum: they are read once, and are the same at each poll."""


def hour(rows: tuple[GroupMetricHistory, ...]) -> tuple[HourReading, ...]:
    """Return the last hour of each group's queue."""
    global _last_hour  # noqa: PLW0603 - a memo: the same rows give the same sums
    known, found = _last_hour
    if known is not rows:
        found = tuple(HourReading(*key, usual) for key, usual in sorted(hours(rows).items()))
        _last_hour = rows, found
    return found


def troubles(snapshot: Snapshot) -> tuple[Trouble, ...]:
    """Return the questions that got no answer, by name."""
    found = []
    for record, problem in snapshot.problems().items():
        if record in OF_AN_UPDATE and problem.code == "ORA-00904":
            continue
        name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in record.__name__).lstrip("_")
        text = f"{problem.code}: {problem.text}" if problem.code else problem.text
        found.append(Trouble(name, problem.view, text, problem.cure))
    return tuple(sorted(found, key=lambda trouble: trouble.query))


def notes(facts: Facts, top: Header) -> tuple[str, ...]:
    """Return what a reader of the figures must know about how they came to be."""
    found = []
    deltas = facts.deltas
    if deltas.restarted:
        numbers = ", ".join(str(inst_id) for inst_id in sorted(deltas.restarted))
        found.append(f"instance {numbers} restarted since the last poll: no rates yet")
    elif deltas.activated:
        found.append("a plan was activated since the last poll: no rates of its groups yet")
    if top.mixed_plans:
        found.append("the instances run different plans")
    if facts.snapshot.scope is Scope.INSTANCE and any(row.parallel == "YES" for row in facts.instances.values()):
        found.append("one instance of a cluster is read; queues and server limits are cluster-wide")
    return tuple(found)
