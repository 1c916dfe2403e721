"""Store tables: made where there are none, checked before anything of them is read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, inspect, text

from presman.recording import schema_check
from presman.recording.measure_tables import selects
from presman.recording.schema import APPLICATION_ID, FORMAT, META, METADATA
from presman.recording.store_errors import DamagedStoreError, RecordingError


def prepare_tables(connection: Connection, name: str) -> None:
    """Make the tables of a store that is written where there are none."""
    if connection.dialect.name == "postgresql":  # recorders that start at the same time would make the tables twice
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({APPLICATION_ID})")
    _check_relations(connection, name, writing=True)
    if inspect(connection).has_table("meta"):
        _check_format(connection, name)
        return
    METADATA.create_all(connection)
    for view, select in selects(connection.dialect.name).items():
        connection.execute(text(f'CREATE VIEW "{view}" AS {select}'))
    from presman import __version__

    connection.execute(
        META.insert(),
        [{"name": "format", "value": str(FORMAT)}, {"name": "made_by", "value": f"presman {__version__}"}],
    )


def damage_of_tables(
    connection: Connection, name: str, translating: Callable[[], AbstractContextManager[None]], *, writing: bool
) -> list[str]:
    """Return what is missing of a store that can be read all the same; `translating` translates errors.

    Raises RecordingError for what is no recording, and for a format that is not known.
    """
    _check_relations(connection, name, writing=writing)
    missing = sorted(set(METADATA.tables) - set(inspect(connection).get_table_names()))
    if len(missing) == len(METADATA.tables):
        raise RecordingError(f"{name} is not a recording of presman")
    damage = []
    try:
        with translating():
            _check_format(connection, name)
    except DamagedStoreError as error:
        if writing:
            raise
        reason = str(error).removeprefix(f"{name} is ")
        damage.append(f"its format cannot be read and is taken to be {FORMAT} ({reason})")
    if {"blocks", "polls"}.issubset(missing):
        raise DamagedStoreError(f"{name} is damaged: without {', '.join(missing)}")
    return [*damage, f"without {', '.join(missing)}"] if missing else damage


def _check_format(connection: Connection, name: str) -> None:
    """Raise RecordingError where what is there has no format, or one not known."""
    version = connection.execute(META.select().where(META.c.name == "format")).first()
    number = str(version.value) if version is not None else ""
    if not number.isdecimal() or len(number) > 6:
        raise DamagedStoreError(f"{name} is not a recording of presman: it has no format")
    if int(number) > FORMAT:
        raise RecordingError(f"{name} has format {int(number)}; this presman reads up to {FORMAT}: install a newer one")
    if int(number) < FORMAT:
        raise RecordingError(f"{name} has format {int(number)}, which no release of presman wrote")


def _check_relations(connection: Connection, name: str, *, writing: bool) -> None:
    """Raise RecordingError where something else than a table stands in PostgreSQL; files look for themselves."""
    is_server = connection.dialect.name == "postgresql"
    if is_server and (relation := schema_check.foreign_relation(connection, writing=writing)):
        raise RecordingError(f"{name}: its {relation} is not what a recorder makes")
