from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from presman.cli import main
from tests.cli.run import environment

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Run]:
    """Run presman in this process, in `tmp_path`: where a process of its own would prove nothing more."""
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.chdir(tmp_path)
    for name in ("PRESMAN_CONFIG", "PRESMAN_PASSWORD", "PRESMAN_DEBUG", "COLUMNS", "TNS_ADMIN", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "LANG"):
        monkeypatch.setenv(name, environment()[name])

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        code = main(arguments)
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    yield run
    signal.signal(signal.SIGTERM, before)
