"""A PostgreSQL store written by an attacker: reading it takes bounded memory and time."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from presman.recording.store import Store
from tests.cli.run import Run, command, environment
from tests.patience import until
from tests.real.postgresql import PostgresServer
from tests.recording.recorded import polled, record
from tests.torture.relay import Line, Relay, running
from tests.torture.rounds import memory_anew, most_memory

pytestmark = pytest.mark.skipif(
    not os.environ.get("PRESMAN_REAL"), reason="make test-real runs it: it starts a PostgreSQL server"
)

MOST_MEGABYTES = 300

HARMS = {
    "meta": "UPDATE meta SET value = repeat('9', 600000000) WHERE name = 'format'",
    "fleet": "UPDATE fleet SET reason = repeat('r', 300000000), worst = repeat('w', 100000000)",
    "databases": "INSERT INTO databases (database_id, target, name, kind)"
    " SELECT 100 + i, 'db' || i, 'db', 'simulator' FROM generate_series(1, 200000) i",
}


@pytest.mark.parametrize(
    ("harm", "words", "line"),
    [
        ("meta", ("once", "URL"), "an answer takes more than 192 MB, as none that was recorded"),
        ("meta", ("compare", "URL@first..last", "@first..last"), "an answer takes more than 192 MB"),
        ("fleet", ("fleet", "URL", "--format", "json", "--timeout", "60"), "an answer takes more than 192 MB"),
        ("databases", ("report", "URL", "-o", "-"), "names more than 10,000 databases"),
        ("databases", ("bundle", "URL", "-o", "b.presman"), "names more than 10,000 databases"),
    ],
)
def test_endless_texts_and_rows_are_a_message_of_one_line(
    server: PostgresServer, inside: Run, harm: str, words: tuple[str, ...], line: str
) -> None:
    url = server.database(f"without_bound_{harm}_{words[0]}")
    record(url, list(polled("quiet", 3)))
    store = Store(url, writing=True)
    with store.transaction() as connection:
        connection.exec_driver_sql(HARMS[harm])
    store.close()
    before = memory_anew()
    done = inside(*(word.replace("URL", url) for word in words))
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert line in done.stderr
    assert most_memory() - before < MOST_MEGABYTES - 60  # which presman has without it


class _Mute(Relay):
    """Passes nothing on once a server has sent so many bytes."""

    left = 1 << 40

    def forward(self, line: Line, data: bytes, *, asking: bool) -> None:
        if not asking:
            self.left -= len(data)
        if asking or self.left > 0:
            super().forward(line, data, asking=asking)


@pytest.fixture
def mute(server: PostgresServer) -> Iterator[tuple[str, _Mute]]:
    """A recording, and what stands before it."""
    name = f"mute_{time.monotonic_ns()}"
    url = server.database(name)
    record(url, list(polled("quiet", 3)))
    with running(_Mute(server.port)) as between:
        yield url.replace(f":{server.port}/", f":{between.port}/"), between


@pytest.mark.parametrize("left", [600, 3_000], ids=["before it is asked for anything", "while it is read"])
def test_a_server_that_falls_silent_is_not_waited_for_after_a_signal(
    mute: tuple[str, _Mute], tmp_path: Path, left: int
) -> None:
    url, between = mute
    between.left = left
    with subprocess.Popen(
        command("once", url), cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        until(lambda: between.left <= 0, "it falls silent")
        time.sleep(0.5)
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (143, b"")
    assert time.monotonic() - begun < 4.0, "a second, on a machine that does nothing else"


def test_a_server_that_falls_silent_is_given_up(
    mute: tuple[str, _Mute], inside: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from presman.recording import server_reading

    monkeypatch.setattr(server_reading, "LONGEST", 0.5)
    monkeypatch.setattr(server_reading, "_GRACE", 0.5)
    url, between = mute
    between.left = 3_000
    done = inside("once", url)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert done.stderr.endswith(": no answer within 1 s\n")
