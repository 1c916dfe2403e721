"""Lines around the tabs: above them the database's state, alerts, and what to do; the line of tabs; the keys below."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from textual.events import Click
from textual.message import Message

from presman.analysis.plans.plan_view import plan_name
from presman.analysis.readings.reading import Alert, Header, Reading, ServerPool
from presman.base.formats import ABSENT, as_of, count, counted, duration, retry
from presman.base.release import named
from presman.figures.drawing.lines import Line, Run, bar_runs, cells, fit, length, merge
from presman.tabs import tab_names
from presman.tabs.choices import Choices, Link, LinkState
from presman.tui.widgets.line_api import LineView

if TYPE_CHECKING:
    from presman.analysis.advice.step import ToDo

# ---- The line of tabs and the line of keys. A click does the same as the key.


class Labelled(NamedTuple):
    """A key on the bottom line: its displayed name, its label, and the action that a click runs."""

    shown: str
    label: str
    action: str


@dataclass(eq=False)
class Clicked(Message):
    """Something on one of the lines was clicked: the name of its action."""

    action: str


class _ClickLine(LineView):
    """A line whose parts are actions."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._targets: list[tuple[int, int, str]] = []

    def on_click(self, event: Click) -> None:
        """Post the action that was clicked."""
        for start, end, action in self._targets:
            if start <= event.x < end:
                self.post_message(Clicked(action))


class TabLine(_ClickLine):
    """The tabs with their digits; the current one is marked by brackets, not only by colour."""

    def show(self, tab: str, note: str = "", hidden: Collection[str] = ()) -> None:
        """Mark a tab. `note` is shown at the right; `hidden` tabs are omitted: they have nothing to show here."""
        self.redraw = partial(self.show, tab, note, hidden)
        runs: list[Run] = [(" ", "")]
        self._targets = []
        used = 1
        room = (self.size.width or self.app.size.width) - (cells(note) + 1 if note else 0)
        for text, name in tab_texts(tab, hidden, room):
            self._targets.append((used, used + len(text), f"key('tab_{name}')"))
            close = name != tab and text[1:2].strip()  # no blank between key and title: colours separate them
            runs += [(text[0], "key"), (text[1:], "dim")] if close else [(text, "title" if name == tab else "dim")]
            runs.append((" ", ""))
            used += len(text) + 1
        blanks = self.size.width - used - cells(note) - 1
        if note and blanks > 0:
            runs += [(" " * blanks, ""), (note, "warn")]
        self.show_lines([merge(runs)])


def tab_texts(tab: str, hidden: Collection[str], width: int) -> list[tuple[str, str]]:
    """Return (text, name) of the tabs. On shorter lines they are closer together, then the other tabs lose the blank
    after their keys, then their titles."""
    names = [each for each in tab_names() if each.name not in hidden]
    for form in (" {0} {1} ", "{0} {1}", "{0}{1}", "{0}"):
        texts = []
        for key, name, title, _ in names:
            texts.append((f"[{key} {title}]" if name == tab else form.format(key, title), name))
        if sum(len(text) + 1 for text, _ in texts) + 1 <= width:
            break
    return texts


class KeysLine(_ClickLine):
    """The keys that are available here."""

    ground = "panel"

    def show(self, actions: Sequence[Labelled]) -> None:
        """Show as many of these actions as fit."""
        self.redraw = partial(self.show, actions)
        width = self.size.width or self.app.size.width
        runs: list[Run] = [(" ", "")]
        self._targets = []
        used = 1
        for action in actions:
            size = cells(action.shown) + 1 + cells(action.label) + 2
            if used + size > width:
                break
            self._targets.append((used, used + size - 2, action.action))
            runs += [(action.shown, "key"), (f" {action.label}  ", "")]
            used += size
        self.show_lines([merge(runs)])


# ---- The top lines: the database and its state, the alerts, and what to do about them


COSTS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 3000, 5000, 10000)
"""The cost of a poll is rounded up to one of these milliseconds: a flickering figure would add nothing."""


_STATE_STEP = 4

_LISTING = "overview"
"""The tab that shows all alerts in full."""


Part = tuple[int, Line]
"""A part of the top line, after its rank: those with the highest rank are dropped first if room is short."""


