"""How much the tests try: `PRESMAN_THOROUGH=1` tries more examples, and every case instead of every kind of case."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib import import_module
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis.strategies import none

from presman.base.secret import METRICS_PASSWORD, PASSWORD
from presman.cli import main
from presman.recording import statement_limits
from tests.cli.run import Run, environment
from tests.thorough import THOROUGH
from tests.warmups import shared

# The same examples in each run, so that a failure is that of the change at hand; `make fresh` looks for new ones.
FRESH = bool(os.environ.get("PRESMAN_FRESH"))
settings.register_profile(
    "presman", max_examples=300 if THOROUGH else 20, deadline=None, derandomize=not FRESH, database=None
)
settings.load_profile("presman")

# A suite that runs in the background, or under nohup, has signals ignored, and would hand that on to what it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# A process that reads a recording has little memory for SQLite from then on; here it goes on with other databases.
statement_limits.HEAP = 0

# Where who runs the tests lives, and in which language, is not what they are about: each that is sets its own.
for name in ("LC_ALL", "LC_CTYPE", "LANGUAGE"):
    os.environ.pop(name, None)
os.environ |= {"TZ": "UTC", "LANG": "C.UTF-8"}
time.tzset()

# Thousands of short tests make little garbage that matters: fewer rounds of the collector save a tenth of the time.
ROUNDS = (200_000, 20, 20)
gc.set_threshold(*ROUNDS)


@settings(max_examples=1)
@given(none())
def an_example(_: None) -> None:
    """Nothing to be tried: with the first test Hypothesis makes what it keeps, and has all garbage collected for it.

    While there is little, that takes no time. It refuses a generator to which only what is frozen refers, as do all
    dicts of 3.14.
    """


@pytest.fixture(scope="session", autouse=True)
def nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests, and the programs they start, keep or look for is never in the home of who runs them."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            patch.setenv(name, str(home / name.lower()))
        yield


def folder_of_all(factory: pytest.TempPathFactory) -> Path | None:
    """Return the folder that all workers share, None in a process that has no others beside it."""
    return factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else None


@pytest.fixture(scope="session", autouse=True)
def warm_ups_are_shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The hour before a scenario's start is played once for all tests and all workers."""
    given = os.environ.get("PRESMAN_WARM_UPS")  # of many runs one after the other
    folder = Path(given or (folder_of_all(tmp_path_factory) or tmp_path_factory.getbasetemp()) / "warm-ups")
    folder.mkdir(exist_ok=True)
    with shared(folder):
        yield


@pytest.fixture(scope="session", autouse=True)
def polls_are_shared(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Workers poll each scenario once for all of them."""
    from tests.recording.recorded import Course

    of_all = folder_of_all(tmp_path_factory)
    Course.folder = of_all and of_all / "courses"


@pytest.fixture(scope="session", autouse=True)
def the_collector_is_of_the_tests() -> Iterator[None]:
    """An app that settles takes all that there is out of the collector's rounds: here, what other tests have left."""
    from presman.tui import textual_internals  # not above: who gives tests to others needs no screen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textual_internals, "settle_garbage", lambda: None)
        yield


@pytest.fixture(scope="module", autouse=True)
def what_a_file_keeps_is_looked_at_once() -> Iterator[None]:
    """What is there when a file has ended stays: no round of the collector looks at it for the others.

    A command in another file may have set more rounds, for itself.
    """
    gc.set_threshold(*ROUNDS)
    yield
    gc.collect(1)
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def style_sheets_are_parsed_once() -> None:
    """Each of hundreds of apps would parse the same ones."""
    from tests import parsed_styles

    parsed_styles.share()


@pytest.fixture(scope="session", autouse=True)
def a_worker_is_many_presmans() -> Iterator[None]:
    """What one command may take of memory is less than all tests of a worker, and the threads that they left, take."""
    from presman.cli import limits

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MEMORY", 16 << 30)
        yield


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Run]:
    """Run presman in this process, in `tmp_path`: where a process of its own would prove nothing more."""
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.chdir(tmp_path)
    for name in ("PRESMAN_CONFIG", "PRESMAN_PASSWORD", "PRESMAN_DEBUG", "COLUMNS", "TNS_ADMIN", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "LANG"):
        monkeypatch.setenv(name, environment()[name])

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        brought = {name: os.environ[name] for name in (PASSWORD, METRICS_PASSWORD) if name in os.environ}
        code = main(arguments)
        os.environ.update(brought)  # as a shell would have it for the next command
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    yield run
    signal.signal(signal.SIGTERM, before)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without rounds of the collector: what was imported and collected stays to the end."""
    an_example()
    gc.disable()
    try:
        import_a_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def import_a_share(config: pytest.Config) -> None:
    """Have each worker import its share of the tests first: in a fresh checkout each would compile all of them."""
    worker = getattr(config, "workerinput", None)
    if worker is None or config.getoption("file_or_dir"):
        return
    root = Path(__file__).parent
    paths = sorted(root.rglob("test_*.py"))[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]
    for path in paths:
        with suppress(Exception, pytest.skip.Exception):  # collecting will tell
            import_module(".".join(path.relative_to(root.parent).with_suffix("").parts))


WAITING = (
    *(
        "oracle/test_budget",
        "cli/test_readings",
        "oracle/test_faults",
        "cli/test_terminal_guard",
        "cli/test_once_timeout",
    ),
    *("test_contributing", "torture/test_torture"),
)
"""Files that take long because they wait, those that wait longest first."""

APART = 28
"""Files between two of those: while more than two of four workers wait, a processor has nothing to do."""


LONG = ("output/test_sentences_agree", "cli/test_why_command", "oracle/test_values", "tui/test_what_if")
"""Files that compute for long and would be among the last: all but one worker would wait for their end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have files that wait run beside files that compute, and give tests that were told to go on for long the time."""
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    waiting = [path for name in WAITING if (path := f"tests/{name}.py") in files]
    long = [path for name in LONG if (path := f"tests/{name}.py") in files]
    order = [*long, *_mixed([path for path in files if path not in {*waiting, *long}])]
    for place, path in enumerate(waiting):
        order.insert(place * (APART + 1), path)
    items[:] = chain.from_iterable(files[path] for path in order)
    if THOROUGH or {"PRESMAN_STORM", "PRESMAN_QUITS"} & os.environ.keys():
        for item in items:
            item.add_marker(pytest.mark.timeout(3600))


def _mixed(paths: list[str]) -> list[str]:
    """Return the files with those of each folder spread over all of them."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    places = {path: (place + 0.5) / len(own) for own in folders.values() for place, path in enumerate(own)}
    return sorted(paths, key=places.__getitem__)


def pytest_sessionfinish() -> None:
    """Look for what tests left behind once; pytest itself does it five times over."""
    gc.collect()
    gc.freeze()


def pytest_xdist_setupnodes() -> None:
    """Have workers keep what they compile, whatever the shell says: else each would compile all tests in each run."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_xdist_auto_num_workers() -> int:
    """Return two workers for each processor: many tests wait for a process, a thread or a timeout."""
    return 2 * (os.cpu_count() or 1)
