"""Kind of a database, in words; what cannot be known is left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from presman.rows.instance_rows import SEED, Database, Instance, Pdb, SystemEvent

ROOT = "CDB$ROOT"


def container_of(pdbs: Sequence[Pdb]) -> str:
    """Return the container connected to: a pluggable database sees only itself in V$PDBS, the root sees the seed."""
    return pdbs[0].name if len({row.con_id for row in pdbs}) == 1 and pdbs[0].con_id > SEED else ROOT


def on_exadata(events: Iterable[SystemEvent]) -> bool:
    """Whether storage cells answered: their waits begin with "cell" and are counted nowhere else (V$SYSTEM_EVENT)."""
    return any(row.event.startswith("cell ") and (row.total_waits or 0) > 0 for row in events)


def database_kind(
    databases: Sequence[Database],
    instances: Sequence[Instance],
    pdbs: Sequence[Pdb],
    events: Iterable[SystemEvent],
    cloud_service: str = "",
) -> tuple[str, ...]:
    """Return the words for a database, read from its views.

    Containers: V$DATABASE.CDB and V$PDBS. RAC: V$INSTANCE.PARALLEL, or several instances. Exadata: waits for storage
    cells; without one yet nothing is said. Autonomous: `cloud_service`, which is SYS_CONTEXT's CLOUD_SERVICE.
    """
    words = []
    if databases:
        in_root = container_of(pdbs) == ROOT
        words.append("non-CDB" if databases[0].cdb != "YES" else "CDB root" if in_root else "PDB")
    if len({row.inst_id for row in instances}) > 1 or any(row.parallel == "YES" for row in instances):
        words.append("RAC")
    if on_exadata(events):
        words.append("Exadata")
    if cloud_service:
        words.append(f"Autonomous Database ({cloud_service})")
    return tuple(words)
