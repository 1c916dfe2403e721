"""Shares of published plans, and what must hold for any plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.analysis.assemble import analyse
from presman.analysis.facts.plan_book import LEVELS, PlanBook, PlanShares, plan_name
from presman.base.release import Release
from presman.rows.group_rows import Plan, PlanDirective
from presman.sources.simulator.plan_tree import Node, fill
from tests.analysis.make import active_plan, directive, instance, row, snapshot

DSS_PLAN = [
    directive("DSS_PLAN", "SYS_GROUP", 75),
    directive("DSS_PLAN", "DSS_CRITICAL_GROUP", 0, 75),
    directive("DSS_PLAN", "ORA$DIAGNOSTICS", 0, 5),
    directive("DSS_PLAN", "ORA$AUTOTASK_SUB_PLAN", 0, 5, type="PLAN"),
    directive("DSS_PLAN", "DSS_GROUP", 0, 0, 75),
    directive("DSS_PLAN", "ETL_GROUP", 0, 0, 0, 45),
    directive("DSS_PLAN", "BATCH_GROUP", 0, 0, 0, 45),
    directive("DSS_PLAN", "OTHER_GROUPS", 0, 0, 0, 10),
]
ETL_CRITICAL_PLAN = [
    directive("ETL_CRITICAL_PLAN", "SYS_GROUP", 75),
    directive("ETL_CRITICAL_PLAN", "DSS_CRITICAL_GROUP", 0, 35),
    directive("ETL_CRITICAL_PLAN", "DSS_GROUP", 0, 10),
    directive("ETL_CRITICAL_PLAN", "ETL_GROUP", 0, 35),
    directive("ETL_CRITICAL_PLAN", "BATCH_GROUP", 0, 10),
    directive("ETL_CRITICAL_PLAN", "ORA$DIAGNOSTICS", 0, 3),
    directive("ETL_CRITICAL_PLAN", "ORA$AUTOTASK_SUB_PLAN", 0, 3, type="PLAN"),
    directive("ETL_CRITICAL_PLAN", "OTHER_GROUPS", 0, 3),
]
MYDB_PLAN = [
    directive("MYDB_PLAN", "MAILDB_PLAN", 30, type="PLAN"),
    directive("MYDB_PLAN", "BUGDB_PLAN", 70, type="PLAN"),
    directive("MAILDB_PLAN", "POSTMAN_GROUP", 40),
    directive("MAILDB_PLAN", "USERS_GROUP", 0, 80),
    directive("MAILDB_PLAN", "MAIL_MAINT_GROUP", 0, 20),
    directive("BUGDB_PLAN", "ONLINE_GROUP", 100),
]


def shares(plan: str, rows: list[PlanDirective], *, method: str = "EMPHASIS", con_id: int = 0) -> PlanShares:
    return PlanBook.read([row(Plan, plan=plan, mgmt_method=method)], rows).shares(plan, con_id)


def greedy(*groups: str) -> dict[tuple[int, str], float]:
    """Groups that want all there is."""
    return {(0, name): 1.0 for name in groups}


def percents(figures: PlanShares) -> dict[str, float]:
    return {name: 100 * share for (_, name), share in figures.shares.items()}


def test_dss_plan_gives_each_level_what_the_levels_above_left() -> None:
    assert percents(shares("DSS_PLAN", DSS_PLAN)) == pytest.approx(
        {
            "SYS_GROUP": 75,
            "DSS_CRITICAL_GROUP": 18.75,
            "ORA$DIAGNOSTICS": 1.25,
            "ORA$AUTOTASK_SUB_PLAN": 1.25,
            "DSS_GROUP": 2.8125,
            "ETL_GROUP": 0.421875,
            "BATCH_GROUP": 0.421875,
            "OTHER_GROUPS": 0.09375,
        }
    )


def test_etl_critical_plan_leaves_a_quarter_of_a_percent_unallocated() -> None:
    figures = shares("ETL_CRITICAL_PLAN", ETL_CRITICAL_PLAN)
    assert list(percents(figures).values()) == pytest.approx([75, 8.75, 2.5, 8.75, 2.5, 0.75, 0.75, 0.75])
    assert 100 * figures.unallocated == pytest.approx(0.25)


def test_a_subplan_divides_what_its_parent_was_given() -> None:
    figures = percents(shares("MYDB_PLAN", MYDB_PLAN))
    assert figures == pytest.approx(
        {"POSTMAN_GROUP": 12, "USERS_GROUP": 14.4, "MAIL_MAINT_GROUP": 3.6, "ONLINE_GROUP": 70}
    )


def test_ratio_plans_divide_by_weight() -> None:
    rows = [
        directive("P", "GOLD", 10),
        directive("P", "SILVER", 5),
        directive("P", "BRONZE", 2),
        directive("P", "OTHER", 1),
    ]
    figures = shares("P", rows, method="RATIO")
    assert percents(figures) == pytest.approx(
        {"GOLD": 1000 / 18, "SILVER": 500 / 18, "BRONZE": 200 / 18, "OTHER": 100 / 18}
    )
    now = figures.entitled(greedy("SILVER", "OTHER"))
    assert now == pytest.approx({(0, "SILVER"): 5 / 6, (0, "OTHER"): 1 / 6})


def test_the_plan_of_a_pluggable_database_holds_shares_whatever_its_method() -> None:
    rows = [directive("P", "A", 3), directive("P", "B", 1)]
    assert percents(shares("P", rows, con_id=3)) == pytest.approx({"A": 75, "B": 25})
    assert percents(shares("P", rows, con_id=0)) == pytest.approx({"A": 3, "B": 1})


def test_pending_and_legacy_directives_do_not_count() -> None:
    rows = [directive("P", "A", 60), directive("P", "B", 40), directive("P", "A", 10, status="PENDING")]
    rows += [directive("P", "C", 0, 100, status="LEGACY")]
    assert percents(shares("P", rows)) == pytest.approx({"A": 60, "B": 40})


def test_a_plan_with_only_legacy_directives_is_read_from_them() -> None:
    """The Reference describes legacy directives as those that an import replaced; alone they are the plan."""
    rows = [directive("P", "A", 60, status="LEGACY"), directive("P", "B", 40, status="LEGACY")]
    rows += [directive("P", "A", 10, status="PENDING")]
    assert percents(shares("P", rows)) == pytest.approx({"A": 60, "B": 40})


def test_the_method_of_a_plan_is_that_of_the_one_in_force() -> None:
    now, before = row(Plan, plan="P", mgmt_method="RATIO"), row(Plan, plan="P", mgmt_method="EMPHASIS", status="LEGACY")
    for plans in ((now, before), (before, now)):
        assert PlanBook.read(plans, []).methods == {"P": "RATIO"}


def test_limits_multiply_along_the_tree() -> None:
    rows = [
        directive("P", "SUB", 50, type="PLAN", utilization_limit=40),
        directive("SUB", "A", 50, utilization_limit=90),
        directive("SUB", "B", 30, utilization_limit=50),
        directive("SUB", "C", 20),
    ]
    limits = shares("P", rows).limits
    assert limits == pytest.approx({(0, "A"): 0.36, (0, "B"): 0.20, (0, "C"): 0.40})


def test_utilization_limit_caps_servers_unless_the_server_limit_overrides_it() -> None:
    rows = [
        directive("P", "A", 50, utilization_limit=25),
        directive("P", "B", 30, utilization_limit=25, parallel_server_limit=80),
        directive("P", "C", 20),
    ]
    assert shares("P", rows).servers == pytest.approx({(0, "A"): 0.25, (0, "B"): 0.80})


def test_what_a_group_does_not_use_goes_to_the_next_level_not_to_its_siblings() -> None:
    figures = shares("DSS_PLAN", DSS_PLAN)
    now = figures.entitled(greedy("ORA$DIAGNOSTICS", "DSS_GROUP"))
    # Diagnostics gets 5 % of all; DSS 75 % of the other 95 %; the rest is divided in proportion.
    assert now[0, "ORA$DIAGNOSTICS"] == pytest.approx(0.05 / (0.05 + 0.7125))
    assert now[0, "DSS_GROUP"] == pytest.approx(0.7125 / (0.05 + 0.7125))


def test_one_group_alone_may_claim_everything_up_to_its_limit() -> None:
    assert shares("DSS_PLAN", DSS_PLAN).entitled(greedy("OTHER_GROUPS")) == pytest.approx({(0, "OTHER_GROUPS"): 1.0})
    rows = [directive("P", "A", 90, utilization_limit=20), directive("P", "B", 10)]
    figures = shares("P", rows)
    assert figures.entitled(greedy("A")) == pytest.approx({(0, "A"): 0.2})
    assert figures.entitled(greedy("A", "B")) == pytest.approx({(0, "A"): 0.2, (0, "B"): 0.8})


def test_a_group_in_two_subplans_has_both_shares() -> None:
    rows = [
        directive("P", "X", 60, type="PLAN"),
        directive("P", "Y", 40, type="PLAN"),
        directive("X", "A", 50),
        directive("X", "B", 50),
        directive("Y", "A", 100),
    ]
    assert percents(shares("P", rows)) == pytest.approx({"A": 70, "B": 30})


LIMITED = directive("P", "X", 60, type="PLAN", utilization_limit=25)


@pytest.mark.parametrize(
    ("above", "inside", "servers", "is_clear"),
    [
        ((LIMITED,), (directive("X", "A", 50),), None, False),
        ((LIMITED,), (directive("X", "A", 50, utilization_limit=50),), None, False),
        ((LIMITED,), (directive("X", "A", 50, parallel_server_limit=50),), 0.5, True),  # for servers this replaces it
        ((LIMITED,), (directive("X", "W", 50, type="PLAN"), directive("W", "A", 50)), None, False),
        ((directive("P", "X", 60, type="PLAN"),), (directive("X", "A", 50, utilization_limit=50),), 0.5, True),
    ],
)
def test_what_the_limit_of_a_subplan_means_for_servers_is_not_known(
    above: tuple[PlanDirective, ...], inside: tuple[PlanDirective, ...], servers: float | None, is_clear: bool
) -> None:
    found = shares("P", [*above, *inside])
    assert (found.servers.get((0, "A")), (0, "A") not in found.unclear) == (servers, is_clear)


@pytest.mark.parametrize("limit", ["parallel_server_limit", "utilization_limit"])
def test_limits_of_servers_in_two_subplans_are_not_added_up(limit: str) -> None:
    rows = [directive("P", name, 50, type="PLAN") for name in "XY"]
    found = shares("P", [*rows, directive("X", "A", 50, **{limit: 25}), directive("Y", "A", 50, **{limit: 75})])
    assert (found.servers, found.unclear.keys()) == ({}, {(0, "A")})
    assert shares("P", [*rows, directive("X", "A", 50), directive("Y", "A", 50)]).unclear == {}, "it has no limit"


def test_no_limit_of_cpu_is_known_to_be_used_up_by_a_group_in_two_subplans() -> None:
    rows = [directive("P", name, 50, type="PLAN", utilization_limit=80) for name in "XY"]
    rows += [directive("X", "A", 50, utilization_limit=25), directive("Y", "A", 50, utilization_limit=50)]
    assert shares("P", rows).caps == ()
    assert [cap.keys for cap in shares("P", [*rows[:3], directive("Y", "B", 50)]).caps] == [
        {(0, "A")}, {(0, "A")}, {(0, "B")},
    ]  # fmt: skip


def test_plans_that_name_each_other_end() -> None:
    rows = [directive("P", "Q", 50, type="PLAN"), directive("Q", "P", 50, type="PLAN"), directive("Q", "A", 50)]
    assert percents(shares("P", rows))["A"] == pytest.approx(25)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("DAYTIME", "DAYTIME"),
        ("FORCE:DAYTIME", "DAYTIME"),
        ("SCHEDULER[0x4D2F]:DEFAULT_MAINTENANCE_PLAN", "DEFAULT_MAINTENANCE_PLAN"),
        ("FORCE:SCHEDULER[0x1]:P", "P"),
        ("ODD:NAME", "ODD:NAME"),
        ("", ""),
    ],
)
def test_plan_names_lose_their_prefix(text: str, name: str) -> None:
    assert plan_name(text) == name


@st.composite
def plans(draw: st.DrawFn) -> list[PlanDirective]:
    """A plan of up to three tiers, each within 100 % at every level."""
    rows: list[PlanDirective] = []
    plan_names = ["P", "SUB", "DEEP"][: draw(st.integers(1, 3))]
    for depth, plan in enumerate(plan_names):
        number = draw(st.integers(1, 5))
        left = [100] * LEVELS
        for index in range(number):
            parts = []
            for level in range(LEVELS):
                part = draw(st.integers(0, left[level])) if draw(st.booleans()) else 0
                left[level] -= part
                parts.append(part)
            rows.append(
                directive(plan, f"{plan}_{index}", *parts, utilization_limit=draw(st.none() | st.integers(1, 100)))
            )
        if depth + 1 < len(plan_names):
            rows.append(directive(plan, plan_names[depth + 1], draw(st.integers(0, left[0])), type="PLAN"))
    return rows


@given(plans(), st.sampled_from(["EMPHASIS", "RATIO"]))
def test_shares_and_the_unallocated_rest_make_the_whole(rows: list[PlanDirective], method: str) -> None:
    figures = shares("P", rows, method=method)
    assert sum(figures.shares.values()) + figures.unallocated == pytest.approx(1.0)
    assert all(share >= 0 for share in figures.shares.values())


@given(plans(), st.randoms())
def test_the_order_of_rows_does_not_matter(rows: list[PlanDirective], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    before, after = shares("P", rows), shares("P", shuffled)
    assert dict(after.shares) == pytest.approx(dict(before.shares))
    everyone = dict.fromkeys(before.shares, 1.0)
    assert after.entitled(everyone) == pytest.approx(before.entitled(everyone))


@given(plans(), st.data())
def test_a_greater_allocation_never_gives_less(rows: list[PlanDirective], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(rows) - 1))
    level = data.draw(st.integers(1, LEVELS))
    chosen = rows[index]
    part = f"mgmt_p{level}"
    used = sum(getattr(each, part) for each in rows if each.plan == chosen.plan)
    more = getattr(chosen, part) + data.draw(st.integers(0, 100 - used))
    raised = [*rows[:index], chosen._replace(**{part: more}), *rows[index + 1 :]]
    before, after = shares("P", rows), shares("P", raised)
    key = (0, chosen.group_or_subplan)
    if key in before.shares:
        assert after.shares[key] >= before.shares[key] - 1e-12


@st.composite
def wants(draw: st.DrawFn, figures: PlanShares) -> dict[tuple[int, str], float]:
    """What some groups of a plan want, as fractions of the whole."""
    groups = draw(st.sets(st.sampled_from(sorted(figures.shares)))) if figures.shares else set()
    return {key: draw(st.floats(0.001, 2.0)) for key in sorted(groups)}


@given(plans(), st.data())
def test_claims_stay_within_the_whole_and_the_limits(rows: list[PlanDirective], data: st.DataObject) -> None:
    figures = shares("P", rows)
    wanted = data.draw(wants(figures))
    claims = figures.entitled(wanted)
    assert set(claims) == set(wanted)
    handed = {key: min(claim, wanted[key]) for key, claim in claims.items()}
    assert sum(handed.values()) <= 1 + 1e-9
    for key, claim in claims.items():
        assert -1e-9 <= claim <= max(figures.limits.get(key, 1.0), 0.0) + 1e-9
    if not any(row.utilization_limit is not None for row in rows):
        assert sum(handed.values()) == pytest.approx(min(1.0, sum(wanted.values())))
        for key, amount in handed.items():
            assert amount >= min(wanted[key], figures.shares[key]) - 1e-9, "never less than what it is guaranteed"


@given(plans(), st.data())
def test_a_group_that_wakes_up_takes_no_more_than_it_wants(rows: list[PlanDirective], data: st.DataObject) -> None:
    figures = shares("P", rows)
    before = data.draw(wants(figures))
    idle = sorted(set(figures.shares) - set(before))
    if not idle:
        return
    woken = data.draw(st.sampled_from(idle))
    after = before | {woken: 0.01}
    handed, then = figures.entitled(before), figures.entitled(after)
    lost = sum(min(handed[key], want) - min(then[key], want) for key, want in before.items())
    assert lost <= 0.01 + 1e-9


@given(st.lists(st.tuples(st.integers(1, 40), st.floats(0.001, 1.5)), min_size=1, max_size=8))
def test_weights_are_handed_out_as_the_scheduler_does_slice_by_slice(parts: list[tuple[int, float]]) -> None:
    figures = shares("P", [directive("P", f"G{i}", weight) for i, (weight, _) in enumerate(parts)], method="RATIO")
    wanted = {(0, f"G{i}"): want for i, (_, want) in enumerate(parts)}
    total = sum(weight for weight, _ in parts)
    nodes = [Node(f"G{i}", (weight / total,) + (0.0,) * 7) for i, (weight, _) in enumerate(parts)]
    truth = fill(nodes, [want for _, want in parts], 1.0)
    claims = figures.entitled(wanted)
    for (key, want), amount in zip(wanted.items(), truth, strict=True):
        assert min(claims[key], want) == pytest.approx(amount, abs=1e-6)


def test_unused_cpu_of_a_level_goes_to_the_next() -> None:
    rows = [directive("P", "TOP", 100), directive("P", "MIDDLE", 0, 100), directive("P", "LOW", 0, 0, 100)]
    now = shares("P", rows).entitled({(0, "TOP"): 0.1, (0, "MIDDLE"): 0.3, (0, "LOW"): 2.0})
    # TOP and MIDDLE have what they want and may claim all they are guaranteed; LOW is due the other 60 %.
    assert now == pytest.approx({(0, "TOP"): 1.0, (0, "MIDDLE"): 0.3, (0, "LOW"): 0.6})


@pytest.mark.parametrize(
    ("method", "parts", "doubt"),
    [
        ("EMPHASIS", (4, 2, 1, 1), "its method is EMPHASIS, but its only level adds up to 8"),
        ("EMPHASIS", (40, 30), ""),
        ("RATIO", (4, 2, 1, 1), ""),
        ("", (12, 8, 4, 2, 1), "its method is not known, and its only level adds up to 27"),
        ("", (60, 40), ""),
    ],
)
def test_shares_under_a_method_of_percentages_are_doubted(method: str, parts: tuple[int, ...], doubt: str) -> None:
    rows = [directive("P", f"G{i}", part) for i, part in enumerate(parts)]
    assert PlanBook.read([row(Plan, plan="P", mgmt_method=method)], rows).doubt("P", 0) == doubt
    assert PlanBook.read([row(Plan, plan="P", mgmt_method=method)], rows).doubt("P", 3) == "", "a PDB's plan has shares"


def test_shares_with_levels_below_are_doubted_too() -> None:
    rows = [directive("P", "A", 4), directive("P", "B", 2, 50)]
    book = PlanBook.read([row(Plan, plan="P", mgmt_method="RATIO")], rows)
    assert book.doubt("P", 0) == "its method is RATIO, which divides by shares, but it has levels below the first"


def test_before_12_a_cpu_limit_does_not_limit_servers() -> None:
    rows = [directive("P", "A", 50, utilization_limit=40), directive("P", "B", 50, parallel_server_limit=30)]
    assert PlanBook.read([], rows).shares("P").servers == pytest.approx({(0, "A"): 0.4, (0, "B"): 0.3})
    assert PlanBook.read([], rows, cpu_limits_servers=False).shares("P").servers == pytest.approx({(0, "B"): 0.3})


def test_the_release_says_which_it_is() -> None:
    rows = [instance(), active_plan("P"), directive("P", "A", 50, utilization_limit=25)]
    limits = [
        next(each.servers_limit for each in analyse(None, snapshot(*rows, release=release)).groups if each.name == "A")
        for release in (Release(11, 2), Release(12, 1))
    ]
    assert limits == [None, 32]


@pytest.mark.parametrize("level", PlanDirective._fields[4:13])
def test_a_level_below_the_first_is_any_of_seven_and_no_other_column(level: str) -> None:
    book = PlanBook.read([row(Plan, plan="P", mgmt_method="RATIO")], [directive("P", "A", **{level: 5})])
    assert ("levels below the first" in book.doubt("P", 0)) == (level not in {"mgmt_p1", "utilization_limit"})
    of_percent = PlanBook.read([row(Plan, plan="P", mgmt_method="EMPHASIS")], [directive("P", "A", **{level: 5})])
    assert of_percent.by_weight("P", 3) == (level in {"mgmt_p1", "utilization_limit"}), "a PDB's plan has one level"
