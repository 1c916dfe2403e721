"""`presman check`: one line for Nagios, Icinga or cron, and an exit code of theirs."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

from presman.cli import console
from presman.cli.exit_codes import Failure
from presman.cli.parser import Parser, add_poll_times, command_parser, option

if TYPE_CHECKING:
    from presman.analysis.alerts.alert_settings import AlertSettings
    from presman.analysis.alerts.judge import AlertChange, ReportedAlert
    from presman.analysis.readings.reading import Reading
    from presman.cli.settings import Resolved

SHARE = 0.6
"""The part of the time that may go to the database; the rest is for starting, judging and telling."""

TELLING = 0.25
"""The part of the time that commands at alerts may take."""

UNKNOWN = 3


def arguments() -> Parser:
    """Return the parser of `presman check`."""
    parser = command_parser(
        "check",
        "A plug-in for Nagios, Icinga or cron: one line with performance data. It uses the same alerts as the monitor\n"
        "and `presman once`; set thresholds in config.ini, or here.",
        """\
  presman check prod
  presman check prod --warning queue_waits=5m --critical queue_waits=30m
  presman check prod --warning queue_waits:ETL=1h --critical 'latency:log file sync=50ms' -v
exit codes of check:
  0 OK: nothing is wrong, and the line names the views that show it   1 WARNING   2 CRITICAL
  3 UNKNOWN: something could not be seen, or nothing could be checked""",
        "scope packs at start end",
    )
    option(parser, "target TARGET", "what to check (default: the one in config.ini)", nargs="?")
    for name in ("warning", "critical"):
        words = f"amount from which an alert is {name}; `presman alerts` lists the keys"
        option(parser, f"--{name} KEY[:SUBJECT]=N", words, action="append", default=[])
    add_poll_times(parser, "give up with UNKNOWN after S seconds (default 30)")
    option(parser, "-v --verbose", "more lines: every alert, what to do, what was not seen")
    return parser


def run(options: Namespace) -> int:
    """Check one target. Every error is UNKNOWN: main() sees to that."""
    from presman.analysis.alerts.judge import groupless
    from presman.analysis.goals import NOT_BY_ONE_LOOK
    from presman.cli.polling import Polling
    from presman.cli.settings import load, resolve
    from presman.config.alert_lines import with_thresholds
    from presman.output.plugin_check import result

    with _ending_in_time(options.timeout):
        resolved = resolve(options.target, load(options), options)
        try:
            settings = with_thresholds(resolved.alerts, {"warning": options.warning, "critical": options.critical})
        except ValueError as error:
            raise Failure(str(error)) from None
        if options.interval >= SHARE * options.timeout:
            most = SHARE * options.timeout
            raise Failure(f"--interval {options.interval:g} must be below {most:g}, {SHARE:.0%} of --timeout")
        polling = Polling(resolved, timeout=SHARE * options.timeout - options.interval)
        came = polling.once(options.interval)
        if polling.unread:
            return complain(f"{came.reading.header.database or resolved.target.name}: {polling.unread}")
        reading, lacking, problems = _judged(
            came.reading, settings, resolved, TELLING * options.timeout, endless=polling.endless
        )
        for each, text in groupless(settings, reading).items():
            console.note(f"warning: alerts of {each.key}: {text}", "setting", "warning")
        if resolved.goals and not reading.goals:
            problems.append(f"not known: {NOT_BY_ONE_LOOK}")
        found = result(reading, settings, lacking, verbose=options.verbose)
        more = [*found.more, *problems] if options.verbose else []
        console.show("".join(f"{line}\n" for line in (found.line, *more)))
    return int(found.state)


def _judged(
    reading: Reading, settings: AlertSettings, resolved: Resolved, seconds: float, *, endless: bool
) -> tuple[Reading, tuple[str, ...], list[str]]:
    """Return the reading with its alerts, what could not be told, and problems of the state and of `on_alert`.

    Where no state can be kept, how long something lasts is not known: then it counts at once.
    Commands may take `seconds`.
    """
    from presman.analysis.alerts.judge import Judge

    stateful = endless and (bool(resolved.on_alert) or any(each.hold or each.clear is not None for each in settings))
    if not stateful:
        judge = Judge(settings, None)
        return judge.judge(reading), judge.unknown, []
    from presman.output.plugin_check import CheckState, state_of

    changes: list[AlertChange] = []
    problems: list[str] = []
    try:
        with state_of(resolved.target.name) as file:
            state = file.load()
            judge = Judge(settings, state.marks)
            judged = judge.judge(reading)
            reported, changes = _changed(judged, state.reported, resolved)
            file.save(CheckState(marks=dict(judge.marks or {}), reported=reported))
            problems += [f"note: {file.problem}"] if file.problem else []
    except OSError as error:
        judge = Judge(settings, None)
        judged, changes = judge.judge(reading), []
        reason = error.strerror or error
        problems.append(f"note: no state is kept ({reason}): alerts with for= count at once, on_alert is not run")
        console.note(problems[-1])
    problems += _notify(changes, judged, resolved, seconds)
    return judged, judge.unknown, problems


def _changed(
    reading: Reading, reported: dict[str, ReportedAlert], resolved: Resolved
) -> tuple[dict[str, ReportedAlert], list[AlertChange]]:
    """Return what is reported now, and what changed since the last run."""
    if not resolved.on_alert:
        return reported, []
    from presman.analysis.alerts.alert_rules import wrong
    from presman.analysis.alerts.judge import AlertChanges, sees_all

    changes = AlertChanges(reported)
    found = changes.take(wrong(reading), reading.at.timestamp(), whole=sees_all(reading))
    return changes.reported, found


def _notify(changes: Sequence[AlertChange], reading: Reading, resolved: Resolved, seconds: float) -> list[str]:
    """Run the command for each change within a time limit; changes left over are kept for the next run.

    What went wrong is said on standard error, once: the next command would fail in the same way, and take as long.
    """
    from presman.base.formats import counted
    from presman.output.alert_notifier import MOST, TIMEOUT, event
    from presman.output.alert_notifier import run as execute

    until, done, problem = time.monotonic() + seconds, 0, ""
    for change in changes[:MOST]:
        left = until - time.monotonic()
        data = event(change, resolved.target.name, reading.header.database, 0)
        problem = execute(resolved.on_alert, data, min(left, TIMEOUT)) if left > 0 else "the time is over"
        if problem:
            break
        done += 1
    if done == len(changes):
        return []
    _leave(changes[done:], resolved)
    note = f"note: on_alert {problem or f'runs {MOST} times at most'}; {done} of {counted(len(changes), 'event')} sent"
    note += ", the next check tries the rest"
    console.note(note)
    return [note]


def _leave(changes: Sequence[AlertChange], resolved: Resolved) -> None:
    """Have the next run tell what this one could not."""
    from msgspec.structs import replace

    from presman.analysis.alerts.judge import put_back
    from presman.output.plugin_check import state_of

    with suppress(OSError), state_of(resolved.target.name) as file:
        state = file.load()
        file.save(replace(state, reported=put_back(state.reported, changes)))


def _ending_in_time(seconds: float) -> AbstractContextManager[None]:
    """End presman as UNKNOWN after so many seconds, whatever hangs: whoever runs plug-ins kills those that do not."""

    from presman.cli.interruption import after

    def end() -> None:
        line = f"PRESMAN UNKNOWN - not done within {seconds:g} s, ended\n"
        os.write(sys.stdout.fileno(), line.encode())
        os._exit(UNKNOWN)

    return after(seconds, end)


def complain(line: str) -> int:
    """Say in the one line of a plug-in why nothing could be checked, and return its exit code."""
    from presman.output.plugin_check import unknown

    try:
        console.show(unknown(line).line + "\n")
    except (Failure, BrokenPipeError):
        console.abandon()
    return UNKNOWN
