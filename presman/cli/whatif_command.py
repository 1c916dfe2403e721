"""`presman whatif`: reads or gathers arrivals, replays them as they were and as they might be."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from presman.analysis.trends.arrivals import Arrival, ArrivalTracker
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.records.queries import Breadth
from presman.reports.whatif.observed import ArrivalsError, read
from presman.reports.whatif.replay import Rules, changed, observed, observed_rules, replay
from presman.reports.whatif.whatif_report import report
from presman.sources.simulator.plan_tree import Group

NEEDED = (
    "a CSV of arrivals, a recording or spool, or a TARGET with --live-minutes N, is needed (see presman whatif --help)"
)


def run(options: Namespace) -> int:
    """Print the comparison. Raises Failure."""
    arrivals = _arrivals(options)
    rules = observed_rules(arrivals)
    others = _others(rules, arrivals, options)
    seconds = (max(each.last for each in arrivals) - min(each.first for each in arrivals)).total_seconds()
    same = replay(arrivals, _leveled(rules, arrivals, options), options.seed)
    other = None if others is None else replay(arrivals, others, options.seed)
    console.show(report(observed(arrivals), same, other, seconds))
    return exit_codes.OK


def _arrivals(options: Namespace) -> list[Arrival]:
    from presman.config.recording_target import is_recording

    text = options.target or ""
    if text.endswith(".csv") or (options.live_minutes is None and Path(text).is_file() and not is_recording(text)):
        try:
            return read(Path(text))
        except ArrivalsError as error:
            raise Failure(str(error)) from error
    if options.live_minutes is None and not text:
        raise Failure(NEEDED)
    return _watched(options)


def _watched(options: Namespace) -> list[Arrival]:
    """Return the arrivals on a target: of one that ends those of all its moments, of others those of some minutes."""
    from presman.cli.polling import FINITE, Polling
    from presman.cli.settings import load, resolve

    resolved = resolve(options.target, load(options), options)
    duration = None if options.live_minutes is None else options.live_minutes * 60
    if duration is not None and resolved.target.kind in FINITE:
        raise Failure("--live-minutes watches a database; of a recording choose a stretch by --from and --to")
    if duration is not None:
        console.say(f"watching {resolved.target.name} for {options.live_minutes:g} min")
    elif resolved.target.kind not in FINITE:
        raise Failure(NEEDED)
    following = ArrivalTracker()
    found: list[Arrival] = []
    for _, reading in Polling(resolved, breadth=Breadth.NARROW).moments(duration=duration):
        found += following.add(reading)
    found += following.rest()
    if not found:
        raise Failure("no parallel statement was seen", exit_codes.SOURCE)
    return sorted(found, key=lambda each: each.at)


def _leveled(rules: Rules, arrivals: list[Arrival], options: Namespace) -> Rules:
    levels = _by_group(options.level, arrivals, "--level")
    return changed(rules, levels={group: int(level) for group, level in levels.items()})


def _others(rules: Rules, arrivals: list[Arrival], options: Namespace) -> Rules | None:
    """Return the rules asked for, None if nothing is to be changed."""
    if options.servers_target is None and not options.limit and not options.timeout:
        return None
    target = options.servers_target or rules.target
    percents = _by_group(options.limit, arrivals, "--limit")
    limits = {group: int(target * percent // 100) for group, percent in percents.items()}
    if options.servers_target is not None:
        limits = {group: limit * target // rules.target for group, limit in rules.limits.items()} | limits
    timeouts = _by_group(options.timeout, arrivals, "--timeout")
    return changed(_leveled(rules, arrivals, options), target=target, limits=limits, timeouts=timeouts)


def _by_group(given: list[tuple[str, float]], arrivals: list[Arrival], option: str) -> dict[Group, float]:
    """Return the figures of an option by group. Raises Failure for a group that nobody was in."""
    known = {each.group for each in arrivals}
    found: dict[Group, float] = {}
    for name, value in given:
        if name not in known:
            from presman.base.suggest import did_you_mean

            raise Failure(f"{option}: no statement of {name!r} was seen, {did_you_mean(name, sorted(known))}")
        found |= {Group(each.con_id, each.group): value for each in arrivals if each.group == name}
    return found
