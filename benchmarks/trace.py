"""Speed and memory of summarising trace files: `python -m benchmarks.trace`.

It generates a trace of a redo writer and of a session, and summarises one event and all events with presman and with
awk, which does the same (count, mean, longest, distinct values sorted for percentiles, shares over 1, 10 and 20 ms,
blocks). It takes the least CPU time of several runs. With `--stream` nothing is written to disk: the traces go through
a pipe, so that gigabytes can be tried. `make bench` prints a short run of it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.report import Report
from benchmarks.traces import redo_writer, session

PRESMAN = (
    "import sys; from presman.cli import trace_command as command;"
    "sys.exit(command.run(command.arguments('trace').parse_args()))"
)
AWK_ONE = r"""
/^WAIT #[0-9]+: nam='log file parallel write' / {
  match($0, /ela= *[0-9]+/); e = substr($0, RSTART + 4, RLENGTH - 4) + 0
  n++; s += e; if (e > m) m = e; c[e]++; if (e > 1000) a++; if (e > 10000) b++; if (e > 20000) d++
  if (match($0, / blocks=[0-9]+/)) w += substr($0, RSTART + 8, RLENGTH - 8)
}
END {
  printf "%d %.1f %d %.3f %.3f %.3f %d\n", n, s / n, m, 100 * a / n, 100 * b / n, 100 * d / n, w
  for (e in c) print e, c[e] | "sort -n"
}
"""
AWK_ALL = r"""
/^WAIT #[0-9]+: nam='/ {
  t = substr($0, index($0, "'") + 1); v = substr(t, 1, index(t, "'") - 1)
  match(t, /ela= *[0-9]+/); e = substr(t, RSTART + 4, RLENGTH - 4) + 0
  n[v]++; s[v] += e; if (e > m[v]) m[v] = e; c[v, e]++
  if (e > 1000) { a[v]++; if (e > 10000) { b[v]++; if (e > 20000) d[v]++ } }
  if (match(t, /( blocks| block cnt)=[0-9]+/)) { split(substr(t, RSTART, RLENGTH), k, "="); w[v] += k[2] }
}
END {
  for (v in n)
    printf "%s %d %.1f %d %.3f %.3f %.3f %d\n", v, n[v], s[v] / n[v], m[v], 100 * a[v] / n[v], 100 * b[v] / n[v],
      100 * d[v] / n[v], w[v]
  for (v in c) { split(v, k, SUBSEP); print k[2], c[v], k[1] | "sort -n" }
}
"""
TRACES = {"redo writer": redo_writer, "session": session}
EVENTS = {"one event": ([], AWK_ONE), "all events": (["--all", "--idle"], AWK_ALL)}

MOST_CPU_MS = 1_000
"""For 100 MB: 100 MB/s on one core."""
MOST_TIMES_AWK = {"one event": 4.0, "all events": 1.7}
"""Against mawk, the fastest awk; all events take it 2.8 times as long as one, and presman hardly longer."""
MOST_MEMORY_MB = 80


class Cost(NamedTuple):
    """CPU milliseconds for 100 MB; an upper bound of the MB of memory, because it includes the parent's peak."""

    cpu_ms: float
    memory: float


def measure(command: list[str], source: Path | Callable[[], Iterator[bytes]], size: float) -> Cost:
    """Run `command` on `size` MB of a file or of a pipe."""
    from_file = isinstance(source, Path)
    process = subprocess.Popen(
        [*command, str(source) if from_file else "-"],
        stdin=subprocess.DEVNULL if from_file else subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    if not isinstance(source, Path) and process.stdin is not None:
        for block in source():
            process.stdin.write(block)
        process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} failed with {process.returncode}")
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return Cost((usage.ru_utime + usage.ru_stime) * 1e5 / size, usage.ru_maxrss / unit)


def best(command: list[str], source: Path | Callable[[], Iterator[bytes]], size: float, runs: int) -> Cost:
    """Return the least CPU of several runs, and the greatest memory."""
    costs = [measure(command, source, size) for _ in range(runs)]
    return Cost(min(cost.cpu_ms for cost in costs), max(cost.memory for cost in costs))


def traces(report: Report, megabytes: int = 100, runs: int = 3, *, stream: bool = False) -> None:
    """Print what a summary of each kind of trace costs."""
    memory = 0.0
    with tempfile.TemporaryDirectory() as directory:
        for kind, make in TRACES.items():
            source: Path | Callable[[], Iterator[bytes]] = partial(make, megabytes)
            size = float(megabytes)
            if not stream:
                source = Path(directory) / "demo.trc"
                with source.open("wb") as file:
                    file.writelines(make(megabytes))
                size = source.stat().st_size / 1e6
            for which, (options, script) in EVENTS.items():
                cost = best([sys.executable, "-c", PRESMAN, *options], source, size, runs)
                memory = max(memory, cost.memory)
                what = f"trace of a {kind}, {which}, 100 MB"
                report.line(what, cost.cpu_ms, "ms", bar=MOST_CPU_MS)
                if (awk := shutil.which("awk")) is not None:
                    yardstick = best([awk, script], source, size, runs)
                    report.line(
                        "... against awk", cost.cpu_ms, "ms", yardstick=yardstick.cpu_ms, bar=MOST_TIMES_AWK[which]
                    )
    report.line(f"memory for a trace of {megabytes:,} MB", memory, "MB", bar=MOST_MEMORY_MB)


def main() -> int:

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200, help="of each trace (200)")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--stream", action="store_true", help="through a pipe, nothing on disk")
    arguments = parser.parse_args()
    report = Report()
    traces(report, arguments.megabytes, arguments.runs, stream=arguments.stream)
    return 1 if report.missed_bars else 0


if __name__ == "__main__":
    sys.exit(main())
