"""Configuration file config.ini: its sections are targets, and `[presman]` holds the defaults of all sections.

The file of presman 1.x (`[presman]` with connection_string, option and refresh_rate) works unchanged. Every
mistake is one line that names file, line, section and option, and never repeats a password.
"""

from __future__ import annotations

import configparser
import os
import re
import shlex
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, get_type_hints

from msgspec import Struct, field
from msgspec.structs import replace

from presman.analysis.alerts.alert_settings import AlertSettings, merged
from presman.analysis.goals import Goal, parse_goal
from presman.base.errors import InputError, OneOf, did_you_mean
from presman.base.formats import seconds_of
from presman.base.measure_names import MEASURES
from presman.base.private_files import expanded, read_small
from presman.base.secret import Secret
from presman.config.alert_lines import read_alerts, read_command
from presman.rows.queries import Scope
from presman.sources.oracle.settings import MODES


class PasswordCommand(Struct, frozen=True):
    """The words of a command. Only its name is shown: its arguments may be confidential."""

    argv: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> PasswordCommand:
        """Split a command into words as a shell does, without any other feature of a shell. Raises ValueError."""
        try:
            words = tuple(shlex.split(text))
        except ValueError:
            raise ValueError("a quote that does not end") from None
        if not words or not words[0]:
            raise ValueError("no command")
        return cls(words)

    @property
    def name(self) -> str:
        """The program's name."""
        return PurePath(self.argv[0]).name

    def __str__(self) -> str:
        return f"{self.name} ***" if len(self.argv) > 1 else self.name

    def __repr__(self) -> str:
        return f"PasswordCommand({self})"


DEFAULT_REFRESH = 2.0
SHORTEST_REFRESH = 0.5
"""Seconds between polls (the minimum of presman 1.x was 3)."""

LARGEST = 1_000_000
"""The most bytes of a config.ini that are read."""

DEFAULTS = "presman"
"""The section whose settings apply to all other sections, too."""

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""A valid section name, which can be typed as a TARGET."""

_TARGET_WORD = re.compile(r"demo(:.*)?|(spool|recording):.*|.*\.presman", re.IGNORECASE)
"""A text that is a target without a section of that name."""

PACKS = ("none", "diagnostics", "tuning")


class ConfigError(InputError):
    """The configuration cannot be used; the text is one line free of secrets."""


def measure_named(value: str) -> str:
    """Return a measure's name. Raises ValueError, which names the nearest one."""
    if value.lower() not in MEASURES:
        raise ValueError(f"unknown measure {value!r}, {did_you_mean(value, MEASURES)}")
    return value.lower()


def refresh_seconds(value: str) -> float:
    """Return seconds between polls. Raises ValueError below the minimum."""
    seconds = _seconds(value)
    if not seconds >= SHORTEST_REFRESH:
        raise ValueError(f"{value} is below the minimum of {SHORTEST_REFRESH} seconds")
    if seconds > 3600:
        raise ValueError(f"{value} is above the maximum of 3600 seconds")
    return seconds


def _seconds(value: str) -> float:
    seconds = seconds_of(value)
    if not 0 < seconds < 1e6:
        raise ValueError(f"{value!r} is {'longer than eleven days' if seconds else 'not above 0'}")
    return seconds


def _scope(value: str) -> Scope:
    return Scope(OneOf(*(scope.value for scope in Scope))(value))


def _flag(value: str) -> bool:
    states = configparser.ConfigParser.BOOLEAN_STATES
    if value.lower() not in states:
        raise ValueError(f"{value!r} is not yes or no")
    return states[value.lower()]


def _port(value: str) -> int:
    if not value.isdigit() or not 0 < int(value) < 65536:
        raise ValueError(f"{value!r} is not a port (1 to 65535)")
    return int(value)


def _goals(value: str) -> tuple[Goal, ...]:
    return tuple(dict.fromkeys(parse_goal(line) for line in value.splitlines() if line.strip()))


def _folder(value: str) -> str:
    return str(expanded(value))


class Option(NamedTuple):
    """How config.ini spells a setting: the function that reads it, and its option names (empty: the setting's own)."""

    read: Callable[[str], Any]
    names: tuple[str, ...] = ()