class TopLine(NamedTuple):
    """The contents of the top line. `cost` is the usual duration of a poll in seconds, `now` the app's clock."""

    name: str
    reading: Reading | None
    choices: Choices
    link: Link
    cost: float | None
    exporting: str
    now: float


class TopLines(LineView):
    """The line of facts, the line of alerts and, if there is something to do, a line for that."""

    ground = "panel"

    def show(self, top: TopLine, found: Sequence[Alert], to_do: ToDo | None = None) -> None:
        """Show the lines."""
        self.redraw = partial(self.show, top, found, to_do)
        self.set_class(to_do is not None, "-to-do")
        width = self.size.width or self.app.size.width
        found = (*silence(top), *found)
        alerts = alert_line(found, width, listed=top.choices.tab == _LISTING)
        do = () if to_do is None else (do_line(to_do, width, top.choices.tab, was_so=not _is_live(top)),)
        self.show_lines((top_line(top, width), alerts, *do))


class StateView(LineView):
    """The state, above the right end of the line of facts: what changes every second is sent without the rest."""

    ground = "panel"

    def show(self, top: TopLine) -> None:
        """Show the state, in as many cells as it needs."""
        state = state_runs(top)
        width = state_width(state)
        if self.styles.width is None or self.styles.width.value != width:
            self.styles.width = width
        self.show_lines((((" " * (width - length(state) - 1), ""), *state, (" ", "")),))


def top_line(top: TopLine, width: int) -> Line:
    """Return the line of facts: the most important ones that fit `width` cells. The state is drawn at the right."""
    parts = _facts(top)
    room = width - state_width(state_runs(top)) - 1
    while len(parts) > 1 and sum(length(part) for _, part in parts) + 3 * (len(parts) - 1) > room:
        parts.remove(max(parts, key=itemgetter(0)))
    runs: list[Run] = [(" ", "")]
    for index, (_, part) in enumerate(parts):
        runs += [("   ", "")] if index else []
        runs += part
    used = length(runs)
    if used > room + 1:
        runs, used = [(fit(" " + top.name, max(1, room)), "title")], max(1, room)
    return merge([*runs, (" " * max(0, width - used), "")])


def _facts(top: TopLine) -> list[Part]:
    reading, name = top.reading, top.name
    if reading is None:
        return [(0, ((name, "title"),))]
    header = reading.header
    queued = not reading.part and bool(reading.queue or reading.why_unknown("queue"))  # or they may, if it is not seen
    parts: list[Part] = [
        (0, ((header.database or name, "title"),)),
        (7, ((_release(header, len(reading.gone)), ""),)),
        (6, ((header.container, "note"),)),
        (10, (("" if header.uptime is None else f"up {_coarse(header.uptime)}{header.youngest}", "dim"),)),
        (3, (("plan ", "dim"), (plan_name(reading), ""), (" ≠ plans differ" if header.mixed_plans else "", "warn"))),
        (4, _managed(header)),
        (2, ((f"packs {' + '.join(top.choices.packs)}" if top.choices.packs else "", "warn"),)),
        (1, _servers(header.servers, reading.age_of("V$PX_PROCESS_SYSSTAT"), queued=queued)),
        (8, _gauge(header.servers)),
        (6, (("max ", "dim"), (count(header.servers.maximum), ""))),
        (9, ((f"every {_pace(top, reading):g}s", "dim"),)),
        (2, _rates(top, reading)),
        (5, _age(top)),
        (11, ((_cost(top, reading), "dim"),)),
        (5, ((f"▸ {top.exporting}" if top.exporting else "", "note"),)),
    ]
    return [(rank, part) for rank, part in parts if length(part)]


def _release(header: Header, gone: int) -> str:
    """Return the release and type of the database, and the number of instances of a cluster, without those `gone`."""
    release = named(".".join(header.version.split(".")[:2]))
    instances = len(header.instances)
    left = f"{instances} of " if gone else ""
    cluster = f" RAC {left}{counted(instances + gone, 'instance')}" if instances + gone > 1 else ""
    exadata = " Exadata" if header.exadata else ""
    cloud = " Autonomous" if header.autonomous else ""
    return f"{release}{cluster}{exadata}{cloud}"


