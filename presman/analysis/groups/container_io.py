"""I/O of containers against MAX_IOPS and MAX_MBPS: rates since the last poll (V$RSRC_PDB), and what holds them back.

Said in words with the arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Protocol

from presman.analysis.facts.deltas import difference
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.groups.counter_deltas import CounterDeltas, rates
from presman.analysis.readings.group_readings import IoRates, IoVerdict, LimitedContainer
from presman.rows.group_rows import CPU_COLUMNS
from presman.rows.instance_rows import PdbMetric, RsrcPdb

NEAR = 0.95
"""Fraction of a limit from which on it counts as reached."""

FELT = 0.1
"""Milliseconds: I/O that is held back for less than this on average is not throttled to speak of."""


_WORST_FIRST = (IoVerdict.THROTTLED, IoVerdict.NEAR, IoVerdict.UNDER, IoVerdict.UNKNOWN, IoVerdict.FREE)


class Limited(Protocol):
    """What a verdict is about. Rates per second since the last poll, limits per second, milliseconds per I/O."""

    @property
    def io(self) -> IoRates | None: ...  # noqa: D102
    @property
    def io_throttle_ms(self) -> float | None: ...  # noqa: D102
    @property
    def iops_limit(self) -> int | None: ...  # noqa: D102
    @property
    def mb_limit(self) -> int | None: ...  # noqa: D102


def limits_of(facts: Facts, inst_id: int, con_id: int) -> tuple[int | None, int | None]:
    """Return MAX_IOPS and MAX_MBPS of a container: its own, else the root's, which it inherits; None for none."""
    requests, megabytes = (
        next((own for each in (con_id, 0, ROOT) if (own := facts.system.parameters.setting(inst_id, each, name))), None)
        for name in ("max_iops", "max_mbps")
    )
    return requests, megabytes


def verdict(row: Limited) -> IoVerdict:
    """Return what the limits do: throttled is what was held back in the last full minute; rates are those of now."""
    if row.iops_limit is None and row.mb_limit is None:
        return IoVerdict.FREE
    if (row.io_throttle_ms or 0.0) >= FELT:
        return IoVerdict.THROTTLED
    if row.io is None:
        return IoVerdict.UNKNOWN
    return IoVerdict.NEAR if reached(row) else IoVerdict.UNDER


def worst(verdicts: Iterable[IoVerdict]) -> IoVerdict:
    """Return the verdict to show for a container on several instances."""
    return min(verdicts, key=_WORST_FIRST.index, default=IoVerdict.UNKNOWN)


def explain(row: Limited) -> str:
    """Return the verdict as one sentence with its figures; "" where there is no limit."""
    limits = []
    if row.iops_limit is not None:
        limits.append(f"{_rate(None if row.io is None else row.io.requests)} of {row.iops_limit} IOPS (MAX_IOPS)")
    if row.mb_limit is not None:
        limits.append(f"{_rate(None if row.io is None else row.io.mb)} of {row.mb_limit} MB/s (MAX_MBPS)")
    if not limits:
        return ""
    return f"Uses {' and '.join(limits)}: {_consequence(row)}."


def _consequence(row: Limited) -> str:
    held, nearest = row.io_throttle_ms, reached(row)
    if held is not None and held >= FELT:
        by = f"{nearest} throttled it" if nearest else "a limit throttled it"
        return f"{by}, each I/O by {held:.1f} ms on average in the last full minute"
    if held is None:
        return f"{nearest} is nearly reached" if nearest else "below its limits"
    return f"{nearest} is nearly reached, but no I/O was throttled" if nearest else "no I/O was throttled"


def reached(row: Limited) -> str:
    """Return the limit that is used up most, if it nearly is; else ""."""
    if row.io is None:
        return ""
    pairs = (("MAX_IOPS", row.io.requests, row.iops_limit), ("MAX_MBPS", row.io.mb, row.mb_limit))
    part, name = max(((used / limit, name) for name, used, limit in pairs if limit), default=(0.0, ""))
    return name if part >= NEAR else ""


def _rate(value: float | None) -> str:
    return "?" if value is None else f"{value:.0f}"


_COUNTERS = itemgetter(
    *(RsrcPdb._fields.index(name) for name in CounterDeltas._fields if name in RsrcPdb._fields),
)
_COUNTED = tuple(name for name in CounterDeltas._fields if name in RsrcPdb._fields)
_OF_IO = frozenset(name for name in _COUNTED if name.startswith(("small_", "large_")))
_NO_GROWTH = CounterDeltas._make([0] * len(CounterDeltas._fields))


def grown_counters(facts: Facts, inst_id: int) -> dict[int, CounterDeltas]:
    """Return each container's counters' deltas within one start of the instance and one window of the CDB plan."""
    untold = not facts.snapshot.section(RsrcPdb).absent.isdisjoint(CPU_COLUMNS)
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


def limited_containers(facts: Facts) -> tuple[LimitedContainer, ...]:
    """Return the containers with MAX_IOPS or MAX_MBPS, on each instance by itself; none outside of a CDB."""
    seen = {(row.inst_id, row.con_id): row.pdb_name for row in facts.snapshot.rows(RsrcPdb) if row.con_id > 2}
    limits = {key: limits_of(facts, *key) for key in sorted(seen)}
    limited = {key: limit for key, limit in limits.items() if limit != (None, None)}
    if not limited:
        return ()
    seconds = facts.deltas.interval(RsrcPdb)
    grown = {inst_id: grown_counters(facts, inst_id) for inst_id in {key[0] for key in limited}}
    held = {(row.inst_id, row.con_id): row.avg_io_throttle for row in facts.snapshot.rows(PdbMetric)}
    found = []
    for (inst_id, con_id), (requests, megabytes) in limited.items():
        deltas = grown[inst_id].get(con_id)
        io = grown_io(facts, deltas, seconds)
        name = seen[inst_id, con_id] or facts.system.container_name(con_id)
        row = LimitedContainer(inst_id, con_id, name, io, held.get((inst_id, con_id)), requests, megabytes)
        told = verdict(row), reached(row), explain(row)
        found.append(row._replace(verdict=told[0], nearest=told[1], sentence=told[2]))
    return tuple(found)