class Settings(Struct, frozen=True):
    """The settings of one section, each with the options that set it. None if the file does not set it.

    `connection` is anything that :func:`presman.config.target_text.parse_target` accepts. It may contain a password, so
    all of it is a secret. `refresh`, `call_timeout` and `poll_timeout` are seconds.
    """

    connection: Annotated[Secret | None, Option(Secret, ("connection_string", "dsn"))] = None
    user: Annotated[str | None, Option(str)] = None
    password: Annotated[Secret | None, Option(Secret)] = None
    password_command: Annotated[PasswordCommand | None, Option(PasswordCommand.parse)] = None
    measure: Annotated[str | None, Option(measure_named, ("option", "measure"))] = None
    refresh: Annotated[float | None, Option(refresh_seconds, ("refresh_rate",))] = None
    scope: Annotated[Scope | None, Option(_scope)] = None
    theme: Annotated[str | None, Option(str)] = None
    packs: Annotated[str | None, Option(OneOf(*PACKS))] = None
    mode: Annotated[str | None, Option(OneOf(*MODES))] = None
    wallet_location: Annotated[str | None, Option(_folder)] = None
    wallet_password: Annotated[Secret | None, Option(Secret)] = None
    config_dir: Annotated[str | None, Option(_folder)] = None
    thick: Annotated[bool | None, Option(_flag)] = None
    lib_dir: Annotated[str | None, Option(_folder)] = None
    https_proxy: Annotated[str | None, Option(str)] = None
    https_proxy_port: Annotated[int | None, Option(_port)] = None
    call_timeout: Annotated[float | None, Option(_seconds)] = None
    poll_timeout: Annotated[float | None, Option(_seconds)] = None
    bell: Annotated[bool | None, Option(_flag)] = None
    alerts: Annotated[AlertSettings | None, Option(read_alerts)] = None
    on_alert: Annotated[tuple[str, ...] | None, Option(read_command)] = None
    goals: Annotated[tuple[Goal, ...] | None, Option(_goals, ("goal",))] = None
    metrics_user: Annotated[str | None, Option(str)] = None
    metrics_password: Annotated[Secret | None, Option(Secret)] = None
    metrics_password_command: Annotated[PasswordCommand | None, Option(PasswordCommand.parse)] = None

    def over(self, defaults: Settings) -> Settings:
        """Return these settings, completed from `defaults`; connection, user and password are not inherited."""
        # These belong to one database: no other section sends them to its own.
        login = {"connection", "user", "password", "password_command"}
        found = {
            name: mine if (mine := getattr(self, name)) is not None or name in login else getattr(defaults, name)
            for name in self.__struct_fields__
        }
        if self.alerts and defaults.alerts:
            found["alerts"] = merged((*self.alerts, *defaults.alerts))
        return Settings(**found)


_OPTIONS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    name: (setting, option.read)
    for setting, hint in get_type_hints(Settings, include_extras=True).items()
    for option in hint.__metadata__
    for name in option.names or (setting,)
}
"""By option: the name of the setting that it sets, and the function that reads it."""

_CONNECTION_WORDS = frozenset({"url", "uri", "target", "connect", "connection", "database", "host", "service"})
"""Words that users may expect for `connection_string`; by its letters `url` is nearest to `user`."""


