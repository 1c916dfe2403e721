"""How the plan may affect presman's own session."""

from __future__ import annotations

from typing import Any

import pytest

from presman.base.release import Release
from presman.config.doctor import CURE, own_group
from presman.rows.group_rows import ConsumerGroupDefinition, PlanDirective, RsrcPlan
from presman.rows.session_rows import SessionInfo
from tests.sources.fakes import FakeSource, row


def lines(group: str, *directives: Any, **plan: Any) -> list[str]:
    given = {"inst_id": 1, "name": "DAY", "cpu_managed": "ON", "is_top_plan": "TRUE"} | plan
    infos = (row(SessionInfo, inst_id=1, sid=7, current_consumer_group_id=70, current_consumer_group=group),)
    source = FakeSource(
        rows={
            SessionInfo: (row(SessionInfo, inst_id=2, sid=7, current_consumer_group="ELSEWHERE"), *infos),
            RsrcPlan: (row(RsrcPlan, **given),),
            PlanDirective: directives,
            ConsumerGroupDefinition: (row(ConsumerGroupDefinition, consumer_group_id=70, consumer_group="BY_ID"),),
        }
    )
    return list(own_group(source, Release(19), 1, 7))


def directive(name: str, plan: str = "DAY", **values: Any) -> PlanDirective:
    found: PlanDirective = row(
        PlanDirective, **({"plan": plan, "group_or_subplan": name, "type": "CONSUMER_GROUP"} | values)
    )
    return found


THROTTLED = "warning: when CPU is short it may be throttled: the plan gives its group "


def test_a_group_of_the_plan_may_be_throttled() -> None:
    assert lines("LOW", directive("LOW", mgmt_p2=10, mgmt_p3=5)) == [
        "LOW under DAY", f"{THROTTLED}10 at level 2, 5 at level 3", CURE,
    ]  # fmt: skip
    assert lines("SYS_GROUP", directive("SYS_GROUP", mgmt_p1=75)) == ["SYS_GROUP under DAY"]
    assert lines("LOW", directive("LOW", mgmt_p2=10), cpu_managed="OFF") == ["LOW under DAY"]


def test_every_effect_of_the_directive_is_listed() -> None:
    found = lines(
        "LOW",
        directive("LOW", utilization_limit=40, active_sess_pool_p1=2, switch_group="CANCEL_SQL", max_idle_time=60),
    )
    assert found == [
        "LOW under DAY",
        f"{THROTTLED}no share",
        "warning: its group never gets more than 40 % of the CPU",
        "warning: its group may have 2 active sessions at once: it may be queued",
        "warning: long calls are switched: CANCEL_SQL",
        "warning: sessions idle for 60 s are ended: poll more often than that",
        CURE,
    ]


@pytest.mark.parametrize(
    "directives",
    [
        (directive("SUB", type="PLAN", mgmt_p1=50), directive("LOW", "SUB", mgmt_p1=20)),
        (directive("OTHER_GROUPS", mgmt_p1=20), directive("LOW", "ANOTHER", mgmt_p1=99)),
        (directive("LOW", mgmt_p1=20), directive("LOW", mgmt_p1=99, status="PENDING")),
    ],
    ids=["of a subplan", "not named", "not a pending one"],
)
def test_the_directive_in_force_is_found(directives: tuple[PlanDirective, ...]) -> None:
    assert lines("LOW", *directives)[1] == f"{THROTTLED}20 at level 1"


def test_plans_that_name_each_other_are_followed_once() -> None:
    circle = (directive("A", type="PLAN"), directive("B", "A", type="PLAN"), directive("A", "B", type="PLAN"),
              directive("B", "B", type="PLAN"), directive("LOW", "B", mgmt_p1=20))  # fmt: skip
    assert lines("LOW", *circle)[1] == f"{THROTTLED}20 at level 1"


def test_unknown_groups_and_plans_are_reported() -> None:
    assert lines("")[0] == "BY_ID under DAY"  # 11.2 has no names in V$RSRC_SESSION_INFO
    assert list(own_group(FakeSource(), Release(19), 1, 7)) == [
        "not known: V$RSRC_SESSION_INFO does not show presman's session"
    ]
    assert lines("LOW", inst_id=2) == ["LOW, under no plan that can be read"]
