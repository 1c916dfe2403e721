"""Sessions, parallel servers, executions of statements, and the streams they come from.

A stream is either a pool of sessions with short calls, or a stream of statements.

An execution has its phase, its servers, and its speed.
"""

from collections import deque
from enum import Enum
from heapq import heapify, heappop, heappush
from itertools import accumulate
from math import exp, pi, sin, sqrt
from random import Random

from msgspec import Struct, field

from presman.forecast.scheduler import Group, QueueEntry
from presman.sources.simulator.parsing import Cursor
from presman.sources.simulator.scenario import Client, SessionPool, StatementStream

# ---- Sessions and processes: SIDs and serials, parallel servers and their names.


_RING = 4001
"""A prime: SIDs are assigned in strides around a ring, so that they look as scattered as in a busy database."""
_STRIDE = 587
_LOWEST = 20
_REST = 16
"""Freed SIDs that are kept back before the first of them is used again."""


class SessionIds:
    """The session ids of one instance. A SID is reused; the serial number distinguishes the sessions."""

    def __init__(self, random: Random, reserved: set[int]) -> None:
        self._random = random
        self._reserved = reserved
        self._assigned = 0
        self._free: deque[int] = deque()
        self._serials: dict[int, int] = {}

    def take(self, sid: int | None = None) -> tuple[int, int]:
        """Return (sid, serial#) for a new session; `sid` requests a reserved SID."""
        if sid is None:
            sid = self._free.popleft() if len(self._free) > _REST else self._new()
        self._serials[sid] = self._serials.get(sid, self._random.randrange(1, 50_000)) + self._random.randrange(1, 300)
        return sid, self._serials[sid] % 65_535

    def _new(self) -> int:
        while True:
            self._assigned += 1
            ring, index = divmod(self._assigned, _RING)
            if (sid := _LOWEST + ring * _RING + index * _STRIDE % _RING) not in self._reserved:
                return sid

    def give(self, sid: int) -> None:
        """Free the SID of a session that has ended."""
        self._free.append(sid)


class ServerNames:
    """The parallel server processes of one instance: P000, P001, … P00A; the lowest free one is used first."""

    def __init__(self, maximum: int) -> None:
        self._free = list(range(maximum))
        heapify(self._free)
        self.in_use = 0
        self.highwater = 0
        """The most servers in use at the same time: so many were started, and none is ever shut down here."""
        self.sessions = 0

    @property
    def free(self) -> int:
        """The number of free servers."""
        return len(self._free)

    def take(self) -> int:
        """Allocate a server process and return its number."""
        self.in_use += 1
        self.sessions += 1
        self.highwater = max(self.highwater, self.in_use)
        return heappop(self._free)

    def give(self, number: int) -> None:
        """Free a server process."""
        self.in_use -= 1
        heappush(self._free, number)


