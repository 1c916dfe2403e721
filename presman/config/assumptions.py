"""The assumptions: what presman takes as so though no document says all of it, and how a database confirms each.

Each has a SELECT that anyone may run, and a way to read its answer; `presman doctor --assumptions TARGET` does both.
Some take more than a SELECT: then it is said what to try. Where a document says a part, it is named; what a document
says in full is no assumption and not here. docs/proof.md lists them, written from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from presman.base.formats import count
from presman.base.release import Release
from presman.base.text import one_line
from presman.config.target import Target
from presman.rows.catalog import OLDEST
from presman.rows.queries import Cadence, Query, Scope
from presman.rows.session_state import QUEUE_WAITS
from presman.rows.snapshot import Section
from presman.sources import Request, Source

_MOST = 6
"""Rows of an answer that are told."""

_WIDTH = 400


class Observation(NamedTuple):
    """A row of a check's answer: what it is about, a figure, and one to hold it against."""

    name: str
    value: float | None
    against: float | None


Judge = Callable[[Sequence[Observation]], str]
"""Reads an answer of at least one row; returns a sentence that begins with holds, does NOT hold, or look."""


class Assumption(Struct, frozen=True, dict=True):
    """`taken` is what presman takes as so, and what hangs on it; `confirmed` when it is.

    `sql` selects observations, from release `since` on; without it `confirmed` says what to try by hand. `document` is
    which manual says what, and what it leaves open; "" where none was found.
    """

    key: str
    taken: str
    confirmed: str
    sql: str = ""
    judge: Judge = lambda rows: f"look: {_told(rows)}"
    since: Release = OLDEST
    document: str = ""

    def query(self) -> Query:
        """Return the check as a query. It has no file: it is asked by nobody but `doctor`."""
        view = self.sql.partition("FROM ")[2].split()[0].upper().replace("V$", "V_$")
        return Query(
            self.key, Observation, self.taken, Cadence.DEMAND, view, "none", self.since, self.sql, Path(self.key)
        )


def _told(rows: Sequence[Observation]) -> str:
    """Return some rows in words.

    >>> _told([Observation("BATCH", 16, 8), Observation("ETL", 4, None), Observation("RUNNING", None, None)])
    'BATCH 16 (8), ETL 4, RUNNING'
    """
    parts = [
        (row.name or "(empty)") + ("" if row.value is None else f" {_number(row.value)}")
        + ("" if row.against is None else f" ({_number(row.against)})")
        for row in rows[:_MOST]
    ]  # fmt: skip
    more = f" and {len(rows) - _MOST} more" if len(rows) > _MOST else ""
    return one_line(", ".join(parts) + more, _WIDTH)


def _number(value: float) -> str:
    return count(round(value)) if value == round(value) else f"{value:.2f}"


def only(*known: str) -> Judge:
    """Return a judge for a list of names that should have no other."""

    def judge(rows: Sequence[Observation]) -> str:
        others = [row for row in rows if row.name not in known]
        return f"does NOT hold: also {_told(others)}" if others else f"holds: {_told(rows)}"

    return judge


def between(low: float, high: float) -> Judge:
    """Return a judge for figures that should be so many times what they are held against (1 where there is nothing)."""

    def judge(rows: Sequence[Observation]) -> str:
        others = [
            row
            for row in rows
            if row.value is not None and not low * _base(row) <= row.value <= high * _base(row)
        ]  # fmt: skip
        return f"does NOT hold: {_told(others)}" if others else f"holds: {_told(rows)}"

    return judge


def _base(row: Observation) -> float:
    return 1.0 if row.against is None else row.against


def multiple(rows: Sequence[Observation]) -> str:
    """Judge figures that should be small multiples of what they are held against: servers of a degree."""
    wrong = [row for row in rows if not row.value or not row.against or row.value / row.against not in {1, 2, 3, 4}]
    return f"does NOT hold: {_told(wrong)}" if wrong else f"holds: {_told(rows)}"


