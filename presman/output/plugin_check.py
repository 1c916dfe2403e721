"""Check of a monitoring plug-in: the line that `presman check` prints, and the state between two runs."""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from presman.analysis.advice.to_do import to_do
from presman.analysis.alerts.alert_rules import worst_first, wrong
from presman.analysis.alerts.alert_settings import AlertSettings, setting_for
from presman.analysis.alerts.judge import AlertChange, AlertChanges, AlertTimes, Judge, ReportedAlert, put_back
from presman.analysis.alerts.not_known import not_known
from presman.analysis.alerts.rule_book import RULE_BOOK, asked
from presman.analysis.plans.plan_view import plan_name
from presman.analysis.readings.reading import Alert, Reading
from presman.analysis.totals import totals
from presman.base.formats import counted, duration
from presman.base.private_files import open_private, read_private, replace_private, state_folder
from presman.base.text import one_line
from presman.tabs.alerts import availability_notes, clear_now, unmentioned

FORMAT = 1
_LARGEST = 1_000_000
_PATIENCE = 2.0
_PAUSE = 0.02
_MOST = 1_000

Kept = TypeVar("Kept", AlertTimes, ReportedAlert)


class CheckState(Struct, frozen=True):
    """The state that a run leaves for the next: marks of alerts and reported alerts, by key and subject."""

    format: int = FORMAT
    target: str = ""
    marks: dict[str, AlertTimes] = field(default_factory=dict)
    reported: dict[str, ReportedAlert] = field(default_factory=dict, name="told")


