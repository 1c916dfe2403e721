"""Verdicts on groups in words, with their figures, and how well an instance keeps its plan."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

from presman.analysis.groups.entitlement import FULL, QUIET, has_spare_host, lacks_little, slack
from presman.analysis.readings.container_readings import PdbReading
from presman.analysis.readings.group_readings import IMPOSSIBLE, LIMITED, GroupReading, Verdict
from presman.analysis.readings.reading import CLUSTER, InstanceReading, Reading
from presman.base.formats import counted, duration, listed
from presman.base.sums import sum_of_known

_OUTSIDE = frozenset({Verdict.HOST, Verdict.NOT_EXHAUSTED})
"""Verdicts of groups that are below their entitlement although no other group of this database has the rest."""

_MET = frozenset({Verdict.NOT_THROTTLED, Verdict.CONTENDED, Verdict.CAGED})
_JUDGED = LIMITED | _MET | {Verdict.SHORT, Verdict.STARVED, Verdict.ZERO_SHARE}
"""Verdicts of groups that want CPU, whose due is known, and for which the plan decides whether they get it."""

_WAITING = _JUDGED - {Verdict.NOT_THROTTLED} | _OUTSIDE | {Verdict.THROTTLED, Verdict.PARTLY}
"""Verdicts of groups that wait for CPU."""


Judged: TypeAlias = "GroupReading | PdbReading"
"""The subjects of a verdict."""


def explain(group: Judged, host_busy: float | None = None) -> str:
    """Return the verdict on a group's CPU as one sentence with its figures, in CPUs.

    `host_busy` is the busy part of the host's CPU time (0..1), which distinguishes a limit from a lack of CPU.
    """
    uses = "" if group.used is None or group.doubt else f"Uses {group.used:.1f} of {group.capacity:.0f} CPUs; "
    if isinstance(group, GroupReading) and group.held:
        return f"{uses}{_held(group.held)}: how much CPU they want is not known."
    if group.verdict is Verdict.NOT_MANAGED and uses:
        no_plan = "no plan divides it, and waits for CPU are not counted"
        return f"{uses}Resource Manager does not manage CPU now: {no_plan}."
    if group.used is None or group.waiting is None or group.doubt:
        return _why_not_judged(group)
    wanted = group.used + group.waiting
    if group.verdict is Verdict.IDLE and group.guaranteed is None:
        why = group.hidden or "no view shows how many CPUs there are"
        return f"Wants no CPU now; {why}, so what it is guaranteed is not known."
    if group.verdict is Verdict.IDLE:
        return f"Wants no CPU now; guaranteed {group.guaranteed:.1f} of {group.capacity:.0f} when all are busy."
    got = f"Wants {wanted:.1f}, gets {group.used:.1f} of {group.capacity:.0f} CPUs"
    if group.execution_waiters and group.waiting < QUIET:
        got += f" (waiting for a time slice now: {group.execution_waiters})"
    return f"{got}; {_reason(group, host_busy)}."


def _why_not_judged(group: Judged) -> str:
    if group.used is not None and group.waiting is None and not group.doubt.endswith(IMPOSSIBLE):
        return f"Uses {group.used:.1f} of {group.capacity:.0f} CPUs; how long it waits for CPU is not known."
    if group.doubt:
        return f"Not judged: {group.doubt}."
    return "No rates yet: they need two polls with no restart and no plan change between them."


def _reason(group: Judged, host_busy: float | None) -> str:  # noqa: PLR0911 - one per verdict
    used, wanted = group.used or 0.0, (group.used or 0.0) + (group.waiting or 0.0)
    host = "" if host_busy is None else f"the host is {100 * host_busy:.0f} % busy"
    full = group.cpu_exhausted  # a limit holds a group whether CPUs are exhausted or not, contention does not
    minute = "" if full is None else f"CPUs were exhausted {full:.0f} % of the last full minute"
    match group.verdict:
        case Verdict.CAPPED | Verdict.NEAR_LIMIT:
            below = f"{_due(group)}, and others under the same limit may have what it lacks" if _lacks(group) else ""
            return "; ".join(part for part in (_capped(group), below, host, minute) if part)
        case Verdict.STARVED:
            due = min(wanted, group.entitled or 0.0)
            return f"{_due(group)}, gets {max(0.0, due - used):.1f} less: the plan is not met"
        case Verdict.SHORT:
            short = _short(group, used, min(wanted, group.entitled or 0.0))
            return "; ".join(part for part in (short, minute) if part)
        case Verdict.HOST:
            here = f"the groups here used {group.all_used or 0.0:.1f} of {group.capacity:.0f} CPUs"
            return f"{_due(group)}; {here}, and {host or 'the host is full'}: other processes on the host use the rest"
        case Verdict.NOT_EXHAUSTED:
            free = _free(group)
            unused = f"the groups left {free:.1f} CPUs unused, so no other group took it" if free else ""
            return "; ".join(part for part in (_due(group), unused, host, minute) if part)
        case Verdict.ZERO_SHARE:
            return f"{_due(group)}, and to nothing while the levels above use all CPU: its sessions can hang"
        case Verdict.CONTENDED:
            return "; ".join(part for part in (_entitlement_words(group), _left(group, host_busy), minute) if part)
        case Verdict.PARTLY:
            came = "some of its sessions were there only part of the time"
            unknown = f"{came}, so whether it got what it is entitled to is not known"
            return "; ".join(part for part in (_entitlement_words(group), unknown, minute) if part)
        case Verdict.CAGED:
            tail = f", while {host}" if host else ", while the host has CPUs to spare"
            return f"{_entitlement_words(group)}; {_left(group, host_busy)}; all of CPU_COUNT is in use{tail}"
        case Verdict.THROTTLED:
            return f"{group.hidden or 'a plan above it cannot be read'}, so what it is entitled to is not known"
        case _:
            return "it hardly waits for CPU"


def _lacks(group: Judged) -> bool:
    """Whether a group gets less than it is entitled to, which a limit that it shares with others may hide."""
    used, wanted = group.used or 0.0, (group.used or 0.0) + (group.waiting or 0.0)
    due = min(wanted, group.entitled or 0.0)
    return due - used > slack(due)


def _due(group: Judged) -> str:
    return f"entitled to {group.entitled or 0.0:.1f} now"


def _short(group: Judged, used: float, due: float) -> str:
    """Return how far below its entitlement a group is, if that is little or not all CPUs were used."""
    missing = max(0.0, due - used)
    if lacks_little(used, due):
        return f"{_due(group)}, is a little below its entitlement ({missing:.1f} CPUs): the plan is nearly met"
    free = _free(group)
    tail = f", while the groups left {free:.1f} CPUs unused" if free else ""
    return f"{_due(group)}, gets {missing:.1f} less{tail}"


def _free(group: Judged) -> float:
    """Return the CPUs that no group used, 0.0 if that is negligible or not visible."""
    free = 0.0 if group.inside or group.all_used is None else group.capacity - group.all_used
    return free if free > (1 - FULL) * group.capacity else 0.0


def _entitlement_words(group: Judged) -> str:
    """Return the CPUs that a group is entitled to, and how many of them others leave to it."""
    guaranteed = group.guaranteed or 0.0
    more = (group.entitled or 0.0) - guaranteed
    parts = f": {guaranteed:.1f} by the plan and {more:.1f} that others do not want" if more >= 0.05 else ""
    return f"{_due(group)}{parts}"


def _left(group: Judged, host_busy: float | None) -> str:
    """Return the words on whether the CPUs that a group did not get were free or used by others."""
    free = _free(group)
    if free and host_busy is not None and host_busy >= FULL:
        return f"the groups left {free:.1f} CPUs unused, but the host is {100 * host_busy:.0f} % busy"
    if free:  # a mean over the interval does not show when they were used
        return f"{free:.1f} CPUs were free on average, so they were all in use only part of the time, if at all"
    alone = group.all_used is not None and group.all_used - (group.used or 0.0) < QUIET
    here = " in this container" if group.inside else ""
    return f"nobody else{here} uses CPU" if alone else f"others{here} use the rest"


def _capped(group: Judged) -> str:
    near = group.verdict is Verdict.NEAR_LIMIT
    tail = "; whether that throttles it is not known" if near else ", even if CPU is free"
    if group.limited_by and group.limit_used is not None and group.limit_allowed is not None:
        far = f"{group.limit_used:.1f} of {group.limit_allowed:.1f} CPUs"
        return f"{group.limited_by} is {group.verdict.value}, {far}{tail}"
    if group.limit is None:
        return f"the limit of its subplan or container is {'nearly ' * near}reached{tail}"
    if (group.used or 0.0) < FULL * group.limit:
        most = f"at most {group.limit:.1f} CPUs for it"
        return f"a limit it shares with others ({most}) is {'nearly ' * near}reached{tail}"
    percent = 100 * group.limit / group.capacity if group.capacity else 0.0
    limit = f"its limit of {group.limit:.1f} ({percent:.0f} % of {group.capacity:.0f})"
    return f"near {limit}{tail}" if near else f"{limit} caps it{tail}"


class Conformance(Struct, frozen=True):
    """How well one instance keeps its plan, and its host. All in CPUs except `score` (percent) and `host_busy`.

    `due` is the sum over the groups that want CPU: for each the CPUs it wants or is entitled to now, whichever are
    fewer. `missing` is the part of it that starved groups do not get. `score` is 100 x (1 - missing / due): exactly 100
    while no group is starved, however many are throttled; None if no entitlement is known. `near` means that a group is
    below its entitlement without being starved, `outside` that one is although no group has the rest, `shareless` that
    the plan leaves some groups nothing. `sentence` is this in words. `unjudged` are groups for which it is not known
    whether they get what they are entitled to.
    """

    inst_id: int
    score: float | None
    due: float
    missing: float
    used: float | None
    capacity: float
    host_cpus: float | None
    host_busy: float | None
    sentence: str
    shareless: bool = False
    near: bool = False
    outside: bool = False
    unjudged: tuple[str, ...] = ()


def conformance(reading: Reading) -> tuple[Conformance, ...]:
    """Return one result per instance, in order."""
    views = next((each.views for each in reading.basis if each.what == "starved group"), ())
    by = f" (by {', '.join(views)})" if views else ""
    late = (each for each in reading.late if each.view.endswith("RSRC_PLAN_DIRECTIVES") and each.age is not None)
    older = [f"{each.view} of {duration(each.age)} ago" for each in late]
    by = f"{by.removesuffix(')')}, and by {listed(older)})" if by and older else by
    unseen = reading.quiesce is not None and reading.quiesce.waiting is None
    return tuple(
        _of_instance(each, reading.instance_groups(each.inst_id), by, _below_minimum(reading, each.inst_id), unseen)
        for each in reading.header.instances
    )


_UNSEEN = "no view shows which sessions wait until the quiesce of the database ends"


def _below_minimum(reading: Reading, inst_id: int) -> str:
    """Return which containers wait below their minimum, and why the plan is not at fault; "" without any."""
    found = [each for each in reading.missed_minimums if each.inst_id == inst_id]
    if not found:
        return ""
    minima, capacity = found[0].minima, found[0].capacity
    return f"{listed([each.words for each in found])}: those of all open ones add up to {minima:g} of {capacity:g}"


def _held(sessions: int) -> str:
    return f"{counted(sessions, 'session')} wait{'s' * (sessions == 1)} until the quiesce of the database ends"


def _of_instance(
    instance: InstanceReading, groups: Iterable[GroupReading], by: str, below: str, unseen: bool
) -> Conformance:
    """Return the result of one instance.

    `by` names the views that an all-clear rests on, `below` the containers below their minimum though the plan is met;
    `unseen` says that a quiesce may hold sessions that no view shows.
    """
    rows = tuple(groups)
    due, missing = _due_and_missing(rows)
    doubt = next((row.doubt for row in rows if row.doubt), "")
    total = None if doubt else sum_of_known(row.used for row in rows)
    held = sum(row.held for row in rows)
    waits = _held(held) if held else _UNSEEN * unseen
    score = 100 * (1 - missing / due) if due > 0 and not waits else None
    shareless = _shareless(rows)
    near = [row.title for row in rows if row.verdict is Verdict.SHORT]
    outside = [row.title for row in rows if row.verdict in _OUTSIDE]
    unjudged = tuple(row.title for row in rows if _is_unjudged(row))
    but = f" Not known for {_listed(unjudged)}." if unjudged else ""
    # First why nothing can be judged, then problems of a plan that is met.
    if waits:
        kept = f"Not judged: {waits}, whatever the plan gives them."
    elif doubt:
        kept = f"Not judged: {doubt}."
    elif missing <= 0 and (near or outside):
        kept = _lacking(near, outside) + but
    elif score is not None and missing <= 0 and below:
        kept = f"The plan is met, but {below}.{but}"
    else:
        kept = _kept(instance, score, missing, shareless, but, by)
    return Conformance(
        inst_id=instance.inst_id,
        score=score,
        due=due,
        missing=missing,
        used=total,
        capacity=instance.num_cpus or 0.0,
        host_cpus=instance.host_cpus,
        host_busy=instance.host_busy,
        sentence=f"{kept}{shareless} {_pressure(instance, total, rows)}".strip(),
        shareless=bool(shareless),
        near=bool(near),
        outside=bool(outside),
        unjudged=unjudged,
    )


def _is_unjudged(row: GroupReading) -> bool:
    """Whether it is not known if a group gets its entitlement: under a limit that it shares, others may have some."""
    return not row.is_judged or row.verdict is Verdict.PARTLY or (row.verdict in LIMITED and _lacks(row))


def _due_and_missing(rows: Iterable[GroupReading]) -> tuple[float, float]:
    """Return the CPUs that groups are due, and those that starved groups do not get."""
    due = missing = 0.0
    for row in rows:
        if row.verdict in _JUDGED and row.entitled is not None and row.wanted is not None and row.used is not None:
            claim = min(row.wanted, row.entitled)
            due += claim
            missing += max(0.0, claim - row.used) if row.verdict is Verdict.STARVED else 0.0
    return due, missing


def _lacking(near: Sequence[str], outside: Sequence[str]) -> str:
    """Return which groups are below their entitlement but not starved: those in `near`, else those in `outside`."""
    who = _listed(near or outside)
    gets = f"{who} is below its entitlement" if len(near or outside) == 1 else f"{who} are below their entitlement"
    return f"The plan is nearly met: {gets}." if near else f"{gets}, and no other group has what is missing."


def _kept(instance: InstanceReading, score: float | None, missing: float, shareless: str, but: str, by: str) -> str:
    if instance.cpu_managed == "OFF":
        return "Resource Manager does not manage CPU: no plan divides it, and no session is throttled."
    if score is None:
        return ""
    if missing <= 0 and shareless:
        return f"The plan is met, but it gives some groups nothing.{but}"
    if missing <= 0 and but:
        others = "the other groups that want CPU get what they are entitled to"
        return f"As far as presman can see, the plan is met: {others}.{but}"
    if missing <= 0:
        return f"The plan is met: every group that wants CPU gets what it is entitled to{by}."
    return f"The plan is {score:.0f} % met: groups are {missing:.1f} CPUs below entitlement.{but}"


def _listed(names: Sequence[str]) -> str:
    """Return at most three names in words."""
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {counted(len(names) - 2, 'other')}"
    return listed(names)


def _shareless(groups: Iterable[GroupReading]) -> str:
    """Return the groups whose due may be nothing, so that a plan that is kept is not mistaken for a good one."""
    names = [row.title for row in groups if row.verdict is Verdict.ZERO_SHARE]
    return f" {_listed(names)} can get only what the levels above leave." if names else ""


def _pressure(instance: InstanceReading, used: float | None, groups: Iterable[GroupReading]) -> str:
    """Return the cause that holds CPU back: a limit, the cage, the host, or none."""
    if used is None or not instance.num_cpus:
        return ""
    busy = instance.host_busy
    facts = f"{used:.1f} of {instance.num_cpus:.0f} CPUs used"
    if busy is not None:
        host = f" of {instance.host_cpus:.0f} CPUs" if instance.host_cpus else ""
        facts += f", host{host} {100 * busy:.0f} % busy"
    if used >= FULL * instance.num_cpus:
        why = "CPU_COUNT is used up, the host has spare CPU" if has_spare_host(instance) else "all CPUs are in use"
        return f"{facts}: {why}."
    waiting = {row.verdict for row in groups} & _WAITING
    if waiting and waiting <= LIMITED:
        return f"{facts}: groups wait because of a limit, not for lack of CPU."
    if busy is not None and busy >= FULL:
        return f"{facts}: others on the host use the rest."
    return f"{facts}."


def in_words(reading: Reading, group: GroupReading) -> str:
    """Return the verdict on a group's row of a reading as a sentence, with its instance if it is not for all."""
    row = reading.judged(group)
    words = explain(row, host_busy_of(reading, row))
    return words if row is group else f"On instance {row.inst_id}: {words}"


def host_busy_of(reading: Reading, group: GroupReading) -> float | None:
    """Return the busy fraction of the host of a group's row, for the cluster's row that of the busiest host."""
    hosts = (each.host_busy for each in reading.header.instances if group.inst_id in {CLUSTER, each.inst_id})
    return max((busy for busy in hosts if busy is not None), default=None)
