"""List of a place: the groups, statements and sessions in what one went into from a tab (`presman/tabs/place.py`)."""

from __future__ import annotations

from presman.analysis.folds import fold_queue, fold_sessions
from presman.analysis.groups.verdicts import in_words
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import QueuedStatement, RunningStatement
from presman.base.formats import counted
from presman.figures.drawing.lines import Line
from presman.figures.group_figures import OVERVIEW
from presman.figures.session_figures import SESSIONS
from presman.figures.statement_figures import QUEUE, RUNNING, stands_for
from presman.records.queries import Breadth
from presman.records.session_rows import SessionCount
from presman.tabs import title
from presman.tabs.folded import servers_folded, statements_folded
from presman.tabs.moment import Moment, alike_in_groups, alike_on_one_instance, servers_scale
from presman.tabs.parts import Lines, Rows, Tab
from presman.tabs.place import Inside, counted_sessions, inside
from presman.tabs.sessions import nobody_blocked, not_listed
from presman.tabs.trail import trail
from presman.tabs.unseen import blind
from presman.tabs.verdict_lines import CPU_LEGEND

_NOTHING = Inside((), (), (), ())


def there(moment: Moment) -> Inside:
    """Return what is in the place on show."""
    return moment.once(_inside)


def _inside(moment: Moment) -> Inside:
    places = moment.choices.places
    return inside(places[-1], moment.reading) if places else _NOTHING


def groups(moment: Moment) -> tuple[GroupReading, ...]:
    """Return the groups of an instance or a container."""
    return there(moment).groups


def queue(moment: Moment) -> tuple[QueuedStatement, ...]:
    """Return its queued statements. In a statement they are its executions, and never folded."""
    rows = there(moment).queue
    return rows if moment.choices.unfolded or _is_statement(moment) else fold_queue(rows)


def running(moment: Moment) -> tuple[RunningStatement, ...]:
    """Return its running parallel statements."""
    return there(moment).running


def sessions(moment: Moment) -> tuple[SessionReading, ...]:
    """Return its sessions."""
    return moment.once(_folded)


def _folded(moment: Moment) -> tuple[SessionReading, ...]:
    return fold_sessions(there(moment).sessions, unfolded=moment.choices.unfolded)


def folded(moment: Moment) -> str:
    """Return what is said of folded servers."""
    return "" if moment.choices.unfolded else servers_folded(sessions(moment))


def told(moment: Moment) -> str:
    """Return what stands behind the title of the sessions: what is folded and what is not listed."""
    return "; ".join(filter(None, (folded(moment), _not_listed(moment))))


def _not_listed(moment: Moment) -> str:
    """Return how many idle sessions of the place are not listed, "" where all are."""
    total, listed = moment.once(_counted), len(there(moment).sessions)
    if moment.reading.unlisted == 0 or total == listed:
        return ""
    return not_listed(moment, None if total is None else total - listed)


def _counted(moment: Moment) -> int | None:
    """Return how many sessions there are in the place, listed or not; None where nobody knows."""
    snapshot, listed = moment.snapshot, len(there(moment).sessions)
    if moment.reading.unlisted == 0:
        return listed
    if moment.reading.unlisted is None or snapshot is None or not moment.choices.places:
        return None
    number = counted_sessions(moment.choices.places[-1], snapshot.rows(SessionCount))
    return None if number is None else max(number, listed)


def _is_statement(moment: Moment) -> bool:
    return bool(moment.choices.places and moment.choices.places[-1].sql_id)


def about(moment: Moment) -> list[Line]:
    """Return where one is, how much of what is there, and what is said of a group."""
    found, places = there(moment), moment.choices.places
    active = sum(row.status == "ACTIVE" for row in found.sessions)
    total = moment.once(_counted)
    number = f"{counted(len(found.sessions), 'session')} listed" if total is None else counted(total, "session")
    counts = [f"{number}, {active} active"]
    if found.running:
        servers = counted(sum(row.servers for row in found.running), "server")
        counts.append(f"{len(found.running)} running on {servers}")
    if found.queue:
        counts.append(f"{sum(map(stands_for, found.queue))} queued")
    several = len(moment.reading.header.instances) > 1
    where = trail(title(moment.choices.tab), places, several=several)
    lines: list[Line] = [((f" {where}", "title"), (f"   {'; '.join(counts)}", ""))]
    return lines + [((f" {in_words(moment.reading, row)}", ""),) for row in _own_group(moment)]


def nobody(moment: Moment) -> str:
    """Return what stands in place of sessions where there is none."""
    if _is_statement(moment):
        return "No session runs it at this moment; Esc, then Enter on the statement shows all about it."
    return "No session is in it now."


def _own_group(moment: Moment) -> list[GroupReading]:
    """Return the group that was gone into, as far as its place is nothing but that group."""
    place = moment.choices.places[-1] if moment.choices.places else None
    if place is None or not place.group or place.event or place.sql_id:
        return []
    rows = moment.reading.instance_groups(place.inst_id or 0)
    return [row for row in rows if row.name == place.group and place.con_id in {None, row.con_id}]


TAB = Tab(
    parts=(
        Lines("inside-about", about),
        Rows(OVERVIEW, groups, alike_in_groups, note=lambda _: CPU_LEGEND, least=servers_scale, optional=True),
        Rows(
            QUEUE,
            lambda moment: moment.once(queue),
            alike_on_one_instance,
            lambda moment: statements_folded(moment.once(queue)),
            measure="queue",
            optional=True,
        ),
        Rows(RUNNING, running, alike_on_one_instance, measure="parallel", optional=True),
        Rows(
            SESSIONS,
            sessions,
            nobody_blocked,
            told,
            unseen=lambda moment: blind("V$SESSION")(moment) or nobody(moment),
        ),
    ),
    notes=(
        "The lists show the sessions and statements that match everything in the trail: a statement is on an instance "
        "where it has servers, and at an event while its coordinator or one of its servers waits for it.",
    ),
    progress=True,
    breadth=Breadth.IDLE_SESSIONS,
    measure="session_io",
)
