"""`presman metrics` on the command line: what it refuses, and how it ends."""

from __future__ import annotations

import builtins
import json
import signal
import socket
import subprocess
import urllib.request
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from presman.base.run_status import found_runs
from presman.base.secret import Secret
from presman.cli import metrics_command
from presman.cli.command_line import parse
from presman.cli.exit_codes import Failure
from presman.cli.metrics_command import credentials_of, is_loopback, label_of, refuse_strangers
from presman.config.config_file import read_config
from presman.config.target_text import parse_target
from tests.cli.run import Run, command, environment
from tests.patience import until
from tests.scenarios import with_short_past


def options(*words: str) -> Namespace:
    return parse(["metrics", "demo", *words])[1]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("demo", "--listen", "9730"), "argument --listen: '9730' is not HOST:PORT, such as 127.0.0.1:9730 or"),
        (("demo", "--listen", "127.0.0.1:99999"), "argument --listen: '127.0.0.1:99999' is not HOST:PORT"),
        (("demo", "--listen", "::1:9730"), "argument --listen: '::1:9730' is not HOST:PORT"),
        (("demo", "--listen", "0.0.0.0:9730"), "anyone could read the metrics at 0.0.0.0: metrics_user in config.ini"),
        (("demo", "--key", "x.pem"), "--key goes with --certificate"),
        (("demo", "--client-ca", "x.pem"), "--client-ca goes with --certificate"),
        (("demo", "--certificate", "away.pem"), "cannot read away.pem: No such file or directory"),
        (("demo", "demo"), "demo:mixed appears twice: give each a section of config.ini with its own name"),
        (("demo", "--otlp", "collector:4318"), "--otlp: not a URL such as http://collector:4318"),
        (("demo", "--interval", "0.1"), "argument --interval: 0.1 is below the minimum of 0.5 seconds"),
        (("demo:nothing",), "no scenario 'nothing'"),
        ((), "no TARGET, and config.ini names none"),
    ],
)
def test_wrong_use_is_a_line(inside: Run, words: tuple[str, ...], line: str) -> None:
    done = inside("metrics", *words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"presman: {line}")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_targets_that_end_are_refused(inside: Run) -> None:
    Path("spool").mkdir()
    done = inside("metrics", "spool:spool")
    assert (done.returncode, done.stderr) == (2, "presman: spool:spool is not a live database: metrics need one\n")


