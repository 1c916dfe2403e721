from __future__ import annotations

import pytest
from msgspec.structs import replace

from presman.analysis.readings.forecast_readings import ForecastRecord, QueueForecast
from presman.analysis.readings.statement_readings import StartForecast
from presman.analysis.readings.wait_readings import Bucket, EventWaits, Histogram
from presman.analysis.trends import Watch
from presman.base.formats import clock
from presman.figures.drawing.lines import ascii_only, cells
from presman.figures.group_figures import CPU, OVERVIEW
from presman.output.cells import table
from presman.output.text_report import _tables, brief, full
from tests.output.readings import group, on_two_instances, queued, reading
from tests.tui.readings import busy


def test_full_text_has_every_part() -> None:
    text = full(reading())
    for part in ("ORCL", "DAYTIME", "BATCH is short by 16.", "GV$OSSTAT: ORA-00942", "7xq3h0000kd0", "4dz3dapm4uy8q"):
        assert part in text


@pytest.mark.parametrize(("cpus", "expected"), [(8.0, "CPU ON of 8  caging"), (None, "CPU ON of -  caging")])
def test_the_cpus_that_the_plan_divides_are_shown_if_known(cpus: float | None, expected: str) -> None:
    header = replace(reading().header, num_cpus=cpus, cpu_managed="ON")
    assert expected in full(replace(reading(), header=header))


def test_latencies_of_the_last_interval_and_since_startup() -> None:
    buckets = (Bucket(512, 1_000, 6), Bucket(1024, 999, 2), Bucket(2048, 1, 0))
    found = Histogram(1, "log file sync", buckets, 60.0, "Commit", EventWaits(2_000, 800_000), EventWaits(8, 4_000))
    text = full(replace(reading(), histograms=(found,)))
    now, startup = (line.split() for line in text.splitlines() if line.startswith("log file sync ") and "ms" in line)
    assert now[3:] == [
        "now:",
        "60.0",
        "s",
        "8",
        "0.500",
        "0.480",
        "<512µs",
        "<1.0ms",
        "<1.0ms",
        "<1.0ms",
        *["100.0000"] * 3,
    ]
    assert startup[-10:] == [
        "2,000", "0.400", "0.576", "<512µs", "<1.0ms", "<1.0ms", "<2.0ms", "99.9500", "100.0000", "100.0000"
    ]  # fmt: skip


@pytest.mark.parametrize("width", [1, 8, 20, 40, 80, 120, 200, 500])
def test_no_line_is_wider_than_asked(width: int) -> None:
    for text in (full(reading(), width), brief(on_two_instances(), width)):
        assert max(cells(line) for line in text.splitlines()) <= max(width, 8)


def test_eighty_columns_keep_name_use_state_and_servers() -> None:
    lines = brief(reading(), 80).splitlines()
    heads = [OVERVIEW.column(key).head for key in ("consumer_group", "used_cpus", "state", "px_servers_active")]
    assert any(all(head in line for head in heads) for line in lines)


def test_the_accuracy_of_forecasts_is_shown_only_below_forecasts() -> None:
    plain = reading()
    starts = {row.executing(): StartForecast(130.0, 100.0, 210.0) for row in plain.queue}
    forecast = plain.with_forecast(starts, QueueForecast(ForecastRecord(50, 41, 22.0)))
    assert "41 of 50 started in the range forecast" in full(forecast)
    assert forecast.forecast is not None
    since = replace(forecast.forecast, judged_since=plain.at)
    assert f"41 of 50 started in the range forecast, half within 0:22 of its middle, since {clock(plain.at)}" in full(
        replace(forecast, forecast=since)
    )
    few = plain.with_forecast(starts, QueueForecast(ForecastRecord(1, 0, 300.0)))
    assert "0 of 1 started in the range forecast: too few to judge forecasts by" in full(few)
    assert "half within 5:00" not in full(few)
    assert "Starts in" not in full(forecast, 80)
    assert "started in the range forecast" not in full(forecast, 80)


def test_columns_are_aligned() -> None:
    lines = table(OVERVIEW.columns, [group("A"), group("LONGER_NAME", used=12.25)])
    places = {line.index("1 queued") for line in lines[1:]}
    assert len(places) == 1


def test_the_only_instance_is_not_named() -> None:
    assert "Inst" not in table(CPU.columns, [group("A"), group("B")])[0]
    assert "Inst" in table(CPU.columns, [group("A", 1), group("A", 2)])[0]


def test_ascii_keeps_the_layout() -> None:
    text = full(reading(queue=[queued(sql_text="select 'ü漢' from dual")]))
    plain = ascii_only(text)
    assert plain.isascii()
    assert [len(line) for line in plain.splitlines()] == [cells(line) for line in text.splitlines()]
    assert "#" in plain


def test_a_text_has_every_statement_of_the_queue() -> None:
    """Identical ones are one row only where they can be unfolded."""
    found = busy()
    alike = replace(found, queue=tuple(replace(each, sql_id="a", user="U", group="BATCH") for each in found.queue))
    queues = [rows for part, rows, _ in _tables(alike, None, Watch()) if part.table.title == "Queued"]
    assert [len(rows) for rows in queues] == [14]
