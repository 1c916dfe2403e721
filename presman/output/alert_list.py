"""List of the rules: key, severity, thresholds in force, and for a reading their state and its reason."""

from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.alerts.alert_settings import AlertSetting, AlertSettings
from presman.analysis.alerts.judge import groupless
from presman.analysis.alerts.not_known import not_known, unavailable
from presman.analysis.alerts.rule_book import RULE_BOOK, AlertRule, silent_views, why_silent
from presman.analysis.readings.reading import SEVERITY_WORDS, Alert, Reading
from presman.base.formats import spelled
from presman.base.text import one_line

_RANK = ("bad", "warn", "note", "good")


def listed(settings: AlertSettings, reading: Reading | None, lacking: tuple[str, ...], of: str = "") -> str:
    """Return the rules as text, one after the other; with a reading also their state and their alerts.

    `of` is the time of a reading that was not made now.
    """
    found, unused, lines = list[Alert](), dict[AlertSetting, str](), list[str]()
    if reading is not None:
        found = wrong(reading)
        unused = {each: f" ({text})" for each, text in groupless(settings, reading).items()}
        as_of = f" as of {of}" if of else ""
        lines.append(f"{reading.header.database or reading.target}{as_of}: alerts by rule")
    for rule in RULE_BOOK.values():
        alerts = [alert for alert in found if alert.key == rule.key]
        of_rule = [each for each in settings if each.key == rule.key]
        word = "" if reading is None else _state(rule, alerts, of_rule, reading, lacking)
        state = f"{word:<10}" if word else ""
        lines.append(f"{state}{rule.key:<19} {_usual(rule, of_rule):<9} {rule.text}".rstrip())
        indent = " " * (len(state) + 20)
        if rule.amount:
            lines.append(f"{indent}thresholds: {rule.amount}{f', per {rule.subject}' if rule.subject else ''}")
        lines += [f"{indent}set: {_in_words(each, rule)}{unused.get(each, '')}" for each in of_rule]
        lines += [f"{indent}{SEVERITY_WORDS[alert.state]}: {one_line(alert.text, 400)}" for alert in alerts]
        lines += [f"{indent}not known: {each}" for each in lacking if each.startswith(f"{rule.key}")]
        if reading is not None and word == "unknown" and (why := why_silent(rule.key, reading)):
            lines.append(f"{indent}not known: {why}")
    if reading is not None:
        lines += [f"not known: {each}" for each in not_known(reading)]
    if reading is not None and any(each.hold for each in settings):
        lines.append("two polls do not show how long anything has lasted: alerts with for= count at once here")
    return "\n".join(lines) + "\n"


def _usual(rule: AlertRule, of_rule: list[AlertSetting]) -> str:
    """Return the severity of a rule in words: the one set for all its subjects, else its default."""
    severity = next((each.severity for each in of_rule if each.severity and not each.subject), None)
    return SEVERITY_WORDS[severity] if severity else "silent" if rule.asked and not of_rule else rule.usual


def _state(
    rule: AlertRule, alerts: list[Alert], of_rule: list[AlertSetting], reading: Reading, lacking: tuple[str, ...]
) -> str:
    if alerts:
        return SEVERITY_WORDS[min((alert.state for alert in alerts), key=_RANK.index)]
    if any(each.severity == "off" and not each.subject for each in of_rule):
        return "off"
    if rule.asked and not of_rule:
        return "silent"
    if rule.key == "not_known":
        return "unknown" if lacking or not_known(reading) else "ok"
    is_unavailable = rule.rests_on in unavailable(reading) or bool(silent_views(rule.key, reading))
    return "unknown" if is_unavailable or any(each.startswith(rule.key) for each in lacking) else "ok"


def _in_words(setting: AlertSetting, rule: AlertRule) -> str:
    """Return a setting in words.

    >>> _in_words(AlertSetting("queue_waits", "ETL", warning=300.0, hold=120.0), RULE_BOOK["queue_waits"])
    'ETL: warning from 5 min, for 2 min'
    """
    limits = (("warning", setting.warning), ("critical", setting.critical))
    words = [f"{name} from {_amount(value, rule)}" for name, value in limits if value is not None]
    if setting.critical is not None and setting.warning is None and not rule.is_amount:
        words.append("a warning before that as usual")
    if setting.clear is not None:
        words.append(f"clears below {_amount(setting.clear, rule)}")
    if setting.percentile is not None:
        words.append(f"percentile {setting.percentile:g}")
    if setting.severity is not None:
        words.append(SEVERITY_WORDS[setting.severity])
    if setting.hold:
        words.append(f"for {spelled(setting.hold)}")
    return f"{setting.subject}: {', '.join(words)}" if setting.subject else ", ".join(words)


def _amount(value: float, rule: AlertRule) -> str:
    if rule.unit == "s":
        return spelled(value) if value >= 1 and value == int(value) else f"{1000 * value:g} ms"
    return f"{value:g}{' %' if rule.unit == '%' else ''}"
