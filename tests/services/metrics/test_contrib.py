"""Contributed files (contrib/): every metric in a dashboard or rule exists."""

from __future__ import annotations

import json

from presman.figures.metric import MetricKind
from presman.services.metrics.metric_page import METRICS
from tests.contrib import DASHBOARD, RULES, named, panels, recorded, texts


def known() -> set[str]:
    """Return every name that a series can have."""
    histograms = {name for name, metric in METRICS.items() if metric.kind is MetricKind.HISTOGRAM}
    parts = {f"{name}_{part}" for name in histograms for part in ("bucket", "sum", "count")}
    return (METRICS.keys() - histograms) | parts | recorded() | {"presman_build_info"}


def test_every_named_metric_exists() -> None:
    assert {name for text in texts() for name in named(text)} <= known()


def test_every_recorded_rule_is_used() -> None:
    text = RULES.read_text(encoding="utf-8") + DASHBOARD.read_text(encoding="utf-8")
    once = {name for name in recorded() if text.count(name) < 2}
    assert once <= {"target_group:presman_group_io_bytes:rate5m", "target_group:presman_group_px_statements_queued:sum"}


def test_the_dashboard_asks_the_source_and_the_databases_that_are_chosen() -> None:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    assert {each["name"] for each in dashboard["templating"]["list"]} == {"datasource", "target"}
    for panel in dashboard["panels"]:
        assert panel.get("datasource", {"uid": "${datasource}"})["uid"] == "${datasource}"
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    assert len(panels()) > 20
