"""Executions of statements, and the streams they come from: pools of sessions with short calls, streams of statements.

An execution knows where it stands, what it holds, how fast it goes.
"""

from collections import deque
from enum import Enum
from itertools import accumulate
from math import exp, pi, sin, sqrt
from random import Random

from msgspec import Struct, field

from presman.forecast.scheduler import Group, QueueEntry
from presman.sources.simulator.parsing import Cursor
from presman.sources.simulator.processes import Server, SharedTime, SimulatedSession, even_skews
from presman.sources.simulator.scenario import Client, SessionPool, StatementStream

_NOISE_TIME = 45.0
"""Seconds over which the activity of a pool forgets its past."""


_SKEW = 0.45
"""How much more, or less, than the mean a session of a pool works."""


class SessionStream:
    """The sessions of a :class:`SessionPool` on one instance, as a flow: `count` sessions that think, read, compute.

    `duty` is the part of its time a session wants CPU; it moves with the wave and with noise.
    """

    def __init__(self, spec: SessionPool, inst_id: int, sessions: list[SimulatedSession], random: Random) -> None:
        self.spec = spec
        self.inst_id = inst_id
        self.sessions = sessions
        self.group = Group(0, spec.group)
        self.cursors: list[Cursor] = []
        self.duty = 0.0
        self.fraction = 1.0
        self.pace = 1.0
        self.cycle = 1.0
        self.turn = 0.0
        self.cpu = 0.0
        self.wait = 0.0
        self.requests = 0.0
        self.reads = 0.0
        self.cpu_rate = self.wait_rate = self.call_rate = self.read_rate = 0.0
        self._random = random
        self._noise = random.gauss(0.0, 1.0)
        self.time = SharedTime()
        self.skews = even_skews(len(sessions), _SKEW, random)

    def stir(self, now: float, seconds: float) -> None:
        """Move on the activity of the pool by one step of `seconds`."""
        keep = exp(-seconds / _NOISE_TIME)
        self._noise = self._noise * keep + sqrt(1 - keep * keep) * self._random.gauss(0.0, 1.0)
        wave = self.spec.wave
        activity = 1.0 + wave.depth * sin(2 * pi * now / wave.period) + self.spec.swing * self._noise
        activity = min(4.0, max(0.1, activity))
        self.cycle = self.spec.cpu + self.spec.io + self.spec.think / activity
        self.duty = self.spec.cpu / self.cycle
        self.turn = self._random.random()

    def flow(self, seconds: float) -> None:
        """Let time pass at the present rates."""
        self.cpu += self.cpu_rate * seconds
        self.wait += self.wait_rate * seconds
        self.time.flow(self.cpu_rate, self.wait_rate, len(self.sessions), seconds)
        self.requests += self.call_rate * seconds
        self.reads += self.read_rate * seconds

    def split(self) -> tuple[int, int, int, int]:
        """Return how many sessions are on CPU, wait for CPU, read, and are held back from I/O; the others think."""
        number = len(self.sessions)
        held_off = number * (1 - self.fraction)
        at_work = number * self.fraction * self.pace
        parts = (at_work * self.duty, held_off, at_work * self.spec.io / self.cycle, number - held_off - at_work)
        ends = [round(end) for end in accumulate(parts)]
        return ends[0], ends[1] - ends[0], ends[2] - ends[1], ends[3] - ends[2]


class Stream:
    """One :class:`StatementStream` at play: its idle sessions and its own source of chance."""

    def __init__(self, spec: StatementStream, seed: str) -> None:
        self.spec = spec
        self.random = Random(seed)
        self.idle: deque[SimulatedSession] = deque()
        self.client = Client(spec.user, spec.program, spec.machine, spec.module or spec.name, spec.service)
        noun = spec.name.replace(" ", "_")
        hint = "/*+ parallel */ " if spec.reason == "hint" else ""
        self.texts = spec.sql or tuple(
            f"select {hint}d.month, sum(f.amount) from {noun}_{n} f, days d where f.day = d.day group by d.month"
            for n in range(1, 4)
        )


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
