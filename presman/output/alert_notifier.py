"""Alert notifier: the judgement of readings by thresholds and durations, and the command that is run at changes."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from msgspec.structs import replace

from presman import __version__
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.alerts.alert_settings import AlertSettings
from presman.analysis.alerts.judge import AlertChange, AlertChanges, Judge
from presman.analysis.goals import Goal
from presman.analysis.readings.reading import SEVERITY_WORDS, Alert, Reading
from presman.analysis.trends.goal_counts import GoalCounts
from presman.base import user_command
from presman.base.running_out import ran_out
from presman.rows.queries import DetailLevel


class AlertNotifier:
    """Judges each reading of one target, and has the command run for each change.

    Without a command nothing is run. With `only_once` there is a single reading, so no duration is known.
    `detail_level` is what the settings need from each poll.
    """

    def __init__(
        self,
        settings: AlertSettings,
        command: AlertCommand | None = None,
        goals: Sequence[Goal] = (),
        *,
        only_once: bool = False,
    ) -> None:
        has_latency = any(each.key == "latency" for each in settings)
        self.detail_level = DetailLevel.HISTOGRAMS if has_latency else DetailLevel.NARROW
        self._goals = GoalCounts(goals) if goals else None
        self._judge = Judge(settings, None) if only_once else Judge(settings)
        self._command = command
        self._reported = ""

    def read(self, reading: Reading) -> Reading:
        """Return the reading with its goals and alerts, and a note while the command fails."""
        found = self._judge.judge(reading if self._goals is None else self._goals.add(reading))
        if self._command is None:
            return found
        self._command.take(wrong(found), found)
        problem = self._command.problem
        return replace(found, notes=(*found.notes, f"on_alert {problem}")) if problem else found

    def look(self, reading: Reading) -> Reading:
        """Return a reading with its alerts judged, without a notification."""
        return self._judge.look(reading)

    def follow(self, reading: Reading) -> str:
        """Take a reading; return a problem of the command that was not returned before, "" for none."""
        self.read(reading)
        problem = self._command.problem if self._command is not None else ""
        new = problem if problem != self._reported else ""
        self._reported = problem
        return f"on_alert {new}" if new else ""

    def lost(self, text: str) -> None:
        """Note that the database cannot be reached."""
        if self._command is not None:
            self._command.lost(text, datetime.now(UTC))

    def close(self) -> None:
        """Finish the commands that are still to be run, within two seconds."""
        if self._command is not None:
            self._command.close()


def notifier_of(
    target: str, settings: AlertSettings, command: tuple[str, ...], goals: Sequence[Goal] = (), *, first_is_news: bool
) -> AlertNotifier | None:
    """Return the notifier for a target; None if config.ini has neither alerts nor goals.

    Without `first_is_news` the alerts of the first reading are not notified: a user sees them on the screen.
    """
    if not settings and not command and not goals:
        return None
    changes = AlertChanges() if first_is_news else AlertChanges(None)
    return AlertNotifier(settings, AlertCommand(command, target, changes) if command else None, goals)


# ---- Command that is run when an alert begins, gets worse or ends: `on_alert` of config.ini. Its arguments come from
# config.ini alone; data of a database goes to its standard input as JSON, never into an argument, and no shell is
# involved.

FORMAT = 1
"""The version of the event; it grows when a name changes its meaning or is removed."""

TIMEOUT = 10.0
"""Seconds that a command may take."""

MOST = 10
"""Commands that may run in a minute; further events are counted in `left_out` of the next one."""

MINUTE = 60.0
_WAITING = 100

NO_CONNECTION = "no_connection"
"""The key of the alert for a database that cannot be reached."""


def event(change: AlertChange, target: str, database: str, left_out: int) -> bytes:
    """Return a change as a line of JSON in ASCII, instants as ISO 8601 in UTC."""
    document = {
        "format": FORMAT,
        "presman": __version__,
        "change": change.change,
        "target": target,
        "database": database,
        "at": datetime.fromtimestamp(change.at, UTC).isoformat(),
        "since": datetime.fromtimestamp(change.since, UTC).isoformat(),
        "key": change.key,
        "severity": SEVERITY_WORDS.get(change.state, change.state),
        "subject": change.subject,
        "text": change.text,
        "left_out": left_out,
    }
    return json.dumps(document).encode() + b"\n"


def run(
    words: tuple[str, ...],
    data: bytes,
    timeout: float = TIMEOUT,
    begun: Callable[[subprocess.Popen[bytes]], object] = lambda _: None,
) -> str:
    """Run the command with `data` on its standard input; return what went wrong, "" if nothing did.

    `begun` is called with the process. If a signal ends presman meanwhile, the process and its children end with it.
    """
    try:
        process = user_command.start(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except (OSError, ValueError) as error:
        return f"{words[0]}: {getattr(error, 'strerror', None) or error}"
    begun(process)
    try:
        process.communicate(data, timeout)
    except subprocess.TimeoutExpired:
        return f"{words[0]}: did not end within {timeout:g} s and was killed"
    except BrokenPipeError:  # the command need not read its input
        process.wait()
    finally:
        user_command.end(process)
    code = process.returncode
    return f"{words[0]}: ended with code {code}" if code else ""


class AlertCommand:
    """Runs the command at changes, one after the other in a separate thread, at most MOST per minute.

    `target` is the name without secrets. `changes` remembers what was notified. `execute` runs a command with its input
    and returns what went wrong; `clock` is in seconds.
    """

    def __init__(
        self,
        words: tuple[str, ...],
        target: str,
        changes: AlertChanges,
        execute: Callable[[tuple[str, ...], bytes], str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._words = words
        self._target = target
        self._changes = changes
        self._execute = execute or (lambda words, data: run(words, data, begun=self._begun))
        self._over = False
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._recent: list[float] = []
        self._left_out = 0
        self._database = ""
        self._known: tuple[Alert, ...] = ()
        self._events: queue.Queue[bytes | None] = queue.Queue(_WAITING)
        self._begins = False
        self._has_ended = threading.Event()
        """The thread has ended. An event, because neither two callers nor a signal handler may join the thread."""
        self.problem = ""
        """What went wrong with the last command, "" if nothing did."""

    def take(self, alerts: Iterable[Alert], reading: Reading) -> None:
        """Take the alerts of a reading, and have the command run for each change."""
        self._database = reading.header.database
        self._known = tuple(alerts)
        self._report(self._changes.of(self._known, reading))

    def lost(self, text: str, at: datetime) -> None:
        """Report that the database cannot be reached; no alert ends because of that."""
        alert = Alert("bad", "✕", f"No connection: {text}", text, NO_CONNECTION)
        self._report(self._changes.take((*self._known, alert), at.timestamp(), whole=False))

    def close(self, seconds: float = 2.0) -> None:
        """Run the remaining commands up to a time limit; then end a command that still runs, with its children."""
        if self._begins:
            with suppress(queue.Full):
                self._events.put_nowait(None)
            has_ended = self._has_ended.wait(seconds)
            # Commands that still wait are not run any more.
            self._over = True
            if not has_ended and self._process is not None:
                user_command.kill(self._process)
                self._has_ended.wait(1.0)

    def _report(self, changes: list[AlertChange]) -> None:
        for change in changes:
            now = self._clock()
            self._recent = [each for each in self._recent if now - each < MINUTE]
            # A flood of changes must not start a process for each: the next event says how many were left out.
            if len(self._recent) >= MOST or self._events.full():
                self._left_out += 1
                continue
            try:
                self._start()
            except RuntimeError as error:
                self.problem = f"{self._words[0]}: {ran_out(error) or error}"
                self._left_out += 1
                continue
            self._recent.append(now)
            self._events.put_nowait(event(change, self._target, self._database, self._left_out))
            self._left_out = 0

    def _start(self) -> None:
        if not self._begins:
            threading.Thread(target=self._work, name="on_alert", daemon=True).start()
            self._begins = True

    def _work(self) -> None:
        try:
            while (data := self._events.get()) is not None and not self._over:
                self.problem = self._execute(self._words, data)
        finally:
            self._has_ended.set()

    def _begun(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
