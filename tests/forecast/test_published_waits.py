"""Ten statements of a real Autonomous Data Warehouse that had to wait, forecast ten seconds after they came.

tests/data/README.md has the source. At that moment nothing of the twenty has ended, so all that can be known of how
long they run is what was seen before. The log has no earlier run; for one stand the run times of the ten that waited.
When these start depends on the ten that ran at once, whose times are not known.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from presman.analysis.parallel.server_pools import ServerLimit
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Servers, StartForecast, WantsSource
from presman.analysis.trends.statement_runs import StatementRun
from presman.forecast.forecaster import Forecaster
from tests.forecast.test_forecaster import RULES
from tests.reports.whatif.test_published_log import LIMIT, SERVERS, TARGET, arrivals, at_once, logged
from tests.tui.readings import busy, queued, running

SQL_ID = "7xq3h000jskd0"
SUBMITTED = logged()[0].began
WAITED = [each for each in arrivals() if each.waited > 0]
MEDIUM = ServerLimit("MEDIUM", LIMIT, LIMIT, "", 0, "MEDIUM")
HOLD = RULES._replace(target=TARGET, one_queue=False, limits={(0, "MEDIUM"): (MEDIUM,)})


def earlier(began: datetime) -> list[StatementRun]:
    """The same statements half an hour before, each of which ran for as long as one of those that waited."""
    return [
        StatementRun(1, 900 + number, 7, SQL_ID, 0, "MEDIUM", "RPT", SERVERS, started=began, first_seen=began,
                     ended=began + timedelta(seconds=each.ran or 0.0))
        for number, each in enumerate(WAITED)
    ]  # fmt: skip


def reading(now: datetime) -> Reading:
    """What presman sees then: ten run, ten wait."""
    held = tuple(
        running(each.task, group="MEDIUM", sql_id=SQL_ID, servers=SERVERS, elapsed=(now - each.began).total_seconds())
        for each in at_once()
    )
    queue = tuple(
        queued(
            place, "MEDIUM", sql_id=SQL_ID, wants=Servers(SERVERS, SERVERS, WantsSource.PLAN), timeout_left=None,
            timeout_action="", waited=(now - each.at).total_seconds(),
        )
        for place, each in enumerate(WAITED, 1)
    )  # fmt: skip
    quiet = replace(busy(), groups=(), heads=())
    header = replace(quiet.header, servers=replace(quiet.header.servers, counted=None))
    return replace(quiet, at=now, header=header, queue=queue, running=held)


def forecast_of(forecaster: Forecaster) -> list[StartForecast]:
    """Forecasts of the ten that wait, in their order, ten seconds after the first of the twenty came."""
    for second in (1, 5, 10):
        found = forecaster.add(reading(SUBMITTED + timedelta(seconds=second)), lambda: HOLD)
    return [row.starts or StartForecast() for row in found.queue]


@pytest.mark.parametrize("seed", range(1, 6))
def test_ten_seconds_after_arrival_all_ten_starts_are_in_range(seed: int) -> None:
    forecaster, before = Forecaster(seed), SUBMITTED - timedelta(minutes=30)
    forecaster.begin(SUBMITTED, timedelta(hours=1), earlier(before))
    for starts, each in zip(forecast_of(forecaster), WAITED, strict=True):
        came = (each.at - SUBMITTED).total_seconds() + each.waited - 10.0
        assert starts.low is not None
        assert starts.high is not None
        assert starts.low <= came <= starts.high
        assert starts.high - starts.low < 30, "it is no wide guess"


def test_no_forecast_for_statements_never_seen_before() -> None:
    assert {starts.why_none for starts in forecast_of(Forecaster())} == {
        "a forecast needs 5 statements that have ended, and presman has seen 0"
    }
