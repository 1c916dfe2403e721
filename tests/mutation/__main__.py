"""`python -m tests.mutation`: changes the product in one place at a time and reports what no test notices.

It works in a copy. A mutant is tried by the tests that call the function it is in, wherever they stand, the quickest
first, then by the others that import its module, up to a limit of time; it is killed when one fails that does not fail
without it. Which test calls what is surveyed once, and again when a file of tests changes. What no test can notice
stands with the reason in equivalent.txt.

Why neither library: mutmut 3 writes all mutants of a file into it at once (32,000 here), leaves out code that is
decorated or outside of functions, and draws no samples. cosmic-ray knows one command for all mutants and starts Python
anew for each: 2 s here before the first test. This one forks from a process that has imported what tests need.
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
"""What tests import of others: once for all mutants, each of which is a fork."""

NEVER = (
    *("tests/torture", "tests/real", "tests/docs", "tests/test_contributing", "tests/test_packaging"),
    *("tests/test_benchmarks", "tests/test_screenshots", "tests/mutation"),
)
"""Tests of whole machines and of documents."""

SLOW = ("tests/oracle/", "tests/tui/", "tests/cli/")
"""Tests that wait for processes, servers and screens, and may fail by themselves where much else runs."""

SIMULATOR, PLAYS = "sources.simulator", ("presman/sources/simulator", "presman/forecast/")
"""What plays, and the files that decide how."""

SURVEY = "build/mutation_calls.json"

PART = 10
"""Files that are surveyed before what was found is written; mutants of which the number is told."""

LEFT_OUT = (
    "presman/tui/",
    "presman/cli/",
    "presman/tabs/",
    "presman/figures/",
    "presman/output/v1_tables/",
)
"""Rooms that are not drawn from unless --rooms names them: screens and words, whose tests take minutes."""


HANGS = 30
"""Seconds of the clock after which a test that waits is taken to wait for ever: that is not believed at once."""

QUIETLY = (
    *("-n0", "-p", "no:cacheprovider", "--tb=no", "-rfE", f"--timeout={HANGS}"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)


FATES = {"": "survived", "?": "no time"}
"""What becomes of a mutant that no test notices, and of one that none noticed in time."""


class Nearest:
    """Which test files know a module: those that import it, those that import who imports it, those of its room."""

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
                self.breadth[name] += 0  # one that only runs commands, too
                imported, walked = self._imported(path)
                for module in imported | walked:
                    self.testers[module].add(name)
                    self.breadth[name] += 1
                for module in walked:
                    self.walkers[module].add(name)

    def _imported(self, path: Path) -> tuple[set[str], set[str]]:
        """Return the modules that a file imports, and all of the packages that it names: it may go through them."""
        found, named = set(), set()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module:
                named |= {f"{node.module}.{alias.name}" for alias in node.names}
                found.add(node.module)
        within = tuple(f"{package}." for package in named & self.packages)
        return (found | named) & self.modules, {each for each in self.modules if each.startswith(within)}

    def is_below(self, path: str, room: str) -> bool:
        """Whether a room's modules are made of a file: it is one of them, or they import it, or who imports it."""
        known, new = set[str](), {dotted(Path(path))}
        while new:
            known |= new
            new = set().union(*(self.importers[each] for each in new)) - known
        return any(each.startswith(f"presman.{room}.") for each in known)

    def stages(self, mutant: Mutant, calls: Calls) -> Iterator[tuple[list[str], dict[str, float], frozenset[str]]]:
        """Yield what to try: files, the tests of them with their seconds (all if none), those that were tried before.

        First who calls the mutant's function, of many the closest before the others, then all else that imports its
        module; where none is known to call it, what imports one that imports it, too. Before all others, of what stands
        outside of functions, who goes through all modules of its package.
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
    """Run tests up to the first that fails."""
    ended = forked(["-x", *files], list(plugins), log, seconds, lambda: None)
    if ended.status is None:
        return Found("?", ended.cpu)
    if ended.code in {0, 5}:
        return Found("", ended.cpu)
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.startswith(("FAILED", "ERROR"))]
    return Found(lines[0].split(" - ")[0].partition(" ")[2] if lines else f"the tests ended, see {log}", ended.cpu)


def failed(test: str) -> None:
    """Say as pytest does that a test has failed, and end."""
    os.write(1, f"\nFAILED {test} - it does not end\n".encode())
    os._exit(1)


def warm_ups(mutant: Mutant, near: Nearest, folder: Path) -> Path:
    """Return where simulations are kept that were played up to their start: it takes longer than most tests.

    A mutant below the simulator has a folder of its own, so that what it plays is nobody else's; one that the simulator
    alone is made of finds nothing there, and plays its own.
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
    """What tries mutants: the process that has collected all tests, or new starts where that cannot have the change."""

    def __init__(self, near: Nearest, calls: Calls, log: Path) -> None:
        self._near, self._calls, self._log = near, calls, log
        self._warm = Warm(sorted(near.breadth), QUIETLY, log.parent)

    def tried(self, mutant: Mutant, seconds: float) -> Found:
        """Return which test notices a mutant, if any does within so many seconds of CPU."""
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
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # what was compiled of it holds

    def end(self) -> None:
        """Let the process go."""
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
                if is_sure or test == "?" or self._is_of_the_mutant(test, trial, original):
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

    def _is_of_the_mutant(self, test: str, trial: Trial, original: bytes) -> bool:
        """Return whether a test fails again and passes without the mutant: one that waits may fail by itself."""
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
            self._left = left  # what is asked again is not of what it may take


