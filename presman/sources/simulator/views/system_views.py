"""Views of the instance as a whole: identity, parameters, statistics, waits, parallel servers, I/O outliers.

V$IO_OUTLIER has believable latencies, V$LGWRIO_OUTLIER what broken platforms show.
"""

from collections.abc import Iterable, Iterator
from random import Random

from presman.base.release import Release
from presman.rows.instance_rows import SEED
from presman.rows.session_state import QUIESCE_PLAN, QUIESCE_WAIT
from presman.sources.simulator.counters import BUCKETS, Count, Event, reading_events
from presman.sources.simulator.executions import server_name
from presman.sources.simulator.machine import Machine
from presman.sources.simulator.simulation import Simulation
from presman.sources.simulator.views.view import Row, View, never, of_instances, when, with_plans

_VERSIONS = {
    Release(11, 2): ("11.2.0.4.0", "11.2.0.4.0"),
    Release(12, 1): ("12.1.0.2.0", "12.1.0.2.0"),
    Release(12, 2): ("12.2.0.1.0", "12.2.0.1.0"),
    Release(18): ("18.0.0.0.0", "18.14.0.0.0"),
    Release(19): ("19.0.0.0.0", "19.22.0.0.0"),
    Release(21): ("21.0.0.0.0", "21.13.0.0.0"),
    Release(23): ("23.0.0.0.0", "23.6.0.24.10"),
    Release(23, 26): ("23.0.0.0.0", "23.26.1.0.0"),
}
_OF_CONTAINERS = {
    **{name: name for name in ("cpu_count", "cpu_min_count", "max_iops", "max_mbps", "parallel_servers_target")},
    "db_performance_profile": "profile",
}
"""Parameters that a pluggable database may set for itself."""
_FIRST_PROCESS = 21_400
"""SPID of P000 on each host."""
_MILLISECOND = 10
"""The bucket of EVENT_HISTOGRAM_MICRO (1024 us) that is EVENT_HISTOGRAM's first (1 ms)."""


def versions(release: Release) -> tuple[str, str]:
    """Return V$INSTANCE.VERSION and VERSION_FULL of a release."""
    text = f"{release.major}.{release.minor}.0.0.0"
    return _VERSIONS.get(release, (f"{release.major}.0.0.0.0" if release.major >= 18 else text, text))


def _instance(simulation: Simulation, machine: Machine) -> Iterator[Row]:
    header, number = simulation.scenario.header, machine.inst_id
    version, full = versions(simulation.release)
    parallel = "YES" if len(simulation.machines) > 1 else "NO"
    name = f"{header.database}{number if parallel == 'YES' else ''}"
    started = when(simulation, simulation.started[number])
    yield (name, f"{header.host}{number:02}", version, full, started, "OPEN", parallel, _active_state(simulation))


def _active_state(simulation: Simulation) -> str:
    """Return V$INSTANCE.ACTIVE_STATE: QUIESCING as long as a session waits for the end of it, then QUIESCED."""
    if simulation.plans.top != QUIESCE_PLAN:
        return "NORMAL"
    return "QUIESCING" if any(one.waits_for == QUIESCE_WAIT for one in simulation.workload.running) else "QUIESCED"


def _database(simulation: Simulation, _: Machine) -> Iterator[Row]:
    name = simulation.scenario.header.database
    yield (name, name, "READ WRITE", "PRIMARY", "YES" if simulation.plans.cdb else "NO")


def _pdbs(simulation: Simulation, _: Machine) -> Iterator[Row]:
    if simulation.plans.cdb:
        yield (SEED, "PDB$SEED", "READ ONLY")
        yield from ((pdb.con_id, pdb.name, "READ WRITE") for pdb in simulation.scenario.pdbs)


