"""Memory that an answer may make presman ask for is bounded, where a server answers."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from presman.base.collecting import SELDOM, collect_seldom
from presman.cli.limits import MEMORY
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


def test_garbage_is_collected_seldom_but_is() -> None:
    before = gc.get_threshold()
    try:
        collect_seldom()
        assert gc.get_threshold() == SELDOM
        assert gc.isenabled()
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
def test_where_a_server_answers(target: str, before: int, after: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASK, target, str(before)],
        capture_output=True, text=True, env=environment(PRESMAN_CONFIG="/dev/null"), check=False, timeout=60,
    )  # fmt: skip
    limit, *rest = done.stdout.split("\n")
    assert (int(limit), "too much" in rest) == (after, after >= 0), done.stderr
