"""`presman export`: readings as CSV, JSON lines or Parquet, each written as it is taken."""

from __future__ import annotations

import time
from argparse import Namespace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from presman.analysis.readings.reading import Reading
from presman.base.errors import did_you_mean
from presman.base.formats import counted
from presman.base.log_event import LogEvent
from presman.base.measure_names import MEASURES
from presman.base.run_status import DatabaseStatus, reporting
from presman.cli import console, event_log, exit_codes
from presman.cli import parser as cli
from presman.cli.exit_codes import Failure
from presman.cli.output_file import MEASURED, output_path
from presman.cli.polling import FINITE, Polling, late_views
from presman.cli.settings import Resolved, load, resolve
from presman.figures.measures import MEASURES as EXPORTED
from presman.output.alert_notifier import AlertNotifier
from presman.output.csv_export import KNOWN, VIEW, CsvExport, PastMinute, empty_columns, past_minutes, within
from presman.recording.time_words import span_of, spelled_instant
from presman.rows.group_rows import GroupMetricHistory
from presman.rows.queries import DetailLevel
from presman.rows.snapshot import Snapshot

if TYPE_CHECKING:
    from presman.output.parquet_export import ParquetExport


def check_past(measure: str, name: str, options: Namespace) -> None:
    """Refuse a measure that the view does not have, and options about future polls. Raises Failure."""
    if measure not in KNOWN:
        raise Failure(f"{VIEW} does not have {measure} (only {', '.join(KNOWN)}); {recording_hint(name)}")
    if options.polls or options.duration or options.fsync:
        raise Failure("--from and --to export the past of a database: leave out --polls, --duration and --fsync")
    if options.format == "parquet":
        fitting = "--format csv or jsonl"
        raise Failure(f"--from of a database goes with {fitting}: its means per minute are not whole numbers")


def recording_hint(name: str) -> str:
    """Return the command that records these figures from now on, because no view keeps them."""
    file = "".join(each if each.isascii() and each.isalnum() else "-" for each in name).strip("-")
    return f"`presman record {name} -o {file}.presman` keeps them from now on"


def past_of(resolved: Resolved, measure: str, start: str, end: str) -> list[PastMinute]:
    """Return the minutes between two times ("" is open), at least one. Raises Failure, SourceError, TimeError."""
    ((_, snapshot),) = Polling(resolved).pairs(polls=1)
    minutes = _minutes(snapshot, measure)
    first, last = minutes[0].at, minutes[-1].at
    begins, ends = span_of(start, end, first, snapshot.at, note=console.note)
    if not (found := within(minutes, begins, ends)):
        raise Failure(f"{VIEW} has no rows for that time: it has {spelled_instant(first)} to {spelled_instant(last)}")
    if begins is not None and begins < first - timedelta(seconds=minutes[0].seconds):
        is_whole = snapshot.at - first > timedelta(minutes=58)
        why = "it keeps an hour" if is_whole else "why it has less than an hour is not known"
        console.note(f"{VIEW} begins at {spelled_instant(first)}: {why}")
    return found


def write_past(found: list[PastMinute], file: CsvExport, measure: str, name: str) -> None:
    """Write minutes and report the columns that stay empty. Raises OutputError."""
    try:
        for each in found:
            file.write_past(each)
    finally:
        file.close()
    lacking = ", ".join(empty_columns(measure, found))
    console.note(f"{VIEW} does not show these, so they are empty: {lacking}; {recording_hint(name)}")
    times = f"{spelled_instant(found[0].at)} to {spelled_instant(found[-1].at)}"
    console.note(f"{counted(len(found), 'interval')} of {measure}, {times}", "ended")


def _minutes(snapshot: Snapshot, measure: str) -> list[PastMinute]:
    """Return the minutes of the view, at least one. Raises Failure."""
    minutes = list(past_minutes(snapshot, measure))
    problem = snapshot.section(GroupMetricHistory).problem
    if not minutes and problem is not None:
        cure = f" {problem.cure}" if problem.cure else ""
        raise Failure(f"{problem}{cure}", exit_codes.SOURCE)
    if not minutes:
        raise Failure(f"{VIEW} has no row: no minute has passed since the instance was started, or no plan is active")
    return minutes


@cli.command(
    "Write each poll as CSV, JSON lines or Parquet. A rate needs two polls, so the first poll of a live database\n"
    "is not written; of a recording or a spool all are. If the file is there with the same columns, lines are\n"
    "added to it; a Parquet file appears when it is complete. With --from and --to, a live database gives cpu,\n"
    "session_io or parallel of the last hour: a line for each group and minute, from V$RSRCMGRMETRIC_HISTORY.",
    """\
  presman export prod --measure cpu -o cpu.csv
  presman export prod --measure queue --duration 15m --refresh 5 -o queue.csv
  presman export demo --measure cpu --layout wide --column throttled_percent --polls 5 -o -
  presman export spool:/tmp/spool --measure latency -o latency.csv
  presman export prod --from '1h ago' -o last-hour.csv
  presman export prod.presman --from 03:00 --measure queue --format parquet -o queue.parquet
  presman export prod --measure queue --format jsonl -o - | jq .sql_id""",
    "refresh scope packs start end",
)
def arguments(parser: cli.Parser) -> None:
    """Add the options of `presman export`."""
    cli.option(parser, "target TARGET", "what to read (default: the one in config.ini)", nargs="?")
    cli.option(parser, "--measure M", f"{', '.join(MEASURES)} (default cpu)", type=cli.measure)
    cli.choice(parser, "--layout L", "tidy (default): a line per group; wide: a column per group", "tidy", "wide")
    cli.option(parser, "--column C", "the figure in a wide file")
    formats = "csv (default), jsonl: JSON lines, parquet (pip install 'presman[parquet]')"
    cli.choice(parser, "--format F", formats, "csv", "jsonl", "parquet")
    cli.output(parser, "-o --output FILE", "where to write (default -: standard output)", default="-")
    cli.option(parser, "--polls N", "stop after N readings", type=cli.positive)
    cli.option(parser, "--duration S", "stop after S seconds (90, 15m, 2h)", type=cli.some_seconds)
    cli.option(parser, "--fsync", "wait for the disk at each poll")
    cli.add_log_options(parser)


