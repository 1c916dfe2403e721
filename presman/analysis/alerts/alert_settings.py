"""Settings of alerts: thresholds, durations and severities that config.ini gives to rules, and which one applies."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import fields, replace


class AlertSetting(Struct, frozen=True):
    """Settings of config.ini for one rule, or for one `subject` of it ("" for all).

    `warning` and `critical` are the amounts, in the rule's unit, from which an alert has that severity. It keeps the
    severity until the amount is below `clear` (for critical: as far below `critical` as `clear` is below `warning`).
    `hold` is how many seconds it must last to count. `severity` is bad, warn, note or off whatever the amount;
    `percentile` is that of a latency. None means not set.
    """

    key: str
    subject: str = ""
    warning: float | None = None
    critical: float | None = None
    clear: float | None = None
    hold: float | None = None
    severity: str | None = None
    percentile: float | None = None

    @property
    def has_thresholds(self) -> bool:
        """Whether an amount decides the severity."""
        return self.warning is not None or self.critical is not None

    def limits(self, *, was_warning: bool, was_critical: bool) -> tuple[float | None, float | None]:
        """Return the amounts that count as warning and critical, given whether it was that before."""
        # An amount that moves around a threshold would begin and end an alert at each poll.
        first = self.warning if self.warning is not None else self.critical
        slack = 0.0 if self.clear is None or first is None else max(0.0, first - self.clear)
        warning = None if self.warning is None else self.warning - slack * was_warning
        critical = None if self.critical is None else self.critical - slack * was_critical
        return warning, critical


AlertSettings = tuple[AlertSetting, ...]
"""Settings of alerts; the first that fits an alert applies."""


def setting_for(settings: AlertSettings, key: str, subject: str) -> AlertSetting:
    """Return the setting for an alert: the setting for its subject overrides that for its rule."""
    ours = [each for each in settings if each.key == key]
    exact = [each for each in ours if each.subject and each.subject.casefold() == subject.casefold()]
    return _together(AlertSetting(key, subject), [*exact, *(each for each in ours if not each.subject)])


def merged(settings: Iterable[AlertSetting]) -> AlertSettings:
    """Return the settings with each rule and subject once: earlier settings override later ones."""
    found: dict[tuple[str, str], AlertSetting] = {}
    for each in settings:
        place = each.key, each.subject.casefold()
        found[place] = _together(found[place], [each]) if place in found else each
    return tuple(found.values())


def _together(first: AlertSetting, others: Iterable[AlertSetting]) -> AlertSetting:
    for each in others:
        settings = {
            item.name: value
            for item in fields(AlertSetting)
            if getattr(first, item.name) is None and (value := getattr(each, item.name)) is not None
        }
        # Thresholds belong together, and a severity replaces them.
        if first.has_thresholds or first.severity is not None:
            settings = {name: value for name, value in settings.items() if name in {"hold", "percentile"}}
        first = replace(first, **settings)
    return first
