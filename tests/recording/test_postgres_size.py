"""Size of a recording in PostgreSQL according to its statistics, without a server; tests/real uses one."""

from __future__ import annotations

from typing import Any

import pytest

from presman.recording.schema import METADATA
from presman.recording.statement_limits import bytes_in_use


class Answers:
    """A connection that gives one answer after the other."""

    def __init__(self, *values: Any) -> None:
        self.values = list(values)
        self.analyzed: list[str] = []

    def execute(self, *_: Any) -> Answers:
        self.value = self.values.pop(0)
        return self

    def exec_driver_sql(self, statement: str) -> None:
        self.analyzed.append(statement)

    def scalar(self) -> Any:
        return self.value

    one = scalar


def test_a_list_of_names_is_sent_as_a_list() -> None:
    """PostgreSQL has no IN for an array, to which the driver converts a list."""
    asked: list[str] = []

    class Asked(Answers):
        def execute(self, *given: Any) -> Answers:
            statement, *values = given
            bound = statement.bindparams(**(values[0] if values else {}))
            asked.append(str(bound.compile(compile_kwargs={"render_postcompile": True})))
            return super().execute()

    bytes_in_use(Asked(9000, 0.5, (0, 5000), 2000, 300), 1000, ["prod"])  # type: ignore[arg-type]
    assert [(each.count(" IN "), each.count(" IN (")) for each in asked] == [(1, 1), (1, 1), (2, 2), (0, 0), (0, 0)]


@pytest.mark.parametrize(
    ("answers", "size"),
    [
        ([None], None),  # no tables
        ([1000], 1000),  # the files are small enough: nothing is estimated
        ([9000, (0, 5000), 2000, 300], 7300),  # rows, contents, texts
        ([9000, (0, 5000), None, 300], 5300),  # no blocks yet
        ([9000, (0, 8000), 2000, 300], 9000),  # never more than the files
        ([9000, (-1, 5000)], None),  # a table without statistics
        ([9000, (None, None)], None),
    ],
    ids=str,
)
def test_rows_are_weighed_where_the_files_are_more_than_enough(answers: list[Any], size: int | None) -> None:
    connection = Answers(*answers)
    assert bytes_in_use(connection, 1000) == size  # type: ignore[arg-type]
    assert connection.values == []
    assert len(connection.analyzed) == (len(METADATA.tables) if len(answers) > 1 else 0)
