"""The statements behind `resmgr:cpu quantum`: sessions that Resource Manager holds off CPU, grouped by SQL_ID."""

from __future__ import annotations

from typing import NamedTuple

from presman.analysis.facts.cursor_facts import why_no_text
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.wait_readings import sum_of_known


class CpuWaiter(NamedTuple):
    """One statement whose sessions are held off CPU, in one consumer group.

    `held` sessions wait at this moment of the `sessions` that run it; `used` and `waiting` are CPUs since the last
    poll over all of them (None without a delta), `longest` the age of the oldest of these waits in seconds; `no_text`
    why it has no text.
    """

    con_id: int
    group: str
    sql_id: str
    held: int
    sessions: int
    used: float | None
    waiting: float | None
    longest: float | None
    users: tuple[str, ...]
    sql_text: str
    no_text: str = ""


def cpu_waiters(reading: Reading) -> tuple[CpuWaiter, ...]:
    """Return the statements held off CPU, those that wait for most CPU first; their texts as far as they were read."""
    statements: dict[tuple[int, str, str], list[SessionReading]] = {
        _key(session): [] for session in reading.sessions if session.held
    }
    for session in reading.sessions:
        rows = statements.get(_key(session))
        if rows is not None and (session.sql_id or session.held):
            rows.append(session)
    texts = {each.sql_id: each.sql_text for each in reading.running if each.sql_text}
    texts |= {each.sql_id: each.sql_text for each in reading.queue if each.sql_text}
    asked = {row.sql_id: row for row in sorted(reading.texts, key=lambda row: bool(row.sql_text))}
    texts |= {row.sql_id: row.sql_text for row in asked.values() if row.sql_text}
    found = [
        _waiter(
            *key,
            rows,
            text,
            "" if text else why_no_text(key[2], asked.get(key[2]), reading.kind, can_read=reading.reads_texts),
        )
        for key, rows in statements.items()
        for text in [texts.get(key[2], "")]
    ]
    return tuple(sorted(found, key=lambda row: (-(row.waiting or 0.0), -row.held, row.group, row.sql_id)))


def _key(session: SessionReading) -> tuple[int, str, str]:
    return session.con_id, session.group, session.sql_id


def _waiter(con_id: int, group: str, sql_id: str, rows: list[SessionReading], text: str, no_text: str) -> CpuWaiter:
    held = [row for row in rows if row.held]
    return CpuWaiter(
        con_id=con_id,
        group=group,
        sql_id=sql_id,
        held=len(held),
        sessions=len(rows),
        used=sum_of_known(row.used for row in rows),
        waiting=sum_of_known(row.waiting for row in rows),
        longest=max([row.waited for row in held if row.waited is not None], default=None),
        users=tuple(sorted({row.user for row in rows if row.user})),
        sql_text=text,
        no_text=no_text,
    )