def run(options: Namespace) -> None:
    """Export until stopped, and run the `on_alert` commands for alerts in the meantime.

    Raises OutputError as soon as the file cannot be written.
    """
    event_log.begin(options)
    # `resolve` refuses a time for a live database, whose last hour is exported in another way.
    (start, end), (options.start, options.end) = (options.start, options.end), (None, None)
    resolved = resolve(options.target, load(options), options)
    measure = options.measure or resolved.measure or "cpu"
    _check_column(measure, options.column, options.layout)
    if (start or end) and resolved.target.kind not in FINITE:
        check_past(measure, resolved.target.name, options)
        found = past_of(resolved, measure, start or "", end or "")
        file = _file(measure, options)
        assert isinstance(file, CsvExport)
        write_past(found, file, measure, resolved.target.name)
        return
    resolved = replace(resolved, target=resolved.target.within(None, start, end))
    to_file = options.output != "-"
    file = _file(measure, options)
    notifier = resolved.notifier(first_is_news=True) if resolved.on_alert else None
    begun = time.monotonic()
    needed = notifier.detail_level if notifier is not None else DetailLevel.NARROW
    polling = Polling(resolved, detail_level=EXPORTED[measure].detail_level | needed, with_forecasts=measure == "queue")
    export = _Export(resolved, polling, file, notifier)
    try:
        with reporting("export", file.name if to_file else "standard output", export.status, console.report):
            for came in polling.measured(polls=options.polls, duration=options.duration):
                export.take(came.snapshot, came.reading)
        file.begin()
    finally:
        file.close()
        if notifier is not None:
            notifier.close()
        if to_file and export.taken:
            seconds = time.monotonic() - begun
            console.note(f"{counted(export.taken, 'poll')} of {measure} in {file.name} ({seconds:.0f} s)", "ended")


def _file(measure: str, options: Namespace) -> CsvExport | ParquetExport:
    """Return the file or stream for the readings. Raises Failure, OutputError."""
    path = output_path(options.output, MEASURED[options.format]) if options.output != "-" else None
    if options.format != "csv" and options.layout != "tidy":
        raise Failure(f"--format {options.format} goes with --layout tidy")
    if options.format == "parquet":
        if path is None:
            raise Failure("--format parquet goes into a file: -o FILE.parquet")
        from presman.output.parquet_export import ParquetExport

        return ParquetExport(path, measure)
    return CsvExport(
        path or console.data(),
        measure,
        options.layout,
        column=options.column,
        as_json=options.format == "jsonl",
        durable=options.fsync,
        note=console.note,
    )


class _Export:
    """Writes each reading, reports what is unusual about it, and has the export's status."""

    def __init__(
        self, resolved: Resolved, polling: Polling, file: CsvExport | ParquetExport, notifier: AlertNotifier | None
    ) -> None:
        self.taken = 0
        self._resolved, self._polling, self._file = resolved, polling, file
        self._notifier = notifier
        self._late: list[str] = []
        self._last: datetime | None = None

    def take(self, snapshot: Snapshot, reading: Reading) -> None:
        """Write a reading. Raises OutputError."""
        before, self._late = self._late, late_views(snapshot)
        if self._late and self._late != before:
            console.note(f"no answer in time, left out: {', '.join(self._late)}", "late", "warning")
        if self._notifier is not None and (problem := self._notifier.follow(reading)):
            console.note(problem, "on_alert", "warning")
        name = self._file.name
        self._file.write(reading)
        self.taken += 1
        self._last = datetime.now(UTC)
        if self.taken > 1 and self._file.name != name:
            console.note(f"a new column: continued in {self._file.name}", "new_file")
        figures = {"poll": self.taken, "seconds": round(snapshot.seconds, 4), "round_trips": snapshot.round_trips}
        database = self._resolved.target.name
        console.report(LogEvent("polled", f"poll {self.taken} written", "debug", database, figures))

    def status(self) -> list[DatabaseStatus]:
        """Return the status of the export, for `presman status`."""
        name, every, polling = self._resolved.target.name, self._resolved.refresh, self._polling
        return [DatabaseStatus(name, every, self.taken, self._last, trouble=polling.trouble, next_try=polling.next_try)]


def _check_column(measure: str, column: str | None, layout: str) -> None:
    if column is None:
        return
    if layout != "wide":
        raise Failure("--column goes with --layout wide")
    known = EXPORTED[measure].wide
    if column not in known:
        raise Failure(f"--column: {measure} has no {column!r}, {did_you_mean(column, known)}")
