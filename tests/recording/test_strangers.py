"""Malicious files: refused in one line or read within bounds, and a signal ends the reader."""

from __future__ import annotations

import resource
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, nullcontext
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from presman.base import running_out
from presman.recording import sqlite_files, statement_limits
from presman.recording import store as store_module
from presman.recording.recording_source import RecordingSource
from presman.recording.schema import BLOCKS
from presman.recording.schema import POLLS as POLLS_TABLE
from presman.recording.schema_check import Definition, _definitions, foreign_definition, is_damaged
from presman.recording.store import Store
from presman.recording.store_errors import DamagedStoreError, RecordingError
from presman.rows.snapshot import Section
from presman.tui.player import Player
from tests.cli.run import Run, command, environment
from tests.patience import PATIENCE, until
from tests.recording.recorded import polled, record
from tests.recording.strangers import BOUNDED, FOREIGN_VALUES, REFUSED, endless_pages
from tests.thorough import THOROUGH, some

POLLS = 12
CPU_SECONDS = 1.0
"""Seconds in which a signal must end presman on a busy machine: it takes a fifth of one, reading on takes two."""

_ALIKE = (
    *(f"endless pages {each}" for each in ("blocks", "events", "group_rows", "bucket_waits", "polls")),
    *("many polls", "many pages", "sparse", "pages of 512", "with rowid"),
)
_FEW = ("endless view meta", "endless view blocks", "endless view statements")
_VIEWS = [each for each in REFUSED if each.startswith("endless view ") and each not in _FEW]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "a.presman"
    record(path, list(polled("queueing", POLLS)))
    return path.read_bytes()


@pytest.mark.parametrize("name", some([each for each in REFUSED if each not in _VIEWS], _VIEWS))
def test_malicious_files_are_refused_in_a_line(name: str, whole: bytes, tmp_path: Path, inside: Run) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole)
    REFUSED[name](path)
    for words in (
        ("once", str(path)),
        ("report", str(path), "-o", "-"),
        ("record", "demo", "--polls", "1", "-o", str(path)),
    ):
        if words[0] == "record" and name in {"folder", "link to itself"}:
            continue  # an output, not an input
        done = inside(*words)
        assert done.returncode in {2, 3, 4}
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1 or words[0] == "record", done.stderr
        assert "internal error" not in done.stderr


@pytest.mark.parametrize("name", some([each for each in BOUNDED if each not in _ALIKE], _ALIKE))
def test_endless_files_are_read_within_limits(name: str, whole: bytes, tmp_path: Path, inside: Run) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole)
    BOUNDED[name](path)
    done = inside("report", str(path), "-o", "-")  # reads all of it
    assert done.returncode in {0, 3}
    assert done.returncode == 0 or done.stdout == ""
    assert done.stderr.count("\n") <= 1, done.stderr
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("name", FOREIGN_VALUES)
def test_values_that_no_recorder_wrote_are_passed_over(name: str, whole: bytes, tmp_path: Path, inside: Run) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole)
    FOREIGN_VALUES[name](path)
    before = path.read_bytes()
    for words in (
        ("fleet", str(path), "--format", "json"),
        ("report", str(path), "-o", "-"),
        *([("compare", str(path), str(path))] if THOROUGH or name.startswith(("groups", "waits")) else []),
    ):
        done = inside(*words)
        nothing_left = name in {"many databases", "polls of texts"}
        assert done.returncode == (3 if words[0] == "fleet" or nothing_left else 0), done.stderr
        assert "Error" not in done.stderr
        assert "internal error" not in done.stderr
        assert all(line.startswith("presman: ") for line in done.stderr.splitlines())
        assert len(done.stderr) < 1000
    assert (path.read_bytes(), [each.name for each in tmp_path.iterdir()]) == (before, ["a.presman"])


_LARGE_ROW = """
import sqlite3, sys
file = sqlite3.connect(sys.argv.pop(), isolation_level=None)
file.execute("PRAGMA journal_mode=DELETE")
values = ", ".join(f"{each} = zeroblob(25 << 20)" for each in sys.argv[1:])
file.execute(f"UPDATE polls SET {values} WHERE poll = 3")
"""


_READ = """
import sys
from presman.cli import main
from presman.recording.schema import POLLS
from presman.recording.store import Store
from presman.recording.store_errors import DamagedStoreError
from tests.torture.rounds import memory_anew, most_memory
before, path = memory_anew(), sys.argv.pop()
for words in sys.argv[1:]:
    assert main(words.split()) in {0, 3}, words
try:
    Store(path, writing=False).rows(POLLS.select().where(POLLS.c.database_id == 1))
except DamagedStoreError as error:
    print("presman:", error, file=sys.stderr)
sys.exit(f"{most_memory() - before} MB")
"""


