"""`presman whatif`: reads or collects arrivals, and replays them as observed and under other limits."""

import math
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from msgspec.structs import replace

from presman.analysis.caches import RowCache
from presman.analysis.facts.facts import Facts
from presman.analysis.trends.statement_runs import Arrival, ArrivalTracker
from presman.base.errors import did_you_mean
from presman.base.formats import counted, spelled
from presman.base.private_files import is_file
from presman.base.sums import median
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.parser import Parser, command, of_group, option, positive
from presman.forecast.scheduler import Group
from presman.reports.advise_load import PRESENT, Change, Choice, ObservedLoad, ObservedPlan, observed_plan, rules_of
from presman.reports.advise_report import in_words
from presman.reports.advise_services import most_limit
from presman.reports.whatif_cpu import CpuDemands, cpu_report, groups_with_cpu
from presman.reports.whatif_replay import COURSES, Replayed, changed, observed, read_arrivals
from presman.reports.whatif_text import (
    BY_PLAN,
    ON_ONE_LEVEL,
    ReplayBasis,
    beyond_maximum,
    none_starts,
    peak_beyond_maximum,
    report,
)
from presman.rows.queries import DetailLevel
from presman.services.live import ReadingCame

NEEDED = "name what to replay: a CSV of arrivals, a recording, a spool, or a TARGET with --live-minutes N (see --help)"


