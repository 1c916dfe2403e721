"""The statement that a row of a table is about: its SQL_ID, and the cursor and session where the row tells them."""

from __future__ import annotations

from typing import Any, NamedTuple

from presman.analysis.collapsed_rows import CollapsedStatements
from presman.analysis.groups.cpu_waiters import CpuWaiter
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import ParallelStatement
from presman.analysis.trends.downgrade_ledger import Downgrade
from presman.analysis.trends.sql_minutes import SqlTexts
from presman.figures.top_figures import TopStatement


class Statement(NamedTuple):
    """A statement in a container (None: in any); 0 is an instance and None a child that is not known.

    `session` is the SID and SERIAL# of the session that runs it, None where the row is not about one.
    """

    sql_id: str
    con_id: int | None = None
    inst_id: int = 0
    child: int | None = None
    session: tuple[int, int] | None = None

    @property
    def session_name(self) -> str:
        """The session as ALTER SYSTEM KILL SESSION names it, "" without one: ``503,7,@1``."""
        return f"{self.session[0]},{self.session[1]},@{self.inst_id}" if self.session else ""


def statement_of(row: Any) -> Statement | None:
    """Return the statement that a row is about, None if about none."""
    found = row if isinstance(row, Statement) else None
    if isinstance(row, TopStatement):
        found = Statement(row.activity.sql_id, row.activity.con_id)
    elif isinstance(row, CpuWaiter):
        found = Statement(row.sql_id, row.con_id)
    elif isinstance(row, CollapsedStatements) and row.first is not None:
        found = statement_of(row.first)
    elif isinstance(row, ParallelStatement | SessionReading):
        found = Statement(row.sql_id, row.con_id, row.inst_id, row.child, (row.sid, row.serial))
    elif isinstance(row, Downgrade):
        found = Statement(row.sql_id, row.con_id, row.inst_id)
    return found if found is not None and (found.sql_id or found.session) else None


def has_cursor_page(row: Any) -> bool:
    """Tell whether a row is about a statement, whoever runs it: it may be over. Executions have pages of their own."""
    return isinstance(row, TopStatement | CpuWaiter | Downgrade | Statement) and bool(statement_of(row))


def with_cursor(statement: Statement, reading: Reading, texts: SqlTexts) -> Statement:
    """Return a statement with a cursor to look at: its own, else that of who runs it, else where its text was read."""
    if statement.inst_id and statement.child is not None:
        return statement
    rows = (row for rows in (reading.running, reading.queue, reading.sessions) for row in rows)
    own = [row for row in rows if row.sql_id == statement.sql_id and statement.con_id in {None, row.con_id}]
    own.sort(key=lambda row: statement.inst_id not in {0, row.inst_id})
    if own:
        return statement._replace(inst_id=own[0].inst_id, child=own[0].child or 0)
    read = texts.find(statement.sql_id)
    if read is not None:
        return statement._replace(inst_id=read.inst_id, child=read.child_number)
    first = reading.header.instances[0].inst_id if reading.header.instances else 1
    return statement._replace(inst_id=statement.inst_id or first, child=0)
