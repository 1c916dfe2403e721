"""What-if panel: limits changed hypothetically, the queue under them, the script, advice. Nothing is sent.

Forecasts and advice are computed in background threads; results for earlier changes are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Thread
from typing import Any, ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen

from presman.analysis.goals import Goal, goals_of
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import urgency
from presman.analysis.trends.statement_runs import StatementRuns
from presman.base.formats import counted, duration, spelled
from presman.figures.drawing.lines import Line
from presman.figures.figure import NAME, TEXT, Figure, Table
from presman.forecast.scheduler import Group
from presman.reports.advice import Advice, AdviceFound, AdviceWanted, ReplayedChoice
from presman.reports.advise_load import Knob, observed_arrivals
from presman.reports.advise_report import advise
from presman.reports.advise_search import Scored
from presman.reports.advise_text import closing, still_takes
from presman.reports.whatif_queue import LimitChanges, PlanLimit
from presman.reports.whatif_text import off_by, wait_words
from presman.tui.feed import Failed
from presman.tui.monitor import Monitor
from presman.tui.what_if_queue import QueueOnShow, WhatIfAnswer, WhatIfAnswers
from presman.tui.widgets.frame_lines import KeysLine, Labelled
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_api import Sentences

# ---- Work in background threads, and the search for advice.

_MOST_TRIED = 200
"""Most choices to try, because the user waits for them."""

_REPORT_EVERY = 20
"""Choices tried between two progress messages."""


Result = TypeVar("Result")


def in_background(screen: Screen[Any], work: Callable[[], Result], then: Callable[[Result], None]) -> None:
    """Run `work` in a daemon thread, then `then` with its result on the screen. Raises RuntimeError without one."""

    def run() -> None:
        try:
            screen.call_later(then, work())
        except Exception as error:
            screen.post_message(Failed(error))

    Thread(target=run, name="presman-what-if", daemon=True).start()


class LiveAdvice:
    """Advice based on the statements observed so far; `found` is None until there is some.

    `say` is called in the thread of the search with its progress in words. Once `is_over` is set, the search ends with
    the best choices found so far.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self.is_over = False
        self.goals: Sequence[Goal] = ()
        self.found: AdviceFound | None = None

    @property
    def goal_text(self) -> str:
        """The goals in words."""
        return "; ".join(map(str, self.goals))

    def search(
        self, answer: WhatIfAnswer, runs: StatementRuns, group: str
    ) -> tuple[str, Callable[[], AdviceFound] | None]:
        """Return a sentence on the search for a group, by default that of the most urgent head, and the search."""
        reading, plan = answer.reading, answer.limits.load.plan
        arrivals = observed_arrivals(runs, reading, plan)
        seen = {each.group for each in arrivals}
        heads = sorted(reading.heads, key=urgency)
        asked = next((name for name in (group, *(head.group for head in heads), *sorted(seen)) if name in seen), "")
        if not asked:
            return "No advice yet: presman has seen no parallel statement.", None
        self.goals = goals_of(asked, (each.goal for each in reading.goals), seen)
        wanted = AdviceWanted(self.goals, (), (), quick=_MOST_TRIED)
        about = f"Advice on {self.goal_text}: looking at {counted(len(arrivals), 'statement')} …"
        return about, lambda: advise(arrivals, plan, wanted, self._report)

    def _report(self, replayed: int, best: Scored) -> None:
        """Report the progress of the search, in its thread."""
        if self.is_over:  # the search ends as at Ctrl-C in `presman advise`: with the best choices so far
            raise KeyboardInterrupt
        if replayed % _REPORT_EVERY == 0:
            wait = duration(best.waits[0]) if best.waits[0] < 1e9 else "timed out"
            tried = f"{counted(replayed, 'choice')} tried, {self.goals[0].percentile} at best {wait}"
            self._say(f"Advice on {self.goal_text}: {tried}; a ends the search")


# ---- The panel: limits, advised choices, keys.

_CHECK_EVERY = 0.5
"""Seconds between two checks for a new poll."""

_KEYS = (
    Labelled("↑↓", "limit", "focused.move(1)"),
    Labelled("0-9 ←→", "change", "screen.step(1)"),
    Labelled("q", "back", "screen.leave"),
    Labelled("s", "script", "screen.script"),
    Labelled("a", "advice", "screen.advise"),
    Labelled("c", "copy", "screen.copy"),
    Labelled("Del", "undo", "screen.step(0)"),
)
"""The keys of the panel; those that always have room come first."""

_KEYS_OF_ADVICE = (
    Labelled("↑↓", "choice", "focused.move(1)"),
    Labelled("Enter", "tries it in the panel", "focused.open"),
    Labelled("a q", "back to the limits", "screen.leave"),
)


