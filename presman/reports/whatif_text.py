"""A replay as text: first how well it reproduces the observation, then the change."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from statistics import fmean, median
from typing import NamedTuple

from presman.base.formats import count, counted, duration, listed
from presman.forecast.scheduler import Group
from presman.reports.advise_search import quantile
from presman.reports.whatif_replay import COURSES, Replayed, ReplayedStatement, error, is_longer

ASSUMPTIONS = (
    "statements arrive at the observed times, whatever happens to earlier ones",
    "each statement needs all the servers it had, and its run time does not depend on what else runs",
    "statements that never started are assumed to run for the mean time of their group",
    "statements that already ran at the start, or started above a limit, are not queued",
    "statements that were there before the start are replayed, and not counted: no setting of then changes how long "
    "they had waited",
    "statements still queued at the end waited at least that long: a wait with ≥ may be longer, how much is not known",
    "a statement that timed out or was cancelled in the queue leaves at its group's timeout",
    "a statement that wants more than its group's limit starts once its group holds no servers; of a limit of 0, never",
)

BY_PLAN = "the plan at the end orders the groups: level by level, and at random, weighted by the plan, on a level"
ON_ONE_LEVEL = (
    "a file of arrivals names no plan: which group comes next is random, weighted by guaranteed shares, and all are on "
    "one level unless --level names theirs, which then holds for all that is replayed"
)


class WaitSummary(NamedTuple):
    """The waits of some statements in seconds, including zero waits. `longer` says for median, p95 and longest whether
    each may really be longer, because statements still waited at the end.
    """

    statements: int
    queued: int
    median: float
    p95: float
    longest: float
    timeouts: int
    longer: tuple[bool, ...] = (False, False, False)


def waits(statements: Sequence[ReplayedStatement]) -> WaitSummary:
    """Return the waits of statements; zeros if there are none."""
    if not statements:
        return WaitSummary(0, 0, 0.0, 0.0, 0.0, 0)
    known = _three([each.waited for each in statements])
    most = _three([inf if each.is_cut else each.waited for each in statements])
    # Up to a second counts as no wait: polls are no more precise.
    queued, timeouts = sum(each.waited > 1.0 for each in statements), sum(each.timed_out for each in statements)
    return WaitSummary(len(statements), queued, *known, timeouts, tuple(map(is_longer, known, most)))


def _three(some: Iterable[float]) -> tuple[float, float, float]:
    """Return the median, the 95th percentile and the longest of waits."""
    ordered = sorted(some)
    return median(ordered), quantile(ordered, 0.95), ordered[-1]


def beyond_maximum(target: int | None, maximum: int | None) -> str:
    """Return that a target is above PARALLEL_MAX_SERVERS, "" if it is not, or that is unknown."""
    if target is None or maximum is None or target <= maximum:
        return ""
    return (
        f"a target of {target} is above PARALLEL_MAX_SERVERS ({maximum}): the replay assumes that it is "
        "raised as well, without which only that many can be had"
    )


def none_starts(limits: Mapping[Group, int], titles: Mapping[Group, str]) -> str:
    """Return that no statement of the groups whose limit allows no servers would start, "" if there are none."""
    names = listed([titled(group, titles) for group, most in sorted(limits.items()) if most == 0])
    return f"no statement that queues in {names} would start: the limit allows no servers" if names else ""


def peak_beyond_maximum(peaks: Iterable[int], maximum: int | None) -> str:
    """Return that replays have more servers at once than there are, "" if they have not, or that is unknown."""
    if maximum is None or max(peaks, default=0) <= maximum:
        return ""
    return (
        f"no more than PARALLEL_MAX_SERVERS ({maximum}) can be in use at once: where a peak is above "
        "it, statements were seen to start although no servers were free, and the replay lets them"
    )


class ReplayBasis(NamedTuple):
    """Background of a replay: statements that came `before` are replayed but not counted, `order` says how groups are
    ordered, `titles` are their display names, `cautions` are what to know before using the figures.
    """

    before: Sequence[ReplayedStatement] = ()
    order: str = ON_ONE_LEVEL
    titles: Mapping[Group, str] = {}
    cautions: Sequence[str] = ()


_NO_PLAN = ReplayBasis()


def report(
    observed: Sequence[ReplayedStatement],
    same: Replayed,
    other: Replayed | None,
    seconds: float,
    basis: ReplayBasis = _NO_PLAN,
) -> str:
    """Return the whole text: the error of the replay, a comparison by group, assumptions. Ends in a newline."""
    mean = fmean([each.waited for each in observed]) if observed else 0.0
    came, more = counted(len(observed), "parallel statement"), "≥ " * any(each.is_cut for each in observed)
    lines = [
        f"{came} in {duration(seconds)}{there_before(len(basis.before))}; mean wait {more}{mean:.1f} s",
        f"replayed under the settings at its end, {_error_in_words(observed, same.statements, basis.before, mean)}",
    ]
    if same.spread > 1:
        lines.append(
            f"which group's statement comes next is random: {COURSES} orders are replayed and the median is shown; "
            f"a wait differs by {same.spread:.1f} s between two orders"
        )
    times = f"{'median':>10} {'p95':>10} {'max':>10}"
    head = f"{'group':<22} {'':<9} {'statements':>10} {'waited':>7} {times} {'timeouts':>8} {'peak':>5}"
    lines += [*basis.cautions, "", head]
    replays = [("replayed", same), *([("what if", other)] if other is not None else [])]
    for name, group in _groups(observed, basis.titles):
        lines.append(_line(name, "observed", waits(_of(observed, group)), None))
        for kind, replay in replays:
            peak = replay.peak if group is None else None
            lines.append(_line("", kind, waits(_of(replay.statements, group)), peak))
    if unlisted := {each.group for each in basis.before} - {each.group for each in observed}:
        names = listed([titled(group, basis.titles) for group in sorted(unlisted)])
        lines.append(f"no row for {names}: all statements seen there came before")
    lines += ["", "assumptions:", *(f"  - {text}" for text in (*ASSUMPTIONS, basis.order))]
    return "\n".join(lines) + "\n"


def _error_in_words(
    observed: Sequence[ReplayedStatement],
    same: Sequence[ReplayedStatement],
    before: Sequence[ReplayedStatement],
    mean: float,
) -> str:
    """Return the error of a replay in words; if it cannot be measured, how long to observe."""
    missed = error(observed, same)
    if missed is None:
        longest = max((each.waited for each in (*observed, *before)), default=0.0)
        return f"{off_by(missed)}: observe for longer than statements wait (here more than {duration(longest)})"
    return off_by(missed) + (f" ({100 * missed / mean:.0f} % of the mean wait)" if mean > 1 else "")


def off_by(missed: float | None) -> str:
    """Return the mean error of a wait in words, or that there was no wait to compare."""
    return "no wait had ended to be compared" if missed is None else f"a wait is off by {missed:.1f} s on average"


def there_before(many: int) -> str:
    """Return in words how many statements are replayed but not counted."""
    return f" (and {count(many)} that were there before: replayed, not counted)" if many else ""


def titled(group: Group, titles: Mapping[Group, str]) -> str:
    """Return a group's display name; with the number of its container if the name is unknown."""
    return titles.get(group) or (f"{group.name}#{group.con_id}" if group.con_id else group.name)


def _groups(statements: Sequence[ReplayedStatement], titles: Mapping[Group, str]) -> list[tuple[str, Group | None]]:
    groups = sorted({each.group for each in statements})
    return [("all", None), *zip([titled(group, titles) for group in groups], groups, strict=True)]


def _of(statements: Sequence[ReplayedStatement], group: Group | None) -> list[ReplayedStatement]:
    return [each for each in statements if group is None or each.group == group]


def wait_words(seconds: float | None, longer: bool = False) -> str:
    """Return a wait in words, `longer` if it may be longer; None is a statement that timed out."""
    return "timed out" if seconds is None else f"{'≥ ' * longer}{duration(seconds)}"


def _line(name: str, kind: str, found: WaitSummary, peak: int | None) -> str:
    three = zip((found.median, found.p95, found.longest), found.longer, strict=True)
    times = " ".join(f"{wait_words(value, longer=longer):>10}" for value, longer in three)
    servers = "" if peak is None else str(peak)
    counts = f"{found.statements:>10} {found.queued:>7} {times} {found.timeouts:>8} {servers:>5}"
    return f"{name:<22} {kind:<9} {counts}".rstrip()
