"""Errors: one line that says what and where, without control sequences."""

from __future__ import annotations

import logging
import os
import shlex
import socket
import subprocess
from pathlib import Path

import pytest

from presman.base.release import Release
from presman.base.secret import Secret
from presman.cli import exit_codes
from presman.config.target import TargetError, parse_zone
from presman.config.target_text import parse_target
from presman.sources import SourceError
from presman.sources.embedded import EmbeddedDatabase
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
from presman.sources.simulator.fields import number
from tests.cli.run import DATA, Run, command, environment, presman
from tests.oracle.bench import RELEASES
from tests.oracle_server import Backend, OracleServer, profile_of
from tests.oracle_server.faults import Cut, Stage
from tests.thorough import some

DESCRIPTOR = "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=db1)(PORT=1522))(CONNECT_DATA=(SERVICE_NAME=x)))"


def one_line(text: str) -> str:
    (line,) = text.splitlines()
    assert line.isprintable()
    return line


@pytest.mark.parametrize(
    ("dsn", "address"),
    [
        ("db1/x", "db1"),
        ("db1:1522/x", "db1:1522"),
        ("//db1:1522/x", "db1:1522"),
        ("tcps://db1:2484/x?wallet=y", "db1:2484"),
        ("[::1]:1521/x", "[::1]:1521"),
        (DESCRIPTOR, "db1:1522"),
        ("PROD", "PROD"),
    ],
)
def test_the_address_of_a_connect_string(dsn: str, address: str) -> None:
    assert ConnectSettings(dsn).address == address


def test_no_answer_names_the_host() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        dsn = f"127.0.0.1:{silent.getsockname()[1]}/x"
        with pytest.raises(SourceError) as caught:
            OracleSource(ConnectSettings(dsn, "u", Secret("p")), connect_timeout=0.2).open()
    message, _, meaning = str(caught.value).partition(" - ")
    assert message == f"{dsn.removesuffix('/x')}: no answer within 0.2 s"
    assert meaning.startswith("a firewall drops the packets")
    assert caught.value.retry


def test_an_unknown_host_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(SourceError) as caught:
        OracleSource(ConnectSettings("dbhost:1521/x", "u", Secret("p"))).open()
    message, _, meaning = str(caught.value).partition(" - ")
    assert message == "dbhost:1521: Name or service not known"
    assert meaning.startswith("the name of the host could not be found.")


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_a_dead_login_leaves_nothing_in_the_log(release: Release, caplog: pytest.LogCaptureFixture) -> None:
    database = EmbeddedDatabase(release)
    with caplog.at_level(logging.DEBUG), OracleServer(Backend(database), profile_of(release)) as server:
        for after in (0, 5, 40):
            server.faults.add(Stage.LOGIN, Cut(after))
            with pytest.raises(SourceError):
                OracleSource(ConnectSettings(server.dsn, "presman", Secret("presman")), connect_timeout=5).open()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
    database.close()


@pytest.mark.parametrize("zone", ["+99:99", "-99:00", "+24:00", "+14:01", "+01:60", "-2460"])
def test_impossible_offsets_are_refused(zone: str, inside: Run) -> None:
    with pytest.raises(TargetError, match="the largest is 14:00"):
        parse_zone(zone)
    done = inside("once", f"spool:.?zone={zone}")
    assert done.returncode == exit_codes.USAGE
    assert "is not an offset" in one_line(done.stderr)


@pytest.mark.parametrize("zone", ["+14:00", "-12", "+05:45", "+0530"])
def test_possible_offsets_are_accepted(zone: str) -> None:
    assert parse_zone(zone).utcoffset(None) is not None


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 10**400])
def test_a_number_of_a_scenario_is_finite(value: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        number()(value)


def test_a_scenario_with_infinite_work_is_refused(inside: Run, tmp_path: Path) -> None:
    from presman.config.target import SCENARIOS

    text = (SCENARIOS / "storm.toml").read_text("utf-8")
    key = next(line for line in text.splitlines() if line.startswith("mb ="))
    (tmp_path / "mine.toml").write_text(text.replace(key, "mb = inf", 1))
    done = inside("once", "demo:mine.toml")
    assert done.returncode == exit_codes.USAGE
    assert one_line(done.stderr).endswith(".mb: must be finite and at most 1e+15, got inf")


@pytest.mark.parametrize("name", ["hex", "rot13", "zip", "idna", "punycode", "undefined", "x\0"])
def test_encodings_of_other_things_than_text_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="is not a known encoding such as euc-kr or cp1252"):
        parse_target(f"spool:{tmp_path}?encoding={name}")


