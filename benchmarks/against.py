"""Comparison of this commit with others, in turns in one run: it shows what a change costs on any machine.

`python -m benchmarks.against COMMIT [COMMIT ...]` checks out each commit into a folder of its own and measures the code
there: a refresh in a storm and its parts, the analysis of 64 groups, and a monitor of `mixed` (when it has figures, its
cost with all its processes while nobody uses it, how soon it answers keys). The Python libraries are those of this
checkout. It prints the minimum of the turns for figures in ms, because other load on the machine only adds to them,
and the median for other figures.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.terminal import Screen, key_answer

ROOT = Path(__file__).parents[1]
REFRESH = 2.0
PRESSES = tuple((tab[1:2], tab) for tab in (b"[4 Parallel]", b"[2 CPU]", b"[5 Sessions]", b"[1 Overview]")) * 3
"""Keys, and the text that each brings on the screen."""

STORM = re.compile(r"200x50: .*analysis ([\d.]+) ms, keeping ([\d.]+) ms, .*refresh ([\d.]+) ms")
GROUPS = re.compile(r"analysis, 64 groups 4 instances 3 tiers +([\d.]+) ms")

Figures = dict[str, list[float]]
"""The values of all turns by figure, in its unit."""


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Check out a commit into a temporary folder. Raises CalledProcessError for an unknown commit."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, commit], cwd=ROOT, check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def environment(tree: Path) -> dict[str, str]:
    """Return an environment in which Python, and the processes that presman starts, import the code of that folder."""
    return {"PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}


def measure(tree: Path, window: float, found: Figures) -> None:
    """Measure the code of a folder once."""
    storm = STORM.search(_printed(tree, "benchmarks.storm"))
    assert storm is not None
    for name, value in zip(("storm: analysis", "storm: keeping", "storm: refresh"), storm.groups(), strict=True):
        found.setdefault(f"{name}, ms", []).append(float(value))
    groups = GROUPS.search(_printed(tree, "benchmarks", "--only", "analysis"))
    assert groups is not None
    found.setdefault("analysis of 64 groups, ms", []).append(float(groups[1]))
    for name, value in _monitor(tree, window).items():
        found.setdefault(name, []).append(value)


def _printed(tree: Path, *module: str) -> str:
    """Run a benchmark of the folder and return its output; missed bars are ignored."""
    command = [sys.executable, "-m", *module]
    env = os.environ | environment(tree)
    run = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)
    if run.returncode not in {0, 1}:
        raise RuntimeError(run.stderr)
    return run.stdout


def _monitor(tree: Path, window: float) -> dict[str, float]:
    """Return what a monitor of `mixed` takes until it has figures, while nobody uses it, and for a key."""
    knows_tours = "--no-tour" in _printed(tree, "presman", "demo", "--help")
    command = [sys.executable, "-m", "presman", "demo", *["--no-tour"][:knows_tours], "--refresh", str(REFRESH)]
    screen = Screen(command, **environment(tree))
    try:
        screen.wait_for(b"LIVE", b"INTERACTIVE")
        shown = time.perf_counter() - screen.begun
        screen.idle(6, REFRESH)  # caches fill
        idle = screen.idle(window, REFRESH)
        answered = key_answer(screen, PRESSES)
    finally:
        screen.close()
    return {
        "mixed: first figures, ms": shown * 1e3,
        "mixed: a key answered, ms": answered * 1e3,
        "mixed: a refresh, kB written": idle.bytes_per_refresh / 1e3,
        "mixed: a minute, s of CPU": idle.cpu_per_minute,
        "mixed: memory of its processes, MB": idle.rss_mib,
    }


def lines(own: Mapping[str, Sequence[float]], others: Mapping[str, Mapping[str, Sequence[float]]]) -> Iterator[str]:
    """Return a table: the figure, this commit, and each other commit with the ratio of this one to it."""
    yield f"{'what':<36}{'this':>10}" + "".join(f"{commit[:12]:>14}{'ratio':>8}" for commit in others)
    for what, values in own.items():
        best = _of_turns(what, values)
        beside = [_of_turns(what, other[what]) for other in others.values()]
        yield f"{what:<36}{best:>10.2f}" + "".join(f"{each:>14.2f}{best / each:>7.2f}x" for each in beside)


def _of_turns(what: str, values: Sequence[float]) -> float:
    return min(values) if what.endswith("ms") else statistics.median(values)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure in turns and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("commits", nargs="+", metavar="COMMIT")
    parser.add_argument("--turns", type=int, default=3, help="measurements of each commit (3)")
    parser.add_argument("--window", type=float, default=30, help="seconds that the monitor is left alone (30)")
    chosen = parser.parse_args(arguments)
    own: Figures = {}
    others: dict[str, Figures] = {commit: {} for commit in chosen.commits}
    with tempfile.TemporaryDirectory() as home:  # monitors save their state here
        os.environ |= {"XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling at each start takes memory and CPU of its own
        for _ in range(chosen.turns):
            measure(ROOT, chosen.window, own)
            for commit, found in others.items():
                with checked_out(commit) as tree:
                    measure(tree, chosen.window, found)
    print("\n".join(lines(own, others)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
