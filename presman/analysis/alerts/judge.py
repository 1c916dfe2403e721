"""Judge of alerts: the results of the rules under the thresholds, durations and severities of config.ini.

It also reports which alerts began, grew worse or ended from one check to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.alerts.alert_rules import by_rules
from presman.analysis.alerts.alert_settings import AlertSetting, AlertSettings, setting_for
from presman.analysis.alerts.rule_book import RULE_BOOK, asked, dated, quiet_period_of
from presman.analysis.alerts.unchecked import unchecked
from presman.analysis.readings.reading import Alert, Reading, Severity, UncheckedAlert
from presman.base.errors import nearest
from presman.base.formats import duration

GAP = 900.0
"""Seconds without a reading after which a duration starts from zero: changes in between are not known."""

_GLYPHS: Mapping[str, str] = MappingProxyType({"bad": "✕", "warn": "▲", "note": "·"})


class AlertTimes(Struct, frozen=True):
    """When an alert became a warning or worse, when critical (seconds since 1970, or None), and when last seen."""

    warn: float | None = None
    bad: float | None = None
    seen: float = 0.0


Marks = Mapping[str, AlertTimes]
"""By :func:`alert_id`."""


def alert_id(each: Alert | AlertChange) -> str:
    """Return the string that identifies an alert from poll to poll."""
    return f"{each.key}\t{each.subject}"


def key_and_subject(mark: str) -> tuple[str, str]:
    """Return key and subject from the string that :func:`alert_id` returned."""
    key, _, subject = mark.partition("\t")
    return key, subject


def is_complete(reading: Reading) -> bool:
    """Return whether alerts missing from a reading are really absent: all views answered, and there are rates."""
    return not reading.late and reading.stale == 0.0 and reading.interval is not None


def judged(
    reading: Reading, settings: AlertSettings, before: Marks | None, kept: Iterable[UncheckedAlert] = ()
) -> tuple[tuple[Alert, ...], tuple[str, ...], Marks]:
    """Return the alerts of a reading under the settings, the rules that could not be checked, and the new marks.

    `before` are the marks of the previous check. If it is None, durations are not known, and alerts that must last
    count at once. `kept` are alerts of rules of config.ini that earlier readings had and this one cannot check.
    """
    at = reading.at.timestamp()
    answers = asked(reading, settings)
    found = [*by_rules(reading), *(dated(alert, reading) for answer in answers for alert in answer.alerts)]
    found += [each.shown(reading.at) for each in kept]
    marks: dict[str, AlertTimes] = {}
    shown: list[Alert] = []
    for alert in found:
        setting = setting_for(settings, alert.key, alert.subject)
        old = _recent((before or {}).get(alert_id(alert)), at, setting)
        graded = _graded(alert, setting, old)
        if graded is None:
            continue
        mark = _marked(graded, old, at)
        if mark.warn is not None:
            marks[alert_id(alert)] = mark
        shown.append(_lasting(graded, setting, mark, at) if before is not None else graded)
    if not is_complete(reading):  # an alert that could not be checked may still exist
        marks = {**{key: mark for key, mark in (before or {}).items() if at - mark.seen < GAP}, **marks}
    return tuple(shown), tuple(answer.unknown for answer in answers if answer.unknown), marks


def _recent(mark: AlertTimes | None, at: float, setting: AlertSetting) -> AlertTimes:
    """Return a mark that is still valid: not one from before a gap, or from the future."""
    if mark is None or not 0 <= at - mark.seen < max(GAP, 2 * (setting.hold or 0.0)):
        return AlertTimes()
    return mark


def _graded(alert: Alert, setting: AlertSetting, old: AlertTimes) -> Alert | None:
    """Return an alert with the severity for its amount, None if it is not wanted."""
    if setting.severity == "off":
        return None
    if setting.severity is not None:
        return _as(alert, setting.severity)  # type: ignore[arg-type]  # "off" was handled above
    if not setting.has_thresholds or alert.amount is None:
        return None if RULE_BOOK[alert.key].is_amount else alert
    warning, critical = setting.limits(was_warning=old.warn is not None, was_critical=old.bad is not None)
    # Without critical= the rule decides what is critical.
    if alert.state == "bad" if critical is None else alert.amount >= critical:
        return _as(alert, "bad")
    if warning is not None and alert.amount >= warning:
        return _as(alert, "warn")
    stays = setting.warning is None and alert.state in {"bad", "warn"}  # critical= alone leaves warnings as they are
    return None if RULE_BOOK[alert.key].is_amount else _as(alert, "warn" if stays else "note")


def _as(alert: Alert, state: Severity) -> Alert:
    """Return an alert with another severity; a glyph that shows its kind stays."""
    if alert.state == state:
        return alert
    return alert._replace(state=state, glyph=_GLYPHS[state] if alert.glyph in _GLYPHS.values() else alert.glyph)


def _marked(alert: Alert, old: AlertTimes, at: float) -> AlertTimes:
    """Return the mark with the times since when the alert has its severity."""
    if alert.state not in {"bad", "warn"}:
        return AlertTimes(seen=at)
    warn = at if old.warn is None else old.warn
    bad = None if alert.state != "bad" else at if old.bad is None else old.bad
    return AlertTimes(warn, bad, at)


def _lasting(alert: Alert, setting: AlertSetting, mark: AlertTimes, at: float) -> Alert:
    """Return an alert with the severity that has lasted long enough; before that it is a note that says so."""
    hold = setting.hold or 0.0
    if not hold or alert.state not in {"bad", "warn"}:
        return alert
    if mark.bad is not None and at - mark.bad >= hold:
        return alert
    # A critical state that is too young may have been a warning for long enough.
    since = at - (mark.warn if mark.warn is not None else at)
    if since >= hold:
        return _as(alert, "warn")
    note = f" (for {duration(since)}; an alert after {duration(hold)})"
    return _as(alert._replace(words=alert.words + note, brief=alert.brief + note), "note")


def groupless(settings: AlertSettings, reading: Reading) -> dict[AlertSetting, str]:
    """Return the settings for a consumer group that is neither defined nor in force, each with a sentence about it.

    Empty if no view shows the defined groups. Groups of other containers are left out, because no view shows their
    definitions; rules that must be enabled report it themselves.
    """
    if reading.group_names is None:
        return {}
    known = {*reading.group_names, *(group.title for group in reading.cluster_groups())}
    folded = {name.casefold() for name in known}  # config.ini may name a group in any case
    found = {}
    for each in settings:
        rule = RULE_BOOK[each.key]
        is_judged = rule.subject == "group" and not rule.is_amount
        if is_judged and each.subject and " (" not in each.subject and each.subject.casefold() not in folded:
            near = nearest(each.subject, sorted(known))
            found[each] = f"there is no group {each.subject}" + (f", did you mean {near}?" if near else "")
    return found


class Judge:
    """Judges one reading after the other, and remembers how long each alert has lasted."""

    def __init__(self, settings: AlertSettings, marks: Marks | None = MappingProxyType({})) -> None:
        self._settings = settings
        self.marks = marks
        """Marks of the alerts; None if their durations cannot be known."""
        self.unknown: tuple[str, ...] = ()
        """Rules that config.ini asks for and that could not be checked in the latest reading."""
        self._before: Reading | None = None
        self._kept: tuple[UncheckedAlert, ...] = ()

    def look(self, reading: Reading) -> Reading:
        """Return the first part of a reading with its alerts, without remembering it."""
        return replace(reading, alerts=judged(reading, self._settings, self.marks)[0]) if self._settings else reading

    def judge(self, reading: Reading) -> Reading:
        """Return the reading with its alerts; unchanged without settings."""
        if not self._settings:
            return reading
        self._kept, self._before = self._unchecked(reading), reading
        alerts, self.unknown, marks = judged(reading, self._settings, self.marks, self._kept)
        if self.marks is not None:
            self.marks = marks
        notes = [f"Not known: {each}." for each in self.unknown]
        notes += [f"Alerts of {each.key}: {text}" for each, text in groupless(self._settings, reading).items()]
        return replace(reading, alerts=alerts, notes=(*reading.notes, *notes))

    def _unchecked(self, reading: Reading) -> tuple[UncheckedAlert, ...]:
        """Return the alerts of rules of config.ini that the readings before had, and that this one cannot check."""
        before = self._before
        if before is None or not (reading.unseen or reading.lacks_values() or self._kept):
            return ()
        answers = (asked(each, self._settings) for each in (before, reading))
        then, now = ([alert for answer in each for alert in answer.alerts] for each in answers)
        return unchecked(before, reading, (then, now), self._kept)


QUIET = 60.0
"""Seconds for which an alert must be absent to have ended: one that comes and goes is reported once."""


UNREPORTED = ""
"""Severity of an alert that was seen but could not be reported: the next check reports it."""


class ReportedAlert(Struct, frozen=True):
    """An alert that was reported: its worst severity since it began, when it began, when it was last seen, its text.

    `left` is the first check without it, None while it is there.
    """

    state: str
    since: float
    seen: float
    text: str = ""
    left: float | None = None


class AlertChange(NamedTuple):
    """One change at an instant (in seconds since 1970): began, worse or ended; `since` is when the alert began."""

    change: str
    key: str
    subject: str
    state: str
    text: str
    since: float
    at: float


class AlertChanges:
    """Finds the changes. `reported` is the state after the last check, None to report no alerts that exist at first."""

    def __init__(self, reported: Mapping[str, ReportedAlert] | None = MappingProxyType({})) -> None:
        self.is_silent = reported is None
        """Whether the next alerts are not reported."""
        self.reported: dict[str, ReportedAlert] = dict(reported or {})

    def of(self, alerts: Iterable[Alert], reading: Reading) -> list[AlertChange]:
        """Take the alerts of the next reading. Those that exist at first are complete only once there are rates."""
        whole = is_complete(reading)
        return [] if self.is_silent and not whole else self.take(alerts, reading.at.timestamp(), whole=whole)

    def take(self, alerts: Iterable[Alert], at: float, *, whole: bool = True) -> list[AlertChange]:
        """Take the alerts of the next check and return the changes, worst first.

        If it is not `whole`, an alert that is missing has not ended.
        """
        now = {alert_id(alert): alert for alert in alerts if alert.state in {"bad", "warn"}}
        changes = [change for mark, alert in now.items() if (change := self._changed(mark, alert, at)) is not None]
        for mark in [each for each in self.reported if each not in now] if whole else ():
            # It ends only after a while without it: an alert that comes and goes is one alert.
            before, (key, subject) = self.reported[mark], key_and_subject(mark)
            left = at if before.left is None else before.left
            self.reported[mark] = replace(before, left=left)
            if not 0 <= at - before.seen < max(QUIET, quiet_period_of(key)):
                if before.state != UNREPORTED:
                    changes.append(AlertChange("ended", key, subject, before.state, before.text, before.since, left))
                del self.reported[mark]
        silent, self.is_silent = self.is_silent, False
        return [] if silent else sorted(changes, key=lambda change: change.state != "bad")

    def _changed(self, mark: str, alert: Alert, at: float) -> AlertChange | None:
        before = self.reported.get(mark)
        since = at if before is None else before.since
        worse = before is not None and before.state == "warn" and alert.state == "bad"
        # The worst severity since it began: one that falls and rises again is not reported as worse twice.
        state = "bad" if before is not None and before.state == "bad" else alert.state
        # An alert that cannot be checked keeps the text of when it was last seen: its end is reported with that.
        self.reported[mark] = ReportedAlert(state, since, at, before.text if before and alert.unchecked else alert.text)
        if before is not None and before.state != UNREPORTED and not worse:
            return None
        return AlertChange("worse" if worse else "began", alert.key, alert.subject, alert.state, alert.text, since, at)


def put_back(reported: Mapping[str, ReportedAlert], changes: Iterable[AlertChange]) -> dict[str, ReportedAlert]:
    """Return the reported alerts without changes that could not be reported: the next check reports them."""
    kept = dict(reported)
    for change in changes:
        mark = alert_id(change)
        # The severity as it was before the change, so that the next check finds the same change again.
        before = {"began": UNREPORTED, "worse": "warn"}.get(change.change, change.state)
        seen, left = (kept[mark].seen, None) if mark in kept else (change.since, change.at)
        kept[mark] = ReportedAlert(before, change.since, seen, change.text, left)
    return kept
