"""Fields of queries: each is used, and the simulator has values for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import presman
from presman.analysis.assemble import analyse
from presman.base.release import Release
from presman.figures.session_figures import SESSIONS
from presman.output import json_document, text_report
from presman.output.json_document import assess
from presman.polling.named_sessions import BECOME
from presman.polling.poller import Poller
from presman.rows.group_rows import GroupMapping, Plan, PlanDirective
from presman.rows.queries import Focus, by_query, field_types, load
from presman.rows.query_files import SessionRow
from presman.sources.simulator.loading import FOLDER
from presman.sources.simulator_source import SimulatorSource
from tests.scenarios import with_short_past
from tests.sources.simulator.conftest import Played

SCENARIOS = sorted(path.stem for path in FOLDER.glob("*.toml"))
PLAYED = [(name, Release(19)) for name in SCENARIOS] + [("pdb", Release(23)), ("mixed", Release(11, 2))]

READ_BY_PLACE = {
    "event_histogram": "wait_time_micro wait_count",  # unpacked in analysis/latency/system_waits.py
    "watched_histogram": "wait_time_micro wait_count",
    "rsrc_pdb": "io_service_time io_service_waits small_read_megabytes small_write_megabytes large_read_megabytes "
    "large_write_megabytes small_read_requests small_write_requests large_read_requests large_write_requests",
    # the counters of analysis/groups/counter_deltas.py
    # Rows of the root's CDB_ views become those of the DBA_ views, in analysis/facts/facts.py and analysis/plans/.
    "group_mapping": " ".join(GroupMapping._fields),  # and those of both, there
    "container_group_mapping": " ".join(GroupMapping._fields),
    "container_plan": " ".join(Plan._fields),
    "container_plan_directive": " ".join(PlanDirective._fields),
}

NEVER_FILLED = {
    "cdb_plan_directive": "status",  # NULL: in force
    "consumer_group": "queue_time_outs sql_canceled pq_queue_time_outs",  # nothing is cancelled or times out at first
    "consumer_group_definition": "status",
    "group_mapping": "con_id status",  # the container connected to
    "container_group_mapping": "status",
    "container_plan": "comments status",
    "container_plan_directive": "mgmt_p2 mgmt_p3 mgmt_p4 mgmt_p5 mgmt_p6 mgmt_p7 mgmt_p8 parallel_degree_limit_p1 "
    "parallel_queue_timeout active_sess_pool_p1 queueing_p1 switch_group switch_time max_idle_time status comments "
    "switch_io_megabytes switch_io_reqs switch_io_logical switch_elapsed_time switch_estimate max_est_exec_time "
    "undo_pool max_idle_blocker_time session_pga_limit",
    "cursor_totals": "concurrency_wait_time io_cell_offload_eligible_bytes",
    "io_outlier": "disk2_name disk2_latency disk3_name disk3_latency",  # no mirrors
    "lgwrio_outlier": "disk2_name disk2_latency disk3_name disk3_latency",
    "plan": "con_id status",
    "plan_directive": "con_id "
    "mgmt_p4 mgmt_p5 mgmt_p6 mgmt_p7 mgmt_p8 max_idle_time status switch_io_megabytes switch_io_reqs "
    "switch_io_logical switch_elapsed_time switch_estimate max_est_exec_time undo_pool max_idle_blocker_time "
    "session_pga_limit",  # directives that no scenario gives
    "plan_line": "partition_start partition_stop access_predicates filter_predicates",
    "rsrc_pdb": "large_write_megabytes large_write_requests current_pqs_queued",  # no session writes in large blocks
    "session_info": "sql_canceled pq_status",
}
"""Fields that are empty in every scenario, each because the simulation does not know what it stands for."""


OF_ONE = ("cursor_totals", "plan_line", "plan_xml", "px_plan_line", "px_statistic", "session_statistic", "sql_text")
"""Queries about one session or one cursor."""


@cache
def modules() -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the text of each module that may read rows, with every word that occurs in it."""
    paths = [path for path in Path(presman.__file__).parent.rglob("*.py") if "simulator" not in path.parts]
    texts = [path.read_text(encoding="utf-8") for path in paths if not path.name.endswith("_rows.py")]
    return tuple((text, frozenset(re.findall(r"\w+", text))) for text in texts)


