"""Work of the what-if panel: forecasts and advice in background threads that post messages to the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Thread
from typing import NamedTuple

from textual.message import Message

from presman.analysis.caches import RowCache
from presman.analysis.goals import Goal, goals_of
from presman.analysis.readings.reading import Reading
from presman.analysis.trends.statement_runs import StatementRuns
from presman.base.formats import counted, duration
from presman.forecast.forecaster import PENDING, Foresight
from presman.reports.advise_load import Choice, observed_arrivals
from presman.reports.advise_report import AdviceFound, AdviceWanted, advise
from presman.reports.advise_script import Scripts, written
from presman.reports.advise_search import Scored
from presman.reports.whatif_limits import PresentLimits
from presman.reports.whatif_queue import ChangedStart, QueueCourses, why_unknown
from presman.tabs.parts import Pair
from presman.tui.feed import Failed, Post

KINDS = ("target", "limits", "levels", "shares")
"""What advice may change."""

_MOST_TRIED = 200
"""Choices that are tried at most: somebody waits for them."""

_REPORT_EVERY = 20
"""Choices that are tried between two words about how the search goes."""


class WhatIfAnswer(NamedTuple):
    """What was worked out of a reading under a choice: limits, starts or why there are none."""

    reading: Reading
    choice: Choice
    limits: PresentLimits
    starts: Sequence[ChangedStart]
    why_none: str

    def scripts(self, choice: Choice) -> tuple[Scripts | None, list[str]]:
        """Return the scripts of a choice, or None, and a sentence about it; neither needs a forecast."""
        choice = self.limits.possible(choice)
        found, troubles = written(self.limits.load, choice)
        return found, [*self.limits.cautions(choice), *(f"{each[0].upper()}{each[1:]}." for each in troubles)]

    def without_changes(self) -> WhatIfAnswer:
        """Return what stays true of it while another choice is worked out: the queue as things are."""
        return self._replace(starts=[ChangedStart(each.row, PENDING, beyond=each.beyond) for each in self.starts])


@dataclass(eq=False)
class WhatIfAnswered(Message):
    """A question about limits and queue under a choice was answered."""

    answer: WhatIfAnswer
    choice: Choice


@dataclass(eq=False)
class ChoicesTried(Message):
    """The search for advice goes on: how, in words."""

    text: str


@dataclass(eq=False)
class Advised(Message):
    """The search is over."""

    found: AdviceFound


def in_background(post: Post, work: Callable[[], Message]) -> None:
    """Post what work comes to, in a thread that nobody waits for. Raises RuntimeError where none can be had."""

    def run() -> None:
        try:
            post(work())
        except Exception as error:
            post(Failed(error))

    Thread(target=run, name="presman-what-if", daemon=True).start()


class WhatIfAnswers:
    """The answers about limits and queue. Limits and courses are kept for as long as the poll is the same."""

    def __init__(self) -> None:
        self._cache = RowCache()
        self._limits: tuple[Pair, PresentLimits] | None = None
        self._courses: QueueCourses | None = None

    def of(self, reading: Reading, pair: Pair, foresight: Foresight | None, choice: Choice) -> WhatIfAnswer:
        """Return what is seen of a reading, made of two snapshots, under a choice."""
        if self._limits is None or self._limits[0][1] is not pair[1]:
            self._limits = pair, PresentLimits.of(reading, *pair, self._cache)
        limits, why_none = self._limits[1], why_unknown(reading, foresight)
        choice = limits.possible(choice)
        starts: Sequence[ChangedStart] = ()
        if foresight is not None and not why_none:
            if self._courses is None or self._courses.foresight is not foresight:
                self._courses = QueueCourses(foresight)
            starts = self._courses.compare(reading, limits.load, choice)
        return WhatIfAnswer(reading, choice, limits, starts, why_none)


class LiveAdvice:
    """Advice on the statements that the screen has seen; `found` is None until there is some."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._is_over = False
        self.goals: Sequence[Goal] = ()
        self.found: AdviceFound | None = None

    @property
    def goal_text(self) -> str:
        """The goals in words."""
        return "; ".join(map(str, self.goals))

    def begin(self, answer: WhatIfAnswer, runs: StatementRuns, group: str) -> str:
        """Begin to search for a group, else for the one whose head waits longest; return a sentence about it."""
        reading, plan = answer.reading, answer.limits.load.plan
        arrivals = observed_arrivals(runs, reading, plan)
        seen = {each.group for each in arrivals}
        heads = sorted(reading.heads, key=lambda head: -(head.statement.waited or 0.0))
        asked = next((name for name in (group, *(head.group for head in heads), *sorted(seen)) if name in seen), "")
        if not asked:
            return "No advice yet: presman has seen no parallel statement."
        self.goals = goals_of(asked, (each.goal for each in reading.goals), seen)
        wanted = AdviceWanted(self.goals, (), KINDS, quick=_MOST_TRIED)
        in_background(self._post, lambda: Advised(advise(arrivals, plan, wanted, self._report)))
        return f"Advice on {self.goal_text}: looking at {counted(len(arrivals), 'statement')} …"

    def end(self) -> None:
        """End the search; it hands over the best choices found so far."""
        self._is_over = True

    def _report(self, replayed: int, best: Scored) -> None:
        """Tell how the search goes; called in its thread, which Ctrl-C would end in the same way."""
        if self._is_over:
            raise KeyboardInterrupt
        if replayed % _REPORT_EVERY == 0:
            wait = duration(best.waits[0]) if best.waits[0] < 1e9 else "timed out"
            tried = f"{counted(replayed, 'choice')} tried, {self.goals[0].percentile} at best {wait}"
            self._post(ChoicesTried(f"Advice on {self.goal_text}: {tried}; a ends the search"))
