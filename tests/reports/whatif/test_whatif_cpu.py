"""What if for CPU: how much groups would lack, by hand, and the command on a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchmarks.advise import directive
from presman.analysis.assemble import analyse
from presman.analysis.facts.plan_book import PlanBook, PlanShares
from presman.analysis.groups.entitlement import Load
from presman.analysis.readings.reading import Reading
from presman.base.formats import spelled
from presman.reports.whatif_cpu import CpuDemand, cpu_report, given, replay_cpu, under
from presman.rows.group_rows import ConsumerGroup, PlanDirective
from presman.rows.session_rows import Session
from presman.rows.snapshot import Problem, Section, Snapshot
from tests.cli.run import Run
from tests.recording.recorded import polled, record
from tests.situations.spooled import RELEASE_19, reading

A, B = (0, "A"), (0, "B")


def plan(*rows: tuple[str, int, int], limit: int | None = None) -> PlanShares:
    """Return a plan of groups with level and percent; `limit` is B's UTILIZATION_LIMIT."""
    made = [directive(*row)._replace(utilization_limit=limit if row[0] == "B" else None) for row in rows]
    return PlanBook.read((), made).shares("DAY_PLAN")


def demand(shares: PlanShares, a: tuple[float, float], b: tuple[float, float]) -> CpuDemand:
    """Return ten seconds of eight CPUs, with the CPU that each group used and waited for."""
    return CpuDemand(10.0, 8.0, {A: Load(*a), B: Load(*b)}, shares)


THREE_TO_ONE = plan(("A", 1, 75), ("B", 1, 25))
BOTH_WANT_ALL = demand(THREE_TO_ONE, (6.0, 2.0), (2.0, 6.0))


def test_shares_divide_cpu_between_groups_that_want_all() -> None:
    """Both want all eight CPUs: 75 to 25 is six to two, 25 to 25 is four to four."""
    assert given(BOTH_WANT_ALL, THREE_TO_ONE) == pytest.approx({A: 6.0, B: 2.0})
    assert given(BOTH_WANT_ALL, under(THREE_TO_ONE, {"A": {"shares": 25}})) == pytest.approx({A: 4.0, B: 4.0})


def test_the_missing_cpu_of_groups_is_summed() -> None:
    found = replay_cpu([BOTH_WANT_ALL] * 3, {"A": {"shares": 25}})
    assert (found[A].wanted, found[A].observed, found[A].replayed) == pytest.approx((240, 60, 60))
    assert (found[A].changed, found[B].changed) == pytest.approx((120, 120))
    assert found[B].replayed == pytest.approx(180)


def test_a_level_comes_before_lower_ones() -> None:
    """B on level 2 gets what A leaves on level 1: a quarter, and what A does not want."""
    wants_half = demand(THREE_TO_ONE, (4.0, 0.0), (4.0, 4.0))
    assert given(wants_half, THREE_TO_ONE) == pytest.approx({A: 4.0, B: 4.0})
    second = under(THREE_TO_ONE, {"A": {"levels": 2}, "B": {"shares": 100}})
    assert given(BOTH_WANT_ALL, second) == pytest.approx({A: 0.0, B: 8.0}), "A comes after B, which wants all"


def test_a_limit_holds_on_an_idle_instance() -> None:
    """B may use half of eight CPUs and wants six; A wants one."""
    limited = plan(("A", 1, 75), ("B", 1, 25), limit=50)
    held = demand(limited, (1.0, 0.0), (4.0, 2.0))
    assert given(held, limited) == pytest.approx({A: 1.0, B: 4.0})
    assert given(held, under(limited, {"B": {"cpu": 100}})) == pytest.approx({A: 1.0, B: 6.0})
    assert given(held, under(limited, {"B": {"cpu": 25}})) == pytest.approx({A: 1.0, B: 2.0})
    assert replay_cpu([held], {"B": {"cpu": 25}})[B].changed == pytest.approx(40)


def test_a_group_outside_the_plan_keeps_its_cpu() -> None:
    other = BOTH_WANT_ALL._replace(loads={**BOTH_WANT_ALL.loads, (0, "C"): Load(0.5, 1.0)})
    assert given(other, THREE_TO_ONE)[0, "C"] == 0.5


def test_what_a_group_outside_the_plan_used_is_not_divided_again() -> None:
    """C has 4 of 8 CPUs; A and B, which want all, have 4 to divide."""
    busy = demand(THREE_TO_ONE, (3.0, 5.0), (1.0, 7.0))
    busy = busy._replace(loads={**busy.loads, (0, "C"): Load(4.0, 1.0)})
    assert given(busy, THREE_TO_ONE) == pytest.approx({A: 3.0, B: 1.0, (0, "C"): 4.0})