@cache
def names_in(text: str) -> frozenset[str]:
    """Return every name in a module: attributes, keywords, texts."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.update(node.value.split())
    return frozenset(names)


@cache
def named_beside(record: str) -> frozenset[str]:
    """Return every name that occurs in the modules that name a record."""
    return frozenset().union(*(names_in(text) for text, words in modules() if record in words))


def watch(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Have each access to a field of a record noted."""
    read: set[tuple[str, str]] = set()
    for query, record in by_query().items():
        for place, field in enumerate(record._fields):  # type: ignore[attr-defined]

            def value(self: Any, place: int = place, at: tuple[str, str] = (query, field)) -> Any:
                read.add(at)
                return tuple.__getitem__(self, place)

            monkeypatch.setattr(record, field, property(value))
    return read


def amounts_on_show() -> Iterator[tuple[str, str]]:
    """Yield the fields of queries of sessions that are columns: each has a reader there, by its name."""
    shown = {figure.path.removeprefix("amounts.") for figure in SESSIONS.columns}
    for query, record in by_query().items():
        fields = field_types(record) if issubclass(record, SessionRow) else ()
        yield from ((query, field) for field in fields if field in {"inst_id", "sid", *shown})


def show_all(scenario: str, release: Release) -> None:
    """Poll three times, read the details of a running statement, and write everything."""
    seconds = [0.0]
    start = datetime(2026, 3, 12, 9, tzinfo=UTC)
    source = SimulatorSource(with_short_past(scenario), clock=lambda: seconds[0], start=start, release=release)
    poller, previous = Poller(source), None
    poller.open()
    for _ in range(3):
        seconds[0] += 5.0
        current = poller.poll()
        reading = analyse(previous, current)
        for row in reading.running[:1]:
            poller.focus(Focus(row.inst_id, row.sid, row.sql_id, row.child, True))
        text_report.full(reading, 200, (previous, current))
        json_document.dump(reading, assess(reading, previous, current))
        previous = current
    poller.close()


def test_every_field_has_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    for release in {release for _, release in PLAYED}:
        load(release)  # which looks up defaults of columns that a release lacks: that is no reader
    read = watch(monkeypatch)
    unread = {
        (query, field)
        for query, record in by_query().items()
        if record not in BECOME  # its rows become those of another
        for field in record._fields  # type: ignore[attr-defined]
    }
    unread -= {(query, field) for query, fields in READ_BY_PLACE.items() for field in fields.split()}
    unread -= set(amounts_on_show())
    for scenario, release in PLAYED:
        if unread:  # most are read in the first scenario, and one reader anywhere is enough
            show_all(scenario, release)
            unread -= read
            unread = {each for each in unread if each[1] not in named_beside(by_query()[each[0]].__name__)}
    assert unread == set(), "read from a database at its cost, and not used"


def answers(scenario: str, release: Release) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield each query with its rows half a minute after the start; those about one statement for all that run."""
    played = Played(with_short_past(scenario), release=release)
    rows = played.to(30.0).everything()
    yield from rows.items()
    numbers = {row.name: row.statistic for row in rows["statistic_name"]}
    statistics = {"cpu_number": numbers["CPU used by this session"], "logical_number": 0, "read_number": 0}
    for session in rows["session"]:
        if session.sql_id:
            binds = {"at_inst_id": session.inst_id, "sid": session.sid, "sql_id": session.sql_id, **statistics}
            binds["child_number"] = session.sql_child_number or 0
            for query in OF_ONE:
                yield query, played.rows(by_query()[query], **binds)
    played.source.close()


def test_every_field_has_a_value_in_some_scenario() -> None:
    filled: dict[str, set[str]] = {query: set() for query in by_query()}
    for scenario, release in PLAYED:
        for query, rows in answers(scenario, release):
            for row in rows:
                filled[query].update(field for field in row._fields if getattr(row, field) not in {None, "", 0})
    empty = {
        query: " ".join(field for field in record._fields if field not in filled[query])  # type: ignore[attr-defined]
        for query, record in by_query().items()
        if record not in BECOME
    }
    assert {query: fields for query, fields in empty.items() if fields} == NEVER_FILLED
