"""Damage: changed bytes, files cut short, foreign contents are reported, and the rest is read."""

from __future__ import annotations

import itertools
import json
import random
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from datetime import UTC, datetime
from math import inf, nan
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest import mock

import pytest
from msgspec.msgpack import decode, encode
from sqlalchemy import select
from zstandard import ZstdCompressor

from presman.base.release import Release
from presman.cli import console, exit_codes
from presman.figures.measures import MEASURES
from presman.output.narration import Narration
from presman.recording import chain_reader
from presman.recording.chain_reader import (
    Chain,
    ChainIndex,
    ChainReader,
    _without_blocks,
    polls_until,
    read_chains,
    why_damaged,
)
from presman.recording.codec import poll_codec, shapes
from presman.recording.codec.poll_codec import (
    QUICK,
    THOROUGH,
    FrameDecoder,
    FrameEncoder,
    PollDecoder,
    PollEncoder,
    pack_block,
    unpack_block,
)
from presman.recording.codec.shapes import DamagedError, shape_text
from presman.recording.playback import LostPollError, Playback
from presman.recording.playback_values import PlaybackPart
from presman.recording.reader import Recording
from presman.recording.recording_source import RecordingSource
from presman.recording.schema import FORMAT
from presman.recording.schema import POLLS as POLL_ROWS
from presman.recording.schema_check import rescued
from presman.recording.statement_lives import past_runs
from presman.recording.store import Store
from presman.recording.store_errors import RecordingError
from presman.recording.window_lines import FIGURES, group_lines, poll_lines
from presman.reports.report.incident import gather
from presman.reports.report.incident_page import incident_page
from presman.rows.group_rows import GroupMetric
from presman.rows.queries import Scope, field_types
from presman.rows.session_rows import Session
from presman.rows.snapshot import Problem, Section, Snapshot
from presman.sources import SourceError
from tests import thorough
from tests.cli.run import Run
from tests.recording.recorded import figures, polled, record
from tests.sources import fakes
from tests.torture.flips import damaged_copies, read_everything, read_polls

FLIPS = 1000 if thorough.THOROUGH else 12
POLLS = 12
FIELDS = len(Session._fields)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "a.presman"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("presman.recording.writer.CHAIN", 4)
        record(path, list(polled("quiet", POLLS)))
    return path


def readable(path: Path) -> tuple[int, list[str]]:
    """Read polls and some figures; return how many polls could be read, and the reported damage."""
    found, reported = 0, []
    try:
        with Recording(str(path)) as recording:
            for playback in recording.playbacks:
                found += read_polls(playback)
                playback.events(), playback.strip(9)
                reported += playback.damage
            reported += recording.damage
    except RecordingError as error:
        reported.append(str(error))
    assert not any("\n" in each for each in reported)
    return found, reported


def test_changed_bytes_are_reported_and_the_rest_is_read(whole: Path, tmp_path: Path) -> None:
    found = [readable(path) for path in damaged_copies(whole.read_bytes(), range(FLIPS), 3, tmp_path)]
    assert all(reported for polls, reported in found if polls < POLLS)
    assert {polls for polls, _ in found} >= {8, 12}, "a part was lost, or nothing"


def columns(path: Path) -> list[tuple[str, str, str]]:
    """Return every column of every table, with a condition that selects one of its rows."""
    found = []
    with closing(sqlite3.connect(path)) as file:
        names = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        for table in names:
            table_info = file.execute(f'PRAGMA table_info("{table}")').fetchall()
            keys = ", ".join(f'"{row[1]}"' for row in table_info if row[5]) or "rowid"
            row = f'({keys}) = (SELECT {keys} FROM "{table}" LIMIT 1 OFFSET (SELECT COUNT(*) / 2 FROM "{table}"))'
            found += [(table, each[1], row) for each in table_info]
    return found


