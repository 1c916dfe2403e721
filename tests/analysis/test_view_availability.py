"""All-clear sentences: they name only what the available views can rule out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from presman import tabs
from presman.analysis.alerts.alert_rules import all_clear
from presman.analysis.assemble import analyse
from presman.analysis.caches import RowCache
from presman.analysis.facts.system_facts import SystemFacts
from presman.analysis.groups.verdicts import explain
from presman.analysis.plans.lint import LintCoverage, lint_coverage
from presman.analysis.readings.group_readings import Verdict
from presman.analysis.view_availability import without_rows
from presman.base.release import SUPPORTED, Release
from presman.figures.drawing.lines import plain
from presman.output import text_report
from presman.rows.group_rows import ConsumerGroup, PlanDirective, RsrcPlan
from presman.rows.instance_rows import EventHistogram, Osstat, Sysstat, SystemEvent, WatchedHistogram
from presman.rows.queries import RecordType, Scope, load, main_records
from presman.rows.session_rows import NamedSession, PxSession, Session, SessionCount
from presman.rows.snapshot import Problem, Section, Snapshot
from presman.tabs.alerts import alerts
from presman.tabs.choices import Link
from presman.tui.widgets.frame_lines import alert_line
from tests.analysis.make import active_plan, directive, group, instance, row, snapshot
from tests.yardstick import cost

TABS = Path(tabs.__file__).parent
TO_SERIAL = "Parallel operations downgraded to serial"
ALL = "Nothing is wrong: no queue now, no starved group, no downgrade in 10 s (by GV$SESSION, GV$RSRC_PLAN, "


def calm(after: float = 0.0, **changes: Any) -> Snapshot:
    """A database in which nothing happens: one group that used a second of CPU in ten."""
    group = row(ConsumerGroup, name="A", consumed_cpu_time=round(100 * after), con_id=0)
    rows = [
        instance(),
        active_plan(),
        directive("DAY", "A", 100),
        group,
        row(Session, sid=1, status="ACTIVE"),
        row(PxSession, sid=2, qcsid=1),
        row(Sysstat, name=TO_SERIAL, value=7),
    ]
    return snapshot(*rows, after=after, **changes)


def without(found: Snapshot, record: RecordType, section: Section) -> Snapshot:
    return replace(found, sections={**found.sections, record: section})


def alert_texts(now: Snapshot) -> list[str]:
    return [alert.text for alert in alerts(analyse(calm(), now), Link())]


def test_the_all_clear_names_its_views() -> None:
    assert alert_texts(calm(10)) == [ALL + "GV$RSRC_CONSUMER_GROUP, GV$PX_SESSION, GV$SYSSTAT)."]
    (brief,) = (alert.short for alert in alerts(analyse(calm(), calm(10)), Link()))
    assert brief == "Nothing is wrong now: no queue, starved group or downgrade", "with a count beside it, in 80 cells"
    assert (
        "(by V$SESSION, V$RSRC_PLAN, V$RSRC_CONSUMER_GROUP, V$PX_SESSION, V$SYSSTAT)"
        in alert_texts(calm(10, scope=Scope.INSTANCE))[0]
    )


@pytest.mark.parametrize(("busy", "words"), [((2,), " of instance 2"), ((1, 2), " of instances 1 and 2")])
def test_the_all_clear_names_instances_whose_cpus_are_all_in_use(busy: tuple[int, ...], words: str) -> None:
    def poll(seconds: float) -> Snapshot:
        rows: list[Any] = [directive("DAY", "A", 100)]
        for inst_id in (1, 2):
            used = 4000 * seconds if inst_id in busy else 0
            rows += [instance(inst_id), active_plan(inst_id=inst_id)]
            rows += [row(Osstat, inst_id=inst_id, stat_name="NUM_CPUS", value=4.0)]
            rows += [group("A", inst_id, consumed_cpu_time=int(used), cpu_wait_time=int(used / 2))]
        return snapshot(*rows, after=seconds)

    (found,) = all_clear(analyse(poll(0), poll(10)))
    assert found.short == f"All {4 * len(busy)} CPUs{words} are in use, sessions wait for {2 * len(busy)}.0 more"


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (200, ALL + "GV$RSRC_CONSUMER_GROUP, GV$PX_SESSION, GV$SYSSTAT)."),
        (
            120,
            "Nothing is wrong now (by GV$SESSION, GV$RSRC_PLAN, GV$RSRC_CONSUMER_GROUP, GV$PX_SESSION, GV$SYSSTAT)",
        ),
        (80, "Nothing is wrong now: no queue, starved group or downgrade (by 5 views)"),
        (70, "Nothing is wrong now: no queue, starved group or downgrade"),
    ],
)
def test_the_line_on_every_tab_names_the_views_as_far_as_there_is_room(width: int, line: str) -> None:
    found = alerts(analyse(calm(), calm(10)), Link())
    assert plain(alert_line(found, width)).strip() == f"● {line}"


def test_the_first_poll_knows_of_no_starvation_and_no_downgrade() -> None:
    texts = [alert.text for alert in alerts(analyse(None, calm()), Link())]
    assert texts == [
        "No queue now (by GV$SESSION).",
        "Whether there is a starved group (it takes two polls), or a downgrade (it takes two polls) is not known.",
    ]


@pytest.mark.parametrize(
    ("record", "section", "clear", "why"),
    [
        (
            Session,
            Section(absent=frozenset(Session._fields)),
            "No starved group, no downgrade",
            "a queue (GV$SESSION is not there)",
        ),
        (
            Session,
            Section((row(Session, sid=1),), absent=frozenset({"event"})),
            "No starved group, no downgrade",
            "a queue (GV$SESSION lacks EVENT)",
        ),
        (
            PxSession,
            Section(problem=Problem("ORA-00942", "table or view does not exist", "GV$PX_SESSION")),
            "No queue now, no starved group",
            "a downgrade (GV$PX_SESSION: ORA-00942)",
        ),
        (
            Sysstat,
            Section(problem=Problem("ORA-00942", "table or view does not exist", "GV$SYSSTAT")),
            "No queue now, no starved group",
            "a downgrade (GV$SYSSTAT: ORA-00942)",
        ),
        (
            Sysstat,
            Section((row(Sysstat, name="Parallel operations not downgraded", value=9),)),
            "No queue now, no starved group",
            "a downgrade (GV$SYSSTAT does not count them)",
        ),
        (
            Sysstat,
            Section((row(Sysstat, name=TO_SERIAL, value=6),)),  # less than before: the counter began anew
            "No queue now, no starved group",
            "a downgrade (it takes two polls)",
        ),
        (
            ConsumerGroup,
            Section(absent=frozenset(ConsumerGroup._fields)),
            "No queue now, no downgrade",
            "a starved group (GV$RSRC_CONSUMER_GROUP is not there)",
        ),
        (
            RsrcPlan,
            Section(absent=frozenset(RsrcPlan._fields)),
            "No queue now, no downgrade",
            "a starved group (GV$RSRC_PLAN is not there)",
        ),
    ],
)
def test_what_a_missing_view_shows_is_not_called_absent(
    record: RecordType, section: Section, clear: str, why: str
) -> None:
    first, *rest = alert_texts(without(calm(10), record, section))
    assert first.startswith(f"{clear} in 10 s (by ")
    assert f"Whether there is {why} is not known." in rest


def test_without_any_view_there_is_no_all_clear() -> None:
    empty = snapshot(after=10)
    states = {alert.state for alert in alerts(analyse(None, empty), Link())}
    assert "good" not in states


def seen(now: Snapshot) -> LintCoverage:
    return lint_coverage(analyse(None, now), now)


def test_the_linter_needs_the_plan_and_its_directives() -> None:
    found = seen(calm())
    assert (found.judged, found.blind) == (("DAY",), False)
    assert found.clear.startswith("No finding in DAY (by GV$RSRC_PLAN, DBA_RSRC_PLAN_DIRECTIVES, ")
    assert "DBA_RSRC_GROUP_MAPPINGS was not read" in found.limits

    gone = Section(absent=frozenset(PlanDirective._fields))
    found = seen(without(calm(), PlanDirective, gone))
    assert found.blind
    assert found.clear.startswith("Cannot judge DAY: ")
    assert "DBA_RSRC_PLAN_DIRECTIVES is not there" in found.clear


def test_no_plan_in_force_is_known_only_from_v_rsrc_plan() -> None:
    off = without(calm(), RsrcPlan, Section((active_plan(name=""),)))
    assert seen(off).clear == "No plan is in force (by GV$RSRC_PLAN): there is nothing to judge."
    assert seen(without(off, RsrcPlan, Section(absent=frozenset(RsrcPlan._fields)))).blind


def test_figures_of_columns_that_are_not_there_are_not_zero() -> None:
    """1,000 ms of CPU in 10 seconds are 0.1 CPUs; its wait is not known, so neither is the verdict."""
    bare = without(
        calm(10), ConsumerGroup, replace(calm(10).section(ConsumerGroup), absent=frozenset({"cpu_wait_time"}))
    )
    (group,) = analyse(calm(), bare).cluster_groups()
    assert (group.used, group.waiting, group.verdict) == (0.1, None, Verdict.UNKNOWN)
    assert explain(group) == "Uses 0.1 of 0 CPUs; how long it waits for CPU is not known."
    assert group.io is not None
    bare = without(
        calm(10), ConsumerGroup, replace(calm(10).section(ConsumerGroup), absent=frozenset({"large_read_megabytes"}))
    )
    (group,) = analyse(calm(), bare).cluster_groups()
    assert (group.io, group.waiting) == (None, 0.0)


def test_an_empty_table_of_an_unseen_view_says_so() -> None:
    gone = without(calm(10), PxSession, Section(absent=frozenset(PxSession._fields)))
    lines = text_report.full(analyse(calm(), gone), None, (calm(), gone)).splitlines()
    place = lines.index("-- Running")
    assert lines[place + 1] == "Not known: GV$PX_SESSION is not there."
    place = lines.index("-- Queued (0)")
    assert lines[place + 1] == "Nothing is queued."


def test_every_view_that_a_table_names_is_one_that_a_reading_checks() -> None:
    queries = load(SUPPORTED[-1])
    known = {queries[record].view_in(Scope.INSTANCE) for record in main_records(SUPPORTED[-1])}
    calls = re.findall(r"\bunavailable\(([^)]*)\)", "".join(path.read_text() for path in TABS.glob("*.py")))
    named = set(re.findall(r'"(.*?)"', "".join(calls)))
    assert "V$SESSION" in named
    assert named <= known


def test_one_query_stands_for_a_view() -> None:
    records = main_records(Release(19))
    assert {Session, EventHistogram, SystemEvent} <= set(records)
    assert not {SessionCount, NamedSession, WatchedHistogram} & set(records)


def test_an_unseen_view_has_the_name_that_its_release_reads() -> None:
    for release, name in ((Release(11, 2), "GV$EVENT_HISTOGRAM"), (Release(19), "GV$EVENT_HISTOGRAM_MICRO")):
        gone = replace(
            without(calm(), EventHistogram, Section(absent=frozenset(EventHistogram._fields))), release=release
        )
        assert name in [each.view for each in analyse(None, gone).unseen]


@pytest.mark.parametrize(
    ("absent", "totals", "sessions", "used"),
    [
        ((), (7, 5), 3, 1.0),
        (("io_service_time_xyz",), (7, 5), 3, 1.0),
        (("pqs_completed",), (7, None), 3, 1.0),
        (("active_session_limit_hit",), (7, 5), None, 1.0),
        (("pqs_queued", "consumed_cpu_time"), (None, 5), 3, None),
    ],
)
def test_a_counter_whose_column_is_not_there_is_not_zero(
    absent: tuple[str, ...], totals: tuple[int | None, int | None], sessions: int | None, used: float | None
) -> None:
    counted = {"pqs_queued": 7, "pqs_completed": 5, "active_session_limit_hit": 3}
    seen = []
    for after in (0.0, 10.0):
        now = calm(after)
        rows = tuple(
            each._replace(**counted, consumed_cpu_time=round(1000 * after)) for each in now.rows(ConsumerGroup)
        )
        seen.append(without(now, ConsumerGroup, Section(rows, now.at, absent=frozenset(absent))))
    (group,) = [each for each in analyse(*seen).cluster_groups() if each.name == "A"]
    assert (group.totals.queued, group.totals.completed) == totals
    assert next(iter(group.sessions)) == sessions
    assert group.used == used


def test_a_forged_poll_with_thousands_of_instances_costs_no_more_than_its_rows() -> None:
    """Comparing each instance with each row took a minute."""
    groups = [row(ConsumerGroup, inst_id=each) for each in range(5_000)]
    forged = snapshot(*groups, *(row(Session, inst_id=each) for each in range(5_000, 10_000)))
    found: list[str] = []
    system = SystemFacts(forged, RowCache())
    assert cost(lambda: found.append(without_rows(system, ConsumerGroup))) < 5
    assert found[0].startswith("GV$RSRC_CONSUMER_GROUP has no rows of instances 5000, 5001, ")