class StateFile:
    """The state of checks of one target. It is locked while open, so that concurrent runs wait for each other.

    `problem` says why the state was reset, "" if it was not.
    """

    def __init__(self, target: str, folder: Path) -> None:
        digest = hashlib.sha256(target.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        self._target = target
        self._path = folder / f"{digest}.json"
        self.problem = ""

    def load(self) -> CheckState:
        """Return the state of the last run; an empty one if it cannot be read."""
        try:
            found = msgspec.json.decode(read_private(self._path, _LARGEST), type=CheckState)
        except FileNotFoundError:
            return CheckState(target=self._target)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is damaged"
            self.problem = f"the state of the last run cannot be read ({reason}): durations start again"
            return CheckState(target=self._target)
        same = found.format == FORMAT and found.target == self._target
        return found if same else CheckState(target=self._target)

    def save(self, state: CheckState) -> None:
        """Replace the previous state, completely or not at all. Raises OSError."""
        state = CheckState(FORMAT, self._target, _newest(state.marks), _newest(state.reported))
        replace_private(self._path, msgspec.json.encode(state))

    @property
    def lock(self) -> Path:
        """The file that readers and writers of the state lock."""
        return self._path.with_suffix(".lock")


def _newest(kept: dict[str, Kept]) -> dict[str, Kept]:
    """Return the entries seen last, at most a thousand."""
    return dict(sorted(kept.items(), key=lambda item: -item[1].seen)[:_MOST])


@contextmanager
def state_of(target: str) -> Iterator[StateFile]:
    """Yield the state of checks of a target while no other run has it. Raises OSError if no state can be kept."""
    file = StateFile(target, state_folder() / "check")
    descriptor = open_private(file.lock, 0)
    try:
        _locked(descriptor)
        yield file
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> None:
    """Lock a file. Raises OSError (TimeoutError) if another run keeps it for too long."""
    until = time.monotonic() + _PATIENCE
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() >= until:
            raise TimeoutError("another check of this target uses it")
        time.sleep(_PAUSE)


class CheckedTarget(NamedTuple):
    """A target that is checked repeatedly: its `name`, the `command` for its alerts, the function for notes."""

    name: str
    command: tuple[str, ...]
    note: Callable[[str], None]

    def judged(
        self, reading: Reading, settings: AlertSettings, seconds: float, *, endless: bool
    ) -> tuple[Reading, tuple[str, ...], list[str]]:
        """Return the reading with its alerts, what is unknown, and problems with the state and `on_alert`.

        If no state can be kept, the duration of an alert is unknown: then it counts at once. Commands may take
        `seconds`.
        """
        judge = Judge(settings, None)
        # A source that ends has no next run. Without a command and durations there is nothing to remember.
        if not endless or not (self.command or any(each.hold or each.clear is not None for each in settings)):
            return judge.judge(reading), judge.unknown, []
        changes: list[AlertChange] = []
        problems: list[str] = []
        try:
            with state_of(self.name) as file:
                state = file.load()
                judge = Judge(settings, state.marks)
                judged = judge.judge(reading)
                turns = AlertChanges(state.reported)
                changes = turns.of(wrong(judged), judged) if self.command else []
                file.save(CheckState(marks=dict(judge.marks or {}), reported=turns.reported))
                problems += [f"note: {file.problem}"] if file.problem else []
        except OSError as error:
            judge = Judge(settings, None)
            judged, changes = judge.judge(reading), []
            reason = error.strerror or error
            problems.append(f"note: no state is kept ({reason}): alerts with for= count at once, on_alert is not run")
            self.note(problems[-1])
        # The state is unlocked by now: another run need not wait for the commands.
        problems += self._notify(changes, judged, seconds)
        return judged, judge.unknown, problems

    def _notify(self, changes: Sequence[AlertChange], reading: Reading, seconds: float) -> list[str]:
        """Run the command for each change within a time limit; changes left over are kept for the next run.

        After a failure the rest is skipped and noted once: the next command would fail in the same way, and take as
        long.
        """
        from presman.output.alert_notifier import MOST, TIMEOUT, event, run

        until, done, problem = time.monotonic() + seconds, 0, ""
        for change in changes[:MOST]:
            left = until - time.monotonic()
            data = event(change, self.name, reading.header.database, 0)
            problem = run(self.command, data, min(left, TIMEOUT)) if left > 0 else "the time is up"
            if problem:
                break
            done += 1
        if done == len(changes):
            return []
        with suppress(OSError), state_of(self.name) as file:  # the next run reports what this one could not
            state = file.load()
            file.save(replace(state, reported=put_back(state.reported, changes[done:])))
        sent = f"{done} of {counted(len(changes), 'event')} sent, the next check tries the rest"
        note = f"note: on_alert {problem or f'runs {MOST} times at most'}; {sent}"
        self.note(note)
        return [note]


LONGEST = 400
"""Characters of the text: the long output has all of it."""

_OTHERS = 3
_VIEWS = 2


class PluginState(IntEnum):
    """The exit code of a plug-in."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


class PluginResult(NamedTuple):
    """The result of a check: its state, its line, and the lines of the long output."""

    state: PluginState
    line: str
    more: tuple[str, ...] = ()


def unknown(text: str) -> PluginResult:
    """Return the result of a check that could not be made."""
    return PluginResult(PluginState.UNKNOWN, _line(PluginState.UNKNOWN, text))


def result(
    reading: Reading, settings: AlertSettings, lacking: tuple[str, ...], *, verbose: bool = False, of: str = ""
) -> PluginResult:
    """Return the result of a judged reading. `lacking` is what config.ini asks for and could not be checked.

    `of` is the time of a reading that was not made now.
    With `verbose` the sentences of alerts are in the lines below, and the first line has all alerts in short.

    The worst alert decides. Without alerts, an OK names what it rests on; if something could not be seen, the result is
    UNKNOWN unless `not_known` is off.
    """
    found = worst_first(wrong(reading))
    unavailable = (*not_known(reading), *lacking)
    state = _state(found)
    if state is PluginState.OK and unavailable and setting_for(settings, "not_known", "").severity != "off":
        state = PluginState.UNKNOWN
    text = _summary(state, found, unavailable, reading, verbose=verbose)
    of = f" as of {of}" if of else ""
    line = _line(state, f"{reading.header.database or reading.target}{of}: {text}")
    return PluginResult(state, f"{line} | {perfdata(reading, settings)}", _more(found, unavailable, reading, line))


def _state(found: tuple[Alert, ...]) -> PluginState:
    states = {alert.state for alert in found}
    return PluginState.CRITICAL if "bad" in states else PluginState.WARNING if "warn" in states else PluginState.OK


def _summary(
    state: PluginState, found: tuple[Alert, ...], unavailable: tuple[str, ...], reading: Reading, *, verbose: bool
) -> str:
    """Return the text of the line: the worst alert (in full unless that follows), the others in short, the unknown.

    If it is too long, the last clauses of the worst alert are dropped before another alert is.
    """
    wrongs = [alert for alert in found if alert.state in {"bad", "warn"}]
    parts = _others(wrongs[1:])
    if not wrongs:
        # Notes come after the all-clear, except those on what has happened once.
        waiting = [alert.short for alert in found if alert.key not in {"plan_switched", "instance_started"}]
        clear = [] if state is PluginState.UNKNOWN else [each.rstrip(".") for each in availability_notes(reading)[:1]]
        parts = clear or ([] if state is PluginState.UNKNOWN else ["no alert is over its threshold"])
        parts += waiting[:_OTHERS]
    if unavailable:
        parts.append(f"not known: {'; '.join(unavailable[:_VIEWS])}{' …' if len(unavailable) > _VIEWS else ''}")
    worst = [] if not wrongs else [wrongs[0].short] if verbose else _shorter_and_shorter(_once(wrongs[0], parts))
    lines = ["; ".join([each, *parts]) for each in worst] or ["; ".join(parts)]
    return _whole_words(next((each for each in lines if len(each) <= LONGEST), lines[-1]))


def _once(alert: Alert, parts: Sequence[str]) -> Alert:
    """Return an alert without the reason at the end of its sentence if the line names it in brackets anyway."""
    before, _, why = alert.text.partition("): ")
    return alert._replace(words=f"{before})", age=0.0) if why and any(f"({why})" in each for each in parts) else alert


def _others(found: Sequence[Alert]) -> list[str]:
    """Return the alerts after the worst in short: each queue, and the first of the others."""
    shown = [each for index, each in enumerate(found) if index < _OTHERS or each.key == "queue_waits"]
    return [each.short for each in shown] + [f"and {len(found) - len(shown)} more"] * (len(found) > len(shown))


def _shorter_and_shorter(alert: Alert) -> list[str]:
    """Return the sentence of an alert with ever fewer of its last clauses, and finally its short text.

    That of a queue begins with how many wait and how long.
    """
    text = alert.text
    if alert.key == "queue_waits" and text.startswith(f"{alert.subject}: head"):
        text = f"{alert.bare().short}: {text.removeprefix(f'{alert.subject}: ')}"
    clauses = text.split("; ")
    return ["; ".join(clauses[:count]) for count in range(len(clauses), 0, -1)] + [alert.short]


def _whole_words(text: str) -> str:
    """Return a text cut between two words to the length of a line."""
    cut = one_line(text, LONGEST)
    return cut if len(text) <= LONGEST else f"{cut.rpartition(' ')[0] or cut.removesuffix('…')} …"


def _more(found: tuple[Alert, ...], unavailable: tuple[str, ...], reading: Reading, line: str) -> tuple[str, ...]:
    """Return the long output: alerts with their keys, what to do, what the views rule out, what is unknown.

    What the line has in full is not repeated.
    """
    words = {"bad": "CRITICAL", "warn": "WARNING", "note": "note", "good": "OK"}
    lines = [f"{words[alert.state]} {alert.key}: {alert.text}" for alert in found]
    lines += step.lines if (step := to_do(reading)) is not None else ()
    lines += [f"note: {alert.text}" for alert in clear_now(reading) if alert.text.rstrip(".") not in line]
    lines += [f"not known: {each}" for each in unavailable]
    lines += [f"problem: {each}" for each in unmentioned(reading, unavailable)]
    header = reading.header
    up = "" if header.uptime is None else f"up {duration(header.uptime)}{header.youngest}"
    over = "" if reading.interval is None else f"rates over {reading.interval:.1f} s"
    lines.append("; ".join(filter(None, (f"plan {plan_name(reading)}", up, over))))
    return tuple(_plain(line) for line in lines)


def _line(state: PluginState, text: str) -> str:
    return f"PRESMAN {state.name} - {_plain(text)}"


def _plain(text: str) -> str:
    """Return a line without bars, because a plug-in's text after a bar is performance data."""
    return one_line(text, 2 * LONGEST).replace("|", "/")


# ---- performance data


def perfdata(reading: Reading, settings: AlertSettings) -> str:
    """Return ``label=value[unit];warning;critical;least;most`` for each figure; U if it is unknown."""
    now = totals(reading)
    found = [
        _figure("queued", now.queued, "", _limits(settings, "queue_length")),
        _figure("queue_wait", now.longest, "s", _limits(settings, "queue_waits")),
        _figure("pool_queued", now.pool_queued, ""),
        _figure("quiesce_held", now.held, ""),
        _figure("servers", now.servers, "", most=now.maximum),
        _figure("servers_idle_held", now.idle_held, ""),
        _figure("downgraded", now.downgraded, "", _limits(settings, "downgraded")),
        _figure("downgrades", now.downgrades, "", _limits(settings, "downgrades")),
        _figure("cpu_used", now.used, "", most=now.cpus),
        _figure("cpu_waiting", now.waiting, ""),
        _figure("poll", reading.poll_seconds, "s", _limits(settings, "own_cost")),
    ]
    answers = [alert for answer in asked(reading, settings) for alert in answer.alerts if alert.amount is not None]
    # The amount of own_cost is already there as `poll`.
    return " ".join([*found, *(_asked(alert, settings) for alert in answers if alert.key != "own_cost")])


def _asked(alert: Alert, settings: AlertSettings) -> str:
    """Return the figure that a threshold was set for, with a quoted label if needed."""
    setting, unit = setting_for(settings, alert.key, alert.subject), RULE_BOOK[alert.key].unit or ""
    label = one_line(f"{alert.key} {alert.subject}".strip(), 80)
    plain = "".join(sign for sign in label if sign not in "'=|")
    return _figure(f"'{plain}'" if " " in plain else plain, alert.amount, unit, (setting.warning, setting.critical))


def _limits(settings: AlertSettings, key: str) -> tuple[float | None, float | None]:
    found = setting_for(settings, key, "")
    return found.warning, found.critical


def _figure(
    label: str,
    value: float | None,
    unit: str,
    limits: tuple[float | None, float | None] = (None, None),
    most: float | None = None,
) -> str:
    known = "U" if value is None else f"{_number(value)}{unit}"
    return f"{label}={known};{_number(limits[0])};{_number(limits[1])};0;{_number(most)}".rstrip(";")


def _number(value: float | None) -> str:
    """Return a number without exponent, "" for None."""
    if value is None:
        return ""
    text = f"{value:.3f}" if abs(value) >= 1 else f"{value:.6f}"
    return text.rstrip("0").rstrip(".")
