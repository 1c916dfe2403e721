"""The benchmarks run: nobody starts them often enough to notice that a name in them has moved."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.report import Report
from benchmarks.trace import traces

MODULES = sorted(path.stem for path in (Path(__file__).parents[1] / "benchmarks").glob("[a-z]*.py"))


@pytest.mark.parametrize("name", [name for name in MODULES if name != "bare_app"])
def test_a_benchmark_finds_what_it_measures(name: str) -> None:
    import_module(f"benchmarks.{name}")


def test_what_runs_outside_of_this_process_is_found_too(capsys: pytest.CaptureFixture[str]) -> None:
    traces(Report(), megabytes=1, runs=1)
    assert "against awk" in capsys.readouterr().out
