from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import fields, replace

from presman.analysis.advice.step import Proof
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.wait_readings import Bucket, Histogram
from presman.output.json_document import document, dump
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.test_simulated import Clock, play
from tests.output.readings import group, reading
from tests.recording.recorded import polled


def test_the_document_has_every_field_and_property() -> None:
    found = document(reading())
    assert found["format"] == 1
    assert {field.name for field in fields(Reading)} <= found.keys()
    assert {*GroupReading._fields, "totals", "sessions", "usage"} - {"counters"} <= found["groups"][0].keys()
    assert found["groups"][0]["throttled_percent"] == 37.5
    assert found["groups"][0]["io"]["mb"] == 100.0


def test_the_document_is_json_with_stable_words_and_offsets() -> None:
    found = json.loads(dump(reading()))
    assert datetime.fromisoformat(found["at"]) == reading().at
    assert found["groups"][0]["verdict"] == "contended"
    assert found["heads"][0]["cause"] == "group"
    assert found["queue"][0]["wants"] == {"low": 16, "high": 32, "source": "degree"}
    assert found["running"][0]["servers_by_instance"] == {"1": 48}


def test_latencies_have_the_values_of_the_heat_maps() -> None:
    found = Histogram(1, "x", (Bucket(512, 10, 8), Bucket(1024, 3, 2)), 4.0, "Other", None, None)
    written = document(replace(reading(), interval=4.0, histograms=(found,), waits=()))
    now = written["latency"][0]["now"]
    assert now["frequency"] == [2.0, 0.5]
    assert now["intensity"] == [0.000768, 0.000384]
    assert written["latency"][0]["startup"]["frequency"] is not None
    (event,) = written["latency_events"]
    assert (event["event"], event["estimated"], event["per_second"]) == ("x", True, 2.5)


def test_infinite_and_undefined_numbers_are_null() -> None:
    odd = group("A")._replace(used=float("nan"), waiting=float("inf"))
    assert json.loads(dump(reading([odd])))["groups"][0]["used"] is None


def test_ascii() -> None:
    assert dump(reading([group("GRÜN")]), ascii_only=True).isascii()
    assert "GRÜN" in dump(reading([group("GRÜN")]))


def test_the_document_has_candidates_to_unblock_the_queue() -> None:
    clock = Clock()
    source = SimulatorSource("storm", seed=3, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC))
    *_, last = play(source, clock, 3, 10.0)
    found = document(last)
    assert {each["group"] for each in found["unblock"]} == {head["group"] for head in found["heads"]}
    candidates = [each for way in found["unblock"] for each in way["candidates"]]
    assert candidates
    assert all(bool(each["commands"]) != bool(each["why_not"]) for each in candidates)
    assert all(way["order"] == "the plan decides which is first, and no view shows it" for way in found["unblock"])
    assert {"plan", "hour", "now", "worse", "name", "con_id"} == set(found["usual"][0])
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("scenario", ["mixed", "rac", "storm"])
def test_each_command_names_its_proof(scenario: str) -> None:
    commands = [each for _, last in list(polled(scenario, 24))[5::6] for each in commands_in(document(last))]
    assert commands
    assert {word for each in commands for word in each["proven"]} <= {each.name.lower() for each in Proof}
    assert all(each["proven"] for each in commands)


def commands_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a document that has a statement to run."""
    if isinstance(value, dict):
        if {"kind", "text", "note"} <= value.keys():
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from commands_in(each)