@pytest.mark.parametrize(
    ("managed", "groups", "why"),
    [
        ("OFF", ("A | {} | 0", "B | {} | 0"), "CPU was not managed, so waits for it were not counted"),
        ("ON", ("A | {0} | {0}", "X | {} | 0"), "groups outside the plan used 8.0 CPUs"),
    ],
)
def test_polls_whose_division_is_not_known_are_no_polls_without_a_lack(
    tmp_path: Path, inside: Run, managed: str, groups: tuple[str, ...], why: str
) -> None:
    """In a minute two groups used 8 CPUs each."""
    views = {
        **RELEASE_19,
        "V$OSSTAT": "STAT_NAME | VALUE\nNUM_CPUS | 16",
        "V$RSRC_PLAN": f"NAME | IS_TOP_PLAN | CPU_MANAGED | INSTANCE_CAGING\nP | TRUE | {managed} | OFF",
        "DBA_RSRC_PLAN_DIRECTIVES": """
            PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1
            P | A | CONSUMER_GROUP | 50
            P | B | CONSUMER_GROUP | 50
        """,
        "V$RSRC_CONSUMER_GROUP": "\n".join([
            "SAMPLE_TIME | NAME | CONSUMED_CPU_TIME | CPU_WAIT_TIME | ACTIVE_SESSIONS",
            *(f"2026-03-14 12:00:00 | {each.format(0)} | 20" for each in groups),
            *(f"2026-03-14 12:01:00 | {each.format(480_000)} | 20" for each in groups),
        ]),
    }  # fmt: skip
    found = reading(tmp_path, views)
    assert [row.entitled for row in found.cluster_groups() if row.used] == [None, None]
    done = inside("whatif", f"spool:{tmp_path}", "--share", "A=60")
    assert (done.returncode, done.stdout) == (3, "")
    assert f"what CPU groups would get is not known: {why}" in done.stderr


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    place = tmp_path / "x.presman"
    record(place, list(polled("mixed", 12)))
    return place


def test_the_command(recording: Path, inside: Run) -> None:
    done = inside("whatif", str(recording), "--cpu-limit", "BATCH=10")
    assert done.returncode == 0
    head, *rows = (line.split() for line in done.stdout.splitlines() if line[:6] in {"group ", "BATCH "})
    assert head[-2:] == ["what", "if"]
    assert int(rows[0][-2].strip("(")) > 30, "a tenth of the CPUs is less than it wants"
    for more, why in (
        (("--share", "BATHC=5"), "--share: no CPU of 'BATHC' was seen, did you mean 'BATCH'?"),
        (
            ("--share", "_ORACLE_BACKGROUND_GROUP_=5"),
            "--share: no plan that was in force has a directive for _ORACLE_B",
        ),
        (("--share", "BATCH=5", "--target", "9"), "run presman whatif for each"),
    ):
        done = inside("whatif", str(recording), *more)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert why in done.stderr
    assert "a file of arrivals has no CPU" in inside("whatif", "a.csv", "--share", "BATCH=5").stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--cpu-limit", "BATCH=0"), "the number must be from 1 to 100"),
        (("--cpu-limit", "BATCH=40", "--cpu-limit", "BATCH=20"), "--cpu-limit names BATCH 2 times"),
        (("--limit", "ETL=5", "--limit", "ETL=9"), "--limit names ETL 2 times"),
        *((("--live-minutes", text), "not a number of minutes above 0") for text in ("nan", "-1", "0", "1e9", "x")),
    ],
)
def test_contradictory_options_are_refused(inside: Run, options: tuple[str, ...], why: str) -> None:
    done = inside("whatif", "demo:mixed", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr


def rows(text: str) -> list[str]:
    """Return the table's lines below its heads, with one blank between words."""
    return [" ".join(line.split()) for line in text.partition("what if\n")[2].partition("\n\n")[0].splitlines()]


def test_the_report_has_a_line_for_each_group_and_its_error() -> None:
    """Eight CPUs wanted for three polls of ten seconds are four minutes."""
    text = cpu_report([BOTH_WANT_ALL] * 3, {"A": {"shares": 25}})
    assert text.startswith("CPU in 3 polls, each of an instance;")
    assert "is off by 0 % of what they wanted" in text
    assert rows(text) == [
        "A 4:00 1:00 (25 %) 1:00 (25 %) 2:00 (50 %)", "B 4:00 3:00 (75 %) 3:00 (75 %) 2:00 (50 %)",
    ]  # fmt: skip
    other = cpu_report([demand(THREE_TO_ONE, (4.0, 4.0), (4.0, 4.0))], {})
    assert "is off by 25 % of what they wanted" in other, "of 160 s A lacked 40, not 20, and B 40, not 60"


@pytest.mark.parametrize(("wanted", "names"), [(0.09, ["A"]), (0.1, ["A", "B"])])
def test_a_group_that_wanted_less_than_a_second_has_no_row(wanted: float, names: list[str]) -> None:
    """A tenth of a CPU for ten seconds is one second."""
    text = cpu_report([demand(THREE_TO_ONE, (6.0, 2.0), (wanted, 0.0))], {"A": {"shares": 5}})
    assert [row[0] for row in rows(text)] == names


def test_a_changed_group_has_a_row_without_demand() -> None:
    idle = BOTH_WANT_ALL._replace(loads={A: BOTH_WANT_ALL.loads[A], B: Load(0.0, 0.0)})
    rows = cpu_report([idle], {"B": {"shares": 5}}).splitlines()
    assert any(line.startswith("B ") and line.split()[1] == "0:00" for line in rows)


def test_without_demand_for_cpu_the_report_omits_cpu() -> None:
    idle = demand(THREE_TO_ONE, (0.0, 0.0), (0.0, 0.0))
    assert "never short" not in cpu_report([idle], {"B": {"shares": 5}})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"shares": 5},
            "CPU was never short: no group waited for it, and under these directives none would have.",
        ),
        ({"cpu": 10}, "CPU was never short: under these directives a group waits only because of a limit."),
    ],
)
def test_a_report_says_if_cpu_was_never_short(change: dict[str, float], expected: str) -> None:
    enough = demand(THREE_TO_ONE, (3.0, 0.0), (2.0, 0.0))
    assert expected in cpu_report([enough], {"B": change}).splitlines()
    assert "never short" not in cpu_report([BOTH_WANT_ALL], {"B": change})


