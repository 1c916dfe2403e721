"""`presman serve`: what it refuses, its first messages, the monitors' arguments. See tests/services/serve."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from presman.base import secret
from presman.base.secret import PASSWORD, Secret
from presman.cli import exit_codes, serve_command, served_monitor
from presman.services.live import LiveTarget
from presman.services.serve import viewer_site
from presman.services.serve.access import Serving
from presman.tui import served_app
from tests.cli.run import Run
from tests.cli.test_usage import complaint
from tests.oracle.test_login import Authority

QUIET = "demo:quiet"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--listen", "127.0.0.1:99999"], "is not HOST:PORT"),
        (["--listen", "192.0.2.1:0"], "cannot listen at 192.0.2.1:0: "),
        (["--listen", "0.0.0.0:0", "--no-token"], "--no-token goes with loopback"),
        (["--no-token", "--token-file", "x"], "contradict"),
        (["--token-file", "missing"], "cannot read missing: No such file"),
        (["--token-file", "short"], "short: its first line is not a token of at least 16 characters"),
        (["--token-file", "binary"], "cannot read binary: it is not UTF-8"),
        (["--key", "x"], "--key goes with --certificate"),
        (["--certificate", "missing"], "cannot read missing: No such file"),
        (["--certificate", "short"], "short: no certificate with its key"),
        (["--public", "dba.example.com"], "is not a URL such as https://"),
        (["--public", "https://[::1"], "is not a URL such as https://"),
        (["--public", "https://user@dba.example.com/"], "is not a URL such as https://"),
        (["--viewers", "0"], "'0' is not a whole number"),
        (["--theme", "nrod"], "did you mean 'nord'?"),
        (["--allow-actions"], "unknown option --allow-actions"),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], expected: str, inside: Run, tmp_path: Path) -> None:
    (tmp_path / "short").write_text("tiger\n")
    (tmp_path / "binary").write_bytes(b"\xff" * 20)
    assert expected in complaint(inside("serve", QUIET, *arguments), exit_codes.USAGE)


def test_a_port_in_use_is_reported(inside: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        assert f"cannot listen at {place}: Address already" in complaint(
            inside("serve", QUIET, "--listen", place), exit_codes.USAGE
        )


def test_without_the_extra_the_package_to_install_is_named(inside: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual_serve", None)
    message = complaint(inside("serve", QUIET), exit_codes.USAGE)
    assert message == "presman: presman serve needs textual_serve: pip install 'presman[web]'"


Serves = Callable[..., tuple[list[str], Serving]]


@pytest.fixture
def serves(inside: Run, monkeypatch: pytest.MonkeyPatch) -> Serves:
    """Run the command until browsers could connect, and end it; return its output and its arguments."""
    served: list[Serving] = []

    def run(serving: Serving, sockets: list[socket.socket], _tls: object, ready: Callable[[], None]) -> int:
        served.append(serving)
        ready()
        for each in sockets:
            each.close()
        return int(signal.SIGTERM)

    monkeypatch.setattr(viewer_site, "run", run)

    def serve(*arguments: str) -> tuple[list[str], Serving]:
        done = inside("serve", *arguments, *(() if "--listen" in arguments else ("--listen", "127.0.0.1:0")))
        assert (done.returncode, done.stdout) == (exit_codes.TERMINATED, ""), done.stderr
        return done.stderr.splitlines(), served[-1]

    return serve


def test_on_loopback_a_token_is_optional(serves: Serves) -> None:
    lines, serving = serves(QUIET, "--viewers", "2")
    assert lines[0] == "presman: serving demo:quiet to at most 2 viewers; Ctrl-C ends it"
    assert "anyone logged in to this machine" in lines[1]
    assert lines[2].startswith("presman: open http://127.0.0.1:")
    assert serving.access.token is None
    assert serving.access.only_loopback
    assert serving.access.names == {"localhost"}
    lines, serving = serves(QUIET, "--token")
    assert serving.access.token is not None
    assert lines[-1].endswith(f"/?token={serving.access.token.reveal()}")
    assert len(lines) == 2


def test_other_interfaces_get_a_token_and_a_warning(serves: Serves, tmp_path: Path) -> None:
    lines, serving = serves(QUIET, "--listen", "0.0.0.0:0")
    assert serving.access.token is not None
    assert len(serving.access.token.reveal()) >= 32
    assert not serving.access.only_loopback
    assert socket.gethostname().lower() in serving.access.names
    assert "warning: other machines reach it" in lines[1]
    assert "warning: the line is not encrypted" in lines[2]
    assert lines[3].startswith(f"presman: open http://{socket.gethostname()}:")
    again, _ = serves(QUIET, "--listen", "0.0.0.0:0")
    assert again[3].rpartition("=")[2] != lines[3].rpartition("=")[2], "a different token each time"
    Authority("an authority").issue(tmp_path / "both.pem", "localhost")
    lines, serving = serves(QUIET, "--listen", "0.0.0.0:0", "--certificate", "both.pem")
    assert [line for line in lines if "not encrypted" in line] == []
    assert serving.access.is_encrypted
    assert lines[-1].startswith("presman: open https://")


def test_a_token_from_a_file_is_not_printed(serves: Serves, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("correct horse battery\nanything\n")
    file.chmod(0o604)
    lines, serving = serves(QUIET, "--token-file", "token")
    assert serving.access.token == Secret("correct horse battery")
    assert "warning: every user of this machine may read token: chmod 600 token" in lines[0]
    file.chmod(0o600)
    lines, _ = serves(QUIET, "--token-file", "token")
    assert len(lines) == 2
    assert not any("horse" in line or "token=" in line for line in lines)


def test_behind_a_proxy_a_token_is_required_unless_disabled(serves: Serves) -> None:
    lines, serving = serves(QUIET, "--public", "https://dba.example.com/prod")
    assert serving.access.public == "https://dba.example.com/prod/"
    assert lines[-1].startswith("presman: open https://dba.example.com/prod/?token=")
    assert serving.access.is_encrypted
    _, serving = serves(QUIET, "--public", "https://dba.example.com/prod", "--no-token")
    assert serving.access.token is None


def orders_of(serving: Serving) -> dict[str, Any]:
    orders: dict[str, Any] = json.loads(serving.launch.orders.reveal())
    return orders


def test_monitors_get_their_target_outside_of_the_command_line(serves: Serves, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_command, "terminal_prompt", lambda: lambda _prompt: "t1ger-secret")
    lines, serving = serves("scott@dbhost/prod", "--refresh", "5", "--scope", "instance", "--packs", "tuning")
    orders = orders_of(serving)
    assert orders["password"] == "t1ger-secret"
    assert orders["options"]["target"] == "scott@dbhost/prod"
    assert (orders["options"]["refresh"], orders["options"]["scope"], orders["options"]["packs"]) == (
        5,
        "instance",
        "tuning",
    )
    assert "allow_actions" not in orders["options"]
    assert not any("scott" in word or "t1ger" in word for word in serving.launch.command)
    assert "t1ger" not in repr(serving) + "".join(lines) + str(serving.launch.environment)


def test_a_configured_password_is_not_passed_on(serves: Serves, tmp_path: Path) -> None:
    (tmp_path / "config.ini").write_text("[presman]\nconnection_string = scott/t1ger@dbhost/prod\n")
    lines, serving = serves()
    assert orders_of(serving) == {
        "options": dict.fromkeys(serve_command.PASSED_ON) | {"target": "presman"},
        "password": None,
    }
    assert serving.target == "presman"
    assert not any("t1ger" in line for line in lines)


def test_a_password_of_the_environment_is_passed_on_but_not_inherited(
    serves: Serves, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD, "t1ger-secret")
    monkeypatch.setattr(serve_command, "terminal_prompt", lambda: None)
    _, serving = serves("scott@dbhost/prod")
    assert (orders_of(serving)[PASSWORD], orders_of(serving)["password"]) == ("t1ger-secret", None)
    assert PASSWORD not in serving.launch.environment
    assert "t1ger" not in repr(serving) + str(serving.launch.environment)
    _, serving = serves(QUIET)
    assert PASSWORD not in orders_of(serving), "a simulation needs none"


@pytest.fixture
def monitored(monkeypatch: pytest.MonkeyPatch, inside: Run) -> Callable[..., dict[str, Any]]:
    """Run a served monitor up to its screen, and return the screen's arguments."""
    given: dict[str, Any] = {}

    def note(target: Any, **named: Any) -> int:
        given.update(target._asdict() if isinstance(target, LiveTarget) else {"make_source": target}, **named)
        return 0

    def run(line: bytes) -> dict[str, Any]:
        given.clear()
        takes, sends = os.pipe()
        os.write(sends, line + b"what follows")
        os.close(sends)
        monkeypatch.setattr(served_monitor, "_STDIN", takes)
        monkeypatch.setattr(served_monitor, "end_with_parent", lambda: None)  # here the parent is this process
        monkeypatch.setattr(served_app, "run_served", note)
        monkeypatch.setattr(served_app, "run_served_replay", note)
        given["code"] = served_monitor.main()
        given["left"] = os.read(takes, 100)
        os.close(takes)
        return dict(given)

    assert inside is not None
    return run


