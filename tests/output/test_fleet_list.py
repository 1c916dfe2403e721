"""A fleet as text, CSV and JSON: the same figures by the same names."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime

from msgspec.structs import replace

from presman.analysis.fleet import ConnectionState, Member, by_trouble
from presman.figures.fleet_figures import FLEET, WRITTEN
from presman.output import fleet_list
from tests.services.fleet.members import every_state, live

AT = datetime(2026, 11, 22, 3, 12, tzinfo=UTC)
MEMBERS = by_trouble(every_state())


def test_text_counts_the_states_and_gives_reasons() -> None:
    text = fleet_list.text("config.ini", MEMBERS)
    assert text.startswith("config.ini  8 databases: 3 live, 1 late, 1 lost, 1 refused, 1 starting, 1 stopped\n")
    for word in ("✕ LOST", "retry in 4s: ORA-12541: no listener", "no answer for 0:17", "▲ 1", "✕ 3", "64/64", "4:24"):
        assert word in text
    assert max(map(len, fleet_list.text("config.ini", MEMBERS, 80).splitlines())) <= 80
    assert FLEET.empty in fleet_list.text("config.ini", [])
    (lost,) = (each for each in MEMBERS if each.name == "test-lost")
    assert "trying now: ORA-12541" in fleet_list.text("config.ini", [replace(lost, retry_in=0.3)])


def test_text_has_the_full_reason_for_a_refusal_and_the_next_attempt() -> None:
    reason = "ORA-28000: The account is locked, and only the administrators of this database can unlock it"
    outlook = "tried again by the next presman fleet"
    locked = Member("prod", ConnectionState.REFUSED, reason=reason, outlook=outlook)
    assert f"{reason}; {outlook}" in fleet_list.text("config.ini", [locked])
    lines = fleet_list.text("config.ini", [live("well"), locked], 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert f"prod: {reason}; {outlook}" in " ".join(line.strip() for line in lines)
    assert sum(line.startswith("well") for line in lines) == 1


def test_csv_and_json_have_every_figure_once() -> None:
    rows = list(csv.DictReader(io.StringIO(fleet_list.csv(MEMBERS, AT))))
    found = json.loads(fleet_list.dump("config.ini", MEMBERS, AT))
    keys = [figure.key for figure in WRITTEN]
    assert len(set(keys)) == len(keys)
    assert {"cpu_percent", "throttled_percent", "queued", "head_waited_s", "servers_in_use", "servers_target"} <= {
        *keys
    }
    assert [list(row) for row in rows] == [["time", *keys]] * len(MEMBERS)
    assert [list(each) for each in found["databases"]] == [[*keys, "past"]] * len(MEMBERS)
    assert [row["target"] for row in rows] == [each["target"] for each in found["databases"]]
    lost, hurt = rows[0], rows[1]
    assert (lost["state"], lost["cpu_percent"], lost["queued"]) == ("lost", "", "")
    assert (hurt["state"], hurt["queued"], hurt["servers_target"]) == ("live", "27", "64")
    assert (lost["worst_alert"], hurt["worst_alert"]) == ("", "critical")
    assert {"warning", "ok"} <= {row["worst_alert"] for row in rows}
    assert found["databases"][1]["past"]["queued"] == [0, 2, 4, 1]


def test_a_name_in_csv_is_not_a_formula() -> None:
    (row,) = csv.DictReader(io.StringIO(fleet_list.csv([live("=1+1")], AT)))
    assert row["target"] == "'=1+1"


def test_json_has_null_for_missing_and_undefined_numbers() -> None:
    well = live("well")
    assert well.key_figures is not None
    odd = replace(well, key_figures=replace(well.key_figures, head_waited=float("nan")))
    assert json.loads(fleet_list.dump("config.ini", [odd], AT))["databases"][0]["head_waited_s"] is None
    assert "é" in fleet_list.dump("é", [well], AT)
    assert "é" not in fleet_list.dump("é", [well], AT, ascii_only=True)


def test_unknown_facts_without_room_in_the_table_are_listed_below() -> None:
    why = "not known: a queue; No starved group, no downgrade (by V$RSRC_PLAN, V$SYSSTAT)"
    blind = live("blind", severity="note", worst=why)
    shown = fleet_list.text("config.ini", [blind, live("well", worst="Nothing is wrong")], 100)
    assert "? 0" in shown
    assert "blind: not known: a queue; " in shown
    assert "well: " not in shown
    (row,) = csv.DictReader(io.StringIO(fleet_list.csv([blind], AT)))
    assert row["worst_alert"] == "unknown"