_STATES = (
    "NOT MANAGED", "RUNNING", "WAITING FOR CPU", "QUEUED", "PQ QUEUED", "IDLE", "IDLE BLKR", "WAITING",
    "WAITING_FOR_IO", "UNBOUND", "EXITING",
)  # fmt: skip

ASSUMPTIONS: tuple[Assumption, ...] = (
    Assumption(
        "gv-server-names",
        "Parallel servers of GV$ queries are named PZnn, and only these have IS_GV = TRUE. 11.2 has no IS_GV: "
        "there only the name distinguishes monitors from statements.",
        "IS_GV (first figure) and the name (second) agree for every server, and none is named PPnn",
        "SELECT server_name AS name, CASE WHEN is_gv = 'TRUE' THEN 1 ELSE 0 END AS value,"
        " CASE WHEN server_name LIKE 'PZ%' THEN 1 ELSE 0 END AS against FROM gv$px_process"
        " WHERE is_gv = 'TRUE' OR server_name LIKE 'PZ%' OR server_name LIKE 'PP%'",
        between(1, 1),
        Release(12, 1),
        "the Reference counts them downwards from PZ99 and has IS_GV for them. A published process list and a "
        "published script have PPA7, too, which no document names (PA7 is 32767 in base 36, the most that "
        "PARALLEL_MAX_SERVERS can be): whether there is a second family is open.",
    ),
    Assumption(
        "texts-by-index",
        "V$SQL finds a list of SQL_IDs (SQL_ID IN (...)) by the index of its fixed table, as it finds one. Where it "
        "searches the whole shared pool instead, the texts of the busiest statements, asked for once a minute, take "
        "longer; if they take too long, they are asked for ever more rarely.",
        "the plan of SELECT sql_fulltext FROM v$sql WHERE sql_id IN ('a', 'b') has FIXED TABLE FIXED INDEX and not "
        "FIXED TABLE FULL (EXPLAIN PLAN, or DBMS_XPLAN.DISPLAY_CURSOR)",
        document="none was found for lists; published plans show the index for one SQL_ID.",
    ),
    Assumption(
        "session-states",
        "V$RSRC_SESSION_INFO.STATE has the values of the Reference, and PQ QUEUED, which a published 19c test shows.",
        "there is no other state, at a busy hour either",
        "SELECT DISTINCT state AS name, NULL AS value, NULL AS against FROM gv$rsrc_session_info",
        only("", *_STATES),
        document="V$RSRC_SESSION_INFO in the Reference lists them all but PQ QUEUED.",
    ),
    Assumption(
        "queue-events",
        "Statements in the parallel queue wait for one of three events; those of 11.2.0.1 count as well.",
        "no other event is about a statement queue",
        "SELECT DISTINCT event AS name, NULL AS value, NULL AS against FROM gv$system_event"
        " WHERE event LIKE 'resmgr:pq%' OR event LIKE 'PX Queuing%' OR event LIKE 'enq: JX%'",
        only(*sorted(QUEUE_WAITS)),
    ),
    Assumption(
        "queued-servers",
        "PQ_SERVERS of a session in the parallel queue is the number of servers that its statement wants.",
        "while statements queue: PQ_SERVERS (first) is there and one to four times DOP (second)",
        "SELECT DISTINCT state AS name, pq_servers AS value, dop AS against FROM gv$rsrc_session_info"
        " WHERE state = 'PQ QUEUED'",
        multiple,
        Release(12, 1),
    ),
    Assumption(
        "servers-of-one-set",
        "Whether a statement with one set of servers is admitted with its DOP or with twice that is not known: "
        "presman shows a range.",
        "while plain parallel scans run: PQ_SERVERS (first) against DOP (second)",
        "SELECT DISTINCT state AS name, pq_servers AS value, dop AS against FROM gv$rsrc_session_info"
        " WHERE pq_servers > 0",
        since=Release(12, 1),
        document="the manual of Autonomous Database says that the degree may be doubled for a simple query, such as "
        "one on a single table: twice the DOP there, too. For other databases it is open.",
    ),
    Assumption(
        "counted-servers",
        "V$RSRC_PLAN.PARALLEL_SERVERS_ACTIVE is what the queue counts: servers of statements that bypass it are not in "
        "it.",
        "a statement with the hint NO_STATEMENT_QUEUING that runs in parallel adds to the servers at work (second) and "
        "not to PARALLEL_SERVERS_ACTIVE (first)",
        "SELECT name, SUM(parallel_servers_active) AS value, (SELECT COUNT(*) FROM gv$px_session WHERE degree > 0) AS"
        " against FROM gv$rsrc_plan WHERE is_top_plan = 'TRUE' GROUP BY name",
        document="the Reference calls it the number of all active parallel servers on the instance and says nothing of "
        "those that are not queued.",
    ),
    Assumption(
        "target-of-a-cluster",
        "On a cluster statements queue at the sum of the PARALLEL_SERVERS_TARGET of its instances.",
        "while statements queue on a cluster, an instance has fewer servers at work (first) than its target (second)",
        "SELECT name, parallel_servers_active AS value, parallel_servers_total AS against FROM gv$rsrc_plan"
        " WHERE is_top_plan = 'TRUE'",
        document="two disagree. The VLDB and Partitioning Guide adds the targets up; by the Reference of 12.2, 18 and "
        "23 statements queue only when every instance has reached its own.",
    ),
    Assumption(
        "cpu-exhausted-percent",
        "CPU_EXHAUSTED is there from some update of 23ai on; presman reports no problem where it is missing.",
        "every value is between 0 and 100",
        "SELECT consumer_group_name AS name, cpu_exhausted AS value, NULL AS against FROM gv$rsrcmgrmetric",
        between(0, 100),
        Release(23),
        "the Reference of 23 calls it a percentage of time. Which update brought it is open.",
    ),
    Assumption(
        "server-limits",
        "From 12.1 on a group's UTILIZATION_LIMIT limits its parallel servers, too, where PARALLEL_SERVER_LIMIT is not "
        "set; in 11.2 MAX_UTILIZATION_LIMIT is about CPU alone.",
        "PARALLEL_SERVERS_LIMIT of such a group is that percent of the target",
        "SELECT consumer_group_name AS name, parallel_servers_limit AS value, NULL AS against FROM gv$rsrcmgrmetric",
        since=Release(12, 1),
        document="DBMS_RESOURCE_MANAGER.UPDATE_PLAN_DIRECTIVE of 19c: utilization_limit is, for parallel servers, a "
        "percentage of PARALLEL_SERVERS_TARGET, and parallel_server_limit goes before it. Open of 12.1 to 18.",
    ),
    Assumption(
        "pending-directives",
        "A pending area shows each directive a second time, with STATUS PENDING. LEGACY is the plan as it was before "
        "an import into a pluggable database made one that is allowed there of it: it counts only where no other "
        "directive of that plan is there.",
        "there is no other status than PENDING, LEGACY, ACTIVE and none; while a pending area is open its plan's "
        "directives are there twice",
        "SELECT DISTINCT COALESCE(status, '') AS name, NULL AS value, NULL AS against FROM dba_rsrc_plan_directives",
        only("", "ACTIVE", "PENDING", "LEGACY"),
        document="the Reference has PENDING for what is in the pending area, from 19c on LEGACY, and none for the "
        "others (old releases: ACTIVE). Open is the second row.",
    ),
    Assumption(
        "plan-methods",
        "MGMT_METHOD of a plan is EMPHASIS (percent by level) or RATIO (shares). What it says of a plan that was made "
        "with shares and no method is in no document.",
        "there is no third method, and plans with shares say RATIO",
        "SELECT plan AS name, CASE WHEN mgmt_method IN ('EMPHASIS', 'RATIO') THEN 1 ELSE 0 END AS value,"
        " NULL AS against FROM dba_rsrc_plans",
        between(1, 1),
    ),
    Assumption(
        "what-the-cdb-gives",
        "Inside a pluggable database V$RSRC_PLAN shows what the CDB plan gives it; the Reference of 12.1 calls the "
        "columns internal. On Autonomous Databases (CLOUD_SERVICE is set, or the plan is DWCS_PLAN or OLTP_PLAN) "
        "UTILIZATION_LIMIT holds the number of CPUs and no percentage.",
        "UTILIZATION_LIMIT (first) and SHARES (second) are what the CDB plan says",
        "SELECT name, utilization_limit AS value, shares AS against FROM gv$rsrc_plan WHERE is_top_plan = 'TRUE'",
        since=Release(12, 1),
    ),
    Assumption(
        "profile-or-name",
        "A directive that names a container goes before one that names its profile (DB_PERFORMANCE_PROFILE).",
        "put both into one CDB plan: V$RSRC_PLAN of the container has SHARES of the one by name",
    ),
    Assumption(
        "cpus-of-a-container",
        "RUNNING_SESSIONS_LIMIT of V$RSRCPDBMETRIC is the number of CPUs that a container may use.",
        "RUNNING_SESSIONS_LIMIT (first) is at most NUM_CPUS (second), and less where CPU_COUNT or UTILIZATION_LIMIT "
        "limit the container",
        "SELECT con_id AS name, running_sessions_limit AS value, num_cpus AS against FROM gv$rsrcpdbmetric",
        since=Release(12, 2),
        document="the Reference of 23: how many of its sessions may run at once, NUM_CPUS times its UTILIZATION_LIMIT. "
        "Whether its own CPU_COUNT is in it is open.",
    ),
    Assumption(
        "cpu-min-count",
        "Where the CDB plan sets SHARES or UTILIZATION_LIMIT for any container, the others have one share each, and "
        "CPU_MIN_COUNT and CPU_COUNT are nobody's part. The Reference speaks of a plan without either only.",
        "under load, in a CDB plan that sets SHARES for one container only: AVG_RUNNING_SESSIONS (first) of the others "
        "does not follow their CPU_MIN_COUNT; the second figure is AVG_WAITING_SESSIONS",
        "SELECT con_id AS name, avg_running_sessions AS value, avg_waiting_sessions AS against FROM gv$rsrcpdbmetric",
        since=Release(19),
    ),
    Assumption(
        "unallocated-cpu",
        "CPU that no level of a plan allocates goes to the groups that want it, in proportion to what they are given.",
        "under load, AVG_RUNNING_SESSIONS (first) of the groups of a plan that allocates less than 100 %; the second "
        "figure is AVG_WAITING_SESSIONS",
        "SELECT consumer_group_name AS name, avg_running_sessions AS value, avg_waiting_sessions AS against "
        "FROM gv$rsrcmgrmetric",
    ),
    Assumption(
        "confined-statements",
        "A statement whose servers may run on some instances only (PARALLEL_FORCE_LOCAL, a service) queues at the "
        "PARALLEL_SERVERS_TARGET of those alone.",
        "with PARALLEL_FORCE_LOCAL=TRUE, one instance full and the other empty, a statement queues",
    ),
    Assumption(
        "io-limits-per-instance",
        "MAX_IOPS and MAX_MBPS hold on each instance of a cluster by itself.",
        "where a container is throttled: IOPS (first) of each instance comes near the limit, not their sum; the second "
        "figure is CON_ID",
        "SELECT 'IOPS' AS name, iops AS value, con_id AS against FROM gv$rsrcpdbmetric",
        since=Release(12, 2),
    ),
    Assumption(
        "last-action-words",
        "LAST_ACTION and its reason are shown as they come: no document lists their words.",
        "they make sense beside a session",
        "SELECT DISTINCT last_action AS name, NULL AS value, NULL AS against FROM gv$rsrc_session_info"
        " WHERE last_action IS NOT NULL",
        since=Release(12, 1),
    ),
    Assumption(
        "statement-of-idle-holder",
        "A coordinator that idles has no SQL_ID; PREV_SQL_ID may be of a later statement, so what its servers show "
        "counts.",
        "fetch some rows of a parallel query, then run SELECT 1 FROM dual in the same session: V$SESSION.SQL_ID of its "
        "servers (V$PX_SESSION) is still the query's",
    ),
    Assumption(
        "idle-sessions",
        "STATE of V$RSRC_SESSION_INFO is IDLE for sessions that idle; where Resource Manager is off it is NOT MANAGED, "
        "and CURRENT_IDLE_TIME is above 0: their rows are left out of a poll that shows no idle session.",
        "hardly any session is INACTIVE in V$SESSION and anything else here; the first figure counts sessions, the "
        "second those with an idle time",
        "SELECT state AS name, COUNT(*) AS value, COUNT(CASE WHEN current_idle_time > 0 THEN 1 END) AS against"
        " FROM gv$rsrc_session_info GROUP BY state",
    ),
    Assumption(
        "servers-without-a-call",
        "The session of a parallel server is ACTIVE while its statement runs, or its PROGRAM ends in the name of the "
        "process, as in (P00A): otherwise only its coordinator is seen.",
        "there is no row: parallel servers that are INACTIVE and named otherwise",
        "SELECT program AS name, NULL AS value, NULL AS against FROM gv$session"
        " WHERE status = 'INACTIVE' AND (inst_id, sid) IN (SELECT inst_id, sid FROM gv$px_session WHERE degree > 0)"
        " AND program NOT LIKE '%(P___)'",
    ),
    Assumption(
        "larger-than-its-limit",
        "A statement that wants more servers than its group's limit, or than the whole target, was seen to start on "
        "12.1 once nothing else ran; for a group's limit nothing is known.",
        "queue such a statement in a test database, end everything else, and see whether it starts",
    ),
    Assumption(
        "container-data",
        "A common user sees the rows of other containers only with CONTAINER_DATA set, which `presman grants` does.",
        "compare SELECT con_id, COUNT(*) FROM v$session GROUP BY con_id as that user and as SYSDBA",
    ),
    Assumption(
        "connections-after-a-timeout",
        "A connection whose answer timed out in the middle is thrown away; how often it could be used again is not "
        "known.",
        "none is needed: it costs a login",
    ),
    Assumption(
        "thick-driver",
        "The thick driver, and with it Kerberos, operating system authentication and 11.2, work as its documentation "
        "says.",
        "presman doctor --thick TARGET",
    ),
)


