"""Source in a process of its own: the same results as here, and presman survives whatever the driver does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from presman.base.secret import Secret
from presman.config.target_text import parse_target
from presman.polling.poller import Poller
from presman.rows.group_rows import GroupMetricHistory
from presman.rows.queries import DetailLevel, Scope
from presman.rows.snapshot import Snapshot
from presman.sources import Answer, OutcomeUnknown, Request, SourceError, SourceRecipe, subprocess_source
from presman.sources.simulator_source import SimulatorSource
from presman.sources.source_process import PreviewedSource
from presman.sources.subprocess_source import ProcessSource
from presman.tui.first_look import PreviewReader
from tests.cli.run import environment
from tests.patience import PATIENCE, until
from tests.sources import odd_sources
from tests.thorough import some

Make = Callable[..., ProcessSource]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Make misbehaving sources, and end them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    sources: list[ProcessSource] = []

    def make(manner: str = "", **more: Any) -> ProcessSource:
        recipe = SourceRecipe("tests.sources.odd_sources", "OddSource", {"manner": manner, **more})
        sources.append(ProcessSource(recipe, kind="oracle", name="odd"))
        return sources[-1]

    yield make
    for each in sources:
        each.end()
    assert not [each for each in psutil.Process().children() if "apart" in " ".join(each.cmdline())]


def process_of(source: ProcessSource) -> psutil.Process:
    assert source._child is not None
    return psutil.Process(source._child.number)


def test_it_answers_as_the_source_itself_does(tmp_path: Path) -> None:
    """The first poll of the demo, with all its rows; both simulate the same seed, so slowly that little happens."""
    target = parse_target("demo:storm?seed=3&release=19&speed=0.001")
    apart = target.in_subprocess()
    assert apart is not None
    try:
        there, here = Poller(apart), Poller(target.make_source())
        assert there.open() == here.open()
        ours, theirs = here.poll(), there.poll()
        assert ours.sections.keys() == theirs.sections.keys()
        counts = [{each: len(part.rows) for each, part in of.sections.items()} for of in (ours, theirs)]
        for count in counts:
            del count[GroupMetricHistory]  # a minute may end between the two reads
        assert counts[0] == counts[1]
        kinds = {type(row) for part in theirs.sections.values() for row in part.rows}
        assert kinds == {type(row) for part in ours.sections.values() for row in part.rows}
        here.close()
    finally:
        apart.end()


@pytest.mark.parametrize("text", ["spool:{}", "recording:{}"])
def test_files_have_no_process(text: str, tmp_path: Path) -> None:
    assert parse_target(text.format(tmp_path)).in_subprocess() is None


def test_without_a_process_a_process_source_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("os.posix_spawn", refuse)
    monkeypatch.setattr("os.fork", refuse)  # with one thread the process is a copy
    target = parse_target("demo:quiet")
    assert target.in_subprocess() is None
    with pytest.raises(SourceError, match="no process for odd: Resource temporarily unavailable"):
        ProcessSource(SourceRecipe("x", "X", {}), kind="oracle", name="odd").begin()


def test_secrets_are_passed_without_being_visible(made: Make) -> None:
    source = made(password=Secret("tiger-canary"))
    source.begin()
    process = process_of(source)
    assert source.open().major == 19
    source.scope = Scope.INSTANCE
    scope, secret, within, _ = source.read((), 2.5).notes
    assert (scope, secret, within) == ("INSTANCE", "tiger-canary", "2.5")
    assert source.instance == 7
    assert source.container() == 4
    assert "tiger" not in " ".join(process.cmdline())
    assert "tiger" not in " ".join(process.environ().values())


def test_the_same_process_opens_it_again(made: Make) -> None:
    source = made()
    source.open()
    first = source.read(()).notes[-1]
    source.close()
    source.open()
    assert source.read(()).notes[-1] == first
    source.end()
    with pytest.raises(SourceError, match="not open"):
        source.advance()


def test_errors_are_those_of_the_source(made: Make) -> None:
    with pytest.raises(SourceError, match="wrong password") as refused:
        made("refuse").open()
    assert (refused.value.code, refused.value.retry) == ("ORA-01017", False)
    broken = made("break")
    broken.open()
    with pytest.raises(SourceError, match=r"^ZeroDivisionError: 0$"):
        broken.read(())
    with pytest.raises(SourceError, match="no such session"):
        broken.perform("refuse", {})
    assert broken.container() == 4


def test_a_dying_driver_costs_only_the_connection(made: Make, tmp_path: Path) -> None:
    source = made("die")
    source.open()
    with pytest.raises(SourceError, match=f"the driver's process ended by SIGSEGV; where: {tmp_path}") as lost:
        source.read(())
    assert lost.value.retry
    assert "Segmentation fault" in (tmp_path / "presman" / "faults.log").read_text()
    source.close()
    assert source.open().major == 19


def test_the_result_of_an_unanswered_action_is_not_known(made: Make) -> None:
    source = made()
    source.open()
    with pytest.raises(OutcomeUnknown, match="exit code 3"):
        source.perform("kill", {})


def once_it_reads(reading: Path, act: Callable[[], object]) -> None:
    """Call `act` in another thread as soon as the source is in the middle of a read."""
    threading.Thread(target=lambda: (until(reading.exists, "a read"), act())).start()


def test_a_wait_that_is_cancelled_ends(made: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess_source, "CANCELLED", PATIENCE)  # a busy machine takes its time
    reading = tmp_path / "reading"
    source = made("wait", reading=str(reading))
    source.open()
    once_it_reads(reading, source.cancel)
    with pytest.raises(SourceError, match=r"^cancelled$"):
        source.read(())
    assert process_of(source).is_running()


@pytest.mark.parametrize("how", ["cancelled", "late"])
def test_a_spinning_driver_is_ended_without_others(
    made: Make, how: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(subprocess_source, "POLL_INTERVAL", 0.01)
    monkeypatch.setattr(subprocess_source, "CANCELLED", 0.05)
    monkeypatch.setattr(subprocess_source, "OVERTIME", 0.05)
    monkeypatch.setattr(subprocess_source, "LAST_WORDS", PATIENCE)  # a busy machine takes its time
    reading, comes = tmp_path / "reading", subprocess_source.Channel.comes
    source = made("spin", reading=str(reading))
    source.open()
    process = process_of(source)
    if how == "cancelled":
        once_it_reads(reading, source.cancel)
    else:  # it answers in time until it spins
        monkeypatch.setattr(
            subprocess_source.Channel, "comes", lambda *given: (until(reading.exists, "a read"), comes(*given))[1]
        )
    with pytest.raises(SourceError, match="the driver hung, its process was ended"):
        source.read((), None if how == "cancelled" else 0.0)
    assert not process.is_running()
    assert "odd_sources.py" in (tmp_path / "presman" / "faults.log").read_text(), "where it hung"


def test_the_end_does_not_wait(made: Make, tmp_path: Path) -> None:
    reading = tmp_path / "reading"
    source = made("spin", reading=str(reading))
    source.open()
    errors: list[BaseException] = []

    def read() -> None:
        try:
            source.read(())
        except SourceError as error:
            errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    process = process_of(source)
    until(reading.exists, "a read")
    begun = time.monotonic()
    source.end()
    assert time.monotonic() - begun < 30
    assert not process.is_running()
    reader.join(60)
    assert len(errors) == 1


def test_it_ends_with_its_parent(made: Make) -> None:
    source = made("wait")
    source.open()
    process = process_of(source)
    assert source._channel is not None
    source._channel.send(("read", (Scope.CLUSTER, ())))
    source._channel.close()
    until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, "the end of the process")


STOPPED = """
import os, sys, threading, time
from presman.sources.subprocess_source import ProcessSource
from presman.sources import SourceRecipe
recipe = SourceRecipe("tests.sources.odd_sources", "OddSource", {"manner": ""})
source = ProcessSource(recipe, kind="oracle", name="odd")
source.open()
source.container()
source.container()  # the process binds itself between its answers to these two
print(source._child.number, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process that is stopped with its parent")
def test_a_stopped_process_ends_with_a_killed_monitor(tmp_path: Path) -> None:
    monitor = subprocess.Popen([sys.executable, "-c", STOPPED], stdout=subprocess.PIPE, env=environment())
    assert monitor.stdout is not None
    driver = psutil.Process(int(monitor.stdout.readline()))
    driver.suspend()
    monitor.kill()
    monitor.communicate()
    until(lambda: not driver.is_running() or driver.status() == psutil.STATUS_ZOMBIE, "the end of the driver")


def test_the_source_is_previewed_in_its_process_before_it_is_opened_here(made: Make) -> None:
    source = made()
    source.begin(odd_sources.reads_of)
    preview = source.preview()
    assert preview is not None
    process, answer = preview.value
    assert process == process_of(source).pid
    assert answer.notes == ("CLUSTER", "", "0.5", str(process))
    assert source.preview() is None, "once"
    assert source.open().major == 19
    assert source.container() == 4


def test_a_preview_is_not_taken_for_another_answer(made: Make) -> None:
    source = made()
    source.begin(odd_sources.reads_of)
    assert source.open().major == 19
    assert source.container() == 4
    assert source.preview() is None


@pytest.mark.parametrize("manner", ["refuse", "die", "broken look"])
def test_a_failed_preview_is_left_to_the_first_poll(made: Make, manner: str) -> None:
    source = made(manner)
    source.begin(odd_sources.broken_look if manner == "broken look" else odd_sources.reads_of)
    assert source.preview() is None
    if manner == "refuse":
        for _ in range(2):  # a second attempt reads again
            with pytest.raises(SourceError, match="wrong password"):
                source.open()
    else:
        assert source.open().major == 19
        assert source.container() == 4


def test_a_process_that_died_before_the_preview_is_reported_at_opening(made: Make) -> None:
    source = made()
    source.begin(odd_sources.reads_of)
    process_of(source).kill()
    assert source.preview() is None
    with suppress(SourceError):  # unless it was already open
        source.open()
    assert source.open().major == 19, "in another process"


@pytest.mark.parametrize("scenario", some(["rac"], ["queueing"]))
def test_rows_of_a_preview_are_not_read_again(scenario: str) -> None:
    recipe = SourceRecipe("tests.sources.odd_sources", "CountingSource", {"scenario": scenario, "seed": 3})
    source = ProcessSource(recipe, kind="oracle", name="counted")
    try:
        source.begin(PreviewReader(Scope.CLUSTER, (), 6.0))
        preview = source.preview()
        assert preview is not None
        seen = preview.value
        assert (seen.round_trips, seen.kind) == (1, "oracle")
        assert seen.groups
        poller = Poller(source)
        poller.detail_level = DetailLevel.NARROW
        poller.open()
        previewed: list[Snapshot] = []
        poller.poll(previewed.append)
        assert previewed[0].round_trips == 1, "the answer of the look"
        assert previewed[0].at == seen.at
        assert poller.poll().round_trips > 2
    finally:
        source.end()


def test_rows_of_an_old_preview_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    source = PreviewedSource(odd_sources.OddSource())
    assert source.preview(odd_sources.reads_of) is None, "it is not open"
    source.open()
    for seconds, reads in ((0.9, 1), (1.1, 3)):
        source.preview(odd_sources.reads_of)
        now[0] += seconds
        assert source.read(Scope.CLUSTER, (), 0.5).round_trips == reads, "the first one again; the third is new"
    source.preview(odd_sources.reads_of)
    assert source.read(Scope.INSTANCE, (), 0.5).notes[0] == "INSTANCE", "another query"
    assert source.scope is Scope.INSTANCE


def test_each_read_of_a_preview_is_answered_once() -> None:
    source = PreviewedSource(odd_sources.OddSource())
    source.open()
    source.preview(lambda opened: [opened.read((), 0.5) for _ in range(2)])
    found = [source.read(Scope.CLUSTER, (), 0.5).round_trips for _ in range(3)]
    assert found == [1, 2, 3], "the two prepared reads in order, then a new one"


def test_the_first_poll_reports_why_a_preview_lost_the_source(made: Make) -> None:
    """The source itself would only report that it is not connected."""
    source = made("lose")
    source.begin(odd_sources.reads_of)
    assert source.preview() is None
    assert source.open().major == 19
    with pytest.raises(SourceError, match="connection closed") as caught:
        source.read((), 0.5)
    assert caught.value.code == "DPY-4011"
    assert source.read((), 0.5).round_trips == 2, "once"


def test_the_cost_of_a_preview_excludes_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read takes a quarter of a second; painting the screen between look and poll takes 0.4 seconds."""
    now, reads = [100.0], [0]

    class Slow(SimulatorSource):
        def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
            now[0] += 0.25
            reads[0] += 1
            return super().read(requests, within)

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    source = odd_sources.Asked(PreviewedSource(Slow("storm", seed=3, clock=lambda: now[0])))
    poller = Poller(source, clock=lambda: now[0])
    poller.detail_level = DetailLevel.NARROW
    poller.open()
    preview = source.calls.preview(PreviewReader(Scope.CLUSTER, (), 6.0))
    assert preview is not None
    assert reads[0] > 1
    assert preview.seconds == reads[0] * 0.25
    taken = reads[0]
    now[0] += 0.4
    assert poller.poll().seconds == pytest.approx(taken * 0.25)
    assert reads[0] == taken, "nothing was read again"


ALONE = """
import os, sys
from presman.base.child import Child
from presman.sources.subprocess_source import Channel
from presman.sources import source_process

def serve():
    channel = Channel(__import__("socket").socket(fileno=3))
    files = sorted(os.listdir("/proc/self/fd"), key=int)
    links = {os.readlink(f"/proc/self/fd/{each}") for each in ("0", "1", "2")}
    channel.send((os.getppid(), links, len(files), "is imported" if "msgspec" in sys.modules else "", sys.argv))

source_process.serve_test = serve
secret = open("/dev/null")
child = Child("presman.sources.source_process", "serve_test")
parent, links, files, imported, words = Channel(child.line).receive()
child.end(5)
print(parent == os.getpid(), links, files, imported, words == sys.argv, child.exit_code, child.number)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a new process is started")
def test_the_source_process_is_a_fork_without_open_files() -> None:
    """The copy has only its end of the channel; imported modules are there."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        env=os.environ | {"PYTHONDEVMODE": ""}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [
        "True",
        "{'/dev/null'}",
        "5",
        "is",
        "imported",
        "True",
        "0",
        "0",
    ]  # the fifth: the folder listed
    assert done.stderr == ""
