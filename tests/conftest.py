"""Set-up of all tests: examples, environment, shared simulations, garbage collection, and the order of files.

`PRESMAN_THOROUGH=1` tries more examples, and every case instead of one of each kind.
"""

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
from hypothesis.internal.conjecture import providers as constants
from hypothesis.strategies import none

from presman.base.secret import METRICS_PASSWORD, PASSWORD
from presman.cli import main
from presman.recording import statement_limits
from tests.cli.run import Run, environment
from tests.thorough import THOROUGH
from tests.warmups import shared

# The same examples in each run, so that the latest change causes any failure; `make fresh` tries new ones.
FRESH = bool(os.environ.get("PRESMAN_FRESH"))
settings.register_profile(
    "presman", max_examples=300 if THOROUGH else 12, deadline=None, derandomize=not FRESH, database=None
)
settings.load_profile("presman")

if not FRESH:
    # Examples would include constants of presman's code, so that they changed with it; finding these takes seconds.
    constants._get_local_constants = lambda: constants._local_constants

# In the background, or under nohup, signals are ignored, and processes that tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# A process that reads a recording limits SQLite's memory from then on; here the process goes on with other databases.
statement_limits.HEAP = 0

# Tests do not depend on the user's time zone and language; tests of these set their own.
for name in ("LC_ALL", "LC_CTYPE", "LANGUAGE"):
    os.environ.pop(name, None)
os.environ |= {"TZ": "UTC", "LANG": "C.UTF-8"}
time.tzset()

# Thousands of short tests make little garbage: fewer collections save a tenth of the time.
ROUNDS = (200_000, 20, 20)
gc.set_threshold(*ROUNDS)


@settings(max_examples=1)
@given(none())
def an_example(_: None) -> None:
    """An empty test, with which Hypothesis sets itself up and runs its full collection while there is little garbage.

    It must run before `gc.freeze`: Hypothesis rejects a random generator if all objects that refer to it are frozen.
    """


@pytest.fixture(scope="session", autouse=True)
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set up what all tests of a worker have in common; a fixture for each part would cost each test time."""
    from presman.cli import limits
    from presman.tui import textual_internals  # not above: xdist's controller needs no screen
    from tests import parsed_styles
    from tests.recording.recorded import Course

    own = tmp_path_factory.getbasetemp()
    common = own.parent if "PYTEST_XDIST_WORKER" in os.environ else None  # the folder that all workers share
    Course.folder = common and common / "courses"
    warm_ups = Path(os.environ.get("PRESMAN_WARM_UPS") or (common or own) / "warm-ups")  # given: shared by several runs
    warm_ups.mkdir(exist_ok=True)
    parsed_styles.share()
    with pytest.MonkeyPatch.context() as patch, shared(warm_ups):
        # Tests and the programs they start neither read nor write files in the user's home.
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            patch.setenv(name, str(own / "home" / name.lower()))
        # An app freezes all objects once it has started; here that would include those that other tests have left.
        patch.setattr(textual_internals, "settle_garbage", lambda: None)
        # All tests of a worker, with the threads they left, need more memory than presman allows one command.
        patch.setattr(limits, "MEMORY", 16 << 30)
        yield


@pytest.fixture(scope="module", autouse=True)
def objects_are_frozen_after_each_file() -> Iterator[None]:
    """Objects left when a file has ended are frozen, so that no later collection visits them.

    The thresholds are set again for each file, because a command may have changed them.
    """
    gc.set_threshold(*ROUNDS)
    yield
    gc.collect(1)
    gc.freeze()


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Run]:
    """Run presman in this process, in `tmp_path`, for tests that need no process of its own."""
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.chdir(tmp_path)
    for name in ("PRESMAN_CONFIG", "PRESMAN_PASSWORD", "PRESMAN_DEBUG", "COLUMNS", "TNS_ADMIN", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_CONFIG_HOME", "LANG"):
        monkeypatch.setenv(name, environment()[name])
    for name in ("parser.INTERVAL", "fleet_command.PRINT_INTERVAL"):
        monkeypatch.setattr(f"presman.cli.{name}", 0.2)  # a second would be spent waiting

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        brought = {name: os.environ[name] for name in (PASSWORD, METRICS_PASSWORD) if name in os.environ}
        code = main(arguments)
        os.environ.update(brought)  # presman removes passwords, but a shell would still have them
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return subprocess.CompletedProcess(arguments, code, captured.out, captured.err)

    yield run
    signal.signal(signal.SIGTERM, before)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect tests without garbage collection: imported modules and collected tests stay to the end."""
    an_example()
    gc.disable()
    try:
        import_a_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def import_a_share(config: pytest.Config) -> None:
    """Let each worker import a share of the tests first: otherwise each would compile all of a fresh checkout."""
    worker = getattr(config, "workerinput", None)
    if worker is None or config.getoption("file_or_dir"):
        return
    root = Path(__file__).parent
    paths = sorted(root.rglob("test_*.py"))[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]
    for path in paths:
        with suppress(Exception, pytest.skip.Exception):  # pytest reports errors when it collects
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
"""Files that take long because they wait, the longest first."""

APART = 28
"""Files between two of those: while more than two of four workers wait, a processor is idle."""


LONG = ("output/test_sentences_agree", "cli/test_why_command", "oracle/test_values", "tui/test_what_if")
"""Files that compute for long, so they run first: as the last ones they would occupy one worker while others idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run files that wait beside files that compute, and allow more time to tests that were asked to run for long."""
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
    """Return the files in an order that spreads those of each folder evenly."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    places = {path: (place + 0.5) / len(own) for own in folders.values() for place, path in enumerate(own)}
    return sorted(paths, key=places.__getitem__)


def pytest_sessionfinish() -> None:
    """Collect garbage once and freeze the rest, because pytest collects five times at the end."""
    gc.collect()
    gc.freeze()


def pytest_xdist_setupnodes() -> None:
    """Let workers write .pyc files whatever the shell sets; otherwise each would compile all tests in each run."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_xdist_auto_num_workers() -> int:
    """Return two workers for each processor: many tests wait for a process, a thread or a timeout."""
    return 2 * (os.cpu_count() or 1)
