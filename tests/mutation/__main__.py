"""`python -m tests.mutation`: changes the product in one place at a time and reports changes that no test notices.

It works in a copy. A mutant is tried first with the tests that call its function, the fastest first, then with the
tests that import its module, until its time is up. It is killed if a test fails that passes without it. A survey finds
which test calls which function; it is repeated for a file of tests that changes. Mutants that no test can notice are
listed with the reason in equivalent.txt.

No library is used, because mutmut 3 writes all mutants of a file into it at once (32,000 here), leaves out code that is
decorated or outside of functions, and draws no samples; and cosmic-ray knows one command for all mutants and starts
Python for each, which takes 2 s here before the first test. This tool forks from a process that has imported what the
tests need.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import gc
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

from tests.mutation import fork
from tests.mutation.fork import Ended
from tests.mutation.mutants import Mutant, chosen, product
from tests.mutation.survey import Calls, Only, Survey, Surveyor, digest, load, lots, save
from tests.mutation.warm import Endless, Found, Trial, Warm, dotted

ROOT = Path(__file__).parents[2]
NOT_COPIED = shutil.ignore_patterns(".*", "build", "dist", "site", "screenshots")
FIRST = (
    *("pytest", "hypothesis.strategies", "_hypothesis_pytestplugin", "aiohttp.web"),
    *("sqlalchemy", "msgspec", "rich.console", "textual.app", "sqlglot", "zstandard"),
)
"""Libraries that tests import: imported once, before the forks."""

NEVER = (
    *("tests/torture", "tests/real", "tests/docs", "tests/test_contributing", "tests/test_packaging"),
    *("tests/test_benchmarks", "tests/test_screenshots", "tests/mutation"),
)
"""Tests of whole machines and of documents."""

SLOW = ("tests/oracle/", "tests/tui/", "tests/cli/")
"""Tests that wait for processes, servers and screens, and may fail by themselves on a busy machine."""

SIMULATOR, PLAYS = "sources.simulator", ("presman/sources/simulator", "presman/forecast/")
"""The package that simulates, and the files that decide the course of a simulation."""

SURVEY = "build/mutation_calls.json"

PART = 10
"""So many files are surveyed before the survey is saved; progress is printed after so many mutants."""

LEFT_OUT = (
    "presman/tui/",
    "presman/cli/",
    "presman/tabs/",
    "presman/figures/",
    "presman/output/v1_tables/",
)
"""Left out unless --rooms names them: screens and texts, whose tests take minutes."""


HANGS = 30
"""Seconds of the clock after which a test times out. A test that fails so late is run again before that counts."""

QUIETLY = (
    *("-n0", "-p", "no:cacheprovider", "--tb=no", "-rfE", f"--timeout={HANGS}"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)


FATES = {"": "survived", "?": "no time"}
"""The result of a mutant that no test notices, and of a mutant that no test noticed in time."""


class Nearest:
    """Which test files import a module, directly, through another module, or as part of a whole package."""

    def __init__(self, root: Path) -> None:
        self.modules = {dotted(path.relative_to(root)) for path in root.glob("presman/**/*.py")}
        self.packages = {dotted(path.relative_to(root)) for path in root.glob("presman/**/__init__.py")}
        self.importers: dict[str, set[str]] = defaultdict(set)
        self.testers: dict[str, set[str]] = defaultdict(set)
        self.walkers: dict[str, set[str]] = defaultdict(set)
        self.breadth: Counter[str] = Counter()
        for path in root.glob("presman/**/*.py"):
            for module in set().union(*self._imported(path)):
                self.importers[module].add(dotted(path.relative_to(root)))
        for path in root.glob("tests/**/test_*.py"):
            name = path.relative_to(root).as_posix()
            if not name.startswith(NEVER):
                self.breadth[name] += 0  # also files that import nothing of presman
                imported, walked = self._imported(path)
                for module in imported | walked:
                    self.testers[module].add(name)
                    self.breadth[name] += 1
                for module in walked:
                    self.walkers[module].add(name)

    def _imported(self, path: Path) -> tuple[set[str], set[str]]:
        """Return the modules that a file imports, and all modules of the packages that it names and may walk."""
        found, named = set(), set()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module:
                named |= {f"{node.module}.{alias.name}" for alias in node.names}
                found.add(node.module)
        within = tuple(f"{package}." for package in named & self.packages)
        return (found | named) & self.modules, {each for each in self.modules if each.startswith(within)}

    def is_below(self, path: str, room: str) -> bool:
        """Whether a file belongs to a room, or a module of the room imports it, directly or through others."""
        known, new = set[str](), {dotted(Path(path))}
        while new:
            known |= new
            new = set().union(*(self.importers[each] for each in new)) - known
        return any(each.startswith(f"presman.{room}.") for each in known)

    def stages(self, mutant: Mutant, calls: Calls) -> Iterator[tuple[list[str], dict[str, float], frozenset[str]]]:
        """Yield what to try: files, their tests with seconds (all tests if empty), and the tests tried before.

        First the tests that call the mutant's function, the closest of them ahead; then all other tests that import its
        module. If no test is known to call it, also the tests that import an importer of its module. For code outside
        of functions, the tests that walk through all modules of its package come before all these.
        """
        module = dotted(Path(mutant.path))
        if not mutant.where and self.walkers[module]:
            yield sorted(self.walkers[module]), {}, frozenset()
        calling, closest = (ask(mutant.path, mutant.where) for ask in (calls.callers, calls.closest))
        first = {test: seconds for own in closest.values() for test, seconds in own.items()}
        if first:
            yield list(closest), first, frozenset()
        tried = frozenset(first)
        for files in lots(calling):
            tests = {test: seconds for file in files for test, seconds in calling[file].items()}
            yield files, tests, frozenset(first)
            tried |= tests.keys()
        near = self.testers[module]
        next_to = set().union(*(self.testers[each] for each in self.importers[module])) - near
        for stage in (near, set() if calling else {name for name in next_to if not name.startswith(SLOW)}):
            if stage:
                yield sorted(stage, key=lambda name: (self.breadth[name], name)), {}, tried


def forked(arguments: list[str], plugins: list[object], log: Path, seconds: float, after: Callable[[], None]) -> Ended:
    """Run tests in a fork."""

    def act() -> int:
        code = int(import_module("pytest").main([*QUIETLY, *arguments], plugins=plugins))
        after()
        return code

    return fork.run(act, log, seconds)


def killed_by(files: list[str], log: Path, seconds: float, *plugins: object) -> Found:
    """Run tests up to the first failure."""
    ended = forked(["-x", *files], list(plugins), log, seconds, lambda: None)
    if ended.status is None:
        return Found("?", ended.cpu)
    if ended.code in {0, 5}:
        return Found("", ended.cpu)
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.startswith(("FAILED", "ERROR"))]
    return Found(lines[0].split(" - ")[0].partition(" ")[2] if lines else f"the tests ended, see {log}", ended.cpu)


def failed(test: str) -> None:
    """Print pytest's line of a failed test, and end."""
    os.write(1, f"\nFAILED {test} - it does not end\n".encode())
    os._exit(1)


