"""Advice on an Autonomous Database: published effects of a concurrency limit, the search, the script."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.advise import directive, plan_of, planted, tried
from presman.analysis.caches import RowCache
from presman.analysis.goals import Goal
from presman.analysis.trends.statement_runs import Arrival
from presman.forecast.course import PastArrival, QueueNow
from presman.forecast.scheduler import Group, Limits, Queueing
from presman.forecast.statement_history import Durations
from presman.reports.advice import Advice, AdviceWanted
from presman.reports.advise_load import PRESENT, Change, ObservedLoad, ObservedPlan, Size, other_days, sizes_under
from presman.reports.advise_report import _as_good, _figures, advise, in_words
from presman.reports.advise_script import Scripts, written
from presman.reports.advise_search import Search, grid, is_target_free
from presman.reports.advise_services import at_once, degree, most_limit, servers
from presman.reports.advise_text import as_text
from presman.reports.whatif_queue import PresentLimits, of_group, under
from tests.analysis.make import NOON
from tests.cli.run import Run
from tests.recording.recorded import polled, record, recorded
from tests.reports.whatif.test_advise import QUICK
from tests.reports.whatif.test_published_log import arrivals as published
from tests.reports.whatif.test_whatif import came
from tests.thorough import some

HIGH, MEDIUM, LOW = (Group(0, name) for name in ("HIGH", "MEDIUM", "LOW"))
GOAL = Goal("MEDIUM", 0.95, 5.0)


def measured() -> Iterator[tuple[int, int, int, int]]:
    """Return the target, each limit that was set, and the resulting limit and degree."""
    with (Path(__file__).parents[2] / "data" / "adw_medium_concurrency.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for asked in range(int(row["first"]), int(row["last"]) + 1):
                yield int(row["target"]), asked, int(row["concurrency"]), int(row["degree"])


def test_each_limit_sets_the_degree_that_was_measured() -> None:
    cases = list(measured())
    assert len(cases) == 24 + 72
    assert (most_limit(96), most_limit(288)) == (24, 72), "no higher one could be set"
    assert [(target, asked, at_once(target, asked), degree(target, asked)) for target, asked, *_ in cases] == cases


def test_the_examples_of_the_manual() -> None:
    """100 OCPUs or 400 ECPUs are 200 CPUs, so the target is 1200, and with compute auto scaling 3600."""
    assert (degree(1200, 50), degree(3600, 50)) == (12, 36)
    assert most_limit(1200) == 300, "3 x OCPUs"


def test_a_target_of_24_by_hand() -> None:
    """With four CPUs, 24 div 2n is 12, 6, 4, 3, 2, 2, but the degree is between 2 and 4."""
    assert [degree(24, limit) for limit in range(1, 8)] == [4, 4, 4, 3, 2, 2, 2]
    assert [at_once(24, limit) for limit in range(1, 8)] == [1, 2, 3, 4, 6, 6, 6]
    assert [servers(24, limit) for limit in (1, 3, 4, 6)] == [8, 24, 24, 24]


OBSERVED = {"target": 96, "first": NOON, "last": NOON + timedelta(seconds=6000)}


def plan(limit: int | None = 84, most: int | None = 4, **more: object) -> ObservedPlan:
    """DWCS_PLAN with its default shares."""
    rows = (
        directive("HIGH", 1, 4, limit=50, plan="DWCS_PLAN")._replace(parallel_degree_limit_p1=8),
        directive("MEDIUM", 1, 2, limit=limit, plan="DWCS_PLAN")._replace(parallel_degree_limit_p1=most),
        directive("LOW", 1, 1, plan="DWCS_PLAN")._replace(parallel_degree_limit_p1=1),
        directive("OTHER_GROUPS", 1, 1, plan="DWCS_PLAN")._replace(parallel_degree_limit_p1=1),
    )
    return plan_of(*rows, **{"autonomous": True, "maximum": 96, **more})


def bursts(many: int = 12, *, wait: float = 90.0, group: str = "MEDIUM", limit: int = 80) -> list[Arrival]:
    """Return `many` statements of MEDIUM that run 90 s, ten times, every 300 s: with 80 servers the 11th waits 90 s."""
    return [
        came(300 * n + k / 100, 8, 90, group=group, waited=wait if k >= 10 else 0, limit=limit, **OBSERVED)
        for n in range(10)
        for k in range(many)
    ]


def given(
    arrivals: list[Arrival], in_force: ObservedPlan, goal: Goal = GOAL, quick: int = QUICK, **more: object
) -> Advice:
    return advise(arrivals, in_force, AdviceWanted([goal], (), (), quick=quick, **more)).advice  # type: ignore[arg-type]


def seen(arrivals: list[Arrival], in_force: ObservedPlan) -> ObservedLoad:
    return ObservedLoad.of(arrivals, in_force, [GOAL], 1)


@pytest.mark.parametrize(
    ("target", "limit", "known"),
    [(1200, 84, 126), (1200, 67, 100), (96, 84, 10), (96, 67, 8), (96, 100, 12), (1_000_000, 84, None)],
    ids=["100 OCPUs", "400 ECPUs", "8 OCPUs", "32 ECPUs", "set to 12", "target unknown"],
)
def test_the_limit_in_force_is_the_published_one(target: int, limit: int, known: int | None) -> None:
    given = target * limit // 100
    load = seen([each._replace(target=target, limit=given) for each in bursts()], plan(limit))
    assert (load.concurrency(MEDIUM), load.concurrency(HIGH)) == (known, None)
    assert seen(bursts(), plan(most=None)).concurrency(MEDIUM) is None


def test_twenty_published_statements_under_other_limits() -> None:
    """Each has 8 servers. With 12 at once eight wait; with 24 all run twice as long, with 4 servers (degree 2)."""
    load = seen(published(), plan())
    twelve, all_at_once = (load.played(frozenset({Change("concurrency", MEDIUM, n)}), 1) for n in (12, 24))
    assert (sum(wait > 1 for wait in twelve.waits), twelve.replayed.peak, max(twelve.slower)) == (8, 96, 0)
    assert all_at_once.replayed.peak == 80
    assert max(all_at_once.waits) < 0.1, "the log has hundredths of a second"
    runs = [each.ran for each in load.arrivals]
    assert all_at_once.slower == pytest.approx(runs), "twice as long is once more"


@pytest.mark.parametrize(
    ("asked", "then"), [(12, "12 (degree 4 -> 4)"), (20, "24 (degree 4 -> 2, which has room for more than 20)")]
)
def test_a_limit_that_lets_more_run_than_it_says_is_noted(asked: int, then: str) -> None:
    change = Change("concurrency", MEDIUM, asked)
    assert in_words(seen(bursts(), plan()), change) == f"concurrency limit of MEDIUM 10 -> {then}"


def test_runs_never_shorten_and_small_statements_stay_small() -> None:
    load = seen([*bursts(), came(4000, 4, 60, group="MEDIUM", limit=80, **OBSERVED)], plan())
    four = frozenset({Change("concurrency", MEDIUM, 4)})
    assert sizes_under(load, four) == {MEDIUM: Size(8, 24)}
    assert [Size(8, 24).of(had) for had in (4, 8, 16)] == [4, 24, 24]
    assert set(load.played(four, 1).slower) == {0}


def test_only_settings_of_customers_are_tried() -> None:
    load = seen([*bursts(), came(5000, 16, 60, group="HIGH", limit=48, **OBSERVED)], plan())
    assert grid(load, ("target", "limits", "levels", "shares", "degree", "timeouts", "concurrency"), [GOAL]) == {
        ("concurrency", MEDIUM): (12, 16, 24),  # degrees 4, 3 and 2
        ("shares", MEDIUM): (1, 4, 8),
        ("shares", HIGH): (1, 2, 8, 16),
    }
    set_to_four = seen(bursts(limit=96), plan(100, 12))
    assert grid(set_to_four, ["concurrency"], [GOAL]) == {("concurrency", MEDIUM): (5, 8, 16)}  # degrees 9, 6 and 3
    assert grid(seen(bursts(), plan(autonomous=False)), ["concurrency"], [GOAL]) == {}


def test_a_limit_that_is_too_low_is_raised() -> None:
    """Twelve come at once, and ten fit. With a limit of 12 none waits, and the degree stays."""
    found = given(bursts(), plan(), quick=0)
    assert (found.verdict, found.choices[0].changes) == (
        "advised",
        ("concurrency limit of MEDIUM 10 -> 12 (degree 4 -> 4)",),
    )
    text = " ".join(as_text(found).split())
    assert "against the concurrency limit of MEDIUM (┊ goal, 0:05)" in text
    assert "10 at once now" in text
    assert "as was measured on 19c; the manual has no rule" in text
    assert "against PARALLEL_SERVERS_TARGET" in text, "more CPUs leave the degree as it is"
    assert found.scripts is not None
    assert found.scripts.change.splitlines()[3:] == [
        "SET DEFINE OFF",
        "SELECT * FROM CS_RESOURCE_MANAGER.LIST_CURRENT_RULES();",
        "BEGIN",
        "  CS_RESOURCE_MANAGER.UPDATE_PLAN_DIRECTIVE(",
        "    consumer_group => 'MEDIUM',",
        "    concurrency_limit => 12);",
        "END;",
        "/",
        "SELECT * FROM CS_RESOURCE_MANAGER.LIST_CURRENT_RULES();",
    ]
    assert found.scripts.undo.splitlines()[5:10] == [
        "BEGIN",
        "  CS_RESOURCE_MANAGER.REVERT_TO_DEFAULT_VALUES(",
        "    consumer_group => 'MEDIUM',",
        "    concurrency_limit => TRUE);",
        "END;",
    ]


def script(load: ObservedLoad, *changes: Change) -> Scripts:
    found, _ = written(load, frozenset(changes))
    assert found is not None
    return found


def test_undoing_restores_limits_and_shares() -> None:
    load = seen(bursts(limit=96), plan(100, 12))
    found = script(load, Change("concurrency", MEDIUM, 8), Change("shares", MEDIUM, 4), Change("shares", HIGH, 1))
    assert "'MEDIUM',\n    concurrency_limit => 8,\n    shares => 4);" in found.change
    assert "'MEDIUM',\n    concurrency_limit => 4,\n    shares => 2);" in found.undo
    assert "'HIGH',\n    shares => 4);" in found.undo
    assert "REVERT" not in found.undo
    for text in (found.change, found.undo):
        assert "PENDING_AREA" not in text
        assert "DBMS_RESOURCE_MANAGER" not in text
        assert "ALTER SYSTEM" not in text
    none, why = written(load, frozenset({Change("limits", Group(0, "OTHER_GROUPS"), 50)}))
    assert none is None
    assert "changes only the services" in why[0]


def test_shares_order_the_queue() -> None:
    """Both always have a head: with 4 to 2 shares HIGH starts more, with 1 to 8 MEDIUM."""
    some = [came(n / 9, 48, 9, group=name, limit=48, **OBSERVED) for n in range(60) for name in ("HIGH", "MEDIUM")]
    some = [each._replace(target=48, waited=9.0) for each in some]
    load = seen(some, plan())
    turned = frozenset({Change("shares", HIGH, 1), Change("shares", MEDIUM, 8)})
    first, then = (load.played(choice, 1) for choice in (PRESENT, turned))
    assert sum(first.of("HIGH")) < sum(first.of("MEDIUM"))
    assert sum(then.of("HIGH")) > sum(then.of("MEDIUM"))
    assert in_words(load, Change("shares", HIGH, 1)) == "share of HIGH 4 -> 1"


def test_more_cpus_are_advised_if_no_degree_changes() -> None:
    """Fifteen come at once and need 120 servers: with a limit of 84 % a target of 143, one and a half times 96."""
    goal, only = Goal("MEDIUM", 0.95, 5.0), ("shares",)
    found = advise(bursts(15), plan(), AdviceWanted([goal], (), only, quick=QUICK)).advice
    assert found.verdict == "unmet"
    assert found.servers_needed is not None
    assert 143 <= found.servers_needed <= 146
    assert f"It would take about 1.{5 if found.servers_needed <= 144 else 6} times as many ECPUs (or OCPUs)" in as_text(
        found
    )
    with_high = [*bursts(15), came(5000, 16, 60, group="HIGH", limit=48, **OBSERVED)]
    assert not is_target_free(seen(with_high, plan())), "the degree of HIGH is half the CPUs"
    assert not is_target_free(seen(bursts(), plan(100))), "a limit that was set grows with them"
    unknown = as_text(advise(with_high, plan(), AdviceWanted([goal], (), only, quick=QUICK)).advice)
    assert "Whether more ECPUs (or OCPUs) would do is not known." in unknown
    assert "against PARALLEL_SERVERS_TARGET" not in unknown


def test_unknowns_are_listed() -> None:
    own = given(bursts(), replace(plan(), directives={HIGH: directive("HIGH", 1, 4, plan="MY_PLAN")}))
    assert (own.verdict, own.choices) == ("autonomous", ())
    assert "on a plan of your own there is no advice" in own.message
    notes = " ".join(given(bursts(limit=96), plan(100, 16), quick=2).notes)
    assert "MEDIUM is 1, 2 or 3, no view shows which" in notes
    assert "is not tried: no statement of it was seen, or not its degree" in " ".join(
        given(bursts(), plan(most=None), quick=2).notes
    )
    high = given(bursts(group="HIGH"), plan(), Goal("HIGH", 0.95, 5.0))
    assert high.curves == (), "a customer can set neither its limit nor the target"


@pytest.mark.parametrize("seed", some([1], [2]))
def test_the_search_finds_what_an_exhaustive_one_finds(seed: int) -> None:
    family = "concurrency limit too low"
    assert planted(family, seed).plan.services == {Group(0, name) for name in ("HIGH", "MEDIUM", "TPURGENT")}
    found = tried(family, seed)
    assert (found.against_best, found.choices) == (1.0, 4 * 4 * 5 * 5), "three limits, and 3, 4 and 4 other shares"
    assert found.replays <= found.choices // 10


def test_a_choice_with_longer_runs_does_not_replace_another() -> None:
    """With 12 and with 24 at once no statement waits."""
    load = seen(bursts(), plan())
    search = Search(load, [GOAL], [], ("concurrency",))
    search.run(lambda *_: None)
    twelve, twice = (frozenset({Change("concurrency", MEDIUM, n)}) for n in (12, 24))
    first, other = (_figures(each, load.played(each, 1), search) for each in (twelve, twice))
    assert first[:2] == other[:2] == [0, 0]
    assert _as_good(first, other)
    assert not _as_good(other, first)


def test_every_random_day_has_statements_even_with_bursts() -> None:
    """With three bursts an hour apart, some random days had only pauses."""
    far = [came(3600 * n, 8, 90, group="MEDIUM", limit=80, **OBSERVED) for n in range(3) for _ in range(12)]
    assert all(day.arrivals for day in other_days(seen(far, plan()), 99, held_back=False))
    at_once = [came(0, 8, 90, group="MEDIUM", limit=80, **OBSERVED) for _ in range(12)]
    assert all(day.arrivals for day in other_days(seen(at_once, plan()), 9, held_back=True))


# ---- The commands and the panel.


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("adb") / "x.presman"
    record(place, list(polled("adb", 30, step=15)))
    return place


ADVISE = ("advise", "--goal", "MEDIUM p50 wait <= 1s")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ((*ADVISE, "--may-change", "limits"), "what can be changed on an Autonomous Database is concurrency, shares"),
        ((*ADVISE, "--may-change", "shares,target"), "--may-change target: what can be changed on"),
        (
            ("whatif", "--limit", "MEDIUM=100"),
            "--limit: no customer of an Autonomous Database can change it; try --conc",
        ),
        (("whatif", "--cpu-limit", "MEDIUM=50"), "--cpu-limit: no customer of an Autonomous Database can change it"),
        (("whatif", "--concurrency", "12", "--share", "MEDIUM=4"), "--share and --cpu-limit are about CPU"),
        (("whatif", "--concurrency", "0"), "--concurrency"),
        (("whatif", "--concurrency", "25"), "--concurrency: it is from 1 to 24 here"),
    ],
)
def test_options_beyond_a_customers_rights_are_refused_in_a_line(
    recording: Path, inside: Run, command: tuple[str, ...], why: str
) -> None:
    done = inside(command[0], str(recording), *command[1:])
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_commands(recording: Path, inside: Run) -> None:
    done = inside("whatif", str(recording), "--concurrency", "15")
    assert (done.returncode, done.stderr) == (0, "")
    then = "concurrency limit of MEDIUM 10 -> 16 (degree 4 -> 3, which has room for more than 15); with a lower degree"
    assert f"{then} runs are longer" in " ".join(done.stdout.split())
    done = inside(*ADVISE[:1], str(recording), *ADVISE[1:], "--may-change", "concurrency")
    assert done.returncode == 0, "half of twelve start at once"
    assert "Every goal is met already" in done.stdout


@pytest.mark.parametrize("command", [(*ADVISE, "--may-change", "concurrency"), ("whatif", "--concurrency", "12")])
def test_other_databases_have_no_concurrency_limit(tmp_path: Path, inside: Run, command: tuple[str, ...]) -> None:
    place = tmp_path / "y.presman"
    place.write_bytes(recorded("mixed", 12))
    done = inside(command[0], str(place), *command[1:])
    assert (done.returncode, done.stdout) == (2, "")
    assert "exists on an Autonomous Database; " in done.stderr


def test_the_panel_offers_settings_of_customers() -> None:
    (previous, _), (snapshot, reading) = list(polled("adb", 4))[-2:]
    limits = PresentLimits.of(reading, previous, snapshot, RowCache())
    found = {limit.knob: limit.now for limit in limits.limits(MEDIUM)}
    assert found == {("concurrency", MEDIUM): 10, ("shares", MEDIUM): 2, ("shares", HIGH): 4, ("shares", LOW): 1}
    (limit,) = (limit for limit in limits.limits(None) if limit.knob[0] == "concurrency")
    assert (limit.name, limit.most) == ("concurrency limit", 24)
    assert of_group(MEDIUM, reading) == ("concurrency", MEDIUM), "there its head waits"
    seven = frozenset({Change("concurrency", MEDIUM, 7)})
    assert "MEDIUM then runs 8 at once, with a degree of 6; those queued keep theirs." in limits.cautions(seven)
    was = PastArrival(10.0, MEDIUM, 8, Durations((60.0,), (1.0,), 60.0))
    now = QueueNow(Limits(96, 96, Queueing.FULL), (), (), (was,), 60.0)
    for many, size, lasts in ((24, 4, 120.0), (4, 24, 60.0)):
        (then,) = under(now, limits.load, frozenset({Change("concurrency", MEDIUM, many)})).arrivals
        assert (then.servers, then.duration.times) == (size, (lasts,))
