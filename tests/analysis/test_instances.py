from __future__ import annotations

from typing import Any

import pytest

from presman.analysis.instances import database_kind
from presman.rows.instance_rows import Database, Instance, Pdb, SystemEvent
from tests.analysis.make import row

SEED, APP, OTHER = (row(Pdb, con_id=number, name=name) for number, name in ((2, "PDB$SEED"), (3, "APP"), (4, "DWH")))
CDB, NO_CDB = row(Database, cdb="YES"), row(Database, cdb="NO")
CELLS = row(SystemEvent, event="cell single block physical read", total_waits=7)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ()),
        ({"databases": [NO_CDB]}, ("non-CDB",)),
        ({"databases": [CDB], "pdbs": [SEED, APP, OTHER]}, ("CDB root",)),
        ({"databases": [CDB], "pdbs": [SEED]}, ("CDB root",)),
        ({"databases": [CDB], "pdbs": [APP]}, ("PDB",)),
        ({"databases": [CDB], "pdbs": [APP, APP._replace(inst_id=2)]}, ("PDB",)),
        ({"instances": [row(Instance, parallel="NO")]}, ()),
        ({"instances": [row(Instance, parallel="YES")]}, ("RAC",)),
        ({"instances": [row(Instance), row(Instance, inst_id=2)]}, ("RAC",)),
        ({"events": [row(SystemEvent, event="db file sequential read", total_waits=7)]}, ()),
        ({"events": [row(SystemEvent, event="cell smart table scan", total_waits=0)]}, ()),
        ({"databases": [NO_CDB], "events": [CELLS]}, ("non-CDB", "Exadata")),
        ({"databases": [CDB], "pdbs": [APP], "cloud_service": "OLTP"}, ("PDB", "Autonomous Database (OLTP)")),
    ],
)
def test_the_kind_of_a_database_in_words(given: dict[str, Any], words: tuple[str, ...]) -> None:
    views: dict[str, Any] = {"databases": [], "instances": [], "pdbs": [], "events": []}
    assert database_kind(**(views | given)) == words
