"""Alert turns: that an alert began, grew worse, got better or ended, as people are told it, at once.

What programs are told is in :mod:`presman.analysis.alerts.judge`: an alert that comes and goes pages nobody twice.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.alerts.alert_rules import worst_first, wrong
from presman.analysis.alerts.judge import QUIET, mark_of, sees_all
from presman.analysis.readings.reading import SEVERITY_WORDS, Reading
from presman.base.formats import spelled

BEGAN, WORSE, BETTER, ENDED = "began", "worse", "better", "ended"
THERE = "there"
"""It was there when somebody began to watch: since when, no view tells."""

_STATES = ("", "warn", "bad")
_QUIET = timedelta(seconds=QUIET)
_COMES_AND_GOES = 2
"""Returns, each within a minute, from which on it is no news that it has gone once more."""


class AlertTurn(NamedTuple):
    """A turn that an alert took, in words; `at` is when it did, which may be before it is told."""

    at: datetime
    change: str
    text: str


class Turning(Struct):
    """An alert, or an outage of a view, from its beginning to its end.

    How severe it is told to be and is (in `_STATES`), the latter since when. It `fell` below what was told for the last
    time, and came `back`; after so many `returns`, each soon, the next fall must last to be told.
    """

    began: datetime
    since: datetime
    text: str = ""
    told: int = 0
    rank: int = 0
    fell: datetime | None = None
    back: datetime | None = None
    returns: int = 0
    comes_and_goes: bool = False

    def turn(self, rank: int, at: datetime) -> str:
        """Take how severe it is now; return what is to be told, "" for nothing."""
        before, self.rank, told = self.rank, rank, self.told
        if rank != before:
            self.since = at
        if before < rank >= told:
            self.returns = self.returns + 1 if self.fell is not None and at - self.fell < _QUIET else 0
            self.back = at
            self.comes_and_goes |= before == 0 < told
        elif rank < told <= before:
            self.fell = at
        if rank == told or (rank < told and self._may_be_back(at)):
            return ""
        self.told = rank
        if not told:
            self.began, self.comes_and_goes = at, False
            return BEGAN
        return ENDED if not rank else WORSE if rank > told else BETTER

    def _may_be_back(self, at: datetime) -> bool:
        """Whether it comes and goes within minutes, and has not been gone for long enough to be believed."""
        fell, back = self.fell, self.back
        if self.returns < _COMES_AND_GOES or fell is None or back is None:
            return False
        return fell - back < _QUIET and at - fell < _QUIET

    def words(self, change: str) -> str:
        """Return a turn in words."""
        if change == ENDED:
            long = f"{'on and off ' * self.comes_and_goes}for {spelled((self.since - self.began).total_seconds())}"
            return f"ended, seen {long}, last: {self.text}"
        turned = f"{change}, " if change in {WORSE, BETTER} else ""
        since = " (since before presman began)" if change == THERE else ""
        return f"{turned}{SEVERITY_WORDS[_STATES[self.rank]]}: {self.text}{since}"


class AlertTurns:
    """Finds the turns from reading to reading.

    `first` is the turn of those that are there before there are rates: without, half of the rules are silent.
    """

    def __init__(self, first: str = BEGAN) -> None:
        self._first = first
        self._courses: dict[str, Turning] = {}

    @property
    def is_any(self) -> bool:
        """Whether an alert has not ended, as far as is told."""
        return any(course.told for course in self._courses.values())

    def take(self, reading: Reading) -> list[AlertTurn]:
        """Return the turns of the next reading, the worst alert first; nothing lessens that could not be seen."""
        at, whole, found = reading.at, sees_all(reading), []
        now = {mark_of(each): each for each in reversed(worst_first(wrong(reading))) if each.state in _STATES}
        for mark in dict.fromkeys((*reversed(now), *self._courses)):
            course = self._courses.setdefault(mark, Turning(at, at))
            rank = _STATES.index(now[mark].state) if mark in now else 0
            if rank >= course.told or whole:
                course.text = now[mark].text if mark in now else course.text
                change = course.turn(rank, at)
                change = self._first if change == BEGAN else change
                found += [AlertTurn(course.since, change, course.words(change))] if change else []
        self._first = self._first if reading.interval is None else BEGAN
        self._courses = {mark: each for mark, each in self._courses.items() if each.told or at - each.since < _QUIET}
        return found
