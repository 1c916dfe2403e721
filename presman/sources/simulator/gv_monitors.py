"""Monitors: sessions that query GV$ views, for which a cluster has parallel servers of its own (PZnn) on each instance.

presman itself is one of them. The queue counts none of their servers, and neither do the consumer groups.
"""

from __future__ import annotations

from typing import NamedTuple

from presman.sources.simulator.machine import Machine
from presman.sources.simulator.parsing import sql_id_of
from presman.sources.simulator.processes import SimulatedSession
from presman.sources.simulator.scenario import OTHER_GROUPS, OWN_SID, Client, MonitorSpec

_HIGHEST = 99
"""Servers of GV$ queries are named from PZ99 downwards."""

OWN = MonitorSpec(
    name="presman",
    every=1.0,
    takes=1.0,
    user="PRESMAN",
    program="presman",
    machine="dba01",
    module="presman",
    sql="SELECT inst_id, sid FROM gv$px_session",
)
"""presman's own session: it is always seen in the middle of a query, because its query is what reads the view."""


class GvServer(NamedTuple):
    """A server process that reads the views of one instance for a GV$ query."""

    inst_id: int
    name: str
    sid: int


class GvMonitor:
    """One monitor: its session on the first instance, and a server on every instance of a cluster while it queries."""

    def __init__(self, spec: MonitorSpec, machines: list[Machine], con_id: int, number: int, start: float) -> None:
        self.spec = spec
        self.sql_id = sql_id_of(spec.sql)
        client = Client(spec.user, spec.program, spec.machine, spec.module, "SYS$USERS")
        first = machines[0]
        sid, serial = (OWN_SID, 1) if spec is OWN else first.sids.take()
        self.session = SimulatedSession(first.inst_id, con_id, sid, serial, client, OTHER_GROUPS, start, changed=start)
        clustered = len(machines) > 1
        self.helpers = [
            GvServer(machine.inst_id, f"PZ{_HIGHEST - number:02}", machine.sids.take()[0])
            for machine in (machines if clustered else ())
        ]

    def is_querying(self, now: float) -> bool:
        """Tell whether one of its queries runs."""
        return now % self.spec.every < self.spec.takes

    def began(self, now: float) -> float:
        """Return when its latest query began."""
        return now - now % self.spec.every

    def serial(self, now: float) -> int:
        """Return the SERIAL# of its servers: another one for every query."""
        return 1 + int(now // self.spec.every) % 65_000