def _managed(header: Header) -> Line:
    caged = ", caged" if header.caging.upper() == "ON" else ""
    cpus = "?" if header.num_cpus is None else f"{header.num_cpus:g}"
    cpu = f"CPU {header.cpu_managed.lower() or '?'}{caged} {cpus}"
    return ((cpu, "" if header.cpu_managed.upper() == "ON" else "dim"), (f"  PX {header.px_managed or '?'}", ""))


def _servers(pool: ServerPool, old: float | None, *, queued: bool) -> Line:
    """Return the servers in use, how old that is, and a mark only if they reach the target and statements queue."""
    # More servers than the target are no problem by themselves: statements that bypass the queue may use them.
    over = queued and pool.target is not None and (pool.in_use or 0) >= pool.target > 0
    text = as_of(f"PX servers {count(pool.in_use)}/{count(pool.target)}", old)
    return ((text, "warn" if over else ""), (" ▲" if over else "", "warn"))


def _gauge(pool: ServerPool) -> Line:
    from presman.figures.instance_figures import pool_bar  # not needed for the first frame

    return bar_runs(pool_bar(pool), 20)


def _coarse(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600)):
        if seconds >= size:
            return f"{seconds // size:.0f}{unit}"
    return f"{seconds // 60:.0f}m"


def is_ticking(top: TopLine) -> bool:
    """Return whether the top line changes every second, even without a poll."""
    return top.link.state is LinkState.LOST or top.choices.paused is not None or not _is_fresh(top) or bool(_late(top))


def tick_after(top: TopLine) -> float:
    """Return after how many seconds to look whether the top line has changed. Usually a poll comes first."""
    later = 1.5 * top.choices.refresh
    return 1.0 if is_ticking(top._replace(now=top.now + later)) else max(1.0, later)


def _is_fresh(top: TopLine) -> bool:
    """Return whether the newest data is at most two intervals old, or is of the past anyway."""
    return top.link.is_past or top.now - top.link.fresh <= _freshness_limit(top)


def _freshness_limit(top: TopLine) -> float:
    return 2 * top.choices.refresh


def _late(top: TopLine) -> list[float | None]:
    """Return the ages of single views' rows that are older than two intervals; None for a view that never answered."""
    if top.reading is None:
        return []
    since = top.now - top.link.since + top.reading.poll_seconds
    ages = (None if each.age is None else each.age + since for each in top.reading.late)
    return [age for age in ages if age is None or age > _freshness_limit(top)]


def _age(top: TopLine) -> Line:
    """Return how old the newest data is: an upper bound while it is fresh, the exact seconds otherwise."""
    if top.link.is_past:
        return (("recorded" if top.link.state is LinkState.REPLAY else "spooled", "note"),)
    word, old = ("newest", " old") if top.choices.behind else ("age", "")
    if _is_fresh(top):
        return ((f"{word} ≤{_freshness_limit(top):g}s{old}", "dim"),)
    return ((f"{word} {duration(top.now - top.link.fresh)}{old}", "warn"),)


def _pace(top: TopLine, reading: Reading) -> float:
    """Return the seconds between two polls: those of a spool were as far apart as its samples."""
    return round(reading.interval, 1) if top.link.is_past and reading.interval else top.choices.refresh


def _rates(top: TopLine, reading: Reading) -> Line:
    """Return the time that rates cover where it is not the interval, as after another interval or an extra poll."""
    over, usual = reading.interval, _pace(top, reading)
    if over is None or abs(over - usual) <= usual / 4:
        return ()
    return ((f"rates over {over:.{0 if over >= 9.95 else 1}f}s", "dim"),)


def _cost(top: TopLine, reading: Reading) -> str:
    cost = None if top.cost is None else next((step for step in COSTS if top.cost * 1000 <= step), None)
    shown = ABSENT if cost is None else f"≤{cost}ms"
    trips = f" {counted(reading.round_trips, 'trip')}" if reading.round_trips else ""
    return f"poll {shown}{trips}"


