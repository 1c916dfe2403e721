"""Columns of a CSV file of presman, by its header: tidy as this presman writes it, or wide as 1.x did, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from presman.base.suggest import did_you_mean
from presman.base.text import clean, one_line
from presman.figures.figure import FLAG, INSTANT, NAME, TEXT, WORD
from presman.figures.measures import COMMON, MEASURES

TIME = "DATETIME"
"""The first heading of a wide file: one column for each group."""

_WORDS = (FLAG, INSTANT, NAME, TEXT, WORD)
_WHO = ("inst_id", "con_id", "sid", "serial", "child_number", "position", "interval_s")
_USUAL = {"latency": "waits", "queue": "waited_s", "arrivals": "waited_s"}
_SUMS = {"latency": "sum of its buckets", "queue": "longest or largest of its statements"}
"""What a point is where several lines of one time are of the same group or event."""


class HeaderError(ValueError):
    """A header, or a column that was asked for, that is none; the text says what there is."""


class ColumnPlan(NamedTuple):
    """Which columns are drawn: `values` by place; `time`, `subject`, `inst`, `con` are places, -1 for none.

    `measure` is "" for a wide file, in which each value is a subject of its own.
    """

    measure: str
    time: int
    subject: int
    inst: int
    con: int
    values: dict[int, str]

    @property
    def joined(self) -> str:
        """What a point is made of, "" where it is one cell."""
        return _SUMS.get(self.measure, "")


def columns(header: Sequence[str], wanted: Sequence[str]) -> ColumnPlan:
    """Return what is to be drawn of a file with that header. Raises HeaderError."""
    if len(set(header)) < len(header):
        raise HeaderError("a column is named twice")
    if header and header[0] == TIME:
        found = {place: name for place, name in enumerate(header) if place and (not wanted or name in wanted)}
        _check(wanted, header[1:])
        return ColumnPlan("", 0, -1, -1, -1, found)
    measure = _measure(header)
    kinds = {figure.key: figure.unit for figure in MEASURES[measure].figures}
    numbers = [name for name in header if name in kinds and kinds[name] not in _WORDS and name not in _WHO]
    usual = _USUAL.get(measure, MEASURES[measure].wide[0])
    _check(wanted, numbers)
    chosen = list(dict.fromkeys(wanted)) or [usual if usual in numbers else numbers[0]]

    def place(name: str) -> int:
        return header.index(name) if name in header else -1

    subject = "event" if measure == "latency" else "consumer_group"
    time = place("arrived") if measure == "arrivals" else place("time")
    places = {header.index(name): name for name in chosen}
    return ColumnPlan(measure, time, place(subject), place("inst_id"), place("con_id"), places)


def _measure(header: Sequence[str]) -> str:
    """Return the measure that has these columns; files of an older presman may lack some."""
    if list(header[:1]) == ["time"]:
        least = {figure.key for figure in COMMON}
        for name, measure in MEASURES.items():
            known = measure.header()
            numbers = [figure.key for figure in measure.figures if figure.unit not in _WORDS and figure.key not in _WHO]
            own = "event" if name == "latency" else "consumer_group"
            if least | {own} <= set(header) <= set(known) and set(header) & set(numbers):
                return name
    begin = one_line(clean(",".join(header[:3])), 40)
    raise HeaderError(f"not an export of presman: it begins with {begin!r}" if begin else "not an export of presman")


def _check(wanted: Sequence[str], known: Sequence[str]) -> None:
    for name in wanted:
        if name not in known:
            raise HeaderError(f"no column {name!r} to chart, {did_you_mean(name, [clean(each) for each in known])}")
