"""Panel of what if: limits that are changed in thought, the queue under them, the script, advice. Nothing is sent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import StartForecast
from presman.base.formats import counted, spelled
from presman.figures.drawing.lines import Line
from presman.figures.figure import NAME, NUMBER, SECONDS, TEXT, Figure, State, Table
from presman.figures.statement_figures import between, forecast_record, when
from presman.forecast.scheduler import Group
from presman.reports.advise_load import Knob
from presman.reports.advise_report import Advice, ReplayedChoice, closing, still_takes, wait_words
from presman.reports.whatif_limits import LimitChanges, PlanLimit
from presman.reports.whatif_queue import LaterStart
from presman.tabs.alerts import unseen_queue
from presman.tui.feed import Failed
from presman.tui.monitor import Monitor
from presman.tui.what_if_work import Advised, ChoicesTried, LiveAdvice, Sight, Sighted, Sights, aside
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_api import LineView, Sentences
from presman.tui.widgets.page import Page

_LOOK = 0.5
"""Seconds between two looks whether another poll is there."""

_KEYS = " ↑↓ limit  0-9 ←→ change  Del undo  s script  c copy  a advice  q back"
_KEYS_OF_ADVICE = " ↑↓ choice  Enter tries it in the panel  a q back to the limits"


def _words(limit: PlanLimit, value: int | None, none: str = "none") -> str:
    return none if value is None else f"{value}{limit.unit}"


def _better(row: LaterStart) -> State:
    return "warn" if 2 * row.later > row.courses else "good" if 2 * row.sooner > row.courses else ""


def _changes(choice: ReplayedChoice) -> str:
    return "; ".join(choice.changes) or "as it is"


def _waits(choice: ReplayedChoice) -> str:
    """Return the waits of the groups for which a choice changes anything."""
    pairs = [(each.group, wait_words(each.p95_before), wait_words(each.p95_after)) for each in choice.groups]
    return ", ".join(f"{group} {before} -> {after}" for group, before, after in pairs if before != after)


_Limit, _Start, _Choice = Figure[PlanLimit], Figure[LaterStart], Figure[ReplayedChoice]

LIMITS: Table[PlanLimit] = Table(
    "what_if_limits",
    "What if",
    (
        _Limit("whose", "Group", NAME, "The group it is a limit of.", "whose", width=12, most=24),
        _Limit("limit", "Limit", NAME, "What Oracle calls it.", "name", width=24, flexible=True),
        _Limit("now", "Now", TEXT, "What is in force.", lambda row: _words(row, row.now), width=11),
        _Limit("then", "What if", TEXT, "What it would be.", lambda row: _words(row, row.then, ""), width=11),
    ),
    lambda row: row.knob,
    "No limit of the plan could be read.",
)

_RANGE, _SOONER = "The range for 8 cases of 10.", "In so many of the courses of the queue it starts sooner."

STARTS: Table[LaterStart] = Table(
    "what_if_starts",
    "The queue, heads first",
    (
        _Start("group", "Group", NAME, "Its consumer group.", "row.group", width=12, flexible=True),
        _Start("position", "#", NUMBER, "Its position in the queue.", "row.position", width=3),
        _Start("sql_id", "SQL_ID", NAME, "What it executes.", "row.sql_id", width=13),
        _Start("waited", "Waited", SECONDS, "For how long it has waited.", "row.waited"),
        _Start("now", "Starts in", NAME, "In how long as things are.", lambda each: when(each.row.starts),
               width=9, side="right"),
        _Start("now_between", "80 % between", NAME, _RANGE, lambda each: between(each.row.starts),
               width=12, narrow=False),
        _Start("then", "What if", NAME, "In how long under the changes.", lambda each: when(each.then),
               width=8, side="right", state=_better),
        _Start("then_between", "between", NAME, "Made as that of now.", lambda each: between(each.then),
               width=12, narrow=False),
        _Start("sooner", "Sooner in", NAME, _SOONER, lambda each: f"{each.sooner} of {each.courses}", width=9),
    ),
    lambda each: each.row.executing(),
    "Nothing is queued now.",
)  # fmt: skip

CHOICES: Table[ReplayedChoice] = Table(
    "what_if_choices",
    "Advice",
    (
        _Choice("changes", "Change", NAME, "What it changes.", _changes, width=24, most=48),
        _Choice("goal", "Goal", NAME, "Whether it meets every goal.", lambda each: "met" if each.meets else "missed"),
        _Choice("waits", "95 % wait no longer than", NAME, "Now, and under the changes.", _waits, flexible=True),
    ),
    lambda each: each.changes,
    "No choice was found.",
)


def last_words(sight: Sight) -> str:
    """Return when the last of the queue starts, as a sentence; why that is not known where it is not."""
    now, then = [each.row.starts or StartForecast() for each in sight.starts], [each.then for each in sight.starts]
    if len(now) < 2:  # its row tells it all
        return ""
    if unknown := next((each.why_none for each in (*now, *then) if each.why_none), ""):
        return f"When the last of the {len(now)} queued starts is not known: {unknown}."
    first, last = (max(starts, key=lambda each: each.median or 0.0) for starts in (now, then))
    what_if = f", what if: {when(last)} ({between(last)})" if sight.choice else ""
    return f"The last of the {len(now)} queued starts in {when(first)} ({between(first)} in 8 cases of 10){what_if}."


def advice_words(advice: Advice, goals: str, choice: ReplayedChoice | None = None) -> list[str]:
    """Return what comes of advice on some goals, or how long it still takes until there can be any, as sentences.

    What stands first is all of one choice: a table may have no room for that.
    """
    whole = "" if choice is None else f"{_changes(choice)}: {_waits(choice) or 'waits stay'}."
    if advice.verdict == "too_short":
        return [still_takes(advice)]
    seen = f"{counted(advice.statements, 'statement')} in {spelled(advice.seconds)}"
    tried = f"{counted(advice.replayed, 'choice')} tried; a replayed wait is off by {advice.replay_error:.1f} s"
    return [whole, f"Advice on {goals}, by {seen}: {tried}.", *closing(advice)]


class WhatIfScreen(ModalScreen[None]):
    """Limits above, or choices of advice; the queue below, or the script; what is to be said of them, keys."""

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
        self._changes, self._sights, self._advice = LimitChanges(), Sights(), LiveAdvice(self.post_message)
        self._asked: tuple[Reading | None, object] = (None, None)
        self._is_busy = False
        self._sight: Sight | None = None
        self._said = ""
        self._limits, self._choices, self._starts = Grid(LIMITS, counted=False), Grid(CHOICES), Grid(STARTS)
        self._script, self._facts, self._keys = Page(), Sentences(id="what-if-facts", step=3), LineView()

    def compose(self) -> ComposeResult:
        """Lay the panel out."""
        yield Vertical(self._limits, self._choices, self._starts, self._script, self._facts, self._keys)

    def on_mount(self) -> None:
        """Ask about the newest poll, and about each that comes."""
        self._script.display = False
        self._show_choices(False)
        self._ask()
        self.set_interval(_LOOK, self._ask)

    # ---- questions and answers

    def _ask(self) -> None:
        """Have worked out what is on show under the changes, unless that was asked; one question at a time."""
        monitor, choice = self._monitor, self._changes.choice
        if self._is_busy or (monitor.reading is self._asked[0] and choice == self._asked[1]):
            return
        moment = monitor.moment()
        pair = None if moment is None else moment.snapshots
        if moment is not None and pair is not None:
            self._asked, self._is_busy = (moment.reading, choice), True
            about = moment.reading, pair, monitor.foresight, choice
            aside(self.post_message, lambda: Sighted(self._sights.of(*about)))

    def on_failed(self, _event: Failed) -> None:
        """Go on; the app tells of it."""
        self._is_busy = False

    def on_sighted(self, event: Sighted) -> None:
        """Show an answer."""
        first, sight, self._is_busy = self._sight is None, event.sight, False
        self._sight = sight
        self._show_limits()
        if first:
            self._limits.select(self._knob)
        hidden = () if sight.choice else ("then", "then_between", "sooner")
        why = f"Nothing is foreseen: {sight.why_none}." if sight.why_none else unseen_queue(sight.reading)
        record = forecast_record(sight.reading)
        self._starts.show_rows(sight.starts, hidden, record and f"forecasts {record}", unavailable=why)
        scripts = sight.scripts
        text = "No limit is changed: there is no script." if scripts is None else f"{scripts.change}\n{scripts.undo}"
        self._script.show_lines([((line, ""),) for line in text.split("\n")])
        self._show_facts()
        self._ask()

    def _show_limits(self) -> None:
        if self._sight is not None:
            rows = self._sight.limits.limits(self._group)
            changed = [row._replace(then=self._changes.values.get(row.knob)) for row in rows]
            self._limits.show_rows(changed, note="nothing is changed in the database")

    def _show_facts(self, said: str | None = None) -> None:
        """Show what is to be said of the queue, or of advice while its choices are on show."""
        self._said = self._said if said is None else said
        found, lines = self._advice.found, [self._said]
        if found is not None and self._choices.display:
            lines = advice_words(found.advice, self._advice.said, self._choices.row)
        elif self._sight is not None:
            lines += [last_words(self._sight), *self._sight.sentences]
        shown: list[Line] = [((f" {line}", ""),) for line in lines if line]
        self._facts.show(shown)

    # ---- keys

    def _change(self, change: Callable[[PlanLimit], str | None]) -> None:
        """Change the limit under the cursor, or say why that is refused."""
        if self._limits.row is not None and self._limits.display:
            if refused := change(self._limits.row):
                self.notify(refused, timeout=4)
            self._show_limits()
            self._ask()

    def action_type(self, digit: str) -> None:
        """Type a digit of a value."""
        self._change(partial(self._changes.type, digit=digit))

    def action_step(self, direction: int) -> None:
        """Change a limit by a step, or leave it as it is (0)."""
        self._change(partial(self._changes.step, direction=direction))

    def action_script(self) -> None:
        """Show the script in place of the queue, or the queue again."""
        self._script.display = not self._script.display
        self._starts.display = not self._script.display

    def action_copy(self) -> None:
        """Copy the script."""
        if self._sight is None or self._sight.scripts is None:
            self.notify("Nothing copied: there is no script.")
        else:
            self._copy(self._sight.scripts.change)

    def action_leave(self) -> None:
        """Close the choices, else the panel."""
        if self._choices.display:
            self._show_choices(False)
        else:
            self._advice.end()
            self.dismiss()

    # ---- advice

    def action_advise(self) -> None:
        """Search for limits under which what was seen would have started in time; show what was found, or go back."""
        if self._advice.found is not None:
            self._show_choices(not self._choices.display)
        elif self._advice.goals:
            self._advice.end()
        elif self._sight is not None:
            name = "" if self._group is None else self._group.name
            self._show_facts(self._advice.begin(self._sight, self._monitor.timeline.watch.runs, name))

    def on_choices_tried(self, event: ChoicesTried) -> None:
        """Tell how the search goes."""
        self._show_facts(event.text)

    def on_advised(self, event: Advised) -> None:
        """Show the choices, or why there are none; then it can be asked again, when more was seen."""
        advice, self._said = event.found.advice, ""
        if advice.choices:
            self._advice.found = event.found
            self._choices.show_rows(advice.choices)
            self._show_choices(True)
        else:
            self._show_facts(" ".join(advice_words(advice, self._advice.said)))
            self._advice.goals = ()

    def _show_choices(self, on: bool) -> None:
        self._choices.display, self._limits.display = on, not on
        (self._choices if on else self._limits).focus()
        self._keys.show_lines([((_KEYS_OF_ADVICE if on else _KEYS, "dim"),)])
        self._show_facts()

    def on_grid_moved(self, event: Grid.Moved) -> None:
        """Tell all of the choice under the cursor."""
        event.stop()
        self._show_facts()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """Take a choice of advice as the changes of the panel."""
        event.stop()
        found = self._advice.found
        if event.grid is self._choices and event.row is not None and found is not None:
            choice = found.choices[found.advice.choices.index(event.row)]
            self._changes.values = {(each.kind, each.group): each.value for each in choice}
            self._show_choices(False)
            self._show_limits()
            self._ask()
