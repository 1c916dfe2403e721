"""`presman doctor` and `presman grants`."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

import pytest

from presman.cli import exit_codes
from tests.cli.run import ROOT, Run, environment


def test_doctor_looks_at_a_database(inside: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.oracle_server", "queueing", "--release", "12.1"], cwd=ROOT, env=environment(),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        lines: list[str] = []
        while not (lines and lines[-1].startswith("Ctrl-C")):
            lines.append(process.stdout.readline())
            assert lines[-1], process.communicate()
        address = re.search(r"127\.0\.0\.1:\d+/presman", "".join(lines))
        assert address is not None
        assert "no Oracle database" in "".join(lines)
        monkeypatch.setenv("PRESMAN_PASSWORD", "presman")
        done = inside("doctor", f"presman@{address[0]}")
        assert done.returncode == exit_codes.OK, done.stderr
        assert "Nothing is missing: " in done.stdout
        assert "12.1.0.2.0" in done.stdout
        monkeypatch.setenv("PRESMAN_PASSWORD", "other")
        done = inside("doctor", f"presman@{address[0]}")
        assert done.returncode == exit_codes.SOURCE
        assert "ORA-01017" in done.stderr
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def test_26ai_is_named_as_its_users_do(inside: Run) -> None:
    """26ai is 23ai with later updates, and V$INSTANCE shows 23.26."""
    done = inside("doctor", "demo:quiet?release=26ai")
    assert "release     26ai 23.26.1.0.0 (queries for 23.26)" in done.stdout


def test_doctor_of_a_demo(inside: Run) -> None:
    done = inside("doctor", "demo:quiet")
    assert done.returncode == exit_codes.OK
    assert "this source is inside presman" in done.stdout


def test_doctor_names_a_quiesced_database(inside: Run) -> None:
    finding = "quiesced    ORDERS is QUIESCING: only SYS and SYSTEM get in until ALTER SYSTEM UNQUIESCE\n"
    assert finding in inside("doctor", "demo:quiesce").stdout
    assert "quiesced" not in inside("doctor", "demo:quiet").stdout


def test_grants(inside: Run) -> None:
    done = inside("grants", "--account", "common")
    assert done.returncode == exit_codes.OK
    assert "GRANT READ ON SYS.GV_$SESSION TO C##PRESMAN;" in done.stdout
    assert "GRANT SELECT ON SYS.GV_$SESSION TO PRESMAN;" in inside("grants", "--release", "11.2").stdout
    wrong = inside("grants", "--account", "common", "--release", "11.2")
    assert wrong.returncode == exit_codes.USAGE
    assert "no pluggable databases" in wrong.stderr
    assert inside("grants", "--pdb", "X", "--account", "local").returncode == exit_codes.USAGE
