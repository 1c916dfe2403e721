"""The queue in the what-if panel: its forecasts under changed limits, the table of starts, the script in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.containers import Vertical

from presman.analysis.caches import RowCache
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import StartForecast
from presman.base.formats import clock, counted, duration, spelled
from presman.figures.figure import NAME, NUMBER, SECONDS, Figure, State, Table
from presman.figures.statement_figures import between, forecast_record, when
from presman.forecast.forecaster import PENDING, ForecastBasis
from presman.reports.advise_load import Choice
from presman.reports.advise_script import Scripts, written
from presman.reports.whatif_queue import ChangedStart, PresentLimits, QueueCourses, room_sentences, why_unknown
from presman.tabs.alerts import queue_unavailable
from presman.tabs.parts import Pair
from presman.tui.monitor import Monitor
from presman.tui.panels.shared_panel import Wanted, share, wanted_by
from presman.tui.widgets.grid import Grid, lines_needed
from presman.tui.widgets.line_api import LineView
from presman.tui.widgets.page import Page
from presman.tui.widgets.table_frame import HEADER_LINES

# ---- The answer to a choice of limits.


class WhatIfAnswer(NamedTuple):
    """The results for a reading under a choice: limits, and starts or why there are none.

    `choice` is the part of the choice `asked` about that is possible.
    """

    reading: Reading
    asked: Choice
    choice: Choice
    limits: PresentLimits
    starts: Sequence[ChangedStart]
    why_none: str

    def room(self, choice: Choice) -> list[str]:
        """Return sentences on the heads that have room under a choice; they need no forecast."""
        return room_sentences(self.reading, self.limits.load, self.limits.possible(choice))

    def scripts(self, choice: Choice) -> tuple[Scripts | None, list[str]]:
        """Return the scripts of a choice, or None, and sentences on it; neither needs a forecast."""
        choice = self.limits.possible(choice)
        found, troubles = written(self.limits.load, choice)
        return found, [*self.limits.cautions(choice), *(f"{each[0].upper()}{each[1:]}." for each in troubles)]


class WhatIfAnswers:
    """Computes the answers on limits and queue. Limits and courses are cached while the poll is the same."""

    def __init__(self) -> None:
        self._cache = RowCache()
        self._limits: tuple[Pair, PresentLimits] | None = None
        self._courses: QueueCourses | None = None

    def of(self, reading: Reading, pair: Pair, forecast_basis: ForecastBasis | None, choice: Choice) -> WhatIfAnswer:
        """Return the answer for a reading, made from two snapshots, under a choice."""
        if self._limits is None or self._limits[0][1] is not pair[1]:
            self._limits = pair, PresentLimits.of(reading, *pair, self._cache)
        limits, why_none = self._limits[1], why_unknown(reading, forecast_basis)
        asked, choice = choice, limits.possible(choice)
        starts: Sequence[ChangedStart] = ()
        if forecast_basis is not None and not why_none:
            if self._courses is None or self._courses.forecast_basis is not forecast_basis:
                self._courses = QueueCourses(forecast_basis)
            starts = self._courses.compare(reading, limits.load, choice)
        return WhatIfAnswer(reading, asked, choice, limits, starts, why_none)


# ---- The queue: starts now and under the changes, or the script.


_OLD = 10.0
"""Age in seconds from which the panel shows how old its figures are."""

_WORKING = "The change is being calculated"
_NO_SCRIPT = "No limit is changed: there is no script."


def _in_how_long(starts: StartForecast | None, beyond: float | None) -> str:
    return "…" if starts == PENDING else when(starts) if beyond is None else f"> {duration(beyond)}"


def _better(row: ChangedStart) -> State:
    # A colour only where more than half of the possible courses agree.
    return "warn" if 2 * row.later > row.courses else "good" if 2 * row.sooner > row.courses else ""


_Start = Figure[ChangedStart]
_RANGE, _SOONER = "The range for 8 cases of 10.", "In how many possible courses of the queue it starts sooner."

STARTS: Table[ChangedStart] = Table(
    "what_if_starts", "The queue, heads first",
    (
        _Start("group", "Group", NAME, "Its consumer group.", "row.group", width=9, flexible=True),
        _Start("position", "#", NUMBER, "Its position in the queue.", "row.position", width=3),
        _Start("sql_id", "SQL_ID", NAME, "What it executes.", "row.sql_id", width=13),
        _Start("waited", "Waited", SECONDS, "For how long it has waited.", "row.waited"),
        _Start("now", "Starts in", NAME, "How soon it starts as things are; > means not within that time.",
               lambda each: _in_how_long(each.row.starts, each.beyond), width=9, side="right"),
        _Start("now_between", "80 % between", NAME, _RANGE, lambda each: between(each.row.starts),
               width=12, narrow=False),
        _Start("then", "What if", NAME, "How soon it starts under the changes; > means not within that time.",
               lambda each: _in_how_long(each.then, each.then_beyond), width=9, side="right", state=_better,
               vital=True),
        _Start("then_between", "between", NAME, "The same range under the changes.", lambda each: between(each.then),
               width=12, narrow=False),
        _Start("sooner", "Sooner in courses", NAME, _SOONER,
               lambda each: f"{each.sooner} of {each.courses}" if each.courses else "", width=17),
    ),
    lambda each: each.row.executing(), "Nothing is queued now.",
)  # fmt: skip


class _Last(NamedTuple):
    """When the last of a queue starts, in words; `is_beyond` if that is not within them; `why` that is not known."""

    words: str = ""
    is_beyond: bool = False
    why: str = ""

    @classmethod
    def of(cls, found: Sequence[tuple[StartForecast, float | None]]) -> _Last:
        if why := next((starts.why_none for starts, beyond in found if starts.why_none and beyond is None), ""):
            return cls(why=why)
        if beyond := max((beyond or 0.0 for _, beyond in found), default=0.0):
            return cls(f"within {spelled(beyond)} in most courses", is_beyond=True)
        if any(starts.timeout for starts, _ in found):
            return cls("by its timeout, or not at all")
        # Which one is last differs from course to course, so its median may be later than that of each.
        return cls(f"in {when(max((starts for starts, _ in found), key=lambda each: each.median or 0.0))} or later")


def last_words(answer: WhatIfAnswer) -> str:
    """Return a sentence on when the last statement of the queue starts, or why that is not known.

    Statements that are too new for the courses are only counted: if many arrive, there are always some.
    """
    rows = [each for each in answer.starts if each.row.starts != PENDING]
    if len(answer.starts) < 2 or not rows:  # the row itself shows it
        return ""
    now = _Last.of([(each.row.starts or StartForecast(), each.beyond) for each in rows])
    then = _Last.of([(each.then, each.then_beyond) for each in rows])
    if why := now.why or (then.why != PENDING.why_none and then.why):
        return f"When the last of the {len(rows)} queued starts is not known: {why}."
    starts = "does not start" if now.is_beyond else "starts"
    what_if = f", what if: {'not ' * then.is_beyond}{then.words}" if answer.choice and not then.why else ""
    came = len(answer.starts) - len(rows)
    late = f" {counted(came, 'more')} just came: not calculated yet." if came else ""
    return f"The last of the {len(rows)} queued {starts} {now.words}{what_if}.{late}"


_FIRST_PART = 45
"""Percentage of the room that limits get before the queue below gets all it needs."""


class _Room(Vertical):
    """The whole panel: limits or choices `above`, queue or script, sentences, keys."""

    def __init__(self, above: tuple[Grid, Grid], starts: Grid, script: Page, facts: LineView, keys: LineView) -> None:
        super().__init__(*above, starts, script, facts, keys)
        self._above, self._starts, self._script, self._facts = above, starts, script, facts

    def on_resize(self) -> None:
        """Distribute the new number of lines."""
        self.share()

    def share(self) -> None:
        """Give the upper and lower parts the lines that they need."""
        facts = self._facts.styles.height
        room, width = self.size.height - int(facts.value if facts else 1) - 1, self.size.width  # and the line of keys
        shown = next((grid for grid in self._above if grid.display), None)
        if shown is None or room < 2 * HEADER_LINES:
            return
        above = wanted_by(shown, width, room, room * _FIRST_PART // 100)
        below = Wanted(HEADER_LINES, *[self._script.lines_in(width)] * 3)
        if self._starts.display:
            below = wanted_by(self._starts, width, room, lines_needed(self._starts))
        shown.styles.height, lines = share(room, (above, below), 0)
        self._starts.styles.height = self._script.styles.height = lines


class QueueOnShow:
    """The queue of the newest answer, or the script in its place; `answer` is None until there is one."""

    def __init__(self, monitor: Monitor, above: tuple[Grid, Grid], facts: LineView, keys: LineView) -> None:
        self._monitor = monitor
        self.answer: WhatIfAnswer | None = None
        self._starts, self._script = Grid(STARTS), Page()
        self._script.display = False
        self.room = _Room(above, self._starts, self._script, facts, keys)

    def is_about(self, choice: Choice) -> bool:
        """Return whether the newest answer is about a choice."""
        return self.answer is not None and choice == self.answer.asked

    def turn(self) -> None:
        """Switch between the queue and the script."""
        self._script.display = not self._script.display
        self._starts.display = not self._script.display
        self.room.share()

    @property
    def silence(self) -> float:
        """Seconds for which the database has not answered, 0 while it does."""
        return self._monitor.link.silence(self._monitor.clock(), self._monitor.choices.refresh)

    def show(self, choice: Choice, is_busy: bool) -> None:
        """Show the known part of the queue under a choice."""
        if (answer := self._answer_to(choice)) is None:
            return
        hidden = () if choice else ("then", "then_between", "sooner")
        why = f"No forecast: {answer.why_none}." if answer.why_none else queue_unavailable(answer.reading)
        record = forecast_record(answer.reading)
        note = _WORKING.lower() if is_busy and not self.is_about(choice) else record
        newest = self._monitor.reading or answer.reading
        age = self.silence + (newest.at - answer.reading.at).total_seconds()
        late = f"{spelled(age)} old" if age > _OLD else ""
        self._starts.show_rows(answer.starts, hidden, note, unavailable=why, late=late)
        scripts = self.scripts(choice)
        text = _NO_SCRIPT if scripts is None else f"{scripts.change}\n{scripts.undo}"
        self._script.show_lines([((line, ""),) for line in text.split("\n")])

    def scripts(self, choice: Choice) -> Scripts | None:
        """Return the scripts of a choice."""
        return None if self.answer is None else self.answer.scripts(choice)[0]

    def sentences(self, choice: Choice, is_busy: bool) -> list[str]:
        """Return the sentences on the queue under a choice, first the age of the data if the database is silent."""
        if (answer := self._answer_to(choice)) is None:
            return []
        age_note = f"The database does not answer: limits and queue are those of {clock(answer.reading.at)}."
        working = f"{_WORKING} …" if is_busy and not self.is_about(choice) else ""
        found = [age_note if self.silence > _OLD else "", working, last_words(answer)]
        return [*found, *(answer.room(choice) if answer.why_none else ()), *answer.scripts(choice)[1]]

    def _answer_to(self, choice: Choice) -> WhatIfAnswer | None:
        """Return the newest answer, without its results if they are for another choice: then the queue as it is."""
        found = self.answer
        if found is None or choice == found.asked:
            return found
        return found._replace(starts=[ChangedStart(each.row, PENDING, beyond=each.beyond) for each in found.starts])
