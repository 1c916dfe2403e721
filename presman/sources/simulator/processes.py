"""Sessions and processes: SIDs and serials, parallel servers and their names."""

from collections import deque
from heapq import heapify, heappop, heappush
from random import Random

from msgspec import Struct

from presman.sources.simulator.parsing import Cursor
from presman.sources.simulator.scenario import Client

_RING = 4001
"""A prime: SIDs are dealt in strides round a ring, so that they look as scattered as in a busy database."""
_STRIDE = 587
_LOWEST = 20
_REST = 16
"""SIDs of ended sessions that rest before the first of them is used again."""


class SessionIds:
    """The session ids of one instance. A SID is used again; its serial number tells the users apart."""

    def __init__(self, random: Random, reserved: set[int]) -> None:
        self._random = random
        self._reserved = reserved
        self._dealt = 0
        self._free: deque[int] = deque()
        self._serials: dict[int, int] = {}

    def take(self, sid: int | None = None) -> tuple[int, int]:
        """Return (sid, serial#) for a new session; `sid` asks for a reserved one."""
        if sid is None:
            sid = self._free.popleft() if len(self._free) > _REST else self._new()
        self._serials[sid] = self._serials.get(sid, self._random.randrange(1, 50_000)) + self._random.randrange(1, 300)
        return sid, self._serials[sid] % 65_535

    def _new(self) -> int:
        while True:
            self._dealt += 1
            ring, index = divmod(self._dealt, _RING)
            sid = _LOWEST + ring * _RING + index * _STRIDE % _RING
            if sid not in self._reserved:
                return sid

    def give(self, sid: int) -> None:
        """Take back the SID of a session that has ended."""
        self._free.append(sid)


class ServerNames:
    """Parallel server processes of one instance: P000, P001, … P00A, the lowest free first."""

    def __init__(self, maximum: int) -> None:
        self._free = list(range(maximum))
        heapify(self._free)
        self.in_use = 0
        self.highwater = 0
        """The most that were in use at once: so many were started, and none is shut down here."""
        self.sessions = 0

    @property
    def free(self) -> int:
        """Servers that can still be given."""
        return len(self._free)

    def take(self) -> int:
        """Return the number of a server process, now in use."""
        self.in_use += 1
        self.sessions += 1
        self.highwater = max(self.highwater, self.in_use)
        return heappop(self._free)

    def give(self, number: int) -> None:
        """Take a server process back."""
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
    """Return what V$SESSION shows of a background process."""
    return Client("", f"oracle@{host}{inst_id} ({process})", "", "", BACKGROUND)


class SimulatedSession(Struct, eq=False):
    """A connected session. `cpu`, `wait` and the like are what ended calls have added up to, in seconds.

    `group` is what it is mapped to, `switched` where a SWITCH_TIME without SWITCH_FOR_CALL has left it. `changed` is
    when it last became ACTIVE or INACTIVE; `transient` sessions log off when their statement ends. `action` is what
    Resource Manager last did to it, which limit made it, and when.
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
        """The consumer group it is in, if the active plan has it."""
        return self.switched or self.group


class Server(Struct):
    """A parallel server process at work for a statement. `skew` is how much more of it is its own than the mean has."""

    inst_id: int
    number: int
    sid: int
    serial: int
    set: int
    position: int
    skew: float


class SharedTime:
    """CPU and waits for CPU, in seconds, of processes that work together: some have more of them than others.

    Whoever works all the time has no more than a second of both in a second, so the busier they are, the more alike
    are their parts: one whose `skew` is d has (1 + d x (1 - load)) times the mean of `number`; d is below 1.
    """

    __slots__ = ("_cpu", "_uneven_cpu", "_uneven_wait", "_wait")

    def __init__(self) -> None:
        self._cpu = self._wait = self._uneven_cpu = self._uneven_wait = 0.0

    def flow(self, cpu_rate: float, wait_rate: float, number: int, seconds: float) -> None:
        """Let time pass at these rates of all `number` together."""
        free = max(0.0, 1.0 - (cpu_rate + wait_rate) / max(1, number)) * seconds
        self._cpu += cpu_rate * seconds
        self._wait += wait_rate * seconds
        self._uneven_cpu += cpu_rate * free
        self._uneven_wait += wait_rate * free

    def of(self, skew: float, number: int) -> tuple[float, float]:
        """Return the part that one of them has: CPU and waits."""
        return (self._cpu + skew * self._uneven_cpu) / number, (self._wait + skew * self._uneven_wait) / number


def even_skews(number: int, most: float, random: Random) -> list[float]:
    """Return random skews of up to about `most` that add up to zero."""
    drawn = [random.uniform(-most, most) for _ in range(number)]
    mean = sum(drawn) / max(1, number)
    return [each - mean for each in drawn]