def test_a_port_in_use_is_a_line(inside: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = inside("metrics", "demo", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert done.returncode == 2
    assert done.stderr.endswith(": Address already in use\n")


def test_a_missing_library_is_named(inside: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def lacking(name: str, *rest: Any) -> Any:
        if name == "presman.services.metrics.otlp_push":
            raise ModuleNotFoundError(name="opentelemetry.sdk")
        return usual(name, *rest)

    monkeypatch.setattr(builtins, "__import__", lacking)
    done = inside("metrics", "demo", "--otlp", "http://127.0.0.1:1")
    assert (done.returncode, done.stderr) == (2, "presman: no opentelemetry.sdk: pip install 'presman[otlp]'\n")


def test_strangers_are_refused_beyond_this_machine() -> None:
    known = metrics_command.credentials_of  # any value but None
    for host in ("127.0.0.1", "127.9.9.9", "localhost", "[::1]"):
        refuse_strangers(options("--listen", f"{host}:1"), None)
    for host in ("0.0.0.0", "[::]", "192.0.2.1", "db.example.com", "[::ffff:192.0.2.1]"):
        with pytest.raises(Failure, match="anyone could read the metrics"):
            refuse_strangers(options("--listen", f"{host}:1"), None)
        with pytest.raises(Failure, match=r"the password would go to .* unencrypted"):
            refuse_strangers(options("--listen", f"{host}:1"), known)  # type: ignore[arg-type]
        refuse_strangers(options("--listen", f"{host}:1", "--certificate", "x"), known)  # type: ignore[arg-type]
        refuse_strangers(options("--listen", f"{host}:1", "--certificate", "x", "--client-ca", "y"), None)
        refuse_strangers(options("--listen", f"{host}:1", "--insecure"), None)
    assert not is_loopback("")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("monitor/geheim@dbhost:1521/prod", "dbhost:1521/prod"),
        ("monitor@dbhost/prod", "dbhost/prod"),
        ("//dbhost/prod", "//dbhost/prod"),
        ("me@(DESCRIPTION=(ADDRESS=(HOST=h1)(PORT=1522))(CONNECT_DATA=(SERVICE_NAME=s1)))", "h1:1522/s1"),
        ("demo:mixed?seed=3", "demo:mixed?seed=3"),
        ("prod", "prod"),
    ],
)
def test_a_label_has_the_address_and_no_user(tmp_path: Path, text: str, label: str) -> None:
    file = tmp_path / "config.ini"
    file.write_text("[prod]\nconnection_string = me/geheim@dbhost/x\n")
    assert label_of(parse_target(text, read_config(file))) == label


def test_the_configuration_sets_the_credentials_for_scrapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.ini"

    def found(text: str) -> object:
        file.write_text(text)
        file.chmod(0o600)
        return credentials_of(read_config(file))

    assert found("") is None
    expected = ("prometheus", Secret("geheim"))
    assert found("[presman]\nmetrics_user = prometheus\nmetrics_password = geheim\n") == expected
    assert found("[presman]\nmetrics_user = prometheus\nmetrics_password_command = echo geheim\n") == expected
    with pytest.raises(Failure, match="there is metrics_user for metrics, but not a password"):
        found("[presman]\nmetrics_user = prometheus\n")
    with pytest.raises(Failure, match="there is a password for metrics, but not metrics_user"):
        found("[presman]\nmetrics_password = geheim\n")
    with pytest.raises(Failure, match="has a colon"):
        found("[presman]\nmetrics_user = a:b\nmetrics_password = geheim\n")
    with pytest.raises(Failure, match=r"^metrics_password_command: false ended with code 1"):
        found("[presman]\nmetrics_user = prometheus\nmetrics_password_command = false\n")
    monkeypatch.setenv("PRESMAN_METRICS_PASSWORD", "geheim")
    assert found("[presman]\nmetrics_user = prometheus\n") == expected
    file.chmod(0o666)
    file.write_text("[presman]\nmetrics_user = prometheus\nmetrics_password_command = echo geheim\n")
    with pytest.raises(Failure, match="is not run, others may change"):
        credentials_of(read_config(file))


def test_the_password_is_of_the_whole_process(tmp_path: Path, inside: Run) -> None:
    (tmp_path / "config.ini").write_text("[prod]\nconnection_string = demo\nmetrics_password = geheim\n")
    done = inside("metrics", "prod")
    assert done.returncode == 2
    assert "[prod] metrics_password: put it into [presman]" in done.stderr
    assert "geheim" not in done.stderr


def _polls(path: Path) -> list[dict[str, Any]]:
    return [each for each in _events(path) if each["event"] == "polled"]


def test_metrics_are_served_until_a_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (
        "metrics", f"demo:{with_short_past('quiet')}", "--listen", "127.0.0.1:0", "--interval", "0.5",
        "--log-file", "log", "--log-format", "json", "--log-level", "debug",
    )  # fmt: skip
    process = subprocess.Popen(
        command(*words), cwd=tmp_path, env=environment(XDG_STATE_HOME=str(tmp_path)), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    try:
        assert process.stderr is not None
        until(lambda: _events(tmp_path / "log"), "the first event")
        started = _events(tmp_path / "log")[0]
        assert started["event"] == "started"
        assert started["message"].endswith("/metrics; Ctrl-C ends it")
        url = started["message"].partition(" at ")[2].partition(";")[0]
        until(lambda: b"} 1.0" in _up(url), "the first poll")
        until(lambda: _polls(tmp_path / "log"), "its event")
        polled = _polls(tmp_path / "log")[0]
        assert polled["poll"] == 1
        assert polled["database"].startswith("demo:")
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        (run,) = found_runs()
        assert (run.status.command, run.status.output, run.alive) == ("metrics", url, True)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
        assert process.stderr.read() == ""
        assert found_runs() == []
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def _events(log: Path) -> list[dict[str, Any]]:
    """Return the events of a log so far."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def _up(url: str) -> bytes:
    """Return the line of the database's state, "" before the state is known."""
    with urllib.request.urlopen(url, timeout=60) as response:
        return b"".join(line for line in response if line.startswith(b"presman_up{"))
