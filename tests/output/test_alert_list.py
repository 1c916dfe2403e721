"""The list of rules: severity, settings and state of each."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from presman.analysis.alerts.alert_settings import AlertSetting
from presman.analysis.alerts.not_known import unavailable
from presman.output.alert_list import listed
from tests.tui.readings import busy

OFF, CRITICAL = (AlertSetting("queue_waits", subject, severity=word) for subject, word in (("ETL", "off"), ("", "bad")))


@pytest.mark.parametrize(
    ("key", "settings", "usual"),
    [
        ("queue_waits", (), "warning"),
        ("queue_waits", (CRITICAL,), "critical"),
        ("queue_waits", (OFF,), "warning"),
        ("queue_waits", (OFF, CRITICAL), "critical"),
        ("queue_waits", (AlertSetting("queue_waits", warning=300.0),), "warning"),
        ("no_plan", (), "silent"),
        ("no_plan", (AlertSetting("no_plan", severity="bad"),), "critical"),
        ("latency", (AlertSetting("latency", "log file sync", warning=0.02),), "warning"),
    ],
)
def test_a_rule_has_the_severity_set_for_all_its_subjects(
    key: str, settings: tuple[AlertSetting, ...], usual: str
) -> None:
    (line,) = [line for line in listed(settings, None, ()).splitlines() if line.split()[0] == key]
    assert line.split()[1] == usual


def test_settings_are_listed_below_their_rule() -> None:
    settings = (AlertSetting("queue_waits", "ETL", 300.0, 3600.0, 60.0, 120.0),)
    lines = listed(settings, None, ()).splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("queue_waits"))
    assert lines[place + 1].strip() == "thresholds: seconds the head of the queue has waited, per group"
    assert lines[place + 2].strip() == "set: ETL: warning from 5 min, critical from 1 h, clears below 1 min, for 2 min"


def test_a_setting_without_values_is_not_known_below_its_rule() -> None:
    missing = 'latency of "log file sync": no histogram of it'
    lines = listed((AlertSetting("latency", "log file sync", warning=0.02),), busy(), (missing,)).splitlines()
    (number,) = (number for number, line in enumerate(lines) if line.strip() == f"not known: {missing}")
    rule = next(line for line in reversed(lines[:number]) if not line.startswith(" "))
    assert rule.split()[:2] == ["unknown", "latency"]


def test_a_value_missing_on_one_instance_is_unknown() -> None:
    """The CPUs of two hosts are known, those of a third are not."""
    now = busy()
    hosts = [replace(now.header.instances[0], inst_id=inst_id, host_busy=0.5) for inst_id in (1, 2)]
    known = replace(now, header=replace(now.header, instances=tuple(hosts)))
    assert "host" not in unavailable(known)
    silent = replace(hosts[0], inst_id=3, host_busy=None)
    assert "host" in unavailable(replace(known, header=replace(known.header, instances=(*hosts, silent))))
