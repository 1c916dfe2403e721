"""Ways: everything that `make torture` does to presman, in one table. A new way is a module and a line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from presman.base.release import Release
from tests.torture import endurance, hostile, refusals, strangers
from tests.torture.bombs import FORMATS, bombs
from tests.torture.flips import flip
from tests.torture.fuzz import fuzz
from tests.torture.kills import kill
from tests.torture.rounds import Task
from tests.torture.torture import torture


class Way(NamedTuple):
    """One way: what it does, its parts (each in a process of its own), how often, and its function.

    The function returns a one-line report, and raises Broken if presman fails.
    """

    name: str
    what: str
    parts: tuple[str, ...]
    times: int
    run: Callable[[Task], object]


RELEASES = ("12.1", "19", "23")


def _cut(client: str, task: Task) -> object:
    return torture(Release.parse(task.part), client, task.rounds, task.seed, task.folder, task.log)


def _fuzz(task: Task) -> object:
    release, where = task.part.split()
    return fuzz(Release.parse(release), task.rounds, task.seed, heads=where == "heads")


WAYS = (
    Way("tui", "cuts of the line of a monitor", RELEASES, 1000, lambda task: _cut("tui", task)),
    Way("export", "cuts of the line of an export", RELEASES, 1000, lambda task: _cut("export", task)),
    Way(
        "fuzz", "sessions in which bytes of the server's answers are changed",
        tuple(f"{release} {where}" for release in RELEASES for where in ("heads", "bodies")), 500, _fuzz,
    ),
    Way("kill", "kills of a recorder", ("",), 200, lambda task: kill(task.rounds, task.seed, task.folder, task.log)),
    Way(
        "flips", "recordings with bits changed or cut short", ("",), 1000,
        lambda task: flip(task.rounds, task.seed, task.folder, task.log),
    ),
    Way("bombs", "blocks of recordings that mean gigabytes", FORMATS, 1000, bombs),
    Way("strangers", "files and arguments that make no sense", strangers.KINDS, 2000, strangers.run_kind),
    Way("hostile", "columns that are full of control sequences", hostile.PLACES, hostile.COLUMNS, hostile.run),
    Way("refusals", "machines that refuse threads, files, memory, disks, homes", ("",), 300, refusals.run),
    Way("endurance", "polls of a month, monitors with random keys", endurance.WHAT, endurance.A_MONTH, endurance.run),
)  # fmt: skip
"""In the order in which they run."""
