"""Alert transitions: an alert began, grew worse, got better or ended; reported to people at once.

Reports to programs are in :mod:`presman.analysis.alerts.judge`: an alert that comes
and goes is not reported twice.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.alerts.alert_rules import worst_first, wrong
from presman.analysis.alerts.judge import QUIET, alert_id, is_complete, key_and_subject
from presman.analysis.alerts.rule_book import quiet_period_of
from presman.analysis.readings.reading import SEVERITY_WORDS, Reading
from presman.base.formats import duration

BEGAN, WORSE, BETTER, ENDED = "began", "worse", "better", "ended"
THERE = "there"
"""The alert existed when presman began to watch: no view shows since when."""

_STATES = ("", "warn", "bad")
_QUIET = timedelta(seconds=QUIET)
_COMES_AND_GOES = 2
"""Number of returns, each within a minute, from which another end is not reported."""


class AlertTransition(NamedTuple):
    """A transition of an alert, in words; `at` is when it happened, which may be before it is reported."""

    at: datetime
    change: str
    text: str


class ReportedState(Struct):
    """An alert, or an outage of a view, from its beginning to its end.

    `reported` is the severity reported last, `rank` the current one (indexes of `_STATES`), held since `since`. `fell`
    is when it last fell below the reported severity, `back` when it last came back. After several quick `returns`, the
    next fall is reported only if it lasts. A fall with a `quiet_period` of its own is reported only once that has
    passed. If the alert was gone after a gap between readings, `until` is the last reading that saw it.
    """

    began: datetime
    since: datetime
    text: str = ""
    reported: int = 0
    rank: int = 0
    fell: datetime | None = None
    back: datetime | None = None
    returns: int = 0
    comes_and_goes: bool = False
    quiet_period: float = 0.0
    until: datetime | None = None

    def update(self, rank: int, at: datetime, gap_since: datetime | None = None) -> str:
        """Set the current severity and return the change to report, "" for none.

        `gap_since` is the time of the reading before if this one follows a gap: the alert may have been gone in it.
        """
        before, self.rank, reported = self.rank, rank, self.reported
        if rank != before:
            self.since, self.until = at, gap_since
        self.comes_and_goes |= gap_since is not None and min(rank, before) > 0
        if before < rank >= reported:
            self.returns = self.returns + 1 if self.fell is not None and at - self.fell < _QUIET else 0
            self.back = at
            self.comes_and_goes |= before == 0 < reported
        elif rank < reported <= before:
            self.fell = at
        # A fall is reported late, if it may be short; a rise is reported at once.
        if rank == reported or (rank < reported and self._may_be_back(at)):
            return ""
        self.reported = rank
        if not reported:
            self.began, self.comes_and_goes = at, False
            return BEGAN
        return ENDED if not rank else WORSE if rank > reported else BETTER

    def _may_be_back(self, at: datetime) -> bool:
        """Whether it comes and goes within minutes, and has not been gone long enough to count as ended."""
        fell, back = self.fell, self.back
        if fell is not None and (at - fell).total_seconds() < self.quiet_period:
            return True
        if self.returns < _COMES_AND_GOES or fell is None or back is None:
            return False
        return fell - back < _QUIET and at - fell < _QUIET

    def words(self, change: str) -> str:
        """Return a transition in words."""
        if change == ENDED:
            seen = ((self.until or self.since) - self.began).total_seconds()
            long = f"{'on and off ' * self.comes_and_goes}for {duration(seen)}"
            unseen = f"ended {'in the time without polls' * (self.until is not None)}".rstrip()
            return f"{unseen}, seen {long}, last: {self.text}"
        turned = f"{change}, " if change in {WORSE, BETTER} else ""
        since = " (since before presman began)" if change == THERE else ""
        return f"{turned}{SEVERITY_WORDS[_STATES[self.rank]]}: {self.text}{since}"


class AlertTransitions:
    """Finds the transitions from reading to reading.

    `first` is the transition of alerts found before there are rates: without rates, half of the rules find nothing.
    """

    def __init__(self, first: str = BEGAN) -> None:
        self._first = first
        self._courses: dict[str, ReportedState] = {}

    @property
    def is_any(self) -> bool:
        """Whether an alert was reported and has not ended."""
        return any(course.reported for course in self._courses.values())

    def take(self, reading: Reading, gap_since: datetime | None = None) -> list[AlertTransition]:
        """Return the transitions of the next reading, worst alert first; an unchecked alert does not get better.

        `gap_since` is the time of the reading before if this one follows a gap.
        """
        at, whole, found = reading.at, is_complete(reading), []
        # Reversed, so that of several alerts with one mark the worst remains.
        now = {alert_id(each): each for each in reversed(worst_first(wrong(reading))) if each.state in _STATES}
        for mark in dict.fromkeys((*reversed(now), *self._courses)):
            key, _ = key_and_subject(mark)
            course = self._courses.setdefault(mark, ReportedState(at, at, quiet_period=quiet_period_of(key)))
            rank = _STATES.index(now[mark].state) if mark in now else 0
            if rank >= course.reported or whole:
                is_new = mark in now and not (course.text and now[mark].unchecked)
                course.text = now[mark].text if is_new else course.text
                change = course.update(rank, at, gap_since)
                change = self._first if change == BEGAN else change
                found += [AlertTransition(course.since, change, course.words(change))] if change else []
        self._first = self._first if reading.interval is None else BEGAN
        self._courses = {
            mark: each for mark, each in self._courses.items() if each.reported or at - each.since < _QUIET
        }
        return found
