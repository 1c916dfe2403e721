"""Rows about parallel servers: who holds which, how many there are, what each did."""

from typing import NamedTuple


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
