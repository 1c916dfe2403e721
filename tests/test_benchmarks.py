"""The benchmarks still run: they are started too rarely to notice a renamed function otherwise."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
from psutil import Process

from benchmarks.forecast import HOURS, OWN, Forecasted, Scored
from benchmarks.report import Report
from benchmarks.terminal import cpu_of
from benchmarks.trace import traces
from benchmarks.watched_fleet import a_day
from presman.analysis.readings.statement_readings import StartForecast
from presman.sources.simulator.loading import load_scenario

MODULES = sorted(path.stem for path in (Path(__file__).parents[1] / "benchmarks").glob("[a-z]*.py"))


@pytest.mark.parametrize("name", [name for name in MODULES if name != "bare_app"])
def test_a_benchmark_finds_what_it_measures(name: str) -> None:
    import_module(f"benchmarks.{name}")


def test_other_processes_are_measured_too(capsys: pytest.CaptureFixture[str]) -> None:
    traces(Report(), megabytes=1, runs=1)
    assert "against awk" in capsys.readouterr().out


def test_a_day_of_a_fleet_passes_as_fast_as_its_polls_are_made(capsys: pytest.CaptureFixture[str]) -> None:
    a_day(Report(), 20)
    assert "after 20 polls of 2 databases" in capsys.readouterr().out


def test_a_forecast_counts_in_the_hour_in_which_it_was_made() -> None:
    forecasts = [Forecasted(StartForecast(60.0, 30.0, 90.0), 60.0, 0.0, 0.0, hour) for hour in (0, 2, 2)]
    found = Scored(forecasts, Counter({0: 4, 2: 5}), 2160, 1.0)
    assert [len(found.of_hour(hour).forecasts) for hour in range(3)] == [1, 0, 2]
    assert [found.of_hour(hour).statements.total() for hour in range(3)] == [4, 0, 5]


def test_the_load_that_drifts_does_so_over_more_hours_than_one() -> None:
    streams = load_scenario(OWN["drift"]).streams
    assert min(each.wave.period for each in streams if each.wave.depth) > 3600 * HOURS["drift"]


def test_the_cpu_of_a_process_is_counted_finer_than_in_hundredths() -> None:
    process, begun = Process(), cpu_of(Process())
    while (used := cpu_of(process) - begun) == 0:
        pass

    assert used < 0.01
