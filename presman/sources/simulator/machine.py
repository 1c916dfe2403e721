"""Instance: its SIDs, parallel servers, wait events, statistics, counters, pools of sessions, and I/O limits.

`pace` computes the fraction of full speed at which a container's I/O stays within MAX_IOPS and MAX_MBPS.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from presman.base.release import Release
from presman.forecast.scheduler import Group
from presman.sources.simulator import counters, executions
from presman.sources.simulator.counters import Count
from presman.sources.simulator.executions import Execution, SessionStream, SimulatedSession
from presman.sources.simulator.scenario import OWN_SID, Capacity, PdbDirective, PdbSpec, Scenario

RATE_LIMIT = "resmgr: I/O rate limit"
"""The wait event of I/O that is held back."""


class Demand(NamedTuple):
    """The I/O per second of some work at full speed, and the fraction of that speed that its CPU allows."""

    requests: float
    megabytes: float
    speed: float = 1.0


def pace(limits: PdbDirective, demands: Iterable[Demand]) -> float:
    """Return the fraction of full speed (0..1) that a container's I/O may have; slower work is not slowed further.

    >>> pace(PdbDirective(max_iops=60), [Demand(50, 1), Demand(50, 1, speed=0.2)])
    1.0
    >>> pace(PdbDirective(max_iops=40), [Demand(50, 1), Demand(50, 1, speed=0.2)])
    0.6
    """
    found = 1.0
    rows = tuple(demands)
    if limits.max_iops:
        found = min(found, _level(limits.max_iops, [(row.requests, row.speed) for row in rows]))
    if limits.max_mbps:
        found = min(found, _level(limits.max_mbps, [(row.megabytes, row.speed) for row in rows]))
    return found


def _level(limit: float, wanted: Sequence[tuple[float, float]]) -> float:
    """Return the speed at which the sum of all amounts, each at no more than its own speed, equals the limit."""
    if sum(amount * speed for amount, speed in wanted) <= limit:
        return 1.0
    # From the slowest on: work slower than the common speed keeps all of its amount, the others share what is left.
    rest, weight = limit, sum(amount for amount, _ in wanted)
    for amount, speed in sorted(wanted, key=lambda each: each[1]):
        if rest <= weight * speed:
            break
        rest -= amount * speed
        weight -= amount
    return rest / weight


_SERIAL = "Parallel operations downgraded to serial"
_CLASSES = (
    (75.0, "Parallel operations downgraded 75 to 99 pct"),
    (50.0, "Parallel operations downgraded 50 to 75 pct"),
    (25.0, "Parallel operations downgraded 25 to 50 pct"),
    (0.0, "Parallel operations downgraded 1 to 25 pct"),
)
STATISTICS = (
    *("user calls", "user commits", "redo size", "queries parallelized", "DML statements parallelized"),
    *("DDL statements parallelized", "DFO trees parallelized", "Parallel operations not downgraded", _SERIAL),
    *(name for _, name in _CLASSES),
)
_STARVED_BELOW = 0.25
_WORST = 0.05
"""The fraction of its demand below which a group is starved, and the part of long waits of a group that gets none."""
_QUANTUM_MEAN = counters.mean_of(counters.QUANTUM) / 1e6
_STARVED_MEAN = counters.mean_of(counters.STARVED) / 1e6
_BACKGROUND_CPU = 0.06
"""CPUs that the background processes use."""
_SMALL_MB = 8 / 1024
"""One database block."""
_WRITTEN = 0.35
"""Blocks that short calls write per block read."""
HELD_BACK = counters.shape((1.0, 15_000.0, 0.6))
_HELD_BACK_MEAN = counters.mean_of(HELD_BACK) / 1e6
_IO_LIMITS = Release(12, 2)
"""The first release with MAX_IOPS and MAX_MBPS."""
RESERVED = 0.1
"""CPUs that are reserved for the background processes."""
_SAME = 1e-9
"""The difference of two speeds, or of CPUs, that is only rounding."""
_COMMIT_REDO = 5_200
_IDLE_REDO = 900
"""Bytes of redo per commit, and per second without commits. Direct path writes are assumed to be NOLOGGING."""

_OF_STORAGE = (Count.LARGE_READ_MEGABYTES, Count.LARGE_WRITE_MEGABYTES, Count.SMALL_READ_MEGABYTES)
_BACKGROUND = ("PMON", "LGWR", "DBW0", "CKPT", "SMON", "MMON", "DBRM")


class Machine:
    """An instance and its host, as counters and rates."""

    def __init__(self, inst_id: int, scenario: Scenario, seed: int, start: float, release: Release) -> None:
        self.inst_id = inst_id
        self.capacity: Capacity = scenario.capacity
        reserved = {OWN_SID} | {statement.sid for statement in scenario.script if statement.sid is not None}
        self.sids = executions.SessionIds(Random(f"{seed}/sids/{inst_id}"), reserved)
        self.names = executions.ServerNames(self.capacity.maximum)
        self.events = counters.events_of(self.capacity.storage, self.capacity.instances > 1)
        self.statistics: dict[str, float] = dict.fromkeys(STATISTICS, 0)
        self.accounts: dict[Group, counters.GroupCounters] = {}
        self.pools: list[SessionStream] = []
        self.busy = self.io_wait = self.load = self.badness = 0.0
        self._storage_means = tuple(counters.mean_of(each) for each in counters.STORAGE[self.capacity.storage])
        self.latency = self._mean_latency()
        self.limits = {pdb.con_id: pdb.directive for pdb in scenario.pdbs if release >= _IO_LIMITS and is_limited(pdb)}
        if self.limits:
            self.events[RATE_LIMIT] = counters.Event(RATE_LIMIT, "Scheduler", HELD_BACK, HELD_BACK)
        self.paces: dict[int, float] = {}
        self.short = False
        self.exhausted = self.exhausted_mark = 0.0
        self.background: list[SimulatedSession] = []
        for name in _BACKGROUND:
            client = executions.background(scenario.header.host, inst_id, name)
            sid, serial = self.sids.take()
            con_id = 1 if scenario.pdbs else 0
            self.background.append(SimulatedSession(inst_id, con_id, sid, serial, client, "", start, changed=start))

    def restart(self) -> None:
        """Reset the counters as an instance restart does; those of the host go on."""
        self.statistics = dict.fromkeys(STATISTICS, 0)
        self.names.highwater = self.names.sessions = self.names.in_use
        for event in self.events.values():
            event.counts, event.micros = [0] * counters.BUCKETS, 0.0
        for account in self.accounts.values():
            account.base = account.totals

    def account(self, group: Group) -> counters.GroupCounters:
        """Return the counters of a group, created when first used."""
        if group not in self.accounts:
            self.accounts[group] = counters.GroupCounters()
        return self.accounts[group]

    def demand(self, running: list[Execution]) -> dict[Group, float]:
        """Return the CPUs that each group would use now if only I/O limits slowed it down."""
        wanted: dict[Group, float] = {}
        for pool in self.pools:
            used = len(pool.sessions) * pool.duty * self._pace_of(pool)
            wanted[pool.group] = wanted.get(pool.group, 0.0) + used
        for execution in running:
            if threads := execution.threads.get(self.inst_id):
                used = threads * execution.cpu_each * self.pace_for(execution)
                wanted[execution.group] = wanted.get(execution.group, 0.0) + used
        return wanted

    def _pace_of(self, pool: SessionStream) -> float:
        return self.paces.get(pool.group.con_id, 1.0) if pool.spec.io else 1.0

    def pace_for(self, execution: Execution) -> float:
        """Return the fraction of full speed that I/O limits allow a statement on this instance."""
        return self.paces.get(execution.group.con_id, 1.0) if execution.mb_each else 1.0

    def set_paces(self, running: list[Execution], fractions: Mapping[Group, float]) -> bool:
        """Compute the I/O pace of each limited container, given its groups' CPU; return whether one changed."""
        paces = {}
        for con_id, limits in self.limits.items():
            now = self.paces.get(con_id, 1.0)
            paces[con_id] = pace(limits, self._io_demands(con_id, running, fractions, now))
        changed = any(abs(self.paces.get(con_id, 1.0) - new_pace) > _SAME for con_id, new_pace in paces.items())
        self.paces = paces
        return changed

    def _io_demands(
        self, con_id: int, running: list[Execution], fractions: Mapping[Group, float], now: float
    ) -> Iterator[Demand]:
        """Yield the I/O at full speed of each pool and statement of a container on this instance."""

        def speed(group: Group) -> float:
            # The fraction is of a demand that the present pace has already reduced. A group that gets all the CPU it
            # demands is slowed down by the limit alone, which is what is computed here.
            part = fractions.get(group, 1.0)
            return part * now if part < 1.0 else 1.0

        for pool in self.pools:
            if pool.group.con_id == con_id:
                requests = len(pool.sessions) / pool.cycle * pool.spec.io / self._mean_latency() * (1 + _WRITTEN)
                yield Demand(requests, requests * _SMALL_MB, speed(pool.group))
        for execution in running:
            if execution.group.con_id == con_id:
                mb = execution.threads.get(self.inst_id, 0.0) * execution.mb_each * (1 + execution.cursor.writing)
                yield Demand(mb, mb, speed(execution.group))

    @staticmethod
    def fractions(wanted: Mapping[Group, float], given: Mapping[Group, float]) -> dict[Group, float]:
        """Return the fraction of its demand that each group got."""
        found = {}
        for group, want in wanted.items():
            part = given[group] / want if want > 0 else 1.0
            found[group] = 1.0 if part > 1 - 1e-9 else part
        return found

    def settle(self, wanted: dict[Group, float], given: dict[Group, float], background: Group) -> dict[Group, float]:
        """Apply an allocation of CPU: reset all rates of the counters; return the fraction that each group got."""
        for account in self.accounts.values():
            account.rates = [0.0] * len(account.rates)
        fractions = self.fractions(wanted, given)
        # Short of CPU: all of it is given, and a group would use more. A group that its limit holds back is not.
        is_full = sum(given.values()) > self.capacity.cpu_count - RESERVED - _SAME
        self.short = is_full and any(part < 1 for part in fractions.values())
        self.account(background).rates[Count.CONSUMED_CPU_TIME] = _BACKGROUND_CPU
        self.load = sum(wanted.values()) + self.capacity.host_load
        self.latency = self._mean_latency()
        return fractions

    def _mean_latency(self) -> float:
        good, bad = self._storage_means
        return ((1 - self.badness) * good + self.badness * bad) / 1e6

    def add_pool(self, pool: SessionStream, fraction: float, managed: bool) -> None:
        """Add the rates of a pool, which got a `fraction` of its CPU demand, to its group's counters."""
        rates = self.account(pool.group).rates
        number = len(pool.sessions)
        pool.fraction, pool.pace = fraction, self._pace_of(pool)
        pool.cpu_rate = number * pool.duty * fraction * pool.pace
        # CPU_WAIT_TIME stays 0 while no plan manages CPU (Database Reference, V$RSRC_CONSUMER_GROUP).
        pool.wait_rate = number * (1 - fraction) if managed else 0.0
        pool.call_rate = number * fraction * pool.pace / pool.cycle
        reads = pool.read_rate = pool.call_rate * pool.spec.io / self.latency
        self._charge(rates, pool.cpu_rate, pool.wait_rate, fraction)
        rates[Count.REQUESTS] += pool.call_rate
        rates[Count.SMALL_READ_REQUESTS] += reads
        rates[Count.SMALL_READ_MEGABYTES] += reads * _SMALL_MB
        rates[Count.SMALL_WRITE_REQUESTS] += reads * _WRITTEN
        rates[Count.SMALL_WRITE_MEGABYTES] += reads * _WRITTEN * _SMALL_MB
        rates[Count.IO_SERVICE_WAITS] += reads
        rates[Count.IO_SERVICE_TIME] += reads * self.latency
        rates[Count.IO_THROTTLE] += number * fraction * (1 - pool.pace)

    def add_execution(self, execution: Execution, fraction: float, managed: bool) -> None:
        """Add the rates of a statement's processes on this instance to its group's counters."""
        rates = self.account(execution.group).rates
        threads, io_pace = execution.threads[self.inst_id], self.pace_for(execution)
        at_work = threads * fraction * io_pace
        cpu, wait = execution.cpu_each * at_work, threads * (1 - fraction) if managed else 0.0
        execution.cpu_rate += cpu
        execution.wait_rate += wait
        mb = execution.mb_each * at_work
        execution.mb_rate += mb
        self._charge(rates, cpu, wait, fraction)
        written = execution.cursor.writing * mb
        rates[Count.IO_THROTTLE] += threads * fraction * (1 - io_pace)
        rates[Count.LARGE_READ_REQUESTS] += mb
        rates[Count.LARGE_READ_MEGABYTES] += mb
        rates[Count.LARGE_WRITE_REQUESTS] += written
        rates[Count.LARGE_WRITE_MEGABYTES] += written
        rates[Count.IO_SERVICE_WAITS] += mb + written
        rates[Count.IO_SERVICE_TIME] += (mb + written) * self.latency

    @staticmethod
    def _charge(rates: list[float], cpu: float, wait: float, fraction: float) -> None:
        rates[Count.CONSUMED_CPU_TIME] += cpu
        rates[Count.CPU_WAIT_TIME] += wait
        if wait:
            bad = starvation(fraction)
            rates[Count.CPU_WAITS] += wait / ((1 - bad) * _QUANTUM_MEAN + bad * _STARVED_MEAN)
            rates[Count.YIELDS] += cpu * 10
        else:
            rates[Count.YIELDS] += cpu * 0.3

    def flow(self, seconds: float) -> None:
        """Advance all totals by `seconds` at the current rates."""
        used = 0.0
        for account in self.accounts.values():
            account.flow(seconds)
            used += account.rates[Count.CONSUMED_CPU_TIME]
        for pool in self.pools:
            pool.flow(seconds)
        self.busy += min(used + self.capacity.host_load, self.capacity.host) * seconds
        self.exhausted += seconds * self.short

    def observe(self, seconds: float, fractions: dict[Group, float], running: int) -> None:
        """Convert the counts since the last call to waits, and update the load of the storage."""
        total = [0.0] * len(Count)
        bad = 0.0
        for group, account in self.accounts.items():
            delta = account.take_noted()
            total = [sum_ + amount for sum_, amount in zip(total, delta, strict=True)]
            bad += delta[Count.CPU_WAITS] * starvation(fractions.get(group, 1.0))
        self._record_waits(total, bad, seconds, running)
        megabytes = sum(total[each] for each in _OF_STORAGE)
        self.badness = min(0.9, (megabytes / seconds / self.capacity.io_mb_per_second) ** 2)
        self.io_wait += total[Count.IO_SERVICE_TIME] * 0.2

    def _record_waits(self, total: list[float], bad: float, seconds: float, running: int) -> None:
        events, load = self.events, self.badness
        if waits := total[Count.CPU_WAITS]:
            events["resmgr:cpu quantum"].record(waits, bad / waits, total[Count.CPU_WAIT_TIME] * 1e6)
        if total[Count.IO_THROTTLE] and RATE_LIMIT in events:
            held = total[Count.IO_THROTTLE]
            events[RATE_LIMIT].record(held / _HELD_BACK_MEAN, 0.0, held * 1e6)
        single, scan = counters.reading_events(self.capacity.storage)
        calls = total[Count.REQUESTS]
        commits = calls * 0.4
        events[single].record(total[Count.SMALL_READ_REQUESTS], load)
        events[scan].record(total[Count.LARGE_READ_REQUESTS], load)
        events["direct path write"].record(total[Count.LARGE_WRITE_REQUESTS], load)
        # One write of LGWR serves all commits that wait for it: many commits do not take as many writes.
        events["log file parallel write"].record(min(commits, 220 * seconds) + 0.8 * seconds, load * 0.5)
        events["log file sync"].record(commits, load * 0.5)
        events["control file sequential read"].record(0.7 * seconds, load)
        events["latch free"].record(total[Count.CONSUMED_CPU_TIME] * 0.05)
        if self.names.in_use:  # only parallel servers pass rows on; a serial read has no dequeue waits
            events["PX Deq: reap credit"].record(total[Count.LARGE_READ_REQUESTS] * 0.6)
        events["PX Deq: Execute Reply"].record(1.3 * running * seconds)
        events["SQL*Net message from client"].record(calls)
        if "gc cr block 2-way" in events:
            events["gc cr block 2-way"].record(total[Count.SMALL_READ_REQUESTS] * 0.3, load)
        self.statistics["user calls"] += calls
        self.statistics["user commits"] += commits
        self.statistics["redo size"] += commits * _COMMIT_REDO + seconds * _IDLE_REDO

    def count_start(self, degree: int, asked: int, verb: str) -> None:
        """Count the start of a statement that requested parallel execution, for V$SYSSTAT."""
        statistics = self.statistics
        if degree > 1:
            kind = {"select": "queries", "create": "DDL statements"}.get(verb, "DML statements")
            statistics[f"{kind} parallelized"] += 1
            statistics["DFO trees parallelized"] += 1
            self.events["PX Deq: Join ACK"].record(degree)
            self.events["enq: PS - contention"].record(0.3)
        if degree >= asked:
            statistics["Parallel operations not downgraded"] += 1
        elif degree <= 1:
            statistics[_SERIAL] += 1
        else:
            lost = 100 * (1 - degree / asked)
            statistics[next(name for least, name in _CLASSES if lost >= least)] += 1


def is_limited(pdb: PdbSpec) -> bool:
    """Return whether a pluggable database limits its I/O."""
    return bool(pdb.directive.max_iops or pdb.directive.max_mbps)


def starvation(fraction: float) -> float:
    """Return the fraction of a group's waits for CPU that are long, given the fraction of its demand that it gets."""
    return 0.0 if fraction >= _STARVED_BELOW else _WORST * (1 - fraction / _STARVED_BELOW)
