"""Target: something to watch, and how its source is made. Heavy modules are imported only when a source is made."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta, timezone, tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from msgspec import structs

from presman.base import private_files
from presman.base.errors import did_you_mean, nearest
from presman.base.private_files import expanded
from presman.base.release import SUPPORTED, Release, why_not_played
from presman.base.secret import Secret
from presman.config.config_file import Config, ConfigError, Settings
from presman.sources import SourceError, SourceRecipe
from presman.sources.oracle.settings import ConnectSettings

if TYPE_CHECKING:
    from presman.recording.recording_source import RecordingSource
    from presman.sources import Source
    from presman.sources.subprocess_source import MakePreview, ProcessSource


class TargetError(ConfigError):
    """The target cannot be understood; the text is one line free of secrets."""


@dataclass(frozen=True, slots=True)
class RecordedWindow:
    """Part of a recording: `location` is a file, a folder or a URL (with its password: never shown)."""

    location: str = field(repr=False)
    database: str = ""
    at: str = ""
    start: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """Something to watch: `kind` is oracle, simulator, spool or recording; `name` has no secrets.

    `settings` are those of config.ini that apply to it (refresh, measure, scope, theme); `connect` is None unless
    it is a database. `warnings` are lines for the user.
    """

    name: str
    kind: str
    settings: Settings
    factory: Callable[[], Source] = field(repr=False)
    connect: ConnectSettings | None = None
    warnings: tuple[str, ...] = ()
    recorded: RecordedWindow | None = None

    def make_source(self) -> Source:
        """Make the source, not yet open. This imports what the source needs, so call it where a delay does no harm."""
        return self.factory()

    def recording(self) -> RecordingSource:
        """Return the source of a recording, not yet open. Raises TargetError if the target is not a recording."""
        if self.recorded is None:
            raise TargetError(f"{self.name} is not a recording")
        return _recording(self.name, self.recorded)

    def in_subprocess(self, preview: MakePreview | None = None) -> ProcessSource | None:
        """Return a source in its own process, which begins to open it at once; None if that is not possible.

        `preview` makes the preview in that process. Spools and recordings never get a process: reading files neither
        blocks for long nor depends on a driver that could crash.
        """
        if not isinstance(self.factory, SourceRecipe):
            return None
        from presman.sources.subprocess_source import ProcessSource

        source = ProcessSource(self.factory, kind=self.kind, name=self.name)
        try:
            source.begin(preview)
        except SourceError:
            return None
        return source

    @property
    def needs_password(self) -> bool:
        """Whether a user is named but the password is not available."""
        connect = self.connect
        return connect is not None and bool(connect.user) and connect.password is None

    def with_password(self, password: Secret) -> Target:
        """Return the same target with a password that the user was asked for."""
        return self._connecting(password=password)

    def _connecting(self, **changes: Any) -> Target:
        if self.connect is None:
            return self
        return connected(self.name, structs.replace(self.connect, **changes), self.settings, self.warnings)

    def within(self, at: str | None, start: str | None, end: str | None) -> Target:
        """Return the same recording up to an instant, or between two. Raises TargetError if it is not a recording."""
        if "" in {at, start, end}:
            raise TargetError("--at, --from and --to want a time: 2026-11-22 03:12, 03:12, '3m ago', -1h, first, last")
        if not (at or start or end):
            return self
        if self.recorded is None:
            raise TargetError(f"--at, --from and --to go with a recording; {self.name} is not one")
        given = {name: words for name, words in (("at", at), ("start", start), ("end", end)) if words}
        return recorded_target(replace(self.recorded, **given), self.settings, self.warnings)

    def beginning_at(self) -> tuple[Target, str]:
        """Return a recording without its `at`, and that `at`, so that playback can start there and go on to the end."""
        if self.recorded is None or not self.recorded.at:
            return self, ""
        return recorded_target(replace(self.recorded, at=""), self.settings, self.warnings), self.recorded.at

    def of_database(self, name: str) -> Target:
        """Return another database of the same recording. Raises TargetError if the target is not a recording."""
        if self.recorded is None:
            raise TargetError(f"{self.name} is not a recording")
        return recorded_target(replace(self.recorded, database=name), self.settings, self.warnings)

    def with_thick(self, lib_dir: str | None) -> Target:
        """Return the same target, connected through the thick driver with the client libraries in `lib_dir`."""
        return self._connecting(thick=True, **({"lib_dir": lib_dir} if lib_dir else {}))


def connected(name: str, connect: ConnectSettings, settings: Settings, warnings: tuple[str, ...] = ()) -> Target:
    """Return the target of an Oracle database."""
    make = SourceRecipe("presman.sources.oracle.oracle_source", "OracleSource", {"settings": connect, "name": name})
    return Target(name, "oracle", settings, make, connect, warnings)


def recorded_target(recorded: RecordedWindow, settings: Settings, warnings: tuple[str, ...] = ()) -> Target:
    """Return the target of a recording; its name does not contain the password."""
    location = recorded.location
    if "://" in location:  # its user, but neither its password nor its options
        scheme, _, rest = location.partition("://")
        address, user = rest.partition("?")[0].rpartition("@")[2], rest.rpartition("@")[0].partition(":")[0]
        location = f"{scheme}://{user + '@' if user else ''}{address}"
    name = f"recording:{location}" + (f"?database={recorded.database}" if recorded.database else "")
    make = partial(_recording, name, recorded)
    return Target(name, "recording", settings, make, warnings=warnings, recorded=recorded)


def _recording(name: str, recorded: RecordedWindow) -> RecordingSource:
    from presman.recording.recording_source import RecordingSource

    database, at = recorded.database or None, recorded.at
    start, end = recorded.start, recorded.end
    return RecordingSource(recorded.location, name=name, database=database, at=at, start=start, end=end)


# ---- Options of a target: the part after its "?".


def options_of(text: str, known: tuple[str, ...], scheme: str) -> tuple[str, dict[str, str]]:
    """Return the part before the "?", and the options after it. Raises TargetError for an option not in `known`."""
    name, _, tail = text.partition("?")
    options = dict(parse_qsl(tail, keep_blank_values=True))
    for option in options:
        if option not in known:
            raise TargetError(f"{scheme}: unknown option {option!r}, {did_you_mean(option, known)}")
    return name, options


def number_of(options: Mapping[str, str], name: str, kind: Callable[[str], Any], most: float | None = None) -> Any:
    """Return an option of a demo as a number, None if it is not given; above 0 if there is a `most`.

    Raises TargetError.
    """
    try:
        value = kind(options[name]) if name in options else None
    except ValueError:
        raise TargetError(f"{name}={options[name]} is not a number") from None
    if value is not None and most is not None and not 0 < value <= most:
        raise TargetError(f"demo: {name}={options[name]} is not above 0 and at most {most:g}")
    return value


def _release(options: Mapping[str, str]) -> Release | None:
    return release_of(options["release"], "release=") if "release" in options else None


def release_of(text: str, option: str) -> Release:
    """Return the release that an option names; errors begin with `option`. Raises TargetError."""
    try:
        release = Release.parse(text)
    except ValueError:
        raise TargetError(f"{option}{text} is not a release such as 19 or 12.2") from None
    if release < SUPPORTED[0]:
        raise TargetError(f"{option}{text} is older than {SUPPORTED[0]}, the oldest presman reads")
    return release


# ---- Target of a folder of CSV files: `spool:FOLDER[?zone=…&release=…&encoding=…]`.

LARGEST_OFFSET = 14 * 60
"""The largest offset of a time zone from UTC, in minutes."""


def spool_target(text: str, settings: Settings) -> Target:
    """Return the target for the text after `spool:`. Raises TargetError."""
    name, options = options_of(text, ("zone", "release", "encoding"), "spool")
    folder = _found(name, "spool", "folder")
    zone = parse_zone(options["zone"]) if "zone" in options else None
    release, encoding = _release(options), _encoding(options.get("encoding", ""))

    def make() -> Source:
        from presman.sources.spool.spool_source import SpoolSource

        return SpoolSource(folder, zone=zone, release=release, encoding=encoding)

    return Target(f"spool:{name}", "spool", settings, make)


def _encoding(text: str) -> str:
    """Return the name of a text encoding, "" for none. Raises TargetError if it is unknown or not a text encoding."""
    try:
        name = codecs.lookup(text).name if text else ""
        if name in {"idna", "punycode"}:  # of names of hosts; which bytes they refuse depends on Python's version
            raise LookupError(name)
        if name:  # hex, rot13 and the like have names, too, but do not decode to texts
            bytes(range(256)).decode(name, "replace")
        return name
    except (LookupError, ValueError):
        raise TargetError(f"encoding={text} is not a known encoding such as euc-kr or cp1252") from None


def _found(name: str, scheme: str, what: str) -> Path:
    """Return the path of an existing file or folder. Raises TargetError, with the nearest name, if there is none."""
    path, is_folder = expanded(name), what == "folder"
    try:
        if name and (private_files.is_folder(path) if is_folder else private_files.exists(path)):
            return path
    except OSError as error:
        raise TargetError(f"{scheme}: {name}: {error.strerror or error}") from None
    if name and path.is_symlink():
        raise TargetError(f"{scheme}: {name} is a link that leads to no {what}")
    try:
        others = path.parent.glob("*" if is_folder else "*.presman") if path.name else ()
        names = [each.name for each in others if each != path and (each.is_dir() or not is_folder)]
    except OSError:
        names = []
    meant = nearest(path.name, names) or nearest_recording(path)
    hint = f", did you mean {str(path.with_name(meant))!r}?" if meant else ""
    raise TargetError(f"{scheme}: no such {what}: {name or '(none named)'}{hint}")


def nearest_recording(path: Path) -> str | None:
    """Return the recording in the same folder whose name is most similar, with or without the suffix .presman."""
    try:
        stems = {each.stem: each.name for each in path.parent.glob("*.presman") if each != path}
    except (OSError, ValueError):
        return None
    found = nearest(path.stem, stems)
    return stems[found] if found else None


def parse_zone(text: str) -> tzinfo:
    """Read a time zone: an offset such as +02:00, or a region such as Europe/Vienna. Raises TargetError."""
    # A "+" in a query string may stand for itself or may have been decoded to a blank.
    if offset := re.fullmatch(r"([ +-])(\d{1,2}):?(\d\d)?", text):
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        if int(offset[3] or 0) > 59 or minutes > LARGEST_OFFSET:
            raise TargetError(f"zone={text} is not an offset: the largest is 14:00")
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    if text.upper() in {"UTC", "Z"}:
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        raise TargetError(f"zone={text} is neither an offset (+02:00) nor a region (Europe/Vienna)") from None


# ---- Target of a recording: `FILE.presman`, `recording:FILE[?database=…&at=…&from=…&to=…]`, `recording:URL`, a URL.

_POSTGRES = re.compile(r"postgres(ql)?(\+\w+)?://", re.IGNORECASE)


def is_recording(text: str) -> bool:
    """Whether a target is a recording: `recording:…`, a file whose name ends in .presman, or a PostgreSQL URL."""
    is_named = text.lower().startswith("recording:") or text.partition("?")[0].endswith(".presman")
    return is_named or _POSTGRES.match(text) is not None


def named_recording(text: str, config: Config) -> str:
    """Return the target of a user who names a recording: any file or folder is one, whether it exists or is mistyped.

    A text that may be a mistyped section stays unchanged, so that the section is suggested; so does a text that may
    contain a password.
    """
    if text in config.sections or is_recording(text):
        return text
    is_mistyped = text != "demo" and not set(text) & set("@:/") and nearest(text, config.targets) is None
    return f"recording:{text}" if is_mistyped or private_files.exists(expanded(text)) else text


def recording_target(text: str, settings: Settings) -> Target:
    """Return the target of a recording: a file, a folder or a URL, with options. Raises TargetError."""
    known = ("database", "at", "from", "to")
    if "://" in text:  # a URL has its own options
        location, _, tail = text.partition("?")
        pairs = parse_qsl(tail, keep_blank_values=True)
        options = {key: value for key, value in pairs if key in known}
        rest = urlencode([(key, value) for key, value in pairs if key not in known])
        location += f"?{rest}" if rest else ""
    else:
        location, options = options_of(text, known, "recording")
        _found(location, "recording", "file or folder")
    words = (options.get(name, "") for name in ("database", "at", "from", "to"))
    return recorded_target(RecordedWindow(location, *words), settings)


# ---- Target of a simulated database: `demo:SCENARIO[?seed=…&speed=…&size=…&release=…]`.

DEMO = "mixed"
"""The default scenario of `presman demo`."""

SCENARIOS = Path(__file__).parents[1] / "sources" / "simulator" / "scenarios"


def scenarios() -> tuple[str, ...]:
    """Return the names of the scenarios that come with presman."""
    return tuple(sorted(path.stem for path in SCENARIOS.glob("*.toml")))


def demo_target(text: str, settings: Settings) -> Target:
    """Return the target for the text after `demo:`. Raises TargetError."""
    name, options = options_of(text, ("seed", "speed", "size", "release"), "demo")
    name = name or DEMO
    is_file = name.endswith(".toml") or "/" in name
    if not is_file and name not in scenarios():
        raise TargetError(f"no scenario {name!r}, {did_you_mean(name, scenarios())}")
    if is_file and not private_files.is_file(Path(name)):
        raise TargetError(f"no such scenario file: {name}")
    release = _release(options)
    if release is not None and (why := why_not_played(release)):
        raise TargetError(f"demo: {why}")
    given = {
        "scenario": Path(name) if is_file else name,
        "seed": number_of(options, "seed", int),
        "speed": number_of(options, "speed", float, 3600) or 1.0,
        "size": number_of(options, "size", float, 100),
        "release": release,
    }
    make = SourceRecipe("presman.sources.simulator_source", "SimulatorSource", given)
    return Target(f"demo:{text if name in text else name + text}", "simulator", settings, make)
