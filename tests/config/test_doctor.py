"""Calculated lines of the doctor: round trip time and clock difference; by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain
from types import SimpleNamespace
from typing import Any

import pytest

from presman.base.release import Release
from presman.config import doctor
from presman.rows.instance_rows import SEED, Database, Instance, Pdb
from presman.rows.queries import Cadence, load
from presman.rows.snapshot import Problem, Section
from presman.sources import Answer
from tests.sources.fakes import FakeSource, row

NOW = datetime(2026, 11, 22, 3, 12, tzinfo=UTC)


def lines(
    monkeypatch: pytest.MonkeyPatch, took: Sequence[float], ahead: Sequence[float], trips: int = 1
) -> list[list[str]]:
    """Return the words about reads that took so many seconds, when the database was so far ahead."""
    ticks = list(accumulate(chain.from_iterable((0.0, each) for each in took)))
    answers = [Answer(NOW + timedelta(seconds=each), (), trips) for each in ahead]
    source: Any = type("Source", (), {"read": lambda _, __: answers.pop(0)})()
    monkeypatch.setattr("presman.config.doctor.time.perf_counter", lambda: ticks.pop(0))
    return [line.split(None, 2) for line in doctor._latency(source, lambda: NOW)]


def test_clocks_are_compared_in_the_middle_of_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads of eight seconds; the time in the answer is four seconds after their begin."""
    _, clock = lines(monkeypatch, [8.0] * 5, [4.0] * 5)
    assert " ".join(clock) == "clock agrees with this machine's"


def test_the_median_of_five_round_trips_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    trip, clock = lines(monkeypatch, [0.004, 0.002, 0.006, 9.0, 0.002], [60.0, 2.5, 3.0, -60.0, 2.75])
    assert " ".join(trip).startswith("round trip 4.0 ms (median of 5)")
    assert " ".join(clock) == "clock 3 s ahead of this machine's; presman uses the database's"
    for ahead, expected in ((1.99, "agrees with"), (2.0, "2 s ahead of"), (-2.0, "2 s behind"), (-1.99, "agrees with")):
        _, clock = lines(monkeypatch, [0.0] * 5, [ahead] * 5)
        assert f" {expected} this machine's" in f" {' '.join(clock)}"


def test_a_source_within_presman_has_no_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    (only,) = lines(monkeypatch, [0.0] * 5, [9.0] * 5, trips=0)
    assert " ".join(only) == "round trip none: this source is inside presman"


def test_queries_that_need_a_pack_are_listed() -> None:
    def query(name: str, pack: str) -> Any:
        return SimpleNamespace(name=name, pack=pack, view=f"GV${name.upper()}")

    assert list(doctor._packs([], ("tuning",))) == ["No query needs the Diagnostics or the Tuning pack."]
    assert list(doctor._packs([query("ash", "diagnostics"), query("plans", "tuning")], ("tuning",))) == [
        "ash needs the Diagnostics pack (GV$ASH): not read",
        "plans needs the Tuning pack (GV$PLANS): allowed",
    ]


def test_advice_is_listed_once() -> None:
    cures, unread = {"GRANT SELECT ON a TO b": None, "ask the DBA": None}, {"ash": None, "plans": None}
    assert list(doctor._advice({}, {}, 1)) == ["Nothing is missing: 1 query was answered in full."]
    assert list(doctor._advice({}, unread, 9)) == ["These could not be read: ash, plans."]
    helps = ["What would help:", "  GRANT SELECT ON a TO b;", "  ask the DBA"]
    assert list(doctor._advice(cures, {}, 9)) == helps
    assert list(doctor._advice(cures, unread, 9)) == ["These could not be read: ash, plans.", *helps]


def instance(number: int, **facts: Any) -> Instance:
    names = {"instance_name": f"P{number}", "host_name": f"h{number}", "version": "19.3.0.0.0", "parallel": "NO"}
    found: Instance = row(Instance, inst_id=number, **(names | facts))
    return found


def pdb(con_id: int, name: str = "X", mode: str = "READ WRITE", inst_id: int = 1) -> Pdb:
    return Pdb(inst_id, con_id, name, mode)


YES, NO = (row(Database, name="P", db_unique_name=unique, database_role="PRIMARY", open_mode="READ WRITE", cdb=cdb)
           for unique, cdb in (("PWEST", "YES"), ("", "NO")))  # fmt: skip