class Config(Struct, frozen=True):
    """The configuration that was read: `path` is None if there was no file. `warnings` are lines for the user.

    `nearby` means that the file was found in the working directory, not named by the user.
    """

    path: Path | None = None
    sections: Mapping[str, Settings] = field(default_factory=lambda: MappingProxyType({}))
    warnings: tuple[str, ...] = ()
    nearby: bool = False

    @property
    def defaults(self) -> Settings:
        """The settings of `[presman]`, which apply where a section sets nothing else."""
        return self.sections.get(DEFAULTS, Settings())

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of the sections that have a connection."""
        return tuple(name for name, settings in self.sections.items() if settings.connection)


def load_config(path: Path | str | None = None) -> Config:
    """Read `path`, or the first of :func:`locations` that exists; return an empty Config if none does.

    Raises ConfigError if the file cannot be read or understood. A location without read permission yields a warning.
    """
    if path is not None or (path := os.environ.get("PRESMAN_CONFIG")):
        return read_config(Path(path))
    warnings = []
    for location in locations():
        try:
            is_file = stat.S_ISREG(location.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            warnings.append(f"{location} was not read: {error.strerror or error}")
            continue
        if is_file:
            return replace(read_config(location), nearby=location == locations()[0])
    return Config(warnings=tuple(warnings))


def locations() -> tuple[Path, ...]:
    """Return the paths where config.ini is searched, in order, after --config and $PRESMAN_CONFIG.

    The home directory is left out if it is unknown.
    """
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    with suppress(InputError):
        return Path("config.ini"), expanded(home) / "presman" / "config.ini"
    return (Path("config.ini"),)


def read_config(path: Path) -> Config:
    """Read one file. Raises ConfigError."""
    try:
        text = read_small(path, LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from None
    parser = _parse(text, path)
    sections = {section: _section(path, text, section, parser) for section in parser.sections()}
    return Config(path, MappingProxyType(sections), tuple(_warnings(path, sections)))


def new_parser() -> configparser.ConfigParser:
    """Return the parser of config.ini. It treats no section as special: [DEFAULT] would inherit passwords."""
    return configparser.ConfigParser(interpolation=None, default_section="\0", empty_lines_in_values=False)


def _parse(text: str, path: Path) -> configparser.ConfigParser:
    parser = new_parser()
    try:
        parser.read_string(text)
        return parser
    except configparser.DuplicateSectionError as error:
        line, what = error.lineno or 0, f"section [{error.section}] appears twice"
    except configparser.DuplicateOptionError as error:
        line, what = error.lineno or 0, f"[{error.section}] {_first_word(error.option)} appears twice"
    except configparser.MissingSectionHeaderError as error:
        line, what = error.lineno, "an option before the first [section]"
    except configparser.ParsingError as error:
        line, what = error.errors[0][0] if error.errors else 0, "neither [section] nor NAME = VALUE"
    at_fault = text.split("\n")[line - 1].strip() if line else ""
    if at_fault.startswith("[") and "]" not in at_fault:
        what = "a ] is missing at the end of [section]"
    raise ConfigError(f"{path}, line {line}: {what}")


def _first_word(option: str) -> str:
    """Return the name of an option without what follows a blank: behind a forgotten = that may be a password."""
    return option.split(maxsplit=1)[0]


def _section(path: Path, text: str, section: str, parser: configparser.ConfigParser) -> Settings:
    settings: dict[str, Any] = {}
    option = ""
    try:
        for option, value in parser.items(section):
            name, setting = _setting(section, option, value)
            if settings.get(name) is not None and setting is not None:
                raise ValueError("another option already sets this")
            settings[name] = settings.get(name) if setting is None else setting
        for name in ("password", "metrics_password"):
            option = f"{name}_command"
            if settings.get(name) and settings.get(option):
                raise ValueError(f"{name} already sets this")
    except (ValueError, InputError) as error:
        where = f"{path}, line {_line_of(text, section, option)}: [{section}] {_first_word(option)}"
        raise ConfigError(f"{where}: {error}") from None
    return Settings(**settings)


def _setting(section: str, option: str, value: str | None) -> tuple[str, Any]:
    """Return the name of the setting that an option sets, and its value. Raises ValueError, InputError."""
    if option not in _OPTIONS:
        if _first_word(option) in _OPTIONS:
            raise ValueError("a = is missing behind it")
        guess = "did you mean 'connection_string'?" if option in _CONNECTION_WORDS else did_you_mean(option, _OPTIONS)
        raise ValueError(f"unknown option, {guess}")
    name, read = _OPTIONS[option]
    if name.startswith("metrics_") and section != DEFAULTS:
        raise ValueError(f"put it into [{DEFAULTS}]: one presman metrics serves all targets")
    return name, read(value) if value else None


def _line_of(text: str, section: str, option: str) -> int:
    # configparser does not say on which line it found an option.
    present = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\[(.+)\]", line):
            present = header[1]
        elif present == section and re.match(rf"\s*{re.escape(option)}\s*([=:]|$)", line, re.IGNORECASE):
            return number
    return 0


def _warnings(path: Path, sections: Mapping[str, Settings]) -> Iterator[str]:
    """Yield warnings about passwords that others may read, and about sections that hide a target of the same name."""
    holds = any(
        settings.password or settings.wallet_password or settings.metrics_password or has_password(settings.connection)
        for settings in sections.values()
    )
    with suppress(OSError):
        if holds and path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
            yield f"{path} holds a password and others may read it: chmod 600 {path}"
    for name, settings in sections.items():
        if _TARGET_WORD.fullmatch(name) and not (settings.connection and settings.connection.reveal() == name):
            yield f"{path}: section [{name}] hides the TARGET {name}: give it another name"


def others_may_change(path: Path) -> str:
    """Return how users other than this one and root can change the file, and what presman runs; "" if none can."""
    try:
        found = path.stat()
    except OSError as error:
        return f"{path}: {error.strerror or error}"
    if found.st_uid not in {0, os.geteuid()}:
        return f"{path} belongs to another user"
    is_open = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return f"others may write {path}: chmod go-w {path}" if is_open else ""


def untrusted(config: Config) -> str:
    """Return why presman does not run the commands that config.ini names, "" if it may run them.

    Anybody may have put a file into the working directory; others may have changed a file that they can write.
    """
    if (path := config.path) is None:
        return ""
    if config.nearby:
        return f"{path} is where presman was started: name it with --config"
    return others_may_change(path)


def has_password(connection: Secret | None) -> bool:
    """Return whether a connect string contains a password (user/password@address)."""
    text = connection.reveal() if connection else ""
    credentials, at, _ = text.rpartition("@")
    password = credentials.partition("/")[2]  # empty if no user is named: /@address, which uses a wallet
    return bool(at) and bool(password) and not text.startswith(("demo:", "spool:"))
