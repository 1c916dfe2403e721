"""`python -m benchmarks.trace [--megabytes N] [--all]`: how fast trace files are summarised, and in how much memory.

Generates a trace of the wanted size, as a redo writer leaves it, in a temporary directory; summarises it with presman
and with awk doing the same (count, mean, percentiles by sorted distinct values, shares over 1, 10 and 20 ms, blocks);
prints megabytes per second of CPU time, the ratio and the peak memory. The best of several runs counts. With
`--stream` nothing is written to disk: the trace goes through a pipe, so that gigabytes can be tried. Exits 1 if a bar
is passed.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

BAR_MB_PER_S = 100
BAR_RATIO = 3
BAR_MEMORY_MB = 80
PATTERN = 4_000

PRESMAN = (
    "import argparse, sys; from presman.trace import command; parser = argparse.ArgumentParser();"
    "command.add_arguments(parser); sys.exit(command.run(parser.parse_args()))"
)
AWK = r"""
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


def trace(megabytes: int, seed: int = 1) -> Iterator[bytes]:
    """Yield blocks of a redo writer's trace: writes, each followed by an idle wait as often as not."""
    chance = random.Random(seed)
    yield (
        b"Trace file /u01/app/oracle/diag/rdbms/demo/demo/trace/demo_lgwr_4711.trc\n"
        b"Oracle Database 12c Enterprise Edition Release 12.1.0.2.0 - 64bit Production\n\n"
        b"*** 2015-06-01 10:00:00.000\n"
    )
    written, tim = 0, 0
    while written < megabytes * 1_000_000:
        lines = []
        for _ in range(PATTERN):
            elapsed = int(chance.lognormvariate(6.1, 0.5))
            tim += elapsed
            lines.append(
                f"WAIT #0: nam='log file parallel write' ela= {elapsed} files=1 blocks={chance.randrange(1, 200)} "
                f"requests=1 obj#=-1 tim={10**10 + tim}\n"
            )
            if chance.random() < 0.8:
                idle = chance.randrange(20, 900)
                tim += idle
                lines.append(
                    f"WAIT #0: nam='LGWR worker group idle' ela= {idle} p1=0 p2=0 p3=0 obj#=-1 tim={10**10 + tim}\n"
                )
        block = "".join(lines).encode()
        for _ in range(8):  # generating is slower than reading: a block serves several times
            yield block
            written += len(block)


def measure(command: list[str], source: Path | None, megabytes: int) -> tuple[float, float, str]:
    """Run `command` on a file, or on a streamed trace; return CPU seconds, peak memory in MB, and its output."""
    with tempfile.TemporaryFile() as output:
        argument = "-" if source is None else str(source)
        stdin = subprocess.PIPE if source is None else subprocess.DEVNULL
        process = subprocess.Popen([*command, argument], stdin=stdin, stdout=output)
        if process.stdin is not None:
            for block in trace(megabytes):
                process.stdin.write(block)
            process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{command[0]} failed with {process.returncode}")
        output.seek(0)
        text = output.read().decode()
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit, text


def best(command: list[str], source: Path | None, megabytes: int, runs: int) -> tuple[float, float, str]:
    """Return the fastest run's CPU seconds, the greatest memory of all and the last output."""
    results = [measure(command, source, megabytes) for _ in range(runs)]
    return min(result[0] for result in results), max(result[1] for result in results), results[-1][2]


def compare(source: Path | None, megabytes: int, runs: int, options: list[str]) -> bool:
    """Print the figures; return whether both bars are kept."""
    seconds, memory, text = best([sys.executable, "-c", PRESMAN, *options], source, megabytes, runs)
    size = source.stat().st_size / 1e6 if source else megabytes
    print(text.split("\n\n", maxsplit=1)[0])
    print(f"presman {size / seconds:>8.0f} MB/s of CPU time   peak memory {memory:.0f} MB")
    ratio = 0.0
    if (awk := shutil.which("awk")) is not None:
        yardstick, _, said = best([awk, AWK], source, megabytes, runs)
        ratio = yardstick / seconds
        print(f"awk     {size / yardstick:>8.0f} MB/s of CPU time   {said.splitlines()[0]}")
        print(f"ratio   {ratio:>8.2f}x")
    fast, small = size / seconds >= BAR_MB_PER_S or ratio >= BAR_RATIO, memory < BAR_MEMORY_MB
    print(f"bars: {BAR_MB_PER_S} MB/s or {BAR_RATIO}x awk: {_kept(fast)}, under {BAR_MEMORY_MB} MB: {_kept(small)}")
    return fast and small


def _kept(kept: bool) -> str:
    return "kept" if kept else "PASSED"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--stream", action="store_true", help="through a pipe, nothing on disk")
    parser.add_argument("--all", action="store_true", help="summarise all events (awk still does one)")
    arguments = parser.parse_args()
    options = ["--all", "--idle"] if arguments.all else []
    if arguments.stream:
        return 0 if compare(None, arguments.megabytes, arguments.runs, options) else 1
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "demo_lgwr_4711.trc"
        with source.open("wb") as file:
            file.writelines(trace(arguments.megabytes))
        return 0 if compare(source, arguments.megabytes, arguments.runs, options) else 1


if __name__ == "__main__":
    sys.exit(main())
