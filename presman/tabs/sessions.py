"""Tab 5 Sessions: every session with its group, and the statements that are held off CPU."""

from collections.abc import Sequence

from presman.analysis.caches import once
from presman.analysis.collapsed_rows import collapse_sessions
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.session_list import CpuWaiter, cpu_waiters
from presman.figures.session_figures import CPU_WAITERS, SESSIONS
from presman.rows.queries import DetailLevel
from presman.tabs.parts import Moment, Rows, Tab
from presman.tabs.table_notes import servers_folded, unavailable


@once
def waiters(moment: Moment) -> tuple[CpuWaiter, ...]:
    """Return the statements whose sessions are held off CPU."""
    return cpu_waiters(moment.reading)


@once
def shown(moment: Moment) -> Sequence[SessionReading]:
    """Return the sessions, parallel servers under their coordinators unless they are unfolded."""
    if moment.choices.plain:
        return moment.reading.sessions
    return collapse_sessions(moment.reading.sessions, unfolded=moment.choices.unfolded)


def without_blockers(moment: Moment) -> set[str]:
    """Return the column of blockers if no session is blocked."""
    return set() if any(row.blocker for row in moment.reading.sessions) else {"blocked_by"}


def hidden(moment: Moment) -> set[str]:
    """Return the column of the container if all sessions are in the same one."""
    return set() if len({row.con_id for row in waiters(moment)}) > 1 else {"con_id"}


def without_idle(moment: Moment) -> str:
    """Return which sessions are not listed, "" if all are."""
    return not_listed(moment, moment.reading.unlisted)


def not_listed(moment: Moment, number: int | None) -> str:
    """Return the note that `number` idle sessions (None: not known) are not listed: narrow polls do not read all."""
    if number == 0:
        return ""
    which = "idle sessions" if number is None else f"{number:,} idle session{'s' * (number != 1)}"
    frozen = moment.choices.behind or moment.choices.paused is not None
    why = "which this poll did not read" if frozen else "read once a minute and while this tab is open"
    return f"not listed: {which}, {why}"


def session_note(moment: Moment) -> str:
    """Return the note after the title: how many are folded, and how many are not listed."""
    return folded_and_not_listed(moment, shown(moment), moment.reading.unlisted)


def folded_and_not_listed(moment: Moment, rows: Sequence[SessionReading], unlisted: int | None) -> str:
    """Return the note on servers folded in `rows`, and on `unlisted` idle sessions (None: not known) without a row."""
    folded = "" if moment.choices.unfolded else servers_folded(rows)
    return "; ".join(filter(None, (folded, not_listed(moment, unlisted))))


TAB = Tab(
    parts=(
        Rows(SESSIONS, shown, without_blockers, session_note, unavailable=unavailable("V$SESSION")),
        Rows(CPU_WAITERS, waiters, hidden, optional=True, filterable=False, unavailable=unavailable("V$SESSION")),
    ),
    detail_level=DetailLevel.IDLE_SESSIONS,
    measure="sessions",
)
