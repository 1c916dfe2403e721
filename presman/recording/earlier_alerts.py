"""Alerts that a recorded poll cannot check: found in polls before it, as a monitor that ran until then has them."""

from collections.abc import Callable, Iterable, Sequence

from presman.analysis.advice.to_do import with_unchecked
from presman.analysis.readings.reading import Reading
from presman.rows.queries import RecordType
from presman.rows.snapshot import Snapshot

LOOKED_BACK = 120
"""The most polls before one that are looked at for the last in which the views that are silent answered."""

_READ = 12
"""The most of them that are analysed, evenly spaced: a silence may last long, and a report has many polls of it."""


def silent(snapshot: Snapshot) -> set[RecordType]:
    """Return the records whose views did not answer in time."""
    return {record for record, problem in snapshot.problems().items() if problem.late}


def since_answered(polls: Iterable[tuple[int, Snapshot]], views: set[RecordType]) -> list[int]:
    """Return the indexes of successive polls from the last in which all these views answered; [] without one.

    It has rates, if any such poll has: they answered in the poll before it, too. What is before a restart of the
    recorder is not remembered.
    """
    found: list[int] = []
    number, had_answered = 0, False
    for index, snapshot in polls:
        if snapshot.number <= number:
            found, had_answered = [], False
        number, has_answered = snapshot.number, not silent(snapshot) & views
        if has_answered and (had_answered or not found):
            found = [index]
        elif found:
            found.append(index)
        had_answered = has_answered
    return found


def remembered(polls: Sequence[int], read: Callable[[int], Reading]) -> Reading | None:
    """Return the reading of about the last of successive polls, with what the ones before it found; None of none."""
    before: Reading | None = None
    for index in polls[:: max(1, -(-len(polls) // _READ))]:
        before = with_unchecked(before, read(index))
    return before
