"""Execution of a statement: where it stands, what it holds, how fast it goes."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct, field

from presman.sources.simulator.parsing import Cursor
from presman.sources.simulator.plan_tree import Group
from presman.sources.simulator.processes import Server, SharedTime, SimulatedSession
from presman.sources.simulator.scheduler import QueueEntry
from presman.sources.simulator.streams import Stream


class Phase(Enum):
    """Where an execution stands."""

    POOL = "waits for the active session pool"
    QUEUED = "waits in the parallel statement queue"
    RUNNING = "runs"
    HOLDING = "done, but its cursor is not fetched to the end"


class Execution(Struct, eq=False):
    """One execution of a cursor by a session. Times are instants of the simulation, CPU in seconds.

    `left` is seconds of work left at full speed; `speed` what part of it passes per second now; `threads` how
    many of its processes work at a time on each instance. `then` is what its session has executed while the cursor
    holds its servers; `blocker` is instance and SID of whose lock it waits for all the while it runs, or its servers
    do; `waits_for` an event that it waits for all the while. `status` is what V$SESSION shows while it holds its
    cursor.
    """

    number: int
    session: SimulatedSession
    cursor: Cursor
    ticket: QueueEntry
    group: Group
    cpu_each: float
    mb_each: float
    left: float
    work: float
    hold: float
    arrived: float
    stream: Stream | None
    then: Cursor | None = None
    blocker: tuple[int, int] | None = None
    waits_for: str = ""
    servers_blocked: bool = False
    status: str = "INACTIVE"
    phase: Phase = Phase.POOL
    queued_at: float = 0.0
    started: float = 0.0
    held_since: float = 0.0
    cpu_at_switch: float = 0.0
    switched: str = ""
    speed: float = 0.0
    fraction: float = 1.0
    pace: float = 1.0
    cpu: float = 0.0
    wait: float = 0.0
    mb: float = 0.0
    cpu_rate: float = 0.0
    wait_rate: float = 0.0
    mb_rate: float = 0.0
    time: SharedTime = field(default_factory=SharedTime)
    servers: list[Server] = field(default_factory=list)
    threads: dict[int, float] = field(default_factory=dict)

    def flow(self, seconds: float) -> None:
        """Let time pass at the present rates."""
        self.left -= self.speed * seconds
        self.cpu += self.cpu_rate * seconds
        self.wait += self.wait_rate * seconds
        self.time.flow(self.cpu_rate, self.wait_rate, len(self.servers), seconds)
        self.mb += self.mb_rate * seconds
