"""Checks of assumptions: each is one SELECT that runs on every release from its own on, and its result is judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from docs.make import assumptions
from presman.base.release import SUPPORTED, Release
from presman.config.doctor import ASSUMPTIONS, Assumption, Observation, check, why_no_answer
from presman.config.target_text import parse_target
from presman.rows.queries import Scope, columns_of
from presman.rows.session_state import QUEUE_WAITS
from presman.sources.embedded import EmbeddedDatabase
from tests.cli.run import QUEUEING

ASKED = [each for each in ASSUMPTIONS if each.sql]
checks = pytest.mark.parametrize("each", ASKED, ids=lambda each: each.key)


@checks
def test_an_assumption_is_one_select_on_columns_of_the_release(each: Assumption) -> None:
    for release in (known for known in SUPPORTED if known >= each.since):
        (statement,) = sqlglot.parse(each.sql, dialect="oracle")
        assert isinstance(statement, exp.Select)
        tables = [table.name.upper() for table in statement.find_all(exp.Table)]
        known = {column.name for table in tables for column in columns_of(table, release)}
        assert {column.name.upper() for column in statement.find_all(exp.Column)} <= known
        database = EmbeddedDatabase(release)
        for scope in Scope:
            section = database.run(each.query(), scope, {"inst_id": 1})
            assert section.problem is None
            assert section.rows == (), "an empty view proves nothing"
        database.close()


def answered(key: str, **views: tuple[str, list[tuple[object, ...]]]) -> str:
    """Return the result of an assumption's check on a 19c database with these rows."""
    each = next(one for one in ASKED if one.key == key)
    database = EmbeddedDatabase(Release(19))
    for view, (columns, rows) in views.items():
        database.replace(f"GV${view.upper()}", columns.split(), rows)
    section = database.run(each.query(), Scope.CLUSTER, {})
    database.close()
    return why_no_answer(section) or each.judge(section.rows)


PROCESSES = "INST_ID SERVER_NAME IS_GV"


def test_a_second_family_of_gv_servers_is_found() -> None:
    usual: list[tuple[object, ...]] = [(1, "P000", "FALSE"), (1, "PZ99", "TRUE")]
    assert answered("gv-server-names", px_process=(PROCESSES, usual)) == "holds: PZ99 1 (1)"
    second = answered("gv-server-names", px_process=(PROCESSES, [*usual, (1, "PPA7", "TRUE")]))
    assert second == "does NOT hold: PPA7 1 (0)"
    unmarked = answered("gv-server-names", px_process=(PROCESSES, [*usual, (1, "PPA7", "FALSE")]))
    assert unmarked == "holds: PZ99 1 (1), PPA7 0 (0)"


def test_counted_servers_are_shown_beside_working_ones() -> None:
    """Two instances count 48 and 16, so 64. 80 servers work, so 16 are not counted. A coordinator is no server."""
    plan = (
        "INST_ID NAME IS_TOP_PLAN PARALLEL_SERVERS_ACTIVE PARALLEL_SERVERS_TOTAL",
        [(1, "DAY", "TRUE", 48, 64), (2, "DAY", "TRUE", 16, 64), (1, "SUB", "FALSE", 7, 64)],
    )
    servers: list[tuple[object, ...]] = [(1, sid, 8) for sid in range(80)]
    sessions = ("INST_ID SID DEGREE", [*servers, (1, 99, None)])
    assert answered("counted-servers", rsrc_plan=plan, px_session=sessions) == "look: DAY 64 (80)"
    assert answered("target-of-a-cluster", rsrc_plan=plan) == "look: DAY 48 (64), DAY 16 (64)"


def test_directives_of_19c_have_an_ordinary_status_more() -> None:
    each = next(one for one in ASKED if one.key == "pending-directives")
    rows = [Observation(status, None, None) for status in ("", "LEGACY", "PENDING")]
    assert each.judge(rows) == "holds: (empty), LEGACY, PENDING"


