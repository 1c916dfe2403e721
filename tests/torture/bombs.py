"""Bombs: small blocks of a recording that decompress to gigabytes.

presman must report them in one line, read the rest, and use little memory.

    python -m tests.torture.bombs FILE...

reads bombs, and prints the outcomes and the peak memory. The seed determines where a bomb claims a size, and how large:
from a little more than a recorder writes up to the most that its bytes can express.
"""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from msgspec.msgpack import decode, encode
from zstandard import ZstdCompressor

from presman.recording.codec.poll_codec import PollEncoder, pack_block
from presman.recording.codec.shapes import MOST_ROWS, MOST_VALUES, shape_text
from presman.recording.playback import LostPollError, Playback
from presman.recording.reader import Recording
from presman.rows.cursor_rows import PlanXml, SqlText
from presman.rows.queries import RecordType, field_types
from presman.rows.session_rows import Session
from tests.cli.run import environment
from tests.recording.recorded import polled, record
from tests.torture.rounds import Broken, Task, most_memory

MOST_MEGABYTES = 300
"""The most memory that presman may use to read a bomb, presman itself included."""

_AT_A_TIME = 50
"""Bombs that one process reads. Another process makes them, because that takes memory, too."""

_PEAK = "megabytes at most"
_SHAPE, _LENGTH, _WORDS, _COLUMNS, _WIDE = range(5)
"""Positions in a packed section; see presman.recording.codec.poll_codec."""


def _checked(content: bytes) -> bytes:
    return blake2b(content, digest_size=8).digest() + content


def _huge(rng: random.Random) -> int:
    return int(2 ** rng.uniform(13, 32))


# -- zstd, by hand (RFC 8878): blocks of four bytes that stand for 128 KB of the fourth


def _frame(rng: random.Random, size: bytes, descriptor: int, blocks: int) -> bytes:
    window = b"" if descriptor & 0x20 else bytes([rng.choice((0x58, 0x70, 0x88, 0xFF))])
    head = b"\x28\xb5\x2f\xfd" + bytes([descriptor]) + window + size
    block = ((128 << 10) << 3 | 2).to_bytes(3, "little") + bytes([rng.choice((0, 1, 0x7F))])
    last = (1 << 3 | 3).to_bytes(3, "little") + b"\0"
    return head + block * blocks + last


def zstd(rng: random.Random) -> list[bytes]:
    """Gigabytes of one repeated byte, in a frame with or without its size."""
    blocks = rng.choice((300, 3_000, 30_000))
    if rng.random() < 0.5:
        return [_frame(rng, b"", 0x00, blocks)]
    return [_frame(rng, ((128 << 10) * blocks + 1).to_bytes(8, "little"), 0xC0 | rng.choice((0, 0x20)), blocks)]


def zstd_size(rng: random.Random) -> list[bytes]:
    """A frame that claims a size smaller than it has, or larger than anything."""
    claimed = rng.choice((0, 1, 1 << 20, 32 << 20, (32 << 20) + 1, 1 << 40, (1 << 64) - 3))
    return [_frame(rng, claimed.to_bytes(8, "little"), 0xC0 | rng.choice((0, 0x20)), rng.choice((0, 1, 8, 2_000)))]


def frames(rng: random.Random) -> list[bytes]:
    """Many frames of megabytes, or far too many empty ones."""
    if rng.random() < 0.5:
        return [_packed(bytes(rng.choice((1, 30)) << 20))] * rng.choice((3, 300, 9_000))
    return [rng.choice((b"", _packed(b"")))] * rng.choice((9_999, 10_001, 2_000_000))


# -- the content of a poll


def _packed(content: bytes) -> bytes:
    return ZstdCompressor(level=1).compress(content)


def _array(length: int) -> bytes:
    return b"\xdd" + min(length, (1 << 32) - 1).to_bytes(4, "big")


def counts(rng: random.Random) -> list[bytes]:
    """Arrays, maps and texts that are shorter than the length they claim."""
    heads = [_array(_huge(rng)), b"\xdf" + _array(_huge(rng))[1:], b"\xdb" + _array(_huge(rng))[1:]]
    claimed = rng.choice(heads) + rng.choice(heads) * rng.choice((0, 1, 1_000)) + bytes(rng.choice((0, 10, 30 << 20)))
    poll = _poll()
    places = rng.choice(((), (12,), (13,), (14,), (15,), (0, 13, 14, 15)))
    return [_packed(_with(poll, places, claimed) if places else claimed)]


def _with(poll: Sequence[Any], places: Sequence[int], claimed: bytes) -> bytes:
    """Return a poll as an array with `claimed` at some places."""
    return bytes([0xDC, 0, len(poll)]) + b"".join(
        claimed if place in places else encode(each) for place, each in enumerate(poll)
    )


