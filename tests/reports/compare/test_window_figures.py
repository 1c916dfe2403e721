"""Window figures of groups between polls as quotients: sums over instances, and unknown values, by hand."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from math import nan
from types import SimpleNamespace
from typing import Any

import pytest

from presman.recording.window_lines import GroupLines
from presman.reports.compare.window_figures import _queued, add_groups

SECONDS = (nan, 2.0, 4.0, 2.0)
TIMES = (0.0, 2.0, 6.0, 8.0)


class Collected:
    """Collects quotients as a series does."""

    def __init__(self) -> None:
        self.found: dict[str, list[tuple[int, float, float]]] = defaultdict(list)

    def add(self, key: Any, quotients: Iterable[tuple[int, float, float]]) -> None:
        if own := list(quotients):
            self.found[f"{key.figure} of {key.subject}"] += own


def quotients(values: Mapping[tuple[str, int], tuple[float, ...]], con_id: int = 0) -> dict[str, Any]:
    lines = GroupLines(
        array("q", range(len(TIMES))), array("d", TIMES), array("d", SECONDS),
        {(figure, (inst_id, con_id, "ETL")): array("d", line) for (figure, inst_id), line in values.items()},
    )  # fmt: skip
    collected = Collected()
    add_groups(collected, lines)  # type: ignore[arg-type]
    return collected.found


def test_a_rate_is_weighted_by_its_time() -> None:
    found = quotients({("used", 1): (9.0, 1.0, nan, 3.0)})
    assert found["used CPUs of ETL"] == [(1, 2.0, 2.0), (3, 6.0, 2.0)], "before the first poll no time has passed"
    assert list(quotients({("used", 1): (9.0, 1.0, nan, 3.0)}, con_id=3)) == ["used CPUs of ETL#3"]


def test_a_figure_unknown_on_an_instance_is_unknown_for_the_cluster() -> None:
    """The second instance has no row of the group at the third poll, and a row without the figure at the last."""
    found = quotients({
        ("used", 1): (0.0, 1.0, 2.0, 3.0), ("servers", 1): (0.0, 0.0, 0.0, 0.0),
        ("used", 2): (0.0, 4.0, nan, nan), ("servers", 2): (0.0, 1.0, nan, 1.0),
    })  # fmt: skip
    assert found["used CPUs of ETL"] == [(1, 10.0, 2.0), (2, 8.0, 4.0)]
    assert found["servers in use of ETL"] == [(0, 0.0, 1.0), (1, 1.0, 1.0), (2, 0.0, 1.0), (3, 1.0, 1.0)]


def test_throttled_is_waited_divided_by_wanted() -> None:
    found = quotients({("used", 1): (1.0, 1.0, 2.0, 2.0), ("waiting", 1): (1.0, 3.0, nan, 0.0)})
    assert found["throttled % of ETL"] == [(1, 600.0, 8.0), (3, 0.0, 4.0)]


def test_service_times_are_weighted_by_requests() -> None:
    found = quotients({
        ("service", 1): (1.0, 5.0, 5.0, nan), ("requests", 1): (1.0, 100.0, 10.0, 1.0),
        ("service", 2): (nan, 2.0, nan, nan), ("requests", 2): (nan, 10.0, nan, nan),
    })  # fmt: skip
    assert sorted(found["service ms of ETL"]) == [(1, 40.0, 20.0), (1, 1000.0, 200.0), (2, 200.0, 40.0)]


@pytest.mark.parametrize(
    ("counted", "servers", "grown"),
    [
        ((5.0, 7.0, 7.0, 10.0), (0.0,) * 4, [(1, 2.0, 2.0), (2, 0.0, 4.0), (3, 3.0, 2.0)]),
        ((5.0, 7.0, 1.0, 2.0), (0.0,) * 4, [(1, 2.0, 2.0), (3, 1.0, 2.0)]),  # the counter restarted
        ((5.0, nan, 9.0, 10.0), (0.0,) * 4, [(3, 1.0, 2.0)]),  # the instance was there, the value not known
        ((5.0, nan, 9.0, 10.0), (0.0, nan, 0.0, 0.0), [(2, 4.0, 6.0), (3, 1.0, 2.0)]),  # the instance was not there
    ],
)
def test_growth_of_a_counter_and_its_hours(
    counted: tuple[float, ...], servers: tuple[float, ...], grown: list[tuple[int, float, float]]
) -> None:
    found = quotients({("ever_queued", 1): counted, ("servers", 1): servers})
    growth = [(place, value, hours * 3600) for place, value, hours in found["queued per hour of ETL"]]
    assert growth == [pytest.approx(each) for each in grown]


def test_a_counter_does_not_grow_by_new_instances() -> None:
    found = quotients({
        ("timeouts", 1): (1.0, 2.0, 3.0, 4.0), ("servers", 1): (0.0, 0.0, 0.0, 0.0),
        ("timeouts", 2): (nan, nan, 50.0, 50.0), ("servers", 2): (nan, nan, 0.0, 0.0),
    })  # fmt: skip
    assert [each[:2] for each in found["timeouts per hour of ETL"]] == [(1, 1.0), (3, 1.0)]


def test_waits_of_statements_running_at_the_first_poll_are_unknown() -> None:
    begun = datetime(2026, 3, 14, 9, tzinfo=UTC)
    first = int(begun.timestamp() * 1_000_000)
    rows = [(first - 400_000_000, "BATCH", 0.0), (first - 300_000_000, "ETL", 290.0), (first, "ETL", 0.0)]
    playback: Any = SimpleNamespace(first=begun, parts=lambda *_: [0], streamed=lambda *_: rows)
    assert _queued(playback, begun, begun) == {"ETL": [290.0, 0.0]}
