"""Tab 5 Sessions: every session with its group, and the statements that are held off CPU."""

from __future__ import annotations

from presman.analysis.groups.cpu_waiters import CpuWaiter, cpu_waiters
from presman.figures.cpu_waiter_figures import CPU_WAITERS
from presman.figures.session_figures import SESSIONS
from presman.records.breadth import Breadth
from presman.tabs.moment import Moment
from presman.tabs.parts import Rows, Tab
from presman.tabs.unseen import blind


def waiters(moment: Moment) -> tuple[CpuWaiter, ...]:
    """Return the statements whose sessions are held off CPU."""
    return cpu_waiters(moment.reading, moment.snapshot)


def nobody_blocked(moment: Moment) -> set[str]:
    """Return the column of who blocks whom, while nobody does."""
    return set() if any(row.blocker for row in moment.reading.sessions) else {"blocked_by"}


def hidden(moment: Moment) -> set[str]:
    """Return the column of the container where all are in one."""
    return set() if len({row.con_id for row in moment.once(waiters)}) > 1 else {"con_id"}


def without_idle(moment: Moment) -> str:
    """Return which sessions are not listed, "" where all are: narrow polls have of the idle ones only the named."""
    number = moment.reading.unlisted
    if number == 0:
        return ""
    which = "idle sessions" if number is None else f"{number:,} idle session{'s' * (number != 1)}"
    return f"not listed: {which}, which are read once a minute and while this tab is open"


TAB = Tab(
    parts=(
        Rows(SESSIONS, lambda moment: moment.reading.sessions, nobody_blocked, without_idle, unseen=blind("V$SESSION")),
        Rows(CPU_WAITERS, lambda moment: moment.once(waiters), hidden, optional=True, filterable=False),
    ),
    breadth=Breadth.IDLE_SESSIONS,
    measure="session_io",
)