def warm_ups(mutant: Mutant, near: Nearest, folder: Path) -> Path:
    """Return the folder of simulations that were already played up to their start, which takes longer than most tests.

    A mutant that the simulator imports has a folder of its own, so that no other mutant gets its simulations. A mutant
    that decides the course of a simulation finds that folder empty, and plays its own.
    """
    shared, own = folder / "warm-ups", folder / "warm-ups-of-one"
    shared.mkdir(exist_ok=True)
    if not near.is_below(mutant.path, SIMULATOR):
        return shared
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    if not mutant.path.startswith(PLAYS):
        for each in shared.iterdir():
            os.link(each, own / each.name)
    return own


class Tests:
    """Trials of mutants in forks of the process that has collected all tests, or in a new process if need be."""

    def __init__(self, near: Nearest, calls: Calls, log: Path) -> None:
        self._near, self._calls, self._log = near, calls, log
        self._warm = Warm(sorted(near.breadth), QUIETLY, log.parent)

    def tried(self, mutant: Mutant, seconds: float) -> Found:
        """Return which test, if any, notices a mutant within `seconds` of CPU."""
        path, self._left = Path(mutant.path), seconds
        original, times = path.read_bytes(), path.stat()
        warm_up = str(warm_ups(mutant, self._near, self._log.parent))
        os.environ["PRESMAN_WARM_UPS"] = warm_up
        path.write_bytes(mutant.source(original))
        trial = Trial(mutant, original.decode(), warm_up, [], {}, frozenset(), seconds)
        try:
            return Found(self._noticed(trial, original), seconds - self._left)
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # its .pyc stays valid

    def end(self) -> None:
        self._warm.end()

    def _noticed(self, trial: Trial, original: bytes) -> str:
        assert trial.mutant
        for files, tests, before in self._near.stages(trial.mutant, self._calls):
            while self._left > 0:
                begun = time.monotonic()
                test = self._found(trial._replace(files=files, tests=tests, before=before, seconds=self._left))
                if not test:
                    break
                is_sure = not test.startswith(SLOW) and time.monotonic() - begun < HANGS
                if is_sure or test == "?" or self._is_reproducible(test, trial, original):
                    return test
                before |= {test.partition("[")[0]}
        return "" if self._left > 0 else "?"

    def _found(self, trial: Trial) -> str:
        found = self._warm.tried(trial)
        self._left -= found.cpu
        if found.test is not None:
            return found.test
        only = Only(trial.files, trial.tests, trial.before)
        found = killed_by(trial.files, self._log, max(self._left, 1), only, Endless(trial.tests, failed))
        self._left -= found.cpu
        return found.test or ""

    def _is_reproducible(self, test: str, trial: Trial, original: bytes) -> bool:
        """Return whether a test fails again, and passes without the mutant: a test that waits may fail by itself."""
        path, left = Path(trial.mutant.path if trial.mutant else ""), self._left
        again = trial._replace(files=[test.partition("::")[0]], tests={test: 0.0}, seconds=60)
        try:
            if not self._found(again):
                return False
            mutated = path.read_bytes()
            path.write_bytes(original)
            try:
                return not self._warm.tried(again._replace(mutant=None)).test
            finally:
                path.write_bytes(mutated)
        finally:
            self._left = left  # a repetition does not count against the mutant's time


