"""Report of a replay: how well it reproduces what was observed, then the change."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import NamedTuple

from presman.base.formats import duration
from presman.forecast.scheduler import Group
from presman.reports.whatif_replay import ASSUMPTIONS, COURSES, Replayed, ReplayedStatement


class WaitSummary(NamedTuple):
    """The waits of some statements, those without any among them: seconds."""

    statements: int
    queued: int
    median: float
    p95: float
    longest: float
    timeouts: int


def waits(statements: Sequence[ReplayedStatement]) -> WaitSummary:
    """Return the waits of statements; zeros for none."""
    ordered = sorted(each.waited for each in statements)
    if not ordered:
        return WaitSummary(0, 0, 0.0, 0.0, 0.0, 0)
    return WaitSummary(
        statements=len(ordered),
        queued=sum(wait > 1.0 for wait in ordered),
        median=median(ordered),
        p95=ordered[max(0, -(-95 * len(ordered) // 100) - 1)],
        longest=ordered[-1],
        timeouts=sum(each.timed_out for each in statements),
    )


def error(observed: Sequence[ReplayedStatement], replayed: Sequence[ReplayedStatement]) -> float:
    """Return by how many seconds the replay misses a statement's wait, on average."""
    pairs = zip(observed, replayed, strict=True)
    return fmean([abs(one.waited - other.waited) for one, other in pairs]) if observed else 0.0


def report(observed: Sequence[ReplayedStatement], same: Replayed, other: Replayed | None, seconds: float) -> str:
    """Return the whole text: reproduction with its error, comparison by group, assumptions. Ends in a newline."""
    missed, mean = error(observed, same.statements), fmean([each.waited for each in observed]) if observed else 0.0
    lines = [
        f"{len(observed)} parallel statements in {duration(seconds)}; mean wait {mean:.1f} s",
        f"replayed under the settings of that time, a wait is off by {missed:.1f} s on average"
        + (f" ({100 * missed / mean:.0f} % of the mean wait)" if mean > 1 else ""),
        *([_drawn(same.spread)] if same.spread > 1 else []),
        "",
        _head(),
    ]
    for name, group in _groups(observed):
        lines.append(_line(name, "observed", waits(_of(observed, group)), None))
        lines.append(_line("", "replayed", waits(_of(same.statements, group)), same.peak if group is None else None))
        if other is not None:
            lines.append(
                _line("", "what if", waits(_of(other.statements, group)), other.peak if group is None else None)
            )
    lines += ["", "assumptions:", *(f"  - {text}" for text in ASSUMPTIONS)]
    return "\n".join(lines) + "\n"


def _drawn(spread: float) -> str:
    """Say how much of the error nothing can be done about."""
    return (
        f"which group's statement comes next is random: {COURSES} orders are replayed and the median is shown; a wait "
        f"differs by {spread:.1f} s between two orders"
    )


def _groups(statements: Sequence[ReplayedStatement]) -> list[tuple[str, Group | None]]:
    groups = sorted({each.group for each in statements})
    names = [f"{group.name}#{group.con_id}" if group.con_id else group.name for group in groups]
    return [("all", None), *zip(names, groups, strict=True)]


def _of(statements: Sequence[ReplayedStatement], group: Group | None) -> list[ReplayedStatement]:
    return [each for each in statements if group is None or each.group == group]


def _head() -> str:
    times = f"{'median':>8} {'p95':>8} {'max':>8}"
    return f"{'group':<22} {'':<9} {'statements':>10} {'waited':>7} {times} {'timeouts':>8} {'peak':>5}"


def _line(name: str, kind: str, found: WaitSummary, peak: int | None) -> str:
    times = " ".join(f"{duration(value):>8}" for value in (found.median, found.p95, found.longest))
    servers = "" if peak is None else str(peak)
    counts = f"{found.statements:>10} {found.queued:>7} {times} {found.timeouts:>8} {servers:>5}"
    return f"{name:<22} {kind:<9} {counts}".rstrip()
