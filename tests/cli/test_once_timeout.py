"""`presman once` answers in time, and its exit code says whether the answer is complete."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from presman.base.release import Release
from presman.cli import exit_codes
from presman.rows.session_rows import Session
from presman.rows.snapshot import Problem
from presman.sources.simulator_source import SimulatorSource
from tests.cli.run import Run
from tests.oracle_server import OracleServer
from tests.oracle_server.faults import Delay, Mute, Stage
from tests.oracle_server.simulated import simulated_server
from tests.recording.recorded import polled, record
from tests.scenarios import with_short_past
from tests.warmups import each_played


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OracleServer]:
    simulator = SimulatorSource(with_short_past("quiet"), release=Release(19), seed=3)
    simulator.open()
    with simulated_server(simulator, Release(19)) as made:
        monkeypatch.setenv("PRESMAN_PASSWORD", "presman")
        yield made
    simulator.close()


def once(inside: Run, server: OracleServer, *options: str) -> tuple[int, str, str, float]:
    # The fixture clears the password: it belongs to this test.
    begun = time.monotonic()
    done = inside("once", f"presman/presman@{server.dsn}", "--format", "json", "--interval", "0.2", *options)
    errors = "\n".join(line for line in done.stderr.splitlines() if "password" not in line)
    return done.returncode, done.stdout, errors, time.monotonic() - begun


def test_all_answered(inside: Run, server: OracleServer) -> None:
    code, out, errors, _ = once(inside, server, "--timeout", "30")
    assert (code, errors) == (exit_codes.OK, "")
    assert json.loads(out)["late"] == []


def test_a_hanging_view_makes_the_result_partial(inside: Run, server: OracleServer) -> None:
    server.faults.add(Stage.STATEMENT, Delay(60), "count(*) as sessions", times=-1)  # the last query
    code, out, errors, seconds = once(inside, server, "--timeout", "4")
    assert code == exit_codes.PARTIAL == 7
    assert errors == "presman: did not answer: GV$SESSION"
    assert json.loads(out)["late"] == [{"view": "GV$SESSION", "age": None}]
    assert json.loads(out)["header"]["version"]
    assert seconds < 30


@pytest.mark.parametrize("stage", [Stage.CONNECT, Stage.STATEMENT])
def test_a_silent_server_is_reported(inside: Run, server: OracleServer, stage: Stage) -> None:
    server.faults.add(stage, Mute(), times=-1)
    code, out, errors, seconds = once(inside, server, "--timeout", "2")
    assert (code, out) == (exit_codes.SOURCE, "")
    assert errors.count("\n") == 0
    assert "no answer within" in errors
    assert seconds < 30


def test_a_warm_up_that_takes_too_long_is_given_up(inside: Run) -> None:
    """The timeout began only after the warm-up, which takes minutes at that size."""
    begun = time.monotonic()
    with each_played():
        done = inside("once", "demo:storm?size=64", "--timeout", "0.2")
    assert (done.returncode, done.stdout) == (exit_codes.SOURCE, "")
    assert done.stderr.strip().endswith("no answer within 0.2 s")
    assert len(done.stderr.splitlines()) == 1
    assert time.monotonic() - begun < 20


def test_no_view_at_all_answers(inside: Run, server: OracleServer) -> None:
    server.faults.chooser = lambda _stage, sql: (
        Delay(60) if "dual" not in sql.lower() and "select" in sql.lower() else None
    )
    code, out, errors, seconds = once(inside, server, "--timeout", "3")
    assert (code, out) == (exit_codes.SOURCE, "")
    assert "no view answered" in errors
    assert seconds < 30


def test_a_view_that_did_not_answer_in_a_recording_is_not_called_late(inside: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    moments = list(polled("quiet", 3))
    last, reading = moments[-1]
    late = replace(last.sections[Session], problem=Problem("", "no answer in time", "GV$SESSION", late=True))
    late_poll = replace(last, sections=MappingProxyType({**last.sections, Session: late}))
    record(path, [*moments[:-1], (late_poll, reading)])
    done = inside("once", str(path))
    assert (done.returncode, done.stderr.strip()) == (exit_codes.PARTIAL, "presman: did not answer: GV$SESSION")
