"""`presman export`: readings to CSV, JSON lines or Parquet, each as it is taken."""

from __future__ import annotations

import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from presman.base.formats import counted
from presman.base.suggest import did_you_mean
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.polling import Polling, late_views
from presman.cli.settings import load, resolve
from presman.output.attention import attention_of
from presman.output.csv_export import MEASURES, CsvExport
from presman.records.breadth import Breadth, of_measure

if TYPE_CHECKING:
    from presman.output.parquet_export import ParquetExport


def run(options: Namespace) -> int:
    """Export until told to stop, and run `on_alert` at what happens meanwhile.

    Raises OutputError as soon as the file cannot be written.
    """
    resolved = resolve(options.target, load(options), options)
    measure = options.measure or resolved.measure or "cpu"
    _check_column(measure, options)
    to_file = options.output != "-"
    file = _file(measure, options)
    attention = None
    if resolved.on_alert:
        attention = attention_of(resolved.target.name, resolved.alerts, resolved.on_alert, first_is_news=True)
    taken, late = 0, list[str]()
    begun = time.monotonic()
    try:
        needed = attention.breadth if attention is not None else Breadth.NARROW
        polling = Polling(resolved, breadth=of_measure(measure) | needed)
        for snapshot, reading in polling.measured(polls=options.polls, duration=options.duration):
            before, late = late, late_views(snapshot)
            if late and late != before:
                console.say(f"no answer in time, left out: {', '.join(late)}")
            if attention is not None and (problem := attention.follow(reading)):
                console.say(problem)
            name = file.name
            file.write(reading)
            taken += 1
            if taken > 1 and file.name != name:
                console.say(f"a new column: continued in {file.name}")
    finally:
        file.close()
        if attention is not None:
            attention.close()
        if to_file and taken:
            seconds = time.monotonic() - begun
            console.say(f"{counted(taken, 'poll')} of {measure} in {file.name} ({seconds:.0f} s)")
    return exit_codes.OK


def _file(measure: str, options: Namespace) -> CsvExport | ParquetExport:
    """Return where readings go. Raises Failure, OutputError."""
    path = Path(options.output) if options.output != "-" else None
    if options.format != "csv" and options.layout != "tidy":
        raise Failure(f"--format {options.format} goes with --layout tidy")
    if options.format == "parquet":
        if path is None:
            raise Failure("--format parquet goes into a file: -o FILE.parquet")
        from presman.output.parquet_export import ParquetExport

        return ParquetExport(path, measure)
    return CsvExport(
        path or console.data(), measure, options.layout, column=options.column, as_json=options.format == "jsonl",
        durable=options.fsync, tell=console.say,
    )  # fmt: skip


def _check_column(measure: str, options: Namespace) -> None:
    if options.column is None:
        return
    if options.layout != "wide":
        raise Failure("--column goes with --layout wide")
    known = MEASURES[measure].wide
    if options.column not in known:
        raise Failure(f"--column: {measure} has no {options.column!r}, {did_you_mean(options.column, known)}")
