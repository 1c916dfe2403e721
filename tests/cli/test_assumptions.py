"""What presman takes as so: each check is one SELECT that every release from its own on can run, and is read right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import sqlglot
from sqlglot import exp

from presman.base.release import SUPPORTED
from presman.config.targets import parse_target
from presman.embedded.database import EmbeddedDatabase, columns_of
from presman.records.queries import Scope
from presman.setup.assumptions import ASSUMPTIONS, Assumption, Observation, between, check, in_markdown, multiple, only
from tests.cli.run import QUEUEING

ASKED = [each for each in ASSUMPTIONS if each.sql]
checks = pytest.mark.parametrize("each", ASKED, ids=lambda each: each.key)


@checks
def test_it_is_one_select_of_columns_that_the_release_has(each: Assumption) -> None:
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
            assert section.rows == (), "an empty view says nothing"
        database.close()


def answers(lines: Sequence[str]) -> dict[str, str]:
    """The answers by key: the line with an arrow belongs to the last head before it."""
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


def test_an_old_release_is_not_asked_what_it_has_not() -> None:
    found = answers(list(check(parse_target("demo:queueing?release=11.2"))))
    assert found["gv-server-names"] == "not asked: 12.1 or later has it"


def test_what_is_not_there_confirms_nothing() -> None:
    found = answers(list(check(parse_target(QUEUEING))))
    assert found["session-states"] == "not known: the view, or a column of it, is not there"
    assert not [answer for answer in found.values() if answer.startswith("holds")]


@pytest.mark.parametrize(
    ("judge", "rows", "answer"),
    [
        (only("A", "B"), [Observation("A", None, None)], "holds: A"),
        (only("A", "B"), [Observation("A", None, None), Observation("C", None, None)], "does NOT hold: also C"),
        (between(1, 1), [Observation("PZ99", 1, 1), Observation("PZ98", 1, 1)], "holds: PZ99 1 (1), PZ98 1 (1)"),
        (between(1, 1), [Observation("PZ99", 0, 1), Observation("PZ98", 1, 1)], "does NOT hold: PZ99 0 (1)"),
        # A minute of 8 CPUs is 480,000 ms; in microseconds a busy group would have 240,000,000.
        (between(0, 1.05), [Observation("BATCH", 240_000, 480_000)], "holds: BATCH 240,000 (480,000)"),
        (between(0, 1.05), [Observation("BATCH", 24e7, 480_000)], "does NOT hold: BATCH 240,000,000 (480,000)"),
        (between(0, 100), [Observation("BATCH", 12.5, None)], "holds: BATCH 12.50"),
        (multiple, [Observation("PQ QUEUED", 16, 8)], "holds: PQ QUEUED 16 (8)"),
        (multiple, [Observation("PQ QUEUED", 0, 8)], "does NOT hold: PQ QUEUED 0 (8)"),
        (multiple, [Observation("PQ QUEUED", 12, 8)], "does NOT hold: PQ QUEUED 12 (8)"),
    ],
)
def test_answers_are_read(judge: Callable[[Sequence[Observation]], str], rows: list[Observation], answer: str) -> None:
    assert judge(rows) == answer


def test_the_list_names_each_with_what_to_run() -> None:
    text = in_markdown()
    for each in ASSUMPTIONS:
        assert f"- **{each.key}**: {each.taken} Confirmed if: {each.confirmed}." in text
        assert not each.sql or f"`{each.sql};`" in text
