"""A container's I/O against its MAX_IOPS and MAX_MBPS, in words with the arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.readings.container_readings import IoVerdict
from presman.analysis.readings.group_readings import IoRates

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
    places = (con_id, 0, ROOT)
    requests, megabytes = (
        next((own for place in places if (own := facts.system.setting(inst_id, place, name))), None)
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
