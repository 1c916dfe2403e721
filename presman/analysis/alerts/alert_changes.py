"""Changes of alerts from look to look: which began, grew worse or ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.alerts.judge import mark_of, marked
from presman.analysis.readings.alert import Alert

QUIET = 60.0
"""Seconds for which an alert must have been away to have ended: one that comes and goes is told once."""


UNTOLD = ""
"""Severity of an alert that was seen, but could not be told: it is at the next look."""


class Told(Struct, frozen=True):
    """An alert that was told: its worst severity since it began, when that was, when it was last seen, its text."""

    state: str
    since: float
    seen: float
    text: str = ""


class AlertChange(NamedTuple):
    """One change: `change` is began, worse or ended, `since` when the alert began (seconds since 1970)."""

    change: str
    key: str
    subject: str
    state: str
    text: str
    since: float


class AlertChanges:
    """Tells what changed. `told` is what the last look left, None to take what is there at first as known."""

    def __init__(self, told: Mapping[str, Told] | None = MappingProxyType({})) -> None:
        self.is_silent = told is None
        """Whether what comes next is taken as known."""
        self.told: dict[str, Told] = dict(told or {})

    def take(self, alerts: Iterable[Alert], at: float, *, whole: bool = True) -> list[AlertChange]:
        """Take the alerts of the next look and return the changes, the worst first.

        Where it is not `whole`, an alert that is not among them has not ended.
        """
        now = {mark_of(alert): alert for alert in alerts if alert.state in {"bad", "warn"}}
        changes = [change for place, alert in now.items() if (change := self._seen(place, alert, at)) is not None]
        for place, told in list(self.told.items()):
            if place not in now and whole and not 0 <= at - told.seen < QUIET:
                if told.state != UNTOLD:
                    changes.append(AlertChange("ended", *marked(place), told.state, told.text, told.since))
                del self.told[place]
        silent, self.is_silent = self.is_silent, False
        return [] if silent else sorted(changes, key=lambda change: change.state != "bad")

    def _seen(self, place: str, alert: Alert, at: float) -> AlertChange | None:
        before = self.told.get(place)
        since = at if before is None else before.since
        worse = before is not None and before.state == "warn" and alert.state == "bad"
        state = "bad" if before is not None and before.state == "bad" else alert.state
        self.told[place] = Told(state, since, at, alert.text)
        if before is not None and before.state != UNTOLD and not worse:
            return None
        return AlertChange("worse" if worse else "began", alert.key, alert.subject, alert.state, alert.text, since)


def put_back(told: Mapping[str, Told], changes: Iterable[AlertChange]) -> dict[str, Told]:
    """Return what was told without some changes, which could not be: the next look tells them."""
    kept = dict(told)
    for change in changes:
        place = mark_of(change)
        before = {"began": UNTOLD, "worse": "warn"}.get(change.change, change.state)
        seen = kept[place].seen if place in kept else change.since
        kept[place] = Told(before, change.since, seen, change.text)
    return kept
