"""Incoming statements: which ones queue (PARALLEL_DEGREE_POLICY, hints), and which are long operations."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from presman.rows.session_rows import Session
from presman.sources.simulator.loading import FOLDER
from tests.scenarios import with_short_past
from tests.sources.simulator.conftest import Played

Play = Callable[..., Played]


class Owner(NamedTuple):
    con_id: int
    type: str


class Waits(NamedTuple):
    event: str
    total_waits: int


class Longop(NamedTuple):
    elapsed_seconds: int


@pytest.fixture
def busy(tmp_path: Path, play: Play) -> Callable[[str, str], Played]:
    """Simulate a minute of statements that want all 8 servers each."""

    def played(policy: str, queue: str) -> Played:
        text = (FOLDER / "quiet.toml").read_text()
        text = text.replace(
            "cpu_count = 8", f'cpu_count = 8\nparallel_servers_target = 8\nparallel_degree_policy = "{policy}"'
        )
        text = re.sub(r"every = .*", f'every = "4s"\nqueue = "{queue}"', text.replace("dop = [4]", "dop = [8]"))
        text = text.replace("sessions = 1", "sessions = 6").replace('"12s"', '"60s"').replace('"60m"', '"1m"')
        (tmp_path / "busy.toml").write_text(text)
        return play(tmp_path / "busy.toml").to(60)

    return played


@pytest.mark.parametrize(
    ("policy", "queue", "queues"),
    [
        ("AUTO", "policy", True),
        ("ADAPTIVE", "policy", True),
        ("LIMITED", "policy", False),
        ("MANUAL", "policy", False),
        ("LIMITED", "always", True),
        ("AUTO", "never", False),
    ],
)
def test_statements_that_queue(busy: Callable[[str, str], Played], policy: str, queue: str, queues: bool) -> None:
    waiting = [row for row in busy(policy, queue).rows(Session) if row.event == "resmgr:pq queued"]
    assert bool(waiting) == queues


def test_an_operation_is_long_from_its_sixth_second_on(busy: Callable[[str, str], Played]) -> None:
    played, seen = busy("LIMITED", "policy"), set()
    for second in range(61, 75):
        seen |= {row.elapsed_seconds for row in played.to(second).view("V$SESSION_LONGOPS", Longop)}
    assert min(seen) == 6


@pytest.mark.parametrize(("scenario", "con_id"), [("quiet", 0), ("pdb", 1)])
def test_background_processes_belong_to_the_root(scenario: str, con_id: int, play: Play) -> None:
    found = [row for row in play(with_short_past(scenario)).view("GV$SESSION", Owner) if row.type == "BACKGROUND"]
    assert found
    assert {row.con_id for row in found} == {con_id}


def test_there_are_fewer_commits_than_calls(play: Play) -> None:
    played = play(with_short_past("mixed"))
    before, after = (
        {row.event: row.total_waits for row in played.to(at).view("GV$SYSTEM_EVENT", Waits)} for at in (10, 60)
    )
    commits, calls = (after[event] - before[event] for event in ("log file sync", "SQL*Net message from client"))
    assert 0 < commits < calls
