"""Rows about instances: what runs, its parameters, counters and events of the host."""

from datetime import datetime
from typing import NamedTuple

SEED = 2
"""CON_ID of a container database's seed, which only the root sees in V$PDBS."""


class Instance(NamedTuple):
    """GV$INSTANCE: one row per instance that runs; `status` is OPEN, or OPEN MIGRATE, where the database is open.

    `active_state` is NORMAL, QUIESCING or QUIESCED.
    """

    inst_id: int
    instance_name: str
    host_name: str
    version: str
    startup_time: datetime | None
    status: str
    parallel: str
    active_state: str


class Database(NamedTuple):
    """V$DATABASE: the database's identity. `cdb` is YES or NO (NO before 12.1)."""

    name: str
    db_unique_name: str
    open_mode: str
    database_role: str
    cdb: str


class Pdb(NamedTuple):
    """GV$PDBS (12.1 and later): the containers this connection may see, and how each instance has them open.

    `inst_id` is 0 in recordings made before it was read: then the row is about the instance connected to.
    """

    inst_id: int
    con_id: int
    name: str
    open_mode: str


class Parameter(NamedTuple):
    """GV$SYSTEM_PARAMETER: the parameters that steer CPU management, the parallel queue and a container's I/O.

    `con_id` is 0 or 1 for the instance's own value; in the root a container that sets its own has a row of its own.
    """

    inst_id: int
    name: str
    value: str
    con_id: int


class Sysstat(NamedTuple):
    """GV$SYSSTAT: statistics of parallel execution and the redo written, totals since instance start."""

    inst_id: int
    name: str
    value: int


class Osstat(NamedTuple):
    """GV$OSSTAT: the host. NUM_CPUS and LOAD are instants, *_TIME centiseconds since the host started."""

    inst_id: int
    stat_name: str
    value: float


class ActiveService(NamedTuple):
    """GV$ACTIVE_SERVICES: the services that run on each instance of a cluster, by the name that V$SESSION has."""

    inst_id: int
    name: str
