"""Containers whose I/O is limited, as every poll sees them: their rates, what holds them back."""

from __future__ import annotations

from presman.analysis.containers import io_limits
from presman.analysis.containers.container_deltas import grown_counters, grown_io
from presman.analysis.facts.facts import Facts
from presman.analysis.readings.container_readings import LimitedContainer
from presman.rows.instance_rows import PdbMetric, RsrcPdb


def limited_containers(facts: Facts) -> tuple[LimitedContainer, ...]:
    """Return the containers with MAX_IOPS or MAX_MBPS, on each instance by itself; none outside of a CDB."""
    seen = {(row.inst_id, row.con_id): row.pdb_name for row in facts.snapshot.rows(RsrcPdb) if row.con_id > 2}
    limits = {place: io_limits.limits_of(facts, *place) for place in sorted(seen)}
    limited = {place: limit for place, limit in limits.items() if limit != (None, None)}
    if not limited:
        return ()
    seconds = facts.deltas.interval(RsrcPdb)
    grown = {inst_id: grown_counters(facts, inst_id) for inst_id in {place[0] for place in limited}}
    held = {(row.inst_id, row.con_id): row.avg_io_throttle for row in facts.snapshot.rows(PdbMetric)}
    found = []
    for (inst_id, con_id), (requests, megabytes) in limited.items():
        deltas = grown[inst_id].get(con_id)
        io = grown_io(facts, deltas, seconds)
        name = seen[inst_id, con_id] or facts.system.container_name(con_id)
        row = LimitedContainer(inst_id, con_id, name, io, held.get((inst_id, con_id)), requests, megabytes)
        told = io_limits.verdict(row), io_limits.reached(row), io_limits.explain(row)
        found.append(row._replace(verdict=told[0], nearest=told[1], sentence=told[2]))
    return tuple(found)
