"""Observed statements replayed under the same limits and under others."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from presman.analysis.facts.system_facts import ParameterFacts
from presman.analysis.readings.reading import Reading
from presman.analysis.trends.statement_runs import Arrival, ArrivalOutcome, ArrivalTracker
from presman.base.errors import InputError
from presman.cli import main
from presman.forecast.scheduler import Group
from presman.output.csv_export import CsvExport
from presman.reports import whatif_replay
from presman.reports.whatif_replay import (
    COLUMNS,
    ReplayedStatement,
    bypassing,
    changed,
    error,
    in_order,
    observed,
    observed_rules,
    read_arrivals,
    replay,
)
from presman.reports.whatif_text import BY_PLAN, ON_ONE_LEVEL, beyond_maximum, report, waits
from tests.analysis.make import NOON
from tests.cli.run import Run
from tests.recording.recorded import polled, record
from tests.thorough import THOROUGH, some

BATCH = Group(0, "BATCH")


def came(
    at: float, servers: int, ran: float | None, *, waited: float = 0.0, group: str = "BATCH", **more: Any
) -> Arrival:
    given: dict[str, Any] = {
        "at": NOON + timedelta(seconds=at), "con_id": 0, "group": group, "servers": servers, "waited": waited,
        "ran": ran, "outcome": ArrivalOutcome.ENDED, "target": 64, "limit": None, "weight": 0.5,
        "timeout": None, "action": "", "first": NOON + timedelta(seconds=max(0.0, at)),
        "last": NOON + timedelta(seconds=1000),
    }  # fmt: skip
    return Arrival(**(given | more))


THREE = [came(0, 48, 100), came(10, 32, 50, waited=90), came(20, 32, 30, waited=80)]


def waited(arrivals: list[Arrival], **changes: Any) -> list[float]:
    return [each.waited for each in replay(arrivals, changed(observed_rules(arrivals), **changes)).statements]


def test_a_replay_reproduces_the_observation() -> None:
    assert waited(THREE) == [0, 90, 80]
    assert error(observed(THREE), replay(THREE, observed_rules(THREE)).statements) == 0


def test_another_target() -> None:
    assert waited(THREE, target=80) == [0, 0, 40]  # 48 + 32 fit; the third waits for the second, which ends at 60
    assert waited(THREE, target=112) == [0, 0, 0]
    assert replay(THREE, changed(observed_rules(THREE), target=112)).peak == 112


def test_a_groups_limit() -> None:
    two = [came(0, 16, 100), came(10, 16, 50), came(20, 16, 10, group="ETL")]
    assert waited(two) == [0, 0, 0]
    assert waited(two, limits={BATCH: 16}) == [0, 90, 0]


def test_a_timeout_cancels() -> None:
    result = replay(THREE, changed(observed_rules(THREE), timeouts={BATCH: 60.0}))
    assert [(each.waited, each.timed_out) for each in result.statements] == [(0, False), (60, True), (60, True)]


def test_a_higher_level_starts_first() -> None:
    queue = [came(0, 64, 100), came(1, 64, 10, waited=99), came(2, 64, 10, group="ETL", waited=108)]
    later = waited(queue, levels={BATCH: 2, Group(0, "ETL"): 1})
    assert later == [0, 109, 98]


def test_statements_running_before_or_past_a_limit_are_not_queued() -> None:
    held = came(-300, 60, 500, first=NOON)
    past = came(50, 32, 40)
    arrivals = [held, past, came(60, 32, 10, waited=30)]
    assert bypassing(arrivals) == {0, 1}
    assert waited(arrivals)[:2] == [0, 0]


def test_only_statements_that_did_not_fit_bypassed_the_queue() -> None:
    first = came(0, 48, 100)
    assert bypassing([first, came(50, 16, 40)]) == frozenset(), "64 of 64 fit"
    assert bypassing([first, came(50, 17, 40)]) == {1}
    assert bypassing([first, came(50, 17, 40, waited=30)]) == frozenset(), "it was queued"
    assert bypassing([first, came(200, 17, 40)]) == frozenset(), "the other had ended"
    ends = [came(0, 48, ran) for ran in (51.9, 52, 52.1)]
    assert [bypassing([each, came(50, 17, 40)]) for each in ends] == [frozenset(), frozenset(), {1}], "in two seconds"
    begins = [came(at, 48, 100) for at in (48.9, 49, 50)]
    assert [bypassing([each, came(50, 17, 40)]) for each in begins] == [{1}, frozenset(), frozenset()], "a second ago"
    assert [bypassing([first, came(50, 17, 40, waited=waited)]) for waited in (1, 1.1)] == [{1}, frozenset()]
    assert bypassing([came(0, 96, 40)]) == frozenset(), "alone, one starts that needs more than the target"
    assert bypassing([came(0, 8, 100, limit=16), came(50, 9, 40, limit=16)]) == {1}
    assert bypassing([came(0, 8, 100, group="ETL", limit=16), came(50, 17, 40, limit=16)]) == frozenset()
    waiting = came(-300, 60, None, first=NOON, outcome=ArrivalOutcome.QUEUED)
    assert bypassing([waiting]) == frozenset(), "a waiting statement has not started before"


def test_of_two_simultaneous_arrivals_the_first_to_start_is_first() -> None:
    late, early = came(0.0, 48, 50, waited=100), came(0.5, 48, 100)
    assert in_order([late, early], NOON) == [(0.5, 1), (0.5, 0)]
    assert waited([late, early]) == [100.5, 0], "its wait counts from its arrival"
    assert in_order([late, came(1.5, 48, 100)], NOON) == [(0.0, 0), (1.5, 1)], "these did not come together"
    other = came(0.5, 48, 100, group="ETL")
    assert in_order([late, other], NOON) == [(0.0, 0), (0.5, 1)], "each group has a queue of its own"


def test_a_group_without_a_weight_starts_last() -> None:
    two = [came(0, 64, 10), *(came(1, 64, 10, waited=10, group=name, weight=None) for name in ("BATCH", "ETL"))]
    rules = observed_rules([two[0]])
    (_, batch, etl) = replay(two, changed(rules, weights={BATCH: 1.0}), courses=9).statements
    assert batch.waited < etl.waited


def test_running_statements_continue_and_others_take_the_mean() -> None:
    arrivals = [
        came(0, 64, 400, outcome=ArrivalOutcome.ENDED),
        came(5, 64, None, waited=995, outcome=ArrivalOutcome.QUEUED),
        came(6, 64, None, waited=994, outcome=ArrivalOutcome.QUEUED),
    ]
    assert waited(arrivals) == [0, 395, 794]
    assert waited([came(0, 64, 1000, outcome=ArrivalOutcome.RUNNING), *arrivals[1:]]) == [0, 995, 994]


def test_draws_between_groups_are_played_in_several_courses() -> None:
    two = [came(n, 64, 10, waited=10.0 * n, group=("BATCH", "ETL")[n % 2]) for n in range(12)]
    once, often = (replay(two, observed_rules(two), courses=number) for number in (1, 9))
    assert once.spread == 0
    assert often.spread > 1
    assert often == replay(two, observed_rules(two))
    assert often.statements != replay(two, observed_rules(two), seed=2).statements
    assert f"differs by {often.spread:.1f} s between two orders" in report(observed(two), often, None, 100.0)
    alone = replay(THREE, observed_rules(THREE))
    assert alone.spread == 0
    assert "courses" not in report(observed(THREE), alone, None, 100.0)


def test_waits_by_hand() -> None:
    found = waits([ReplayedStatement(BATCH, float(n), n == 20) for n in range(1, 21)])
    assert (found.statements, found.queued, found.median, found.p95, found.longest) == (20, 19, 10.5, 19.0, 20.0)
    assert found.timeouts == 1


def test_the_report_says_the_error_and_the_assumptions() -> None:
    same = replay(THREE, observed_rules(THREE))
    text = report(observed(THREE), same, None, 1000.0)
    assert "off by 0.0 s" in text
    assert "assumptions:" in text
    assert "what if" not in text


def course(scenario: str) -> list[Reading]:
    """Return the readings of a scenario for some minutes."""
    return [reading for _, reading in polled(scenario, 96 if THOROUGH else 25)]


@pytest.mark.parametrize("scenario", some(["storm"], ["rac"]))
def test_the_simulated_queue_is_reproduced(scenario: str) -> None:
    following = ArrivalTracker()
    arrivals: list[Arrival] = []
    for reading in course(scenario):
        arrivals += following.add(reading)
    arrivals = sorted(arrivals + following.rest(), key=lambda each: each.at)
    assert len(arrivals) > 20
    rules = observed_rules(arrivals)
    if scenario == "storm":
        levels = {Group(0, "SYS_GROUP"): 1, Group(0, "REPORTS"): 2, BATCH: 2, Group(0, "ETL"): 2}
        rules = changed(rules, levels=levels)
    result = replay(arrivals, rules)
    mean = sum(each.waited for each in arrivals) / len(arrivals)
    assert error(observed(arrivals), result.statements) < max(3.0, 0.35 * mean)
    assert result.peak <= (rules.target + sum(arrivals[n].servers for n in bypassing(arrivals)))


def test_exported_arrivals_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "arrivals.csv"
    export = CsvExport(path, "arrivals")
    following = ArrivalTracker()
    direct: list[Arrival] = []
    for reading in course("storm"):
        export.write(reading)
        direct += following.add(reading)
    export.close()
    direct = sorted(direct + following.rest(), key=lambda each: (each.at, each.servers))
    found = sorted(read_arrivals(path), key=lambda each: (each.at, each.servers))
    assert len(found) == len(direct) > 10
    for one, other in zip(found, direct, strict=True):
        assert one.group == other.group
        assert one.outcome is other.outcome
        assert one.waited == pytest.approx(other.waited, abs=0.06)
        assert (one.ran is None) == (other.ran is None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,2\n", "no column"),
        (",".join(COLUMNS) + "\n", "no statements"),
        (",".join(COLUMNS) + "\nx,0,G,4,0,1,ended,64,,0.5,,,x,x\n", "line 2"),
        (",".join(COLUMNS) + "\n2026-03-14T12:00:00,0,G,4,0,1,ended,64,,0.5,,,x,x\n", "no time zone"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=expected):
        read_arrivals(path)


def test_devices_and_endless_lines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read /dev/zero: it is not a regular file"):
        read_arrivals(Path("/dev/zero"))
    path = tmp_path / "holes.csv"
    with path.open("wb") as file:
        file.truncate(400 << 20)
    with pytest.raises(InputError, match="it has a line of more than 1 MB"):
        read_arrivals(path)


def test_too_many_groups_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    stamp = NOON.isoformat()
    rows = [f"{stamp},0,G{number},4,0,1,ended,64,,0.5,,,{stamp},{stamp}\n" for number in range(2001)]
    path.write_text(",".join(COLUMNS) + "\n" + "".join(rows[:-1]))
    assert len(read_arrivals(path)) == 2000
    path.write_text(",".join(COLUMNS) + "\n" + "".join(rows))
    with pytest.raises(InputError, match=r"line 2002: more than 2,000 groups cannot be replayed"):
        read_arrivals(path)


def test_too_many_statements_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 600,000 took 650 MB."""
    monkeypatch.setattr(whatif_replay, "MOST_ARRIVALS", 3)
    path, stamp = tmp_path / "many.csv", NOON.isoformat()
    row = f"{stamp},0,ETL,4,0,1,ended,64,,0.5,,,{stamp},{stamp}\n"
    path.write_text(",".join(COLUMNS) + "\n" + row * 3)
    assert len(read_arrivals(path)) == 3
    path.write_text(",".join(COLUMNS) + "\n" + row * 4)
    with pytest.raises(InputError, match=r"line 5: more than 3 statements cannot be replayed"):
        read_arrivals(path)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arrivals.csv"
    stamp = NOON.isoformat()
    row = f"{stamp},0,BATCH,48,0,100,ended,64,,0.5,,,{stamp},{(NOON + timedelta(seconds=500)).isoformat()}"
    path.write_text(",".join(COLUMNS) + "\n" + row + "\n" + row + "\n")
    assert main(["whatif", str(path), "--target", "96", "--limit", "BATCH=100"]) == 0
    text = capsys.readouterr().out
    assert "what if" in text
    assert "no statement that queues" not in text
    assert main(["whatif", str(path), "--limit", "BATCH=0"]) == 0
    assert "no statement that queues in BATCH would start: the limit allows no servers" in capsys.readouterr().out
    assert main(["whatif", str(path), "--limit", "BATHC=50"]) == 2
    assert "did you mean 'BATCH'" in capsys.readouterr().err
    assert main(["whatif"]) == 2
    assert main(["whatif", str(path), "--limit", "BATCH"]) == 2
    capsys.readouterr()
    for words, allowed in (("--limit BATCH=500", "from 0 to 100"), ("--level BATCH=9", "from 1 to 8")):
        assert main(["whatif", str(path), *words.split()]) == 2
        assert allowed in capsys.readouterr().err


