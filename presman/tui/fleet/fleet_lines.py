"""Lines around the table of a fleet: how many are in which state, the worst of them, all about the one chosen."""

from __future__ import annotations

from collections.abc import Sequence

from presman.analysis.fleet import by_trouble, counts, rank
from presman.analysis.readings.alert import Alert, Severity
from presman.analysis.readings.fleet_readings import Member, Presence
from presman.base.formats import count, counted, duration, number, percent
from presman.figures.drawing.lines import Line, Run, length, merge
from presman.figures.fleet_figures import MARKS, state_text, why

_SEVERITIES: dict[int, tuple[Severity, str]] = {0: ("bad", "✕"), 1: ("bad", "✕"), 2: ("warn", "✕"), 3: ("warn", "▲")}


def facts(name: str, members: Sequence[Member], interval: float) -> list[Run]:
    """Return the first line, left of the state: whose fleet, how many in which state, how often polled."""
    found = counts(members)
    runs: list[Run] = [(f" {name}", "title"), (f"  {counted(len(members), 'database')}", "")]
    for presence, (mark, style) in MARKS.items():
        if found[presence]:
            runs.append((f"  {mark} {found[presence]} {presence.value.lower()}", style))
    hurt = [member.vitals.alerts for member in members if member.vitals is not None and member.vitals.alerts]
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


def state(members: Sequence[Member], trouble: str, *, paused: float | None) -> Run:
    """Return the state of the fleet as a whole."""
    if trouble:
        return ("✕ STORE LOST", "bad")
    if paused is not None:
        return (f"‖ PAUSED {duration(paused)}", "warn")
    if members and all(member.presence is Presence.STARTING for member in members):
        return ("… STARTING", "note")
    live = sum(member.presence in {Presence.LIVE, Presence.LATE} for member in members)
    return ("● LIVE", "good") if live else ("✕ NO DATA", "bad")


def alerts(members: Sequence[Member], trouble: str) -> list[Alert]:
    """Return what is wrong, database by database, the worst first, for the line of alerts."""
    found = [Alert("bad", "✕", trouble, trouble)] if trouble else []
    for member in by_trouble(members):
        severity, mark = _SEVERITIES.get(rank(member), ("good", ""))
        if severity == "good":
            break
        text = f"{member.name}: {why(member) or member.presence.value}"
        found.append(Alert(severity, mark, text, text))
    if not found and any(member.presence is Presence.LIVE for member in members):
        text = "Nothing is wrong in any database that answers."
        found.append(Alert("good", "●", text, text))
    return found


def about(member: Member | None, to_do: str) -> list[Line]:
    """Return all about the database under the cursor: its state and figures, what is wrong, what to do."""
    if member is None:
        return []
    mark, style = state_text(member.presence), MARKS[member.presence][1]
    since = "" if member.since is None else f" for {duration(member.since)}"
    lines: list[Line] = [((f" {member.name}  ", "title"), (f"{mark}{since}", style), (_figures(member), ""))]
    reason = why(member)
    if reason:
        severe = "" if member.vitals is None else member.vitals.severity
        lines.append(((f" {reason}", style if member.presence is not Presence.LIVE else severe),))
    if to_do:
        lines.append(((" DO  ", "title"), (to_do, "")))
    return lines


def about_in_short(member: Member | None, to_do: str) -> list[Line]:
    """Return the same in lines that are cut where there is no room: without the figures, which stand in the table."""
    return [line if place else line[:2] for place, line in enumerate(about(member, to_do))]


def _figures(member: Member) -> str:
    found = member.vitals
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
