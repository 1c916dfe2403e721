"""Traces: recognised, decompressed if packed, everything else refused in one line."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from presman.trace.trace_files import TraceError, TraceFile

WAIT = b"WAIT #0: nam='log file parallel write' ela= 501 files=1 blocks=58\n"


def content(path: Path, *, block: int = 64) -> bytes:
    trace = TraceFile(str(path), block=block)
    try:
        return b"".join(trace.blocks())
    finally:
        trace.close()


@pytest.mark.parametrize(
    "head",
    [
        WAIT,
        b"Trace file /u01/app/oracle/diag/rdbms/demo/demo/trace/demo_lgwr_4711.trc\nOracle Database 12c\n",
        b"Trace file C:\\ORACLE\\diag\\demo_lgwr_4711.trc\r\nOracle Database 12c\r\n",
        b"/u01/app/oracle/admin/demo/udump/demo_ora_4711.trc\nOracle9i Enterprise Edition Release 9.2.0.1.0\n",
        b"Dump file c:\\oracle\\admin\\demo\\udump\\ora01234.trc\r\nMon Jun 01 10:00:00 2009\r\n",
        b"*** SESSION ID:(12.34) 2015-06-01 10:00:00.000\n",
        b"=====================\nPARSING IN CURSOR #3 len=20 dep=0 uid=0\n",
        b"EXEC #139862917562032:c=0,e=12,p=0,cr=0\n",
        b"\x00\x00garbage\xff\n" * 40 + WAIT,
        b"WAIT #1402\n34: nam='log file sync' ela= 5\n",
    ],
)
def test_traces_are_recognised(head: bytes, tmp_path: Path) -> None:
    path = tmp_path / "demo.trc"
    for text in (head, head + WAIT * 1_999):
        path.write_bytes(text)
        assert content(path) == text
        path.write_bytes(gzip.compress(text, mtime=0))
        assert content(path) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "empty"),
        (gzip.compress(b"", mtime=0), "empty"),
        (b"hello\n" * 9_000, "not an Oracle trace"),
        (bytes(range(256)) * 99, "not an Oracle trace"),
        (b"log file parallel write  12 0.01\n", "not an Oracle trace"),
        (b"text = \"WAIT #0: nam='log file parallel write' ela= 501\"\n", "not an Oracle trace"),
        (b"TKPROF: Release 12.1.0.2.0\n\nTrace file: demo.trc\nWAIT #1: nam='x' ela= 2\n", "TKPROF"),
        (
            b"Mon Jun 01 10:00:00 2015\nErrors in file /u01/demo_ora_1.trc  (incident=1):\nORA-00600\n",
            "not an Oracle trace",
        ),
        (b"PK\x03\x04" + WAIT, "zip"),
        (b"BZh91AY&SY", "bzip2"),
        (b"\xfd7zXZ\x00" + WAIT, "xz"),
        (b"\x28\xb5\x2f\xfd" + WAIT, "zstd"),
        (WAIT.decode().encode("utf-16"), "UTF-16"),
        (b"demo.trc".ljust(257, b"\0") + b"ustar\x0000" + WAIT, "tar"),
        (gzip.compress(b"hello\n", mtime=0), "not an Oracle trace"),
    ],
)
def test_other_files_are_refused(text: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "demo.trc"
    path.write_bytes(text)
    with pytest.raises(TraceError, match=reason) as caught:
        TraceFile(str(path))
    assert "\n" not in str(caught.value)


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    for name, reason in (
        (str(tmp_path), "directory"),
        (str(tmp_path / "none.trc"), "No such file"),
        ("a\0b", "cannot be read"),
    ):
        with pytest.raises(TraceError, match=reason):
            TraceFile(name)


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_archive_gives_what_is_left(damage: str, tmp_path: Path) -> None:
    text = b"".join(b"WAIT #0: nam='log file parallel write' ela= %d\n" % (n * 7919 % 10_007) for n in range(50_000))
    packed = bytearray(gzip.compress(text, mtime=0))
    if damage == "cut":
        del packed[len(packed) // 2 :]
    else:
        packed[-8] ^= 0xFF
    path = tmp_path / "demo.trc.gz"
    path.write_bytes(packed)
    trace = TraceFile(str(path))
    blocks = []
    with pytest.raises(TraceError, match="gzip"):
        blocks.extend(trace.blocks())
    trace.close()
    read = b"".join(blocks)
    assert len(read) > len(text) // 3
    assert text.startswith(read)


def test_files_packed_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "demo.gz"
    path.write_bytes(gzip.compress(WAIT, mtime=0) + gzip.compress(WAIT * 2))
    assert content(path) == WAIT * 3


def test_releases_before_9i_count_in_hundredths(tmp_path: Path) -> None:
    path = tmp_path / "demo.trc"
    for release, unit in (
        (b"Oracle8i Enterprise Edition Release 8.1.7.0.0", 10_000),
        (b"Oracle9i Release 9.2.0.1.0", 1),
    ):
        path.write_bytes(b"/u01/udump/demo_ora_1.trc\n" + release + b" - Production\n" + WAIT)
        trace = TraceFile(str(path))
        assert trace.unit == unit
        trace.close()


def test_position_ends_at_the_size(tmp_path: Path) -> None:
    path = tmp_path / "demo.gz"
    path.write_bytes(gzip.compress(WAIT * 100, mtime=0))
    trace = TraceFile(str(path))
    assert trace.size == path.stat().st_size
    list(trace.blocks())
    assert trace.position == trace.size
    trace.close()


def test_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "demo.trc"
    path.write_bytes(WAIT * 3)
    with path.open("rb") as file:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        trace = TraceFile("-")
        assert b"".join(trace.blocks()) == WAIT * 3
        trace.close()
        assert not file.closed
