"""CSV export: the rows of each poll, appended as it is taken, tidy (one line per item) or wide (one per poll).

Tidy lines may be JSON instead.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

from presman.analysis.readings.group_readings import throttled_percent
from presman.analysis.readings.reading import Reading
from presman.analysis.trends.statement_runs import ArrivalTracker
from presman.figures.figure import late_among
from presman.figures.measures import COMMON, MEASURES, headings
from presman.output.cells import Cell, has_names, json_lines, lines
from presman.output.csv_file import CsvFile, Note, OutputError, Sink, TextSink, check_writable
from presman.rows.group_rows import GroupMetricHistory
from presman.rows.instance_rows import Database
from presman.rows.snapshot import Snapshot

VIEW = "V$RSRCMGRMETRIC_HISTORY"

_Figures = Mapping[str, Callable[[GroupMetricHistory], Cell]]


def _limit_cpus(row: GroupMetricHistory) -> float | None:
    """Return the limit in CPUs, None without one: then the view shows as many CPUs as there are."""
    shown = row.running_sessions_limit
    return shown if shown and row.num_cpus and shown < row.num_cpus else None


_FIGURES: Mapping[str, _Figures] = {
    "cpu": {
        "used_cpus": lambda row: row.avg_running_sessions,
        "waited_cpus": lambda row: row.avg_waiting_sessions,
        "capacity_cpus": lambda row: row.num_cpus,
        "limit_cpus": _limit_cpus,
        "used_percent": lambda row: 100 * row.avg_running_sessions / row.num_cpus if row.num_cpus else None,
        "throttled_percent": lambda row: throttled_percent(row.avg_running_sessions, row.avg_waiting_sessions),
    },
    "session_io": {
        # INTSIZE_CSEC is in hundredths of a second.
        "io_mb_per_s": lambda row: 100 * row.io_megabytes / row.intsize_csec,
        "io_requests_per_s": lambda row: None if row.io_requests is None else 100 * row.io_requests / row.intsize_csec,
    },
    "parallel": {
        "px_statements_active": lambda row: row.avg_active_parallel_stmts,
        "px_servers_active": lambda row: row.avg_active_parallel_servers,
        "px_statements_queued": lambda row: row.avg_queued_parallel_stmts,
        "px_servers_limit": lambda row: row.parallel_servers_limit,
    },
}
"""The columns of a measure that the view has: means over an interval of about a minute, and the limits in force."""

KNOWN = tuple(_FIGURES)
"""The measures that the view has."""


class PastMinute(NamedTuple):
    """The rows of all groups for intervals that ended at `at`, by column; `named` are the headings of a wide file.

    `seconds` is the longest of the intervals.
    """

    at: datetime
    seconds: float
    rows: tuple[Mapping[str, Cell], ...]
    named: tuple[str, ...]


def empty_columns(measure: str, found: Sequence[PastMinute]) -> list[str]:
    """Return the columns of a measure that stay empty: the view does not have them, or not in this release."""
    filled = {figure.key for figure in COMMON} | {"inst_id", "con_id", "consumer_group", "limit_cpus"}
    filled |= {key for each in found for row in each.rows for key, value in row.items() if value is not None}
    return [key for key in MEASURES[measure].header() if key not in filled]


def past_minutes(snapshot: Snapshot, measure: str) -> Iterator[PastMinute]:
    """Yield the intervals of V$RSRCMGRMETRIC_HISTORY by END_TIME, oldest first, each with its groups."""
    database = next((row.name for row in snapshot.rows(Database)), "")
    known = [row for row in snapshot.rows(GroupMetricHistory) if row.end_time is not None and row.intsize_csec > 0]
    known.sort(key=attrgetter("end_time", "inst_id", "con_id", "consumer_group_name"))
    figures = dict(_FIGURES[measure])
    if len({row.inst_id for row in known}) > 1:  # in a cluster it is not documented whose servers the view counts
        figures.pop("px_servers_limit", None)
    for at, found in groupby(known, key=attrgetter("end_time")):
        rows = tuple(found)
        names = headings([(row.consumer_group_name, row.inst_id, row.con_id) for row in rows])
        seconds = max(row.intsize_csec for row in rows) / 100
        yield PastMinute(at, seconds, tuple(_cells(row, database, figures) for row in rows), tuple(names))


def _cells(row: GroupMetricHistory, database: str, figures: _Figures) -> Mapping[str, Cell]:
    return {
        "time": row.end_time,
        "database": database,
        "interval_s": row.intsize_csec / 100,
        "inst_id": row.inst_id,
        "con_id": row.con_id,
        "consumer_group": row.consumer_group_name,
        **{key: value(row) for key, value in figures.items()},
    }


def within(minutes: Sequence[PastMinute], start: datetime | None, end: datetime | None) -> list[PastMinute]:
    """Return the intervals that ended between two instants; None is an open end."""
    return [each for each in minutes if (start is None or each.at >= start) and (end is None or each.at <= end)]


Layout = Literal["tidy", "wide"]
TIME = "DATETIME"
"""The first heading of a wide file, as in presman 1.x."""


class CsvExport:
    """Appends readings to a CSV file or stream in whole lines, flushed after each reading.

    `column` picks the figure of a wide file (default: the measure's own); `as_json` writes tidy rows as JSON lines.
    Raises OutputError if the target cannot be written or has other columns (for a wide file only at the first `write`,
    because its columns are the groups of that reading); KeyError for an unknown measure or column.
    """

    def __init__(
        self,
        target: Path | TextIO,
        measure: str,
        layout: Layout = "tidy",
        *,
        column: str | None = None,
        as_json: bool = False,
        durable: bool = False,
        note: Note = lambda _line: None,
    ) -> None:
        self._rows = TidyRows(measure)
        self.detail_level = self._rows.measure.detail_level
        """The level of detail that each poll needs for the measure."""
        self._column = column or self._rows.measure.wide[0]
        if self._column not in self._rows.measure.wide:
            raise KeyError(self._column)
        self._as_json = as_json
        self._new = target if layout == "tidy" and isinstance(target, Path) and not target.exists() else None
        """The file if it is new and no poll has been answered yet."""
        self._tidy: Sink | None = None
        self._wide: WideCsv | None = None
        header = "" if as_json else lines([self._rows.names])
        continues = partial(has_names, names=self._rows.names) if as_json else None
        self._open = partial(open_sink, target, header, durable=durable, note=note, continues=continues)
        if layout == "wide":
            self._wide = WideCsv(target, durable=durable, note=note)
        elif isinstance(target, Path):  # reports another writer of the file at once
            self._tidy = self._open()

    def begin(self) -> None:
        """Note that a poll was answered, and write the line of names. Raises OutputError."""
        self._new = None
        if self._tidy is None and self._wide is None:
            self._tidy = self._open()

    def write(self, reading: Reading) -> int:
        """Append one reading and return the number of lines written. Raises OutputError.

        A reading with rows older than its time is left out: a file could not show their age.
        """
        if self._wide is not None:
            measure = self._rows.measure
            if any(each.age is not None for each in late_among(measure.figures, reading)):
                return 0
            self._wide.write(reading.at, measure.across(reading, self._column))
            return 1
        rows = self._rows.of(reading)
        self._append(rows)
        return len(rows)

    def write_past(self, minute: PastMinute) -> int:
        """Append a past minute and return the number of lines written. Raises OutputError."""
        if self._wide is not None:
            values = (row.get(self._column) for row in minute.rows)
            self._wide.write(minute.at, dict(zip(minute.named, values, strict=True)))
            return 1
        self._append([[row.get(name) for name in self._rows.names] for row in minute.rows])
        return len(minute.rows)

    @property
    def name(self) -> str:
        """The name of the output; of a wide file, its newest part."""
        sink = self._wide or self._tidy
        return sink.name if sink is not None else ""

    def close(self) -> None:
        """Append the statements that have not ended and close the file. Never raises.

        A new file is removed if no poll was answered.
        """
        if (rest := self._rows.rest()) and self._tidy is not None:
            with suppress(OutputError):
                self._append(rest)
        for sink in (self._tidy, self._wide):
            if sink is not None:
                sink.close()
        if self._new is not None:
            with suppress(OSError):
                self._new.unlink()

    def _append(self, rows: Sequence[Sequence[Cell]]) -> None:
        self.begin()
        assert self._tidy is not None
        self._tidy.write(json_lines(self._rows.names, rows) if self._as_json else lines(rows))


class WideCsv:
    """One line per poll, one column per heading. A new heading begins the next part: ``cpu-2.csv``.

    A stream keeps its first columns, because its reader takes only the first line for names: a new heading is left out
    and reported to `note`. Headings that disappear leave empty cells. Raises OutputError at once if the target cannot
    be written.
    """

    def __init__(self, target: Path | TextIO, *, durable: bool = False, note: Note = lambda _line: None) -> None:
        self._target = target
        self._note = note
        self._durable = durable
        self._headings: list[str] = []
        self._left_out: set[str] = set()
        self._sink: Sink | None = None
        self._part = 1
        if isinstance(target, Path):
            check_writable(target)

    @property
    def name(self) -> str:
        """The file that has the newest line."""
        return self._sink.name if self._sink is not None else str(self._target)

    def write(self, at: Cell, values: Mapping[str, Cell]) -> None:
        """Append one line. Raises OutputError."""
        new = [heading for heading in values if heading not in self._headings]
        if self._sink is None:
            self._headings = list(values)
            self._sink = open_sink(self._target, self._header(), durable=self._durable, note=self._note)
        elif new and isinstance(self._target, Path):
            self._headings += new
            self._next_part(self._target)
        elif lacking := [heading for heading in new if heading not in self._left_out]:
            self._left_out |= set(lacking)
            more = "with -o FILE a next part begins; --layout tidy has lines for them"
            self._note(f"{', '.join(lacking)}: new since the output began, so without a column ({more})")
        self._sink.write(lines([[at, *(values.get(heading) for heading in self._headings)]]))

    def _header(self) -> str:
        return lines([[TIME, *self._headings]])

    def _next_part(self, target: Path) -> None:
        assert self._sink is not None
        while True:
            self._part += 1
            path = target.with_name(f"{target.stem}-{self._part}{target.suffix}")
            if not path.exists():
                break
        opened = open_sink(path, self._header(), durable=self._durable, note=self._note)
        self._sink.close()
        self._sink = opened

    def close(self) -> None:
        """Close the file. Never raises."""
        if self._sink is not None:
            self._sink.close()


def open_sink(
    target: Path | TextIO, header: str, *, durable: bool, note: Note, continues: Callable[[str], bool] | None = None
) -> Sink:
    """Return `target` ready for lines below `header`. Raises OutputError.

    If there is no header, `continues` says by the first line whether an existing file has the same columns.
    """
    if isinstance(target, Path):
        return CsvFile(target, header, durable=durable, note=note, continues=continues)
    sink = TextSink(target)
    sink.write(header)
    return sink


# ---- Tidy rows: the values of a measure at each poll, one row for each group, statement or bucket.


class TidyRows:
    """Makes the rows of successive readings. Raises KeyError for an unknown measure."""

    def __init__(self, measure: str) -> None:
        self.measure = MEASURES[measure]
        self.names = self.measure.header()
        self._following = ArrivalTracker() if measure == "arrivals" else None
        self._last: Reading | None = None

    def of(self, reading: Reading) -> list[list[Cell]]:
        """Return the rows of a reading; none if they are older than its time, because a file cannot show their age."""
        if any(each.age is not None for each in late_among(self.measure.figures, reading)):
            return []
        followed = None if self._following is None else self._following.add(reading)
        self._last = reading
        return self.measure.tidy(reading, followed)

    def rest(self) -> list[list[Cell]]:
        """Return the rows of the statements that have not ended when the readings do."""
        if self._following is None or self._last is None:
            return []
        return self.measure.tidy(self._last, self._following.rest())
