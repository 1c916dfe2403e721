"""Container limits that leave too few servers: every command names them, beside the group's limit if both apply."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import Run

_CONTAINERS = """
database = "C"
release = "19"
seed = 4
warmup = "10m"
cdb_plan = "CP"
[capacity]
cpu_count = 16
parallel_servers_target = 64
parallel_max_servers = 96
[pdbs]
A = { plan = "AP", shares = 2, parallel_server_limit = 50 }
B = { shares = 1, parallel_server_limit = 25 }
[plans.AP.directives]
REP = { mgmt_p1 = 60, parallel_server_limit = 50 }
OTHER_GROUPS = { mgmt_p1 = 40 }
"""

_STATEMENTS = [
    ("-8m", "A", "REP", 4, 201), ("-5m", "A", "OTHER_GROUPS", 8, 202), ("-4m", "A", "REP", 8, 203),
    ("-5m", "B", "OTHER_GROUPS", 8, 301), ("-3m", "B", "OTHER_GROUPS", 4, 302),
]  # fmt: skip


@pytest.fixture
def containers(tmp_path: Path) -> None:
    """Write a scenario in which a container alone limits B, and A and its group both limit REP."""
    found = ""
    for at, pdb, group, dop, sid in _STATEMENTS:
        found += f'[[script]]\nat = "{at}"\npdb = "{pdb}"\ngroup = "{group}"\ndop = {dop}\nseconds = 900\n'
        found += f'sid = {sid}\nserial = 1\nuser = "U{sid}"\nsql = "select {sid} from a"\n'
    (tmp_path / "pdbs.toml").write_text(_CONTAINERS + found, encoding="utf-8")


@pytest.mark.usefixtures("containers")
def test_the_limit_of_a_container_is_not_called_the_group_s(inside: Run) -> None:
    check = inside("check", "demo:pdbs.toml").stdout
    once = inside("once", "demo:pdbs.toml").stdout
    assert "OTHER_GROUPS (B): 1 queued, head 3:00, short by 8 (container limit)" in check
    assert "1 queued 3:00 (container limit)" in once
    assert "container_limit" in inside("why", "demo:pdbs.toml", "302").stdout
    heads = json.loads(inside("once", "demo:pdbs.toml", "--format", "json").stdout)["heads"]
    assert {head["container"]: (head["cause"], head["held"], head["allowed"]) for head in heads} == {
        "A": ("group", 8, 16),
        "B": ("container", 16, 16),
    }


@pytest.mark.usefixtures("containers")
def test_limits_of_group_and_container_are_both_explained(inside: Run) -> None:
    answer = inside("why", "demo:pdbs.toml", "203").stdout
    assert "its group's limit leaves too few servers (group_limit)" in answer
    assert "REP holds 8 of 16 allowed (50 % of 32); A holds 24 of 32 allowed" in answer
    assert "short by 8 (group limit) and 8 (container limit)" in answer
    assert (
        "REP (A): 1 queued, head 4:00, short by 8 (group limit) and 8 (container limit)"
        in inside("check", "demo:pdbs.toml").stdout
    )
