"""Attention to alerts while readings come: thresholds and durations, and the command that is run at changes."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from presman.analysis.alerts.alert_changes import AlertChanges
from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.alerts.alert_settings import AlertSettings
from presman.analysis.alerts.judge import Judge
from presman.analysis.readings.reading import Reading
from presman.output.alert_command import AlertCommand
from presman.records.breadth import Breadth


class Attention:
    """Judges each reading of one target, and has the command run at what changed.

    `breadth` is what the settings need of each poll.
    """

    def __init__(self, judge: Judge, command: AlertCommand | None, breadth: Breadth = Breadth.NARROW) -> None:
        self.breadth = breadth
        self._judge = judge
        self._command = command
        self._told = ""

    def read(self, reading: Reading) -> Reading:
        """Return the reading with its alerts, and a note while the command fails."""
        found = self._judge.judge(reading)
        if self._command is None:
            return found
        self._command.take(wrong(found), found)
        problem = self._command.problem
        return replace(found, notes=(*found.notes, f"on_alert {problem}")) if problem else found

    def look(self, reading: Reading) -> Reading:
        """Return the beginning of a reading with its alerts; nothing is told of it."""
        return self._judge.look(reading)

    def follow(self, reading: Reading) -> str:
        """Take a reading; return a problem of the command that was not returned before, "" for none."""
        self.read(reading)
        problem = self._command.problem if self._command is not None else ""
        new = problem if problem != self._told else ""
        self._told = problem
        return f"on_alert {new}" if new else ""

    def lost(self, text: str) -> None:
        """Take it that the database cannot be reached."""
        if self._command is not None:
            self._command.lost(text, datetime.now(UTC))

    def close(self) -> None:
        """Have what is still to be run done, for two seconds at most."""
        if self._command is not None:
            self._command.close()


def attention_of(
    target: str, settings: AlertSettings, command: tuple[str, ...], *, first_is_news: bool
) -> Attention | None:
    """Return the attention for a target; None where config.ini says nothing of alerts.

    Where the first is no news, what is there at first is not told: somebody looks at it.
    """
    if not settings and not command:
        return None
    changes = AlertChanges() if first_is_news else AlertChanges(None)
    runs = AlertCommand(command, target, changes) if command else None
    return Attention(Judge(settings), runs, _breadth(settings))


def judging(settings: AlertSettings) -> Attention:
    """Return what judges and runs nothing."""
    return Attention(Judge(settings), None, _breadth(settings))


def glance_of(settings: AlertSettings) -> Attention | None:
    """Return the attention of who looks once: how long anything has lasted is not known, and nothing is run."""
    return Attention(Judge(settings, None), None, _breadth(settings)) if settings else None


def _breadth(settings: AlertSettings) -> Breadth:
    return Breadth.HISTOGRAMS if any(each.key == "latency" for each in settings) else Breadth.NARROW
