"""Kills: a recorder killed at any moment. Every poll reported as written is there, and the next recorder continues.

`python -m tests.torture.kills FILE` records a few polls repeatedly, and prints after each how many the file has.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from presman.recording.reader import Recording
from tests.torture.rounds import Broken

LONGEST = 0.35
"""Seconds after its first poll within which a recorder is killed."""


def kill(rounds: Iterable[int], seed: int, folder: Path, log: Callable[[str], None]) -> str:
    """Kill a recorder in each round; each continues the recording of the one before. Raises Broken."""
    rng = random.Random(seed)
    path = folder / "killed.presman"
    there = number = 0
    for number in (each + 1 for each in rounds):
        reported = _one(path, rng.uniform(0, LONGEST))
        with Recording(str(path)) as recording:
            playback = recording.playback()
            found = len(playback)
            for place in {0, there - 1, found - 1} - {-1}:
                playback.reading(place)
            if playback.damage or found < max(there, reported):
                raise Broken(f"kill {number}: {reported} polls were reported, {found} are there; {playback.damage}")
        there = found
        if number % 50 == 0:
            log(f"{number} kills, {there} polls")
    return f"{number} kills of a recorder, {there} polls, none lost"


def _one(path: Path, seconds: float) -> int:
    """Kill a recorder `seconds` after its first poll; return the last number that it reported."""
    command = [sys.executable, "-m", "tests.torture.kills", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        time.sleep(seconds)
        process.kill()
        lines += process.stdout.readlines()
    whole = [line for line in lines if line.endswith("\n")]
    return int(whole[-1]) if whole else 0


def main(path: str) -> None:
    """Record until killed; write the number of polls in the file after each."""
    from presman.recording import writer as recording_writer
    from presman.recording.store import Store
    from presman.recording.writer import RecordingWriter
    from tests.recording.recorded import polled

    recording_writer.CHAIN = 8  # so that some kills interrupt the packing of chains
    moments = list(polled("quiet", 3))
    writer = RecordingWriter(Store(path, writing=True), "demo:quiet", "simulator")
    while True:
        for snapshot, reading in moments:
            print(writer.append(snapshot, reading) + 1, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