def answers(lines: Sequence[str]) -> dict[str, str]:
    """Return the answers by key; a line with an arrow belongs to the last head before it."""
    found, key = {}, ""
    for line in lines:
        key = line.partition(":")[0] if line and not line.startswith(" ") else key
        if line.startswith("  → "):
            found[key] = line.removeprefix("  → ")
    return found


def test_a_database_is_asked_all_of_them() -> None:
    found = answers(list(check(parse_target("demo:rac?release=26ai&speed=10"))))
    assert list(found) == [each.key for each in ASKED]
    assert not [answer for answer in found.values() if answer.startswith(("not known", "does NOT"))]
    assert found["session-states"].startswith("holds: ")
    assert found["cpu-exhausted-percent"].startswith("holds: ")


def test_documents_are_quoted_with_their_assumption() -> None:
    lines = list(check(parse_target("demo:rac?release=26ai&speed=10")))
    quoted = {line.removeprefix("  document: ") for line in lines if line.startswith("  document: ")}
    assert quoted == {each.document for each in ASSUMPTIONS if each.document}
    assert any("two disagree" in document for document in quoted)
    in_full = {"metric-milliseconds", "critical-words"}
    assert not in_full & {each.key for each in ASSUMPTIONS}, "facts that a manual states in full are no assumptions"


def test_old_releases_are_not_asked_about_newer_columns() -> None:
    found = answers(list(check(parse_target("demo:queueing?release=11.2"))))
    assert found["gv-server-names"] == "not asked: 12.1 or later has it"


def test_missing_rows_confirm_nothing() -> None:
    found = answers(list(check(parse_target(QUEUEING))))
    assert found["session-states"] == "not known: the view, or a column of it, is not there"
    assert not [answer for answer in found.values() if answer.startswith("holds")]


@pytest.mark.parametrize(
    ("way", "rows", "answer"),
    [
        ({"only": ("A", "B")}, [Observation("A", None, None)], "holds: A"),
        ({"only": ("A", "B")}, [Observation("A", None, None), Observation("C", None, None)], "does NOT hold: also C"),
        ({"between": (1, 1)}, [Observation("PZ99", 1, 1), Observation("PZ98", 1, 1)], "holds: PZ99 1 (1), PZ98 1 (1)"),
        ({"between": (1, 1)}, [Observation("PZ99", 0, 1), Observation("PZ98", 1, 1)], "does NOT hold: PZ99 0 (1)"),
        # A minute of 8 CPUs is 480,000 ms; in microseconds a busy group would have 240,000,000.
        ({"between": (0, 1.05)}, [Observation("BATCH", 240_000, 480_000)], "holds: BATCH 240,000 (480,000)"),
        ({"between": (0, 1.05)}, [Observation("BATCH", 24e7, 480_000)], "does NOT hold: BATCH 240,000,000 (480,000)"),
        ({"between": (0, 100)}, [Observation("BATCH", 12.5, None)], "holds: BATCH 12.50"),
        ({"multiple": True}, [Observation("PQ QUEUED", 16, 8)], "holds: PQ QUEUED 16 (8)"),
        ({"multiple": True}, [Observation("PQ QUEUED", 0, 8)], "does NOT hold: PQ QUEUED 0 (8)"),
        ({"multiple": True}, [Observation("PQ QUEUED", 12, 8)], "does NOT hold: PQ QUEUED 12 (8)"),
    ],
)
def test_answers_are_read(way: dict[str, Any], rows: list[Observation], answer: str) -> None:
    assert Assumption("key", "taken", "confirmed", **way).judge(rows) == answer


def test_the_events_of_the_queue_are_those_that_presman_counts() -> None:
    assert set(next(each.only or () for each in ASSUMPTIONS if each.key == "queue-events")) == QUEUE_WAITS


def test_the_list_names_each_assumption_with_its_query() -> None:
    text = assumptions()
    for each in ASSUMPTIONS:
        assert f"- **{each.key}**: {each.taken} Confirmed if: {each.confirmed}." in text
        assert not each.sql or f"`{each.sql};`" in text
        assert not each.document or f"{each.confirmed}. Document: {each.document}\n" in text