def test_a_recording_can_be_replayed_directly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path / "storm.presman", list(polled("storm", 3)))
    assert main(["whatif", str(tmp_path / "storm.presman"), "--target", "320"]) == 0
    output = capsys.readouterr().out
    assert " parallel statement in 0:10 (and 26 that were there before: replayed, not counted)" in output
    assert "what if" in output
    assert "PARALLEL_MAX_SERVERS" not in output
    assert main(["whatif", str(tmp_path / "storm.presman"), "--target", "764"]) == 0
    assert (
        "a target of 764 is above PARALLEL_MAX_SERVERS (480): the replay assumes that it is raised as well"
        in capsys.readouterr().out
    )


def test_a_peak_above_the_maximum_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path / "storm.presman", list(polled("storm", 3)))
    few = "parallel_max_servers"
    number = ParameterFacts.number
    monkeypatch.setattr(ParameterFacts, "number", lambda self, *key: 8 if key[1] == few else number(self, *key))
    assert main(["whatif", str(tmp_path / "storm.presman")]) == 0
    assert (
        "no more than PARALLEL_MAX_SERVERS (8) can be in use at once: where a peak is above" in capsys.readouterr().out
    )


def table(text: str, kind: str) -> list[str]:
    """Return the lines of one kind in a report."""
    return [line for line in text.splitlines() if f" {kind} " in line or line.startswith("replayed under")]


