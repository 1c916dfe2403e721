"""Report of the benchmarks: one line per figure, and whether it kept to its bar."""

from __future__ import annotations


class Report:
    """Prints figures one by one and remembers whether one missed its bar."""

    def __init__(self) -> None:
        self.missed_bars = 0
        print(f"{'what':<58}{'presman':>14}{'yardstick':>14}{'ratio':>8}  bar")

    def line(self, what: str, value: float, unit: str, *, bar: float, yardstick: float | None = None) -> None:
        """Print one figure. `bar` is for the ratio if there is a yardstick, else for the figure itself."""
        judged = value / yardstick if yardstick else value
        beyond = judged > bar
        self.missed_bars += beyond
        digits = 2 if unit == "s" else 1
        beside = f"{yardstick:>11.{digits}f} {unit:<2}" if yardstick else f"{'':>14}"
        ratio = f"{judged:>7.2f}x" if yardstick else f"{'':>8}"
        limit = f"<= {bar:g}{'x' if yardstick else ' ' + unit}"
        missed = "  MISSED" if beyond else ""
        print(f"{what:<58}{value:>11.{digits}f} {unit:<2}{beside}{ratio}  {limit}{missed}", flush=True)
