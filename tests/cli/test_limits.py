"""Limits: the memory of a server's answer, and the resources of many databases."""

from __future__ import annotations

import gc
import math
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from presman.base.running_out import collect_rarely
from presman.cli import exit_codes, limits
from presman.cli.exit_codes import Failure
from presman.cli.limits import EACH, MEMORY, STACK, make_room
from tests.cli.run import environment

ASK = """
import resource, sys
from argparse import Namespace
from presman.cli.settings import resolve
resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[2]), resource.RLIM_INFINITY))
options = Namespace(thick=None, packs=None, refresh=None, scope=None, theme=None, poll_timeout=None,
    at=None, start=None, end=None)
from presman.config.config_file import load_config
resolve(sys.argv[1], load_config(None), options)
limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
print(limit)
try:
    limit > 0 and bytearray(3 << 30)
except MemoryError:
    print("too much")
"""


A_POLL = 2_300
"""Objects that live for one poll: 113 collections of the youngest 20,000 objects in 1,000 polls of `mixed`."""


def test_full_garbage_collections_are_rare() -> None:
    """With 200 databases a full collection stops every thread for half a second, so that polls would be late."""
    before = gc.get_threshold()
    try:
        collect_rarely()
        assert gc.isenabled()
        objects = math.prod(gc.get_threshold())
        of_200_in_an_hour, of_one_in_a_month = 200 * 4 * 60 * A_POLL, 30 * 24 * 3600 // 5 * A_POLL
        assert of_200_in_an_hour < objects < of_one_in_a_month
    finally:
        gc.set_threshold(*before)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no such limit")
@pytest.mark.parametrize(
    ("target", "before", "after"),
    [
        ("presman/secret@dbhost/prod", -1, MEMORY),
        ("presman/secret@dbhost/prod", MEMORY // 2, MEMORY // 2),
        ("demo:quiet", -1, -1),
    ],
)
def test_memory_is_limited_if_a_server_answers(target: str, before: int, after: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASK, target, str(before)],
        capture_output=True, text=True, env=environment(PRESMAN_CONFIG="/dev/null"), check=False, timeout=60,
    )  # fmt: skip
    limit, *rest = done.stdout.split("\n")
    assert (int(limit), "too much" in rest) == (after, after >= 0), done.stderr


Limits = dict[int, tuple[int, int]]


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Limits]:
    """The soft and hard limits of a machine by number, which presman may raise."""
    unlimited = resource.RLIM_INFINITY
    found = dict.fromkeys((resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_AS), (unlimited, unlimited))
    found[resource.RLIMIT_DATA] = (MEMORY, unlimited)

    def change(which: int, pair: tuple[int, int]) -> None:
        if pair[0] > found[which][1] != unlimited:
            raise ValueError("current limit exceeds maximum limit")
        found[which] = pair

    monkeypatch.setattr(limits, "MEMORY", MEMORY)
    monkeypatch.setattr(resource, "getrlimit", found.__getitem__)
    monkeypatch.setattr(resource, "setrlimit", change)
    monkeypatch.setattr(limits.os, "geteuid", lambda: 1000)
    usual = threading.stack_size()
    yield found
    threading.stack_size(usual)


def test_two_hundred_databases_have_room(allowed: Limits) -> None:
    """112 files and 4 for each of 200 are 912; 2 GB of memory and 8 MB for each but the first; small stacks."""
    allowed[resource.RLIMIT_NOFILE] = (256, 4096)
    make_room(200, server=True)
    assert allowed[resource.RLIMIT_NOFILE] == (912, 4096)
    assert allowed[resource.RLIMIT_DATA][0] == MEMORY + 199 * EACH
    assert threading.stack_size() == STACK == 1 << 20
    assert 200 * STACK < MEMORY < 200 * (8 << 20) * 2, "two usual stacks for each are more than the limit"


@pytest.mark.parametrize(
    ("which", "pair", "line"),
    [
        (
            "RLIMIT_NOFILE",
            (64, 256),
            "200 databases in one process need 912 open files, and 256 are allowed (ulimit -n): enough for 36",
        ),
        (
            "RLIMIT_NPROC",
            (100, 100),
            "200 databases in one process need 416 threads, and 100 are allowed (ulimit -u): enough for 42",
        ),
    ],
)
def test_a_limit_that_is_too_low_is_reported_before_it_is_reached(
    allowed: Limits, which: str, pair: tuple[int, int], line: str
) -> None:
    """(256 - 112) / 4 = 36; (100 - 16) / 2 = 42."""
    allowed[getattr(resource, which)] = pair
    with pytest.raises(Failure) as caught:
        make_room(200, server=True)
    assert (str(caught.value), caught.value.code) == (line, exit_codes.SOURCE)


@pytest.mark.parametrize(
    ("which", "pair", "databases", "line"),
    [
        ("RLIMIT_NOFILE", (8, 8), 1, "this takes 12 open files, and 8 are allowed (ulimit -n)"),
        ("RLIMIT_NPROC", (3, 3), 1, "this takes 6 threads, and 3 are allowed (ulimit -u)"),
        ("RLIMIT_AS", (80 << 20, 80 << 20), 1, "this takes 110 MB of memory, and 80 are allowed (ulimit -v)"),
        (
            "RLIMIT_AS",
            (115 << 20, 115 << 20),
            3,
            "3 databases in one process need 122 MB of memory, and 115 are allowed (ulimit -v): enough for 1",
        ),
    ],
)
def test_a_limit_too_low_for_one_database_is_reported(
    allowed: Limits, which: str, pair: tuple[int, int], databases: int, line: str
) -> None:
    """Otherwise it would start and report the exhausted resource repeatedly."""
    allowed[getattr(resource, which)] = pair
    with pytest.raises(Failure) as caught:
        make_room(databases, server=True)
    assert (str(caught.value), caught.value.code) == (line, exit_codes.SOURCE)


def test_root_has_no_limit_of_threads(allowed: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed[resource.RLIMIT_NPROC] = (3, 3)
    monkeypatch.setattr(limits.os, "geteuid", lambda: 0)
    make_room(200, server=False)
    assert allowed[resource.RLIMIT_DATA] == (MEMORY, resource.RLIM_INFINITY), "no server answers"


def test_more_databases_than_a_process_can_watch_are_refused(allowed: Limits) -> None:
    with pytest.raises(Failure, match="501 databases are too many for one process, which watches 500"):
        make_room(501, server=True)
