"""`presman check`: one line for Nagios, Icinga or cron, and an exit code of theirs."""

from __future__ import annotations

import os
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure

if TYPE_CHECKING:
    from presman.analysis.alerts.alert_changes import Told
    from presman.analysis.alerts.alert_settings import AlertSettings
    from presman.analysis.readings.reading import Reading
    from presman.cli.settings import Resolved

SHARE = 0.6
"""The part of the time that may go to the database; the rest is for starting, judging and telling."""

TELLING = 0.25
"""The part of the time that commands at alerts may take."""

UNKNOWN = 3


def run(options: Namespace) -> int:
    """Check one target. Every error is UNKNOWN: main() sees to that."""
    from presman.cli.polling import Polling
    from presman.cli.settings import load, resolve
    from presman.config.alert_lines import with_thresholds
    from presman.output.plugin_line import result

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
        _, _, reading = polling.once(options.interval)
        reading, lacking, problems = _judged(
            reading, settings, resolved, TELLING * options.timeout, endless=polling.endless
        )
        found = result(reading, settings, lacking)
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
    from presman.output.check_state import CheckState, state_of

    changes: list[bytes] = []
    problems: list[str] = []
    try:
        with state_of(resolved.target.name) as file:
            state = file.load()
            judge = Judge(settings, state.marks)
            judged = judge.judge(reading)
            told, changes = _changed(judged, state.told, resolved)
            file.save(CheckState(marks=dict(judge.marks or {}), told=told))
            problems += [f"note: {file.problem}"] if file.problem else []
    except OSError as error:
        judge = Judge(settings, None)
        judged, changes = judge.judge(reading), []
        reason = error.strerror or error
        problems.append(f"note: no state is kept ({reason}): what must last counts at once, on_alert is not run")
        console.say(problems[-1])
    problems += _notify(changes, resolved.on_alert, seconds)
    return judged, judge.unknown, problems


def _changed(reading: Reading, told: dict[str, Told], resolved: Resolved) -> tuple[dict[str, Told], list[bytes]]:
    """Return what is told now, and the events of what changed since the last run."""
    if not resolved.on_alert:
        return told, []
    from presman.analysis.alerts.alert_changes import AlertChanges
    from presman.analysis.alerts.alert_rules import wrong
    from presman.analysis.alerts.judge import sees_all
    from presman.output.alert_command import MOST, event

    changes = AlertChanges(told)
    found = changes.take(wrong(reading), reading.at.timestamp(), whole=sees_all(reading))
    over = max(0, len(found) - MOST)
    name, database = resolved.target.name, reading.header.database
    return changes.told, [event(each, name, database, reading.at, over) for each in found[:MOST]]


def _notify(events: Sequence[bytes], words: tuple[str, ...], seconds: float) -> list[str]:
    """Run the command for each event, in so many seconds at most, and say on standard error what went wrong, once."""
    from presman.base.formats import counted
    from presman.output.alert_command import TIMEOUT
    from presman.output.alert_command import run as execute

    until = time.monotonic() + seconds
    for number, data in enumerate(events):
        left = until - time.monotonic()
        problem = execute(words, data, min(left, TIMEOUT)) if left > 0 else "the time is over"
        if problem:  # the next would fail in the same way, and take as long
            told = f"note: on_alert {problem}; {number} of {counted(len(events), 'event')} told"
            console.say(told)
            return [told]
    return []


@contextmanager
def _ending_in_time(seconds: float) -> Iterator[None]:
    """End presman as UNKNOWN after so many seconds, whatever hangs: whoever runs plug-ins kills those that do not."""

    def end() -> None:
        line = f"PRESMAN UNKNOWN - not done within {seconds:g} s, ended\n"
        os.write(sys.stdout.fileno(), line.encode())
        os._exit(UNKNOWN)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def complain(line: str) -> int:
    """Say in the one line of a plug-in why nothing could be checked, and return its exit code."""
    from presman.output.plugin_line import unknown

    try:
        console.show(unknown(line).line + "\n")
    except (Failure, BrokenPipeError):
        console.abandon()
    return UNKNOWN


def rules(options: Namespace) -> int:
    """List the rules; with a target their state, and why."""
    from presman.analysis.alerts.judge import Judge
    from presman.cli.polling import Polling, late_views
    from presman.cli.settings import load, resolve
    from presman.output.alert_list import listed

    config = load(options)
    if options.target is None:
        console.show(listed(config.defaults.alerts or (), None, ()))
        return exit_codes.OK
    resolved = resolve(options.target, config, options)
    previous, snapshot, found = Polling(resolved, timeout=options.timeout).once(options.interval)
    judge = Judge(resolved.alerts, None)
    reading = judge.judge(found)
    console.show(listed(resolved.alerts, reading, judge.unknown))
    return exit_codes.PARTIAL if late_views(previous, snapshot) else exit_codes.OK