def nesting(rng: random.Random) -> list[bytes]:
    """Deeply nested arrays; and in a plan, XML with a thousand levels or with entities of entities."""
    if rng.random() < 0.3:
        return [_packed(_with(_poll(), (rng.randrange(16),), b"\x91" * rng.choice((500, 100_000, 20_000_000))))]
    deep = rng.choice((1_000, 20_000))
    laughs = "".join(f"<!ENTITY l{n + 1} '{f'&l{n};' * 10}'>" for n in range(20))
    document = rng.choice((f"<other_xml>{'<info>' * deep}", f"<!DOCTYPE o [<!ENTITY l0 'ha'>{laughs}]><o>&l20;</o>"))
    return _rows(PlanXml, rng.choice((1, 1_000)), lambda kind, _: document if kind is str else _plain(kind))


def texts(rng: random.Random) -> list[bytes]:
    """Texts of megabytes in every text column."""
    text = rng.choice(("a", "\0", "\u20ac\U0001f600", "<a>", "\n", "a\u0301" * 9)) * int(2 ** rng.uniform(12, 20))
    return _rows(SqlText, rng.choice((1, 20)), lambda kind, _: text if kind is str else _plain(kind))


def words(rng: random.Random) -> list[bytes]:
    """As many distinct texts as a section can have."""
    return _rows(Session, rng.choice((1_000, 20_000)), lambda kind, row: f"w{row}" if kind is str else _plain(kind))


