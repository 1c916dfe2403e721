"""Rows about sessions: their activity, consumer groups, progress, statistics and parallel servers."""

from datetime import datetime
from typing import NamedTuple


class Session(NamedTuple):
    """GV$SESSION: user sessions, including parallel servers, without presman's own.

    A narrow poll (:class:`presman.rows.queries.DetailLevel`) contains only those idle sessions that others name; any
    poll contains only those background processes that others name.

    `wait_time_micro` is the age of the current wait while `state` is WAITING; `last_call_et` is the seconds since the
    session became ACTIVE or INACTIVE. `type` is USER or BACKGROUND, "" if it is missing. The blocking session is
    the one it waits for, the final blocking session the one at the end of that chain.
    """

    inst_id: int
    con_id: int
    sid: int
    serial: int
    username: str
    status: str
    resource_consumer_group: str
    service_name: str
    machine: str
    program: str
    module: str
    action: str
    client_identifier: str
    osuser: str
    sql_id: str
    sql_child_number: int | None
    prev_sql_id: str
    prev_child_number: int | None
    sql_exec_id: int | None
    sql_exec_start: datetime | None
    logon_time: datetime | None
    last_call_et: int | None
    event: str
    wait_class: str
    state: str
    wait_time_micro: int | None
    blocking_instance: int | None
    blocking_session: int | None
    type: str
    final_blocking_instance: int | None
    final_blocking_session: int | None


class NamedSession(Session):
    """The same for sessions that others name, active or not: they become rows of :class:`Session`.

    A background process is included if it coordinates parallel servers or blocks a session.
    """

    __slots__ = ()


class SessionCount(NamedTuple):
    """GV$SESSION: numbers of user sessions by instance, container, group and STATUS, without presman's own."""

    inst_id: int
    con_id: int
    resource_consumer_group: str
    status: str
    sessions: int


BACKGROUND = "BACKGROUND"
"""V$SESSION.TYPE of Oracle's own processes, which no command can end."""

IDLE_STATUSES = frozenset({"INACTIVE", "SNIPED", "CACHED"})
"""V$SESSION.STATUS of idle sessions: they have no call in progress."""


class SessionInfo(NamedTuple):
    """GV$RSRC_SESSION_INFO: Resource Manager's data about a session. Times in milliseconds.

    `state` has a fixed set of values (RUNNING, WAITING FOR CPU, QUEUED for the active session pool, ...); `pq_status`
    is free text. Plain counters are for the session, `current_` ones for this call. 11.2 has only group ids, so there
    `current_consumer_group` is "" and `current_consumer_group_id` identifies the group. `pq_servers` (12.1 and later)
    is the number of servers of its parallel statement; a queued statement is believed to show the number it requests.
    The `last_action` fields (12.1 and later, free text) are the last action of Resource Manager on the session, the
    limit that caused it, and its time.
    """

    inst_id: int
    con_id: int
    sid: int
    current_consumer_group_id: int
    current_consumer_group: str
    orig_consumer_group_id: int
    mapped_consumer_group: str
    mapping_attribute: str
    state: str
    cpu_wait_time: int
    cpu_waits: int
    consumed_cpu_time: int
    yields: int
    io_service_time: int
    small_read_megabytes: int
    small_write_megabytes: int
    large_read_megabytes: int
    large_write_megabytes: int
    small_read_requests: int
    small_write_requests: int
    large_read_requests: int
    large_write_requests: int
    sql_canceled: int
    dop: int | None
    pq_servers: int | None
    pq_status: str
    current_pq_queued_time: int
    pq_queued_time: int
    last_action: str
    last_action_reason: str
    last_action_time: datetime | None


class NamedSessionInfo(SessionInfo):
    """The same for sessions that others name: they become rows of :class:`SessionInfo`."""

    __slots__ = ()


class SessionLongops(NamedTuple):
    """GV$SESSION_LONGOPS: unfinished operations. `qcsid` is the coordinator's SID for a parallel server.

    A statement has several operations one after the other; only the current one is listed. Times in seconds.
    """

    inst_id: int
    sid: int
    serial: int
    qcsid: int
    sql_id: str
    opname: str
    target: str
    sofar: int
    totalwork: int
    units: str
    time_remaining: int | None


class StatisticName(NamedTuple):
    """V$STATNAME: the number of each session statistic in this release."""

    statistic: int
    name: str


class SessionStatistic(NamedTuple):
    """GV$SESSTAT: the statistics of a session that are not 0, totals since it logged on."""

    inst_id: int
    sid: int
    statistic: int
    value: int


class PxSession(NamedTuple):
    """GV$PX_SESSION: parallel servers and their coordinators (rows whose `degree` is NULL), without presman's own.

    A coordinator's row has no `qcinst_id` either. `serial` distinguishes sessions that used the same SID.
    """

    inst_id: int
    sid: int
    serial: int
    qcsid: int
    qcserial: int | None
    qcinst_id: int | None
    server_group: int | None
    server_set: int | None
    degree: int | None
    req_degree: int | None

    @property
    def coordinator(self) -> tuple[int, int]:
        """Instance and SID of the query coordinator, which is on the same instance if the row has no `qcinst_id`."""
        return self.inst_id if self.qcinst_id is None else self.qcinst_id, self.qcsid


class PxProcess(NamedTuple):
    """GV$PX_PROCESS of a cluster: the parallel servers at work. `is_gv` is TRUE for those of a GV$ query (PZnn).

    Every query of a GV$ view, even a monitor's, has such servers on each instance. In 11.2 only the name shows it.
    """

    inst_id: int
    server_name: str
    sid: int
    serial: int
    is_gv: str


class PxProcessSysstat(NamedTuple):
    """GV$PX_PROCESS_SYSSTAT: the pool of parallel servers ("Servers In Use", "Servers Available", ...)."""

    inst_id: int
    statistic: str
    value: int


class FastStartTransaction(NamedTuple):
    """GV$FAST_START_TRANSACTIONS: transactions that parallel servers roll back, in undo blocks.

    `state` is TO BE RECOVERED, RECOVERING or RECOVERED. Transactions rolled back serially are not listed.
    """

    inst_id: int
    state: str
    undoblocksdone: int
    undoblockstotal: int


class PxStatistic(NamedTuple):
    """GV$PX_SESSTAT: a few statistics of one coordinator (no `degree`) and its parallel servers."""

    inst_id: int
    sid: int
    qcsid: int
    qcinst_id: int | None
    server_set: int | None
    server: int | None
    degree: int | None
    statistic: int
    value: int