def without(column: str, record_type: type[Any], since: int) -> list[tuple[Snapshot, Reading]]:
    """Return polls of which those from `since` on lack a column of a view, or all its rows if it is ""."""
    found: list[tuple[Snapshot, Reading]] = []
    for number, (snapshot, _) in enumerate(polled("mixed", 6)):
        section = snapshot.section(record_type)
        if number >= since and column:
            rows = tuple(each._replace(**{column: 0}) for each in section.rows)
            section = replace(section, rows=rows, absent=frozenset({column}))
        elif number >= since:
            section = Section((), section.at, problem=Problem("ORA-00942", "no such view", record_type.__name__))
        changed = replace(snapshot, sections={**snapshot.sections, record_type: section})
        found.append((changed, analyse(found[-1][0] if found else None, changed)))
    return found


@pytest.mark.parametrize(
    ("column", "record_type", "why"),
    [
        ("consumed_cpu_time", ConsumerGroup, "GV$RSRC_CONSUMER_GROUP lacks CONSUMED_CPU_TIME"),
        ("cpu_wait_time", ConsumerGroup, "GV$RSRC_CONSUMER_GROUP lacks CPU_WAIT_TIME"),
        ("", PlanDirective, "no plan that can be read divides CPU"),
    ],
)
def test_cpu_that_is_not_known_is_not_replayed(
    tmp_path: Path, inside: Run, column: str, record_type: type[Any], why: str
) -> None:
    record(tmp_path / "none.presman", without(column, record_type, 0))
    done = inside("whatif", "none.presman", "--share", "BATCH=30")
    assert (done.returncode, done.stdout) == (3, "")
    assert f"what CPU groups would get is not known: {why}" in done.stderr
    record(tmp_path / "some.presman", without(column, record_type, 3))
    done = inside("whatif", "some.presman", "--share", "BATCH=30")
    assert "CPU in 2 polls" in done.stdout
    assert f"some polls are left out: {why}" in done.stderr


def test_a_queue_that_was_not_seen_is_not_replayed_as_empty(tmp_path: Path, inside: Run) -> None:
    record(tmp_path / "none.presman", without("", Session, 0))
    done = inside("whatif", "none.presman", "--target", "90")
    assert (done.returncode, done.stdout) == (3, "")
    assert "not known which statements were queued and which ran: " in done.stderr
    record(tmp_path / "some.presman", without("", Session, 4))
    assert "at 2 of 6 polls it is not known" in inside("whatif", "some.presman", "--target", "90").stderr


def test_the_time_without_polls_is_named(tmp_path: Path, inside: Run) -> None:
    """Sixty polls are missing, as while the recorder was away."""
    moments = list(polled("queueing", 100))
    step = moments[1][1].at - moments[0][1].at
    record(tmp_path / "a.presman", moments[:30] + moments[90:])
    done = inside("whatif", "a.presman", "--target", "64")
    away = spelled(61 * step.total_seconds())
    assert f"there are no polls for {away}: what was queued and ran then is not known" in done.stderr
    record(tmp_path / "b.presman", moments[:30])
    assert "no polls" not in inside("whatif", "b.presman", "--target", "64").stderr
