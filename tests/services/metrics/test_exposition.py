"""Metrics page in both formats: parsers read back the written values, whatever the names."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

from presman.base.text import clean
from presman.figures.metric import Distribution
from presman.services.metrics.metric_page import Exposition
from tests.services.metrics.observed import Shown, observed, series

ACCEPTS = {
    "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5": openmetrics,
    "text/plain;version=0.0.4": plain,
    "": plain,
}
HOSTILE = 'A"B\\C{}\n=,\x1b[31m\u202e é'


def page(*databases: Shown, accept: str = "") -> str:
    body, _ = Exposition(databases).write(accept)  # type: ignore[arg-type]
    return body.decode()


def read(text: str, parse: Any) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for family in parse(text):
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in found
            found[key] = sample.value
    return found


@pytest.mark.parametrize("accept", ACCEPTS)
@pytest.mark.parametrize("scenario", ["mixed", "pdb", "rac"])
def test_the_exposition_is_read_as_written(accept: str, scenario: str) -> None:
    shown = Shown(observed(scenario))
    found = read(page(shown, accept=accept), ACCEPTS[accept])
    for (name, labels), value in series(shown).items():
        if isinstance(value, Distribution):
            assert found[f"{name}_count", labels] == value.total == found[f"{name}_bucket", labels | {("le", "+Inf")}]
            assert found[f"{name}_sum", labels] == value.sum
        else:
            assert found[name, labels] == value


def test_the_format_is_the_one_asked_for() -> None:
    kinds = [Exposition([]).write(accept)[1] for accept in ACCEPTS]
    assert [kind.split(";")[0] for kind in kinds] == ["application/openmetrics-text", "text/plain", "text/plain"]
    assert page(accept=next(iter(ACCEPTS))).endswith("# EOF\n")


@pytest.mark.parametrize("accept", ACCEPTS)
def test_a_name_is_exported_unchanged_and_breaks_no_line(accept: str) -> None:
    observation = observed("mixed")
    row = observation.reading.groups[0]
    names = [clean(HOSTILE), HOSTILE, "x" * 4000]  # also a name that was not cleaned
    shown = Shown(observation).changed(groups=tuple(row._replace(name=name) for name in names))
    found = read(page(shown, accept=accept), ACCEPTS[accept])
    exported = {dict(labels)["consumer_group"] for name, labels in found if name == "presman_group_active_sessions"}
    assert exported == set(names)


@given(st.text(max_size=30))
def test_any_name_of_a_database_can_be_read(name: str) -> None:
    text = page(Shown(None, clean(name)))
    labels = {dict(labels).get("target", "") for key, labels in read(text, plain) if key == "presman_up"}
    assert labels == {clean(name)}


def test_a_lost_database_does_not_affect_others() -> None:
    alone = page(Shown(observed("mixed"), "a"))
    both = page(Shown(None, "b"), Shown(observed("mixed"), "a"))
    assert 'presman_up{target="b"} 0.0' in both
    assert {line for line in alone.splitlines() if 'target="a"' in line} <= set(both.splitlines())
    of_b = {line.partition("{")[0] for line in both.splitlines() if 'target="b"' in line}
    assert of_b == {
        "presman_up", "presman_last_poll_timestamp_seconds", "presman_poll_interval_seconds", "presman_polls_total",
        "presman_poll_seconds_total", "presman_round_trips_total", "presman_connection_failures_total",
    }  # fmt: skip


def test_each_metric_name_appears_once_with_its_series() -> None:
    text = page(*(Shown(observed("mixed"), label) for label in "abc"))
    types = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(types) == len(set(types))


def test_presman_exports_its_own_figures() -> None:
    found = {name for name, _ in read(page(), plain)}
    assert {"presman_build_info", "process_cpu_seconds_total", "process_resident_memory_bytes"} <= found


def test_the_page_of_a_database_is_small() -> None:
    for accept in ACCEPTS:
        assert len(page(Shown(observed("mixed"), "production"), accept=accept)) < 60_000


def test_no_value_is_nan() -> None:
    assert not any(math.isnan(value) for value in read(page(Shown(observed("storm"))), plain).values())
