"""Older formats: their recordings are read and continued, with the same contents."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from zstandard import ZstdCompressor, ZstdDecompressor

from presman.recording.codec import old_formats
from presman.recording.codec.old_formats import OldChain
from presman.recording.codec.poll_codec import CHECK
from presman.recording.codec.shapes import DamagedError, shape_of
from presman.recording.playback import LostPollError
from presman.recording.reader import Recording
from presman.recording.store_errors import RecordingError
from presman.rows.snapshot import Section, Snapshot
from tests.recording.recorded import figures, polled, record
from tests.thorough import THOROUGH

DATA = Path(__file__).parents[1] / "data"


def unpacked(name: str, folder: Path) -> Path:
    """Return a recording of tests/data as a file of its own."""
    path = folder / "old.presman"
    path.write_bytes(ZstdDecompressor().decompress((DATA / f"{name}.presman.zst").read_bytes()))
    return path


def total(rows: list[dict[str, Any]], key: str) -> float:
    return round(sum(row[key] or 0 for row in rows), 3)


def test_format_1_is_refused(tmp_path: Path) -> None:
    path = unpacked("recording_format_2_mixed", tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE meta SET value = '1' WHERE name = 'format'")
        connection.commit()
    with pytest.raises(RecordingError, match=r"has format 1, which no release of presman wrote"):
        Recording(str(path))
    with pytest.raises(RecordingError, match=r"has format 1, which no release of presman wrote"):
        record(path, [], target="demo:mixed")


def sums(snapshot: Snapshot) -> tuple[int, int, float, int, int]:
    """Return over all rows: their number, the sums of whole and of other numbers, characters of texts, instants."""
    rows = [row for section in snapshot.sections.values() for row in section.rows]
    values = [value for row in rows for value in row]
    return (
        len(rows),
        sum(value for value in values if type(value) is int),
        round(sum(value for value in values if type(value) is float), 3),
        sum(len(value) for value in values if type(value) is str),
        sum(isinstance(value, datetime) for value in values),
    )


@pytest.mark.parametrize(
    ("scenario", "polls", "rows_of_cpu", "used_cpus", "expected"),
    [
        (  # one block a poll: its recorder was killed
            "mixed", 4, 31, 33.177,
            {
                0: (399, 3782283637, 1545743.562, 11058, 130), 1: (400, 3803061428, 1557880.982, 11081, 130),
                2: (400, 3812303090, 1570020.922, 11081, 130), 3: (402, 3837502573, 1582164.332, 11265, 132),
            },
        ),
        (
            "storm", 2, 11, 30.697,
            {0: (1215, 20244540013, 2932068.967, 52501, 515), 1: (1122, 19981319573, 2956315.757, 48170, 462)},
        ),
        (  # frames as differences to the previous frame, to 8 and to 24 before; rows that disappear and come back
            "quiet", 30, 119, 6.275,
            {
                0: (189, 61443153, 485264.194, 4300, 42), 7: (189, 65234982, 513319.204, 4300, 42),
                8: (189, 65630438, 517328.204, 4300, 42), 9: (190, 65978001, 521336.204, 4323, 42),
                23: (229, 227994476, 577475.414, 6545, 60), 24: (231, 228713650, 581494.424, 6600, 60),
                29: (193, 78926845, 601550.214, 4397, 42),
            },
        ),
    ],
)  # fmt: skip
def test_format_2_has_the_same_contents(
    scenario: str,
    polls: int,
    rows_of_cpu: int,
    used_cpus: float,
    expected: dict[int, tuple[int, int, float, int, int]],
    tmp_path: Path,
) -> None:
    """The sums are those of the polls in the presman that wrote them; polls are read in any order."""
    path = unpacked(f"recording_format_2_{scenario}", tmp_path)
    with Recording(str(path)) as recording:
        playback = recording.playback()
        assert (len(playback), playback.damage) == (polls, [])
        for place in reversed(expected):
            assert sums(playback.snapshot(place)) == expected[place]
        assert [sums(playback.snapshot(place)) for place in expected] == list(expected.values())
        assert [playback.reading(index).at for index in playback.indexes()] == [
            playback.at(index) for index in playback.indexes()
        ]
        cpu = figures(playback, "cpu")
        assert (len(cpu), total(cpu, "used_cpus")) == (rows_of_cpu, used_cpus)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone() == ("2",), "unchanged"


def test_format_3_has_the_same_contents(tmp_path: Path) -> None:
    """A file of an earlier presman, which must stay readable when the writer of format 3 changes. Sums as above."""
    with Recording(str(unpacked("recording_format_3_locked", tmp_path))) as recording:
        playback = recording.playback()
        assert (len(playback), playback.damage) == (4, [])
        assert [sums(playback.snapshot(place)) for place in (3, 0)] == [
            (775, 22951395837, 5812894.397, 23455, 428),
            (775, 22885398515, 5807864.387, 23455, 428),
        ]
        cpu = figures(playback, "cpu")
        assert (len(cpu), total(cpu, "used_cpus")) == (19, 10.602)


def test_other_chains_of_a_damaged_format_2_recording_are_read(tmp_path: Path) -> None:
    """A cluster with two blocks of two polls; one bit of the second block was changed."""
    with Recording(str(unpacked("recording_format_2_rac", tmp_path))) as recording:
        playback = recording.playback()
        assert sums(playback.snapshot(0)) == (824, 6827003063, 2059852.863, 26653, 261)
        assert sums(playback.snapshot(1)) == (824, 6897009501, 2076106.673, 26653, 261)
        for place in (2, 3):
            with pytest.raises(LostPollError, match=r"2 polls .* are damaged \(its checksum is wrong\)"):
                playback.snapshot(place)
        cpu = figures(playback, "cpu")
        assert (len(cpu), total(cpu, "used_cpus")) == (38, 71.94)


def test_format_2_is_continued_as_format_3(tmp_path: Path) -> None:
    """The polls of a killed recorder stay in the old blocks; the new blocks follow."""
    path = unpacked("recording_format_2_mixed", tmp_path)
    moments = list(polled("mixed", 6))
    record(path, moments[4:], target="demo:mixed")
    with Recording(str(path)) as recording:
        playback = recording.playback()
        assert [playback.at(place) for place in range(6)] == [snapshot.at for snapshot, _ in moments]
        assert sums(playback.snapshot(0)) == (399, 3782283637, 1545743.562, 11058, 130)
        assert [playback.reading(place).header for place in (5,)] == [moments[5][1].header]
        assert playback.damage == []
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone() == ("3",)
        blocks = connection.execute("SELECT poll, polls FROM blocks ORDER BY poll").fetchall()
        assert blocks == [(0, 1), (1, 1), (2, 1), (3, 1), (4, 2)]


def test_format_2_is_read_without_permission_to_write(tmp_path: Path) -> None:
    path = unpacked("recording_format_2_quiet", tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with Recording(str(path)) as recording:
            assert sums(recording.playback().snapshot(29)) == (193, 78926845, 601550.214, 4397, 42)


def test_older_blocks_that_no_recorder_wrote_are_refused(tmp_path: Path) -> None:
    """Changed bits with a correct checksum; some are in names of records, which are then unknown."""
    with closing(sqlite3.connect(unpacked("recording_format_2_quiet", tmp_path))) as connection:
        (block,) = connection.execute("SELECT content FROM blocks").fetchone()
        texts = dict(connection.execute("SELECT hash, text FROM texts").fetchall())
    whole = ZstdDecompressor().decompress(block[CHECK:])
    rng = random.Random(2)
    refused = 0
    for _ in range(some_of := 1500 if THOROUGH else 15):
        content = bytearray(whole)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        packed = ZstdCompressor(level=1).compress(bytes(content))
        chain = OldChain(lambda keys: {key: texts.get(key, "lost") for key in keys})
        try:
            chain.add_block(blake2b(packed, digest_size=CHECK).digest() + packed)
            for place in (0, 9, 24, 29)[: len(chain)]:
                chain.snapshot(place)
        except DamagedError:
            refused += 1
    assert 0 < refused < some_of


def test_a_section_of_a_record_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    with closing(sqlite3.connect(unpacked("recording_format_2_quiet", tmp_path))) as connection:
        (block,) = connection.execute("SELECT content FROM blocks").fetchone()
        texts = dict(connection.execute("SELECT hash, text FROM texts").fetchall())
    chain = OldChain(lambda keys: {key: texts[key].replace("Session ", "Sezzion ", 1) for key in keys})
    chain.add_block(block)
    found = chain.snapshot(29)
    assert "Session" not in {record.__name__ for record in found.sections}
    assert "SessionInfo" in {record.__name__ for record in found.sections}


def test_a_new_row_of_format_2_without_values_is_damage() -> None:
    """The row had no instance: None among numbers raised an error in the reader."""
    known = old_formats._Known(shape_of("Session inst_id sid"), Section(()), (), 0)
    change: Any = SimpleNamespace(bases=[(None, None)] * len(known.shape.fields), length=2, gone=())
    with pytest.raises(DamagedError), old_formats._damage():
        old_formats.OldChain(lambda _: {})._changed(known, known.section, change, {})