def check(target: Target, *, scope: Scope = Scope.CLUSTER) -> Iterator[str]:
    """Yield what the database says of each assumption, as lines. Raises SourceError if `target` cannot be read."""
    source = target.make_source()
    source.scope = scope
    try:
        release = source.open()
        source.advance()
        yield f"{source.name}: what presman assumes, and what this database shows of it. Only SELECTs are sent."
        for each in ASSUMPTIONS:
            yield from ("", f"{each.key}: {each.taken}")
            yield f"  confirmed if: {each.confirmed}"
            if each.document:
                yield f"  document: {each.document}"
            if each.sql:
                yield f"  {each.query().sql(scope)}"
                yield f"  → {_answer(each, source, release)}"
    finally:
        source.close()


def _answer(each: Assumption, source: Source, release: Release) -> str:
    if release < each.since:
        return f"not asked: {each.since} or later has it"
    section = source.read([Request(each.query())]).sections[0]
    return unseen(section) or each.judge(section.rows)


def unseen(section: Section) -> str:
    """Return why an answer tells nothing, "" if it does: no rows are no confirmation."""
    if section.problem:
        return f"not known: {section.problem}"
    if section.absent & {"name", "value"}:
        return "not known: the view, or a column of it, is not there"
    return "" if section.rows else "not seen: there is no such row now"


def in_markdown() -> str:
    """Return the list for docs/proof.md."""
    parts = []
    for each in ASSUMPTIONS:
        document = f" Document: {each.document}" if each.document else ""
        lines = [f"- **{each.key}**: {each.taken} Confirmed if: {each.confirmed}.{document}"]
        if each.sql:
            lines.append(f"  `{each.sql};`" + (f" (from {each.since} on)" if each.since > OLDEST else ""))
        parts.append("\n".join(lines))
    return "\n".join([*parts, ""])
