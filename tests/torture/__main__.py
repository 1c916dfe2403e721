"""Command of `make torture`: runs everything that presman must withstand, and prints a table at the end.

    make torture                                                  all ways, within half an hour
    make torture ARGS="--minutes 0"                               all ways in full; endurance takes hours
    make torture ARGS="--ways tui --releases 23 --times 50 --seed 7"
    make torture ARGS="--ways endurance --minutes 20"
    make torture ARGS="--proof"                                   ... and write the table into docs/proof.md

Each part of a way runs in a process of its own. The seed determines everything. Exits 1 if presman failed a part.
"""

from __future__ import annotations

import argparse
import faulthandler
import math
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from presman.base.text import clean
from tests.torture.rounds import Broken, Rounds, Task
from tests.torture.ways import WAYS, Way

MINUTES = 30.0
STOOD, BROKEN = "stood: ", "BROKEN: "
PROOF = Path(__file__).parents[2] / "docs" / "proof.md"
BEGIN, END = "<!-- written by make torture -->", "<!-- end of what make torture wrote -->"


class Outcome(NamedTuple):
    """How a part of a way ended: `report` is what it did, or how presman failed."""

    way: Way
    part: str
    stood: bool
    report: str
    seconds: float

    @property
    def name(self) -> str:
        """The way with its part."""
        return f"{self.way.name} {self.part}".strip()


def main() -> int:
    """Run each part of each way in a process of its own; with `--one`, be one of these processes."""
    options = _options()
    if options.one is not None:
        return _one(options)
    names = options.ways.split(",")
    unknown = set(names) - {way.name for way in WAYS}
    if unknown:
        raise SystemExit(f"no such way: {', '.join(sorted(unknown))}; there are {', '.join(way.name for way in WAYS)}")
    pairs = [(way, part) for way in WAYS if way.name in names for part in way.parts if _is_chosen(part, options)]
    outcomes = list(_all(pairs, options))
    table = _table(outcomes)
    print("\n" + table, flush=True)
    if options.proof:
        _write(table, options)
    return int(any(not each.stood for each in outcomes))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make torture", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"{way.name:<10} {way.what}, {way.times:,} times" for way in WAYS),
    )  # fmt: skip
    parser.add_argument("--ways", default=",".join(way.name for way in WAYS), help="all, or such as tui,kill")
    parser.add_argument("--releases", default="12.1,19,23", help="12.1,19,23")
    parser.add_argument("--times", "--cuts", type=int, help="how often each part is done, in place of its usual number")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for all of it, 0 for no bound (%(default)g)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="parts at a time (2)")
    parser.add_argument("--proof", action="store_true", help="write the table into docs/proof.md")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=math.inf, help=argparse.SUPPRESS)
    return parser.parse_args()


def _is_chosen(part: str, options: argparse.Namespace) -> bool:
    return not part[:1].isdigit() or part.split(maxsplit=1)[0] in options.releases.split(",")


# ---- all


def _all(pairs: Sequence[tuple[Way, str]], options: argparse.Namespace) -> Iterator[Outcome]:
    """Run all parts, `jobs` at a time; each gets an equal share of the time that is left when it begins."""
    end = time.monotonic() + 60 * options.minutes if options.minutes else math.inf
    left, turn = [len(pairs)], threading.Lock()

    def start(pair: tuple[Way, str]) -> Outcome:
        with turn:
            share = (end - time.monotonic()) * min(options.jobs, left[0]) / left[0]
            left[0] -= 1
        return _apart(*pair, max(5.0, share), options)

    with ThreadPoolExecutor(options.jobs) as pool:
        yield from pool.map(start, pairs)


def _apart(way: Way, part: str, seconds: float, options: argparse.Namespace) -> Outcome:
    """Run one part in a process of its own, and print its output."""
    begun, last = time.monotonic(), ""
    words = [sys.executable, "-m", "tests.torture", "--one", way.name, part, "--seed", str(options.seed)]
    words += ["--seconds", str(seconds)] + (["--times", str(options.times)] if options.times else [])
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            last = clean(line.rstrip("\n"))
            print(f"[{way.name} {part}".rstrip() + f"] {last}", flush=True)
    stood = process.returncode == 0 and last.startswith(STOOD)
    report = last.removeprefix(STOOD).removeprefix(BROKEN)
    return Outcome(way, part, stood, report, time.monotonic() - begun)


def _table(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as a Markdown table that is also readable in a terminal."""
    rows = [("way", "", "took", "what was done")]
    rows += [
        (each.name, "stood" if each.stood else "BROKEN", f"{each.seconds:.0f} s", each.report.replace("|", "\\|"))
        for each in outcomes
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(3)]
    lines = ["| " + " | ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]) + " |"
             for row in rows]  # fmt: skip
    return "\n".join([lines[0], "|---" * 4 + "|", *lines[1:]]) + "\n"


def _write(table: str, options: argparse.Namespace) -> None:
    """Write the table into docs/proof.md, with the date and the options of the run."""
    before, _, rest = PROOF.read_text("utf-8").partition(BEGIN)
    bound = f"within {options.minutes:g} minutes" if options.minutes else "without a bound"
    summary = f"Run on {datetime.now(UTC):%Y-%m-%d}, seed {options.seed}, {bound}, {options.jobs} at a time."
    PROOF.write_text(f"{before}{BEGIN}\n\n{summary}\n\n{table}\n{END}{rest.partition(END)[2]}", "utf-8")


# ---- one


def _one(options: argparse.Namespace) -> int:
    name, part = options.one
    way = next(each for each in WAYS if each.name == name)
    rounds = Rounds(options.times or way.times, options.seconds)
    faulthandler.enable()
    with tempfile.TemporaryDirectory() as folder:
        try:
            report = way.run(Task(part, rounds, options.seed, Path(folder), partial(print, flush=True)))
        except Broken as error:
            print(f"{BROKEN}{' '.join(str(error).split())}", flush=True)
            return 1
    print(f"{STOOD}{report}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
