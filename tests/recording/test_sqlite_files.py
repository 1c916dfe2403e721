"""SQLite files of recordings: not SQLite, empty, cut short, or with files beside them."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from presman.recording.schema import APPLICATION_ID
from presman.recording.sqlite_files import (
    ReadConnection,
    _check_beside,
    _is_still_the_same,
    _state,
    cut_short,
    log_of,
    make_private,
    opened,
    other_than_a_recording,
    remove_blank,
    remove_empty_log,
    remove_recording,
    which_file,
)
from presman.recording.statement_limits import StatementLimits, bytes_on_disk
from presman.recording.store import Store
from presman.recording.store_errors import ForeignSchemaError


def made(path: Path, *statements: str, application: int = APPLICATION_ID) -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in (f"PRAGMA application_id={application}", "PRAGMA user_version=1", *statements):
            connection.execute(statement)
    return path


TABLE = "CREATE TABLE t (x)"


def test_the_kind_of_a_file_that_is_no_recording(tmp_path: Path) -> None:
    assert other_than_a_recording(tmp_path) == "is no file"
    (tmp_path / "x.csv").write_bytes(b"SQLite format 4\0" + bytes(84))
    assert other_than_a_recording(tmp_path / "x.csv") == "is not a recording of presman"
    other = made(tmp_path / "other.db", TABLE, application=APPLICATION_ID + 1)
    assert other_than_a_recording(other) == "is a SQLite file, but not a recording of presman"
    assert other_than_a_recording(made(tmp_path / "a.presman", TABLE)) == ""
    with pytest.raises(FileNotFoundError):
        other_than_a_recording(tmp_path / "none")


def test_a_new_recording_is_private_and_an_existing_one_stays(tmp_path: Path) -> None:
    path, before = tmp_path / "a", os.umask(0)
    try:
        make_private(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("x")
    make_private(path)
    assert path.read_text() == "x"
    assert which_file(path) == (path.stat().st_dev, path.stat().st_ino)


def test_only_a_file_without_a_table_is_removed(tmp_path: Path) -> None:
    empty, blank, whole, odd = (tmp_path / name for name in ("empty", "blank", "whole", "odd"))
    empty.touch()
    made(blank)
    made(whole, TABLE)
    odd.write_bytes(b"x" * 9000)
    for path in (empty, blank, whole, odd, tmp_path / "none"):
        remove_blank(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["odd", "whole"]


def test_a_table_that_is_in_the_log_alone_is_seen(tmp_path: Path) -> None:
    path = made(tmp_path / "a")
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0", TABLE):
            writer.execute(statement)
        assert log_of(path).name == "a-wal"
        assert log_of(path).stat().st_size
        remove_blank(path)
        assert path.exists()


def test_the_files_beside_a_recording_are_removed_with_it(tmp_path: Path) -> None:
    for end in ("", "-wal", "-shm", "-mine"):
        (tmp_path / f"a{end}").touch()
    remove_recording(tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a-mine"]


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_a_pipe_beside_a_recording_is_refused(end: str, tmp_path: Path) -> None:
    path = made(tmp_path / "a", TABLE)
    _check_beside(path)
    os.mkfifo(f"{path}{end}")
    with pytest.raises(ForeignSchemaError, match=rf"its \*{end} is not a file"):
        _check_beside(path)


def header(pages: int, size: int, there: int) -> bytes:
    """Return the first `there` bytes of a file with `pages` pages."""
    begin = bytes(16) + size.to_bytes(2, "big") + bytes(10) + pages.to_bytes(4, "big")
    return begin + bytes(max(0, there - len(begin)))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (header(100, 8192, 819_200), ""),
        (header(100, 8192, 819_201), ""),
        (header(100, 8192, 819_199), "it is cut short, 0.8 of 0.8 MB are there: what is left is read"),
        (header(500, 8192, 1_000_000), "it is cut short, 1.0 of 4.1 MB are there: what is left is read"),
        (header(1, 32, 0), ""),
        (header(100, 8192, 0)[:31], ""),
    ],
)
def test_how_much_of_a_file_is_missing(content: bytes, expected: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    assert cut_short(tmp_path / "a") == expected


def test_a_written_file_is_not_the_same(tmp_path: Path) -> None:
    path = made(tmp_path / "a", TABLE)
    with closing(sqlite3.connect(path, factory=ReadConnection)) as connection:
        assert _is_still_the_same(path, connection), "it was changing"
        connection.still = _state(path)
        assert _is_still_the_same(path, connection)
        log_of(path).touch()
        assert not _is_still_the_same(path, connection)
        log_of(path).unlink()
        os.utime(path, ns=(1, 1))
        assert not _is_still_the_same(path, connection)
        path.unlink()
        assert _is_still_the_same(path, connection), "a removed file is read as it was"
    with pytest.raises(sqlite3.OperationalError, match="unable to open: No such file"):
        _state(path)


def test_a_file_opened_for_reading_cannot_be_written(tmp_path: Path) -> None:
    path = made(tmp_path / "a", TABLE)
    with closing(opened(path, "mode=rw", StatementLimits(path))) as connection:
        with pytest.raises(sqlite3.OperationalError):
            connection.execute("INSERT INTO t VALUES (1)")
        values = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in
                  ("trusted_schema", "query_only", "cell_size_check")]  # fmt: skip
    assert values == [0, 1, 1]


def test_an_unused_empty_log_is_removed(tmp_path: Path) -> None:
    path = made(tmp_path / "a", TABLE, "PRAGMA journal_mode=WAL", "INSERT INTO t VALUES (1)")
    log_of(path).touch()
    remove_empty_log(path, StatementLimits(path))
    assert not log_of(path).exists()
    remove_empty_log(path, StatementLimits(path))
    assert path.exists()


def test_size_of_a_missing_and_of_a_sparse_file(tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    assert bytes_on_disk(path) == 0
    with path.open("wb") as file:
        file.truncate(1 << 30)
    assert bytes_on_disk(path) < 1 << 20


def test_a_log_whose_folder_may_not_be_written_is_read_in_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Store(str(tmp_path / "a.presman"), writing=True)):
        for end in ("", "-wal"):
            (tmp_path / f"b.presman{end}").write_bytes((tmp_path / f"a.presman{end}").read_bytes())
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    with closing(Store(str(tmp_path / "b.presman"), writing=False)) as store:
        assert [each.partition(" cannot read its log: ")[2] for each in store.damage] == ["a copy is read"]
