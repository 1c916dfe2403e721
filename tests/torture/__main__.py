"""`make torture`: a thousand cuts for each of three releases and two ways to run presman; a quarter of an hour.

    make torture ARGS="--cuts 50 --releases 23 --ways tui --seed 7"

`fuzz` is a third way: as many sessions in which bytes of the server's answers are changed.
`kill` is a fourth, of no release: a recorder that is killed 200 times. `flips` is a fifth: recordings with bits changed
or cut short, 1,000 of them; `bombs` a sixth: recordings with blocks that would unfold to gigabytes, 1,000 of each kind.
Everything comes from the seed. Prints what was done, and exits 1 with what presman did not stand.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from subprocess import run

from presman.base.release import Release
from tests.torture.bombs import bombs
from tests.torture.flips import flip
from tests.torture.fuzz import Fell, fuzz
from tests.torture.kills import kill
from tests.torture.torture import CLIENTS, Broken, torture

OF_NO_RELEASE = ("kill", "flips", "bombs")
WAYS = (*CLIENTS, "fuzz", *OF_NO_RELEASE)
KILLS = 200


def main() -> int:
    """Torture, each pair of release and way in a process of its own."""
    parser = argparse.ArgumentParser(prog="make torture", description=__doc__)
    parser.add_argument("--cuts", type=int, default=1000, help="cuts, or sessions, for each pair (1000)")
    parser.add_argument("--releases", default="12.1,19,23", help="12.1,19,23")
    parser.add_argument("--ways", default=",".join(WAYS), help=",".join(WAYS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="pairs at a time (2)")
    chosen = parser.parse_args()
    ways = chosen.ways.split(",")
    pairs = [(release, way) for release in chosen.releases.split(",") for way in ways if way not in OF_NO_RELEASE]
    pairs += [("", way) for way in OF_NO_RELEASE if way in ways]
    if len(pairs) == 1:
        return _one(*pairs[0], chosen.cuts, chosen.seed)

    def start(pair: tuple[str, str]) -> int:
        options = ["--releases", pair[0], "--ways", pair[1], "--cuts", str(chosen.cuts), "--seed", str(chosen.seed)]
        return run([sys.executable, "-m", "tests.torture", *options], check=False).returncode

    with ThreadPoolExecutor(chosen.jobs) as pool:
        failed = sum(map(bool, pool.map(start, pairs)))
    print(f"{len(pairs) - failed} of {len(pairs)} stood {chosen.cuts} each (seed {chosen.seed})")
    return int(failed > 0)


def _one(release: str, way: str, cuts: int, seed: int) -> int:
    try:
        if way == "fuzz":
            for heads in (True, False):
                print(fuzz(Release.parse(release), cuts // 2, seed, heads=heads), flush=True)
            return 0
        with tempfile.TemporaryDirectory() as folder:
            say = partial(print, flush=True)
            if way == "kill":
                say(kill(min(cuts, KILLS), seed, Path(folder), say))
                return 0
            if way == "flips":
                say(flip(cuts, seed, Path(folder), say))
                return 0
            if way == "bombs":
                say(bombs(cuts, seed, Path(folder), say))
                return 0
            say(torture(Release.parse(release), way, cuts, seed, Path(folder), say))
            return 0
    except (Broken, Fell) as error:
        print(f"BROKEN: {error}", flush=True)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
