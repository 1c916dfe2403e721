"""Exhausted resources: one line that names the limit, exit code 3, and nothing left behind."""

from __future__ import annotations

import errno
import os
import pty
import resource
import shutil
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from presman import cli
from presman.base import running_out
from presman.base.log_event import LogEvent
from presman.base.running_out import ran_out
from presman.cli import exit_codes
from presman.polling.poller import Poller
from presman.services.live import LiveTarget
from presman.services.metrics.metric_page import Exporter
from presman.sources.oracle.oracle_errors import text_of
from presman.sources.simulator_source import SimulatorSource
from presman.tui.terminal_app import TerminalApp
from tests.cli.run import Run, command, environment
from tests.scenarios import with_short_past
from tests.thorough import some

LIMITS = {
    resource.RLIMIT_NOFILE: 5000, resource.RLIMIT_NPROC: 3, resource.RLIMIT_AS: resource.RLIM_INFINITY,
    resource.RLIMIT_DATA: 40 << 20,
}  # fmt: skip
FILES = "open files have run out: the limit is 5000 (ulimit -n)"
MEMORY = "memory has run out: the limit is 40 MB (ulimit -d)"
PROCESSES = "processes and threads have run out: the limit is 3 (ulimit -u)"


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """Limits that are reported to presman, but not enforced."""
    limits = dict(LIMITS)
    monkeypatch.setattr(resource, "getrlimit", lambda name: (limits[name], limits[name]))
    return limits


def chained(cause: BaseException) -> Exception:
    try:
        try:
            raise cause
        except BaseException as error:
            raise ValueError("cannot be opened") from error
    except ValueError as found:
        return found


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.EMFILE, "Too many open files"), FILES),
        (chained(OSError(errno.ENFILE, "Too many open files in system")), FILES),
        (ImportError("libssl.so.3: cannot open shared object file: Too many open files"), FILES),
        (MemoryError(), MEMORY),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), MEMORY),
        (ImportError("x.so: failed to map segment from shared object"), MEMORY),
        (RuntimeError("can't start new thread"), PROCESSES),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), PROCESSES),
        (ValueError("can't start new thread, it reads"), ""),
        (OSError(errno.ENOSPC, "No space left on device"), ""),
        (RuntimeError("x"), ""),
    ],
)
def test_the_exhausted_resource_is_named(limited: dict[int, int], error: Exception, expected: str) -> None:
    assert ran_out(error) == expected


def test_a_handled_error_is_no_cause(limited: dict[int, int]) -> None:
    error = chained(MemoryError())
    error.__cause__ = None
    error.__suppress_context__ = True  # as `raise ... from None` sets it
    assert ran_out(error) == ""


def test_a_thread_takes_memory_too(limited: dict[int, int]) -> None:
    limited[resource.RLIMIT_AS] = 1 << 20  # less than this process has
    assert ran_out(RuntimeError("can't start new thread")) == "memory has run out: the limit is 1 MB (ulimit -v)"


def test_memory_is_full_if_no_thread_stack_fits(limited: dict[int, int]) -> None:
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
        taken = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    limited[resource.RLIMIT_AS] = taken + running_out.STACK // 2
    assert ran_out(RuntimeError("can't start new thread")).startswith("memory has run out: ")
    limited[resource.RLIMIT_AS] = taken + 4 * running_out.STACK
    assert not ran_out(RuntimeError("can't start new thread")).startswith("memory has run out: ")


def test_an_unclear_error_of_a_library_without_memory_is_explained(limited: dict[int, int]) -> None:
    error = SystemError("error return without exception set")
    assert ran_out(error) == ""
    limited[resource.RLIMIT_AS] = 40 << 20
    assert ran_out(error) == "memory has run out: the limit is 40 MB (ulimit -v)"


def test_unexpected_errors_with_full_memory_mean_that_memory_ran_out(limited: dict[int, int]) -> None:
    limited[resource.RLIMIT_AS] = 1 << 20  # less than this process has
    assert ran_out(KeyError(), expected=False) == "memory has run out: the limit is 1 MB (ulimit -v)"
    assert ran_out(KeyError()) == ""