def surveyed(files: Iterable[str], kept: Path, log: Path) -> Survey:
    """Return which test calls what: as it was found before, and anew for the files that have changed."""
    digests = {name: digest(Path(name)) for name in sorted(files)}
    found = load(kept, digests)
    missing = [name for name in digests if not found.get(name)]
    os.environ["PRESMAN_WARM_UPS"] = str(log.parent / "warm-ups")
    parts = [missing[begin : begin + PART] for begin in range(0, len(missing), PART)]
    while parts:
        part, surveyor, result = parts.pop(0), Surveyor(Path.cwd()), log.with_suffix(".json")
        result.unlink(missing_ok=True)
        forked(part, [surveyor], log, 900, partial(save, surveyor.found, digests, result))
        if not result.exists() and len(part) > 1:  # one of them ended it
            parts += [[name] for name in part]
            continue
        told = load(result, digests)
        if len(part) > 1:  # what tells nothing beside others is asked alone
            parts += [[name] for name in part if not told.get(name)]
        found |= {name: {} for name in part} | told
        save(found, digests, kept)
        print(f"surveyed: {sum(map(len, parts))} files of tests are left", file=sys.stderr, flush=True)
    return found


def draw(options: argparse.Namespace, near: Nearest) -> list[Mutant]:
    """Return the mutants to try: two fifths of analysis, the others of the rooms by their size."""
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


def told_of(mutant: Mutant, found: Found) -> str:
    """Return where a mutant is and what it changes, with the test that noticed it or that none did."""
    fate = FATES.get(found.test or "", found.test)
    return f"{fate} ({found.cpu:.0f} s): {mutant.path}:{mutant.line} {mutant.key.partition('::')[2]}"


def mixed(first: list[Mutant], second: list[Mutant]) -> list[Mutant]:
    """Return both, each spread over the whole: what is tried when time runs out is of both in the same part."""
    parts = [(place / len(own), mutant) for own in (first, second) for place, mutant in enumerate(own)]
    return [mutant for _, mutant in sorted(parts)]


def equivalent() -> dict[str, str]:
    """Return the mutants that change nothing that could be noticed, with the reason."""
    lines = (ROOT / "tests/mutation/equivalent.txt").read_text().splitlines()
    return dict(line.rsplit(" | ", 1) for line in lines if line and not line.startswith("#"))


def main() -> int:
    """Try the mutants, name the survivors, print the table of rooms."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=450, help="how many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", default="", help="only these, with commas between")
    parser.add_argument(
        "--seconds",
        type=float,
        default=60,
        help="of CPU for one mutant, with all that its tests start: then it counts as not noticed",
    )
    parser.add_argument("--killers", action="store_true", help="name the test that noticed each")
    parser.add_argument("--minutes", type=float, default=120, help="for all: what comes later is not tried")
    parser.add_argument("files", nargs="*", help="only these files; FILE:LINE for a line of one")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="presman-mutants-"))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # who is told to end leaves nothing behind
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
        del sys.modules[name]  # the forks take those of the copy
    sys.path[:] = [str(folder), *(each for each in sys.path if each not in {"", str(ROOT)})]
    os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder)}
    tempfile.tempdir = None
    for name in FIRST:
        import_module(name)
    sys.dont_write_bytecode = False  # tests are compiled once, with what pytest makes of their assertions
    near, known, begun = Nearest(folder), equivalent(), time.monotonic()
    if noticed := killed_by(["--collect-only", *sorted(near.breadth)], folder / "log.txt", 300).test:
        raise SystemExit(f"without a mutant the tests cannot be run: {noticed}")
    sys.dont_write_bytecode = True
    calls = Calls(surveyed(near.breadth, ROOT / SURVEY, folder / "log.txt"))
    gc.collect()
    gc.freeze()  # no fork need look at it
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
                print(told_of(mutant, found), flush=True)
    tests.end()
    print(f"\n(seed {options.seed}, {time.monotonic() - begun:.0f} s)\n{table(counts)}")
    return 0


def table(counts: dict[str, Counter[str]]) -> str:
    """Return what became of the mutants of each room, and of all: those without time count as not noticed."""
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