def surveyed(files: Iterable[str], kept: Path, log: Path) -> Survey:
    """Return which test calls which function: from the saved survey, and from a new one for files that have changed."""
    digests = {name: digest(Path(name)) for name in sorted(files)}
    found = load(kept, digests)
    missing = [name for name in digests if not found.get(name)]
    os.environ["PRESMAN_WARM_UPS"] = str(log.parent / "warm-ups")
    parts = [missing[begin : begin + PART] for begin in range(0, len(missing), PART)]
    while parts:
        part, surveyor, result = parts.pop(0), Surveyor(Path.cwd()), log.with_suffix(".json")
        result.unlink(missing_ok=True)
        forked(part, [surveyor], log, 900, partial(save, surveyor.found, digests, result))
        if not result.exists() and len(part) > 1:  # a file ended the process
            parts += [[name] for name in part]
            continue
        new = load(result, digests)
        if len(part) > 1:  # a file without results is surveyed again, alone
            parts += [[name] for name in part if not new.get(name)]
        found |= {name: {} for name in part} | new
        save(found, digests, kept)
        print(f"surveyed: {sum(map(len, parts))} files of tests are left", file=sys.stderr, flush=True)
    return found


def draw(options: argparse.Namespace, near: Nearest) -> list[Mutant]:
    """Return the mutants to try: two fifths from analysis, the others from the other rooms by size."""
    rooms = product(Path.cwd(), () if options.rooms or options.files else LEFT_OUT)
    if options.rooms:
        rooms = {room: mutants for room, mutants in rooms.items() if room in options.rooms.split(",")}
    if options.files:
        rooms = {room: [each for each in own if each.named(options.files)] for room, own in rooms.items()}
    of_analysis = rooms.pop("analysis", [])
    rest = [mutant for mutants in rooms.values() for mutant in mutants]
    number = options.mutants if not rest else round(options.mutants * 0.4)
    first = chosen(of_analysis, number, options.seed)
    return mixed(first, chosen(rest, options.mutants - len(first), options.seed))


def result_line(mutant: Mutant, found: Found) -> str:
    """Return a line with a mutant's place and change, and the test that noticed it, if any."""
    fate = FATES.get(found.test or "", found.test)
    return f"{fate} ({found.cpu:.0f} s): {mutant.path}:{mutant.line} {mutant.key.partition('::')[2]}"


