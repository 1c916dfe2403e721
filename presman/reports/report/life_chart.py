"""Life chart: parallel statements over time, one line each: queued, running, idle."""

from __future__ import annotations

from collections.abc import Sequence

from presman.base.colours import HUES, OTHERS, GroupColours
from presman.base.formats import counted, spelled
from presman.base.markup import IDLE, Markup, drawing, element, joined, label
from presman.recording.tape_values import StatementLife
from presman.reports.report.time_axis import LEFT, TimeAxis, below, clock

MOST = 50
"""Statements that are drawn: those that waited or worked for most server time."""

_LINE, _TOP = 14.0, 4.0
_QUEUED, _RUNNING = 0.35, 0.8
"""How much of its line a bar is high."""


def life_chart(lives: Sequence[StatementLife], axis: TimeAxis, colours: GroupColours) -> Markup:
    """Return the statements, the first to come on top."""
    rows = sorted(lives, key=lambda each: (each.came, each.gone))
    bottom = _TOP + _LINE * len(rows)
    parts = [_life(each, place, axis, _style(each, colours)) for place, each in enumerate(rows)]
    ticks = below(axis, _TOP, bottom)
    return drawing(bottom + 24, "Parallel statements over time", [ticks, *parts])


def _style(life: StatementLife, colours: GroupColours) -> str:
    return colours.style(life.group, life.con_id) or OTHERS


def _life(life: StatementLife, place: int, axis: TimeAxis, style: str) -> Markup:
    y = _TOP + _LINE * place
    gone, idle = life.gone, life.idle_at
    spans = (
        (life.queued_at, life.held_from or gone, HUES[style].page, _QUEUED),
        (life.held_from, idle or gone, HUES[style].page, _RUNNING),
        (idle, gone, IDLE, _RUNNING),
    )
    bars = [
        element(
            "rect", x=axis.x(begin), y=y + _LINE * (1 - tall) / 2, width=max(1.0, axis.x(stop) - axis.x(begin)),
            height=_LINE * tall, fill=fill,
        )
        for begin, stop, fill, tall in spans
        if begin is not None and stop > axis.start and begin < axis.end
    ]  # fmt: skip
    name = life.sql_id or f"{life.inst_id}:{life.sid}"
    told = element("title", "\n".join(facts(life)))
    return element("g", told, *bars, label(LEFT - 6, y + 11, name[:13], "end", size=10), class_="life")


def facts(life: StatementLife) -> list[str]:
    """Return what is known of a statement, one fact a line."""
    gone = life.gone
    lines = [f"{life.sql_id or '(no SQL_ID)'}, {life.user or '?'} {life.inst_id}:{life.sid},{life.serial}"]
    lines.append(f"group {life.group or 'unknown'}, {counted(life.servers, 'server')}")
    if life.queued_at is not None:
        until = life.held_from or gone
        lines.append(f"queued from {clock(life.queued_at)} for {spelled((until - life.queued_at).total_seconds())}")
    if life.held_from is not None:
        until = life.idle_at or gone
        lines.append(f"ran from {clock(life.held_from)} for {spelled((until - life.held_from).total_seconds())}")
    if life.idle_at is not None:
        lines.append(
            f"idle, servers kept, from {clock(life.idle_at)} for {spelled((gone - life.idle_at).total_seconds())}"
        )
    if life.ended_at is None:
        lines.append(f"its end was not seen; last seen {clock(gone)}")
    return lines


def legend(lives: Sequence[StatementLife], colours: GroupColours) -> Markup:
    """Return what the bars mean."""
    groups = sorted({(life.group, _style(life, colours)) for life in lives})
    marks = [(style, "■", name or "group unknown") for name, style in groups]
    marks += [("", "▂", "queued"), ("", "█", "running"), ("idle", "█", "idle, keeps its servers")]
    return joined(element("span", element("b", sign, class_=style or None), f" {text}") for style, sign, text in marks)
