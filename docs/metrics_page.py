"""Page of the metrics of `presman metrics`, generated from their definition."""

from __future__ import annotations

from typing import Any

from docs.markdown import page, rows
from presman.figures.metric import Metric, Subject
from presman.services.metrics.metric_page import LABEL, SUBJECTS


def metrics_page() -> str:
    """Return the page of metrics."""
    parts = [
        "What `presman metrics` offers to Prometheus and OpenTelemetry. Every series has the label "
        f"`{LABEL}`, too, which tells databases apart; labels that say nothing are left out.",
    ]
    for subject in SUBJECTS:
        parts += [f"## {subject.title}" + labels(subject), metrics(subject)]
    return page(
        "Oracle metrics for Prometheus and OpenTelemetry",
        "Every metric of presman metrics on Oracle Resource Manager: name, type, labels, unit, view and formula.",
        "Metrics",
        *parts,
    )


def labels(subject: Subject[Any]) -> str:
    """Return the labels that distinguish the series of a subject."""
    names = [f"`{name}`" for name in subject.labels]
    return f" (labels {', '.join(names)})" if names else ""


def metrics(subject: Subject[Any]) -> str:
    """Return the metrics of a subject, each once."""
    first = {metric.name: metric for metric in reversed(subject.metrics)}
    names = dict.fromkeys(metric.name for metric in subject.metrics)
    cells = ((f"`{name}`{extra(first[name])}", first[name].kind.value, first[name].help) for name in names)
    return rows(("metric", "type", "what it is"), cells)


def extra(metric: Metric[Any]) -> str:
    """Return the labels of a metric that its subject does not have."""
    return "".join(f" `{name}`" for name in (*metric.labels, *metric.words))
