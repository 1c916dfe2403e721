"""Targets: what a TARGET on the command line means, and how a source is made of it.

A target is a section of config.ini, a connect string, `demo:SCENARIO[?seed=…&speed=…&size=…&release=…]`,
`spool:FOLDER[?zone=…&release=…]` or a recording: `FILE.presman`, `recording:FILE[?database=…&at=…&from=…&to=…]`,
`recording:URL`, `postgresql+psycopg://…`. Nothing heavy is imported until :meth:`Target.make_source` is called.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta, timezone, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from msgspec import structs

from presman.base.release import SUPPORTED, Release
from presman.base.secret import Secret
from presman.base.suggest import did_you_mean, nearest
from presman.base.text import clean
from presman.config.config_file import Config, ConfigError, Settings, has_password, others_may_change
from presman.config.tnsnames import entries
from presman.sources import SourceError
from presman.sources.oracle.settings import ConnectSettings
from presman.sources.recipe import SourceRecipe

if TYPE_CHECKING:
    from presman.sources import Source
    from presman.sources.apart.process_source import ProcessSource

DEMO = "mixed"
"""The scenario of `presman demo`."""

SCENARIOS = Path(__file__).parents[1] / "simulator" / "scenarios"


FORMS = (
    "user@host[:port]/service, user@ALIAS, @ALIAS, a section of config.ini, demo:SCENARIO, spool:FOLDER, FILE.presman"
    " or recording:FOLDER"
)

LARGEST_OFFSET = 14 * 60
"""Minutes that a time zone differs from UTC at most."""

_BARE = re.compile(r"[^:/(@]*/(?!/)[^@]*")
"""host/service without a user, or user/password without a host: nobody can tell which."""


_POSTGRES = re.compile(r"postgres(ql)?(\+\w+)?://", re.IGNORECASE)


class TargetError(ConfigError):
    """The target cannot be understood; the text is one line free of secrets."""


@dataclass(frozen=True, slots=True)
class TapeWindow:
    """Which part of which recording: `place` is a file, a folder or a URL (with its password: never shown)."""

    place: str = field(repr=False)
    database: str = ""
    at: str = ""
    start: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """Something to watch: `kind` is oracle, simulator, spool or recording; `name` has no secrets.

    `settings` are those of config.ini that hold for it (refresh, measure, scope, theme); `connect` is None unless
    it is a database. `warnings` are lines for the user.
    """

    name: str
    kind: str
    settings: Settings
    factory: Callable[[], Source] = field(repr=False)
    connect: ConnectSettings | None = None
    warnings: tuple[str, ...] = ()
    tape: TapeWindow | None = None

    def make_source(self) -> Source:
        """Make the source, not yet open. Imports what it needs, so call it where waiting does no harm."""
        return self.factory()

    def source_apart(self) -> ProcessSource | None:
        """Return a source in a process of its own, which begins to open it at once; None where that cannot be had.

        Spools and recordings are files: there is nothing to wait for, nor a driver that could die.
        """
        if not isinstance(self.factory, SourceRecipe):
            return None
        from presman.sources.apart.process_source import ProcessSource

        source = ProcessSource(self.factory, kind=self.kind, name=self.name)
        try:
            source.begin()
        except SourceError:
            return None
        return source

    @property
    def needs_password(self) -> bool:
        """Whether a user is named and nothing says his password."""
        connect = self.connect
        return connect is not None and bool(connect.user) and connect.password is None

    def with_password(self, password: Secret) -> Target:
        """Return the same target with a password that was asked for."""
        if self.connect is None:
            return self
        return _oracle(self.name, structs.replace(self.connect, password=password), self.settings, self.warnings)

    def within(self, at: str | None, start: str | None, end: str | None) -> Target:
        """Return the same recording up to an instant, or between two. Raises TargetError for what is no recording."""
        if "" in {at, start, end}:
            raise TargetError("--at, --from and --to want a time: 2026-11-22 03:12, 03:12, '3m ago', first, last")
        if not (at or start or end):
            return self
        if self.tape is None:
            raise TargetError(f"--at, --from and --to go with a recording, which {self.name} is not")
        tape = replace(self.tape, at=at or self.tape.at, start=start or self.tape.start, end=end or self.tape.end)
        return _of_tape(tape, self.settings, self.warnings)

    def beginning_at(self) -> tuple[Target, str]:
        """Return a recording that does not end at its `at`, and that: for who plays it from there on."""
        if self.tape is None or not self.tape.at:
            return self, ""
        return _of_tape(replace(self.tape, at=""), self.settings, self.warnings), self.tape.at

    def of_database(self, name: str) -> Target:
        """Return one of the databases of the same recording. Raises TargetError for what is no recording."""
        if self.tape is None:
            raise TargetError(f"{self.name} is no recording")
        return _of_tape(replace(self.tape, database=name), self.settings, self.warnings)

    def with_thick(self, lib_dir: str | None) -> Target:
        """Return the same target through the thick driver and its client libraries in `lib_dir`."""
        if self.connect is None:
            return self
        connect = structs.replace(self.connect, thick=True, lib_dir=lib_dir or self.connect.lib_dir)
        return _oracle(self.name, connect, self.settings, self.warnings)


def parse_target(text: str, config: Config | None = None) -> Target:
    """Return the target that `text` names. Raises TargetError with the nearest name where there is one.

    A password in `text` works and yields a warning: command lines are seen by everyone on the machine.
    """
    config = config or Config()
    text = text.strip()
    settings = config.sections.get(text)
    if settings is not None:
        target = _section(text, settings.over(config.defaults), config)
        return replace(target, name=clean(target.name))
    if not is_recording(text):
        _refuse_password(text)
    target = _literal(text, config.defaults, config)
    target = replace(target, name=clean(target.name))
    if target.tape is None and has_password(Secret(text)):
        warning = "a password on the command line can be seen by others: use config.ini, a wallet or the prompt"
        return replace(target, warnings=(*target.warnings, warning))
    return target


def _refuse_password(text: str, within: str = "") -> None:
    if _BARE.fullmatch(text):
        what = "a TARGET with / and without @ may be a password, so it is neither used nor shown"
        raise TargetError(f"{within}{what}: write {FORMS}")


def _section(name: str, settings: Settings, config: Config) -> Target:
    within = f"{config.path}, [{name}]: "
    if settings.connection is None:
        raise TargetError(f"{within}it has no connection_string")
    if settings.password_command and config.path and others_may_change(config.path):
        raise TargetError(f"{within}password_command is not run, others may change the file: chmod go-w {config.path}")
    if settings.user is None and not is_recording(settings.connection.reveal()):
        _refuse_password(settings.connection.reveal(), within)
    target = _literal(settings.connection.reveal(), settings, config, within)
    if target.connect is None:
        return replace(target, name=target.name if name == "presman" else name)
    return _oracle(name, target.connect, settings, target.warnings)


def _literal(text: str, settings: Settings, config: Config, within: str = "") -> Target:
    scheme, colon, rest = text.partition(":")
    try:
        if scheme.lower() == "demo" and (colon or not rest):
            return _demo(rest or DEMO, settings)
        if scheme.lower() == "spool" and colon:
            return _spool(rest, settings)
        if is_recording(text):
            return _recording(rest if scheme.lower() == "recording" else text, settings)
        return _connect_string(text, settings, config)
    except TargetError as error:
        raise TargetError(f"{within}{error}") from None


# -- the simulator ----------------------------------------------------------------------------------------------


def scenarios() -> tuple[str, ...]:
    """Return the names of the scenarios that come with presman."""
    return tuple(sorted(path.stem for path in SCENARIOS.glob("*.toml")))


def _demo(text: str, settings: Settings) -> Target:
    name, options = _options(text, ("seed", "speed", "size", "release"), "demo")
    name = name or DEMO
    is_file = name.endswith(".toml") or "/" in name
    if not is_file and name not in scenarios():
        raise TargetError(f"no scenario {name!r}, {did_you_mean(name, scenarios())}")
    if is_file and not Path(name).is_file():
        raise TargetError(f"no such scenario file: {name}")
    seed = _number(options, "seed", int)
    speed = _number(options, "speed", float)
    if speed is not None and not 0 < speed <= 3600:
        raise TargetError(f"demo: speed={options['speed']} is not above 0 and at most 3600")
    size = _number(options, "size", float)
    if size is not None and not 0 < size <= 100:
        raise TargetError(f"demo: size={options['size']} is not above 0 and at most 100")
    release = _release(options)

    given = {
        "scenario": Path(name) if is_file else name,
        "seed": seed,
        "speed": 1.0 if speed is None else speed,
        "size": size,
        "release": release,
    }
    make = SourceRecipe("presman.sources.simulator_source", "SimulatorSource", given)
    return Target(f"demo:{text if name in text else name + text}", "simulator", settings, make)


# -- a folder of CSV files --------------------------------------------------------------------------------------


def _spool(text: str, settings: Settings) -> Target:
    name, options = _options(text, ("zone", "release", "encoding"), "spool")
    folder = Path(name).expanduser()
    if not name or not folder.is_dir():
        raise TargetError(f"spool: no such folder: {name or '(none named)'}{_sibling(folder)}")
    zone = parse_zone(options["zone"]) if "zone" in options else None
    release, encoding = _release(options), _encoding(options.get("encoding", ""))

    def make() -> Source:
        from presman.sources.spool.spool_source import SpoolSource

        return SpoolSource(folder, zone=zone, release=release, encoding=encoding)

    return Target(f"spool:{name}", "spool", settings, make)


def _encoding(text: str) -> str:
    """Return the name of a text encoding, "" for none. Raises TargetError for one that is not known."""
    try:
        return codecs.lookup(text).name if text else ""
    except LookupError:
        raise TargetError(f"encoding={text} is not a known encoding such as euc-kr or cp1252") from None


def _sibling(folder: Path) -> str:
    try:
        names = [path.name for path in folder.parent.iterdir() if path.is_dir()] if folder.name else []
    except OSError:
        names = []
    found = nearest(folder.name, names)
    return f", did you mean {str(folder.with_name(found))!r}?" if found else ""


def parse_zone(text: str) -> tzinfo:
    """Read a time zone: an offset such as +02:00, or a region such as Europe/Vienna. Raises TargetError."""
    # A "+" in a query string may have been typed for what it is or have become a blank.
    offset = re.fullmatch(r"([ +-])(\d{1,2}):?(\d\d)?", text)
    if offset:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        if int(offset[3] or 0) > 59 or minutes > LARGEST_OFFSET:
            raise TargetError(f"zone={text} is no offset: the largest is 14:00")
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    if text.upper() in {"UTC", "Z"}:
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        raise TargetError(f"zone={text} is neither an offset (+02:00) nor a region (Europe/Vienna)") from None


# -- a recording ------------------------------------------------------------------------------------------------


def is_recording(text: str) -> bool:
    """Whether a target is a recording: `recording:…`, a file whose name ends in .presman, a URL of PostgreSQL."""
    return (
        text.lower().startswith("recording:")
        or _POSTGRES.match(text) is not None
        or text.partition("?")[0].endswith(".presman")
    )


def named_recording(text: str, config: Config) -> str:
    """Return the target of somebody who names a recording: a file or a folder there by any name is one, too."""
    is_place = text not in config.sections and not is_recording(text) and Path(text).expanduser().exists()
    return f"recording:{text}" if is_place else text


def _recording(text: str, settings: Settings) -> Target:
    known = ("database", "at", "from", "to")
    if "://" in text:  # a URL has options of its own
        place, _, tail = text.partition("?")
        own = parse_qsl(tail, keep_blank_values=True)
        options = {key: value for key, value in own if key in known}
        rest = urlencode([(key, value) for key, value in own if key not in known])
        place += f"?{rest}" if rest else ""
    else:
        place, options = _options(text, known, "recording")
        path = Path(place).expanduser()
        if not place or not path.exists():
            raise TargetError(f"recording: no such file or folder: {place or '(none named)'}{_nearby(path)}")
    words = (options.get(name, "") for name in ("database", "at", "from", "to"))
    return _of_tape(TapeWindow(place, *words), settings)


def _without_password(place: str) -> str:
    """Return a file's name, or of a URL what may be shown: neither the password nor its options."""
    scheme, mark, rest = place.partition("://")
    if not mark:
        return place
    authority, slash, path = rest.partition("?")[0].rpartition("@")[2].partition("/")
    user = rest.rpartition("@")[0].partition(":")[0]
    return f"{scheme}://{user + '@' if user else ''}{authority}{slash}{path}"


