"""Lines around the table of a fleet: how many are in which state, the worst of them, all about the one chosen."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from presman.analysis.fleet import by_trouble, counts, rank
from presman.analysis.readings.alert import Alert, Severity
from presman.analysis.readings.fleet_readings import ConnectionState, Member
from presman.base.formats import count, counted, duration, number, percent
from presman.figures.drawing.lines import Line, Run, length, merge
from presman.figures.fleet_figures import FLEET, MARKS, past, state_text, why
from presman.tui.screen import LEAST
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_api import PlainBackground
from presman.tui.widgets.line_view import LineView, Sentences
from presman.tui.widgets.page import Page
from presman.tui.widgets.tab_line import KeysLine, Labelled

_SEVERITIES: dict[int, tuple[Severity, str]] = {0: ("bad", "✕"), 1: ("bad", "✕"), 2: ("warn", "✕"), 3: ("warn", "▲")}


def facts(name: str, members: Sequence[Member], interval: float) -> list[Run]:
    """Return the first line, left of the state: whose fleet, how many in which state, how often polled."""
    found = counts(members)
    runs: list[Run] = [(f" {name}", "title"), (f"  {counted(len(members), 'database')}", "")]
    for connection, (mark, style) in MARKS.items():
        if found[connection]:
            runs.append((f"  {mark} {found[connection]} {connection.value.lower()}", style))
    hurt = [
        member.key_figures.alerts for member in members if member.key_figures is not None and member.key_figures.alerts
    ]
    if hurt:
        runs.append((f"  ▲ {counted(sum(hurt), 'alert')} in {len(hurt)}", "warn"))
    return [*runs, (f"  every {interval:g}s", "dim")]


def first_line(name: str, members: Sequence[Member], interval: float, state: Run, width: int) -> Line:
    """Return the first line in `width` cells, the state at its right end; what has no room is left out from behind."""
    runs = facts(name, members, interval)
    room = width - length((state,)) - 2
    while len(runs) > 1 and length(runs) > room:
        runs.pop()
    blanks = max(1, room + 1 - length(runs))
    return merge([*runs, (" " * blanks, ""), state, (" ", "")])


def fleet_state(members: Sequence[Member], trouble: str, *, paused: float | None) -> Run:
    """Return the state of the fleet as a whole."""
    if trouble:
        return ("✕ STORE LOST", "bad")
    if paused is not None:
        return (f"‖ PAUSED {duration(paused)}", "warn")
    if members and all(member.connection is ConnectionState.STARTING for member in members):
        return ("… STARTING", "note")
    live = sum(member.connection in {ConnectionState.LIVE, ConnectionState.LATE} for member in members)
    return ("● LIVE", "good") if live else ("✕ NO DATA", "bad")


def fleet_alerts(members: Sequence[Member], trouble: str) -> list[Alert]:
    """Return what is wrong, database by database, the worst first, for the line of alerts."""
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


def about_lines(member: Member | None, to_do: str) -> list[Line]:
    """Return all about the database under the cursor: its state and figures, what is wrong, what to do."""
    if member is None:
        return []
    mark, style = state_text(member.connection), MARKS[member.connection][1]
    since = "" if member.since is None else f" for {duration(member.since)}"
    lines: list[Line] = [((f" {member.name}  ", "title"), (f"{mark}{since}", style), (_figures(member), ""))]
    reason = why(member)
    if reason:
        severe = "" if member.key_figures is None else member.key_figures.severity
        lines.append(((f" {reason}", style if member.connection is not ConnectionState.LIVE else severe),))
    if to_do:
        lines.append(((" DO  ", "title"), (to_do, "")))
    return lines


def about_in_short(member: Member | None, to_do: str) -> list[Line]:
    """Return the same in lines that are cut where there is no room: without the figures, which stand in the table."""
    return [line if index else line[:2] for index, line in enumerate(about_lines(member, to_do))]


def _figures(member: Member) -> str:
    found = member.key_figures
    if found is None:
        return "" if member.age is None else f"  last data {duration(member.age)} ago"
    parts = [
        found.database if found.database.lower() not in member.name.lower() else "",
        f"plan {found.plan or 'none'}",
    ]
    if found.used is not None:
        parts.append(f"CPU {number(found.used)} used, {number(found.waiting)} waited for, of {count(found.capacity)}")
        parts.append(f"throttled {percent(found.throttled_percent)} %")
    if found.queued:
        parts.append(f"{found.queued} queued, head {duration(found.head_waited)}")
    parts.append(f"PX servers {count(found.servers_in_use)}/{count(found.servers_target)}")
    return "  " + "  ".join(part for part in parts if part)


class FleetScreen(Screen[None], PlainBackground):
    """Textual's own paints everything anew when the focus moves; here only what has it looks different."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(self) -> None:
        super().__init__(id="_default")
        self.top, self.message = LineView(id="fleet-top"), LineView(id="message")
        self.grid = Grid(FLEET, trend=past)
        self.about = Sentences(id="fleet-about")
        self.page, self.keys = Page(), KeysLine(id="keys")

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield self.top
        yield self.grid
        yield self.about
        yield self.page
        yield self.message
        yield self.keys

    def show(self, members: Sequence[Member], unavailable: str) -> None:
        """Fill the table; `unavailable` says why there is no row."""
        self.grid.show_rows(members, unavailable=unavailable)

    def read(self, lines: Sequence[Line] | None) -> None:
        """Put a page in place of the table, or (None) the table back."""
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
        """Say plainly when the terminal is too small; return whether it is."""
        width, height = self.app.size
        too_small = width < LEAST[0] or height < LEAST[1]
        lines: list[Line] = [
            (("terminal too small", "bad"),),
            ((f"presman needs {LEAST[0]} x {LEAST[1]}, this one has {width} x {height}", ""),),
            (("enlarge it, or q quits", "dim"),),
        ]
        self.message.show_lines(lines if too_small else [])
        self.set_class(too_small, "-message")
        return too_small

    def paint_keys(self, keys: Sequence[Labelled]) -> None:
        """Offer these keys."""
        self.keys.show(keys)
