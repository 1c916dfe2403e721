"""Deltas of the counters of pluggable databases since the last poll (V$RSRC_PDB)."""

from __future__ import annotations

from operator import itemgetter

from presman.analysis.facts.deltas import difference
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.groups.counter_deltas import CounterDeltas
from presman.analysis.sight import CPU_COUNTERS
from presman.records.container_rows import RsrcPdb

_COUNTERS = itemgetter(
    *(RsrcPdb._fields.index(name) for name in CounterDeltas._fields if name in RsrcPdb._fields),
)
_COUNTED = tuple(name for name in CounterDeltas._fields if name in RsrcPdb._fields)
_NO_GROWTH = CounterDeltas._make([0] * len(CounterDeltas._fields))


def grown_counters(facts: Facts, inst_id: int) -> dict[int, CounterDeltas]:
    """Return each container's counters' deltas within one start of the instance and one window of the CDB plan."""
    told = facts.snapshot.section(RsrcPdb).absent.isdisjoint(CPU_COUNTERS)
    if not told or not facts.deltas.same_window(inst_id, ROOT):
        return {}
    before = {row.con_id: row for row in facts.deltas.before(RsrcPdb) if row.inst_id == inst_id}
    found = {}
    for row in facts.snapshot.rows(RsrcPdb):
        if row.inst_id == inst_id and row.con_id in before:
            grown = difference(_COUNTERS(row), _COUNTERS(before[row.con_id]))
            if grown is not None:
                found[row.con_id] = _NO_GROWTH._replace(**dict(zip(_COUNTED, grown, strict=True)))
    return found
