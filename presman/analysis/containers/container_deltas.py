"""Deltas of the counters of pluggable databases since the last poll (V$RSRC_PDB)."""

from __future__ import annotations

from operator import itemgetter

from presman.analysis.facts.deltas import difference
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.groups.counter_deltas import CounterDeltas
from presman.analysis.groups.io_rates import rates
from presman.analysis.readings.group_readings import IoRates
from presman.analysis.sight import CPU_COUNTERS
from presman.rows.instance_rows import RsrcPdb

_COUNTERS = itemgetter(
    *(RsrcPdb._fields.index(name) for name in CounterDeltas._fields if name in RsrcPdb._fields),
)
_COUNTED = tuple(name for name in CounterDeltas._fields if name in RsrcPdb._fields)
_OF_IO = frozenset(name for name in _COUNTED if name.startswith(("small_", "large_")))
_NO_GROWTH = CounterDeltas._make([0] * len(CounterDeltas._fields))


def grown_counters(facts: Facts, inst_id: int) -> dict[int, CounterDeltas]:
    """Return each container's counters' deltas within one start of the instance and one window of the CDB plan."""
    untold = not facts.snapshot.section(RsrcPdb).absent.isdisjoint(CPU_COUNTERS)
    if untold or not facts.deltas.same_window(inst_id, ROOT):
        return {}
    before = {row.con_id: row for row in facts.deltas.before(RsrcPdb) if row.inst_id == inst_id}
    found = {}
    for row in facts.snapshot.rows(RsrcPdb):
        if row.inst_id == inst_id and row.con_id in before:
            grown = difference(_COUNTERS(row), _COUNTERS(before[row.con_id]))
            if grown is not None:
                found[row.con_id] = _NO_GROWTH._replace(**dict(zip(_COUNTED, grown, strict=True)))
    return found


def grown_io(facts: Facts, deltas: CounterDeltas | None, seconds: float | None) -> IoRates | None:
    """Return a container's I/O per second; None without a delta, and where no column of I/O is there."""
    if deltas is None or not seconds or facts.snapshot.section(RsrcPdb).absent >= _OF_IO:
        return None
    return rates(deltas, seconds)