@pytest.mark.parametrize("zone", ["XXX99999999YYY,M99", "XXX25"])
def test_a_time_zone_of_days_is_refused(zone: str, tmp_path: Path) -> None:
    done = presman("once", "demo:quiet", cwd=tmp_path, env={"TZ": zone})
    assert done.returncode == exit_codes.USAGE
    assert one_line(done.stderr) == f"presman: TZ={zone}: a time zone differs from UTC by less than a day"


@pytest.mark.parametrize("arguments", some(["trace {trace}"], ["trace --csv - {trace}", "chart {wide}"]))
def test_a_closed_standard_output_is_reported(arguments: str, tmp_path: Path) -> None:
    done = without(">&-", arguments, tmp_path)
    assert done.returncode == exit_codes.OUTPUT
    assert one_line(done.stderr) == "presman: cannot write standard output: it is closed"


def test_a_closed_standard_error_does_not_stop_a_summary(tmp_path: Path) -> None:
    done = without("2>&-", "trace {trace}", tmp_path)
    assert done.returncode == exit_codes.OK
    assert "log file parallel write" in done.stdout


def without(stream: str, arguments: str, place: Path) -> subprocess.CompletedProcess[str]:
    """Run presman with a closed stream, with readable input files."""
    (place / "wide.csv").write_text("DATETIME,A\n2026-11-22T12:00:00+00:00,1\n")
    written = arguments.format(trace=DATA / "trace_10046_log_file_parallel_write.trc", wide=place / "wide.csv")
    line = f"{shlex.join(command(*written.split()))} {stream}"
    return subprocess.run(
        ["/bin/sh", "-c", line], env=environment(), capture_output=True, text=True, timeout=60, check=False
    )


def test_a_configuration_without_an_end(inside: Run) -> None:
    done = inside("once", "demo", "--config", "/dev/zero")
    assert done.returncode == exit_codes.USAGE
    assert one_line(done.stderr) == "presman: cannot read /dev/zero: it has more than 1,000,000 bytes"


def test_a_configuration_from_a_pipe(inside: Run) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"[mine]\nconnection_string = demo:quiet\n")
    os.close(writing)
    done = inside("config", "mine", "--config", f"/dev/fd/{reading}")
    os.close(reading)
    assert "targets     mine\n" in done.stdout


@pytest.mark.parametrize("command", ["once", "export", "lint", "doctor", "config"])
@pytest.mark.parametrize("target", ["u@\x1b[2J\x9b31mx:1/\x07y", "spool:\x1b[2J", "demo:\x1b[2J", "\x1b]0;x\x07"])
def test_a_target_steers_no_terminal(inside: Run, command: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRESMAN_PASSWORD", "x")
    done = inside(command, target)
    for character in ("\x1b", "\x9b", "\x07"):
        assert character not in done.stdout + done.stderr


def test_the_name_of_a_target_is_clean() -> None:
    assert parse_target("u@\x1b[2Jx:1/y").name == "u@␛[2Jx:1/y"
    assert OracleSource(ConnectSettings("\x1b[2Jx:1/y", "u")).name == "u@␛[2Jx:1/y"


def test_names_of_sections_cannot_steer_the_terminal(inside: Run, tmp_path: Path) -> None:
    (tmp_path / "odd.ini").write_text(
        "[es\x1b[31mc]\nconnection_string = demo\n[bi\u202edi]\nconnection_string = demo\n"
    )
    printed = inside("--config", "odd.ini", "config").stdout
    assert "targets " in printed
    assert not {"\x1b", "\u202e"} & set(printed)
