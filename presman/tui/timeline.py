"""The polls of the recent past, for scrolling back, sparklines and charts."""

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from presman.analysis.caches import RowCache
from presman.analysis.goals import GoalReading
from presman.analysis.latency.latency_history import LatencyHistory
from presman.analysis.readings.forecast_readings import QueueForecast
from presman.analysis.readings.reading import Alert, Reading, UncheckedAlert
from presman.analysis.readings.statement_readings import Executing, StartForecast
from presman.analysis.trends import Watch
from presman.analysis.trends.series import Series
from presman.rows.snapshot import Snapshot

if TYPE_CHECKING:
    from presman.analysis.readings.container_readings import PdbReading
    from presman.polling.history import History

_KEPT_READINGS = 2
"""Most readings rebuilt from the history; each takes about 100 kB, and megabytes with thousands of sessions."""

_KEPT_FORECASTS = 120
"""Most polls whose forecasts are kept; each takes about 100 bytes per queued statement."""

Starts = dict[Executing, StartForecast]

_SAME = 5e-7
"""Rounding error of seconds since 1970 as a float; two polls differ by at least a microsecond."""


class _Assessed(NamedTuple):
    """The fields that a reading takes from those before it: see :class:`Reading`."""

    alerts: tuple[Alert, ...] | None = None
    goals: tuple[GoalReading, ...] = ()
    unchecked: tuple[UncheckedAlert, ...] = ()