def mixed(first: list[Mutant], second: list[Mutant]) -> list[Mutant]:
    """Return both lists merged evenly: when time runs out, the same part of each has been tried."""
    parts = [(place / len(own), mutant) for own in (first, second) for place, mutant in enumerate(own)]
    return [mutant for _, mutant in sorted(parts)]


def equivalent() -> dict[str, str]:
    """Return the mutants that no test can notice, with the reasons."""
    lines = (ROOT / "tests/mutation/equivalent.txt").read_text().splitlines()
    return dict(line.rsplit(" | ", 1) for line in lines if line and not line.startswith("#"))


def main() -> int:
    """Try the mutants, print the survivors and the table of rooms."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=450, help="how many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", default="", help="only these rooms, separated by commas")
    parser.add_argument(
        "--seconds",
        type=float,
        default=60,
        help="of CPU for one mutant and all processes that its tests start; then it counts as not noticed",
    )
    parser.add_argument("--killers", action="store_true", help="print the test that noticed each mutant")
    parser.add_argument("--minutes", type=float, default=120, help="for all mutants; the others are not tried")
    parser.add_argument("files", nargs="*", help="only these files; FILE:LINE for one line of a file")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="presman-mutants-"))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing is left behind
    try:
        with fork.adopting():
            return _run(options, folder)
    finally:
        fork.end_all()
        shutil.rmtree(folder, ignore_errors=True)


def _run(options: argparse.Namespace, folder: Path) -> int:
    shutil.copytree(ROOT, folder, ignore=NOT_COPIED, dirs_exist_ok=True)
    compileall.compile_dir(folder / "presman", quiet=2)
    compileall.compile_dir(folder / "tests", quiet=2)
    os.chdir(folder)
    for name in [name for name in sys.modules if name.partition(".")[0] in {"presman", "tests"}]:
        del sys.modules[name]  # the forks import the copy
    sys.path[:] = [str(folder), *(each for each in sys.path if each not in {"", str(ROOT)})]
    os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder)}
    tempfile.tempdir = None
    for name in FIRST:
        import_module(name)
    sys.dont_write_bytecode = False  # pytest compiles the tests once, with their assertions rewritten
    near, known, begun = Nearest(folder), equivalent(), time.monotonic()
    if noticed := killed_by(["--collect-only", *sorted(near.breadth)], folder / "log.txt", 300).test:
        raise SystemExit(f"the tests cannot be run even without a mutant: {noticed}")
    sys.dont_write_bytecode = True
    calls = Calls(surveyed(near.breadth, ROOT / SURVEY, folder / "log.txt"))
    gc.collect()
    gc.freeze()  # the forks' garbage collectors skip it
    tests = Tests(near, calls, folder / "log.txt")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    drawn = draw(options, near)
    for number, mutant in enumerate(drawn):
        if number % PART == 0:
            print(f"{number} of {len(drawn)} tried", file=sys.stderr, flush=True)
        room = mutant.path.split("/")[1]
        if time.monotonic() - begun > 60 * options.minutes:
            counts[room]["not tried"] += 1
        elif mutant.key in known:
            counts[room]["equivalent"] += 1
        else:
            found = tests.tried(mutant, options.seconds)
            survived = found.test in FATES
            counts[room][FATES.get(found.test, "killed")] += 1
            if survived or options.killers:
                print(result_line(mutant, found), flush=True)
    tests.end()
    print(f"\n(seed {options.seed}, {time.monotonic() - begun:.0f} s)\n{table(counts)}")
    return 0


def table(counts: dict[str, Counter[str]]) -> str:
    """Return the results by room and in total; mutants that ran out of time count as not noticed."""
    lines = [f"{'room':16} killed survived no time equivalent  score"]
    but_analysis = [own for room, own in counts.items() if room != "analysis"]
    total = ("all but analysis", sum(but_analysis, Counter())), ("all", sum(counts.values(), Counter()))
    for room, own in [*sorted(counts.items()), *total]:
        tried = own["killed"] + own["survived"] + own["no time"]
        score = f"{100 * own['killed'] / tried:.0f} %" if tried else "-"
        line = f"{room:16} {own['killed']:6} {own['survived']:8} {own['no time']:7} {own['equivalent']:10} {score:>6}"
        lines.append(line + (f"   {own['not tried']} not tried" if own["not tried"] else ""))
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