def _parameters(simulation: Simulation, _: Machine) -> Iterator[Row]:
    capacity, in_force = simulation.scenario.capacity, simulation.plans
    limit = capacity.parallel_degree_limit
    plan = "" if in_force.root is None else in_force.top
    values: list[tuple[str, int, object, bool]] = [
        ("cpu_count", 3, capacity.cpu_count, not capacity.caged),
        ("parallel_adaptive_multi_user", 1, "FALSE", True),
        ("parallel_degree_limit", 2, limit or "CPU", limit is None),
        ("parallel_degree_policy", 2, capacity.parallel_degree_policy, capacity.parallel_degree_policy == "MANUAL"),
        ("parallel_force_local", 1, "FALSE", True),
        ("parallel_instance_group", 2, "", True),
        ("parallel_max_servers", 3, capacity.maximum, capacity.parallel_max_servers is None),
        ("parallel_min_time_threshold", 2, "AUTO", True),
        ("parallel_servers_target", 3, capacity.target, capacity.parallel_servers_target is None),
        ("parallel_threads_per_cpu", 3, capacity.parallel_threads_per_cpu, capacity.parallel_threads_per_cpu == 1),
        ("resource_limit", 1, "TRUE", True),
        ("resource_manager_cpu_allocation", 3, capacity.cpu_count, True),
        ("resource_manager_plan", 2, plan, not plan),
        ("statistics_level", 2, "TYPICAL", True),
        ("timed_statistics", 1, "TRUE", True),
        ("control_management_pack_access", 2, "NONE", False),
    ]
    if simulation.release >= Release(12, 1):
        values.append(("pga_aggregate_limit", 6, 12 << 30, True))
    if simulation.release >= Release(12, 2):
        values += [("db_performance_profile", 2, "", True), ("max_iops", 3, 0, True), ("max_mbps", 3, 0, True)]
    if simulation.release >= Release(19):
        values.append(("cpu_min_count", 2, capacity.cpu_count, True))
    if simulation.release >= Release(23):
        values.append(("resource_manager_cpu_scope", 2, "INSTANCE_ONLY", True))
    for number, (name, kind, value, default) in enumerate(sorted(values), 1):
        text = str(value)
        yield (number, name, kind, text or None, text or None, "TRUE" if default else "FALSE", 0)
        for pdb in simulation.scenario.pdbs if name in _OF_CONTAINERS else ():
            setting = getattr(pdb.directive, _OF_CONTAINERS[name])
            if setting:
                text = f"{setting:g}" if isinstance(setting, float) else str(setting)
                yield (number, name, kind, text, text, "FALSE", pdb.con_id)


def _active_services(simulation: Simulation, _: Machine) -> Iterator[Row]:
    scenario = simulation.scenario
    named = {entry.service: scenario.con_id(entry.pdb) for entry in scenario.who_connects}
    return ((name, named.get(name, 0)) for name in ("SYS$BACKGROUND", "SYS$USERS", *sorted(named)))


