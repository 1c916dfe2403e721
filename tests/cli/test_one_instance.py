"""One instance of a cluster: queue and limits are those of the cluster, so no command may call the queue empty."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import Run

_TWO_INSTANCES = """
database = "S"
release = "19"
seed = 4
warmup = "10m"
plan = "DP"
[capacity]
instances = 2
cpu_count = 8
parallel_servers_target = 32
parallel_max_servers = 64
[plans.DP.directives]
SYS_GROUP = { mgmt_p1 = 75 }
REP = { mgmt_p2 = 40, parallel_server_limit = 50 }
OTHER_GROUPS = { mgmt_p2 = 60 }
"""


def _statement(at: str, instance: int, sid: int, dop: int = 8, **more: object) -> str:
    found = {"at": at, "instance": instance, "sid": sid, "serial": 1, "group": "REP", "dop": dop, "user": f"U{sid}"}
    found |= {"seconds": 900, "sql": f"select {sid} from a", **more}
    return "[[script]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in found.items())


@pytest.fixture
def cluster(tmp_path: Path) -> None:
    """Write a cluster whose queue has statements only on instance 2, and one that has them on both."""
    elsewhere = _statement("-8m", 2, 201, seconds=3, hold="12h") + _statement("-5m", 1, 202) + _statement("-4m", 2, 203)
    (tmp_path / "elsewhere.toml").write_text(_TWO_INSTANCES + elsewhere, encoding="utf-8")
    both = elsewhere.replace("instance = 2", "instance = 1", 1)
    (tmp_path / "both.toml").write_text(_TWO_INSTANCES + both + _statement("-3m", 1, 204, 4), encoding="utf-8")


@pytest.mark.usefixtures("cluster")
def test_a_queue_on_another_instance_is_not_called_empty(inside: Run) -> None:
    asked = ("demo:elsewhere.toml", "--scope", "instance")
    assert inside("check", "demo:elsewhere.toml").returncode == 1
    done = inside("check", *asked)
    assert done.returncode == 3
    assert "whether there is a queue on other instances (one instance of a cluster is read)" in done.stdout
    assert "queued=U" in done.stdout
    assert "servers_idle_held=U" in done.stdout
    rules = dict(line.split()[1::-1] for line in inside("alerts", *asked).stdout.splitlines()[1:] if line[:1].strip())
    unknown = {"queue_waits", "queue_timeout", "idle_holder", "blocked_holder", "instance_gone", "not_known"}
    assert {rules[name] for name in unknown} == {"unknown"}
    assert rules["cpu_starved"] == "ok", "of the CPU of this instance"
    once = inside("once", *asked).stdout
    assert "No starved group, no downgrade in 1 s on instance 1 (by" in once
    assert "Nothing is wrong" not in once + inside("fleet", *asked).stdout
    assert "16/50 %" in once, "the number of servers is known only for all instances"


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(("session", "code"), [("2:203", 3), ("203", 3), ("2:201", 3), ("1:777", 5), ("1:202", 0)])
def test_the_state_of_a_session_on_another_instance_is_not_known(inside: Run, session: str, code: int) -> None:
    done = inside("why", "demo:elsewhere.toml", session, "--scope", "instance")
    assert done.returncode == code
    assert ("cannot tell" in done.stdout) is (code == 3)


@pytest.mark.usefixtures("cluster")
def test_no_end_is_proven_for_a_queue_seen_in_part(inside: Run) -> None:
    whole = inside("check", "demo:both.toml", "-v").stdout
    assert "DO end U201 1:201" in whole
    assert "ALTER SYSTEM KILL" in whole
    part = inside("check", "demo:both.toml", "-v", "--scope", "instance")
    assert part.returncode == 1
    assert "REP: 1 queued, head 3:00, why it waits is not known" in part.stdout
    assert (
        "DO wait: how many servers are in use or allowed is not known (one instance of a cluster is read)"
        in part.stdout
    )
    done = inside("why", "demo:both.toml", "204", "--scope", "instance")
    assert done.returncode == 3
    for text in (part.stdout, done.stdout):
        assert not [words for words in ("proven", "ALTER SYSTEM", "short by", "allowed (") if words in text]


@pytest.mark.usefixtures("cluster")
def test_the_servers_of_an_idle_holder_are_not_called_unwanted(inside: Run, tmp_path: Path) -> None:
    path = tmp_path / "elsewhere.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("instance = 2", "instance = 1", 1), encoding="utf-8")
    done = inside("check", "demo:elsewhere.toml", "-v", "--scope", "instance")
    assert "1 idle holder keeps 8 servers" in done.stdout
    assert "DO" not in done.stdout


@pytest.mark.usefixtures("cluster")
def test_a_queue_seen_in_part_is_not_replayed(inside: Run) -> None:
    inside("record", "demo:both.toml?speed=60", "--scope", "instance", "--polls", "3", "-o", "a.presman")
    for command in (("whatif", "--limit", "REP=100"), ("advise", "--goal", "90 % of REP start within 30 s")):
        done = inside(command[0], "a.presman", *command[1:])
        assert done.returncode
        assert "one instance of a cluster is read: when statements would start is known only" in done.stderr
