"""End to end: presman (as a process if that matters), the real driver, and a server that speaks Oracle's protocol."""

from __future__ import annotations

import csv
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from presman.base.release import Release
from presman.cli import exit_codes
from presman.cli.command_line import parse
from presman.sources.embedded import EmbeddedDatabase
from tests.cli.run import Run, command, environment, presman
from tests.oracle.bench import fill
from tests.oracle_server import Backend, OracleServer, profile_of

PASSWORD = "s3cr3t-t1ger"


@pytest.fixture(scope="module")
def server() -> Iterator[OracleServer]:
    database = EmbeddedDatabase(Release(19))
    made = OracleServer(Backend(database), profile_of(Release(19)), accounts={"MONITOR": PASSWORD}).start()
    columns = ["INST_ID", "ID", "NAME", "ACTIVE_SESSIONS"]
    made.call(lambda: fill(database))
    made.call(lambda: database.replace("GV$RSRC_CONSUMER_GROUP", columns, [(1, 77, "BATCH", 3)]))
    yield made
    made.stop()
    database.close()


@pytest.fixture
def folder(server: OracleServer, tmp_path: Path) -> Path:
    text = f"[presman]\nconnection_string = monitor/{PASSWORD}@{server.dsn}\nrefresh_rate = 0.5\n"
    (tmp_path / "config.ini").write_text(text, encoding="utf-8")
    (tmp_path / "config.ini").chmod(0o600)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_once_reads_the_database_of_the_configuration(inside: Run) -> None:
    done = inside("once", "--format", "json", "--interval", "0.5")
    assert done.returncode == exit_codes.OK, done.stderr
    found = json.loads(done.stdout)
    assert found["kind"] == "oracle"
    assert found["interval"] is not None
    assert [group["name"] for group in found["groups"]] == ["BATCH"]
    assert not found["troubles"]
    assert PASSWORD not in done.stdout + done.stderr


def test_a_wrong_password_is_one_line_with_its_code(
    server: OracleServer, inside: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRESMAN_PASSWORD", "wr0ng")
    done = inside("once", f"monitor@{server.dsn}")
    assert done.returncode == exit_codes.SOURCE
    assert "ORA-01017" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "wr0ng" not in done.stderr


def test_a_password_on_the_command_line_works_and_warns(server: OracleServer, inside: Run) -> None:
    done = inside("once", f"monitor/{PASSWORD}@{server.dsn}", "--interval", "0.1")
    assert done.returncode == exit_codes.OK
    assert "warning: a password on the command line" in done.stderr
    assert PASSWORD not in done.stdout + done.stderr


def test_thick_mode_without_client_libraries_is_one_line(server: OracleServer, tmp_path: Path) -> None:
    arguments = ("once", "--thick=/nonexistent", f"monitor@{server.dsn}")
    done = presman(*arguments, cwd=tmp_path, env={"PRESMAN_PASSWORD": PASSWORD})
    assert done.returncode == exit_codes.SOURCE
    assert done.stderr.startswith("presman: DPI-1047: ")
    assert done.stderr.endswith("and none were found. Install Instant Client; --thick=LIBDIR says where it is.\n")
    assert done.stderr.count("\n") == 1


def test_thick_takes_no_following_word() -> None:
    for given, folder in (("--thick", ""), ("--thick=/opt/ic", "/opt/ic")):
        for words in (
            ["once", given, "anna@host/svc"],
            [given, "once", "anna@host/svc"],
            ["once", "anna@host/svc", given],
        ):
            name, options = parse(words)
            assert (name, options.target, options.thick) == ("once", "anna@host/svc", folder)
    assert parse(["--thick", "anna@PROD"])[1].target == "anna@PROD"


def test_an_export_survives_a_lost_connection(server: OracleServer, folder: Path) -> None:
    path = folder / "cpu.csv"
    process = subprocess.Popen(
        command("export", "-o", str(path)), cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip

    def polls() -> int:
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return len({row["time"] for row in csv.DictReader(lines)})

    def wait_for(count: int) -> None:
        deadline = time.monotonic() + 50
        while polls() < count:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)

    try:
        wait_for(1)
        before = polls()
        server.drop_sessions()
        wait_for(before + 2)
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=30)
    assert process.returncode == exit_codes.TERMINATED
    assert "presman: presman: lost: " in errors
    assert "trying again in" in errors
    assert PASSWORD not in errors + path.read_text("utf-8")