def _osstat(simulation: Simulation, machine: Machine) -> Iterable[Row]:
    host = simulation.scenario.capacity.host
    uptime = simulation.now + simulation.scenario.header.warmup
    waited = sum(account.totals[Count.CPU_WAIT_TIME] for account in machine.accounts.values())
    return (
        ("NUM_CPUS", host),
        ("NUM_CPU_CORES", max(1, host // 2)),
        ("NUM_CPU_SOCKETS", 1 if host < 32 else 2),
        ("LOAD", round(machine.load, 2)),
        ("BUSY_TIME", int(machine.busy * 100)),
        ("IDLE_TIME", int((host * uptime - machine.busy) * 100)),
        ("IOWAIT_TIME", int(machine.io_wait * 100)),
        ("RSRC_MGR_CPU_WAIT_TIME", int(waited * 100)),
    )


def _system_event(_: Simulation, machine: Machine) -> Iterator[Row]:
    for event in machine.events.values():
        waits, micros = event.total, int(event.micros)
        if waits:
            yield (event.name, event.wait_class, waits, micros // 10_000, round(micros / waits / 1e4, 2), micros)


def _used_buckets(machine: Machine) -> Iterator[tuple[Event, int, int]]:
    """Yield each event that was waited for, with its first and its last bucket."""
    for event in machine.events.values():
        if used := [bucket for bucket in range(BUCKETS) if event.counts[bucket]]:
            yield event, used[0], used[-1]


def _histogram_micro(_: Simulation, machine: Machine) -> Iterator[Row]:
    for event, first, last in _used_buckets(machine):
        for bucket in range(first, last + 1):
            yield (event.name, 1 << bucket, event.counts[bucket])


def _histogram_milli(__: Simulation, machine: Machine) -> Iterator[Row]:
    for event, _, last in _used_buckets(machine):
        yield (event.name, 1, sum(event.counts[: _MILLISECOND + 1]))
        for bucket in range(_MILLISECOND + 1, last + 1):
            yield (event.name, 1 << (bucket - _MILLISECOND), event.counts[bucket])


def _sysstat(_: Simulation, machine: Machine) -> Iterator[Row]:
    return ((name, int(value)) for name, value in machine.statistics.items())


def _px_process_sysstat(_: Simulation, machine: Machine) -> Iterator[Row]:
    names = machine.names
    counted = {
        "Servers In Use": names.in_use,
        "Servers Available": names.highwater - names.in_use,
        "Servers Started": names.highwater,
        "Servers Shutdown": 0,
        "Servers Highwater": names.highwater,
        "Servers Cleaned Up": 0,
        "Server Sessions": names.sessions,
    }
    # The real view pads STATISTIC with blanks to 30 characters.
    return ((f"{statistic:<30}", value) for statistic, value in counted.items())


def _px_process(simulation: Simulation) -> Iterator[Row]:
    busy = {
        (server.inst_id, server.number): server
        for execution in simulation.workload.executions.values()
        for server in execution.servers
    }
    for machine in simulation.machines:
        for number in range(machine.names.highwater):
            server = busy.get((machine.inst_id, number))
            status = "IN USE" if server else "AVAILABLE"
            sid, serial = (server.sid, server.serial) if server else (None, None)
            spid = str(_FIRST_PROCESS + number)
            yield (machine.inst_id, server_name(number), status, 60 + number, spid, sid, serial, "FALSE", 0)
    for number, monitor in enumerate(simulation.monitors, 1):
        serial = monitor.serial(simulation.now) if monitor.is_querying(simulation.now) else None
        for helper in monitor.helpers:
            status, sid = ("IN USE", helper.sid) if serial else ("AVAILABLE", None)
            spid = str(_FIRST_PROCESS - number)
            yield (helper.inst_id, helper.name, status, 60 - number, spid, sid, serial, "TRUE", 0)


_LONG = 20
"""The first bucket above half a second."""
_MOST = 12


def _slow_reads(machine: Machine, event: str) -> list[int]:
    """Return the buckets of the reads that took longer than half a second, one entry per read, some of them."""
    counts = machine.events[event].counts
    return [bucket for bucket in range(_LONG, BUCKETS) for _ in range(min(counts[bucket], _MOST))][-_MOST:]


def _io_outlier(simulation: Simulation, machine: Machine) -> Iterator[Row]:
    event, _ = reading_events(simulation.scenario.capacity.storage)
    rng = Random(f"{simulation.seed}/outliers/{machine.inst_id}")
    buckets = _slow_reads(machine, event)
    rng.shuffle(buckets)
    for number, bucket in enumerate(buckets):
        latency = int(rng.uniform(0.5, 1.0) * (1 << bucket) / 1000)
        file, disk = f"+DATA/dw/datafile/sales_{number % 5:02}.dbf", f"DATA_{rng.randrange(12):04}"
        yield ("Buffer Cache Reads", 8, event, file, latency, disk, latency, None, 0, None, 0)


def _lgwrio_outlier(simulation: Simulation, _: Machine) -> Iterator[Row]:
    """Values that only grow, a few milliseconds of a clock apart, as published of some platforms."""
    start = 1_190_000_000 + int(simulation.scenario.header.uptime * 1000)
    for number in range(8):
        value, size = start + 40_000 * number, 4 << number % 3
        file, disk = f"+REDO/dw/onlinelog/group_{number % 4 + 1}.log", "REDO_0001"
        yield ("LGWR", size, "log file parallel write", file, value, disk, value, None, 0, None, 0)


_OUTLIER = (
    "FUNCTION_NAME IO_SIZE WAIT_EVENT FILE_NAME IO_LATENCY DISK1_NAME DISK1_LATENCY DISK2_NAME DISK2_LATENCY DISK3_NAME"
    " DISK3_LATENCY"
)


VIEWS = (
    of_instances(
        "V$INSTANCE",
        "INSTANCE_NAME HOST_NAME VERSION VERSION_FULL STARTUP_TIME STATUS PARALLEL ACTIVE_STATE",
        _instance,
        lambda simulation: (_active_state(simulation), *simulation.started.values()),
    ),
    of_instances("V$DATABASE", "NAME DB_UNIQUE_NAME OPEN_MODE DATABASE_ROLE CDB", _database, never),
    of_instances("V$PDBS", "CON_ID NAME OPEN_MODE", _pdbs, never),
    of_instances("V$SYSTEM_PARAMETER", "NUM NAME TYPE VALUE DISPLAY_VALUE ISDEFAULT CON_ID", _parameters, with_plans),
    of_instances("V$ACTIVE_SERVICES", "NAME CON_ID", _active_services, never),
    of_instances("V$OSSTAT", "STAT_NAME VALUE", _osstat),
    of_instances(
        "V$SYSTEM_EVENT", "EVENT WAIT_CLASS TOTAL_WAITS TIME_WAITED AVERAGE_WAIT TIME_WAITED_MICRO", _system_event
    ),
    of_instances("V$EVENT_HISTOGRAM_MICRO", "EVENT WAIT_TIME_MICRO WAIT_COUNT", _histogram_micro),
    of_instances("V$EVENT_HISTOGRAM", "EVENT WAIT_TIME_MILLI WAIT_COUNT", _histogram_milli),
    of_instances("V$SYSSTAT", "NAME VALUE", _sysstat),
    of_instances("V$PX_PROCESS_SYSSTAT", "STATISTIC VALUE", _px_process_sysstat),
    View("V$PX_PROCESS", "INST_ID SERVER_NAME STATUS PID SPID SID SERIAL# IS_GV CON_ID", _px_process),
    of_instances("V$IO_OUTLIER", _OUTLIER, _io_outlier),
    of_instances("V$LGWRIO_OUTLIER", _OUTLIER, _lgwrio_outlier),
)