def state_runs(top: TopLine) -> Line:
    """Return the state: a glyph, a word and its figures. That of a spool has the time of its sample."""
    choices, link, now = top.choices, top.link, top.now
    if link.state is LinkState.LOST:
        lasting, again = duration(now - link.since), link.retry_at
        what = "REFUSED" if again is None or link.wants_password else "LOST"
        then = "" if again is None else f", {retry(again - now, wants_password=link.wants_password)}"
        return ((f"✕ {what} {lasting}{then}", "bad"),)
    if link.state is LinkState.REPLAY:
        return ((link.text, "note"),)
    sampled = _sampled(top.reading) if link.is_past and top.reading is not None else ""
    if choices.behind and top.reading is not None:
        at = sampled or f"{top.reading.at.astimezone():%H:%M:%S}"
        return ((f"◀ {at}", "warn"), (f" {choices.behind} back", "dim"))
    if choices.paused is not None:
        return ((f"‖ PAUSED {sampled or duration(now - choices.paused)}", "warn"),)
    if link.is_past:
        return ((f"▶ {sampled}" if link.state is LinkState.SPOOL else f"■ END {sampled or 'of data'}", "note"),)
    return _flow(top)


def _sampled(reading: Reading) -> str:
    from presman.recording.time_words import spelled_instant  # not needed for the first frame of a live database

    return spelled_instant(reading.at)


def _flow(top: TopLine) -> Line:
    """Return the state of the data: live means that it is at most two intervals old."""
    link, now = top.link, top.now
    if link.state is LinkState.CONNECTING:
        return (("… CONNECTING" if _is_fresh(top) else f"… CONNECTING {duration(now - link.since)}", "note"),)
    if not _is_fresh(top):
        return ((f"◌ LATE {duration(now - link.fresh)}", "warn"),)
    if late := _late(top):
        oldest = max((age for age in late if age is not None), default=None)
        lasting = "" if oldest is None else f" {duration(oldest)}"
        return ((f"◌ LATE{lasting}", "warn"), (f" {counted(len(late), 'view')}", "dim"))
    return (("● LIVE", "good"),)


def silence(top: TopLine) -> tuple[Alert, ...]:
    """Return an alert if the database no longer answers although the connection is not known to be lost."""
    if top.link.state is not LinkState.LIVE or _is_fresh(top):
        return ()
    text = f"No answer for {duration(top.now - top.link.fresh)}: the data shown is that old"
    return (Alert("warn", "◌", text, text),)


