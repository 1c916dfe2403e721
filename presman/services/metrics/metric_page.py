"""Page: the metrics of all databases, each under its name once. Made of what was read last; nobody is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from presman.figures.metric import Metric, MetricSample, samples
from presman.figures.metric_figures import READING_SUBJECTS
from presman.services.metrics.observed_database import DatabaseState, ObservedDatabase
from presman.services.metrics.own_metrics import SUBJECTS, TARGET

LABEL = "target"
"""The label that tells databases apart."""

_Found = dict[str, list[MetricSample]]


class Family(NamedTuple):
    """A metric with all of its series."""

    metric: Metric[Any]
    samples: Sequence[MetricSample]


def metrics() -> Mapping[str, Metric[Any]]:
    """Return every metric by name, in the order of the page; of those of one name the first."""
    found: dict[str, Metric[Any]] = {}
    for subject in SUBJECTS:
        for metric in subject.metrics:
            found.setdefault(metric.name, metric)
    return found


METRICS = metrics()


def families(databases: Sequence[ObservedDatabase]) -> Iterator[Family]:
    """Yield the metrics that any of the databases has now."""
    parts = [_of(database.state()) for database in databases]
    for name, metric in METRICS.items():
        series = [sample for part in parts for sample in part.get(name, ())]
        if series:
            yield Family(metric, series)


def _of(state: DatabaseState) -> _Found:
    """Return the series of one database by name."""
    common = {LABEL: state.label}
    found: _Found = {}
    for metric, series in samples(TARGET, state, common):
        found.setdefault(metric.name, []).extend(series)
    if state.observation is not None:
        for subject in READING_SUBJECTS:
            for metric, series in samples(subject, state.observation, common):
                found.setdefault(metric.name, []).extend(series)
    return found
