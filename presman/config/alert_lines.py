"""Lines of `alerts` in config.ini: a rule, optionally its subject, and its thresholds.

alerts =
    queue_waits          warning=5m critical=30m for=2m
    queue_waits ETL      warning=1h critical=4h
    latency "log file sync"  percentile=99 warning=20ms
    cpu_capped           severity=off
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from presman.analysis.alerts.alert_settings import AlertSetting, AlertSettings, merged
from presman.analysis.alerts.rule_book import RULE_BOOK, AlertRule
from presman.analysis.readings.reading import SEVERITY_WORDS
from presman.base.errors import did_you_mean
from presman.base.formats import seconds_of

_SEVERITIES = {word: severity for severity, word in SEVERITY_WORDS.items() if severity != "good"}
_LONGEST = 86_400.0


def read_alerts(text: str) -> AlertSettings:
    """Return the settings of all lines. Raises ValueError, which names the line."""
    return merged(_line(line) for line in text.splitlines() if line.strip())


def read_command(text: str) -> tuple[str, ...]:
    """Return the words of `on_alert`, split as a shell would split them; no shell runs it. Raises ValueError."""
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        raise ValueError("a quote is not closed") from None
    if not words or not words[0].startswith("/"):
        raise ValueError(f"{text!r} does not begin with the whole path of a program (/...)")
    return words


def _line(line: str) -> AlertSetting:
    try:
        key, *words = shlex.split(line)
    except ValueError:
        raise ValueError(f"{line.strip()!r}: a quote is not closed") from None
    if (rule := RULE_BOOK.get(key)) is None:
        raise ValueError(f"no alert {key!r}, {did_you_mean(key, RULE_BOOK)}")
    fields: dict[str, Any] = {"key": key}
    if words and "=" not in words[0]:
        if not rule.subject:
            raise ValueError(f"{key} is about the whole database, not about {words[0]!r}")
        fields["subject"] = words.pop(0)
    for word in words:
        name, mark, value = word.partition("=")
        read = _WORDS.get(name) if mark else None
        if read is None:
            raise ValueError(f"{key}: {word!r} is none of {', '.join(f'{each}=' for each in _WORDS)}")
        fields["hold" if name == "for" else name] = read(value, rule)
    return _checked(AlertSetting(**fields), rule)


def _checked(setting: AlertSetting, rule: AlertRule) -> AlertSetting:
    """Return the setting if its parts go together. Raises ValueError."""
    key = setting.key
    if key == "latency" and not setting.subject:
        raise ValueError('latency needs the event it is about: latency "log file sync" warning=20ms')
    if setting.percentile is not None and key != "latency":
        raise ValueError(f"{key}: percentile= goes with latency")
    if setting.clear is not None and not setting.has_thresholds:
        raise ValueError(f"{key}: clear= goes with warning= or critical=")
    if key == "not_known" and (setting.severity != "off" or setting.hold is not None):
        raise ValueError("not_known takes severity=off and nothing else")
    if setting.severity is not None and setting.has_thresholds:
        raise ValueError(f"{key}: severity= is fixed, whatever the amount: not with warning= or critical=")
    both = setting.warning is not None and setting.critical is not None
    if both and (setting.warning or 0.0) > (setting.critical or 0.0):
        raise ValueError(f"{key}: warning= is above critical=")
    lowest = setting.warning if setting.warning is not None else setting.critical
    if setting.clear is not None and lowest is not None and setting.clear > lowest:
        raise ValueError(f"{key}: clear= is above the threshold")
    silent = not setting.has_thresholds and setting.severity != "off" and (key == "latency" or not setting.subject)
    if rule.asked and rule.unit is not None and (silent or setting.severity not in {None, "off"}):
        raise ValueError(f"{key}: it needs warning= or critical=")
    return setting


def _amount(text: str, rule: AlertRule) -> float:
    if rule.unit is None:
        raise ValueError(f"{rule.key} has no amount: severity=warning or severity=critical")
    if rule.unit == "s":
        return seconds_of(text)
    return _plain(text.removesuffix("%") if rule.unit == "%" else text)


def _plain(text: str) -> float:
    if not re.fullmatch(r"\d+(\.\d*)?|\.\d+", text):
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def _hold(text: str, *_: object) -> float:
    seconds = seconds_of(text)
    if seconds > _LONGEST:
        raise ValueError(f"for={text} is longer than a day")
    return seconds


def _severity(text: str, *_: object) -> str:
    if text.lower() not in _SEVERITIES:
        raise ValueError(f"unknown severity {text!r}, {did_you_mean(text, _SEVERITIES)}")
    return _SEVERITIES[text.lower()]


def _percentile(text: str, *_: object) -> float:
    value = _plain(text)
    if not 0 < value < 100:
        raise ValueError(f"percentile={text} is not between 0 and 100")
    return value


_AMOUNTS: dict[str, Callable[[str, AlertRule], Any]] = dict.fromkeys(("warning", "critical", "clear"), _amount)
_WORDS = _AMOUNTS | {"for": _hold, "severity": _severity, "percentile": _percentile}


def with_thresholds(settings: AlertSettings, given: Mapping[str, Sequence[str]]) -> AlertSettings:
    """Return the settings with thresholds from the command line: ``KEY=N`` or ``KEY:SUBJECT=N``.

    `given` has those for `warning` and `critical`. Raises ValueError.
    """
    found = {(each.key, each.subject.casefold()): each for each in settings}
    for name, texts in given.items():
        for text in texts:
            subject_of, mark, value = text.rpartition("=")
            key, _, subject = subject_of.partition(":")
            if not mark:
                raise ValueError(f"{text!r} is not KEY=N or KEY:SUBJECT=N")
            new = _line(f"{key} {shlex.quote(subject) if subject else ''} {name}={shlex.quote(value)}")
            about = new.key, new.subject.casefold()
            old = found.get(about, AlertSetting(new.key, new.subject))
            found[about] = replace(old, severity=None, **{name: getattr(new, name)})
    return tuple(_checked(each, RULE_BOOK[each.key]) for each in found.values())