def test_the_observation_is_replayed_under_its_own_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The plan has BATCH and ETL on level 2: naming that level changes nothing, another changes no baseline."""
    place = str(tmp_path / "storm.presman")
    record(tmp_path / "storm.presman", list(polled("storm", 15)))

    def report_of(*words: str) -> str:
        assert main(["whatif", place, "--target", "160", *words]) == 0
        return capsys.readouterr().out

    bare, same, other = (
        report_of(*(word for name in names for word in ("--level", name)))
        for names in ((), ("BATCH=2", "ETL=2"), ("REPORTS=3",))
    )
    assert bare == same
    assert table(bare, "replayed") == table(other, "replayed")
    assert table(bare, "what if") != table(other, "what if")
    assert BY_PLAN in bare
    assert main(
        ["advise", place, "--goal", "REPORTS p95 wait <= 30s", "--may-change", "target", "--format", "json"]
    ) in {0, 5}
    advice = json.loads(capsys.readouterr().out)
    assert f"off by {advice['replay_error']:.1f} s" in bare
    assert f"{advice['statements']} parallel statements in " in bare
    assert f"and {advice['before']} that were there before" in bare


def test_a_file_of_arrivals_takes_its_level_from_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arrivals.csv"
    end = (NOON + timedelta(seconds=500)).isoformat()
    rows = [
        f"{(NOON + timedelta(seconds=at)).isoformat()},0,{group},64,{waited},{ran},ended,64,,{share},,,"
        f"{NOON.isoformat()},{end}"
        for at, group, waited, ran, share in ((0, "BATCH", 0, 100, 1), (1, "BATCH", 109, 10, 1), (2, "ETL", 98, 10, 0))
    ]
    path.write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
    assert main(["whatif", str(path)]) == 0
    assert "off by 0.0 s" not in capsys.readouterr().out
    assert main(["whatif", str(path), "--level", "BATCH=2"]) == 0
    text = capsys.readouterr().out
    assert "off by 0.0 s" in text
    assert "what if" not in text
    assert ON_ONE_LEVEL in text


def test_levels_that_a_plan_does_not_have_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path / "pdb.presman", list(polled("pdb", 8)))
    assert main(["whatif", str(tmp_path / "pdb.presman")]) == 0
    assert "REPORTING (SALES)" in capsys.readouterr().out
    assert main(["whatif", str(tmp_path / "pdb.presman"), "--level", "REPORTING=2"]) == 2
    assert "--level: groups are in subplans or several containers" in capsys.readouterr().err
    assert main(["whatif", str(tmp_path / "pdb.presman"), "--limit", "REPORTING=12.5"]) == 2
    assert "the number must be whole" in capsys.readouterr().err


def test_a_target_is_noted_only_above_the_known_maximum() -> None:
    assert [beyond_maximum(*each) for each in ((None, 480), (480, 480), (764, None))] == [""] * 3


def test_a_live_target_needs_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", "demo:storm"]) == 2
    assert "--live-minutes" in capsys.readouterr().err


def test_minutes_are_watched_of_a_database_only(inside: Run, tmp_path: Path) -> None:
    place = tmp_path / "a.presman"
    record(place, list(polled("quiet", 2)))
    run = inside("whatif", str(place), "--live-minutes", "5")
    assert run.returncode == 2
    assert run.stderr == (
        "presman: --live-minutes watches a database; of a recording choose a stretch by --from and --to\n"
    )


def test_run_times_beyond_the_observation_at_either_end() -> None:
    """64 servers. The first ran 60 of its 100 s before the observation: a statement that comes at 0 waits for 40 s.

    A statement that still ran at the end of the observation, at 1,000 s, had not ended: the next starts no sooner.
    """
    arrivals = [came(-60, 64, 100), came(0, 64, 10, waited=40), came(5, 8, 10, waited=45)]
    assert waited(arrivals)[1:] == [40, 45]
    running = [came(0, 64, 10, outcome=ArrivalOutcome.RUNNING), came(10, 64, 10, waited=5)]
    assert waited(running)[1] >= 990