def test_values_of_another_kind_are_passed_over(whole: Path, tmp_path: Path) -> None:
    """Bytes or a text in any column, of one row."""
    every = columns(whole)
    assert len(every) > 100
    chosen = every if thorough.THOROUGH else every[::47]
    kept = 0
    for (table, column, row), value in itertools.product(chosen, (b"\xff\x00", "ten")[: 1 + thorough.THOROUGH]):
        path = tmp_path / "copy.presman"
        path.write_bytes(whole.read_bytes())
        with (
            closing(sqlite3.connect(path)) as file,
            suppress(sqlite3.IntegrityError),
        ):  # a row number must stay a number
            kept += file.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE {row}', [value]).rowcount
            file.commit()
        with suppress(RecordingError):  # refused in a line
            read_everything(path)
    assert kept > len(chosen) / 2


def test_a_damaged_schema_is_taken_from_a_new_recording(whole: Path, tmp_path: Path) -> None:
    content = bytearray(whole.read_bytes())
    for word in (b"CREATE TABLE blocks", b"used_cpus", b"CREATE VIEW"):
        content[content.index(word)] ^= 4
    path = tmp_path / "a.presman"
    path.write_bytes(content)
    polls, reported = readable(path)
    assert (polls, reported) == (POLLS, [f"{path}: its schema is damaged: the one that presman writes is used"])


