"""Parallel statements that were seen in the last hour: how long they held their servers, and which came when."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta

from presman.analysis.readings.forecasts import Executing
from presman.analysis.readings.reading import Reading
from presman.analysis.trends.statement_runs import StatementRun, StatementRuns
from presman.forecast.durations import FEW, Durations, Lasted, durations

HOUR = timedelta(hours=1)
KEPT = 100
"""Ends of one kind that are kept, the newest ones."""
_ANEW = timedelta(minutes=1)
"""After this time a distribution is made anew, even if no other has ended: those that run have run for longer."""

_APART = timedelta(seconds=20)
"""How far apart two looks at what V$SESSION_LONGOPS tells of one statement are."""

_ALL = ("all",)


class SeenStatements:
    """The ends and the arrivals of the last hour, and what is learnt from them."""

    def __init__(self) -> None:
        self.begun: datetime | None = None
        self.at: datetime | None = None
        self._runs = StatementRuns()
        self._came: deque[StatementRun] = deque(maxlen=1000)
        self._ends: dict[Hashable, deque[tuple[datetime, Lasted]]] = {}
        self._made: dict[Hashable, tuple[datetime, Durations | None]] = {}
        self._told: dict[Executing, list[tuple[datetime, float]]] = {}
        self._times: dict[Hashable, deque[float]] = {}

    def begin(self, at: datetime, watched: timedelta, runs: Iterable[StatementRun]) -> None:
        """Begin behind a reading at an instant, with the `runs` that were seen in the time `watched` before it."""
        self.at, self.begun = at, at - watched
        known = sorted(runs, key=lambda run: run.began)
        self._runs.begin(at, known)
        self._came.extend(run for run in known if run.began >= self.begun)
        for run in known:
            if run.ended is not None:
                self._take(run, run.ended)

    def add(self, reading: Reading) -> None:
        """Take the next reading; one that is older than the last begins anew."""
        before = self.at
        if before is not None and reading.at < before:
            SeenStatements.__init__(self)
            before = None
        self.at, self.begun = reading.at, self.begun or reading.at
        self._runs.add(reading)
        if before is None:
            return
        self._came.extend(run for run in self._runs.open if run.first_seen == reading.at)
        while self._came and self._came[0].began < reading.at - HOUR:
            self._came.popleft()
        for run in self._runs.ended_since(before):
            self._take(run, reading.at)
        self._hear(reading)

    def _take(self, run: StatementRun, at: datetime) -> None:
        """Take a run that has ended, as was seen at an instant."""
        told = self._told.pop((run.inst_id, run.sid, run.serial, run.sql_id), ())
        ended = run.ended or at
        times = [(ended - when).total_seconds() / max(left, 1.0) for when, left in told if when < ended]
        for key, lasted in _kinds(run, at):
            self._ends.setdefault(key, deque(maxlen=KEPT)).append((at, lasted))
            self._made.pop(key, None)
            self._times.setdefault(key, deque(maxlen=KEPT)).extend(times)

    def _hear(self, reading: Reading) -> None:
        """Keep when V$SESSION_LONGOPS says that operations end, to see what that came to."""
        for each in reading.running:
            if each.remaining is not None and each.idle is None:
                told = self._told.setdefault(each.executing(), [])
                if not told or reading.at - told[-1][0] >= _APART:
                    told.append((reading.at, each.remaining))
        there = {each.executing() for each in reading.running}
        self._told = {session: told for session, told in self._told.items() if session in there}

    @property
    def watched(self) -> float:
        """Seconds of the last hour that were seen."""
        if self.at is None or self.begun is None:
            return 0.0
        return min(HOUR, self.at - self.begun).total_seconds()

    @property
    def ended(self) -> int:
        """Statements that were seen to end in the last hour, of the newest ones."""
        return len(self._recent(_ALL))

    @property
    def came(self) -> list[StatementRun]:
        """Who came in the last hour while one watched, by when that was."""
        begin = self.begun if self.at is None or self.begun is None else max(self.begun, self.at - HOUR)
        return sorted((run for run in self._came if begin and run.began >= begin), key=lambda run: run.began)

    def run(self, who: Executing) -> StatementRun | None:
        """Return the run of a statement that is there."""
        return self._runs.now(who)

    def lasting(self, con_id: int, group: str, sql_id: str) -> Durations | None:
        """Return how long a statement holds its servers: by its own past, else its group's, else that of all.

        None where fewer than five have ended.
        """
        for key in ((con_id, sql_id, "sql"), (con_id, group), _ALL):
            found = self._durations(key)
            if found is not None:
                return found
        return None

    def times(self, con_id: int, group: str, sql_id: str) -> tuple[float, ...]:
        """Return how many times as long as V$SESSION_LONGOPS said statements went on, ascending.

        () where fewer than five such times are known of the statement or its group.
        """
        for key in ((con_id, sql_id, "sql"), (con_id, group)):
            found = self._times.get(key, ())
            if len(found) >= FEW:
                return tuple(sorted(found))
        return ()

    def idling(self, con_id: int, group: str) -> Durations | None:
        """Return how long idle holders of a group keep their servers; None where fewer than five gave them back."""
        return self._durations((con_id, group, "idle"))

    def _durations(self, key: Hashable) -> Durations | None:
        assert self.at is not None
        made, found = self._made.get(key, (None, None))
        if made is None or self.at - made > _ANEW:
            found = durations([*self._recent(key), *self._running(key)])
            self._made[key] = (self.at, found)
        return found

    def _recent(self, key: Hashable) -> list[Lasted]:
        since = None if self.at is None else self.at - HOUR
        return [lasted for when, lasted in self._ends.get(key, ()) if since and when >= since]

    def _running(self, wanted: Hashable) -> list[Lasted]:
        at = self.at
        return [lasted for run in self._runs.open if at for key, lasted in _kinds(run, at) if key == wanted]


def _kinds(run: StatementRun, at: datetime) -> Iterable[tuple[Hashable, Lasted]]:
    """Yield what a run tells: of its SQL_ID, of its group, of all; of idle holders of its group where it is one."""
    if run.started is None:
        return
    end = run.ended or at
    seen_from = ((run.first_seen or run.started) - run.started).total_seconds()
    lasted = Lasted((end - run.started).total_seconds(), run.ended is not None, max(0.0, seen_from))
    yield _ALL, lasted
    yield (run.con_id, run.group), lasted
    if run.sql_id:
        yield (run.con_id, run.sql_id, "sql"), lasted
    if run.idle is not None:
        idle_from = ((run.first_seen or run.idle) - run.idle).total_seconds()
        yield (
            (run.con_id, run.group, "idle"),
            Lasted((end - run.idle).total_seconds(), run.ended is not None, max(0.0, idle_from)),
        )
