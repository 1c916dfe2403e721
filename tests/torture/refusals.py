"""Refusals: machines without threads, files, memory, disk or a home. Each command must end with a line and a code.

The seed determines what is refused, how much of it is left, and to which command.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tests.cli.run import QUEUEING, environment
from tests.recording.recorded import polled, record
from tests.torture.judged import CODES, only_own_lines
from tests.torture.rounds import Broken, Task

LONGEST = 40.0
"""Seconds after which a command counts as hanging. An endless command gets SIGTERM after ENOUGH seconds."""

ENOUGH = 3.0

LAUNCH = """
import json, resource, sys, threading
which, most, threads = json.loads(sys.argv.pop(1))
if which is not None:
    resource.setrlimit(which, (most, most))
left, begin = [threads], threading.Thread.start
def start(thread):
    left[0] -= 1
    if left[0] < 0:
        raise RuntimeError("can't start new thread")
    begin(thread)
threading.Thread.start = start
from presman.cli import main
sys.exit(main())
"""
"""presman under a limit. The limit of threads is emulated, because root has none."""

COMMANDS = (
    ("--version",), ("config",), ("grants",), ("lint", "demo:quiet"), ("once", "demo:quiet", "--interval", "0.1"),
    ("once", QUEUEING, "--format", "json"), ("check", "demo:quiet", "--interval", "0.1"), ("doctor", "demo:quiet"),
    ("export", "demo:quiet", "--polls", "1", "--refresh", "0.5", "-o", "new.csv"),
    ("record", "demo:quiet", "--polls", "2", "--interval", "0.5", "-o", "new.presman"),
    ("report", "old.presman", "-o", "new.html"), ("once", "old.presman"), ("status",),
    ("fleet", "demo:quiet", "demo:noplan", "--format", "json", "--timeout", "5"),
    ("metrics", "demo:quiet", "demo:noplan", "--listen", "127.0.0.1:0", "--interval", "0.5"),
)  # fmt: skip
ENDLESS = {"metrics"}


class Refusal(NamedTuple):
    """What a command is refused: a resource limit and its value, the environment, files for its outputs, threads."""

    what: str
    limit: int | None = None
    most: int = 0
    environment: Mapping[str, str] = MappingProxyType({})
    out: str = os.devnull
    err: str = ""
    threads: int = 1000


def _choose(rng: random.Random) -> Refusal:
    files, memory, size, threads = (rng.randrange(*span) for span in ((5, 40), (40, 400), (0, 40), (0, 6)))
    home = rng.choice(("", "/dev/null", "/proc/self/fd", "relative", "/" + "x" * 300))
    return rng.choice((
        Refusal(f"{files} files", resource.RLIMIT_NOFILE, files),
        Refusal(f"{memory} MB", resource.RLIMIT_AS, memory << 20),
        Refusal(f"files of {size} kB", resource.RLIMIT_FSIZE, size << 10),
        Refusal(f"{threads} threads", threads=threads),
        Refusal("a full disk for its output", out="/dev/full"),
        Refusal("a full disk for what it says", err="/dev/full"),
        Refusal(f"HOME={home[:20]!r}", environment={"HOME": home, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}),
        Refusal("no place for temporary files", environment={"TMPDIR": "/dev/null"}),
    ))  # fmt: skip


def run(task: Task) -> str:
    """Refuse something to a command in each round. Raises Broken with all failures."""
    record(task.folder / "old.presman", list(polled("quiet", 4)))
    codes: Counter[int] = Counter()
    fallen: dict[str, str] = {}
    for number in task.rounds:
        rng = random.Random(f"{task.seed} {number}")
        refusal, command = _choose(rng), rng.choice(COMMANDS)
        try:
            codes[_one(refusal, command, task.folder)] += 1
        except Broken as error:
            fallen.setdefault(str(error).partition(":")[0], f"number {number}: {error}")
        if number % 50 == 49:
            task.log(f"{number + 1} done, {len(fallen)} fell")
    if fallen:
        raise Broken(f"seed {task.seed}, {len(fallen)} kinds fell: " + "; ".join(list(fallen.values())[:8]))
    found = ", ".join(f"{count} with {code}" for code, count in sorted(codes.items()))
    return f"{codes.total()} commands on machines that refuse: {found}"


def _one(refusal: Refusal, command: tuple[str, ...], folder: Path) -> int:
    for path in folder.glob("new.*"):
        path.unlink()
    limits = json.dumps([refusal.limit, refusal.most, refusal.threads])
    words = [sys.executable, "-c", LAUNCH, limits, *command]
    given = environment(XDG_STATE_HOME=str(folder), PRESMAN_CONFIG=os.devnull) | refusal.environment
    given["PYTHONDONTWRITEBYTECODE"] = "1"  # Python itself would leave half-written .pyc files
    with Path(refusal.out).open("wb") as out, Path(refusal.err or folder / "errors").open("wb") as err:
        process = subprocess.Popen(words, cwd=folder, env=given, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        try:
            code = process.wait(ENOUGH if command[0] in ENDLESS else LONGEST)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM if command[0] in ENDLESS else signal.SIGKILL)
            code = process.wait(LONGEST)
    errors = (folder / "errors").read_text("utf-8", "replace") if not refusal.err else ""
    where = f"{command[0]} with {refusal.what}"
    allowed = {143} if command[0] in ENDLESS else {1} if command[0] == "check" else set()
    if code not in CODES | allowed:
        raise Broken(f"{where}: code {code}: {errors[-400:]}")
    only_own_lines(errors, where)
    return code
