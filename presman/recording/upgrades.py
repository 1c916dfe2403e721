"""Upgrades of recordings that an older presman made: one step from each format to the next, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlalchemy import Connection, text

from presman.recording.measure_views import selects
from presman.recording.schema import META, METADATA

Step = Callable[[Connection], None]


def _nothing_but_tables(_connection: Connection) -> None:
    """Do nothing: what is new are tables."""


STEPS: Mapping[int, Step] = MappingProxyType({1: _nothing_but_tables})
"""What leads from a format to the next, by the older one's number. Tables that are new are made before."""


def upgrade(connection: Connection, found: int, wanted: int, steps: Mapping[int, Step] = STEPS) -> None:
    """Bring a recording from format `found` to `wanted`. Raises LookupError where no way leads there."""
    METADATA.create_all(connection)
    for number in range(found, wanted):
        steps[number](connection)
    for name, select in selects(connection.dialect.name).items():
        connection.execute(text(f'DROP VIEW IF EXISTS "{name}"'))
        connection.execute(text(f'CREATE VIEW "{name}" AS {select}'))
    connection.execute(META.update().where(META.c.name == "format").values(value=str(wanted)))