@command(
    "Replay observed parallel statements under another target, other group limits, levels or timeouts. First it\n"
    "replays what it observed, unchanged, and prints how far off that is. Nothing is changed on the database.",
    """\
  presman export prod --measure arrivals --duration 2h -o arrivals.csv
  presman whatif arrivals.csv --target 320
  presman whatif arrivals.csv --limit BATCH=50 --limit ETL=25 --timeout REPORTS=600
  presman whatif prod.presman --from 03:00 --to 04:00 --target 320
  presman whatif prod --live-minutes 15 --limit BATCH=50
  presman whatif prod.presman --share REPORTS=60 --cpu-limit BATCH=40""",
    "scope start end",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman whatif`."""
    add_observed(parser)
    words = "PARALLEL_SERVERS_TARGET of all instances"
    option(parser, "--target --servers-target N", words, dest="servers_target", type=positive)
    words = "level (1 to 8) of a group in the plan"
    for name, number, text in (
        ("limit", of_group(0, 100, whole=True), "percent of the target a group may hold (PARALLEL_SERVER_LIMIT)"),
        ("level", of_group(1, 8, whole=True), f"{words}; with a CSV file also the level it had"),
        ("timeout", of_group(0, 1e7, whole=True), "seconds a group's statements may queue (PARALLEL_QUEUE_TIMEOUT)"),
        ("share", of_group(0, 1e6), "CPU: percent or shares of a group on its level (MGMT_P1 to MGMT_P8)"),
        ("cpu-limit", of_group(1, 100), "CPU: percent that a group may use at most (UTILIZATION_LIMIT)"),
    ):
        option(parser, f"--{name} GROUP=N", text, type=number, action="append", default=[])
    option(parser, "--concurrency N", "concurrency limit of MEDIUM on an Autonomous Database", type=positive)
    option(parser, "--seed N", "seed of the random order of the groups", type=int, default=1)


def add_observed(parser: Parser) -> None:
    """Add the options that choose the statements to replay."""
    option(parser, "target CSV|TARGET", "arrivals, a recording, a target to watch", nargs="?")
    option(parser, "--live-minutes N", "watch TARGET for N minutes first", type=_minutes)


def _minutes(text: str) -> float:
    """Read a number of minutes. Raises ValueError unless it is above zero and at most a week."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 7 * 24 * 60:
        raise ValueError(f"{text!r} is not a number of minutes above 0, at most 10080 (a week)")
    return value


def run(options: Namespace) -> None:
    """Print the comparison. Raises Failure."""
    for given in ("limit", "level", "timeout", "share", "cpu_limit"):
        for name, times in Counter(group for group, _ in getattr(options, given)).most_common(1):
            if times > 1:  # which of the two is meant is unclear
                raise Failure(f"--{given.replace('_', '-')} names {name} {times} times")
    if options.share or options.cpu_limit:
        _show_cpu(options)
        return
    watched = WatchedPlan(lambda autonomous: _refuse_options(options, autonomous=autonomous))
    arrivals = arrivals_of(options, watched.take)
    plan = watched.plan()
    load = ObservedLoad.of(arrivals, plan, (), options.seed)
    choice = _choice(load, options)
    if plan.tree is None and options.level:
        levels = {each.group: each.value for each in choice if each.kind == "levels"}
        load = replace(load, rules=changed(load.rules, levels=levels))
        choice = frozenset(each for each in choice if each.kind != "levels")
    seconds = (max(each.last for each in arrivals) - min(each.first for each in arrivals)).total_seconds()
    same = _counted(load, PRESENT)
    other = _counted(load, choice) if choice else None
    order = ON_ONE_LEVEL if plan.tree is None else BY_PLAN
    maximum = None if plan.autonomous else plan.maximum
    peaks = [each.peak for each in (same, other) if each is not None]
    cautions = [beyond_maximum(options.servers_target, maximum) or peak_beyond_maximum(peaks, maximum)]
    cautions.append(none_starts(rules_of(load, choice).limits, plan.titles))
    effect = "with a lower degree runs are longer, with a higher one no shorter"
    cautions += [f"{in_words(load, each)}; {effect}" for each in choice if each.kind == "concurrency"]
    seen = observed(arrivals)
    basis = ReplayBasis(seen[: load.skipped], order, plan.titles, [*filter(None, cautions)])
    console.show(report(seen[load.skipped :], same, other, seconds, basis))


class WatchedPlan:
    """Keeps the newest poll of a target, which has its plan, and reports whether it or the target changed."""

    def __init__(self, refuse: Callable[[bool], None]) -> None:
        self._refuse = refuse
        self._names: set[str] = set()
        self._targets: set[int] = set()
        self._last: ReadingCame | None = None

    def take(self, came: ReadingCame) -> None:
        """Take a poll. Raises Failure for options that this database does not have, or if a part of a queue is read."""
        self._refuse(came.reading.header.autonomous)
        if came.reading.part:
            raise Failure(f"{came.reading.part}: when statements would start is known only of a whole cluster")
        self._names.add(came.reading.header.plan)
        if (target := came.reading.header.servers.target) is not None:
            self._targets.add(target)
        self._last = came

    def plan(self) -> ObservedPlan:
        """Return the plan of the newest poll."""
        for what, seen in (("the plan", self._names), ("PARALLEL_SERVERS_TARGET", self._targets)):
            if len(seen) > 1:
                console.note(f"{what} was changed meanwhile: statements are replayed under the last one")
        if (came := self._last) is None:
            self._refuse(False)
            return ObservedPlan()
        return observed_plan(came.previous, came.snapshot, came.reading)


def _counted(load: ObservedLoad, choice: Choice) -> Replayed:
    """Return a replay, without the statements that were already there when observation began."""
    found = load.played(choice, COURSES).replayed
    return replace(found, statements=found.statements[load.skipped :])


def _show_cpu(options: Namespace) -> None:
    """Print the CPU that each group would lack under other shares, levels and limits. Raises Failure."""
    if options.servers_target is not None or options.limit or options.timeout or options.concurrency:
        raise Failure(
            "--share and --cpu-limit are about CPU, --target, --limit, --timeout and --concurrency about servers: run "
            "presman whatif for each"
        )
    if (options.target or "").endswith(".csv"):
        raise Failure("a file of arrivals has no CPU: --share and --cpu-limit take a recording or a TARGET")
    demands, cache = CpuDemands(), RowCache()
    for came in watched_moments(options):
        _refuse_options(options, autonomous=came.reading.header.autonomous)
        demands.take(Facts.of(came.previous, came.snapshot, cache), came.reading)
    if not demands.found:
        unknown = f"what CPU groups would get is not known: {demands.hidden}"
        why = unknown if demands.hidden else "no plan divided CPU while presman watched"
        raise Failure(why, exit_codes.SOURCE)
    known = groups_with_cpu(demands.found)
    changes: dict[str, dict[str, float]] = {}
    for given, kind in (("share", "shares"), ("level", "levels"), ("cpu_limit", "cpu")):
        option = f"--{given.replace('_', '-')}"
        refuse_unknown(option, [name for name, _ in getattr(options, given)], known, "CPU")
        for name, value in getattr(options, given):
            if not known[name]:
                raise Failure(f"{option}: no plan that was in force has a directive for {name}")
            changes.setdefault(name, {})[kind] = value
    if demands.hidden:
        console.note(f"some polls are left out: {demands.hidden}")
    console.show(cpu_report(demands.found, changes))


def arrivals_of(options: Namespace, on_poll: Callable[[ReadingCame], None]) -> list[Arrival]:
    """Return the statements that the options name; `on_poll` is called with each poll of a target. Raises Failure."""
    from presman.config.target import is_recording

    text = options.target or ""
    if text.endswith(".csv") or (options.live_minutes is None and is_file(Path(text)) and not is_recording(text)):
        return read_arrivals(Path(text))
    if options.live_minutes is None and not text:
        raise Failure(NEEDED)
    following, found, whys, times = ArrivalTracker(), list[Arrival](), list[str](), list[datetime]()
    for came in watched_moments(options):
        times.append(came.reading.at)
        found += following.add(came.reading)
        on_poll(came)
        queue = "" if came.reading.lists_queue() else came.reading.why_unknown("queue")
        whys.append(queue or came.reading.why_unavailable("V$PX_SESSION"))
    found += following.rest()
    unseen = next(filter(None, whys), "")
    if not found or all(whys):
        why = f"not known which statements were queued and which ran: {unseen}" if unseen else ""
        raise Failure(why or "no parallel statement was seen", exit_codes.SOURCE)
    if unseen:
        share = f"{sum(map(bool, whys))} of {counted(len(whys), 'poll')}"
        console.note(f"at {share} it is not known which statements were queued and which ran: {unseen}")
    _note_holes(times)
    return sorted(found, key=lambda each: each.at)


def _note_holes(times: Sequence[datetime]) -> None:
    """Note the time in which at least three polls are missing, as while the recorder was away."""
    steps = [(at - before).total_seconds() for before, at in pairwise(times)]
    long = 3 * median(steps) if steps else 0.0
    if holes := [each for each in steps if each > long]:
        where = f" in {counted(len(holes), 'period')}" if len(holes) > 1 else ""
        console.note(f"there are no polls for {spelled(sum(holes))}{where}: what was queued and ran then is not known")


def watched_moments(options: Namespace) -> Iterator[ReadingCame]:
    """Yield the polls of a target: all of a source that ends, otherwise those of --live-minutes. Raises Failure."""
    from presman.cli.polling import FINITE, Polling
    from presman.cli.settings import load, resolve

    resolved = resolve(options.target, load(options), options)
    duration = None if options.live_minutes is None else options.live_minutes * 60
    if duration is not None and resolved.target.kind in FINITE:
        raise Failure("--live-minutes watches a database; of a recording choose a stretch by --from and --to")
    if duration is not None:
        console.note(f"watching {resolved.target.name} for {options.live_minutes:g} min")
    elif resolved.target.kind not in FINITE:
        raise Failure(NEEDED)
    yield from Polling(resolved, detail_level=DetailLevel.NARROW).moments(duration=duration)


def _choice(load: ObservedLoad, options: Namespace) -> Choice:
    """Return the requested changes. Raises Failure for a level that the plan does not have."""
    target = options.servers_target
    found = set() if target is None else {Change("target", None, target)}
    for given, kind in (("limit", "limits"), ("level", "levels"), ("timeout", "timeouts")):
        values = _by_group(getattr(options, given), load.arrivals, f"--{given}")
        found |= {Change(kind, group, int(value)) for group, value in values.items()}
        if kind == "levels" and load.plan.tree is not None:
            for group in values:
                _check_level(load, group)
    if (limit := options.concurrency) is not None:
        medium = next((group for group in load.plan.services if load.concurrency(group)), None)
        if medium is None:
            raise Failure("--concurrency: the concurrency limit of MEDIUM is not known here, or cannot be changed")
        if limit > (most := most_limit(load.rules.target)):
            raise Failure(f"--concurrency: it is from 1 to {most} here")
        found.add(Change("concurrency", medium, limit))
    return frozenset(found)


def _refuse_options(options: Namespace, *, autonomous: bool) -> None:
    """Raise Failure for an option about a limit that this kind of database does not have."""
    if options.concurrency and not autonomous:
        raise Failure("--concurrency: that limit exists on an Autonomous Database; here --limit GROUP=PERCENT")
    for given in ("limit", "level", "timeout", "cpu_limit"):
        if autonomous and getattr(options, given):
            raise Failure(
                f"--{given.replace('_', '-')}: no customer of an Autonomous Database can change it; try --concurrency, "
                "--share, or --target, which follows the ECPUs there"
            )


def _check_level(load: ObservedLoad, group: Group) -> None:
    """Raise Failure for a group whose level in the observed plan cannot be changed."""
    if not load.plan.is_ordered:
        raise Failure(
            "--level: groups are in subplans or several containers, divide by shares, or one queue serves all of "
            "them: other levels are not replayed"
        )
    if load.level(group) is None:
        raise Failure(f"--level: the plan gives {group.name} no level of its own")


def _by_group(given: list[tuple[str, float]], arrivals: Sequence[Arrival], option: str) -> dict[Group, float]:
    """Return the values of an option by group. Raises Failure for a group without statements."""
    refuse_unknown(option, [name for name, _ in given], sorted({each.group for each in arrivals}))
    return {Group(each.con_id, each.group): value for name, value in given for each in arrivals if each.group == name}


def refuse_unknown(option: str, names: Iterable[str], known: Collection[str], what: str = "statement") -> None:
    """Raise Failure if an option names a group that was not observed."""
    for name in names:
        if name not in known:
            raise Failure(f"{option}: no {what} of {name!r} was seen, {did_you_mean(name, known)}")
