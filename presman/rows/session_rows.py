"""Rows about sessions: what they do, how they came to their group, their progress, statistics and parallel servers."""

from datetime import datetime
from typing import NamedTuple


class Session(NamedTuple):
    """GV$SESSION, user sessions (parallel servers among them), presman's own left out.

    A poll that is narrow (:class:`presman.rows.queries.DetailLevel`) has of the idle ones only those that others name;
    background processes are there only where others name them.

    `wait_time_micro` is the current wait's age while `state` is WAITING; `last_call_et` counts seconds since the
    session became ACTIVE or INACTIVE. `type` is USER or BACKGROUND, "" if it is missing. The blocking session is
    the one it waits for, the final one the one at the end of that chain.
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
    """The same of sessions that others name, whatever they do: they become rows of :class:`Session`.

    A background process is among them where it coordinates parallel servers or holds what somebody waits for.
    """

    __slots__ = ()


class SessionCount(NamedTuple):
    """GV$SESSION counted: user sessions by instance, container, group and STATUS, presman's own left out."""

    inst_id: int
    con_id: int
    resource_consumer_group: str
    status: str
    sessions: int


BACKGROUND = "BACKGROUND"
"""V$SESSION.TYPE of Oracle's own processes, which no command ends."""

IDLE_STATUSES = frozenset({"INACTIVE", "SNIPED", "CACHED"})
"""V$SESSION.STATUS of sessions that idle: no call of theirs is under way."""


class SessionInfo(NamedTuple):
    """GV$RSRC_SESSION_INFO: what Resource Manager knows of a session. Times in milliseconds.

    `state` is one of a closed list (semantics: RUNNING, WAITING FOR CPU, QUEUED for the active session pool, ...);
    `pq_status` is free text. Plain counters are the session's, `current_` ones this call's. 11.2 has only group
    ids, so there `current_consumer_group` is "" and `current_consumer_group_id` names the group. `pq_servers` (12.1 and
    later) are the servers of its parallel statement; a queued one is believed to show those it wants. The `last_action`
    fields (12.1 and later, free text) tell what Resource Manager last did to the session, by which limit, and when.
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
    """The same of sessions that others name: they become rows of :class:`SessionInfo`."""

    __slots__ = ()


class SessionLongops(NamedTuple):
    """GV$SESSION_LONGOPS: operations that are not done yet. `qcsid` is the coordinator's SID for a parallel server.

    A statement has several operations one after the other; only the one at work is listed. Times in seconds.
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
    """V$STATNAME: the numbers that the statistics of a session have in this release."""

    statistic: int
    name: str


class SessionStatistic(NamedTuple):
    """GV$SESSTAT: a session's statistics that are not 0, totals since it logged on."""

    inst_id: int
    sid: int
    statistic: int
    value: int


class PxSession(NamedTuple):
    """GV$PX_SESSION: parallel servers and their coordinators (rows whose `degree` is NULL), presman's own left out.

    A coordinator's own row has no `qcinst_id` either. `serial` tells a SID's users apart in time.
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


class PxProcess(NamedTuple):
    """GV$PX_PROCESS of a cluster: the parallel servers that work. `is_gv` is TRUE for those of a GV$ query (PZnn).

    Every query of a GV$ view has such servers on each instance, a monitor's own too. 11.2 tells them by name only.
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
    """GV$FAST_START_TRANSACTIONS: transactions that are rolled back with parallel servers, in undo blocks.

    `state` is TO BE RECOVERED, RECOVERING or RECOVERED. Those rolled back serially are not there.
    """

    inst_id: int
    state: str
    undoblocksdone: int
    undoblockstotal: int


class PxStatistic(NamedTuple):
    """GV$PX_SESSTAT: a few statistics of the parallel servers of one coordinator, and of itself (no `degree`)."""

    inst_id: int
    sid: int
    qcsid: int
    qcinst_id: int | None
    server_set: int | None
    server: int | None
    degree: int | None
    statistic: int
    value: int
