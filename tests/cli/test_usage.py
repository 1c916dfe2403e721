from __future__ import annotations

import asyncio
import importlib.metadata
import os
import socket
import subprocess
from pathlib import Path

import pytest

from presman import __version__
from presman.base.measure_names import MEASURES
from presman.cli import exit_codes
from presman.cli.command_line import COMMANDS, parser_of
from presman.cli.exit_codes import Terminated
from presman.config.config_file import MEASURES as CONFIGURED
from presman.figures.measures import MEASURES as EXPORTED
from tests.cli.run import QUEUEING, Run, command, environment, presman
from tests.thorough import some

HEAVY = ("textual", "sqlalchemy", "oracledb", "plotext", "rich", "presman.analysis", "presman.sources")


def complaint(done: subprocess.CompletedProcess[str], code: int) -> str:
    """Return the one line of a failed run."""
    assert done.returncode == code, done
    assert not done.stdout
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("presman: ")
    return lines[0]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_of_every_command_has_examples(name: str, inside: Run) -> None:
    done = inside(*name.split(), "--help")
    assert done.returncode == 0
    assert "examples:" in done.stdout
    assert not done.stderr


def test_help_explains_main_options_and_names_others(inside: Run) -> None:
    page, whole = (inside("compare", "--help", *more).stdout for more in ([], ["all"]))
    names = "--config, --refresh, --poll-timeout, --scope, --thick, --packs, --theme, --at, --from, --to"
    assert f"\nmore options (presman compare --help all):\n  {names}\n" in page
    assert page.startswith("usage: presman compare [-h] [--format F] A B\n")
    assert "colours of the monitor" not in page
    assert "colours of the monitor" in whole
    assert "more options" not in whole
    page = inside("once", "--help").stdout
    places = [page.index(f"\n  {name} ") for name in ("--format F", "--outliers", "--scope SCOPE", "--at TIME")]
    assert [*places, page.index("more options")] == sorted([*places, page.index("more options")])


@pytest.mark.parametrize("name", ["", "-m", *COMMANDS])
def test_help_all_explains_every_option_of_a_command(name: str, inside: Run) -> None:
    parser = parser_of({"": "monitor", "-m": "v1"}.get(name, name))
    page, whole = (inside(*name.split(), "--help", *more).stdout for more in ([], ["all"]))
    for action in parser._actions:
        for option in action.option_strings[-1:]:
            assert f"  {option}" in whole or f", {option}" in whole
            assert option in page, "explained or named"


