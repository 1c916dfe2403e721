"""A head that had room at the poll before and is still queued: from two snapshots, by hand."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis import analyse
from presman.analysis.facts.facts import Facts
from presman.analysis.parallel.queue_heads import passed_over
from presman.analysis.parallel.server_pools import ServerBudget, ServerLimit
from presman.analysis.readings.statement_readings import Servers
from tests.analysis.make import active_plan, group, instance, queued_session, snapshot

QUEUED = queued_session(7, "ETL", 10.0)
HELD = [group("ETL", current_pq_servers_active=20), group("BATCH", current_pq_servers_active=30),
        group("ETL", con_id=4, current_pq_servers_active=50)]  # fmt: skip
LIMIT = ServerLimit("ETL", 20, 32, "", 0, "ETL")


def over(*limits: ServerLimit, wants: int = 12, then: int = 24, contested: bool = False, before: Any = QUEUED) -> bool:
    """The target is 64, of which 24 were in use before, and so many are now."""
    rows = [instance(), *HELD, *([] if before is None else [before])]
    old = snapshot(active_plan(active=then, target=64), *rows)
    now = snapshot(instance(), active_plan(active=24, target=64), *HELD, QUEUED, after=2.0, number=2)
    (head,) = analyse(None, now).queue
    asked = replace(head, wants=Servers(1, wants))
    return passed_over(Facts.of(old, now), asked, ServerBudget(24, 64), limits, contested=contested)


@pytest.mark.parametrize(
    ("limits", "wants", "is_over"),
    [
        ([], 40, True),  # 24 of 64 were in use
        ([], 41, False),
        ([LIMIT], 12, True),  # ETL held 20 of 32
        ([LIMIT], 13, False),
        ([ServerLimit("C", 50, 62, con_id=0)], 12, True),  # its container held 50 of 62; another holds 50, too
        ([ServerLimit("C", 50, 62, con_id=0)], 13, False),
        ([ServerLimit("C", 50, 62, con_id=4)], 12, True),
        ([ServerLimit("C", 50, 62, con_id=4)], 13, False),
        ([LIMIT, ServerLimit("C", 50, 55, con_id=0)], 6, False),  # the tighter of the two
    ],
)
def test_the_room_before_is_that_below_every_limit(limits: list[ServerLimit], wants: int, is_over: bool) -> None:
    assert over(*limits, wants=wants) is is_over


def test_where_others_may_be_chosen_the_counts_must_be_the_same() -> None:
    assert over(LIMIT, contested=True)
    assert not over(LIMIT, contested=True, then=23)
    assert not over(LIMIT._replace(held=19), contested=True)
    assert over(LIMIT._replace(held=19), then=23)


def test_only_the_same_statement_in_the_queue_can_have_been_passed_over() -> None:
    assert not over(before=None)
    assert not over(before=QUEUED._replace(sql_id="another"))
    assert not over(before=QUEUED._replace(event="on its way", wait_time_micro=0))
    assert not over(before=QUEUED._replace(serial=1))
