"""Totals of a reading: what is zero and what is not known."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from presman.analysis.readings.reading import Evidence, UnavailableView
from presman.analysis.totals import totals
from tests.output.readings import group, queued, reading, running


def test_an_empty_queue_has_waited_0_s_and_an_unseen_one_is_not_known() -> None:
    found = reading()
    empty = totals(replace(found, queue=(), basis=()))
    assert (empty.queued, empty.longest) == (0, 0.0)
    two = totals(replace(found, queue=(replace(queued(), waited=10.0), replace(queued(), waited=75.0)), basis=()))
    assert (two.queued, two.longest) == (2, 75.0)
    blind = replace(found, queue=(), basis=(Evidence("queue", ("V$SESSION",), "no grant"),))
    unseen = totals(blind)
    assert (unseen.queued, unseen.longest) == (2, None), "V$RSRC_CONSUMER_GROUP counts them"
    uncounted = totals(replace(blind, groups=(group("A", px_queued=0),)))
    assert (uncounted.queued, uncounted.longest) == (None, None)


@pytest.mark.parametrize(
    ("first", "second", "used", "waiting"),
    [
        (group("A", used=2.5), group("B", used=1.0), 3.5, 3.0),
        (group("A", used=2.5), group("B", used=None), None, None),
        (group("A", used=2.5), group("B", used=1.0)._replace(doubt="impossible"), None, None),
    ],
)
def test_cpus_are_those_of_all_groups_or_not_known(
    first: object, second: object, used: float | None, waiting: float | None
) -> None:
    found = totals(reading([first, second]))  # type: ignore[list-item]
    assert (found.used, found.waiting, found.cpus) == (used, waiting, 16.0)


def test_downgrades_are_not_known_where_one_degree_is_not() -> None:
    one = running()
    for degree, requested, downgraded in ((24, 32, 1), (None, 32, None), (24, None, None), (None, None, None)):
        two = (one, replace(one, sid=1, degree=degree, requested=requested, downgraded=0.0))
        assert totals(replace(reading(), running=two)).downgraded == downgraded


def test_what_a_quiesce_holds_is_not_known_without_the_view_of_instances() -> None:
    seen = reading()
    blind = replace(seen, unseen=(UnavailableView("GV$INSTANCE", "GV$INSTANCE is not there"),))
    assert (totals(seen).held, totals(blind).held) == (0, None)
