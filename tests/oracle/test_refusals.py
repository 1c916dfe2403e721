"""A database that refuses logins: when presman tries again, with which password, and the reason shown at the end."""

from __future__ import annotations

import subprocess
import threading
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest

from presman.base.release import Release
from presman.cli import exit_codes
from presman.cli.settings import load, resolve
from presman.cli.start import _head_start
from presman.polling import sampler
from presman.polling.poll_events import Event, Polled, SourceLost
from presman.polling.sampler import PolledSource
from presman.sources import LoginRefusal, Source
from presman.sources.simulator_source import SimulatorSource
from tests.cli.run import Run
from tests.oracle_server import OracleServer
from tests.oracle_server.faults import Action, Ora, Stage
from tests.oracle_server.simulated import simulated_server
from tests.patience import until
from tests.scenarios import with_short_past
from tests.thorough import some


class Door:
    """Cuts the session at the third poll, and then refuses the next `refusals` logins (-1: all).

    `knocks` are the connections. If there is a new `password`, the old one is wrong from then on.
    """

    def __init__(self, server: OracleServer, code: int = 1017, refusals: int = -1, password: str = "") -> None:
        self._server, self._code, self._refusals, self._password = server, code, refusals, password
        self._polls = self.knocks = 0
        server.faults.chooser = self

    def __call__(self, stage: Stage, sql: str) -> Action | None:
        self.knocks += stage is Stage.CONNECT
        if stage is Stage.STATEMENT and "osstat" in sql.lower():
            self._polls += 1
            if self._polls == 3:
                self._server.accounts = {"PRESMAN": self._password or "presman"}
                return Ora(3113, "end-of-file on communication channel")
        is_refused = self.knocks > 1 and (self._refusals < 0 or self.knocks <= 1 + self._refusals)
        return Ora(self._code, "not now") if stage is Stage.LOGIN and is_refused and not self._password else None


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OracleServer]:
    simulator = SimulatorSource(with_short_past("quiet"), release=Release(19), seed=3)
    simulator.open()
    monkeypatch.setattr(sampler, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(sampler, "REFUSED_PAUSE", 0.02)
    with simulated_server(simulator, Release(19)) as made:
        yield made
    simulator.close()


def record(inside: Run, target: str, *more: str) -> subprocess.CompletedProcess[str]:
    return inside("record", target, "-o", "x.presman", "--interval", "0.5", *more)


def config(folder: Path, server: OracleServer, password: str) -> None:
    """Write a config.ini for the server; `password` is one of its lines."""
    path = folder / "new.ini"
    path.write_text(f"[prod]\ndsn = {server.dsn}\nuser = presman\n{password}\n")
    path.chmod(0o600)
    path.replace(folder / "config.ini")


@pytest.mark.parametrize(
    ("code", "hint"),
    some([(28001, "the password has expired")], [(1017, "the database answers, but user or password is wrong")]),
)
def test_a_recorder_that_is_refused_ends_with_the_reason(
    inside: Run, server: OracleServer, code: int, hint: str
) -> None:
    door = Door(server, code)
    done = record(inside, f"presman/presman@{server.dsn}")
    *_, lost, written, last = done.stderr.splitlines()
    name, why = f"presman@{server.dsn}", f"ORA-{code:05}: not now - {hint}"
    assert done.returncode == exit_codes.SOURCE
    assert lost.startswith(f"presman: {name}: lost: {why}")
    assert lost.endswith("; not tried again")
    assert written == f"presman: 2 polls of {name} written"
    assert last.startswith(f"presman: nothing is left to record: {name}: {why}")
    assert door.knocks == 2, "one login was refused, and no other tried"


def test_a_locked_account_is_tried_again_until_it_is_unlocked(inside: Run, server: OracleServer) -> None:
    door = Door(server, 28000, refusals=3)
    done = record(inside, f"presman/presman@{server.dsn}", "--polls", "4")
    assert done.returncode == exit_codes.OK
    lines = [line for line in done.stderr.splitlines() if "lost" in line or "connected" in line]
    assert ["ORA-03113" in lines[0], "ORA-28000" in lines[1]] == [True, True]
    assert "ALTER USER ... ACCOUNT UNLOCK unlocks it" in lines[1]
    assert lines[1].endswith("; tried again every 0 s"), "the pause of this test; once, not three times"
    assert lines[2].endswith("connected again")
    assert len(lines) == 3
    assert door.knocks == 1 + 3 + 1


def searches_for_another(monkeypatch: pytest.MonkeyPatch) -> list[Source | None]:
    """Return a list that gets the result of each search for another password."""
    looks: list[Source | None] = []
    look = PolledSource._renewed

    def noted(source: PolledSource) -> Source | None:
        looks.append(look(source))
        return looks[-1]

    monkeypatch.setattr(PolledSource, "_renewed", noted)
    return looks


@pytest.mark.parametrize("by_command", some([True], [False]))
def test_after_a_wrong_password_another_one_is_waited_for(
    inside: Run, server: OracleServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_command: bool
) -> None:
    kept = tmp_path / "kept"
    kept.write_text("presman\n")
    config(tmp_path, server, f"password_command = cat {kept}" if by_command else "password = presman")
    door, looks = Door(server, password="another"), searches_for_another(monkeypatch)

    def change() -> None:
        until(lambda: len(looks) > 3, "a few searches for another password, without a login")
        if by_command:
            kept.write_text("another\n")
        else:
            config(tmp_path, server, "password = another")

    changed = threading.Thread(target=change)
    changed.start()
    done = record(inside, "prod", "--config", str(tmp_path / "config.ini"), "--polls", "4")
    changed.join()
    assert done.returncode == exit_codes.OK
    assert "tried again once the password changes, checked every 0 s" in done.stderr
    assert done.stderr.splitlines()[-2:] == ["presman: prod: connected again", "presman: 4 polls of prod written"]
    assert door.knocks == 3, "right, refused, right again"


def test_another_password_that_is_there_already_is_tried_at_once(
    inside: Run, server: OracleServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler, "REFUSED_PAUSE", 600.0)
    config(tmp_path, server, "password = presman")
    door = Door(server, password="another")
    changed = threading.Thread(
        target=lambda: (until(lambda: door.knocks, "a login"), config(tmp_path, server, "password = another"))
    )
    changed.start()
    done = record(inside, "prod", "--config", str(tmp_path / "config.ini"), "--polls", "4")
    changed.join()
    assert done.returncode == exit_codes.OK
    assert done.stderr.splitlines()[-2:] == ["presman: prod: connected again", "presman: 4 polls of prod written"]
    assert door.knocks == 3, "right, refused, right again"


def test_presman_does_not_wait_if_the_password_was_never_right(
    inside: Run, server: OracleServer, tmp_path: Path
) -> None:
    config(tmp_path, server, "password = wrong")
    door = Door(server)
    done = record(inside, "prod", "--config", str(tmp_path / "config.ini"))
    assert done.returncode == exit_codes.SOURCE
    assert done.stderr.splitlines()[-1].startswith("presman: nothing is left to record: prod: ORA-01017")
    assert door.knocks == 1


def test_a_monitor_takes_the_password_that_was_corrected_in_config_ini(
    server: OracleServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its source is in a process of its own, which had begun with the wrong one."""
    monkeypatch.setattr("presman.cli.settings.bound_memory", lambda: None)
    config(tmp_path, server, "password = wrong")
    names = ["packs", "refresh", "scope", "theme", "poll_timeout", "at", "start", "end", "thick"]
    options = Namespace(**dict.fromkeys(names), config=str(tmp_path / "config.ini"))
    events: list[Event] = []
    head_start = _head_start(resolve("prod", load(options), options), None)
    assert head_start is not None
    try:
        head_start.attach(events.append)
        until(lambda: events, "the login is refused")
        (lost, *_) = events
        assert isinstance(lost, SourceLost)
        assert (lost.refusal, lost.retry_in) == (LoginRefusal.PASSWORD, sampler.REFUSED_PAUSE)
        config(tmp_path, server, "password = presman")
        until(lambda: isinstance(events[-1], Polled), "a poll with the other password")
    finally:
        head_start.end()
