"""Axes of all charts: round ticks, each exactly at the value its label shows."""

from datetime import UTC, datetime, timedelta, tzinfo
from math import ceil, floor, log10

_FACTORS = (1.0, 2.0, 2.5, 4.0, 5.0, 10.0)

_DAY = 86_400

_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(60 * minutes for minutes in (1, 2, 3, 5, 10, 15, 30)),
    *(3600 * hours for hours in (1, 2, 3, 6, 12)),
    *(_DAY * days for days in (1, 2, 7)),
)
"""Seconds between two ticks."""


def nice_axis(highest: float, steps: int, lowest: float = 0.0, *, whole: bool = False) -> tuple[float, list[float]]:
    """Return the upper end of an axis that includes 0, `lowest` and `highest`, and its ticks from its lower end on.

    The axis has about `steps` steps, each 1, 2, 2.5, 4 or 5 times a power of ten; whole numbers if `whole`.

    >>> nice_axis(2.9, 4), nice_axis(0, 4)
    ((3.0, [0.0, 1.0, 2.0, 3.0]), (1.0, [0.0, 1.0]))
    """
    highest, lowest = max(0.0, highest), min(0.0, lowest)
    if highest == lowest:
        return 1.0, [0.0, 1.0]
    rough = (highest - lowest) / steps
    power = 10.0 ** floor(log10(rough))
    power = max(1.0, power) if whole else power
    factors = [factor for factor in _FACTORS if not whole or (factor * power).is_integer()]
    # A little less than wanted is enough: rounding must neither choose a larger step nor add one at an end.
    step = next(factor * power for factor in factors if factor * power >= rough * 0.999 or factor == factors[-1])
    first, last = floor(lowest / step * 0.999), ceil(highest / step * 0.999)
    return last * step, [float(f"{number * step:.10g}") for number in range(first, last + 1)]


def tick_label(value: float) -> str:
    """Return the label of a tick: its exact value.

    >>> [tick_label(each) for each in (0.75, 2.5, 1250, 12500, 2.5e6)]
    ['0.75', '2.5', '1250', '12.5k', '2500k']
    """
    for unit, size in (("", 1), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)):
        if abs(value) < 10_000 * size or unit == "T":
            break
    return f"{value / size:.10g}{unit}"


def time_ticks(start: datetime, end: datetime, most: int) -> list[datetime]:
    """Return round instants of the user's clock from `start` to `end`, both aware: about `most` of them, or fewer.

    Where clocks go back, the times that they show twice are included twice.
    """
    seconds = (end - start).total_seconds()
    step = next((each for each in _STEPS if seconds / each <= most), 604800 * (1 + int(seconds / 604800 / most)))
    first, last = (each.astimezone().replace(tzinfo=None) for each in (start, end))
    # Where clocks change between the two instants, the user's clock and the time that passes differ.
    change = abs((last - first) - (end - start))
    midnight, tick = first.replace(hour=0, minute=0, second=0, microsecond=0), timedelta(seconds=step)
    numbers = range(ceil((first - change - midnight) / tick), floor((last + change - midnight) / tick) + 1)
    found = (each for number in numbers for each in instants_of(midnight + number * tick))
    return sorted(each for each in found if start <= each <= end)


def instants_of(at: datetime, zone: tzinfo | None = None) -> list[datetime]:
    """Return the instants at which clocks of a zone, by default the user's, show a time.

    That is one instant, two where clocks go back, none where they go forward.
    """
    zoned = [at.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    shown = [each for each in zoned if each.astimezone(zone).replace(tzinfo=None, fold=0) == at]
    return sorted(dict.fromkeys(shown))


def time_label(at: datetime, seconds: float) -> str:
    """Return an instant as a tick label, as short as an axis of that many seconds allows."""
    form = "%H:%M:%S" if seconds < 600 else "%H:%M" if seconds < _DAY else "%m-%d %H:%M"
    return at.astimezone().strftime("%m-%d" if seconds > 4.5 * _DAY else form)
