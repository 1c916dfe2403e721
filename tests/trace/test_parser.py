"""WAIT lines: every known form is read, in blocks of any size, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.trace import trace_parser
from presman.trace.survey import pieces, without_statements
from presman.trace.tally import EventTallies, Summary, Tally
from presman.trace.trace_files import TraceError
from presman.trace.trace_parser import (
    EVERYTHING,
    IDLE,
    LONGEST_WAIT,
    REDO_WRITE,
    EventSelection,
    FileFigures,
    TraceParser,
    is_pattern,
)

ALL = EventSelection(EVERYTHING, idle=True)
REDO = EventSelection()
WITHOUT_IDLE = EventSelection(EVERYTHING)
Wait = tuple[str, int, int | None]


def cut(text: bytes, size: int) -> Iterator[bytes]:
    return (text[start : start + size] for start in range(0, len(text), size))


def waits(text: bytes, selection: EventSelection = ALL, *, size: int = 1 << 20, unit: int = 1) -> list[Wait]:
    parser = TraceParser(selection, FileFigures("", ticks=unit))
    batches = [parser.waits(without_statements(piece)) for piece in pieces(cut(text, size))]
    return list(chain.from_iterable(zip(*batch, strict=True) for batch in batches))


def counted(text: bytes, selection: EventSelection, *, size: int = 1 << 20) -> tuple[dict[str, Tally], int, int]:
    """Return what counting without regard to order gives: tallies, waits left out as idle and as damaged."""
    parser, ledger = TraceParser(selection), EventTallies()
    for piece in pieces(cut(text, size)):
        parser.count(without_statements(piece), ledger)
    parser.settle(ledger)
    return ledger.tallies, parser.figures.idle, parser.figures.damaged


@pytest.mark.parametrize(
    "line",
    [
        b"WAIT #0: nam='log file parallel write' ela= 501 files=1 blocks=58",
        b"WAIT #0: nam='log file parallel write' ela= 501 files=1 blocks=58 requests=1 obj#=-1 tim=1234567890123",
        b"WAIT #0: nam='log file parallel write' ela= 501 p1=1 p2=58 p3=1",
        b"WAIT #1: nam='log file parallel write' ela=501 p1=4294967295 p2=58 p3=1",
        b"WAIT #1: nam='log file parallel write' ela=     501 p1=-1 p2=58 p3=1",
        b"WAIT #1: nam='log file parallel write' ela=\t501 files=2 blocks=58 requests=2",
        b"WAIT #139862917562032: nam='log file parallel write' ela= 501 files=1 blocks=58 requests=1 obj#=-1 tim=1",
        b"WAIT #-40000: nam='log file parallel write' ela= 501 files=1 blocks=58 requests=1 obj#=-1 tim=1",
        b"WAIT #0: nam='Log File Parallel Write' ela= 501 files=1 blocks=58",
    ],
)
def test_forms_of_a_wait(line: bytes) -> None:
    for end, selection in product((b"\n", b"\r\n", b""), (REDO, ALL)):
        ((event, elapsed, blocks),) = waits(line + end, selection)
        assert (event.casefold(), elapsed, blocks) == (REDO_WRITE, 501, 58), end


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"WAIT #3: nam='SQL*Net message from client' ela= 7 driver id=1650815232 #bytes=1 p3=0 obj#=-1 tim=9",
         ("SQL*Net message from client", 7, None)),
        (b"WAIT #3: nam='db file scattered read' ela= 91 file#=4 block#=1201 blocks=8 obj#=77 tim=9",
         ("db file scattered read", 91, 8)),
        (b"WAIT #3: nam='direct path read' ela= 12 file number=5 first dba=1153 block cnt=127 obj#=77 tim=9",
         ("direct path read", 12, 127)),
        (b"WAIT #3: nam='enq: TX - row lock contention' ela= 5000000 name|mode=1415053318 usn<<16 | slot=1 sequence=2",
         ("enq: TX - row lock contention", 5_000_000, None)),
        (b"WAIT #3: nam='resmgr:cpu quantum' ela= 40123 location=2 consumer group id=7 =0 obj#=-1 tim=9",
         ("resmgr:cpu quantum", 40_123, None)),
        (b"WAIT #0: nam='LGWR worker group idle' ela= 39", ("LGWR worker group idle", 39, None)),
        (b"WAIT #0: nam='log file parallel write' ela= 5", ("log file parallel write", 5, None)),
        (b"WAIT #0: nam='odd \x1b[31m name\xff' ela= 5", ("odd ␛[31m name�", 5, None)),
    ],
)  # fmt: skip
def test_events_of_any_name(line: bytes, expected: Wait) -> None:
    assert waits(b"*** 2015-06-01 10:00:00.000\n" + line + b"\nPARSE #3:c=0,e=1\n") == [expected]


WRAPPED = [
    b"WAIT #0: nam='log file\nparallel write' ela= 501 files=1 blocks=58",
    b"WAIT #0: nam='log file \nparallel write' ela= 501 files=1 blocks=58",
    b"WAIT #0: nam='log file par\nallel write' ela= 501 files=1 blocks=58",
    b"WAIT #0: nam='log file parallel write'\nela= 501 files=1 blocks=58",
    b"WAIT #0:\nnam='log file parallel write' ela= 501 files=1 blocks=58",
    b"WAIT #0: na\nm='log file parallel write' e\nla= 501 files=1 blocks=58",
    b"WAIT #0: nam='log file parallel write' ela=\n501 files=1 blocks=58",
    b"WAIT #0: nam='log file parallel write' ela= 5\n01 files=1 blocks=58 requests=1",
    b"WAIT #0: nam='log file parallel write' ela= 501\nfiles=1 blocks=58",
    b"WAIT #0: nam='log file parallel write' ela= 501 files=1\n  blocks=58 requests=1",
    b"WAIT #0: nam='log file parallel write' ela= 501 files=1 blo\ncks=58 requests=1",
    b"WAIT #0: nam='log file parallel write' ela= 501 files=1 blocks=5\n8 requests=1",
    b"WAIT #14028\n5512: nam='log file parallel write' ela= 501 files=1 blocks=58 requests=1 obj#=\n-1 tim=1",
]


@pytest.mark.parametrize("line", WRAPPED)
def test_wrapped_lines(line: bytes) -> None:
    before, after = (b"WAIT #0: nam='LGWR worker group idle' ela= %d\n" % ela for ela in (39, 33))
    for wrapped, selection in product((line, line.replace(b"\n", b"\r\n")), (REDO, ALL)):
        redo = [wait for wait in waits(before + wrapped + b"\n" + after, selection) if wait[0] not in IDLE]
        assert redo == [(REDO_WRITE, 501, 58)], wrapped


def test_every_place_a_terminal_may_wrap_at() -> None:
    line = b"WAIT #0: nam='log file parallel write' ela= 501 files=1 blocks=58 requests=1 obj#=-1 tim=123456"
    for width in range(len(b"WAIT #"), len(line)):
        if line[width - 1 : width + 1] == b"58":
            continue  # a number cut before its end and ended by the line: covered above
        wrapped = b"\n".join(cut(line, width)) if width > 20 else line[:width] + b"\n" + line[width:]
        assert waits(wrapped + b"\n", REDO) == [(REDO_WRITE, 501, 58)], wrapped


def test_the_line_after_a_wait_is_not_its_continuation() -> None:
    for following in (
        b"2015-06-01 10:00:00",
        b"2018-11-20T10:00:00.123456+01:00",
        b"*** 2015-06-01",
        b"=====",
        b"EXEC #1:c=7",
    ):
        text = b"WAIT #0: nam='LGWR worker group idle' ela= 39\n" + following + b"\n"
        assert waits(text) == [("LGWR worker group idle", 39, None)]
        assert waits(text.replace(b"LGWR worker group idle", REDO_WRITE.encode()), REDO) == [(REDO_WRITE, 39, None)]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"WAIT #0: nam='log file parallel write",
        b"WAIT #0: nam='log file parallel write' ela=",
        b"WAIT #0: nam='log file parallel write' ela= x",
        b"WAIT #: nam='log file parallel write' ela= 5",
        b"-- WAIT #0: nam='log file parallel write' ela= 5",
        b"'WAIT #0: nam='log file parallel write' ela= 5",
        b"WAIT #0: nam='log file parallel writes' ela= 5",
    ],
)
def test_lines_that_are_no_wait_of_the_event(text: bytes) -> None:
    assert waits(text + b"\n", REDO) == []


def test_stray_bytes_before_a_wait() -> None:
    line = b"WAIT #0: nam='log file parallel write' ela= 5 files=1 blocks=2\n"
    for stray in (b"\x00\x00", b"\xff", b"\x1a", b"\xef\xbb\xbf"):
        assert waits(stray + line + stray + line, REDO) == [(REDO_WRITE, 5, 2)] * 2


def test_a_wait_in_the_text_of_a_statement_does_not_count() -> None:
    line = b"WAIT #0: nam='log file parallel write' ela= 5 files=1 blocks=2\n"
    statement = b"PARSING IN CURSOR #1 len=90 dep=0 uid=0\nselect 1 from dual /*\n" + line + b"*/\nEND OF STMT\n"
    for size in (7, 64, 1 << 20):
        assert waits(line + statement + line, REDO, size=size) == [(REDO_WRITE, 5, 2)] * 2
    endless = statement.replace(b"END OF STMT\n", b"")
    assert len(waits(endless + line * 3, REDO)) == 4, "without its end a statement hides nothing"


def test_impossible_times_are_counted_and_skipped() -> None:
    line = b"WAIT #0: nam='log file parallel write' ela= %d files=1 blocks=2\n"
    for selection in (REDO, ALL):
        parser = TraceParser(selection)
        text = line % -1 + line % 18446744073709551000 + line % 0
        assert parser.waits(text).elapsed == (0,)
        assert parser.figures.damaged == 2
        assert parser.waits(line % -1 + line % 7).elapsed == (7,), "a negative time alone"
        tallies, _, damaged = counted(text, selection)
        assert (tallies[REDO_WRITE].waits, tallies[REDO_WRITE].blocks, damaged) == (1, 2, 2)


def test_before_9i_a_tick_is_a_hundredth_of_a_second() -> None:
    assert waits(b"WAIT #1: nam='log file sync' ela= 3 p1=1 p2=2 p3=0\n", unit=10_000) == [
        ("log file sync", 30_000, None)
    ]


LINES = (
    b"WAIT #0: nam='log file parallel write' ela= 501 files=1 blocks=58 requests=1 obj#=-1 tim=12\n",
    b"WAIT #0: nam='log file parallel write' ela=  12345 p1=1 p2=3 p3=1\r\n",
    b"WAIT #0: nam='LGWR worker group idle' ela= 39\n",
    b"WAIT #9: nam='db file scattered read' ela= 91 file#=4 block#=1201 blocks=8 obj#=77 tim=9\n",
    b"\n*** 2015-06-01 10:00:00.000\n",
    b"\x00\xffWAIT #0: nam='log file parallel write' ela= 77 files=1 blocks=9\n",
    b"WAIT #0: nam='log file para",
    b"PARSING IN CURSOR #3 len=12 dep=0\nselect 'WAIT #1: nam=' from t\nEND OF STMT\n",
    b"PARSING IN CURSOR #3 len=12 dep=0\nselect 1\n",
    b"\nEND OF STMT\n",
    b"value=\"WAIT #0: nam='log file parallel write' ela= 5\"\n",
    b"x" * LONGEST_WAIT,
    b"STAT #9 id=1 cnt=1 pid=0 pos=1 obj=0 op='SORT AGGREGATE (cr=4)'\n",
    b"WA=IT #0:\nnam='log file parallel write' ela= 5 files=1 blocks=3\n",
    b"WAIT #0: nam='log file parallelwrite' ela= 5 files=1 blocks=3\n",
    b"WAIT #0: nam='LOG file parallel write' ela= 6 files=1 blocks=-3\n",
    b"WAIT #0: nam='log file parallel write' ela=\t7 files=1 blocks=3\n",
    b"WAIT #0: nam='direct path read' ela= 8 file number=5 first dba=1153 block cnt=127 obj#=77\n",
    b"WAIT #0: nam='db file scattered read' ela= 1000000000000000 p1=1 p2=2 p3=8\n",
    *(line + b"\n" for line in WRAPPED),
)


@given(
    lines=st.lists(st.sampled_from(LINES), max_size=25),
    size=st.integers(1, 700),
    selection=st.sampled_from([REDO, ALL, WITHOUT_IDLE, EventSelection(("log*",))]),
)
def test_any_size_of_blocks_gives_the_same_waits(lines: list[bytes], size: int, selection: EventSelection) -> None:
    text = b"".join(lines)
    found = waits(text, selection, size=size)
    assert found == waits(text, selection)
    tallies, idle, _ = counted(text, selection, size=size)
    assert {event: tally.summary(event, None) for event, tally in tallies.items()} == summaries(found)
    assert idle == sum(event in IDLE for event, _, _ in waits(text)) * (selection == WITHOUT_IDLE)


def summaries(found: list[Wait]) -> dict[str, Summary]:
    tallies = {event: Tally() for event, _, _ in found}
    for event, elapsed, blocks in found:
        tallies[event].add([elapsed], [blocks])
    return {event: tally.summary(event, None) for event, tally in tallies.items()}


@given(text=st.binary(max_size=400), size=st.integers(1, 50))
def test_pieces_lose_nothing(text: bytes, size: int) -> None:
    assert b"".join(pieces(cut(text, size))) == text


def test_pieces_hold_back_little() -> None:
    block = b"x" * 10_000
    assert max(map(len, pieces([block] * 20))) <= len(block) + LONGEST_WAIT


def test_complete_lines_count_if_reading_fails() -> None:
    def blocks() -> Iterator[bytes]:
        yield b"WAIT #1: nam='a' ela= 1 p1=1\nWAIT #1: nam="
        raise TraceError("cut short")

    found = pieces(blocks())
    read: list[bytes] = []
    with pytest.raises(TraceError, match="cut short"):
        read.extend(found)
    assert b"".join(read) == b"WAIT #1: nam='a' ela= 1 p1=1\n"


@given(ticks=st.lists(st.integers(0, 10**9), max_size=60), size=st.integers(1, 300))
def test_the_waits_are_those_written(ticks: list[int], size: int) -> None:
    text = b"".join(b"WAIT #0: nam='log file parallel write' ela= %d files=1 blocks=%d\n" % (t, t % 99) for t in ticks)
    assert waits(text, REDO, size=size) == [(REDO_WRITE, tick, tick % 99) for tick in ticks]


def test_idle_events_are_left_out_unless_asked_for() -> None:
    text = b"".join(b"WAIT #0: nam='%s' ela= 1\n" % name for name in (b"rdbms ipc message", b"rdbms ipc reply", b"x"))
    assert [event for event, _, _ in waits(text, EventSelection(EVERYTHING))] == ["rdbms ipc reply", "x"]
    assert [event for event, _, _ in waits(text, EventSelection(("rdbms*",)))] == ["rdbms ipc reply"]
    assert len(waits(text, EventSelection(("rdbms*",), idle=True))) == 2
    assert len(waits(text, EventSelection(("rdbms ipc message", "x*")))) == 2
    assert len(waits(text, EventSelection(("RDBMS ipc message",)))) == 1
    parser = TraceParser(EventSelection(EVERYTHING))
    parser.waits(text)
    assert parser.figures.idle == 1
    assert counted(text, EventSelection(EVERYTHING))[1] == 1


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("SQL*Net message from client", False), ("sql*net *", True), ("log file ????", True), ("log file sync", False)],
)
def test_the_asterisk_of_sqlnet_is_no_wildcard(name: str, pattern: bool) -> None:
    assert is_pattern(name) is pattern
    assert EventSelection(("SQL*Net message*",)).names_event("SQL*Net message to client")
    assert not EventSelection(("SQL*Net message*",)).names_event("SQL other Net message")
    assert not EventSelection(("[a-z]*",)).names_event("buffer busy waits")


def test_three_dots_stand_for_the_number_of_a_cursor() -> None:
    """Published traces have this form."""
    text = b"WAIT #...: nam='log file parallel write' ela= 501 files=1 blocks=58 requests=1\nWAIT #3: nam='x' ela= 7\n"
    assert waits(text) == [("log file parallel write", 501, 58), ("x", 7, None)]
    assert waits(text.replace(b"#...", b"#..")) == [("x", 7, None)]
    assert counted(text, ALL)[0]["log file parallel write"].total == 501


def unread(text: bytes, *, size: int = 1 << 20, in_order: bool = False) -> tuple[int, int, str]:
    """Return how many lines of waits were understood, how many were not, and the first of these."""
    parser, ledger = TraceParser(REDO), EventTallies()
    for piece in map(without_statements, pieces(cut(text, size))):
        if in_order:
            parser.waits(piece)
        else:
            parser.count(piece, ledger)
    return parser.figures.understood, parser.figures.unread, parser.figures.example


GOOD = b"WAIT #0: nam='log file parallel write' ela= 501 files=1 blocks=58 requests=1 obj#=-1 tim=12\n"


@pytest.mark.parametrize(
    ("line", "understood"),
    [
        (b"WAIT #1398...: nam='db file sequential read' ela= 5 file#=4 block#=1 blocks=1 obj#=7 tim=1", False),
        (b"WAIT #13..62: nam='db file sequential read' ela= 5 file#=4", False),
        (b"WAIT #: nam='log file sync' ela= 5", False),
        (b"WAIT #1: nam='it's a wait' ela= 5 p1=1", False),
        (b"WAIT #1: nam='log file sync' ela= ", False),
        (b"WAIT #1: nam='log file sy", False),
        (b"WAIT #1: event='log file sync' ela= 5", False),
        (b"  WAIT #1: nam='log file sync' ela= 5", False),  # moved to the right when it was published
        (b"WAIT #1: nam='log file sync' ela= 5", True),  # neither obj# nor tim
        (b"WAIT #1: nam='log file sync' ela= 5 p1=1 p2=2 p3=0 tim=9", True),
        (b"WAIT #1: nam='log file sync' ela= -5 p1=1 p2=2 p3=0", True),  # counted among the impossible times
        (b"WAIT #...: nam='log file sync' ela= 5", True),
        (b"WAIT #1: nam='log\nfile sync' ela= 5", True),
    ],
)
@pytest.mark.parametrize("in_order", [True, False])
def test_lines_that_are_not_understood_are_counted(line: bytes, understood: bool, in_order: bool) -> None:
    for text in (line + b"\n", GOOD + line + b"\n" + GOOD, (line + b"\r\n") * 3):
        good, lines = text.count(GOOD), text.count(line)
        found = unread(text, in_order=in_order)
        assert found[:2] == ((good + lines, 0) if understood else (good, lines))
        assert found[2].startswith("" if understood else "WAIT #")


@pytest.mark.parametrize("text", [b"-- WAIT #1: nam=x\n", b"value=\"WAIT #1...: nam='x' ela= 5\"\n", b"", b"WAIT\n"])
def test_quoted_text_is_no_wait(text: bytes) -> None:
    assert unread(GOOD + text) == (1, 0, "")


@given(lines=st.lists(st.sampled_from(LINES), max_size=25), size=st.integers(1, 700), in_order=st.booleans())
def test_any_size_of_blocks_leaves_the_same_lines_unread(lines: list[bytes], size: int, in_order: bool) -> None:
    text = b"".join(lines)
    assert unread(text, size=size, in_order=in_order) == unread(text, in_order=not in_order)


def test_only_a_limited_number_of_names_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    names = trace_parser._Names(EventSelection())
    most = len(names._known) + 10
    monkeypatch.setattr(trace_parser, "_MOST_NAMES", most)
    made_up = [f"made up {number}" for number in range(2 * most)]
    assert [names[event.encode()].event for event in made_up] == made_up
    assert (len(names), len(names._known)) == (most, most)
