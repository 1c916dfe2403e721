"""Steady step: the step of DO from reading to reading, for screens and for commands that print lines.

Queues change from poll to poll. With each new head DO would name another session that a DBA could decide to end. So DO
names a session for a decision only once its subject has been the same for a while. A step that no longer applies
disappears at once: each step belongs to the reading on screen, never to an earlier one. Ends that are proven to help
and need no decision are shown at once. So is the first step after a time without any.
"""

import re
from datetime import datetime
from typing import NamedTuple

from presman.analysis.advice.step import ToDo
from presman.analysis.advice.to_do import to_do, to_do_for_now
from presman.analysis.readings.reading import Reading

MARGIN = 20.0
"""Seconds for which the subject of DO must stay the same before it names a session for a decision."""

About = tuple[object, ...]


class SteadyNow(NamedTuple):
    """The step, its subject (`about`), and whether the advice has `held` for a while or is the first one.

    `decides` are the sessions that the step names for a decision.
    """

    step: ToDo | None
    about: About | None
    held: bool
    decides: frozenset[str]


class _Lasting:
    """A part of a step that is watched for changes, and since when it has been the same; None if no step was before."""

    def __init__(self) -> None:
        self.value: object = None
        self._since: datetime | None = None

    def holds(self, value: object, at: datetime, *, is_first: bool) -> bool:
        """Take the value at an instant, and return whether it has been the same for a while."""
        if value != self.value:
            self.value, self._since = value, None if is_first else at
        return self._since is None or (at - self._since).total_seconds() >= MARGIN


class SteadyStep:
    """Follows the step of one database; the same reading may be taken again."""

    def __init__(self) -> None:
        self._about, self._named = _Lasting(), _Lasting()
        self._at: datetime | None = None
        self._has_rates = False

    def take(self, reading: Reading) -> SteadyNow:
        """Return the step for a reading, given those before it; that of an earlier reading is not changed."""
        step, for_now = to_do(reading), to_do_for_now(reading)
        if self._at is not None and reading.at < self._at:
            return _now(step, reading, held=True)
        # Without rates half of the rules are silent, so the alerts that the first reading with rates adds are no
        # change.
        is_first = self._about.value is None or not self._has_rates
        held = self._about.holds(_about(step, reading), reading.at, is_first=is_first)
        if not self._named.holds(_named(step, for_now, reading), reading.at, is_first=is_first):
            step = for_now
        self._at, self._has_rates = reading.at, self._has_rates or reading.interval is not None
        return _now(step, reading, held=held)


def _now(step: ToDo | None, reading: Reading, *, held: bool) -> SteadyNow:
    return SteadyNow(step, _about(step, reading), held, _decides(step, reading))


def _decides(step: ToDo | None, reading: Reading) -> frozenset[str]:
    """Return the sessions that a person may decide to end, as a step says."""
    return frozenset(_holders_in("" if step is None else step.text.partition("decide whether to ")[2], reading))


def _named(step: ToDo | None, for_now: ToDo | None, reading: Reading) -> frozenset[str]:
    """Return the sessions that a step names for a decision."""
    if step is None or for_now is None or step.text == for_now.text:
        return frozenset()
    return frozenset(_holders_in(step.text, reading)) - frozenset(_holders_in(for_now.text, reading))


def _about(step: ToDo | None, reading: Reading) -> About | None:
    """Return the subject of a step: its commands, else the holders of servers that it names, else its `subject`.

    The last part are the holders that its addition for the queue names, else its words without times, and those that a
    person may decide to end.
    """
    if step is None:
        return None
    named = tuple(_holders_in(step.beside, reading))
    beside = named or re.sub(r"\d+:\d+", "", step.beside), _decides(step, reading)
    if step.commands:
        return step.step, step.commands, beside
    holders = tuple(_holders_in(step.short if step.beside else step.text, reading))
    return step.step, holders or step.subject, beside


def _holders_in(words: str, reading: Reading) -> list[str]:
    """Return the holders of servers that words name, in this order."""
    names = {each.who for each in reading.running}
    # "HR 1:12" is also the beginning of "HR 1:123": only whole words count.
    places = {name: re.search(rf"{re.escape(name)}\b", words) for name in names if name in words}
    found = ((place.start(), name) for name, place in places.items() if place)
    return [name for _, name in sorted(found)]
