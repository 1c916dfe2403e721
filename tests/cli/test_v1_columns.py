"""Columns that `presman -m` takes by number or name, as presman 1.x did."""

from __future__ import annotations

from argparse import Namespace

import pytest

from presman.cli.exit_codes import Failure
from presman.cli.v1_command import _column
from presman.output import v1_tables


def column(text: str | None, measure: str = "cpu", *, plot: bool = False, output: str = "") -> int | None:
    return _column(Namespace(column=text, plot=plot, output=output), measure)


def test_a_column_of_1_x_is_a_number_or_a_name() -> None:
    for measure, first in (("cpu", 2), ("emphasis", 1)):
        names = v1_tables.COLUMNS[measure]
        for index, name in enumerate(names):
            for text in (str(index), name.lower()):
                if index >= first:
                    assert column(text, measure) == names.index(name)
                else:
                    with pytest.raises(Failure, match=f"-c {text}: {measure} has these columns"):
                        column(text, measure)
        with pytest.raises(Failure, match=f"{first} {names[first]}, "):
            column(str(len(names)), measure)
    assert column(None) is None
    for more in ({"plot": True}, {"output": "a.csv"}):
        with pytest.raises(Failure, match="needs -c COLUMN"):
            column(None, **more)  # type: ignore[arg-type]