def test_front_page_names_commands_and_exit_codes() -> None:
    text = parser_of("monitor").format_help()
    for word in (*COMMANDS, "130", "143", "PRESMAN_DEBUG"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 110


def test_version(tmp_path: Path) -> None:
    assert presman("--version", cwd=tmp_path).stdout == f"presman {__version__}\n"


def test_versions_of_all_that_is_needed(inside: Run) -> None:
    versions = dict(line.split(None, 1) for line in inside("--version", "--verbose").stdout.splitlines())
    assert versions["presman"] == __version__
    assert versions["oracledb"] == importlib.metadata.version("oracledb")
    assert {"Python", "SQLite", "textual", "system", "keyring"} <= versions.keys()
    assert inside("--verbose").stderr == "presman: --verbose goes with --version\n"


@pytest.mark.parametrize(
    "arguments", [command("--help")[1:], ["-c", "import presman.cli.completions_command"]], ids=["help", "completions"]
)
def test_help_and_completions_import_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [command()[0], "-X", "importtime", *arguments],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "argparse" in imported
    assert not {name for name in imported if name.startswith(HEAVY)}


def test_the_measures_are_the_same_everywhere() -> None:
    assert set(MEASURES) == set(EXPORTED) == set(CONFIGURED)


def test_without_configuration_presman_explains_how_to_start(inside: Run) -> None:
    done = inside()
    assert done.returncode == exit_codes.OK
    for word in ("presman demo", "presman connect", "presman doctor", "user@dbhost", "config --sample"):
        assert word in done.stdout
    assert len(done.stdout.splitlines()) < 10


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["onec", QUEUEING], "too many arguments"),
        (["onec"], "did you mean `presman once`?"),
        (["exprot"], "did you mean `presman export`?"),
        (["once", QUEUEING, "--fromat", "json"], "unknown option --fromat, did you mean --format?"),
        (["once", QUEUEING, "--format", "jsn"], "did you mean 'json'?"),
        (["export", QUEUEING, "--measure", "paralel"], "did you mean 'parallel'?"),
        (["export", QUEUEING, "--layout", "wid"], "did you mean 'wide'?"),
        (["export", QUEUEING, "--layout", "wide", "--column", "used_cpu"], "did you mean 'used_cpus'?"),
        (["export", QUEUEING, "--column", "used_cpus"], "--column goes with --layout wide"),
        (["export", QUEUEING, "--polls", "0"], "'0' is not a whole number of at least 1"),
        (["export", QUEUEING, "--duration", "soon"], "'soon' is not a duration"),
        (["export", QUEUEING, "--refresh", "0.1"], "0.1 is below the minimum of 0.5 seconds"),
        (["export", QUEUEING, "--refresh", "x"], "'x' is not a duration"),
        (["--scope", "clutser", "once", QUEUEING], "did you mean 'cluster'?"),
        (["once", QUEUEING, "--at"], "--at needs a value: the poll at that time: 2026-11-22 03:12, 03:12, '3m ago'"),
        (["once", QUEUEING, "--at", "-15m"], "--at, --from and --to go with a recording"),
        (["whatif", "a.presman", "--at", "03:12"], "presman whatif does not use --at, but --from and --to"),
        (
            ["compare", "a.presman@03:00..", "@..03:00", "--to", "03:12"],
            "presman compare does not use --to (see presman",
        ),
        (["--from", "03:12", "why", "a.presman", "507"], "presman why does not use --from, but --at"),
        (["why", "a.presman", "507", "--to", "03:30", "--from", "03:12"], "presman why does not use --from, but --at"),
        (["export", QUEUEING, "--duration", "0"], "'0' is not above 0"),
        (["export", QUEUEING, "--refresh", "0"], "(see presman export --help)"),
        (["--refresh", "0"], "(see presman --help)"),
        (["bundle", QUEUEING, "--minutes", "0"], "'0' is not a number of minutes above 0, three years at most"),
        (["bundle", QUEUEING, "--minutes", "-3"], "'-3' is not a number of minutes above 0, three years at most"),
        (["report", "nowhere", "-o", "x.html"], "recording: no such file or folder: nowhere"),
        (["compare", "nowhere@03:00..03:10", "nowhere@03:10.."], "recording: no such file or folder: nowhere"),
        (["once", "spool:/nonexistent"], "no such folder: /nonexistent"),
        (["once", "demo:mixd"], "no scenario 'mixd'"),
        (["once"], "no TARGET"),
        (
            ["once", "nowhere"],
            "no target 'nowhere': neither a section of config.ini nor a file; `presman connect nowhere` adds",
        ),
        (["prod"], "`presman connect prod` adds a section"),
        (["record", "prod", "-o", "x.presman"], "`presman connect prod` adds a section"),
        (["collect"], "presman collect --sql"),
        (["-m", "cpuu", QUEUEING], "did you mean 'cpu'?"),
        (["-m", "queue", QUEUEING], "presman export --measure queue"),
        (["-m", "cpu", "-p", QUEUEING], "-p needs -c"),
        (["-m", "cpu", "-o", "x.csv", QUEUEING], "-o needs -c"),
        (["-m", "cpu", "-c", "1", QUEUEING], "4 CONSUMED_CPU_PERCT"),
        (["-m", "cpu", "-c", "99", QUEUEING], "4 CONSUMED_CPU_PERCT"),
        (["demo", "--speed", "0"], "--speed 0 is not above 0"),
    ],
)
def test_wrong_use_is_one_line_with_advice(arguments: list[str], expected: str, inside: Run, tmp_path: Path) -> None:
    assert expected in complaint(inside(*arguments), exit_codes.USAGE)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("connection_string = a/b@c\n", "config.ini, line 1: an option before the first [section]"),
        ("[presman]\nconection_string = a/b@c\n", "config.ini, line 2: [presman] conection_string: unknown option"),
        ("[presman]\nrefresh_rate = 0.1\n", "config.ini, line 2: [presman] refresh_rate: 0.1 is below the minimum"),
        ("[presman]\noption = cpus\n", "config.ini, line 2: [presman] option: unknown measure 'cpus'"),
        ("[presman]\n\n[presman]\n", "config.ini, line 3: section [presman] appears twice"),
        ("[a]\nconnection_string = demo\n[b]\nconnection_string = demo\n", "which target? config.ini has a, b"),
    ],
)
def test_a_malformed_configuration_names_the_place(text: str, expected: str, inside: Run, tmp_path: Path) -> None:
    (tmp_path / "config.ini").write_text(text, encoding="utf-8")
    assert expected in complaint(inside(), exit_codes.USAGE)