def _nearby(path: Path) -> str:
    try:
        names = [each.name for each in path.parent.glob("*.presman")]
    except OSError:
        names = []
    found = nearest(path.name, names)
    return f", did you mean {str(path.with_name(found))!r}?" if found else ""


def _of_tape(tape: TapeWindow, settings: Settings, warnings: tuple[str, ...] = ()) -> Target:
    place = Secret(tape.place)
    name = f"recording:{_without_password(tape.place)}"
    if tape.database:
        name += f"?database={tape.database}"

    def make() -> Source:
        from presman.recording.recording_source import RecordingSource

        return RecordingSource(
            place.reveal(), name=name, database=tape.database or None, at=tape.at, start=tape.start, end=tape.end
        )

    return Target(name, "recording", settings, make, warnings=warnings, tape=tape)


# -- a database -------------------------------------------------------------------------------------------------


def _connect_string(text: str, settings: Settings, config: Config) -> Target:
    credentials, at, dsn = text.rpartition("@")
    if text.startswith("(") and not credentials.endswith(")"):
        credentials, at, dsn = "", "", text
    user, slash, password = credentials.partition("/")
    if not dsn:
        raise TargetError(f"not a connect string: write {FORMS}")
    if not at and not _is_address(text, settings):
        raise TargetError(_unknown(text, config))
    secret = Secret(password) if slash and password else settings.password
    if secret is None and settings.password_command is None:
        secret = _password_of_environment()
    given = {
        name: value
        for name in (
            "mode",
            "wallet_location",
            "wallet_password",
            "config_dir",
            "thick",
            "lib_dir",
            "https_proxy",
            "https_proxy_port",
            "call_timeout",
            "packs",
        )
        if (value := getattr(settings, name)) is not None
    }
    connect = ConnectSettings(dsn, (user or settings.user) or None, secret, **given)
    return _oracle(connect.name, connect, settings)


