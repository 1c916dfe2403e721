"""`presman fleet` on the command line: which databases, what is printed, and the codes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from presman.cli import main
from presman.cli.exit_codes import Failure
from presman.cli.fleet_command import chosen
from presman.config.config_file import read_config
from tests.cli.run import presman
from tests.recording.recorded import polled, record

CONFIG = """
[prod-erp]
connection_string = demo:quiet
[prod-dwh]
connection_string = demo:queueing
[test-dead]
connection_string = monitor/x@127.0.0.1:1/none
[test-nobody]
connection_string = monitor@127.0.0.1:1/none
[test-odd]
connection_string = foo/bar
[test-empty]
theme = nord
[recorded_file]
connection_string = {recorded_file}
"""


@pytest.fixture(scope="module")
def recorded_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded_file") / "a.presman"
    for name in ("prod-a", "test-b"):
        record(path, list(polled("quiet", 2)), name)
    return path


@pytest.fixture
def config(tmp_path: Path, recorded_file: Path) -> Path:
    path = tmp_path / "config.ini"
    path.write_text(CONFIG.format(recorded_file=recorded_file))
    path.chmod(0o600)
    return path


def test_names_and_globs(config: Path) -> None:
    read = read_config(config)
    assert chosen([], read)[:2] == ["prod-erp", "prod-dwh"]
    assert chosen(["test-[de]*"], read) == ["test-dead", "test-empty"]
    assert chosen(["prod-*", "test-dead", "prod-erp"], read) == ["prod-erp", "prod-dwh", "test-dead"]
    assert chosen(["demo", "user@host/service?x"], read) == ["demo", "user@host/service?x"]
    with pytest.raises(Failure, match=r"matches 'prd-\*'; there are: prod-erp, prod-dwh"):
        chosen(["prd-*"], read)


def test_all_sections_in_one_process(config: Path, tmp_path: Path) -> None:
    done = presman("fleet", "--config", str(config), "--interval", "0.5", cwd=tmp_path)
    assert done.returncode == 7
    assert "6 databases: 2 live, 1 lost, 3 refused" in done.stdout
    assert "left out, because they are not live databases: recorded_file" in done.stderr
    for word in ("DPY-6005", "no password of monitor", "may be a password", "it has no connection_string"):
        assert word in done.stdout
    assert "retry in" not in done.stdout
    assert "foo/bar" not in done.stdout + done.stderr


def test_formats_and_codes(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--config", str(config), "--interval", "0.5"]
    assert main(["fleet", "prod-erp", "--format", "json", *common]) == 0
    (found,) = json.loads(capsys.readouterr().out)["databases"]
    assert (found["target"], found["state"]) == ("prod-erp", "live")
    assert found["cpu_percent"] is not None
    assert main(["fleet", "test-dead", "--format", "csv", *common]) == 3
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["state"], row["cpu_percent"]) == ("lost", "")
    assert main(["fleet", "test-empty", "test-odd", "--format", "csv", *common]) == 3
    empty, odd = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (empty["state"], empty["why"]) == ("refused", "it has no connection_string")
    assert (odd["state"], odd["used_cpus"]) == ("refused", "")
    assert main(["fleet", "nobody", *common]) == 2
    assert main(["fleet", "prod-erp", "prod-erp", "recorded_file", *common]) == 2
    assert "there is nothing to watch" in capsys.readouterr().err


def test_a_central_store_takes_no_connection(
    recorded_file: Path, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in (str(recorded_file), str(recorded_file.parent), f"recording:{recorded_file}"):
        assert main(["fleet", place, "--format", "json"]) == 3, "its recorder was stopped"
        names = [each["target"] for each in json.loads(capsys.readouterr().out)["databases"]]
        assert names == ["prod-a", "test-b"]
    assert main(["fleet", "recorded_file", "prod-*", "--config", str(config), "--format", "csv"]) == 3
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["target"], row["state"], row["why"]) == ("prod-a", "stopped", "its recorder was stopped")
    assert main(["fleet", str(tmp_path)]) == 3
    assert "has no files *.presman" in capsys.readouterr().err


def test_a_fleet_without_configuration_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PRESMAN_CONFIG", str(tmp_path / "none.ini"))
    (tmp_path / "none.ini").write_text("")
    assert main(["fleet"]) == 2
    assert "presman fleet demo" in capsys.readouterr().err
