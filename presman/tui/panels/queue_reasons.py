"""Reasons why heads wait, and what ends it: the first whole, others as far as there is room. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from presman.analysis.advice.candidate import Unblock
from presman.analysis.alerts.queue_alerts import head_sentence
from presman.analysis.parallel.usual import Comparison
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import group_title
from presman.base.formats import number
from presman.figures.drawing.lines import Line, wrap
from presman.tabs.alerts import no_queue
from presman.tui.pages.advice_lines import ends_it

_INDENT = 6
_NARROW = 100
"""Cells below which what ends a wait may take two lines; what must end together may anywhere."""


class Story(NamedTuple):
    """What the block tells: the queueing first if that is wanted, the heads in this order, what is worse than usual.

    `key` tells whether the key c copies the command of the first head now.
    """

    top: Sequence[Line]
    heads: Sequence[Unblock]
    nothing: Line
    worse: Line
    key: bool = True


def story(
    reading: Reading,
    heads: Sequence[Unblock],
    compared: Sequence[Comparison],
    top: Sequence[Line],
    group: object = None,
) -> Story:
    """Return the story of a reading; the head of `group` (container and name) comes before the others."""
    ordered = sorted(heads, key=lambda each: (each.head.con_id, each.head.group) != group)
    nothing: Line = ()
    if not ordered and reading.queue:
        nothing = ((" WHY  ", "title"), ("Statements are queued; why the first one waits is not known.", "warn"))
    elif not ordered:
        nothing = no_queue(reading)
    return Story(top, ordered, nothing, _worse(compared))


def why_lines(told: Story, width: int, most: int | None = None) -> list[Line]:
    """Return the block, wrapped to `width`: the first head whole, the others while there is room in `most` lines.

    Those without room are named. `most` None means all the room there is.
    """
    lines = [*told.top, *([told.nothing] if told.nothing else [])]
    blocks = [_head(told.heads, place, width, key=told.key and not place) for place in range(len(told.heads))]
    if told.worse:
        blocks.append(wrap(told.worse, width, _INDENT))
    for place, block in enumerate(blocks):
        rest = len(told.heads) - place - 1
        if place and most is not None and len(lines) + len(block) + (rest > 0) > most:
            return [*lines, *_unsaid(told.heads[place:], width)]
        lines += block
    return lines


def _head(heads: Sequence[Unblock], place: int, width: int, *, key: bool) -> list[Line]:
    """Return the lines of one head; if the same statements end the wait of one before it, that is said in its line."""
    found = heads[place]
    why: Line = ((" WHY  ", "title"), (head_sentence(found.head), "warn"))
    same = next((each for each in heads[:place] if found.candidates and _who(each) == _who(found)), None)
    if same is not None:
        return wrap((*why, ("   TO START IT  ", "title"), (f"as for {group_title(same.head)}", "")), width, _INDENT)
    room = width if width >= _NARROW and found.needed <= 1 else 2 * (width - _INDENT)
    return [*wrap(why, width, _INDENT), *wrap(ends_it(found, room, key=key), width, _INDENT)]


def _who(found: Unblock) -> tuple[object, ...]:
    """Return whose end lets a head start: all that are needed, or those that do alone."""
    chosen = (
        found.candidates[: found.needed] if found.needed > 1 else [each for each in found.candidates if each.enough]
    )
    return tuple((each.statement.inst_id, each.statement.sid, each.statement.serial) for each in chosen[:3])


def _unsaid(heads: Sequence[Unblock], width: int) -> list[Line]:
    if not heads:
        return []
    names = ", ".join(group_title(each.head) for each in heads)
    text = (
        f"{len(heads)} more queue{'s wait' if len(heads) > 1 else ' waits'}: {names} (move to one of their rows to "
        f"see why)"
    )
    return wrap(((f"  … {text}", "dim"),), width, _INDENT)[:1]


def _worse(compared: Sequence[Comparison]) -> Line:
    worse = [each for each in compared if each.worse]
    if not worse:
        return ()
    parts = [f"{each.name} {number(each.now.mean_queue)} queued {_now(each)}, {_usually(each)}" for each in worse]
    return ((" WORSE THAN USUAL  ", "title"), ("; ".join(parts), "warn"))


def _now(each: Comparison) -> str:
    return "in the last minute" if each.now.seconds else "now"


def _usually(each: Comparison) -> str:
    if each.hour is not None and each.hour.mean_queue is not None:
        return f"{number(each.hour.mean_queue)} on average in the last hour"
    return f"{number(each.plan.mean_queue if each.plan else None)} on average since the plan was activated"
