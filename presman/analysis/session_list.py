"""User sessions: activity, waits and use of each; active sessions by wait class and statement; blockers.

Their activity at the instant of a poll is a sample, without history, from V$SESSION. Views that keep such samples
(V$ACTIVE_SESSION_HISTORY) need a licensed pack and are not read.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from presman.analysis.facts.cursor_facts import why_no_text
from presman.analysis.facts.facts import Facts
from presman.analysis.groups.counter_deltas import SessionRates, of_sessions
from presman.analysis.parallel.running import Coordinator, Holdings
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import CLASSES, OTHER, Activity, Amount, SessionReading, SqlSample
from presman.base.sums import sum_of_known
from presman.rows.query_files import SessionRow
from presman.rows.session_rows import Session, SessionInfo
from presman.rows.session_state import ON_CPU, blocker, doing, is_held, is_queued

COORDINATOR, SERVER, QUEUED, GV_QUERY = "QC", "server", "queued", "GV$"
"""The role of a session in parallel execution."""

NO_RATES = SessionRates()


_Key: TypeAlias = tuple[int, int]


def sessions(facts: Facts, holdings: Holdings) -> tuple[SessionReading, ...]:
    """Return one reading per session, in the order they were read."""
    grown = of_sessions(facts)
    infos = facts.sessions.infos
    statements = holdings.statements
    held = {coordinator: len(holding.rows) for coordinator, holding in statements.items()}
    held_rows = ((row, coordinator) for coordinator, holding in statements.items() for row in holding.rows)
    servers = {(row.inst_id, row.sid): (row.serial, coordinator) for row, coordinator in held_rows}
    originals: dict[_Key, str] = {}  # thousands of sessions have few original groups
    summed = amounts(facts, grown)
    found = []
    for row in facts.snapshot.rows(Session):
        key = row.inst_id, row.sid
        number = held.get((*key, row.serial), 0)
        role = _role(row, number, servers) or _monitors(facts, holdings, row)
        info = infos.get(key)
        group, original = (info.current_consumer_group if info else ""), ""
        if info:
            known = (info.con_id, info.orig_consumer_group_id)
            if known not in originals:
                originals[known] = facts.sessions.original_group(info)
            original = originals[known]
        rates = grown.get(key, NO_RATES)
        session = _session(row, group or facts.sessions.group_of(row), original, info, role, number, rates)
        if key in summed:
            session = session._replace(amounts=summed[key])
        found.append(session._replace(coordinator=servers[key][1]) if role == SERVER else session)
    return tuple(found)


def amounts(facts: Facts, same: Container[_Key]) -> Mapping[_Key, Mapping[str, Amount]]:
    """Return the columns of queries of sessions by instance and SID, each put together from the rows that have it.

    A name that ends in `_per_s` is that of a counter in the view: its growth per second since the last poll, for
    sessions that are the `same` as then.
    """
    found: dict[_Key, dict[str, Amount]] = {}
    for record in (each for each in facts.snapshot.sections if issubclass(each, SessionRow)):
        seconds = facts.deltas.interval(record)
        before = _by_session(facts.deltas.before(record))
        for key, now in _by_session(facts.snapshot.rows(record)).items():
            old = before.get(key, {}) if key in same else {}
            rates = {name: _rate(now[name], old.get(name), seconds) for name in now if name.endswith("_per_s")}
            found.setdefault(key, {}).update(together([{**now, **rates}]))
    return found


def _rate(now: Amount, before: Amount | None, seconds: float | None) -> float | None:
    if isinstance(now, float) and isinstance(before, float) and seconds and now >= before:
        return (now - before) / seconds
    return None


def _by_session(rows: Iterable[Any]) -> dict[_Key, dict[str, Amount]]:
    parts: dict[_Key, list[Mapping[str, Amount | None]]] = {}
    for row in rows:
        fields = row._asdict()
        parts.setdefault((fields.pop("inst_id"), fields.pop("sid")), []).append(fields)
    return {key: together(each) for key, each in parts.items()}


def together(parts: Iterable[Mapping[str, Amount | None]]) -> dict[str, Amount]:
    """Return the sum of each number over the parts that have it; of texts and instants the first."""
    found: dict[str, Amount] = {}
    for part in parts:
        for name, value in part.items():
            known = found.get(name)
            if isinstance(value, float) and isinstance(known, float):
                found[name] = known + value
            elif known is None and value is not None and value != "":
                found[name] = value
    return found


def _role(row: Session, held: int, servers: Mapping[_Key, tuple[int, Coordinator]]) -> str:
    if held:
        return COORDINATOR
    server = servers.get((row.inst_id, row.sid))
    if server is not None and server[0] in {row.serial, 0}:  # 0: SERIAL# is not known
        return SERVER
    return QUEUED if is_queued(row.event, row.state) else ""


def _monitors(facts: Facts, holdings: Holdings, row: Session) -> str:
    """Return the role of a session that queries a GV$ view, or that is a server of such a query."""
    key = row.inst_id, row.sid, row.serial
    return GV_QUERY if key in holdings.monitors or facts.sessions.servers.serves_gv_query(*key) else ""


def _session(
    row: Session, group: str, original: str, info: SessionInfo | None, role: str, held: int, rates: SessionRates
) -> SessionReading:
    event = doing(row.event, row.state, row.status)
    managed = info.state if info else ""
    return SessionReading(
        row.inst_id,
        row.con_id,
        row.sid,
        row.serial,
        row.username,
        group,
        info.mapped_consumer_group if info else "",
        row.status,
        managed,
        event,
        row.wait_class if event != ON_CPU else "",
        row.wait_time_micro / 1e6 if row.state == "WAITING" and row.wait_time_micro is not None else None,
        row.sql_id,
        row.sql_child_number,
        *rates,
        None if row.last_call_et is None else float(row.last_call_et),
        role,
        held,
        info.dop if info else None,
        info.pq_status if info else "",
        row.program,
        row.module,
        row.service_name,
        row.machine,
        row.logon_time,
        original,
        info.mapping_attribute if info else "",
        info.last_action if info else "",
        info.last_action_reason if info else "",
        info.last_action_time if info else None,
        is_held(row.event, row.state, managed),
        blocker(row.state, row.inst_id, row.blocking_instance, row.blocking_session),
        row.client_identifier,
        row.osuser,
        row.action,
        row.sql_exec_id,
        None,
        row.type,
    )


IDLE = "Idle"
_KNOWN = frozenset(CLASSES)

_SHARED = ("con_id", "sql_id", "status", "state", "wait_class", "resource_consumer_group", "username")
_alike = itemgetter(*map(Session._fields.index, _SHARED))
"""The common fields of sessions that are counted together: thousands of sessions have few kinds."""


def activity(rows: Iterable[Session]) -> Activity:
    """Return the activity of the sessions in V$SESSION: active are those in a call and not in an idle wait."""
    classes: Counter[str] = Counter()
    statements: dict[tuple[int, str], list[int]] = {}
    owners: dict[tuple[int, str], tuple[str, str]] = {}
    for (con_id, sql_id, status, state, wait_class, group, user), count in Counter(map(_alike, rows)).items():
        # Without STATE (a listing that lacks the column) the wait shown is taken as current.
        on_cpu = state not in {"WAITING", ""} or (not state and not wait_class)
        if status != "ACTIVE" or (wait_class == IDLE and not on_cpu):
            continue
        classes[ON_CPU if on_cpu else wait_class if wait_class in _KNOWN else OTHER] += count
        if sql_id:
            key = con_id, sql_id
            statements.setdefault(key, [0, 0])[not on_cpu] += count
            owners.setdefault(key, (group, user))
    samples = (SqlSample(*key, *owners[key], *counts) for key, counts in statements.items())
    return Activity(classes.total(), MappingProxyType(dict(classes)), tuple(samples))


class Blocking(NamedTuple):
    """A session that others wait for, or that waits for one, at its `depth` in the tree (0: no visible blocker).

    `name` is ``instance:SID``. `session` is None if it is not visible: a background process, or one that is gone.
    `below` is the number of sessions that wait for it, directly or not.
    """

    name: str
    depth: int
    below: int
    session: SessionReading | None


def blocking(sessions: Iterable[SessionReading]) -> tuple[Blocking, ...]:
    """Return the sessions that block or are blocked, each below the one it waits for; the largest blocker comes first.

    Rows are not read at one instant, so they may form a cycle: each session is listed once.
    """
    rows = {f"{row.inst_id}:{row.sid}": row for row in sessions}
    waiting: dict[str, list[str]] = {}
    for session, row in rows.items():
        if row.blocker and row.blocker != session:
            waiting.setdefault(row.blocker, []).append(session)
    if not waiting:
        return ()
    done: set[str] = set()
    roots = [session for session in waiting if session not in rows or not rows[session].blocker]
    trees = [tuple(_tree(session, 0, waiting, rows, done)) for session in (*roots, *waiting) if session not in done]
    return tuple(row for tree in sorted(trees, key=lambda tree: -len(tree)) for row in tree)


def _tree(
    session: str, depth: int, waiting: dict[str, list[str]], rows: dict[str, SessionReading], done: set[str]
) -> Iterator[Blocking]:
    """Yield a session and all below it; the number of sessions bounds the depth."""
    # A stack of its own, because a chain of waiting sessions may be deeper than Python's recursion allows.
    stack = [(session, depth)]
    order: list[tuple[str, int]] = []
    while stack:
        here, level = stack.pop()
        if here in done:
            continue
        done.add(here)
        order.append((here, level))
        longest = sorted(waiting.get(here, ()), key=lambda each: rows[each].waited or 0.0)
        stack += [(each, level + 1) for each in longest]
    for index, (here, level) in enumerate(order):
        after = next((i for i in range(index + 1, len(order)) if order[i][1] <= level), len(order))
        yield Blocking(here, level, after - index - 1, rows.get(here))


# ---- The statements behind `resmgr:cpu quantum`: sessions that Resource Manager holds off CPU, grouped by SQL_ID.


class CpuWaiter(NamedTuple):
    """One statement whose sessions are held off CPU, in one consumer group.

    Of the `sessions` that run it, `held` wait at this moment. `used` and `waiting` are CPUs since the last poll over
    all of them (None without a delta). `longest` is the age of the oldest of these waits in seconds; `no_text` is why
    it has no text.
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
    """Return the statements held off CPU, the longest CPU waits first; with their texts as far as they were read."""
    keys = (_statement_of(session) for session in reading.sessions if session.held)
    statements: dict[tuple[int, str, str], list[SessionReading]] = {key: [] for key in keys}
    for session in reading.sessions:
        # Sessions without a statement have only their group in common: those that are not held are left out.
        rows = statements.get(_statement_of(session))
        if rows is not None and (session.sql_id or session.held):
            rows.append(session)
    texts = {each.sql_id: each.sql_text for each in reading.running if each.sql_text}
    texts |= {each.sql_id: each.sql_text for each in reading.queue if each.sql_text}
    asked = {row.sql_id: row for row in sorted(reading.texts, key=lambda row: bool(row.sql_text))}
    texts |= {row.sql_id: row.sql_text for row in asked.values() if row.sql_text}
    found = []
    for key, rows in statements.items():
        sql_id = key[2]
        text = texts.get(sql_id, "")
        why = "" if text else why_no_text(sql_id, asked.get(sql_id), reading.kind, can_read=reading.reads_texts)
        found.append(_waiter(*key, rows, text, why))
    return tuple(sorted(found, key=lambda row: (-(row.waiting or 0.0), -row.held, row.group, row.sql_id)))


def _statement_of(session: SessionReading) -> tuple[int, str, str]:
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