@pytest.mark.parametrize(
    ("databases", "instances", "pdbs", "lacking"),
    [
        ((YES,), (instance(1),), (pdb(SEED), pdb(3)), {"cluster"}),
        ((YES,), (instance(1, parallel="YES"),), (pdb(3),), {"root"}),
        ((YES,), (instance(1, parallel="YES"), instance(2)), (), set()),
        ((NO,), (instance(1),), (), {"cdb", "root", "cluster"}),
        ((NO,), (), (pdb(3),), {"root"}),
        ((), (), (pdb(SEED),), {"cdb", "root"}),
        (None, (), (), set()),  # features of an unreadable view may be there
        (None, (), (pdb(SEED),), {"cdb", "root"}),
    ],
)
def test_missing_features_are_derived_from_the_views(
    databases: tuple[Database, ...] | None, instances: tuple[Instance, ...], pdbs: tuple[Pdb, ...], lacking: set[str]
) -> None:
    problem = Problem("ORA-00942", "no") if databases is None else None
    found = doctor._lacking(Section(databases or (), problem=problem), Section(instances), pdbs)
    assert set(found) == lacking


def test_a_database_its_instances_and_its_containers_have_a_line_each() -> None:
    found = {
        Database: Section((YES, NO)),
        Instance: Section((instance(2), instance(1, parallel="YES", active_state="QUIESCED"))),
        Pdb: Section((pdb(3, "SALES"), pdb(3, "SALES", "MOUNTED", 2), pdb(4, "HR"), pdb(4, "HR", inst_id=2))),
    }
    assert list(doctor._kind_of_database(found)) == [
        "database    PWEST, PRIMARY, READ WRITE, container database",
        "database    P, PRIMARY, READ WRITE, no containers",
        "instances   2 (RAC): P2 on h2, P1 on h1",
        "quiesced    P1 is QUIESCED: only SYS and SYSTEM get in until ALTER SYSTEM UNQUIESCE",
        "pdbs        SALES READ WRITE on 1 and MOUNTED on 2, HR READ WRITE",
    ]
    alone = {Database: Section(), Instance: Section((instance(1),)), Pdb: Section()}
    assert list(doctor._kind_of_database(alone)) == ["instances   1 (single instance): P1 on h1"]
    assert list(doctor._kind_of_database({Database: Section(), Instance: Section()})) == []
    assert doctor._release(Release(19), Section((instance(1), instance(2)))) == "19.3.0.0.0 (queries for 19)"
    assert doctor._release(Release(19), Section()) == "19 (queries for 19)"


def test_the_answer_of_a_query_in_words() -> None:
    query = load(Release(19))[Database]
    fields = frozenset(Database._fields)
    denied = Problem("ORA-00942", "table or view does not exist")
    for section, expected in (
        (Section((YES, NO), seconds=0.0021), "2 rows, 2.1 ms"),
        (Section((YES,), seconds=1.04, absent=frozenset({"cdb", "name"})), "1 row, 1.0 s, without CDB, NAME"),
        (Section((), absent=fields), "nothing: not there"),
        (Section(problem=denied), "nothing: ORA-00942 table or view does not exist"),
        (Section(problem=Problem("", "gone")), "nothing: gone"),
    ):
        assert doctor._answer_words(query, section) == expected


def test_every_query_is_tried_and_missing_parts_are_summed_up() -> None:
    """V$DATABASE is denied and V$INSTANCE lacks a column: neither is answered in full."""
    denied = Problem("ORA-00942", "no", cure="GRANT IT")

    def answers(request: Any) -> Section | None:
        record = request.query.record
        if record is Instance:
            return Section((instance(1),), absent=frozenset({"version"}))
        return Section(problem=denied) if record is Database else None

    source = FakeSource(answers=answers)
    queries = load(Release(19)).values()
    lines = list(doctor._query_lines(source, Release(19), (), {"cluster": "a cluster"}))  # type: ignore[arg-type]
    free = [query for query in queries if query.pack == "none"]
    asked = [query for query in free if query.only != "cluster"]
    assert len(source.reads) == len(asked)
    assert lines[0] == ""
    assert lines[1].split() == ["query", "view", "sees"]
    table = lines[2 : 2 + len(free)]
    assert sum("not run: only a cluster has rows" in line for line in table) == len(free) - len(asked) > 0
    behind = lines[2 + len(free) :]
    assert behind[:4] == ["", "These could not be read: V$DATABASE.", "What would help:", "  GRANT IT;"]
    assert behind[4:] == ["No query needs the Diagnostics or the Tuning pack."]
    full = list(doctor._query_lines(FakeSource(), Release(19), (), {"cluster": "a cluster"}))  # type: ignore[arg-type]
    assert f"Nothing is missing: {len(asked)} queries were answered in full." in full
    demand = next(query for query in free if query.cadence is Cadence.DEMAND)
    assert doctor._binds(demand)
    assert all(value is None for value in doctor._binds(demand).values())
    assert doctor._binds(load(Release(19))[Database]) == {}
    assert doctor._answer_words(demand, Section((), seconds=0.5)) == "may be read, 500.0 ms"