def state_width(state: Line) -> int:
    """Return the width of the state with its blanks, in steps, so that the line seldom moves."""
    return -(-(length(state) + 2) // _STATE_STEP) * _STATE_STEP


def _is_live(top: TopLine) -> bool:
    """Return whether data still arrives. A recording and an instant in the past count as live."""
    return top.link.state is not LinkState.LOST and not silence(top)


def do_line(found: ToDo, width: int, on_tab: str = "", *, was_so: bool = False) -> Line:
    """Return the one thing to do, in the longest of its words that fit, with the key that copies its command.

    Without a command it has the key of the tab with more details, unless that is the tab on screen. `was_so` marks it
    as past, because the times in it would otherwise seem to be current.
    """
    hint: Line = ()
    if found.command is not None:
        what = "the command" if len(found.commands) == 1 else f"the {len(found.commands)} commands"
        hint = (("   C", "key"), (f" copies {what}", "dim"))
    elif found.tab and on_tab != found.tab:
        hint = ((f"   {tab_key(found.tab)}", "key"), (" shows more", "dim"))
    label: Run = (" DO  ", "title")
    old: Line = (("when last seen: ", "warn"),) if was_so else ()
    # The key that copies a command always stays; that of a tab goes before the words do.
    last = hint if found.command is not None else ()
    both = [(f"{found.short}; {found.beside}", hint)] if found.beside else []
    longer, shorter = ([(text, more) for text in words for more in (hint, last)] for words in _longer_shorter(found))
    for text, more in ((found.text, hint), *longer, *both, (found.short, hint), *shorter):
        if length((label, *old, (text, ""), *more)) <= width:
            return merge([label, *old, (text, ""), *more])
    room = width - length((label, *old, *hint))
    return merge([label, *old, (fit(found.short, max(1, room)), ""), *hint])


def _longer_shorter(found: ToDo) -> tuple[list[str], list[str]]:
    """Return the words of a to-do that are longer than its short ones, and those that are shorter, longest first.

    They lose an aside, then why one has to wait, then the last clause: no sentence is cut.
    """
    short = found.short
    longer = [each for each in found.between if len(each) > len(short)]
    aside = [text for each in longer if (text := _ASIDE.sub("", each)) not in longer]
    wait = [clause for clause in short.split("; ")[1:] if clause.startswith("wait")]
    between = [each for each in found.between if each not in longer]
    bare = _ASIDE.sub("", short)
    brief, least = (bare.rpartition(end)[0] or bare for end in ("; ", ": "))
    return [*longer, *aside], [*([bare] if bare != short else []), *between, *wait, brief, least]


def tab_key(name: str) -> str:
    """Return the key of a tab."""
    return next(each.key for each in tab_names() if each.name == name)


def _counted(found: Sequence[Alert], width: int, *, listed: bool) -> str:
    """Return how many alerts there are and, unless they are `listed` below, the key of the tab that lists them.

    Notes are not alerts: they are counted only if there is at most one alert, and room beside it.
    """
    alerts = sum(alert.state in {"bad", "warn"} for alert in found)
    notes = sum(alert.state == "note" for alert in found)
    where = "" if listed else f", press {tab_key(_LISTING)}"
    if alerts > 1:
        return f" {alerts} alerts{where} "
    tail = f" {counted(notes, 'note')}{where} " if len(found) > 1 and notes else " "
    return tail if cells(found[0].short) + 3 + len(tail) <= width else " "


_CLAUSES = re.compile(r"; | and (?!\d+ \()|, | each by ")
"""Where the short words of an alert may be cut: not between two shortages, which apply together."""

_ASIDE = re.compile(r" \((?:idle|it may end|no estimate) [^()]*\)")
"""The parts that the short words of a to-do may lose: times of a session matter less than what to do about it."""


def _whole_words(alert: Alert, room: int) -> str:
    """Return the short words of an alert, without the last clauses if there is no room for all.

    An all-clear names all that it is based on, or nothing.
    """
    ends = [found.start() for found in _CLAUSES.finditer(alert.short)]
    if alert.state == "good":
        ends = [alert.short.index(": ")] if ": " in alert.short else []
    between = (each for each in alert.between if len(each) < len(alert.short))
    whole = (alert.short, *between, *(alert.short[:end] for end in reversed(ends)))
    return next((each for each in whole if cells(each) <= room), alert.short)


def _forms(alert: Alert, *, alone: bool, first: bool) -> Sequence[str]:
    """Return the whole forms of an alert for a line, longest first: above `short` only `alone`, below it if not first.

    The full sentence is none of them if another form says more.
    """
    if not first:
        return (alert.short, *(each for each in alert.between if len(each) < len(alert.short)))
    longer = [each for each in alert.between if len(each) >= len(alert.short)]
    more = max(map(len, longer), default=0) > len(alert.text)
    return [*([] if more else [alert.text]), *longer] if alone else []


def alert_line(found: Sequence[Alert], width: int, *, listed: bool = False, tail: str | None = None) -> Line:
    """Return the alerts that fit on one line, the worst first, and how many there are: the same number on all tabs.

    `tail` takes the place of that number.
    """
    if not found:
        return ()
    tail = _counted(found, width, listed=listed) if tail is None else f" {tail} "
    room = width - len(tail) - 1
    runs: list[Run] = []
    used = 0
    for index, alert in enumerate(found):
        gap = 3 if index else 1
        forms = _forms(alert, alone=len(found) == 1, first=not index)
        fitting = (each for each in forms if used + gap + cells(each) + 2 <= room)
        text = f"{alert.glyph} {next(fitting, alert.short if index else _whole_words(alert, room - 2))}"
        size = cells(text) + gap
        if index and used + size > room:
            break
        runs += [("   " if index else " ", ""), (fit(text, min(room, size - gap)), alert.state)]
        used += size
    return merge([*runs, (" " * max(0, width - length(runs) - len(tail)), ""), (tail, "dim")])