def line_for(**options: Any) -> bytes:
    orders = {"options": dict.fromkeys(serve_command.PASSED_ON) | options, "password": options.pop("password", None)}
    return json.dumps(orders).encode() + b"\n"


def test_a_monitor_shows_its_target(monitored: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "config.ini").write_text(
        "[prod]\nconnection_string = scott@dbhost/prod\nalerts =\n    queue_waits warning=5m\non_alert = /bin/false\n"
    )
    given = monitored(line_for(target="prod", refresh=5.0, password="t1ger"))
    assert (given["code"], given["name"], given["interval"]) == (0, "prod", 5.0)
    assert given["notifier"]._command is None, "pages that come and go run no on_alert"
    assert given["make_source"]()._settings.password.reveal() == "t1ger"
    assert given["left"] == b"what follows", "the rest is for the screen"
    assert "gateway" not in given
    assert "targets" not in given


def test_a_monitor_has_the_password_that_the_server_had(monitored: Callable[..., dict[str, Any]]) -> None:
    line = json.loads(line_for(target="scott@dbhost/prod")) | {PASSWORD: "t1ger"}
    given = monitored(json.dumps(line).encode() + b"\n")
    assert given["make_source"]()._settings.password.reveal() == "t1ger"
    secret.forget()


def test_a_monitor_that_cannot_begin_says_why_in_a_line(
    monitored: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert monitored(line_for(target="nowhere"))["code"] == exit_codes.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert "`presman connect nowhere` adds a section" in line
    assert monitored(b"") == {"code": 0, "left": b""}, "its parent has ended"
