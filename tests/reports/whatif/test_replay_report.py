"""Arrivals files, the figures of a replay's waits, and its report, by hand."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.analysis.trends.statement_runs import Arrival, ArrivalOutcome, ArrivalTracker
from presman.base.errors import InputError
from presman.forecast.scheduler import Group
from presman.reports.whatif_replay import (
    COLUMNS,
    Replayed,
    ReplayedStatement,
    Rules,
    _limits,
    bypassing,
    changed,
    error,
    observed,
    observed_rules,
    read_arrivals,
    replay,
)
from presman.reports.whatif_text import ASSUMPTIONS, ReplayBasis, report, waits
from tests.analysis.make import NOON
from tests.reports.whatif.test_whatif import BATCH, came, waited
from tests.tui.readings import busy, queued

ETL = Group(3, "ETL")


def written(folder: Path, *changes: dict[str, str]) -> Path:
    """Write a file with a line for each of `changes`, which are the differences to a usual line."""
    begin, end = "2026-03-12T12:00:00+00:00", "2026-03-12T13:00:00+00:00"
    cells = [begin, "3", "ETL", "8", "2.5", "10", "ended", "64", "16", "0.25", "60", "RUN", begin, end]
    usual = dict(zip(COLUMNS, cells, strict=True))
    path = folder / "arrivals.csv"
    lines = [",".join((usual | each)[name] for name in COLUMNS) for each in changes]
    path.write_text("\n".join([",".join(COLUMNS), *lines]) + "\n")
    return path


def test_a_line_is_an_arrival_and_an_empty_cell_is_not_known(tmp_path: Path) -> None:
    late = {"arrived": "2026-03-12T12:00:05+00:00"}
    empty = dict.fromkeys(
        ("con_id", "run_s", "px_servers_target", "px_servers_limit", "guaranteed_share", "timeout_s"), ""
    )
    one, other = read_arrivals(written(tmp_path, late, empty))
    assert (other.at - one.at).total_seconds() == 5, "by time"
    assert (one.con_id, one.ran, one.target, one.limit, one.weight, one.timeout) == (0, None, None, None, 0.0, None)
    assert (other.con_id, other.group, other.servers, other.waited, other.ran) == (3, "ETL", 8, 2.5, 10.0)
    assert (other.target, other.limit, other.weight, other.timeout, other.action) == (64, 16, 0.25, 60.0, "RUN")
    assert other.outcome is ArrivalOutcome.ENDED
    assert (other.last - other.first) == timedelta(hours=1)


@pytest.mark.parametrize("name", ["servers", "waited_s", "run_s"])
def test_figures_are_not_below_zero(name: str, tmp_path: Path) -> None:
    assert len(read_arrivals(written(tmp_path, {name: "0"}))) == 1
    with pytest.raises(InputError, match="line 3: a negative figure"):
        read_arrivals(written(tmp_path, {}, {name: "-1"}))


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_arrivals(tmp_path / "none.csv")
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot read"):
        read_arrivals(tmp_path / "x.csv")


def test_leaving_within_five_seconds_of_the_timeout_counts_as_timeout() -> None:
    left = came(0, 8, None, outcome=ArrivalOutcome.LEFT, timeout=60.0)
    found = [left._replace(waited=waited) for waited in (54.9, 55.0, 70.0)]
    found += [left._replace(waited=70.0, timeout=None), left._replace(waited=70.0, outcome=ArrivalOutcome.ENDED)]
    assert [each.timed_out for each in observed(found)] == [False, True, True, False, False]
    assert observed(found)[0][:2] == (BATCH, 54.9)


def test_waits_of_no_and_of_some_statements() -> None:
    assert tuple(waits([]))[:6] == (0, 0, 0, 0, 0, 0)
    some = [ReplayedStatement(BATCH, wait, False) for wait in (1.0, 0.0, 1.1)]
    assert tuple(waits(some))[:6] == (3, 1, 1.0, 1.1, 1.1, 0), "polls do not see waits of a second"
    many = [ReplayedStatement(BATCH, float(n), False) for n in range(1, 101)]
    assert (waits(many).p95, waits(many[:1]).p95) == (95.0, 1.0)
    assert waits(many).longer == (False, False, False)
    queued = [each._replace(is_cut=number < 2) for number, each in enumerate(many)]
    assert waits(queued).longer == (False, False, True), "two of 100 hardly move the others"
    five = [ReplayedStatement(BATCH, wait, False, wait == 11.0) for wait in (10.0, 10.0, 11.0, 30.0, 50.0)]
    assert waits(five).longer == (True, True, True), "if the one of 11 s waits longest, the median is 30 s"
    line = report(queued, Replayed(tuple(many), 8), None, 9.0).splitlines()[4]
    assert line.split()[4:8] == ["0:50", "1:35", "≥", "1:40"]


def test_a_replay_misses_by_the_mean_of_the_differences() -> None:
    one, other = (
        [ReplayedStatement(BATCH, wait, False) for wait in own] for own in ((10.0, 20.0, 3.0), (4.0, 29.0, 3.0))
    )
    assert error(one, other) == 5.0
    queued = [each._replace(is_cut=True) for each in one]
    assert error(queued, other) == 5.0, "each ended in one of the two, so they differ"
    assert error(queued[:1] + one[1:], [queued[0]._replace(waited=4.0), *other[1:]]) == 4.5, "10 and 4 s do not count"
    assert error(queued, queued) is None
    assert error([], []) is None


def test_a_replay_without_ended_waits_is_not_called_accurate() -> None:
    was = [ReplayedStatement(ETL, 52.0, False, True)]
    early = [ReplayedStatement(BATCH, 306.0, False, True), ReplayedStatement(ETL, 193.0, False, True)]
    text = report(was, Replayed(tuple(was), 256), None, 57.0, ReplayBasis(early))
    assert (
        "1 parallel statement in 0:57 (and 2 that were there before: replayed, not counted); mean wait ≥ 52.0 s\n"
        in text
    )
    assert (
        "replayed under the settings at its end, no wait had ended to be compared: observe for longer than "
        "statements wait (here more than 5:06)\n"
    ) in text
    assert "off by" not in text
    assert text.partition("\n\nassumptions")[0].endswith("\nno row for BATCH: all statements seen there came before")
    ended = [early[0]._replace(group=ETL)]
    assert "no row" not in report(was, Replayed(tuple(was), 256), None, 57.0, ReplayBasis(ended))


def test_the_report_has_three_lines_for_each_group() -> None:
    """The mean wait is 20 s and the replay misses it by 10 s, which is 50 %."""
    was = [ReplayedStatement(BATCH, 0.0, False), ReplayedStatement(ETL, 40.0, True)]
    same = Replayed((was[0], ReplayedStatement(ETL, 60.0, True)), 48, 1.5)
    other = Replayed((was[0], ReplayedStatement(ETL, 0.0, False)), 96, 0.0)
    lines = report(was, same, other, 125.0).splitlines()
    assert lines[:3] == [
        "2 parallel statements in 2:05; mean wait 20.0 s",
        "replayed under the settings at its end, a wait is off by 10.0 s on average (50 % of the mean wait)",
        "which group's statement comes next is random: 9 orders are replayed and the median is shown; a wait differs "
        "by 1.5 s between two orders",
    ]
    assert lines[4:14] == [
        "group                            statements  waited     median        p95        max timeouts  peak",
        "all                    observed           2       1       0:20       0:40       0:40        1",
        "                       replayed           2       1       0:30       1:00       1:00        1    48",
        "                       what if            2       0       0:00       0:00       0:00        0    96",
        "BATCH                  observed           1       0       0:00       0:00       0:00        0",
        "                       replayed           1       0       0:00       0:00       0:00        0",
        "                       what if            1       0       0:00       0:00       0:00        0",
        "ETL#3                  observed           1       1       0:40       0:40       0:40        1",
        "                       replayed           1       1       1:00       1:00       1:00        1",
        "                       what if            1       0       0:00       0:00       0:00        0",
    ]
    assert lines[14:16] == ["", "assumptions:"]
    assert len(lines) == 17 + len(ASSUMPTIONS)
    short = report(
        [ReplayedStatement(BATCH, 1.0, False)], Replayed((ReplayedStatement(BATCH, 1.0, False),), 8, 1.0), None, 9.0
    )
    assert "of the mean wait" not in short
    assert "random: " not in short
    assert report([], Replayed((), 0, 0.0), None, 9.0).startswith("0 parallel statements in 0:09; mean wait 0.0 s\n")


def _weights(rules: Rules, group: Group) -> tuple[float, ...]:
    (node,) = _limits(rules, [group]).root.children
    return node.weights


def test_a_weight_is_on_the_level_of_its_group() -> None:
    rules = Rules(64, weights={BATCH: 0.5}, levels={BATCH: 3})
    assert _weights(rules, BATCH) == (0, 0, 0.5, 0, 0, 0, 0, 0)
    assert _weights(changed(rules, levels={BATCH: 9}), BATCH)[7] == 0.5
    assert _weights(changed(rules, levels={BATCH: 0}), BATCH)[0] == 0.5
    assert _weights(rules, ETL) == (1e-6, 0, 0, 0, 0, 0, 0, 0)


def test_rules_are_those_of_the_last_statement_of_each_group() -> None:
    first = came(0, 8, 10, limit=16, timeout=60.0, action="RUN", weight=0.25)
    last = came(1, 8, 10, target=96, weight=0.75)
    rules = observed_rules([first, last])
    assert (rules.target, rules.limits, rules.timeouts) == (96, {BATCH: 16}, {BATCH: 60.0})
    assert (rules.weights, rules.levels, rules.actions) == ({BATCH: 0.75}, {BATCH: 1}, {BATCH: ""})
    assert changed(rules, target=None, limits={ETL: 4}).limits == {BATCH: 16, ETL: 4}
    assert changed(rules, target=128).target == 128


def test_a_timeout_may_start_a_statement_past_the_target() -> None:
    """64 of 64 servers are in use until 100 s; two statements came at 10 and 20 s, and start after their 60 s."""
    arrivals = [came(0, 64, 100), came(10, 64, 50, waited=90), came(20, 8, 10, waited=99, timeout=60.0, action="RUN")]
    found = replay(arrivals, observed_rules(arrivals), courses=1)
    assert [(each.waited, each.timed_out) for each in found.statements] == [(0, False), (60, True), (60, True)]
    assert found.peak == 64 + 64 + 8


def test_a_statement_that_still_waits_has_waited_to_the_end() -> None:
    last = NOON + timedelta(seconds=300)
    arrivals = [came(0, 64, 1000, last=last), came(100, 64, 10, waited=150, last=last)]
    assert waited(arrivals) == [0, 200]


def test_a_statement_that_began_before_runs_for_its_remaining_time() -> None:
    """It came 100 s before, waited for 30 s and ran for 70 of its 90 s: 20 s are left."""
    early = came(-100, 64, 90, waited=30, first=NOON)
    arrivals = [early, came(0, 64, 10, waited=20, first=NOON)]
    assert bypassing(arrivals) == {0}
    assert waited(arrivals)[1] == 20
    over = came(-100, 64, 10, waited=30, first=NOON)
    assert waited([over, came(0, 64, 10, waited=20, first=NOON)])[1] == 0, "it was over already"


def mean_run(*known: Arrival, ran: float | None = 5) -> float:
    """Return the run time of a statement with an unknown one: the start of another group's statement after it."""
    unknown = came(500, 64, None, waited=1, outcome=ArrivalOutcome.QUEUED)
    outcome = ArrivalOutcome.QUEUED if ran is None else ArrivalOutcome.ENDED
    return waited([*known, unknown, came(500, 64, ran, waited=99, group="LAST", outcome=outcome, weight=1e-9)])[-1]


def test_a_statement_that_never_ran_takes_a_mean_or_a_minute() -> None:
    """The statement after it, with 5 s, is one of all, too: (10 + 30 + 5) / 3."""
    assert mean_run(came(0, 8, 10), came(100, 8, 30), came(200, 8, 80, group="ETL")) == 20
    assert mean_run(came(0, 8, 10, group="ETL"), came(100, 8, 30, group="ETL")) == 15
    assert mean_run(ran=None) == 60


def test_a_groups_timeout_is_time_waited_plus_time_left() -> None:
    tracker = ArrivalTracker()
    tracker.add(replace(busy(), queue=(queued(1, waited=220.0, timeout_left=380.0, timeout_action="RUN"),)))
    timeouts = [(each.timeout, each.action) for each in tracker.rest() if each.outcome is ArrivalOutcome.QUEUED]
    assert timeouts == [(600.0, "RUN")]
