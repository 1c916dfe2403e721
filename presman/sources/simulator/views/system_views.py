"""Views of the instance as a whole: identity, parameters, statistics, waits, parallel servers, I/O outliers.

V$IO_OUTLIER has plausible latencies, V$LGWRIO_OUTLIER the invalid values that some platforms show.
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
from presman.sources.simulator.views.view import Row, View, of_instances, when

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
_MILLISECOND = 10
"""The bucket of V$EVENT_HISTOGRAM_MICRO (1024 us) that is the first one of V$EVENT_HISTOGRAM (1 ms)."""


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
    state = "NORMAL"
    if simulation.plans.top == QUIESCE_PLAN:  # QUIESCING while the quiescing session waits
        waits = any(one.waits_for == QUIESCE_WAIT for one in simulation.workload.running)
        state = "QUIESCING" if waits else "QUIESCED"
    yield (name, f"{header.host}{number:02}", version, full, started, "OPEN", parallel, state)


def _database(simulation: Simulation, _: Machine) -> Iterator[Row]:
    name = simulation.scenario.header.database
    yield (name, name, "READ WRITE", "PRIMARY", "YES" if simulation.plans.cdb else "NO")


def _pdbs(simulation: Simulation, _: Machine) -> Iterator[Row]:
    if simulation.plans.cdb:
        yield (SEED, "PDB$SEED", "READ ONLY")
        yield from ((pdb.con_id, pdb.name, "READ WRITE") for pdb in simulation.scenario.pdbs)


def _parameters(simulation: Simulation, _: Machine) -> Iterator[Row]:
    capacity, in_force = simulation.scenario.capacity, simulation.plans
    values: dict[str, object] = {
        "cpu_count": capacity.cpu_count,
        "parallel_adaptive_multi_user": "FALSE",
        "parallel_degree_limit": capacity.parallel_degree_limit or "CPU",
        "parallel_degree_policy": capacity.parallel_degree_policy,
        "parallel_force_local": "FALSE",
        "parallel_instance_group": "",
        "parallel_max_servers": capacity.maximum,
        "parallel_min_time_threshold": "AUTO",
        "parallel_servers_target": capacity.target,
        "parallel_threads_per_cpu": capacity.parallel_threads_per_cpu,
        "resource_limit": "TRUE",
        "resource_manager_cpu_allocation": capacity.cpu_count,
        "resource_manager_plan": "" if in_force.root is None else in_force.top,
        "statistics_level": "TYPICAL",
        "timed_statistics": "TRUE",
        "control_management_pack_access": "NONE",
    }
    if simulation.release >= Release(12, 1):
        values["pga_aggregate_limit"] = 12 << 30
    if simulation.release >= Release(12, 2):
        values |= {"db_performance_profile": "", "max_iops": 0, "max_mbps": 0}
    if simulation.release >= Release(19):
        values["cpu_min_count"] = capacity.cpu_count
    if simulation.release >= Release(23):
        values["resource_manager_cpu_scope"] = "INSTANCE_ONLY"
    for name, value in sorted(values.items()):
        yield (name, str(value) or None, 0)
        for pdb in simulation.scenario.pdbs if name in _OF_CONTAINERS else ():
            if setting := getattr(pdb.directive, _OF_CONTAINERS[name]):
                yield (name, f"{setting:g}" if isinstance(setting, float) else str(setting), pdb.con_id)


def _active_services(simulation: Simulation, _: Machine) -> Iterator[Row]:
    named = sorted({entry.service for entry in simulation.scenario.workloads})
    return ((name,) for name in ("SYS$BACKGROUND", "SYS$USERS", *named))


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
        if waits := sum(event.counts):
            yield (event.name, event.wait_class, waits, int(event.micros))


def _used_buckets(machine: Machine) -> Iterator[tuple[Event, int, int]]:
    """Yield each event with waits, with its first and last used bucket."""
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
    servers = (server for execution in simulation.workload.executions.values() for server in execution.servers)
    busy = {(server.inst_id, server.number): server for server in servers}
    for machine in simulation.machines:
        for number in range(machine.names.highwater):
            server = busy.get((machine.inst_id, number))
            status = "IN USE" if server else "AVAILABLE"
            sid, serial = (server.sid, server.serial) if server else (None, None)
            yield (machine.inst_id, server_name(number), status, sid, serial, "FALSE")
    for monitor in simulation.monitors:
        serial = monitor.serial(simulation.now) if monitor.is_querying(simulation.now) else None
        for helper in monitor.helpers:
            status, sid = ("IN USE", helper.sid) if serial else ("AVAILABLE", None)
            yield (helper.inst_id, helper.name, status, sid, serial, "TRUE")


_LONG = 20
"""The first bucket above half a second."""
_MOST = 12


def _io_outlier(simulation: Simulation, machine: Machine) -> Iterator[Row]:
    """Yield up to _MOST reads that took longer than half a second."""
    event, _ = reading_events(simulation.scenario.capacity.storage)
    rng = Random(f"{simulation.seed}/outliers/{machine.inst_id}")
    counts = machine.events[event].counts
    buckets = [bucket for bucket in range(_LONG, BUCKETS) for _ in range(min(counts[bucket], _MOST))][-_MOST:]
    rng.shuffle(buckets)
    for number, bucket in enumerate(buckets):
        latency = int(rng.uniform(0.5, 1.0) * (1 << bucket) / 1000)
        file, disk = f"+DATA/dw/datafile/sales_{number % 5:02}.dbf", f"DATA_{rng.randrange(12):04}"
        yield ("Buffer Cache Reads", 8, event, file, latency, disk, latency, None, 0, None, 0)


def _lgwrio_outlier(simulation: Simulation, _: Machine) -> Iterator[Row]:
    """Yield values that only increase, like a clock in milliseconds, as published for some platforms."""
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
    ),
    of_instances("V$DATABASE", "NAME DB_UNIQUE_NAME OPEN_MODE DATABASE_ROLE CDB", _database),
    of_instances("V$PDBS", "CON_ID NAME OPEN_MODE", _pdbs),
    of_instances("V$SYSTEM_PARAMETER", "NAME VALUE CON_ID", _parameters),
    of_instances("V$ACTIVE_SERVICES", "NAME", _active_services),
    of_instances("V$OSSTAT", "STAT_NAME VALUE", _osstat),
    of_instances("V$SYSTEM_EVENT", "EVENT WAIT_CLASS TOTAL_WAITS TIME_WAITED_MICRO", _system_event),
    of_instances("V$EVENT_HISTOGRAM_MICRO", "EVENT WAIT_TIME_MICRO WAIT_COUNT", _histogram_micro),
    of_instances("V$EVENT_HISTOGRAM", "EVENT WAIT_TIME_MILLI WAIT_COUNT", _histogram_milli),
    of_instances("V$SYSSTAT", "NAME VALUE", lambda _, machine: ((k, int(v)) for k, v in machine.statistics.items())),
    of_instances("V$PX_PROCESS_SYSSTAT", "STATISTIC VALUE", _px_process_sysstat),
    View("V$PX_PROCESS", "INST_ID SERVER_NAME STATUS SID SERIAL# IS_GV", _px_process),
    of_instances("V$IO_OUTLIER", _OUTLIER, _io_outlier),
    of_instances("V$LGWRIO_OUTLIER", _OUTLIER, _lgwrio_outlier),
)
