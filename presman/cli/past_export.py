"""`presman export --from` of a live database: the last hour, as the database itself has kept it."""

from __future__ import annotations

from argparse import Namespace
from datetime import timedelta

from presman.base.formats import counted
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.polling import Polling
from presman.cli.settings import Resolved
from presman.output.csv_export import CsvExport
from presman.output.past_minutes import KNOWN, VIEW, PastMinute, past_minutes, untold, within
from presman.recording.time_words import span_of, spelled_instant
from presman.records.group_rows import GroupMetricHistory
from presman.records.snapshot import Snapshot


def check(measure: str, name: str, options: Namespace) -> None:
    """Refuse what the view cannot tell, and options that are about the polls to come. Raises Failure."""
    if measure not in KNOWN:
        raise Failure(f"{VIEW} does not have {measure} (only {', '.join(KNOWN)}); {recording(name)}")
    if options.polls or options.duration or options.fsync:
        raise Failure("--from and --to export the past of a database: leave out --polls, --duration and --fsync")
    if options.format == "parquet":
        raise Failure(
            "--from of a database goes with --format csv or jsonl: its means per minute are not whole numbers"
        )


def recording(name: str) -> str:
    """Return which command keeps what no view tells of the past."""
    file = "".join(each if each.isascii() and each.isalnum() else "-" for each in name).strip("-")
    return f"`presman record {name} -o {file}.presman` keeps them from now on"


def past_of(resolved: Resolved, measure: str, start: str, end: str) -> list[PastMinute]:
    """Return the minutes between two times ("" is open), at least one. Raises Failure, SourceError, TimeError."""
    (snapshot,) = Polling(resolved).snapshots(polls=1)
    minutes = _minutes(snapshot, measure)
    first, last = minutes[0].at, minutes[-1].at
    begins, ends = span_of(start, end, first, snapshot.at, tell=console.say)
    found = within(minutes, begins, ends)
    if not found:
        raise Failure(f"{VIEW} has no rows for that time: it has {spelled_instant(first)} to {spelled_instant(last)}")
    if begins is not None and begins < first - timedelta(seconds=minutes[0].seconds):
        console.say(f"{VIEW} begins at {spelled_instant(first)}")
    return found


def write_past(found: list[PastMinute], file: CsvExport, measure: str, name: str) -> int:
    """Write minutes, and say which columns stay empty. Raises OutputError."""
    try:
        for each in found:
            file.write_past(each)
    finally:
        file.close()
    console.say(f"empty, as they are not in {VIEW}: {', '.join(untold(measure))}; {recording(name)}")
    times = f"{spelled_instant(found[0].at)} to {spelled_instant(found[-1].at)}"
    console.say(f"{counted(len(found), 'interval')} of {measure}, {times}", "ended")
    return exit_codes.OK


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