def _words(limit: PlanLimit, value: int | None, none: str = "none") -> str:
    return none if value is None else f"{value}{limit.unit}"


def _changes(choice: ReplayedChoice) -> str:
    return "; ".join(choice.changes) or "as it is"


def _meets(choice: ReplayedChoice) -> str:
    return "?" if choice.meets is None else "met" if choice.meets else "missed"


def _waits(choice: ReplayedChoice) -> str:
    """Return the waits of the groups that a choice changes."""
    pairs = [(each.group, wait_words(each.p95_before), wait_words(each.p95_after)) for each in choice.groups]
    return ", ".join(f"{group} {before} -> {after}" for group, before, after in pairs if before != after)


_Limit, _Choice = Figure[PlanLimit], Figure[ReplayedChoice]

LIMITS: Table[PlanLimit] = Table(
    "what_if_limits", "What if",
    (
        _Limit("title", "Group", NAME, "The group it is a limit of.", "title", width=10, most=24),
        _Limit("limit", "Limit", NAME, "What Oracle calls it.", "name", width=24, flexible=True),
        _Limit("now", "Now", TEXT, "What is in force.", lambda row: _words(row, row.now), width=10),
        _Limit("then", "What if", TEXT, "What it would be.", lambda row: _words(row, row.then, ""), width=10,
               vital=True),
    ),
    lambda row: row.knob, "No limit of the plan could be read.",
)  # fmt: skip

CHOICES: Table[ReplayedChoice] = Table(
    "what_if_choices", "Advice",
    (
        _Choice("changes", "Change", NAME, "What it changes.", _changes, width=24, most=48),
        _Choice("goal", "Goal", NAME, "Whether it meets every goal.", _meets, width=6),
        _Choice("waits", "95 % wait no longer than", NAME, "Now, and under the changes.", _waits, flexible=True),
    ),
    lambda row: row.changes, "No choice was found.",
)  # fmt: skip


def advice_words(advice: Advice, goals: str, choice: ReplayedChoice | None = None) -> list[str]:
    """Return sentences with the result of advice on some goals, or how long it takes until there can be advice.

    The first one describes `choice` in full, for which a table may have no room.
    """
    whole = "" if choice is None else f"{_changes(choice)}: {_waits(choice) or 'no wait changes'}."
    if advice.verdict == "too_short":
        return [still_takes(advice)]
    seen = f"{counted(advice.statements, 'statement')} in {spelled(advice.seconds)}"
    tried = f"{counted(advice.replayed, 'choice')} tried; replayed, {off_by(advice.replay_error)}"
    return [whole, f"Advice on {goals}, by {seen}: {tried}.", *closing(advice)]