def test_the_rest_of_a_file_cut_short_is_read(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    content = whole.read_bytes()
    path.write_bytes(content[:-1])
    with Recording(str(path)) as recording:
        playback = recording.playback()
        assert len(playback) == POLLS
        assert 0 < read_polls(playback) < POLLS
        assert len(poll_lines(playback, playback.at(0), playback.at(POLLS - 1)).times) == POLLS
        assert playback.damage
    path.write_bytes(content[: len(content) // 2])
    with Recording(str(path)) as recording:
        size = f"{len(content) // 2 / 1e6:.1f} of {len(content) / 1e6:.1f} MB are there"
        words = f"{path}: it is cut short, {size}: what is left is read"
        assert words in recording.damage


@pytest.mark.parametrize("part", [4, 2])
def test_of_a_file_of_which_no_poll_can_be_read_nothing_is_said_to_be_read(
    whole: Path, tmp_path: Path, inside: Run, part: int
) -> None:
    content = whole.read_bytes()
    (tmp_path / "a.presman").write_bytes(content[: len(content) // part])
    done = inside("once", "a.presman")
    assert done.returncode == exit_codes.SOURCE
    assert done.stderr.rstrip().endswith("MB are there: nothing is left")


def test_whole_polls_of_a_cut_block_are_read(tmp_path: Path) -> None:
    """A minute is one block. From a file without its end nothing was read, although it has most of the polls."""
    path = tmp_path / "a.presman"
    moments = list(polled("storm", 12))
    record(path, moments)
    content = path.read_bytes()

    def polls_in(part: int) -> int:
        path.write_bytes(content[: len(content) * part // 1000])
        with Recording(str(path)) as recording:
            return read_polls(recording.playback())

    found = []
    for part in [part for part in range(800, 1000, 25) if 1 < polls_in(part) < 12][-3:]:
        path.write_bytes(content[: len(content) * part // 1000])
        with Recording(str(path)) as recording:
            playback = recording.playback()
            found.append(there := read_polls(playback))
            for index in range(there):
                assert playback.snapshot(index).rows(Session) == moments[index][0].rows(Session)
            lost = f"{12 - there} poll{'s' * (there < 11)} from {moments[there][0].at:%Y-%m-%d %H:%M:%S} UTC on "
            assert any(lost in each for each in playback.damage), playback.damage
        with Recording(str(path)) as recording:  # the first call reports the same damage as later ones
            (cut,) = recording.playback().damaged()
            assert (cut.start, cut.polls) == (moments[there][0].at, 12 - there)
    assert 1 < found[0] < found[1] < found[2] < 12
    with Recording(str(path)) as recording:
        playback = recording.playback()
        (chain,) = playback._index.chains
        gone = [chain._replace(chain=100 * each, first_at=chain.last_at + each) for each in (1, 2, 3)]
        playback._index = ChainIndex([chain, *gone])
        backwards = playback.readable(range(4 * 12)[::-1])
        assert next(backwards) == found[2] - 1, "the chain in which the file ends comes before three lost ones"
    changed = bytearray(content)  # if nothing is missing, no checksum covers the part before the damage
    changed[content.index(b"\x28\xb5\x2f\xfd") + 200] ^= 1
    path.write_bytes(changed)
    with Recording(str(path)) as recording:
        assert read_polls(recording.playback()) == 0


def test_a_damaged_block_costs_its_own_polls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presman.recording.writer.CHAIN", 4)
    path = tmp_path / "a.presman"
    moments = list(polled("quiet", POLLS))
    record(path, moments)
    with closing(sqlite3.connect(path)) as connection, connection:
        (content,) = connection.execute("SELECT content FROM blocks WHERE poll = 4").fetchone()
        changed = content[:40] + bytes([content[40] ^ 1]) + content[41:]
        connection.execute("UPDATE blocks SET content = ? WHERE poll = 4", (changed,))
    with Recording(str(path)) as recording:
        playback = recording.playback()
        read = []
        for place in range(POLLS):
            try:
                assert playback.snapshot(place).at == moments[place][0].at
                read.append(place)
            except LostPollError as error:
                assert "4 polls" in str(error)  # noqa: PT017 - those of the block
        assert read == [0, 1, 2, 3, 8, 9, 10, 11]
        assert len(playback.damage) == 1
        assert [playback.reading(place).at for place in read] == [moments[place][0].at for place in read]
        assert len(figures(playback, "cpu")) == sum(len(list(MEASURES["cpu"].rows(reading))) for _, reading in moments)
    early, late = (f"{moments[place][0].at.astimezone():%H:%M:%S}" for place in (5, 6))
    with pytest.raises(SourceError, match=f"every poll from .*{early} to .*{late} is damaged"):
        RecordingSource(str(path), name="a", start=early, end=late).open()


def test_chains_with_a_wrong_checksum_or_without_a_block_are_listed(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole.read_bytes())
    with closing(sqlite3.connect(path)) as connection, connection:
        (content,) = connection.execute("SELECT content FROM blocks WHERE poll = 4").fetchone()
        changed = content[:40] + bytes([content[40] ^ 1]) + content[41:]
        connection.execute("UPDATE blocks SET content = ? WHERE poll = 4", (changed,))
        connection.execute("UPDATE blocks SET content = 'x' WHERE poll = 8")
    with Recording(str(path)) as recording:
        playback = recording.playback()
        ats = [playback.at(place) for place in range(POLLS)]
        assert [tuple(each) for each in playback.damaged()] == [(ats[4], ats[7], 4), (ats[8], ats[11], 4)]
        assert [each.start for each in playback.damaged(ats[8], ats[9])] == [ats[8]]
        chain, _ = playback._index.find(0)
        assert list(why_damaged(chain.store, [chain, chain._replace(chain=99), chain])) == ["", "it is not there", ""]
        with mock.patch.object(Store, "most_bytes", 10):
            assert list(why_damaged(chain.store, [chain])) == ["its checksum is wrong"], "it has more bytes"


def test_if_the_newest_polls_are_damaged_the_last_readable_is_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: Run
) -> None:
    monkeypatch.setattr("presman.recording.writer.CHAIN", 4)
    path = tmp_path / "a.presman"
    moments = list(polled("quiet", 8))
    record(path, moments)
    with closing(sqlite3.connect(path)) as connection, connection:
        (content,) = connection.execute("SELECT content FROM blocks WHERE poll = 4").fetchone()
        connection.execute("UPDATE blocks SET content = ? WHERE poll = 4", (content[:-1] + b"!",))
    done = inside("once", str(path), "--format", "json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["number"] == 4
    assert "4 polls" in done.stderr
    ends = [f"{moments[place][0].at.astimezone():%Y-%m-%d %H:%M:%S}" for place in (3, 7)]
    (note,) = [each for each in found["notes"] if "cannot be read" in each]
    assert f"The last 4 polls, up to {ends[1]}, cannot be read" in note
    assert f"newest before is of {ends[0]}, " in note
    checked = inside("check", str(path))
    assert (checked.returncode, "queued=" in checked.stdout) == (3, False)
    assert checked.stdout.startswith("PRESMAN UNKNOWN - ")
    assert note in checked.stdout
    assert note in inside("replay", str(path), "--at", "last").stdout
    why = inside("why", str(path), "1", "--at", "last")
    assert (why.returncode, note in why.stderr) == (3, True), "the state at that instant is not known"
    assert inside("why", str(path), "1", "--at", ends[0]).returncode == 5
    clear = inside("check", str(path), "--at", ends[0], "-v")
    assert (clear.returncode, f" as of {ends[0]}: " in clear.stdout) == (0, True)
    assert clear.stdout.count("Nothing is wrong") == 1
    assert "4 polls" in inside("watch", str(path), "--polls", "1").stderr, "reported before the first line"


def test_watch_reports_damage_at_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: Run) -> None:
    monkeypatch.setattr("presman.recording.writer.CHAIN", 4)
    path = tmp_path / "a.presman"
    printed: list[Any] = []
    record(path, list(polled("quiet", 12)))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE blocks SET content = 'x' WHERE poll = 4")
    monkeypatch.setattr(console, "note", lambda text, *_: printed.append(text))
    monkeypatch.setattr(Narration, "take", lambda _, reading, __: printed.append(reading.number) or [])
    assert inside("watch", str(path)).returncode == 0
    assert printed[:4] == [1, 2, 3, 4]
    assert "4 polls" in printed[4]
    assert printed[5:] == [9, 10, 11, 12]


def test_frames_that_no_recorder_wrote_are_refused() -> None:
    """Changed bits of frames with a correct checksum, which a malicious file can have."""
    encoder = FrameEncoder(QUICK)
    frames = [encoder.add(snapshot) for snapshot, _ in polled("quiet", 3)]
    rng = random.Random(5)
    refused = 0
    for _ in range(FLIPS * 5):
        others = [bytearray(each) for each in frames]
        content = rng.choice(others)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        try:
            decoder = FrameDecoder(unpack_block(pack_block(list(map(bytes, others)))))
            for place in range(3):
                decoder.snapshot(place)
        except DamagedError:
            refused += 1
    assert refused


def test_foreign_polls_are_refused_or_have_valid_types() -> None:
    """Changed bits of decompressed frames: the only error is DamagedError, and no value gets another type."""
    (snapshot, _), *_ = polled("quiet", 1)
    whole = PollEncoder(words_by_row=True).encode(snapshot)
    rng = random.Random(6)
    refused = 0
    for _ in range(FLIPS * 20):
        content = bytearray(whole)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        try:
            found = PollDecoder().decode(bytes(content))
        except DamagedError:
            refused += 1
            continue
        for kind, section in found.sections.items():
            types = field_types(kind)
            for values in section.rows:
                for value, (expected, optional) in zip(values, types.values(), strict=True):
                    assert type(value) is expected or (value is None and (optional or expected is datetime))
    assert FLIPS < refused < FLIPS * 20


def test_foreign_texts_are_cleaned_and_infinite_figures_refused() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)

    def packed(record: type[Any], **values: Any) -> bytes:
        sections = {record: Section((fakes.row(record, **values),), at, problem=Problem("", "\x1b[2J"))}
        held = MappingProxyType(sections)
        return PollEncoder().encode(Snapshot("t", "oracle", Release(19), Scope.CLUSTER, at, 1, 1, 0.1, 2, held))

    text = packed(Session, program="a\x1b]0;owned\x07", sid=1)
    found = PollDecoder().decode(text).section(Session)
    assert found.rows[0].program == "a␛]0;owned␇"
    assert found.problem == Problem("", "␛[2J")
    assert PollDecoder(trusted=True).decode(text).rows(Session)[0].program == "a\x1b]0;owned\x07"
    for value in (inf, -inf, nan, 1e300, 1e-300):
        with pytest.raises(DamagedError, match="larger or smaller than any figure"):
            PollDecoder().decode(packed(GroupMetric, cpu_utilization_limit=value))
    with pytest.raises(DamagedError, match="larger or smaller than any figure"):
        PollDecoder().decode(packed(Session, sid=10**30))


@pytest.mark.parametrize("words_by_row", [False, True])
def test_large_values_are_refused_and_equal_ones_shared(words_by_row: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """3,000 rows: 1,200 kB if all programs differ, 850 if all are equal."""
    monkeypatch.setattr(poll_codec, "_SMALL", 1_000)
    monkeypatch.setattr(shapes, "MOST_MEMORY", 1_000_000)
    at = datetime(2026, 1, 1, tzinfo=UTC)

    def packed(program: Any) -> bytes:
        rows = tuple(fakes.row(Session, sid=sid, program=program(sid), username=program(-sid)) for sid in range(3_000))
        held = MappingProxyType({Session: Section(rows, at)})
        snapshot = Snapshot("t", "oracle", Release(19), Scope.CLUSTER, at, 1, 1, 0.1, 2, held)
        return PollEncoder(words_by_row=words_by_row).encode(snapshot)

    alike = PollDecoder().decode(packed(lambda _sid: "sqlplus@host")).rows(Session)
    assert [row.sid for row in alike] == list(range(3_000))
    assert len({id(row.program) for row in alike}) == 1
    with pytest.raises(DamagedError, match="decompresses to more than a recorder writes"):
        PollDecoder().decode(packed("sqlplus@host {}".format))


@pytest.mark.parametrize("words", [[4, FIELDS], [4, -1], [4, 4], [4], [], list(range(FIELDS))])
def test_misplaced_fields_are_refused(words: list[int]) -> None:
    """The texts and instants of a session are stored together."""
    moments = list(polled("queueing", 1))
    honest = poll_codec._words_and_others(Session)
    assert len(honest[0]) + len(honest[1]) == FIELDS
    content = decode(PollEncoder(words_by_row=True).encode(moments[0][0]))
    for section in content[-1]:
        if section[0] == shape_text(Session):
            assert section[2] == honest[0]
            section[2] = words
    with pytest.raises(DamagedError):
        PollDecoder().decode(encode(content))


def test_oversized_polls_are_refused_before_they_are_decompressed(tmp_path: Path) -> None:
    """Ten thousand polls of 32 MB each, one of 64 MB, hundreds of millions of rows: one line, little memory."""
    code = (
        "import sys, zstandard\n"
        "from datetime import UTC, datetime\n"
        "from msgspec.msgpack import encode\n"
        "from msgspec import Raw\n"
        "from presman.recording.codec.poll_codec import FrameDecoder\n"
        "from presman.recording.codec.shapes import shape_text\n"
        "from presman.recording.codec.shapes import DamagedError\n"
        "from presman.rows.queries import field_types\n"
        "from presman.rows.session_rows import Session\n"
        "from tests.torture.rounds import most_memory\n"
        "pack = zstandard.ZstdCompressor(level=9).compress\n"
        "mega, at = 1 << 20, datetime(2026, 1, 1, tzinfo=UTC)\n"
        "def poll(length, columns):\n"
        "    section = [shape_text(Session), length, [], Raw(columns), False, None, [], []]\n"
        "    head = [at, 1, 1, 0.1, 1, 0, True, 't', 'oracle', '19.0', 'cluster', '', []]\n"
        "    return pack(encode([*head, [at], [1], [section]]))\n"
        "column = b'\\xdd' + (25 * mega).to_bytes(4, 'big') + bytes(25 * mega)\n"
        "fields = len(Session._fields)\n"
        "many = b'\\xdc' + fields.to_bytes(2, 'big') + column + b'\\x90' * (fields - 1)\n"
        "whole = encode([[None if kind is datetime or optional else kind()]\n"
        "    for kind, optional in field_types(Session).values()])\n"
        "print(len(FrameDecoder([poll(1, whole)]).snapshot(0).rows(Session)))\n"
        "bombs = [[pack(bytes(32 * mega))] * 10_000, [pack(bytes(64 * mega))], [poll(1, many)],\n"
        "         [poll(1 << 30, whole)], [poll(190_000, whole)],\n"
        "         [pack(b'\\xdd\\x01\\xff\\xff\\xff' + bytes(30 * mega))]]\n"
        "for frames in bombs:\n"
        "    try:\n"
        "        FrameDecoder(frames).snapshot(0)\n"
        "    except DamagedError as error:\n"
        "        print(error)\n"
        "print(most_memory() < 300)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "1",
        "it decompresses to more bytes than a recorder writes",
        "it decompresses to more bytes than a recorder writes",
        "rows that do not fit",
        "it holds something else than a poll",
        f"it decompresses to {190_000 * FIELDS:,} values",
        "it holds something else than a poll",
        "True",
    ]


def test_a_chain_with_a_foreign_poll_is_not_read_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three chains: two with malicious large polls, of which one is tried, and a recorder's, which is read."""
    (snapshot, _), *_ = polled("quiet", 1)
    foreign = [ZstdCompressor(level=1).compress(encode([number] * 9_000_000)) for number in (1, 2, 3)]
    frames = {1: [FrameEncoder(QUICK).add(snapshot)], 2: foreign, 3: foreign}
    tried: list[int] = []
    decoded = PollDecoder.decode

    def counting(self: PollDecoder, content: bytes) -> Snapshot:
        tried.append(len(content))
        return decoded(self, content)

    monkeypatch.setattr(PollDecoder, "decode", counting)
    monkeypatch.setattr("presman.recording.chain_reader._opened", lambda chain: FrameDecoder(frames[chain.chain]))
    store = mock.Mock()
    store.name = "a"
    reader, errors = ChainReader(), []
    for number, place in ((3, 2), (3, 1), (3, 0), (2, 2), (2, 1)):
        with pytest.raises(DamagedError) as error:
            reader.snapshot(Chain(store, 1, number, 3, 0, 0), place)
        errors.append(str(error.value))
    assert (
        errors == ["it holds something else than a poll"] * 3 + ["it is large, as another that no recorder wrote"] * 2
    )
    assert reader.snapshot(Chain(store, 1, 1, 1, 0, 0), 0).sections
    assert len(tried) == 2
    assert tried[0] > 9_000_000 > tried[1]


def with_blocks(path: Path, many: int, content: bytes, place: int = 1_000_000) -> None:
    """Add blocks, each a chain of its own, after or before (`place`) those of a recording."""
    at = f"(SELECT {'max(last_at) + 1' if place else 'min(first_at) - :many'} FROM blocks)"
    count = "WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < :many - 1)"
    values = f"SELECT 1, :place + i, :place + i, 1, {at} + i, {at} + i, :content FROM n"
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE blocks SET poll = poll + :place, chain = chain + :place", {"place": 0 if place else many})
        binds = {"many": many, "place": place, "content": content}
        file.execute(f"{count} INSERT INTO blocks {values}", binds)


@pytest.mark.parametrize("place", [0, 1_000_000])
def test_thousands_of_damaged_chains_are_skipped(
    place: int, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each took 0.7 ms repeatedly, so that a file of five megabytes took minutes."""
    path = tmp_path / "a.presman"
    path.write_bytes(whole.read_bytes())
    with_blocks(path, 3_000, b"", place)
    tried: list[Chain] = []
    opened = chain_reader._opened
    monkeypatch.setattr(chain_reader, "_opened", lambda chain: tried.append(chain) or opened(chain))
    with Recording(str(path)) as recording:
        playback = recording.playback()
        polls = range(len(playback))
        own = [0 if place else 3_000, POLLS if place else POLLS + 3_000]
        assert [list(playback.readable(way)) for way in (polls, polls[::-1])] == [
            list(range(*own)),
            list(range(*own))[::-1],
        ]
        assert len(tried) < 2 * POLLS
        assert (
            f"3,000 polls in 3,000 blocks from {playback.at(own[place > 0]):%Y-%m-%d %H:%M:%S}" in playback.damage[0]
            or not place
        )
        assert "are damaged (its checksum is wrong)" in playback.damage[0]


def test_after_hundreds_of_foreign_blocks_no_other_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.presman"
    record(path, list(polled("quiet", 2)))
    with_blocks(path, 2_000, pack_block([ZstdCompressor().compress(encode([1, 2]))]), 0)
    tried = mock.Mock(side_effect=chain_reader._opened)
    monkeypatch.setattr(chain_reader, "_opened", tried)
    with pytest.raises(
        SourceError, match="every poll is damaged: it holds something else than a poll, not tried"
    ) as caught:
        RecordingSource(str(path), name="a").open()
    assert len(str(caught.value)) < 200
    assert tried.call_count == 512


def test_a_file_has_no_more_blocks_than_its_size_allows(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole.read_bytes())
    with_blocks(path, 3_000, b"")
    with mock.patch.object(Store, "most_bytes", 100_000), Recording(str(path)) as recording:
        assert len(recording.playback()) == POLLS + 200 - POLLS // 4
        assert recording.playback().damage == [f"{path} is damaged: it has more than 200 blocks"]


def test_uncleaned_texts_are_cleaned_up_to_a_limit() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)

    def packed(rows: int) -> bytes:
        found = tuple(fakes.row(Session, sid=sid, program=f"\x1b{sid:0999}") for sid in range(rows))
        held = MappingProxyType({Session: Section(found, at)})
        return PollEncoder().encode(Snapshot("t", "oracle", Release(19), Scope.CLUSTER, at, 1, 1, 0.1, 2, held))

    assert PollDecoder().decode(packed(1_000)).rows(Session)[7].program == f"␛{7:0999}"
    with pytest.raises(DamagedError, match="more texts to be cleaned than a recorder leaves"):
        PollDecoder().decode(packed(1_100))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a recording"),
        (b"PK\3\4 a zip", "is not a recording"),
        (b"SQLite format 3\0" + bytes(84), "but not a recording"),
    ],
)
def test_files_of_other_kinds_are_named(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=message):
        Recording(str(path))


@pytest.mark.parametrize("scenario", ["queueing", "quiet"])  # with active sessions, and without
@pytest.mark.parametrize("level", [QUICK, THOROUGH])
def test_fields_added_or_removed_since_are_null_and_named(
    scenario: str, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (snapshot, _), *_ = polled(scenario, 1)
    old = shape_text(Session).replace(" osuser ", " gone ")
    monkeypatch.setattr(
        "presman.recording.codec.shapes.shape_text", lambda each: old if each is Session else shape_text(each)
    )
    frame = FrameEncoder(level).add(snapshot)
    found = FrameDecoder([frame]).snapshot(0).section(Session)
    assert found.absent == {"osuser"}
    assert [row._replace(osuser="") for row in snapshot.rows(Session)] == list(found.rows)


def test_a_newer_format_is_refused_and_left_alone(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole.read_bytes())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'format'", (str(FORMAT + 1),))
    for writing in (False, True):
        with pytest.raises(RecordingError, match=f"has format {FORMAT + 1}; this presman reads up to {FORMAT}"):
            Store(str(path), writing=writing)


def test_polls_from_a_damaged_index_are_not_returned(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Playback.rows

    def with_a_stranger(playback: Playback, part: PlaybackPart, statement: Any) -> list[tuple[Any, ...]]:
        found = rows(playback, part, statement)
        return [*found, (-103, 1.0, 5.0)] if "FROM polls" in str(statement) else found

    monkeypatch.setattr(Playback, "rows", with_a_stranger)
    with Recording(str(whole)) as recording:
        (playback,) = recording.playbacks
        assert playback.first
        assert playback.last
        lines = group_lines(playback, playback.first, playback.last, tuple(FIGURES))
    assert len(lines.times) == POLLS
    assert {len(line) for line in lines.values.values()} == {POLLS}


def test_a_report_can_be_made_of_damaged_groups_and_statements(tmp_path: Path) -> None:
    """Groups without rows, and a statement that begins after it was seen."""
    path = tmp_path / "a.presman"
    moments = list(polled("mixed", 6))
    record(path, moments)
    at = moments[-1][0].at
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE statements SET queued_at = NULL, started_at = last_seen + 3600000000")
    with Recording(str(path)) as recording:
        playback = recording.playback()
        assert playback.statements()
        assert past_runs(playback, moments[0][0].at, at) == []
        whole, rows = group_lines(playback, moments[0][0].at, at, ("used", "io")), Playback.rows
        assert whole.values

        def no_groups(self: Playback, part: PlaybackPart, statement: Any) -> list[tuple[Any, ...]]:
            return (
                [] if "used_cpus" in str(statement) and "group_rows" in str(statement) else rows(self, part, statement)
            )

        with mock.patch.object(Playback, "rows", no_groups):
            found = group_lines(playback, moments[0][0].at, at, ("used", "io"))
        assert found.times == whole.times
        assert found.values == {}


def test_a_chain_counts_only_its_own_polls(whole: Path) -> None:
    store = Store(str(whole), writing=False)
    chains = read_chains(store, 1, [])
    assert [each.polls for each in chains] == [4, 4, 4]
    for each in chains:
        ats = [at for (at,) in store.rows(select(POLL_ROWS.c.at).where(POLL_ROWS.c.poll >= each.chain).limit(4))]
        assert [polls_until(each, at, included=False) for at in ats] == [0, 1, 2, 3]
        assert [polls_until(each, at, included=True) for at in ats] == [1, 2, 3, 4]
        assert polls_until(each, ats[3] + 10**12, included=False) == 4
    store.close()


def test_consecutive_polls_without_blocks_form_chains(whole: Path, tmp_path: Path) -> None:
    """Polls of other chains, and polls without a valid instant (a text, before 1970, infinite), are left out."""
    path = tmp_path / "a.presman"
    path.write_bytes(whole.read_bytes())
    with closing(sqlite3.connect(path)) as connection, connection:
        polls = [poll for (poll,) in connection.execute("SELECT poll FROM polls ORDER BY poll")]
        for place, at in enumerate([1000, 900, "x", 0, -1, 1500, 1 << 60, 1700, 1800, 1900, 2000, 2100]):
            connection.execute("UPDATE polls SET at = ? WHERE poll = ?", (at, polls[place]))
    store = Store(str(path), writing=False)
    found = _without_blocks(store, 1, [Chain(store, 1, polls[8], 2, 1800, 1900)])
    assert [(polls.index(each.chain), *each[3:]) for each in found] == [
        (0, 2, 1000, 1000), (3, 1, 0, 0), (5, 1, 1500, 1500), (7, 1, 1700, 1700), (10, 2, 2000, 2100),
    ]  # fmt: skip
    assert _without_blocks(store, 2, []) == []
    store.close()


def test_a_foreign_instant_is_replaced_by_that_of_the_last_poll(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole.read_bytes())
    with closing(sqlite3.connect(path)) as connection, connection:
        (poll,) = connection.execute("SELECT poll FROM polls ORDER BY poll LIMIT 1 OFFSET 1").fetchone()
        connection.execute("UPDATE polls SET at = 1000000000000000000 WHERE poll = ?", (poll,))
    with Recording(str(path)) as recording:
        playback = recording.playback()
        assert playback.at(1) == playback.at(3) == playback.snapshot(3).at, "a chain has four"
        assert playback.at(2) == playback.snapshot(2).at
        page = incident_page(gather(recording, playback, range(4)), playback.at(3))
        assert "<!DOCTYPE html>" in page


def test_a_file_with_a_new_schema_keeps_its_size(whole: Path, tmp_path: Path) -> None:
    copy = rescued(whole, tmp_path, lambda fresh: Store(str(fresh), writing=True).close())
    content, changed = whole.read_bytes(), copy.read_bytes()
    size = int.from_bytes(content[16:18], "big")
    assert len(changed) == len(content) == size * (len(content) // size)
    assert int.from_bytes(changed[28:32], "big") == len(content) // size, "SQLite's file format: pages of the database"


@pytest.mark.parametrize("cut", [-100, 2 * 4096])
def test_a_file_that_was_cut_has_whole_pages_with_its_new_schema(whole: Path, tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole.read_bytes()[:cut])
    (tmp_path / "rescued").mkdir()
    copy = rescued(path, tmp_path / "rescued", lambda fresh: Store(str(fresh), writing=True).close())
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() > (0,)
        (pages,), (size,) = (connection.execute(f"PRAGMA page_{what}").fetchone() for what in ("count", "size"))
    assert copy.stat().st_size == pages * size


def test_an_unreadable_format_is_reported_with_the_name_once(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    path.write_bytes(whole.read_bytes())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE meta SET value = 'two' WHERE name = 'format'")
    line = (
        f"{path}: its format cannot be read and is taken to be {FORMAT} (not a recording of presman: it has no format)"
    )
    with Recording(str(path)) as recording:
        assert line in recording.damage_of(recording.playback())


def test_only_texts_that_have_lines_keep_them() -> None:
    room = shapes.MemoryBudget(1 << 20)
    name, text = (shapes._field(each, str, False) for each in ("program", "sql_text"))
    assert name.checked(["a\nb"], room) == ["a b"]
    assert text.checked(["a\nb"], room) == ["a\nb"]
