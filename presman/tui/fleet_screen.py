"""The base screen of a fleet, and its lines: state, alerts, the database under the cursor."""

from collections.abc import Sequence

from presman.analysis.fleet import ConnectionState, Member, by_trouble, counts, rank
from presman.analysis.readings.reading import NO_ANSWER, Alert, Severity
from presman.base.formats import count, counted, duration, number, percent
from presman.figures.drawing.lines import Line, Run, length, merge
from presman.figures.fleet_figures import FLEET, past, why
from presman.tui.base_screen import BaseScreen, too_small
from presman.tui.widgets.frame_lines import KeysLine
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_api import LineView, Sentences
from presman.tui.widgets.page import Page

_SEVERITIES: dict[int, tuple[Severity, str]] = {
    0: ("bad", "✕"), 1: ("bad", "✕"), 2: ("warn", "✕"), 3: ("warn", "▲"), 4: ("note", "?"),
}  # fmt: skip
"""Severity and sign by rank: lost, critical alert, refused, warning or late, something not seen."""


def facts(name: str, members: Sequence[Member], interval: float) -> list[Run]:
    """Return the first line, left of the state: the fleet's name, the databases by state, the refresh interval."""
    found = counts(members)
    runs: list[Run] = [(f" {name}", "title"), (f"  {counted(len(members), 'database')}", "")]
    for state in ConnectionState:
        if found[state]:
            runs.append((f"  {state.glyph} {found[state]} {state.value.lower()}", state.level))
    if alerts := [each.key_figures.alerts for each in members if each.key_figures and each.key_figures.alerts]:
        runs.append((f"  ▲ {counted(sum(alerts), 'alert')} in {len(alerts)}", "warn"))
    return [*runs, (f"  every {interval:g}s", "dim")]


def first_line(name: str, members: Sequence[Member], interval: float, state: Run, width: int) -> Line:
    """Return the first line in `width` cells, the state at its right end; the last parts are dropped if need be."""
    runs = facts(name, members, interval)
    room = width - length((state,)) - 2
    while len(runs) > 1 and length(runs) > room:
        runs.pop()
    return merge([*runs, (" " * max(1, room + 1 - length(runs)), ""), state, (" ", "")])


def fleet_state(members: Sequence[Member], trouble: str, *, paused: float | None) -> Run:
    """Return the state of the fleet as a whole."""
    if trouble:
        return ("✕ STORE LOST", "bad")
    if paused is not None:
        return (f"‖ PAUSED {duration(paused)}", "warn")
    if members and all(member.connection is ConnectionState.STARTING for member in members):
        return ("… STARTING", "note")
    with_data = (member for member in members if member.reason != NO_ANSWER)
    live = any(member.connection in {ConnectionState.LIVE, ConnectionState.LATE} for member in with_data)
    return ("● LIVE", "good") if live else ("✕ NO DATA", "bad")


def fleet_alerts(members: Sequence[Member], trouble: str) -> list[Alert]:
    """Return the alerts by database, the worst first, for the line of alerts."""
    found = [Alert("bad", "✕", trouble, trouble)] if trouble else []
    for member in by_trouble(members):
        severity, mark = _SEVERITIES.get(rank(member), ("good", ""))
        if severity == "good":
            break
        text = f"{member.name}: {why(member) or member.connection.value}"
        found.append(Alert(severity, mark, text, text))
    if not found and any(member.connection is ConnectionState.LIVE for member in members):
        text = "Nothing is wrong in any database that answers."
        found.append(Alert("good", "●", text, text))
    return found


def in_trouble(members: Sequence[Member]) -> str:
    """Return in words in how many databases something is wrong, "" for one, which is named."""
    found = sum(_SEVERITIES.get(rank(each), ("good", ""))[0] in {"bad", "warn"} for each in members)
    return f"trouble in {found}" if found > 1 else ""


def about_lines(member: Member | None, to_do: str) -> list[Line]:
    """Return the lines on the database under the cursor: its state and figures, its alerts, what to do."""
    if member is None:
        return []
    state = member.connection
    since = "" if member.since is None else f" for {duration(member.since)}"
    first = (f" {member.name}  ", "title"), (f"{state.text}{since}", state.level), (_figures(member), "")
    lines: list[Line] = [first]
    if reason := why(member):
        severe = "" if member.key_figures is None else member.key_figures.severity
        lines.append(((f" {reason}", severe if state is ConnectionState.LIVE else state.level),))
    if to_do:
        lines.append(((" DO  ", "title"), (to_do, "")))
    return lines


def about_in_short(member: Member | None, to_do: str) -> list[Line]:
    """Return these lines for a screen that cuts them: without the figures, which the table has, too."""
    return [line if index else line[:2] for index, line in enumerate(about_lines(member, to_do))]


def _figures(member: Member) -> str:
    if (found := member.key_figures) is None:
        return "" if member.age is None else f"  last data {duration(member.age)} ago"
    # The name of a database is mostly a part of the name of its target.
    name = found.database if found.database.lower() not in member.name.lower() else ""
    parts = [name, f"plan {found.plan or 'none'}"]
    if found.used is not None:
        waited = "" if found.waiting is None else f", {number(found.waiting)} waited for"
        of_all = "" if found.capacity is None else f", of {count(found.capacity)}"
        parts.append(f"CPU {number(found.used)} used{waited}{of_all}")
    if found.throttled_percent is not None:
        parts.append(f"throttled {percent(found.throttled_percent)} %")
    if found.queued:
        head = "" if found.head_waited is None else f", head {duration(found.head_waited)}"
        parts.append(f"{found.queued} queued{head}")
    parts.append(f"PX servers {count(found.servers_in_use)}/{count(found.servers_target)}")
    return "  " + "  ".join(part for part in parts if part)


class FleetScreen(BaseScreen):
    """The fleet's screen: the table and the lines on the database under the cursor, or a page."""

    def __init__(self) -> None:
        super().__init__()
        self.top = LineView(id="fleet-top")
        self.grid = Grid(FLEET, trend=past)
        self.about = Sentences(id="fleet-about")
        self.page, self.keys = Page(), KeysLine(id="keys")
        self.parts = self.top, self.grid, self.about, self.page, self.message, self.keys

    def read(self, lines: Sequence[Line] | None) -> None:
        """Show a page in place of the table, or (None) the table again."""
        reading = lines is not None
        self.page.display = reading
        self.grid.display = self.about.display = not reading
        if lines is not None:
            self.page.show_lines(lines)
            self.page.scroll_to(y=0, animate=False)
            self.page.focus()
        else:
            self.grid.focus()

    def paint_message(self) -> bool:
        """Show a message if the terminal is too small; return whether it is."""
        return self.show_message(too_small(self.app.size))