class WhatIfScreen(ModalScreen[None]):
    """The what-if panel: limits or advised choices above, the queue or a script below, then sentences and keys."""

    CSS_PATH = "what_if.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "back", show=False),
        *(Binding(digit, f"type('{digit}')", "change", show=False) for digit in "0123456789"),
        Binding("left,minus", "step(-1)", "less", show=False),
        Binding("right,plus,equals_sign", "step(1)", "more", show=False),
        Binding("backspace,delete", "step(0)", "as it is", show=False),
        Binding("s", "script", "script", show=False),
        Binding("c", "copy", "copy the script", show=False),
        Binding("a", "advise", "advice", show=False),
    ]

    def __init__(self, monitor: Monitor, group: Group | None, knob: Knob, copy: Callable[[str], None]) -> None:
        super().__init__()
        self._monitor, self._group, self._knob, self._copy = monitor, group, knob, copy
        self._changes, self._answers, self._advice = LimitChanges(), WhatIfAnswers(), LiveAdvice(self._say)
        self._asked: tuple[Reading | None, object] = (None, None)
        self._is_busy, self._message = False, ""
        self._limits, self._choices = Grid(LIMITS, counted=False), Grid(CHOICES)
        self._facts, self._keys = Sentences(id="what-if-facts", step=3), KeysLine(id="what-if-keys")
        self._queue = QueueOnShow(monitor, (self._limits, self._choices), self._facts, self._keys)

    def compose(self) -> ComposeResult:
        """Lay the panel out."""
        yield self._queue.room

    def on_mount(self) -> None:
        """Ask about the newest poll, and about each that arrives."""
        self._show_choices(False)
        self._ask()
        self.set_interval(_CHECK_EVERY, self._ask)

    # ---- questions and answers

    def _ask(self) -> None:
        """Request the answer for the changes on screen unless it was requested; one question at a time."""
        monitor, choice = self._monitor, self._changes.choice
        is_requested = monitor.reading is self._asked[0] and (self._is_busy or choice == self._asked[1])
        if (self._is_busy and not is_requested) or self._queue.silence:  # the age on the screen grows
            self._show()
        # A change while an answer is computed is asked about when that answer is taken.
        if self._is_busy or is_requested:
            return
        if (moment := monitor.moment()) is not None and (pair := moment.snapshots) is not None:
            self._asked, self._is_busy = (moment.reading, choice), True
            about = moment.reading, pair, monitor.forecast_basis, choice
            in_background(self, lambda: self._answers.of(*about), self._take)

    def on_failed(self, _event: Failed) -> None:
        """Continue; the app reports the failure."""
        self._is_busy = False
        self._show()

    def _take(self, answer: WhatIfAnswer) -> None:
        """Show an answer."""
        first, self._is_busy = self._queue.answer is None, False
        self._queue.answer = answer
        self._ask()
        self._show()
        # The cursor starts on the limit that the panel was opened for, which is listed from now on.
        if first:
            self._limits.select(self._knob)

    def _show(self) -> None:
        """Show limits and queue under the changes, answered or not."""
        if self._queue.answer is not None:
            rows = self._queue.answer.limits.limits(self._group)
            ordered = sorted(rows, key=lambda row: row.knob != self._knob)
            changed = [row._replace(then=self._changes.values.get(row.knob)) for row in ordered]
            self._limits.show_rows(changed, note="nothing is changed in the database")
        self._queue.show(self._changes.choice, self._is_busy)
        self._show_facts()

    def _show_facts(self, text: str | None = None) -> None:
        """Show the sentences on the queue, or on the advice while its choices are shown."""
        self._message = self._message if text is None else text
        found, lines = self._advice.found, [self._message]
        if found is not None and self._choices.display:
            lines = advice_words(found.advice, self._advice.goal_text, self._choices.row)
        else:
            lines += self._queue.sentences(self._changes.choice, self._is_busy)
        shown: list[Line] = [((f" {line}", ""),) for line in lines if line]
        self._facts.show(shown)
        self._queue.room.share()

    # ---- keys

    def _change(self, change: Callable[[PlanLimit], str | None]) -> None:
        """Change the limit under the cursor, or notify the user why that is refused."""
        if self._limits.row is not None and self._limits.display:
            if refused := change(self._limits.row):
                self.notify(refused, timeout=4)
            self._ask()
            self._show()

    def action_type(self, digit: str) -> None:
        """Type a digit of a value."""
        self._change(partial(self._changes.type, digit=digit))

    def action_step(self, direction: int) -> None:
        """Change a limit by a step, or back to the value in force (0)."""
        self._change(partial(self._changes.step, direction=direction))

    def action_script(self) -> None:
        """Show the script in place of the queue, or the queue again."""
        self._queue.turn()

    def action_copy(self) -> None:
        """Copy the script."""
        if (scripts := self._queue.scripts(self._changes.choice)) is None:
            self.notify("Nothing copied: there is no script.")
        else:
            self._copy(scripts.change)

    def action_leave(self) -> None:
        """Close the choices, else the panel."""
        if self._choices.display:
            self._show_choices(False)
        else:
            self._advice.is_over = True
            self.dismiss()

    # ---- advice

    def action_advise(self) -> None:
        """Search for limits under which the observed statements would have started in time; show or hide the result."""
        if self._advice.found is not None:
            self._show_choices(not self._choices.display)
        elif self._advice.goals:
            self._advice.is_over = True
        elif self._queue.answer is not None:
            name = "" if self._group is None else self._group.name
            about, search = self._advice.search(self._queue.answer, self._monitor.timeline.watch.runs, name)
            self._show_facts(about)
            if search is not None:
                in_background(self, search, self._take_advice)

    def _say(self, text: str) -> None:
        """Show the progress of the search; called in its thread."""
        self.call_later(self._show_facts, text)

    def _take_advice(self, found: AdviceFound) -> None:
        """Show the choices, or why there are none; the search can then be repeated with more observations."""
        advice, self._message = found.advice, ""
        if advice.choices:
            self._advice.found = found
            self._choices.show_rows(advice.choices)
            self._show_choices(True)
        else:
            self._show_facts(" ".join(advice_words(advice, self._advice.goal_text)))
            self._advice.goals = ()

    def _show_choices(self, on: bool) -> None:
        self._choices.display, self._limits.display = on, not on
        (self._choices if on else self._limits).focus()
        self._keys.show(_KEYS_OF_ADVICE if on else _KEYS)
        self._show_facts()

    def on_grid_moved(self, event: Grid.Moved) -> None:
        """Show the choice under the cursor in full."""
        event.stop()
        self._show_facts()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """Use a choice of the advice as the changes of the panel."""
        event.stop()
        found = self._advice.found
        if event.grid is self._choices and event.row is not None and found is not None:
            choice = found.choices[found.advice.choices.index(event.row)]
            self._changes.values = {(each.kind, each.group): each.value for each in choice}
            self._show_choices(False)
            self._ask()
            self._show()
