"""Databases of a fleet for tests, one in each state."""

from __future__ import annotations

from typing import Any

from presman.analysis.fleet import ConnectionState, KeyFigures, Member, Past


def key_figures(**facts: Any) -> KeyFigures:
    base: dict[str, Any] = {
        "database": "DWH", "plan": "DAY", "used": 6.0, "waiting": 2.0, "capacity": 8.0, "queued": 0,
        "head_waited": None, "servers_in_use": 12, "servers_target": 64, "alerts": 0, "severity": "good", "worst": "",
    }  # fmt: skip
    return KeyFigures(**(base | facts))


def live(name: str, **facts: Any) -> Member:
    past = Past((10.0, 40.0, None, 75.0), (0.0, 2.0, 4.0, 1.0))
    return Member(name, ConnectionState.LIVE, key_figures(**facts), age=3.0, past=past)


def every_state() -> list[Member]:
    hurt = "BATCH: 27 queued, head 4:24, timeout in 0:40"
    return [
        live("prod-web"),
        live("prod-dwh", alerts=3, severity="bad", worst=hurt, queued=27, head_waited=264.0, servers_in_use=64),
        live("prod-erp", alerts=1, severity="warn", worst="ETL starved 0.6 of 2.4 CPUs"),
        Member("test-late", ConnectionState.LATE, key_figures(), age=17.0),
        Member("test-lost", ConnectionState.LOST, age=42.0, since=31.0, reason="ORA-12541: no listener", retry_in=4.4),
        Member("test-wrong", ConnectionState.REFUSED, since=60.0, reason="ORA-01017: invalid username/password"),
        Member("test-new", ConnectionState.STARTING, since=1.0),
        Member("test-over", ConnectionState.STOPPED, age=7200.0, since=7190.0, reason="its recorder was stopped"),
    ]
