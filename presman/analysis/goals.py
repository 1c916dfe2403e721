"""Goals of service: how many of a group's parallel statements should start within a given time."""

import re
from collections.abc import Collection, Iterable

from msgspec import Struct

from presman.base.errors import InputError
from presman.base.formats import percent, seconds_of
from presman.base.group_names import QUOTED, as_named, written

_GROUP = rf"(?P<group>{QUOTED}|[^\s\"].*?)"
_SHAPES = (
    re.compile(rf"{_GROUP}\s+p(?P<part>[\d.]+)(?:\s+wait)?\s*(?:<=?|≤)\s*(?P<time>.+)", re.IGNORECASE),
    re.compile(rf"(?P<part>[\d.]+)\s*%\s+of\s+{_GROUP}\s+starts?\s+within\s+(?P<time>.+)", re.IGNORECASE),
)
_LONGEST = 1e8

EXAMPLES = "'REPORTS p95 wait <= 30s' or '95 % of REPORTS start within 30 s'"

NOT_BY_ONE_LOOK = (
    "goal_missed: one reading cannot judge goals of service; the monitor, fleet, metrics and recordings can"
)


class Goal(Struct, frozen=True):
    """`part` (0..1, never 0) of the parallel statements of `group` start within `seconds` of their arrival."""

    group: str
    part: float
    seconds: float

    @property
    def percentile(self) -> str:
        """Return the percentile of waits that the goal is about: ``p95``."""
        return f"p{100 * self.part:.6g}"

    def __str__(self) -> str:
        """Return the goal in words that :func:`parse_goal` understands: ``95 % of REPORTS start within 30 s``."""
        return f"{100 * self.part:.6g} % of {written(self.group)} start within {_time(self.seconds)}"


def _time(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:.12g} s"


def parse_goal(text: str) -> Goal:
    """Return the goal in a text, in either of two forms. Raises InputError with a one-line message.

    >>> parse_goal("REPORTS p95 wait <= 30s") == parse_goal("95 % of reports start within 30 s")
    True
    """
    found = next((found for shape in _SHAPES if (found := shape.fullmatch(text.strip()))), None)
    if found is None:
        raise InputError(f"{text!r} is not a goal such as {EXAMPLES}")
    try:
        part, seconds = float(found["part"]) / 100, seconds_of(found["time"])
    except ValueError as error:
        raise InputError(f"goal {text!r}: {error}") from None
    if not 0 < part <= 1:
        raise InputError(f"goal {text!r}: {found['part']} is not a percentage of more than 0 and at most 100")
    if not seconds:
        raise InputError(f"goal {text!r}: the time must be longer than 0")
    if not seconds <= _LONGEST:
        raise InputError(f"goal {text!r}: longer than three years")
    return Goal(as_named(found["group"]), part, seconds)


USUAL = 0.9, 60.0
"""Part and seconds of the default goal."""


def goals_of(group: str, goals: Iterable[Goal], seen: Collection[str]) -> tuple[Goal, ...]:
    """Return the goals of a group, else all goals whose groups were `seen`; else a default one for it."""
    known = [goal for goal in goals if goal.group in seen]
    of_group = tuple(goal for goal in known if goal.group == group)
    return of_group or tuple(known) or (Goal(group, *USUAL),)


class GoalReading(Struct, frozen=True):
    """The result for a goal: statements that were `good` (started in time) and `bad` (did not), since presman watches.

    `recent` counts the last half hour and `day` the last 24 hours of it, (good, bad) each; `watched` is the time
    watched in seconds. A statement is bad as soon as it has waited longer, and counts once. Statements that start and
    end between two polls are not seen.
    """

    goal: Goal
    good: int
    bad: int
    recent: tuple[int, int]
    day: tuple[int, int]
    watched: float

    @property
    def group(self) -> str:
        """The consumer group that the goal is about."""
        return self.goal.group

    @property
    def state(self) -> str:
        """Whether the goal is met over the last half hour: ``met``, ``missed``, "" without a statement."""
        return met(self.goal, *self.recent)

    @property
    def sentence(self) -> str:
        """The result over all the time: ``95 % of REPORTS start within 30 s: missed, 18 of 22 did (82 %)``."""
        many = self.good + self.bad
        state, part = met(self.goal, self.good, self.bad), percent(share(self.good, self.bad))
        fared = f"{state}, {self.good} of {many} did ({part} %)"
        return f"{self.goal}: {fared if many else 'no statement was seen'}"


def met(goal: Goal, good: int, bad: int) -> str:
    """Return whether the statements meet a goal: ``met``, ``missed``, "" without any."""
    if not good + bad:
        return ""
    # 0.07 x 100 is a little more than 7: rounding alone must not make a goal missed.
    return "met" if good >= goal.part * (good + bad) - 1e-9 else "missed"


def share(good: int, bad: int) -> float | None:
    """Return the percentage of statements that were good, None without any."""
    return 100 * good / (good + bad) if good + bad else None