def test_a_check_that_cannot_import_its_error_handling_is_unknown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("presman.cli._check", mock.Mock(side_effect=MemoryError))
    assert cli.main(["check", "demo:quiet"]) == 3
    out, err = capsys.readouterr()
    assert (out.startswith("PRESMAN UNKNOWN - memory has run out"), err) == (True, "")


def test_without_limits_the_machine_is_named(limited: dict[int, int]) -> None:
    limited |= dict.fromkeys(limited, resource.RLIM_INFINITY)
    assert ran_out(MemoryError()) == "memory has run out"


def test_unexpected_errors_without_descriptors_mean_that_files_ran_out(
    limited: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    sqlite = OSError("unable to open database file")
    assert (ran_out(sqlite), ran_out(KeyError(), expected=False)) == ("", "")
    limited[resource.RLIMIT_NOFILE] = len(os.listdir("/proc/self/fd")) + running_out.FEW - 1  # noqa: PTH208
    assert ran_out(sqlite).startswith("open files have run out: ")
    assert ran_out(KeyError(), expected=False).startswith("open files have run out: ")
    assert ran_out(KeyError()) == ""


def test_too_little_memory_for_any_command_is_reported_at_once(inside: Run, limited: dict[int, int]) -> None:
    limited[resource.RLIMIT_AS] = running_out.LEAST - 1
    done = inside("once", "demo:quiet")
    line = "there is too little memory: the limit is 63 MB (ulimit -v), and presman needs 64 MB"
    assert (done.returncode, done.stdout, done.stderr) == (exit_codes.SOURCE, "", f"presman: {line}\n")
    done = inside("check", "demo:quiet")
    assert (done.returncode, done.stdout) == (3, f"PRESMAN UNKNOWN - {line}\n")
    assert inside("--help").returncode == exit_codes.OK
    limited[resource.RLIMIT_AS] = running_out.LEAST
    assert inside("grants").returncode == exit_codes.OK


def test_a_login_without_a_file_descriptor_names_the_limit(limited: dict[int, int]) -> None:
    assert text_of(OSError(errno.EMFILE, "Too many open files")) == FILES
    assert text_of(OSError(errno.EAGAIN, "Resource temporarily unavailable")) == "Resource temporarily unavailable"


def refused(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert done.returncode == exit_codes.SOURCE
    assert done.stderr.splitlines()[-1].removeprefix("presman: ").startswith(message)
    assert not any("internal" in line for line in done.stderr.splitlines())


def no_thread(*names: str) -> Callable[[threading.Thread], None]:
    start = threading.Thread.start

    def begin(thread: threading.Thread) -> None:
        if not names or thread.name in names:
            raise RuntimeError("can't start new thread")
        start(thread)

    return begin


@pytest.mark.parametrize(
    "arguments",
    [
        ["once", "--timeout", "5"], ["export", "--polls", "1", "-o", "x.csv"],
        ["record", "-o", "x.presman", "--polls", "1"], ["metrics", "--listen", "127.0.0.1:0"], ["fleet"],
        ["bundle", "-o", "b.presman", "--minutes", "1"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_without_threads_a_command_ends_in_a_line(
    inside: Run, limited: dict[int, int], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(threading.Thread, "start", no_thread())
    name, *more = arguments
    done = inside(name, f"demo:{with_short_past('quiet')}", *more)
    refused(done, PROCESSES)
    assert done.stderr.count("\n") == 1
    assert not list(Path().glob("*.presman"))


@pytest.mark.parametrize("thread", ["presman-recorder", "presman-sampler"])
def test_a_recorder_without_any_thread_ends_with_a_line(
    inside: Run, limited: dict[int, int], monkeypatch: pytest.MonkeyPatch, thread: str
) -> None:
    monkeypatch.setattr(threading.Thread, "start", no_thread(thread))
    done = inside("record", "demo:quiet", "-o", "x.presman")
    assert done.returncode == exit_codes.SOURCE
    assert done.stderr == f"presman: nothing is left to record: demo:quiet: {PROCESSES}\n"
    assert not Path("x.presman").exists()


def test_a_check_without_threads_is_unknown(
    inside: Run, limited: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading.Thread, "start", no_thread())
    done = inside("check", "demo:quiet")
    assert (done.returncode, done.stdout) == (3, f"PRESMAN UNKNOWN - {PROCESSES}\n")


def test_a_fleet_without_any_thread_ends_with_a_line(
    inside: Run, limited: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading.Thread, "start", no_thread("presman-sampler"))
    refused(inside("fleet", "demo:quiet", "demo:storm", "--timeout", "100"), PROCESSES)


@pytest.mark.parametrize("name", ["once", "watch", "lint"])
def test_without_memory_a_command_ends_in_a_line(
    inside: Run, limited: dict[int, int], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def poll(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(Poller, "poll", poll)
    refused(inside(name, f"demo:{with_short_past('quiet')}"), MEMORY)


def test_a_recorder_without_memory_ends_with_a_line(
    inside: Run, limited: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def append(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("presman.recording.writer.RecordingWriter.append", append)
    done = inside("record", f"demo:{with_short_past('quiet')}", "-o", "x.presman", "--interval", "0.5")
    assert done.returncode == exit_codes.SOURCE
    assert done.stderr == f"presman: {MEMORY}\n"


@pytest.mark.parametrize(
    ("error", "why"), [(MemoryError(), MEMORY), (OSError(errno.EMFILE, "Too many open files"), FILES)]
)
def test_a_recorder_without_memory_or_files_for_its_first_poll_ends_in_a_line_and_leaves_no_file(
    inside: Run, limited: dict[int, int], monkeypatch: pytest.MonkeyPatch, error: Exception, why: str
) -> None:
    monkeypatch.setattr(Poller, "poll", mock.Mock(side_effect=error))
    done = inside("record", f"demo:{with_short_past('quiet')}", "-o", "x.presman")
    assert done.returncode == exit_codes.SOURCE
    assert done.stderr.startswith("presman: nothing is left to record: demo:")
    assert done.stderr.endswith(f"quiet.toml: {why}\n")
    assert done.stderr.count("\n") == 1
    assert not Path("x.presman").exists()


def test_an_error_that_ends_a_thread_is_a_line(
    limited: dict[int, int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    cli._report_uncaught_errors()

    def fail(error: BaseException) -> None:
        raise error

    for error in (MemoryError(), KeyError("x"), SystemExit(1)):
        thread = threading.Thread(target=fail, args=(error,))
        thread.start()
        thread.join()
    assert capsys.readouterr().err.splitlines() == [f"presman: {MEMORY}", "presman: internal error: KeyError: 'x'"]


def test_a_screen_ends_in_a_line(limited: dict[int, int]) -> None:
    app = TerminalApp()
    app._handle_exception(RuntimeError("can't start new thread"))
    assert app.return_code == exit_codes.SOURCE
    (message,) = app._exit_renderables
    assert "".join(segment.text for segment in message.segments).strip() == f"presman: {PROCESSES}"


def test_with_five_open_files_a_recorder_names_the_limit(tmp_path: Path) -> None:
    done = subprocess.run(
        command("record", "demo:quiet", "-o", "x.presman", "--polls", "1"), cwd=tmp_path, env=environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5)), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, "presman: this takes 12 open files, and 5 are allowed (ulimit -n)\n")


OTHER = 50_000 + os.getpid() % 10_000
"""Another user without other processes, because root has no limit of processes."""

READER = ("setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", "--inh-caps", "+dac_read_search",
          "--ambient-caps", "+dac_read_search")  # fmt: skip
"""A command that switches to that user, with the permission to read all files."""

FEW_THREADS = "this takes 6 threads, and {} are allowed (ulimit -u)"
MANY = "2 databases in one process need 20 threads, and {} are allowed (ulimit -u): enough for 0"
REFUSED = "processes and threads have run out: the limit is {} (ulimit -u)"


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv") or subprocess.run([*READER, "true"], check=False).returncode != 0,
    reason="only root becomes another user, and not in every container",
)
@pytest.mark.parametrize(
    ("arguments", "allowed", "expected"),
    some(
        [
            (["check", "demo:quiet"], 3, REFUSED), (["demo", "quiet", "--no-tour"], 1, REFUSED),
        ],
        [
            (["record", "demo:quiet", "-o", "x.presman"], 3, FEW_THREADS),
            (["once", "demo:quiet"], 1, REFUSED), (["alerts", "demo:quiet"], 1, REFUSED),
            (["fleet", "demo:quiet", "demo:mixed"], 3, MANY),
            (["metrics", "demo:quiet", "--listen", "127.0.0.1:0"], 3, FEW_THREADS),
            (["demo", "quiet", "--no-tour"], 3, REFUSED),
        ],
    ),
    ids=lambda value: value[0] if isinstance(value, list) else None,
)  # fmt: skip
def test_another_user_with_few_processes_gets_a_line(
    tmp_path: Path, arguments: list[str], allowed: int, expected: str
) -> None:
    os.chown(tmp_path, OTHER, OTHER)
    home = {"HOME": str(tmp_path), "TERM": "xterm-256color", "PYTHONDONTWRITEBYTECODE": "1"}
    words = ["prlimit", f"--nproc={allowed}", *READER]
    own, its = pty.openpty()
    process = subprocess.Popen(
        [*words, *command(*arguments)],
        cwd=tmp_path,
        env=environment(**home),
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
    )
    os.close(its)
    with os.fdopen(own, "rb", buffering=0) as terminal:
        shown = everything(terminal)
    assert process.wait(60) == exit_codes.SOURCE
    assert shown.count(expected.format(allowed)) == 1
    assert not any(word in shown for word in ("Traceback", "internal error"))
    assert not [path for path in tmp_path.iterdir() if path.name != ".local"]


def everything(terminal: FileIO) -> str:
    """Return the output of a terminal until its last process has ended."""
    written = b""
    with suppress(OSError):  # how Linux reports that
        while read := terminal.read(65_536):
            written += read
    return written.decode("utf-8", "replace")


@pytest.mark.parametrize(("arguments", "code"), some([(["once", "nowhere"], 2)], [(["demo", "--list"], 0)]))
def test_a_full_disk_behind_standard_error_keeps_the_exit_code(tmp_path: Path, arguments: list[str], code: int) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command(*arguments), cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL, stderr=full, check=False
        )
    assert done.returncode == code


def refusing_threads(monkeypatch: pytest.MonkeyPatch, fail_from: int) -> None:
    """Let samplers start threads only up to `fail_from`."""
    left = [fail_from]

    def start(thread: threading.Thread) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("can't start new thread")
        thread.start()

    monkeypatch.setattr("presman.polling.sampler.start", start)


def test_metrics_without_any_pollable_database_end(
    inside: Run, limited: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing_threads(monkeypatch, 0)
    done = inside("metrics", "demo:quiet", "--listen", "127.0.0.1:0")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == f"presman: nothing is left to watch: demo:quiet: {PROCESSES}"
    assert done.stderr.count(PROCESSES) == 1


def test_metrics_continue_without_unpollable_databases_and_report_once(
    limited: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing_threads(monkeypatch, 1)
    messages: list[LogEvent] = []
    sources = [LiveTarget(name, partial(SimulatorSource, "quiet")) for name in ("one", "two")]
    exporter = Exporter(sources, messages.append)
    try:
        exporter.start(lambda _: None)
        assert [exporter.run_out(), exporter.run_out()] == ["", ""]
    finally:
        exporter.stop()
    assert [each.line for each in messages if each.level != "debug"] == [
        f"two: {PROCESSES}; not tried again before a restart"
    ]