def server_name(number: int) -> str:
    """Return the name of a parallel server process.

    >>> server_name(11)
    'P00B'
    """
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return "P" + digits[number // 1296] + digits[number // 36 % 36] + digits[number % 36]


BACKGROUND = "SYS$BACKGROUND"
"""The service of Oracle's own processes, which have no user."""


def background(host: str, inst_id: int, process: str) -> Client:
    """Return the client columns of V$SESSION for a background process."""
    return Client("", f"oracle@{host}{inst_id} ({process})", "", "", BACKGROUND)


class SimulatedSession(Struct, eq=False):
    """A connected session. `cpu`, `wait` and the like are totals of its ended calls, in seconds.

    `group` is the group it is mapped to, `switched` the one that it was switched to for all calls. `changed` is the
    time it last became ACTIVE or INACTIVE; `transient` sessions log off when their statement ends. `action` is Resource
    Manager's last action on it, the limit that caused it, and its time.
    """

    inst_id: int
    con_id: int
    sid: int
    serial: int
    client: Client
    group: str
    logon: float
    transient: bool = False
    changed: float = 0.0
    cpu: float = 0.0
    wait: float = 0.0
    pq_queued: float = 0.0
    pq_active: float = 0.0
    times_queued: int = 0
    canceled: int = 0
    switched: str = ""
    action: tuple[str, str, float] | None = None
    last: Cursor | None = None

    @property
    def wants_group(self) -> str:
        """The consumer group that it should be in, if the active plan has it."""
        return self.switched or self.group


class Server(Struct):
    """A parallel server process that works for a statement. `skew` is the relative excess of its work over the mean."""

    inst_id: int
    number: int
    sid: int
    serial: int
    set: int
    position: int
    skew: float


class SharedTime:
    """CPU and waits for CPU, in seconds, of processes that work together, unevenly distributed among them.

    A process cannot have more than one second of both per second, so the busier the processes are, the more even is the
    distribution: a process with `skew` d has (1 + d x (1 - load)) times the mean of all `number`; d is below 1.
    """

    __slots__ = ("_cpu", "_uneven_cpu", "_uneven_wait", "_wait")

    def __init__(self) -> None:
        self._cpu = self._wait = self._uneven_cpu = self._uneven_wait = 0.0

    def flow(self, cpu_rate: float, wait_rate: float, number: int, seconds: float) -> None:
        """Advance by `seconds` at the total rates of all `number` processes."""
        free = max(0.0, 1.0 - (cpu_rate + wait_rate) / max(1, number)) * seconds
        self._cpu += cpu_rate * seconds
        self._wait += wait_rate * seconds
        self._uneven_cpu += cpu_rate * free
        self._uneven_wait += wait_rate * free

    def of(self, skew: float, number: int) -> tuple[float, float]:
        """Return the CPU and waits of one process."""
        return (self._cpu + skew * self._uneven_cpu) / number, (self._wait + skew * self._uneven_wait) / number


def even_skews(number: int, most: float, random: Random) -> list[float]:
    """Return random skews of up to about `most` that add up to zero."""
    drawn = [random.uniform(-most, most) for _ in range(number)]
    mean = sum(drawn) / max(1, number)
    return [each - mean for each in drawn]


# ---- Executions, and the streams they come from.


_NOISE_TIME = 45.0
"""Correlation time of the activity of a pool, in seconds."""


_SKEW = 0.45
"""Largest relative deviation of the work of a pool's session from the mean."""


class SessionStream:
    """The sessions of a :class:`SessionPool` on one instance, modelled as a flow: they think, read and compute.

    `duty` is the fraction of its time in which a session needs CPU; it changes with the wave and with noise.
    """

    def __init__(self, spec: SessionPool, inst_id: int, sessions: list[SimulatedSession], random: Random) -> None:
        self.spec = spec
        self.inst_id = inst_id
        self.sessions = sessions
        self.group = Group(0, spec.group)
        self.cursors: list[Cursor] = []
        self.duty = self.turn = self.cpu = self.wait = self.requests = self.reads = 0.0
        self.fraction = self.pace = self.cycle = 1.0
        self.cpu_rate = self.wait_rate = self.call_rate = self.read_rate = 0.0
        self._random = random
        self._noise = random.gauss(0.0, 1.0)
        self.time = SharedTime()
        self.skews = even_skews(len(sessions), _SKEW, random)

    def change_activity(self, now: float, seconds: float) -> None:
        """Update the activity of the pool by one random step of `seconds`."""
        # An Ornstein-Uhlenbeck process: its variance stays 1 whatever the step, so coarse steps end like fine ones.
        keep = exp(-seconds / _NOISE_TIME)
        self._noise = self._noise * keep + sqrt(1 - keep * keep) * self._random.gauss(0.0, 1.0)
        wave = self.spec.wave
        activity = 1.0 + wave.depth * sin(2 * pi * now / wave.period) + self.spec.swing * self._noise
        # The noise has no bounds: an activity of 0 or less would make the time to think infinite or negative.
        activity = min(4.0, max(0.1, activity))
        self.cycle = self.spec.cpu + self.spec.io + self.spec.think / activity
        self.duty = self.spec.cpu / self.cycle
        self.turn = self._random.random()

    def flow(self, seconds: float) -> None:
        """Advance the totals by `seconds` at the current rates."""
        self.cpu += self.cpu_rate * seconds
        self.wait += self.wait_rate * seconds
        self.time.flow(self.cpu_rate, self.wait_rate, len(self.sessions), seconds)
        self.requests += self.call_rate * seconds
        self.reads += self.read_rate * seconds

    def split(self) -> tuple[int, int, int, int]:
        """Return the numbers of sessions on CPU, waiting for CPU, reading, and held back from I/O; the others think.

        Those that wait while no plan divides CPU have no event: they show as on CPU.
        """
        number = len(self.sessions)
        held_off = number * (1 - self.fraction)
        counted = held_off if self.wait_rate else 0.0
        at_work = number * self.fraction * self.pace
        using = at_work * self.duty + held_off - counted
        parts = (using, counted, at_work * self.spec.io / self.cycle, number - held_off - at_work)
        # The sums are rounded, not the parts: so no session is lost or counted twice.
        ends = [round(end) for end in accumulate(parts)]
        return ends[0], ends[1] - ends[0], ends[2] - ends[1], ends[3] - ends[2]


class Stream:
    """The state of one :class:`StatementStream`: its idle sessions and its own random generator."""

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
    """The phase of an execution."""

    POOL = "waits for the active session pool"
    QUEUED = "waits in the parallel statement queue"
    RUNNING = "runs"
    HOLDING = "done, but its cursor is not fetched to the end"


class Execution(Struct, eq=False):
    """One execution of a cursor by a session. Times are instants of the simulation, CPU is in seconds.

    `left` is the remaining work, in seconds at full speed; `speed` is the fraction of full speed now; `threads` is the
    number of its processes that work at the same time on each instance. `then` is a later statement of the session,
    executed while the cursor holds its servers. `blocker` is the instance and SID of the session whose lock it, or its
    servers, wait for while it runs; `waits_for` is an event that it waits for while it runs. `status` is V$SESSION's
    while it holds its cursor.
    """

    number: int
    session: SimulatedSession
    cursor: Cursor
    entry: QueueEntry
    group: Group
    cpu_each: float
    mb_each: float
    left: float
    work: float
    hold: float
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
        """Advance the totals by `seconds` at the current rates."""
        self.left -= self.speed * seconds
        self.cpu += self.cpu_rate * seconds
        self.wait += self.wait_rate * seconds
        self.time.flow(self.cpu_rate, self.wait_rate, len(self.servers), seconds)
        self.mb += self.mb_rate * seconds
