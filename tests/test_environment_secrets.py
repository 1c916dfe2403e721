"""Passwords in the environment: child processes do not inherit them, and process lists do not show them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from presman.base import secret
from presman.base.secret import METRICS_PASSWORD, PASSWORD, Secret, of_environment
from tests.cli.run import Run, environment

needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")


@pytest.fixture(autouse=True)
def nothing_is_kept() -> None:
    secret.forget()


def test_a_taken_secret_is_known_only_to_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD, "tiger")
    monkeypatch.delenv(METRICS_PASSWORD, raising=False)
    secret.take_from_environment()
    assert PASSWORD not in os.environ
    assert of_environment(PASSWORD) == Secret("tiger")
    assert of_environment(METRICS_PASSWORD) is None
    secret.take_from_environment()
    assert of_environment(PASSWORD) is None, "of another run, which brought none"
    monkeypatch.setenv(PASSWORD, "")
    secret.take_from_environment()
    assert of_environment(PASSWORD) is None


CHILDREN = """
import os, sys
from presman.base import secret
from presman.base.child import Child
secret.take_from_environment()
before = Child("tests.test_environment_secrets", "tell_environment")  # a copy of this process
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
after = Child("tests.test_environment_secrets", "tell_environment")  # a new one
for name, read in (("own", open("/proc/self/environ", "rb").read()), ("copy", before.line.recv(1 << 20)),
                   ("new", after.line.recv(1 << 20))):
    print(name, b"KEPT=here" in read, b"tiger" in read, b"lion" in read)
print(secret.of_environment("PRESMAN_PASSWORD").reveal())
before.end(), after.end()
"""


def tell_environment() -> None:
    """Send the parent of this process its environment, as the system shows it to others."""
    os.write(3, Path("/proc/self/environ").read_bytes())
    os.read(3, 1)


@needs_proc
def test_the_system_shows_no_secret_of_presman_and_its_children(tmp_path: Path) -> None:
    brought = environment(PRESMAN_PASSWORD="tiger", PRESMAN_METRICS_PASSWORD="lion", KEPT="here")
    done = subprocess.run(
        [sys.executable, "-c", CHILDREN], cwd=tmp_path, env=brought, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "own True False False",
        "copy True False False",
        "new True False False",
        "tiger",
    ]


def test_a_command_that_prints_a_password_has_no_other(
    inside: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "command"
    command.write_text(f"#!/bin/sh\nenv > {tmp_path}/seen\nexit 1\n")
    command.chmod(0o700)
    config = tmp_path / "given.ini"
    config.write_text(f"[prod]\ndsn = dbhost/prod\nuser = scott\npassword_command = {command}\n")
    monkeypatch.setenv(PASSWORD, "tiger")
    monkeypatch.setenv(METRICS_PASSWORD, "lion")
    assert "ended with code 1" in inside("once", "prod", "--config", str(config)).stderr
    seen = (tmp_path / "seen").read_text()
    assert "PATH=" in seen
    assert not [word for word in ("tiger", "lion") if word in seen]
