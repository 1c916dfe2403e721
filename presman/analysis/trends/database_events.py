"""Events: what happened between one reading and the next, one line each.

All events come from here: those of a live database on the tab Events and for the keys n and p, those that a recorder
writes (for replay, `report` and `compare`), and those that `watch` prints.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.alerts.alert_transitions import BEGAN, THERE, AlertTransitions
from presman.analysis.alerts.rule_book import silent_views
from presman.analysis.plans.plan_changes import SettingWatch, plan_switches
from presman.analysis.plans.plan_view import NOT_KNOWN, plan_name
from presman.analysis.readings.group_readings import LIMITED, Verdict
from presman.analysis.readings.reading import InstanceReading, Reading, instance_name
from presman.analysis.readings.statement_readings import Executing
from presman.analysis.totals import downgraded
from presman.analysis.trends.statement_runs import GapDetector
from presman.base.formats import clock, counted, spelled
from presman.base.sums import grouped
from presman.rows.instance_rows import Pdb
from presman.rows.snapshot import Snapshot

QUEUE_BEGAN, QUEUE_ENDED = "queue began", "queue ended"
PLAN_CHANGED, VERDICT_CHANGED = "plan changed", "verdict changed"
DOWNGRADE, TIMEOUT, RECONNECT, LOST = "downgrade", "timeout", "reconnect", "connection lost"
DIRECTIVE_CHANGED, PARAMETER_CHANGED = "directive changed", "parameter changed"
INSTANCE_CHANGED, PDB_CHANGED = "instance changed", "PDB changed"
GAP, CLOCK_BACK = "gap", "clock changed"
ALERT_THERE = "alert there"
ALERT_BEGAN, ALERT_WORSE, ALERT_BETTER, ALERT_ENDED = "alert began", "alert worse", "alert better", "alert ended"
KINDS = (
    *(QUEUE_BEGAN, QUEUE_ENDED, PLAN_CHANGED, DIRECTIVE_CHANGED, PARAMETER_CHANGED, INSTANCE_CHANGED, PDB_CHANGED),
    *(VERDICT_CHANGED, DOWNGRADE, TIMEOUT, ALERT_THERE, ALERT_BEGAN, ALERT_WORSE, ALERT_BETTER, ALERT_ENDED),
    *(RECONNECT, LOST, GAP, CLOCK_BACK),
)
_WORDS = {
    VERDICT_CHANGED: "state changed",
    ALERT_THERE: "alert at start",
    ALERT_WORSE: "alert got worse",
    ALERT_BETTER: "alert got better",
}
"""Kinds that are stored under another name than the one shown."""

KEPT = 2000
"""Events that are kept, the newest ones."""

_BEFORE = timedelta(days=1)
"""Time before the first poll for which past events in V$ views are listed."""

_CALM = frozenset({Verdict.IDLE, Verdict.NOT_THROTTLED})
"""Verdicts between which a change is no event: a group that is not throttled works or is idle. So are `LIMITED`."""

_LASTING = 6
"""Polls after which a verdict counts: a group close to its limit changes its verdict every few seconds."""


def kind_in_words(kind: str) -> str:
    """Return the name shown for a kind of event."""
    return _WORDS.get(kind, kind)


class DatabaseEvent(NamedTuple):
    """An event: `kind` is one of `KINDS`; group and SQL_ID are "" if it is about neither."""

    at: datetime
    kind: str
    group: str
    sql_id: str
    text: str


class _Instance(NamedTuple):
    """An instance that was seen: its name in words, its STARTUP_TIME, and whether the last reading lacked it."""

    name: str
    started: datetime | None
    is_away: bool = False


def _instance(each: InstanceReading) -> _Instance:
    return _Instance(instance_name(each.inst_id, each.name), each.started)


def _came(before: _Instance | None, now: _Instance, at: datetime) -> str:
    """Return whether an instance came, was restarted or came back, in words; "" if it was there all the time."""
    if before == now:
        return ""
    since = f" (started {_at_or_on(now.started, at)})" if now.started is not None else ""
    if before is None:
        return f"{now.name} appeared{since}"
    if now.started is not None and before.started not in {None, now.started}:
        return f"{now.name} was restarted{since}"
    never = ", it never stopped" if now.started is not None and now.started == before.started else ""
    return f"{now.name} is back{never}{since}" if before.is_away else ""


def _at_or_on(then: datetime, at: datetime) -> str:
    """Return an instant as a time, with its date unless that is the day of `at`."""
    day = then.astimezone().date()
    return clock(then) if day == at.astimezone().date() else f"{day} {clock(then)}"


class _Verdicts(Struct):
    """The current verdict of a group, and the next one that may replace it, with its number of polls and start."""

    lasting: Verdict
    coming: Verdict = Verdict.UNKNOWN
    polls: int = 0
    since: datetime | None = None


class EventWatch:
    """Finds the events of each reading, given those before.

    Alerts of the first reading are reported as existing before or, if `first_is_news`, as begun.
    """

    def __init__(self, *, first_is_news: bool = False) -> None:
        self._before: Reading | None = None
        self._planned: Reading | None = None
        self._queued: Reading | None = None
        self._epoch = 0
        self._steps = GapDetector(timedelta.max)  # how far apart the first two readings are is no gap
        self._alerts = AlertTransitions(BEGAN if first_is_news else THERE)
        self._settings = SettingWatch()
        self._instances: dict[int, _Instance] = {}
        self._open_pdbs: frozenset[tuple[int, str]] | None = None
        """The pluggable databases that are open on each instance, by name."""
        self._verdicts: dict[tuple[int, str], _Verdicts] = {}
        self._downgraded: dict[Executing, datetime] = {}
        self._timeouts: dict[tuple[int, str, str], int] = {}
        """The timeouts of each group and kind when last shown: a group may be missing from a poll."""

    @property
    def has_alerts(self) -> bool:
        """Whether an alert was reported and has not ended."""
        return self._alerts.is_any

    def add(self, reading: Reading, snapshot: Snapshot) -> list[DatabaseEvent]:
        """Return the events since the last reading, including a reconnection; `snapshot` belongs to the new reading."""
        before, self._before = self._before, reading
        is_gap = before is not None and self._steps.is_gap(reading.at - before.at)
        found = _break(before.at, reading.at, is_gap, snapshot.epoch != self._epoch) if before is not None else []
        self._epoch = snapshot.epoch
        found += self._changed_instances(reading) + self._changed_pdbs(reading, snapshot)
        found += self._changed_plan(reading)
        found += _quiesced(before, reading) if before is not None else []
        found += self._changed_settings(reading, snapshot) + self._changed_queues(reading)
        found += self._new_timeouts(reading)
        found += self._changed_verdicts(reading) + self._new_downgrades(reading)
        turns = self._alerts.take(reading, before.at if before is not None and is_gap else None)
        return found + [DatabaseEvent(each.at, f"alert {each.change}", "", "", each.text) for each in turns]

    def _changed_instances(self, reading: Reading) -> list[DatabaseEvent]:
        now = {each.inst_id: _instance(each) for each in reading.header.instances}
        if not now or reading.why_unavailable("V$INSTANCE"):  # whether one is gone is not known
            return []
        before = self._instances
        # Instances that are gone are remembered, so that one that comes back is not taken for a new one.
        away = {inst_id: each._replace(is_away=True) for inst_id, each in before.items() if inst_id not in now}
        self._instances = {**away, **now}
        came = (_came(before.get(inst_id), each, reading.at) for inst_id, each in now.items() if before)
        texts = [*filter(None, came)]
        texts += [f"no view shows {each.name}" for inst_id, each in away.items() if not before[inst_id].is_away]
        return [DatabaseEvent(reading.at, INSTANCE_CHANGED, "", "", text) for text in texts]

    def _changed_pdbs(self, reading: Reading, snapshot: Snapshot) -> list[DatabaseEvent]:
        """Return which pluggable databases were opened or closed; those of a gone instance are covered by its event."""
        rows = snapshot.rows(Pdb)
        if not rows:
            return []
        now = frozenset((row.inst_id, row.name) for row in rows if not row.open_mode.startswith("MOUNT"))
        before, self._open_pdbs = self._open_pdbs, now
        there = [each.inst_id for each in reading.header.instances]
        texts = []
        for inst_id, name in sorted(now ^ before) if before is not None else ():
            if inst_id in {0, *there}:
                where = f" on instance {inst_id}" if len(there) > 1 and inst_id else ""
                texts.append(f"PDB {name} was {'opened' if (inst_id, name) in now else 'closed'}{where}")
        return [DatabaseEvent(reading.at, PDB_CHANGED, "", "", text) for text in texts]

    def _changed_plan(self, reading: Reading) -> list[DatabaseEvent]:
        """Return the change of plan by V$RSRC_PLAN_HISTORY: V$RSRC_PLAN has a name even if no plan is set."""
        if plan_name(reading) == NOT_KNOWN:  # without a view, the plan counts as unchanged
            return []
        before, self._planned = self._planned, reading
        if before is None or before.header.plan == reading.header.plan:
            return []
        old, new, switched = before.header.plan, reading.header.plan, reading.switched
        text = _plan_text(old, new, "")
        if switched is not None and (switched.plan == new or (switched != before.switched and not switched.plan)):
            text = _plan_text(old if switched.before else "", switched.plan, switched.window)
        return [DatabaseEvent(reading.at, PLAN_CHANGED, "", "", text)]

    def _changed_queues(self, reading: Reading) -> list[DatabaseEvent]:
        if reading.why_unknown("queue"):
            return []
        before, self._queued = self._queued, reading
        if before is None:
            return []
        old, new = (grouped(one.queue, lambda each: (each.con_id, each.group)) for one in (before, reading))
        found = []
        for (con_id, group), (first, *_) in new.items():
            if (con_id, group) not in old:
                text = f"{group or 'unknown group'}: {first.sql_id} waits"
                found.append(DatabaseEvent(reading.at, QUEUE_BEGAN, group, first.sql_id, text))
        for con_id, group in old:
            if (con_id, group) not in new:
                text = f"{group or 'unknown group'}: the queue is empty"
                found.append(DatabaseEvent(reading.at, QUEUE_ENDED, group, "", text))
        return found

    def _changed_settings(self, reading: Reading, snapshot: Snapshot) -> list[DatabaseEvent]:
        changed = self._settings.add(snapshot)
        found = [DatabaseEvent(reading.at, PARAMETER_CHANGED, "", "", text) for text in changed.parameters]
        others = (DatabaseEvent(reading.at, DIRECTIVE_CHANGED, group, "", text) for group, text in changed.directives)
        return [*found, *others]

    def _changed_verdicts(self, reading: Reading) -> list[DatabaseEvent]:
        found = []
        is_blind = bool(silent_views("cpu_starved", reading))
        for group in reading.cluster_groups():
            key, new = (group.con_id, group.name), group.verdict
            if new is Verdict.PARTLY or (is_blind and new is Verdict.THROTTLED):  # whether it got its due is not known
                new = Verdict.UNKNOWN
            # A verdict becomes an event when it has lasted, with the instant at which it began.
            known = self._verdicts.setdefault(key, _Verdicts(new))
            if new is known.lasting or new is Verdict.UNKNOWN:
                known.coming, known.polls = new, 0
            elif known.lasting is Verdict.UNKNOWN:
                known.lasting = new
            elif new is not known.coming:
                known.coming, known.polls, known.since = new, 1, reading.at
            else:
                known.polls += 1
            if known.polls >= _LASTING and known.since is not None:
                if not any(each.issuperset((known.lasting, new)) for each in (_CALM, LIMITED)):
                    text = f"{group.title}: {known.lasting.value} → {new.value}"
                    found.append(DatabaseEvent(known.since, VERDICT_CHANGED, group.name, "", text))
                known.lasting, known.polls = new, 0
        return found

    def _new_timeouts(self, reading: Reading) -> list[DatabaseEvent]:
        """Return how many statements left a queue, or calls a session pool, by timeout (V$RSRC_CONSUMER_GROUP)."""
        found = []
        for group in reading.cluster_groups():
            numbers = {"queue timeout": group.totals.timeouts, "session pool timeout": group.sessions.pool_timeouts}
            for what, number in numbers.items():
                if number is None:
                    continue
                key = (group.con_id, group.name, what)
                before = self._timeouts.get(key, number)
                self._timeouts[key] = number
                if number > before:
                    text = f"{group.title}: {counted(number - before, what)}"
                    found.append(DatabaseEvent(reading.at, TIMEOUT, group.name, "", text))
        return found

    def _new_downgrades(self, reading: Reading) -> list[DatabaseEvent]:
        found, known = [], self._downgraded
        self._downgraded = {}
        for each in downgraded(reading.running):
            key = each.executing()
            self._downgraded[key] = known.get(key, reading.at)
            if key not in known:
                degree = f"DOP {each.degree} of {each.requested} ({each.downgraded:.0f} % lost)"
                text = f"{each.user} {each.sql_id}: {degree}"
                found.append(DatabaseEvent(reading.at, DOWNGRADE, each.group, each.sql_id, text))
        return found


def _break(before: datetime, now: datetime, is_gap: bool, is_new: bool) -> list[DatabaseEvent]:
    """Return the event that separates two readings, if any.

    `is_gap` says that they are too far apart, `is_new` that the counters of the first cannot be compared any more.
    """
    if now < before:
        text = f"the clock went back by {spelled((before - now).total_seconds())} or more; no rates over that"
        return [DatabaseEvent(now, CLOCK_BACK, "", "", text)]
    if is_new:
        return [DatabaseEvent(now, RECONNECT, "", "", "connected again; no rates over the gap")]
    long = spelled((now - before).total_seconds())
    text = f"no polls for {long}, since {clock(before)}; what happened in that time is not known"
    return [DatabaseEvent(now, GAP, "", "", text)] if is_gap else []


def _quiesced(before: Reading, now: Reading) -> list[DatabaseEvent]:
    """Return the event that the last call of others has ended; the alert reports begin and end of the quiesce."""
    states = [each.quiesce.state if each.quiesce is not None else "" for each in (before, now)]
    if states != ["QUIESCING", "QUIESCED"]:
        return []
    return [DatabaseEvent(now.at, INSTANCE_CHANGED, "", "", "the database is quiesced: all calls under way have ended")]


def _plan_text(old: str, new: str, window: str) -> str:
    return f"plan {old or 'none'} → {new or 'none'}" + (f" (by {window})" if window else "")


def plan_after(event: DatabaseEvent) -> str:
    """Return the plan that a change of plan brought, as its text has it: "none" if it ended."""
    return event.text.partition(" → ")[2].partition(" (by ")[0]


def lost(at: datetime, text: str) -> DatabaseEvent:
    """Return the event that the connection was lost."""
    return DatabaseEvent(at, LOST, "", "", text)


def before_first(reading: Reading, snapshot: Snapshot) -> Iterator[DatabaseEvent]:
    """Return the events of the day before the first poll: plans (V$RSRC_PLAN_HISTORY), starts (V$INSTANCE)."""
    earliest = reading.at - _BEFORE
    marks = plan_switches(snapshot)
    for con_id in {mark.con_id for mark in marks}:
        for old, new in pairwise(mark for mark in marks if mark.con_id == con_id):
            if earliest <= new.at <= reading.at and new.plan != old.plan:
                yield DatabaseEvent(new.at, PLAN_CHANGED, "", "", _plan_text(old.plan, new.plan, new.window))
    for each in reading.header.instances:
        if each.started is not None and earliest <= each.started <= reading.at:
            yield DatabaseEvent(each.started, INSTANCE_CHANGED, "", "", f"{_instance(each).name} was started")


_ENDS = frozenset({QUEUE_ENDED, ALERT_BETTER, ALERT_ENDED})


def is_end(event: DatabaseEvent) -> bool:
    """Return whether an event is only that something ended or got better, or that a group came away from its limit."""
    return event.kind in _ENDS or (event.kind == VERDICT_CHANGED and not event.text.endswith("limit"))


def next_event(
    events: Sequence[DatabaseEvent], at: datetime, direction: int, since: datetime | None = None
) -> DatabaseEvent | None:
    """Return the first event after an instant (1), or the last before it (-1) that is not before `since`; no ends."""
    return next((each for each in events_in_direction(events, at, direction, since) if not is_end(each)), None)


def events_in_direction(
    events: Sequence[DatabaseEvent], at: datetime, direction: int, since: datetime | None = None
) -> list[DatabaseEvent]:
    """Return all events on one side of an instant, the nearest first, with those that are only ends."""
    if direction > 0:
        return list(events[bisect_right(events, at, key=attrgetter("at")) :])
    before = reversed(events[: bisect_left(events, at, key=attrgetter("at"))])
    return [each for each in before if since is None or each.at >= since]


class EventHistory:
    """The events since presman began to watch, and those of the day before in the first poll: oldest first."""

    def __init__(self) -> None:
        self._watch = EventWatch()
        self.events: list[DatabaseEvent] = []
        self._is_begun = False

    def add(self, reading: Reading, snapshot: Snapshot) -> None:
        """Add the next reading."""
        if not self._is_begun:
            self._is_begun = True
            self._keep(before_first(reading, snapshot))
        self._keep(self._watch.add(reading, snapshot))

    def lose(self, at: datetime, text: str) -> None:
        """Add the loss of the connection after the poll of an instant."""
        self._keep((lost(at, text),))

    def _keep(self, found: Iterable[DatabaseEvent]) -> None:
        for each in found:  # verdicts are known only after they began, as are the ends of alerts that come and go
            insort(self.events, each, key=attrgetter("at"))
        del self.events[:-KEPT]