def runs(rng: random.Random) -> list[bytes]:
    """Columns that repeat one value, of a known record or of an unknown one."""
    length = rng.choice((MOST_ROWS, MOST_ROWS + 1, MOST_ROWS // 4, 20_000, _huge(rng)))
    few = min(length, 50_000)
    if rng.random() < 0.5:
        return _rows(Session, length, lambda kind, _: _plain(kind), few)
    fields = rng.choice((1, 20, 400))
    columns = [[0] * min(few, 2_000_000 // fields)] * fields
    return _section(f"Unknown {' '.join(f'f{number}' for number in range(fields))}", length, columns)


def values(rng: random.Random) -> list[bytes]:
    """As many distinct values as a section can have that has as many bytes as the largest real one."""
    length = int(rng.uniform(0.1, 1.2) * MOST_VALUES / len(field_types(Session)))
    padding = _packed(rng.randbytes(rng.choice((0, 300_000))))
    return [*_rows(Session, length, _another), *([padding] if rng.random() < 0.5 else [])]


def _plain(kind: type[Any]) -> Any:
    return datetime(2026, 1, 1, tzinfo=UTC) if kind is datetime else kind()


def _another(kind: type[Any], row: int) -> Any:
    if kind is datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=row)
    return f"{row}" if kind is str else kind(row + 1_000)


@cache
def _encoded() -> bytes:
    (snapshot, _), *_ = polled("quiet", 1)
    return PollEncoder().encode(snapshot)


def _poll() -> list[Any]:
    found: list[Any] = decode(_encoded())
    return found


def _rows(
    record: RecordType, length: int, value: Callable[[type[Any], int], Any], written: int | None = None
) -> list[bytes]:
    """Return a poll with a section that claims `length` rows and has `written` of them."""
    many = range(length if written is None else written)
    columns = [[value(kind, row) for row in many] for kind, _ in field_types(record).values()]
    return _section(shape_text(record), length, columns)


def _section(shape: str, length: int, columns: list[list[Any]]) -> list[bytes]:
    """Return a poll with this section, which replaces the one of the same shape if there is one."""
    poll = _poll()
    section = [shape, length, [], columns, False, None, [], []]
    there = [place for place, each in enumerate(poll[15]) if each[_SHAPE] == shape]
    if there:
        poll[15][there[0]] = section
    else:
        poll[13].append(None), poll[14].append(0), poll[15].append(section)
    return [_packed(encode(poll))]


KINDS: Mapping[str, Callable[[random.Random], list[bytes]]] = {
    "zstd": zstd, "size": zstd_size, "frames": frames, "counts": counts, "nesting": nesting, "texts": texts,
    "words": words, "runs": runs, "values": values,
}  # fmt: skip
"""The functions that make the frames of a bomb, by kind."""

FORMATS = (*KINDS, "old", "chains")
"""All kinds; `old` is of format 2, whose blocks are one frame of zstd, `chains` are thousands of useless blocks."""

EVERY = "every kind"


def _old(rng: random.Random) -> bytes:
    """A block of an older format: gigabytes, or counts of frames, texts, parts and bytes that it does not have."""
    if rng.random() < 0.5:
        return _checked(rng.choice((zstd, zstd_size))(rng)[0])
    numbers = [*[rng.choice((1, 1, 2, 3)) for _ in range(rng.randrange(6))], _huge(rng), rng.choice((0, 1, _huge(rng)))]
    return _checked(_packed(b"".join(map(_varint, numbers)) + bytes(rng.choice((0, 10, 100_000)))))


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _chains(path: Path, rng: random.Random) -> None:
    """Append thousands of blocks to a recording, each a chain of its own: empty, damaged, or without polls."""
    contents = (b"", rng.randbytes(60), rng.randbytes(700), "text", pack_block([_packed(encode([1, 2]))]))
    content, many = rng.choice(contents), rng.choice((1_000, 5_000))
    with closing(sqlite3.connect(path)) as file, file:
        ((last,),) = file.execute("SELECT max(last_at) FROM blocks")
        rows = ((1, each, each, 1, last + each, last + each, content) for each in range(2_000, 2_000 + many))
        file.executemany("INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


# -- reading them


def bombs(task: Task) -> str:
    """Read bombs of one kind, or of each in turn (EVERY). Raises Broken."""
    whole = task.folder / "whole.presman"
    record(whole, list(polled("quiet", 3)))
    outcomes, most, paths = Counter[str](), 0, []
    kinds = FORMATS if task.part == EVERY else (task.part,)
    rngs = {kind: random.Random(f"{task.seed} {kind}") for kind in kinds}
    for number in task.rounds:
        kind = kinds[number % len(kinds)]
        paths.append(task.folder / f"{kind}-{number}.presman")
        make_bomb(paths[-1], whole.read_bytes(), kind, rngs[kind])
        if len(paths) == _AT_A_TIME or number == task.rounds.times - 1:
            most = max(most, _judged(paths, outcomes))
            paths = []
    most = max(most, _judged(paths, outcomes))
    found = ", ".join(f"{many} {what}" for what, many in outcomes.most_common())
    return f"{outcomes.total()} bombs of {task.part}: {found}; {most} MB at most"


def _judged(paths: list[Path], outcomes: Counter[str]) -> int:
    if not paths:
        return 0
    found, took = read_apart(paths)
    outcomes += found
    if took > MOST_MEGABYTES:
        raise Broken(f"{paths[0].name} or a later one: {took} MB, more than {MOST_MEGABYTES}")
    for path in paths:
        path.unlink()
    return took


def make_bomb(path: Path, whole: bytes, kind: str, rng: random.Random) -> None:
    """Write a whole recording with the same bomb appended twice: the reader keeps one while it reads the other."""
    path.write_bytes(whole)
    if kind == "chains":
        _chains(path, rng)
        return
    content = _old(rng) if kind == "old" else pack_block(KINDS[kind](rng))
    with closing(sqlite3.connect(path)) as file, file:
        for poll in (2000, 3000):
            values = "SELECT 1, ?, ?, 1, last_at + ?, last_at + ?, ? FROM blocks LIMIT 1"
            file.execute(f"INSERT INTO blocks {values}", (poll, poll, poll, poll, content))


def read_apart(paths: Sequence[Path]) -> tuple[Counter[str], int]:
    """Read bombs in a process of their own; return the outcomes, and its peak memory in MB. Raises Broken."""
    command = [sys.executable, "-m", "tests.torture.bombs", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    if done.returncode:
        raise Broken(f"{paths[0].name} or a later one: {done.stderr[-1500:]}")
    found = json.loads(done.stdout)
    took = found.pop(_PEAK)
    return Counter(found), took


def outcome(path: Path) -> str:
    """Read all polls of a recording with bombs, and return the outcome. Raises Broken."""
    with Recording(str(path)) as recording:
        (playback,) = recording.playbacks
        lost = sum(_is_lost(playback, place) for place in range(len(playback)))
        playback.damaged()
        reported = recording.damage_of(playback)
    if (lost and len(reported) != 1) or any("\n" in each for each in reported):
        raise Broken(f"{path.name}: {lost} polls are lost, and the report is: {reported}")
    if lost > 2 and lost != len(playback) - 3:
        raise Broken(f"{path.name}: polls beside the bombs are lost, too: {reported}")
    return "reported, the rest read" if lost else "read"


def _is_lost(playback: Playback, place: int) -> bool:
    try:
        playback.reading(place)
    except LostPollError:
        return True
    return False


def main() -> int:
    """Read the bombs in some files, and print the outcomes and the peak memory."""
    outcomes = Counter(outcome(Path(each)) for each in sys.argv[1:])
    print(json.dumps({**outcomes, _PEAK: most_memory()}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