def test_a_configuration_that_cannot_be_read(inside: Run, tmp_path: Path) -> None:
    assert "cannot read no.ini: No such file" in complaint(inside("--config", "no.ini"), exit_codes.USAGE)
    (tmp_path / "latin.ini").write_bytes(b"[presman]\nuser = J\xfcrgen\n")
    assert "not UTF-8" in complaint(inside("once", "x", "--config", "latin.ini"), exit_codes.USAGE)


def test_config_shows_the_origin_of_values(inside: Run, tmp_path: Path) -> None:
    (tmp_path / "config.ini").write_text(
        "[presman]\nrefresh_rate = 7\ntheme = nord\n"
        "[prod]\nconnection_string = scott/tiger@db:1521/prod\nrefresh_rate = 3\n",
        encoding="utf-8",
    )
    done = inside("config", "prod", "--scope", "instance")
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.startswith("  ")}
    assert lines["refresh_rate"] == ["3", "[prod]"]
    assert lines["theme"] == ["nord", "[presman]"]
    assert lines["scope"] == ["instance", "--scope"]
    assert lines["option"] == ["cpu", "default"]
    assert "tiger" not in done.stdout + done.stderr


def test_the_sample_configuration_is_read_back(inside: Run, tmp_path: Path) -> None:
    sample = inside("config", "--sample").stdout
    (tmp_path / "config.ini").write_text(sample, encoding="utf-8")
    done = inside("config")
    assert done.returncode == 0
    assert "refresh_rate" in done.stdout


SECRET = "scott/t1ger-secret@127.0.0.1:1/nowhere"
TELLING = (
    ["once"],
    ["config"],
    ["once", SECRET],
    ["once", "demo", SECRET],
    ["config", SECRET],
    ["export", "-o", "x.csv"],
    ["-m", "cpu"],
    [],
)
"""Arguments with a connect string that contains a password."""


@pytest.mark.parametrize("arguments", TELLING, ids=" ".join)
def test_a_password_is_never_shown(arguments: list[str], tmp_path: Path, inside: Run) -> None:
    (tmp_path / "config.ini").write_text(f"[presman]\nconnection_string = {SECRET}\n", encoding="utf-8")
    done = inside(*arguments)
    written = "".join(path.read_text("utf-8") for path in tmp_path.glob("*.csv"))
    assert "t1ger" not in done.stdout + done.stderr + written


@pytest.mark.parametrize("arguments", some([["once", SECRET]], [[], *TELLING]), ids=" ".join)
def test_a_password_is_not_in_a_traceback_either(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "config.ini").write_text(f"[presman]\nconnection_string = {SECRET}\n", encoding="utf-8")
    done = subprocess.run(
        command(*arguments), cwd=tmp_path, env=environment(PRESMAN_DEBUG="1"), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "t1ger" not in done.stdout + done.stderr


def test_an_unreachable_database_has_its_own_exit_code(inside: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRESMAN_PASSWORD", "x")
    done = inside("once", "scott@127.0.0.1:1/nowhere")
    assert done.returncode == exit_codes.SOURCE
    assert len(done.stderr.splitlines()) == 1


def test_an_internal_error_is_one_line_and_debug_shows_more(tmp_path: Path) -> None:
    broken = tmp_path / "sitecustomize.py"
    broken.write_text(
        "import sys, types\nmodule = types.ModuleType('presman.cli.settings')\nsys.modules[module.__name__] = module\n",
        encoding="utf-8",
    )
    path = f"{tmp_path}{os.pathsep}{environment()['PYTHONPATH']}"
    done = presman("config", cwd=tmp_path, env={"PYTHONPATH": path})
    assert "internal error: ImportError" in complaint(done, exit_codes.INTERNAL)
    loud = subprocess.run(
        command("config"), cwd=tmp_path, env=environment(PYTHONPATH=path, PRESMAN_DEBUG="1"), capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "Traceback" in loud.stderr


@pytest.mark.parametrize("place", ["a task", "a callback", "a protocol"])
def test_sigterm_passes_through_an_event_loop(place: str) -> None:
    """The driver has an event loop, too: the handler raises wherever Python is at that moment."""

    def hit(*_: object) -> None:
        raise Terminated

    class Protocol(asyncio.Protocol):
        data_received = hit

    async def work() -> None:
        loop = asyncio.get_running_loop()
        if place == "a task":
            hit()
        if place == "a callback":
            loop.call_soon(hit)
        ours, theirs = socket.socketpair()
        with theirs:
            await loop.create_connection(Protocol, sock=ours)
            theirs.send(b"x")
            await asyncio.sleep(5)

    loop = asyncio.new_event_loop()
    with pytest.raises(Terminated):
        loop.run_until_complete(work())
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