def test_an_oversized_row_is_reported_and_never_loaded(whole: bytes, tmp_path: Path) -> None:
    """In processes of their own, because a limit of SQLite's memory applies to the whole process."""
    path = tmp_path / "a.presman"
    path.write_bytes(whole)
    columns = [each.name for each in POLLS_TABLE.columns if not each.primary_key]
    subprocess.run([sys.executable, "-c", _LARGE_ROW, *columns, str(path)], check=True, timeout=PATIENCE)
    words = ["once {}", "report {} -o -", "replay {}"]
    reads = [sys.executable, "-c", _READ, *(each.format(*[path] * 2) for each in words), str(path)]
    done = subprocess.run(
        reads, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    *messages, taken = done.stderr.splitlines()
    assert len(messages) <= len(words) + 1
    assert messages[-1].endswith("a row larger than any recorded one")
    assert [line for line in messages if not line.startswith("presman: ") or "internal error" in line] == []
    assert int(taken.removesuffix(" MB")) < len(columns) * 25 // 2


@pytest.mark.parametrize("kind", ["zeroblob(100000)", "CAST(zeroblob(100000) AS TEXT)"])
def test_the_bytes_of_long_values_are_counted_whatever_their_kind(
    kind: str, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(f"UPDATE polls SET used_cpus = {kind}")
    reading = POLLS_TABLE.select()
    with closing(Store(str(path), writing=False)) as store:
        assert len(store.rows(reading)) == POLLS
        monkeypatch.setattr(statement_limits, "LONG_VALUES", (POLLS - 1) * 100_000)
        with pytest.raises(RecordingError, match="it decompresses to more than a recording of its size has"):
            store.rows(reading)


@pytest.mark.parametrize(("longest", "is_damage"), [(1_001, True), (1_000, False)])
def test_long_values_of_a_server_are_counted_while_read(
    longest: int, is_damage: bool, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole)
    parts: list[list[tuple[object, ...]]] = [[(1, "x" * longest)], [(2, b"x" * longest)], [(3, None)]]
    monkeypatch.setattr(store_module, "LONG_VALUES", 2 * longest - 1)
    monkeypatch.setattr(Store, "kind", "postgresql")
    expected = pytest.raises(DamagedStoreError, match="longer texts") if is_damage else nullcontext()
    store = Store(str(path), writing=False)
    with expected:
        rows = store.all_of(lambda _: parts.pop(0) if parts else [])
        assert next(rows)[0] == 1
        assert [number for number, _ in rows] == [2, 3]
    store.engine.dispose()


@pytest.mark.parametrize("has_room", [True, False])
def test_exhausted_memory_is_not_reported_as_damage(
    has_room: bool, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole)
    monkeypatch.setattr(store_module, "has_room", lambda _: has_room)
    expected = pytest.raises(DamagedStoreError if has_room else MemoryError)
    with closing(Store(str(path), writing=False)) as store, expected, store.translating_errors():
        raise MemoryError


@pytest.mark.parametrize("limit", [resource.RLIMIT_AS, resource.RLIMIT_DATA])
def test_there_is_room_up_to_the_limit(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = {limit: (100 << 20, 100 << 20)}
    no_limit = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda asked: allowed.get(asked, no_limit))
    monkeypatch.setattr(running_out, "bytes_of_process", lambda _: 60 << 20)
    assert (running_out.has_room(40 << 20), running_out.has_room((40 << 20) + 1)) == (True, False)


def test_only_blocks_may_be_as_long_as_blocks(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE blocks SET content = zeroblob(2 << 20)")
    statement = BLOCKS.select()
    with closing(Store(str(path), writing=False)) as store:
        with store.reading(blocks=True) as connection:
            assert len(connection.execute(statement).one().content) == 2 << 20
        with pytest.raises(DamagedStoreError, match="string or blob too big"):
            store.rows(statement)


@pytest.mark.parametrize("words", ["once {}", "compare {} {}", "report {} -o -", "bundle {} -o {}.presman"])
def test_a_recording_without_polls_is_refused_in_one_line(
    words: str, whole: bytes, tmp_path: Path, inside: Run
) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE blocks SET first_at = 1 << 60, last_at = -5")
    done = inside(*words.format(*[path] * 2).split())
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.endswith("a.presman has no polls; a block that no recorder wrote is skipped\n")
    assert done.stderr.count("\n") == 1


def test_a_file_that_keeps_changing_is_reported(
    whole: bytes, tmp_path: Path, inside: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole)
    monkeypatch.setattr(sqlite_files, "_is_still_the_same", lambda *_: False)
    done = inside("once", str(path))
    assert done.returncode == 3
    assert done.stderr == f"presman: {path}: it changes all the time, and not as a recorder writes\n"


def test_a_link_to_itself_is_called_a_link(tmp_path: Path, inside: Run) -> None:
    path = tmp_path / "a.presman"
    path.symlink_to(path)
    assert inside("once", str(path)).stderr == f"presman: recording: {path} is a link that leads to no file or folder\n"


def _large(section: Section) -> Section:
    """Return a section with numbers near the largest of 64 bits, except those that identify rows."""
    keys = {"inst_id", "con_id", "sid", "serial"}
    rows = (
        row._replace(
            **{name: 1 << 62 for name, value in row._asdict().items() if type(value) is int and name not in keys}
        )
        for row in section.rows
    )
    return replace(section, rows=tuple(rows))


def test_numbers_out_of_range_are_reported_with_their_place(tmp_path: Path, inside: Run) -> None:
    """A bundle blamed the file that it was to write, with the exit code of a full disk."""
    moments = list(polled("queueing", 2))
    snapshot = moments[1][0]
    sections = {record: _large(section) for record, section in snapshot.sections.items()}
    large = replace(snapshot, sections=sections), moments[1][1]
    record(tmp_path / "a.presman", [moments[0], large])
    done = inside("bundle", str(tmp_path / "a.presman"), "-o", str(tmp_path / "b.presman"))
    assert done.returncode == 3
    assert done.stderr.endswith("a.presman: a number is larger than any that a recording keeps\n")
    assert not (tmp_path / "b.presman").exists()


def cpu_of_ended_children() -> float:
    """Return the CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("number", some([signal.SIGTERM], [signal.SIGINT, signal.SIGHUP]))
@pytest.mark.parametrize(
    ("table", "asked"),
    some([("blocks", ("export", "{}", "-o", "-"))], [("statements", ("compare", "{}", "{}"))]),
)
def test_a_signal_ends_a_reader_of_a_hostile_file(
    table: str, asked: tuple[str, ...], number: signal.Signals, whole: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole)
    endless_pages(table)(path)
    words = command(*(each.format(path) for each in asked))
    before = cpu_of_ended_children()
    with subprocess.Popen(
        words, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        reader = psutil.Process(process.pid)
        until(lambda: str(path) in {each.path for each in reader.open_files()}, "it is read")
        begun = reader.cpu_times()
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert cpu_of_ended_children() - before - begun.user - begun.system < CPU_SECONDS
    assert "Traceback" not in errors


def test_quitting_a_replay_of_such_a_file_does_not_wait(
    whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("presman.tui.player._PATIENCE", PATIENCE)  # reading on would take hours
    path = tmp_path / "a.presman"
    path.write_bytes(whole)
    endless_pages("blocks")(path)
    posted: list[object] = []
    source = RecordingSource(str(path), name="a")
    player = Player(lambda: source, posted.append)
    player.start()
    until(lambda: str(path) in {each.path for each in psutil.Process().open_files()}, "it is read")
    player.stop()
    assert player._over.is_set()
    assert posted == []


def test_additional_definitions_are_named_in_a_line() -> None:
    own = list(_definitions().values())
    assert foreign_definition(own) == ""
    assert foreign_definition([*own, Definition("table", "x" * 99, "x", "CREATE TABLE x (y)")]) == f"table {'x' * 73}…"
    key = Definition("index", "sqlite_autoindex_polls_1", "polls", "")
    assert foreign_definition([*own, key]) == ""
    assert foreign_definition([key._replace(table="x")]) == "index sqlite_autoindex_polls_1"
    assert foreign_definition([key._replace(kind="table")]) == "table sqlite_autoindex_polls_1"
    assert foreign_definition([key] * 199) == ""
    assert foreign_definition([key] * 200) == "schema of 200 definitions or more"
    first = own[0]
    assert foreign_definition([first._replace(sql=f"{first.sql} WITHOUT OATH")]) == f"{first.kind} {first.name}"


def test_parts_of_a_damaged_definition_are_no_longer_than_the_original() -> None:
    own = list(_definitions().values())
    changed = own[0]._replace(name="x" * len(own[0].name))
    assert is_damaged([changed, *own[1:]])
    assert is_damaged([changed])
    assert not is_damaged([own[0]._replace(name=own[0].name + "x"), *own[1:]])
    assert is_damaged([changed, Definition("index", "sqlite_autoindex_polls_1", "polls", "")])
