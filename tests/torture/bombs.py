"""Bombs: blocks of a recording that say little and mean gigabytes: told in a line, in little memory, the rest read.

    python -m tests.torture.bombs FILE...

reads them and prints what became of them and how much memory that took at most. A seed tells how much a bomb claims,
and where: a bit beyond what a recorder writes, or as far as its bytes can say.
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

from presman.codec.chain import MOST_ROWS, MOVED, ROWS
from presman.codec.encoder import FrameEncoder, PackedFrame, Part
from presman.codec.frame_blocks import pack_block
from presman.codec.number_arrays import pack_numbers
from presman.codec.packing import Packer
from presman.codec.shapes import shape_text
from presman.codec.squeezing import squeezed
from presman.recording.reader import Recording
from presman.recording.tape import LostPollError, Tape
from presman.records.conversion import field_types
from presman.records.cursor_rows import PlanXml, SqlText
from presman.records.rows import by_query
from presman.records.session_rows import Session
from tests.cli.run import environment
from tests.recording.taped import polled, record
from tests.torture.torture import Broken

MOST_MEGABYTES = 300
"""What reading a bomb may take at most, presman itself included."""

_AT_A_TIME = 50
"""Bombs that one process reads: what makes them takes memory, too."""

_PEAK = "megabytes at most"


def _checked(content: bytes) -> bytes:
    return blake2b(content, digest_size=8).digest() + content


# -- zstd, by hand (RFC 8878): a block of three bytes and one that means 128 KB of it


def _frame(rng: random.Random, size: bytes, descriptor: int, blocks: int) -> bytes:
    window = b"" if descriptor & 0x20 else bytes([rng.choice((0x58, 0x70, 0x88, 0xFF))])
    head = b"\x28\xb5\x2f\xfd" + bytes([descriptor]) + window + size
    block = ((128 << 10) << 3 | 2).to_bytes(3, "little") + bytes([rng.choice((0, 1, 0x7F))])
    last = (1 << 3 | 3).to_bytes(3, "little") + b"\0"
    return _checked(head + block * blocks + last)


def zstd(rng: random.Random) -> bytes:
    """Gigabytes of one byte, of which the frame says how many, or does not."""
    blocks = rng.choice((300, 3_000, 30_000))
    if rng.random() < 0.5:
        return _frame(rng, b"", 0x00, blocks)
    return _frame(rng, ((128 << 10) * blocks + 1).to_bytes(8, "little"), 0xC0 | rng.choice((0, 0x20)), blocks)


def zstd_size(rng: random.Random) -> bytes:
    """A frame that says of itself that it is smaller than it is, or larger than anything."""
    told = rng.choice((0, 1, 1 << 20, 32 << 20, (32 << 20) + 1, 1 << 40, (1 << 64) - 3))
    return _frame(rng, told.to_bytes(8, "little"), 0xC0 | rng.choice((0, 0x20)), rng.choice((0, 1, 8, 2_000)))


# -- what stands in a block


def _huge(rng: random.Random) -> int:
    return int(2 ** rng.uniform(13, 62))


def counts(rng: random.Random) -> bytes:
    """Counts of frames, texts, parts and bytes that are not there."""
    packer = Packer()
    before = [rng.choice((1, 1, 2, 3)) for _ in range(rng.randrange(6))]
    for each in (*before, _huge(rng), *(rng.choice((0, 1, _huge(rng))) for _ in range(rng.randrange(8)))):
        packer.count(each)
    return _checked(squeezed(bytes(packer.bytes) + bytes(rng.choice((0, 10, 100_000))), 1))


def dictionary(rng: random.Random) -> bytes:
    """As many texts as go into so many bytes."""
    texts = [
        each for each in ("", "a", "\0", "\u20ac") for _ in range(rng.choice((1_000, 100_000, 260_000, 1_000_000)) // 4)
    ]
    return pack_block([_first(tuple(texts))._replace(parts={})], 1)


def texts(rng: random.Random) -> bytes:
    """Texts of megabytes in every column that has texts."""
    text = rng.choice(("a", "\0", "\u20ac\U0001f600", "<a>", "\n", "a\u0301" * 9)) * int(2 ** rng.uniform(12, 20))
    return _rows(rng, "SqlText", shape_text(SqlText), rng.choice((1, 1000)), extra=(text,) * rng.choice((1, 3)))


def nesting(rng: random.Random) -> bytes:
    """Documents of a thousand floors, and of entities of entities, where a plan has what XML tells of it."""
    deep = rng.choice((1_000, 20_000))
    laughs = "".join(f"<!ENTITY l{n + 1} '{f'&l{n};' * 10}'>" for n in range(20))
    document = rng.choice((f"<other_xml>{'<info>' * deep}", f"<!DOCTYPE o [<!ENTITY l0 'ha'>{laughs}]><o>&l20;</o>"))
    return _rows(rng, "PlanXml", shape_text(PlanXml), rng.choice((1, 1000)), extra=(document,))


def runs(rng: random.Random) -> bytes:
    """Columns that are one number, and how many rows have it."""
    length = rng.choice((MOST_ROWS, MOST_ROWS + 1, MOST_ROWS // 4, 20_000, int(2 ** rng.uniform(13, 62))))
    if rng.random() < 0.5:
        return _rows(rng, "Session", shape_text(Session), length)
    return _rows(rng, "Unknown", _unknown(rng.choice((1, 20, 400))), length, tag=rng.randrange(7))


def values(rng: random.Random) -> bytes:
    """As many values, each another one, as a section can have that takes as many bytes as the largest real one."""
    fields = rng.choice((20, 300))
    length = int(rng.uniform(0.2, 1.2) * 2_500_000 / fields)
    padding = "".join(map(chr, rng.choices(range(33, 127), k=rng.choice((0, 300_000)))))
    return _rows(rng, "Unknown", _unknown(fields), length, extra=(padding,), tag=rng.choice((0, _INSTANTS)), apart=True)


def _unknown(fields: int) -> str:
    return f"Unknown {' '.join(f'f{number}' for number in range(fields))}"


def _first(more: tuple[str, ...]) -> PackedFrame:
    (snapshot, _), *_ = polled("quiet", 1)
    frame = FrameEncoder().add(snapshot)
    return frame._replace(texts=(*frame.texts, *more), parts=dict(frame.parts))


def _rows(
    rng: random.Random,
    name: str,
    shape: str,
    length: int,
    *,
    extra: tuple[str, ...] = (),
    tag: int | None = None,
    apart: bool = False,
) -> bytes:
    """Return a block whose poll has a section of so many rows, and in each column one value, or each another one.

    `tag` is how columns are written that are of no known record.
    """
    first = _first(())
    known = {text.partition(" ")[0]: place for place, text in enumerate(first.texts)}
    number = known.get(name, len(first.texts))
    told = (*first.texts, *(() if name in known else (shape,)), *extra)
    head, is_moved = Packer(), length <= MOST_ROWS and rng.random() < 0.5
    head.count(ROWS | (MOVED if is_moved else 0))
    head.count(length)
    if is_moved:
        pack_numbers(range(-1, -1 - length, -1), head)  # each of them new
    numbers = Packer()
    if apart:
        pack_numbers(range(1, length + 1), numbers)
    else:
        pack_numbers([rng.choice((1, len(told)))], numbers)
    parts: dict[Part, bytes] = {key: content for key, content in first.parts.items() if key[0] != number}
    parts[number, 0] = bytes(head.bytes)
    kinds = [kind for kind, _ in field_types(_RECORDS[name]).values()] if name in _RECORDS else []
    for column in range(shape.count(" ")):
        own = Packer()
        own.count(_TAGS.get(kinds[column], 0) if kinds else tag or 0)
        if own.bytes[0] == _SCALED:
            own.count(1)
        parts[number, column + 1] = bytes(own.bytes + numbers.bytes)
    return pack_block([PackedFrame(told, first.bare, parts)], 1, apart=False)


_RECORDS = {each.__name__: each for each in by_query().values()}
_SCALED, _INSTANTS = 2, 4
_TAGS: Mapping[type, int] = {int: 0, float: _SCALED, str: 3, datetime: _INSTANTS}
"""How presman.codec.column_codec writes values of a kind."""


KINDS: Mapping[str, Callable[[random.Random], bytes]] = {
    "zstd": zstd, "size": zstd_size, "counts": counts, "dictionary": dictionary, "texts": texts, "nesting": nesting,
    "runs": runs, "values": values,
}  # fmt: skip
"""What makes the block of a bomb."""


def bombs(times: int, seed: int, folder: Path, say: Callable[[str], None]) -> str:
    """Read so many bombs of each kind. Raises Broken."""
    whole = folder / "whole.presman"
    record(whole, list(polled("quiet", 3)))
    for kind in KINDS:
        rng = random.Random(f"{seed} {kind}")
        outcomes: Counter[str] = Counter()
        most = 0
        for begin in range(0, times, _AT_A_TIME):
            paths = [folder / f"{kind}-{number}.presman" for number in range(begin, min(times, begin + _AT_A_TIME))]
            for path in paths:
                make_bomb(path, whole.read_bytes(), kind, rng)
            found, took = read_apart(paths)
            most = max(most, took)
            outcomes += found
            for path in paths:
                path.unlink()
        told = ", ".join(f"{many} {what}" for what, many in outcomes.most_common())
        say(f"{times} bombs of {kind}: {told}; {most} MB at most")
        if most > MOST_MEGABYTES:
            raise Broken(f"bombs of {kind}, seed {seed}: {most} MB, more than {MOST_MEGABYTES}")
    return f"bombs: {times} of each of {len(KINDS)} kinds, none took more than {MOST_MEGABYTES} MB (seed {seed})"


def make_bomb(path: Path, whole: bytes, kind: str, rng: random.Random) -> None:
    """Write a whole recording with a bomb behind it, twice: one is kept while the other is read."""
    path.write_bytes(whole)
    content = KINDS[kind](rng)
    with closing(sqlite3.connect(path)) as file, file:
        for poll in (2000, 3000):
            values = "SELECT 1, ?, ?, 1, last_at + ?, last_at + ?, ? FROM blocks LIMIT 1"
            file.execute(f"INSERT INTO blocks {values}", (poll, poll, poll, poll, content))


def read_apart(paths: Sequence[Path]) -> tuple[Counter[str], int]:
    """Read bombs in a process of their own; return what became of them, and its megabytes at most. Raises Broken."""
    words = [sys.executable, "-m", "tests.torture.bombs", *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment())
    if done.returncode:
        raise Broken(f"{paths[0].name} or one behind it: {done.stderr[-1500:]}")
    found = json.loads(done.stdout)
    took = found.pop(_PEAK)
    return Counter(found), took


def outcome(path: Path) -> str:
    """Read all polls of a recording with bombs, and say what became of them. Raises Broken."""
    with Recording(str(path)) as recording:
        (tape,) = recording.tapes
        lost = sum(_is_lost(tape, place) for place in range(len(tape)))
        tape.damaged()
        told = recording.told(tape)
    if (lost and len(told) != 1) or any("\n" in each for each in told):
        raise Broken(f"{path.name}: {lost} polls are lost, and it is told so: {told}")
    if lost > 2:
        raise Broken(f"{path.name}: polls beside it are lost, too: {told}")
    return "told, the rest read" if lost else "read"


def _is_lost(tape: Tape, place: int) -> bool:
    try:
        tape.reading(place)
    except LostPollError:
        return True
    return False


def peak() -> int:
    """Return the megabytes that this process took at most; what getrusage says has those of who started it, too."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(found[1]) >> 10 if found else 0


def main() -> int:
    """Read the bombs of some files, and say what became of them and what it took."""
    outcomes = Counter(outcome(Path(each)) for each in sys.argv[1:])
    print(json.dumps({**outcomes, _PEAK: peak()}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
