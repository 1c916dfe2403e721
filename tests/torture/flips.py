"""Flips: recordings with flipped bits and cut ends. presman must report the damage and read the rest."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from presman.recording import writer
from presman.recording.playback import LostPollError, Playback
from presman.recording.reader import Recording
from presman.recording.store_errors import RecordingError
from presman.recording.time_words import EmptyWindowError
from presman.recording.window_lines import FIGURES, group_lines, poll_lines
from presman.reports.compare.comparison import RecordingWindow, WindowError, compare
from presman.reports.report.incident import gather
from presman.reports.report.incident_page import incident_page
from tests.recording.recorded import polled, record
from tests.torture.rounds import Broken

POLLS, CHAIN = 96, 16


def flip(rounds: Iterable[int], seed: int, folder: Path, log: Callable[[str], None]) -> str:
    """Damage a recording in each round, and read all of it. Raises Broken if lost polls are not reported."""
    path = folder / "whole.presman"
    usual, writer.CHAIN = writer.CHAIN, CHAIN
    try:
        record(path, list(polled("queueing", POLLS)))
    finally:
        writer.CHAIN = usual
    outcomes: Counter[str] = Counter()
    for number, damaged in enumerate(damaged_copies(path.read_bytes(), rounds, seed, folder), start=1):
        outcomes[_outcome(damaged)] += 1
        if number % 100 == 0:
            log(f"{number} damaged, {dict(outcomes)}")
    found = ", ".join(f"{count} {what}" for what, count in outcomes.most_common())
    return f"{outcomes.total()} damaged recordings of {POLLS} polls: {found}"


def damaged_copies(content: bytes, rounds: Iterable[int], seed: int, folder: Path) -> Iterator[Path]:
    """Yield copies with some bits changed or, every fifth, the end cut off, at places that the seed determines."""
    rng = random.Random(seed)
    for number in rounds:
        changed = bytearray(content)
        if number % 5 == 4:
            del changed[rng.randrange(100, len(changed)) :]
        else:
            for _ in range(rng.choice((1, 1, 8, 200))):
                changed[rng.randrange(100, len(changed))] ^= 1 << rng.randrange(8)
        path = folder / "damaged.presman"
        for side in folder.glob("damaged.presman-*"):
            side.unlink()
        path.write_bytes(changed)
        yield path


def _outcome(path: Path) -> str:
    try:
        polls, reported = read_everything(path)
    except RecordingError as error:
        if "\n" in str(error):
            raise Broken(f"the error has several lines: {error}") from error
        return "refused in one line"
    if polls < POLLS and not reported:
        raise Broken(f"{POLLS - polls} polls are lost and it was not reported")
    if not reported:
        return "whole (only unused bytes were changed)"
    return f"reported, {'all polls' if polls == POLLS else 'some polls' if polls else 'no poll'} read"


def read_everything(path: Path) -> tuple[int, list[str]]:
    """Read everything; return how many polls could be read, and the reported damage. Raises RecordingError."""
    polls, reported = 0, []
    with Recording(str(path)) as recording:
        for playback in recording.playbacks:
            polls += read_polls(playback)
            playback.events(), playback.statements(), playback.strip(50), playback.damaged()
            if playback.first and playback.last:
                group_lines(playback, playback.first, playback.last, tuple(FIGURES))
                poll_lines(playback, playback.first, playback.last)
            if len(playback):
                reported += _report(recording, playback)
            reported += playback.damage
        reported += recording.damage
    try:
        compare(RecordingWindow(str(path), None, "first", "2m ago"), RecordingWindow(str(path), None, "2m ago", "last"))
    except (WindowError, EmptyWindowError) as error:
        reported.append(str(error))
    return polls, reported


def read_polls(playback: Playback) -> int:
    """Read every poll; return how many could be read."""
    found = 0
    for place in range(min(len(playback), POLLS)):
        try:
            playback.reading(place)
            found += 1
        except LostPollError:
            pass
    return found


def _report(recording: Recording, playback: Playback) -> list[str]:
    try:
        incident_page(gather(recording, playback, range(min(len(playback), POLLS))), datetime.now(UTC))
    except RecordingError as error:
        return [str(error)]
    return []
