"""A user without a home, or with an unreadable one: defaults, or a one-line error."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path
from typing import Any

import pytest

from presman.base import terminal_guard
from presman.base.errors import InputError
from presman.base.private_files import expanded
from presman.cli import exit_codes
from presman.config.connect_answers import wallet_trouble
from presman.config.tns_names import entries
from presman.sources import subprocess_source
from tests.cli.run import QUEUEING, Run
from tests.scenarios import with_short_past

HOMELESS = "the folder of ~ is not known: set HOME, or write the whole path"

QUIET = ("config", "alerts", "grants", "completions bash", "--version")
"""Commands that read no database."""


@pytest.fixture
def homeless(inside: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run presman as a user without a name, in an environment without a home."""

    def nobody(number: int) -> Any:
        raise KeyError(number)

    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    return inside


@pytest.fixture
def as_of_python_313(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 3.13 on pathlib reports unreadable places as missing: presman must work with that in all releases."""
    for name in ("exists", "is_file", "is_dir"):
        monkeypatch.setattr(Path, name, getattr(os.path, name.replace("_", "")))


@pytest.fixture
def locked_out(inside: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, as_of_python_313: None) -> Run:
    """Run presman as a user without access to the home folder. It is simulated because root has access."""
    home = tmp_path / "home"
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(home))
    stat = os.stat

    def refusing(path: Any, *arguments: Any, **named: Any) -> os.stat_result:
        if isinstance(path, (str, os.PathLike)) and Path(path).is_relative_to(home):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *arguments, **named)

    monkeypatch.setattr(os, "stat", refusing)
    return inside


def succeeded(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == exit_codes.OK, done.stderr
    return done.stderr.splitlines()


@pytest.mark.parametrize("words", QUIET)
def test_without_a_home_other_commands_work(homeless: Run, words: str) -> None:
    assert succeeded(homeless(*words.split())) == []


@pytest.mark.parametrize("name", ["once", "check", "alerts", "lint", "doctor"])
def test_without_a_home_a_database_is_read(homeless: Run, name: str) -> None:
    more = ("--interval", "0.1") if name in {"once", "check", "alerts"} else ()
    assert succeeded(homeless(name, f"demo:{with_short_past('quiet')}", *more)) == []


def test_without_a_home_recording_works_and_reports_limits(homeless: Run) -> None:
    words = (f"demo:{with_short_past('quiet')}", "-o", "x.presman", "--polls", "1", "--redact")
    lines = succeeded(homeless("record", *words))
    assert "no key can be kept: the home folder is not known" in lines[0]
    assert lines[2] == "presman: presman status cannot show this run: its file: the home folder is not known"
    assert len(lines) == 4
    assert succeeded(homeless("report", "x.presman", "-o", "x.html")) == ["presman: 1 poll in x.html"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["once", "~/x.presman"], ["replay", "~/x.presman"], ["once", "spool:~/x"], ["once", "~nobody-here/x.presman"],
        ["record", "demo:quiet", "-o", "~/x.presman"], ["chart", "x.csv", "-o", "~/x.svg"],
        ["fleet", "recording:~/x"],
    ],
)  # fmt: skip
def test_an_unknown_home_is_reported(homeless: Run, arguments: list[str], tmp_path: Path) -> None:
    done = homeless(*arguments)
    assert done.returncode == exit_codes.USAGE
    (line,) = done.stderr.splitlines()
    assert line.endswith(HOMELESS), line


def test_without_a_home_status_is_refused(homeless: Run) -> None:
    done = homeless("status")
    assert (done.returncode, done.stderr) == (2, "presman: the state folder: the home folder is not known\n")


def test_an_empty_home_is_none(homeless: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")
    assert homeless("once", "~/x.presman").stderr.strip().endswith(HOMELESS)


def test_optional_uses_of_the_home_folder_continue_without_it(homeless: Run) -> None:
    assert terminal_guard.open_log() == -1
    assert subprocess_source._size_of_log() == 0
    assert entries("~/admin") == {}
    assert wallet_trouble("~/wallet").endswith(HOMELESS)
    with pytest.raises(InputError, match=r"^~/x: the folder of ~ is not known"):
        expanded("~/x")


@pytest.mark.parametrize("words", [*QUIET[1:3], f"once {QUEUEING}", f"lint {QUEUEING}"])
def test_an_unreadable_home_is_reported_and_the_defaults_apply(locked_out: Run, tmp_path: Path, words: str) -> None:
    done = locked_out(*words.split())
    place = tmp_path / "home" / "presman" / "config.ini"
    warning = f"presman: warning: {place} was not read: Permission denied"
    assert done.stderr.splitlines() in ([warning], [])
    assert bool(done.stderr) is (words != "grants")
    assert done.stdout
    assert done.returncode in {exit_codes.OK, exit_codes.NOT_JUDGED}


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["once", "~/x.presman"], exit_codes.USAGE, "recording: ~/x.presman: Permission denied"),
        (["once", "spool:~/x"], exit_codes.USAGE, "spool: ~/x: Permission denied"),
        (["record", "demo:quiet", "-o", "~/x.presman"], exit_codes.OUTPUT, "~/x.presman: Permission denied"),
        (["fleet", "{home}"], exit_codes.USAGE, "{home}: Permission denied"),
    ],
)
def test_an_unreadable_file_is_reported_in_one_line(
    locked_out: Run, tmp_path: Path, arguments: list[str], code: int, expected: str
) -> None:
    home = str(tmp_path / "home")
    done = locked_out(*(word.replace("{home}", home) for word in arguments))
    assert done.returncode == code
    assert done.stderr.splitlines()[1:] == [f"presman: {expected.replace('{home}', home)}"]


def test_a_name_that_no_file_can_have_is_a_line(inside: Run, as_of_python_313: None) -> None:
    done = inside("once", "a" * 5000)
    assert (done.returncode, done.stderr) == (exit_codes.USAGE, f"presman: {'a' * 200}: File name too long\n")
