"""What-if panel: limits changed hypothetically, the queue under them, the script, advice. Nothing is sent."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from presman.analysis.readings.reading import Reading
from presman.base.formats import counted, spelled
from presman.figures.drawing.lines import Line
from presman.figures.figure import NAME, TEXT, Figure, Table
from presman.forecast.scheduler import Group
from presman.reports.advise_load import Knob
from presman.reports.advise_report import Advice, ReplayedChoice
from presman.reports.advise_text import closing, still_takes
from presman.reports.whatif_queue import LimitChanges, PlanLimit
from presman.reports.whatif_text import off_by, wait_words
from presman.tui.feed import Failed
from presman.tui.monitor import Monitor
from presman.tui.what_if_queue import (
    Advised,
    ChoicesTried,
    LiveAdvice,
    QueueOnShow,
    WhatIfAnswered,
    WhatIfAnswers,
    in_background,
)
from presman.tui.widgets.frame_lines import KeysLine, Labelled
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_api import Sentences

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


def _waits(choice: ReplayedChoice) -> str:
    """Return the waits of the groups that a choice changes."""
    pairs = [(each.group, wait_words(each.p95_before), wait_words(each.p95_after)) for each in choice.groups]
    return ", ".join(f"{group} {before} -> {after}" for group, before, after in pairs if before != after)


_Limit, _Choice = Figure[PlanLimit], Figure[ReplayedChoice]

LIMITS: Table[PlanLimit] = Table(
    "what_if_limits",
    "What if",
    (
        _Limit("title", "Group", NAME, "The group it is a limit of.", "title", width=12, most=24),
        _Limit("limit", "Limit", NAME, "What Oracle calls it.", "name", width=24, flexible=True),
        _Limit("now", "Now", TEXT, "What is in force.", lambda row: _words(row, row.now), width=11),
        _Limit("then", "What if", TEXT, "What it would be.", lambda row: _words(row, row.then, ""), width=11),
    ),
    lambda row: row.knob,
    "No limit of the plan could be read.",
)

CHOICES: Table[ReplayedChoice] = Table(
    "what_if_choices",
    "Advice",
    (
        _Choice("changes", "Change", NAME, "What it changes.", _changes, width=24, most=48),
        _Choice(
            "goal",
            "Goal",
            NAME,
            "Whether it meets every goal.",
            lambda row: "?" if row.meets is None else "met" if row.meets else "missed",
            width=6,
        ),
        _Choice("waits", "95 % wait no longer than", NAME, "Now, and under the changes.", _waits, flexible=True),
    ),
    lambda row: row.changes,
    "No choice was found.",
)


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
        self._changes, self._answers, self._advice = LimitChanges(), WhatIfAnswers(), LiveAdvice(self.post_message)
        self._asked: tuple[Reading | None, object] = (None, None)
        self._is_busy = False
        self._message = ""
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
        if self._is_busy or is_requested:
            return
        moment = monitor.moment()
        pair = None if moment is None else moment.snapshots
        if moment is not None and pair is not None:
            self._asked, self._is_busy = (moment.reading, choice), True
            about = moment.reading, pair, monitor.forecast_basis, choice
            in_background(self.post_message, lambda: WhatIfAnswered(self._answers.of(*about), choice))

    def on_failed(self, _event: Failed) -> None:
        """Continue; the app reports the failure."""
        self._is_busy = False
        self._show()

    def on_what_if_answered(self, event: WhatIfAnswered) -> None:
        """Show an answer."""
        first, self._is_busy = self._queue.answer is None, False
        self._queue.take(event)
        self._ask()
        self._show()
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
        scripts = self._queue.scripts(self._changes.choice)
        if scripts is None:
            self.notify("Nothing copied: there is no script.")
        else:
            self._copy(scripts.change)

    def action_leave(self) -> None:
        """Close the choices, else the panel."""
        if self._choices.display:
            self._show_choices(False)
        else:
            self._advice.end()
            self.dismiss()

    # ---- advice

    def action_advise(self) -> None:
        """Search for limits under which the observed statements would have started in time; show or hide the result."""
        if self._advice.found is not None:
            self._show_choices(not self._choices.display)
        elif self._advice.goals:
            self._advice.end()
        elif self._queue.answer is not None:
            name = "" if self._group is None else self._group.name
            self._show_facts(self._advice.begin(self._queue.answer, self._monitor.timeline.watch.runs, name))

    def on_choices_tried(self, event: ChoicesTried) -> None:
        """Show the progress of the search."""
        self._show_facts(event.text)

    def on_advised(self, event: Advised) -> None:
        """Show the choices, or why there are none; the search can then be repeated with more observations."""
        advice, self._message = event.found.advice, ""
        if advice.choices:
            self._advice.found = event.found
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
