"""What a group does not count of its statements' servers, and that it is told wherever both numbers can be seen."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from presman.analysis.alerts.queue_alerts import idle_holders
from presman.analysis.parallel.counted_servers import GroupHoldings, holdings
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import RunningStatement
from presman.figures.drawing.lines import plain
from presman.tui.pages.row_details import group as page
from tests.tui.drive import acted
from tests.tui.readings import busy, group, running
from tests.tui.test_live import playing

MARTIN = running(526, idle=560.0, servers=16, status="INACTIVE")


def batch(*others: RunningStatement, counted: int | None) -> Reading:
    """MARTIN idles in BATCH, which counts so many servers."""
    return replace(busy(), running=(MARTIN, *others), groups=(group("BATCH", px_servers=counted),))


@pytest.mark.parametrize(
    ("others", "counted", "told"),
    [
        ((32,), 32, "; MARTIN 1:526 did not queue, so BATCH does not count its servers"),
        ((16, 32), 48, "; BATCH does not count 16 of the 64 held (statements that did not queue), perhaps these"),
        ((16, 32), 64, ""),
        ((8, 32), 48, ""),  # it is the 8 that did not queue
        ((32,), None, ""),  # what the group counts could not be read
    ],
)
def test_the_alert_of_an_idle_holder_says_why_his_servers_do_not_count(
    others: tuple[int, ...], counted: int | None, told: str
) -> None:
    beside = [running(144 + index, servers=servers) for index, servers in enumerate(others)]
    (found,) = idle_holders(batch(*beside, counted=counted))
    assert found.text == f"1 idle holder keeps 16 servers: MARTIN 1:526,60805 (16, idle 9:20){told}"
    assert found.short == "1 idle holder keeps 16 servers"


def test_servers_of_another_containers_group_of_that_name_are_not_added() -> None:
    reading = batch(running(7, con_id=4, container="HR", servers=32), counted=0)
    assert holdings(reading, 0, "BATCH") == GroupHoldings(16, 16)
    text = "\n".join(plain(line) for line in page(reading.groups[0], reading))
    assert " 16 servers, MARTIN" in text
    assert " 1:7," not in text


@acted
async def test_a_page_and_a_list_that_show_more_servers_than_the_group_counts_say_so() -> None:
    async with playing("storm", (80, 40)) as (acting, polls):
        await polls(2)
        assert " not counted     16 more servers (statements that did not queue)" in await acting.press("d")
        await acting.keys("escape")
        assert "running on 80 servers, 16 of them not counted (did not queue)" in " ".join(
            (await acting.press("enter")).split()
        )
