from __future__ import annotations

from pathlib import Path
from unittest import mock

from presman.forecast.forecaster import Forecaster
from tests.cli.run import Run


def test_watch_describes_alerts_and_ends(inside: Run) -> None:
    done = inside("watch", "demo:storm?speed=60", "--polls", "2", "--refresh", "0.5", "--plain")
    assert done.returncode == 0
    lines = [line[10:] for line in done.stdout.splitlines()]
    assert lines[0].startswith("watching DWPROD 19.22")
    assert any(line.startswith("critical: BATCH: ") and ", together " in line for line in lines)
    assert any(line.startswith("do: ") for line in lines)
    assert any(line.startswith("now: ") for line in lines)
    assert done.stdout.isascii()


def test_watch_uses_forecasts_as_the_monitor_does(inside: Run) -> None:
    with mock.patch.object(Forecaster, "read", autospec=True, side_effect=lambda _, reading, *_more: reading) as read:
        inside("watch", "demo:quiet", "--polls", "1", "--refresh", "0.5")
    assert read.call_count == 2


def test_watch_reports_that_on_alert_is_not_run(inside: Run) -> None:
    Path("config.ini").write_text("[x]\nconnection_string = demo:quiet\non_alert = /bin/false\n")
    errors = [
        inside("--config", "config.ini", "watch", name, "--polls", "1", "--refresh", "0.5").stderr
        for name in ("x", "demo:quiet")
    ]
    assert ["on_alert is not run here" in each for each in errors] == [True, False]