class Timeline:
    """Snapshots, and the readings rebuilt from them when the user looks back."""

    def __init__(self) -> None:
        self.series = Series()
        self.watch = Watch()
        self.latencies = LatencyHistory()
        self._cache = RowCache()
        self._times = array("d")
        """The times of the snapshots that are kept, and of some that no longer are, in seconds since 1970."""
        self._numbers: list[int] = []
        """Their numbers: those of extra polls are missing."""
        self._growing = 0
        """Index of the number from which on they grow: a new connection may begin again at 1."""
        self._extra: tuple[Snapshot | None, Snapshot] | None = None
        """The last extra poll, and the poll from which its rates were computed."""
        self._history: History | None = None
        self._readings: OrderedDict[tuple[int, int], Reading] = OrderedDict()
        self._assessed: OrderedDict[tuple[int, int], _Assessed] = OrderedDict()
        self._forecasts: OrderedDict[tuple[int, int], tuple[Starts, QueueForecast | None]] = OrderedDict()

    def __len__(self) -> int:
        return 0 if self._history is None else len(self._history)

    def add(self, reading: Reading, snapshot: Snapshot | None) -> None:
        """Add a poll."""
        containers: tuple[PdbReading, ...] = ()
        if snapshot is not None:
            if self._history is None:
                self.series.fill(snapshot)
            history = self._keep_snapshot(snapshot)
            if reading.header.cdb:
                from presman.analysis.groups.containers import pdbs

                containers = pdbs(reading, *history.pair(-1))
            self._keep((snapshot.epoch, snapshot.number), reading)
            assessed = _Assessed(reading.alerts, reading.goals, reading.unchecked)
            if assessed != _Assessed():  # snapshots do not contain how long these had lasted, nor earlier alerts
                self._assessed[snapshot.epoch, snapshot.number] = assessed
                _keep_newest(self._assessed, len(history))
            if reading.forecast is not None:  # nor do they contain forecasts
                starts = {row.executing(): row.starts for row in reading.queue if row.starts is not None}
                self._forecasts[snapshot.epoch, snapshot.number] = starts, reading.forecast
                _keep_newest(self._forecasts, min(_KEPT_FORECASTS, len(history)))
        self.series.add(reading, containers)
        self.watch.add(reading)
        self.latencies.add(reading)

    def begin(self, previous: Snapshot) -> None:
        """Begin with the poll before the first one to be added; the caller fills the charts."""
        self._keep_snapshot(previous)

    def _keep_snapshot(self, snapshot: Snapshot) -> "History":
        from presman.polling.history import History

        history = self._history = self._history or History()
        history.append(snapshot)
        if self._numbers and self._numbers[-1] >= snapshot.number:
            self._growing = len(self._numbers)
        self._times.append(snapshot.at.timestamp())
        self._numbers.append(snapshot.number)
        if self._extra is not None and snapshot.number <= self._extra[1].number:
            self._extra = None  # of an earlier connection
        # Not at each poll: whatever is removed at the front moves all the others.
        if (gone := len(self._times) - len(history)) > len(history):
            del self._times[:gone]
            del self._numbers[:gone]
            self._growing = max(0, self._growing - gone)
        return history

    def first(self) -> datetime | None:
        """Return when the oldest snapshot that is kept was read, None if there is none."""
        return datetime.fromtimestamp(self._times[-len(self)], UTC) if len(self) else None

    def behind(self, at: datetime) -> int:
        """Return the distance from the newest poll to the last one not after an instant, or to the oldest one."""
        last = bisect_right(self._times, at.timestamp() + _SAME, len(self._times) - len(self)) - 1
        return max(0, min(len(self) - 1, len(self._times) - 1 - last))

    def show_extra(self, snapshot: Snapshot) -> None:
        """Take an extra poll, which is not kept."""
        newest = self._pair(0)
        self._extra = None if newest is None else newest[0], snapshot

    def first_number(self) -> int:
        """Return the number of the oldest poll from which on numbers grow: a new connection may begin again at 1."""
        return self._numbers[self._first_growing()] if len(self) else 1

    def _first_growing(self) -> int:
        return max(self._growing, len(self._numbers) - len(self))

    def pair_of(self, reading: Reading) -> tuple[Snapshot | None, Snapshot] | None:
        """Return the snapshots that a reading was made from; None if they are no longer kept."""
        number, at = reading.number, reading.at
        if self._extra is not None and (self._extra[1].number, self._extra[1].at) == (number, at):
            return self._extra
        # Its number alone may be that of a poll of another connection, too.
        alike = (each for each in range(len(self)) if self._numbers[-1 - each] == number)
        seconds = at.timestamp()
        return self._pair(next((each for each in alike if abs(self._times[-1 - each] - seconds) <= _SAME), -1))

    def numbered(self, number: int) -> tuple[Snapshot | None, Snapshot] | None:
        """Return the snapshots of poll `number` of this connection and of the one before it; None if it is not kept."""
        # Numbers are no distances: those of extra polls are missing.
        index = bisect_left(self._numbers, number, self._first_growing())
        is_kept = self._numbers[index : index + 1] == [number]
        return self._pair(len(self._numbers) - 1 - index) if is_kept else None

    def reading(self, behind: int) -> Reading | None:
        """Return the reading `behind` polls before the newest, None if there is none."""
        if (pair := self._pair(behind)) is None:
            return None
        previous, current = pair
        key = (current.epoch, current.number)
        if key not in self._readings:
            from presman.analysis.assemble import analyse

            assessed = self._assessed.get(key, _Assessed())
            found = replace(analyse(previous, current, self._cache), **assessed._asdict())
            self._keep(key, found.with_forecast(*self._forecasts[key]) if key in self._forecasts else found)
        return self._readings[key]

    def _pair(self, behind: int) -> tuple[Snapshot | None, Snapshot] | None:
        """Return the snapshots of a poll and of the one before it, None if the poll is not kept."""
        if self._history is None or not 0 <= behind < len(self._history):
            return None
        return self._history.pair(-1 - behind)

    def _keep(self, key: tuple[int, int], reading: Reading) -> None:
        self._readings[key] = reading
        _keep_newest(self._readings, _KEPT_READINGS)


def _keep_newest(kept: OrderedDict[tuple[int, int], Any], most: int) -> None:
    while len(kept) > most:
        kept.popitem(last=False)