def _oracle(name: str, connect: ConnectSettings, settings: Settings, warnings: tuple[str, ...] = ()) -> Target:
    make = SourceRecipe("presman.sources.oracle.oracle_source", "OracleSource", {"settings": connect, "name": name})
    return Target(name, "oracle", settings, make, connect, warnings)


def _is_address(text: str, settings: Settings) -> bool:
    return any(mark in text for mark in "/:(") or text.lower() in _aliases(settings)


def _aliases(settings: Settings) -> set[str]:
    """Return the TNS aliases of tnsnames.ora, in lower case."""
    return {alias.lower() for alias in entries(settings.config_dir or os.environ.get("TNS_ADMIN"))}


def _password_of_environment() -> Secret | None:
    text = os.environ.get("PRESMAN_PASSWORD")
    return Secret(text) if text else None


def _unknown(text: str, config: Config) -> str:
    demos = {f"demo:{name}" for name in scenarios()}
    found = nearest(text, [*config.targets, *scenarios(), *demos])
    if found is not None:
        return f"no target {text!r}, did you mean {'demo:' + found if found in scenarios() else found!r}?"
    return f"no target {text!r}: neither a section of config.ini nor user@host/service, demo:SCENARIO, spool:FOLDER"


# -- options after "?" ------------------------------------------------------------------------------------------


def _options(text: str, known: tuple[str, ...], scheme: str) -> tuple[str, dict[str, str]]:
    name, _, tail = text.partition("?")
    options = dict(parse_qsl(tail, keep_blank_values=True))
    for option in options:
        if option not in known:
            raise TargetError(f"{scheme}: unknown option {option!r}, {did_you_mean(option, known)}")
    return name, options


def _number(options: Mapping[str, str], name: str, kind: Callable[[str], Any]) -> Any:
    try:
        return kind(options[name]) if name in options else None
    except ValueError:
        raise TargetError(f"{name}={options[name]} is not a number") from None


def _release(options: Mapping[str, str]) -> Release | None:
    if "release" not in options:
        return None
    try:
        release = Release.parse(options["release"])
    except ValueError:
        raise TargetError(f"release={options['release']} is not a release such as 19 or 12.2") from None
    if release < SUPPORTED[0]:
        raise TargetError(f"release={options['release']} is older than {SUPPORTED[0]}, the oldest presman reads")
    return release
