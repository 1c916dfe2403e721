"""Rows of the driver become records, and too long values are cut there only."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from presman.base.text import LONGEST, LONGEST_STATEMENT
from presman.rows.cursor_rows import PlanXml, SqlText
from presman.rows.group_rows import GroupMetric
from presman.rows.instance_rows import PdbMetric
from presman.rows.queries import LONGEST_DOCUMENT, TOO_LONG, field_types, null_row, shortened, to_records
from presman.rows.session_rows import Session

CUT_HERE = "… cut here: it has more than 100,000 characters"


def values(record: Any, **given: Any) -> tuple[Any, ...]:
    return tuple(given.get(name) for name in field_types(record))


@pytest.mark.parametrize(
    ("record", "field", "size", "kept"),
    [
        (Session, "program", LONGEST, "x" * LONGEST),
        (Session, "program", LONGEST + 1, "x" * (LONGEST - 1) + "…"),
        (SqlText, "sql_text", LONGEST_STATEMENT, "x" * LONGEST_STATEMENT),
        (SqlText, "sql_text", LONGEST_STATEMENT + 1, "x" * LONGEST_STATEMENT + "\n" + CUT_HERE),
        (PlanXml, "other_xml", LONGEST_DOCUMENT, "x" * LONGEST_DOCUMENT),
        (PlanXml, "other_xml", LONGEST_DOCUMENT + 1, TOO_LONG),
        (PlanXml, "other_xml", LONGEST_DOCUMENT * 3, TOO_LONG),
    ],
)
def test_values_that_are_kept(record: Any, field: str, size: int, kept: str) -> None:
    """The same whether the whole row came, or was shortened as it came."""
    row = values(record, **{field: "x" * size})
    for rows in ([row], shortened(record, [row])):
        assert getattr(to_records(record, rows)[0], field) == kept


def test_only_texts_are_shortened() -> None:
    row = values(Session, sid=12, inst_id=1, program="x" * 10_000)
    (short,) = shortened(Session, [row])
    assert len(short) == len(row)
    assert [one for one, other in zip(short, row, strict=True) if one != other] == ["x" * (LONGEST + 1)]


def test_a_value_other_than_text_becomes_text() -> None:
    assert to_records(Session, [values(Session, program=12)])[0].program == "12"


def test_long_values_are_not_kept_for_the_next_time() -> None:
    from presman.rows import queries

    before = queries._short.cache_info().misses
    to_records(Session, [values(Session, program="y" * (LONGEST + 1))])
    assert queries._short.cache_info().misses == before
    to_records(Session, [values(Session, program="y" * LONGEST)])
    assert queries._short.cache_info().misses == before + 1


def test_a_row_that_is_not_there_reads_as_one_of_nulls() -> None:
    nothing = null_row(PdbMetric)
    assert (nothing.con_id, nothing.avg_io_throttle) == (0, None)
    assert null_row(Session).username == ""


def test_a_row_without_its_instance_is_no_row_of_the_whole_cluster() -> None:
    """Its inst_id was 0, so its groups were those of the cluster, and the header had an instance 0."""
    rows = [(1, 5), (None, 6), (2, 7)]

    class Row(NamedTuple):
        inst_id: int
        value: int

    assert to_records(Row, rows) == ((1, 5), (2, 7))
    assert to_records(Row, [(None, 6)]) == ((0, 6),), "the column is not there"


def test_a_row_of_nulls_has_zero_where_a_figure_may_not_be_missing() -> None:
    row = null_row(GroupMetric)
    kinds = field_types(GroupMetric)
    figures = [
        value for value, (kind, optional) in zip(row, kinds.values(), strict=True) if kind is float and not optional
    ]
    assert figures
    assert not any(figures)
