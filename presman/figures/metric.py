"""A metric as a value: a figure with the name, type and unit that Prometheus and OpenTelemetry expect.

Name, unit and help follow from the figure, so that a metric cannot contradict it: base units (seconds, bytes, ratios of
0 to 1), `_total` for counters, `_info` for words without a number.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from math import isfinite
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct

from presman.figures.figure import Figure

T = TypeVar("T")

NAMESPACE = "presman_"

Labels = Mapping[str, str]
"""Label names and values that distinguish one series from another; none is empty."""

_BRACKETS = re.compile(r" \([^()]*\)")

NO_LABELS: Labels = MappingProxyType({})


class MetricKind(Enum):
    """The type of a metric: which arithmetic its numbers allow."""

    GAUGE = "gauge"
    COUNTER = "counter"
    INFO = "info"
    HISTOGRAM = "histogram"


class Distribution(NamedTuple):
    """The value of a histogram: its bucket bounds, the count below each, the total count, and the sum of the waits.

    `sum` is None if it is not measured.
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: int
    sum: float | None


class MetricSample(NamedTuple):
    """One number of one series."""

    labels: Labels
    value: float | Distribution


class Metric(Struct, Generic[T], frozen=True):
    """One metric of rows `T`.

    `name` is the name in queries; `unit` is seconds, bytes, ratio, or "" for counts. `value` gets the number from a
    row, None if it is not known; for INFO, `facts` gets the labels that `words` names instead. `labels` are fixed:
    metrics of the same name differ in them.
    """

    name: str
    kind: MetricKind
    unit: str
    help: str
    value: Callable[[T], Any]
    labels: Labels = NO_LABELS
    facts: Callable[[T], Labels] | None = None
    words: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """The name without the suffix of its type."""
        return self.name.removesuffix({"counter": "_total", "info": "_info"}.get(self.kind.value, ""))

    @property
    def summary(self) -> str:
        """The first sentence of the help without brackets, kept short because every scrape repeats it."""
        return f"{_BRACKETS.sub('', self.help).partition('. ')[0].rstrip('.')}."


class Base(NamedTuple):
    """A base unit: the key suffix that is converted to it, its name, and the conversion."""

    suffix: str
    unit: str
    convert: Callable[[Any], Any]


def _same(value: Any) -> Any:
    return value


BASES = (
    Base("_percent", "ratio", lambda value: value / 100),
    Base("_share", "ratio", _same),
    Base("_ms", "seconds", lambda value: value / 1_000),
    Base("_us", "seconds", lambda value: value / 1_000_000),
    Base("_s", "seconds", _same),
    Base("_mb", "bytes", lambda value: value * (1 << 20)),
    Base("_bytes", "bytes", _same),
)
"""The units that figure keys end in."""

_WORDS = (
    ("Milliseconds", "Seconds"),
    ("Microseconds", "Seconds"),
    ("Megabytes", "Bytes"),
    ("Percent of", "Part of"),
    ("; empty without", "; absent without"),
)
"""Words on units and missing values in the help of figures, and their replacements in the help of metrics."""

_COUNTED = "_total"


def of_figure(prefix: str, figure: Figure[T], stem: str = "", labels: Labels = NO_LABELS) -> Metric[T]:
    """Return the metric of a figure. `stem` replaces its key, including the unit, if that makes a poor name."""
    key = stem or figure.key
    kind = MetricKind.COUNTER if key.endswith(_COUNTED) else MetricKind.GAUGE
    bare = key.removesuffix(_COUNTED)
    base = next((each for each in BASES if bare.endswith(each.suffix)), Base("", "", _same))
    name = bare.removesuffix(base.suffix) + (f"_{base.unit}" if base.unit else "")
    counted = _COUNTED if kind is MetricKind.COUNTER else ""
    get, convert = figure.value, base.convert

    def value(row: T) -> Any:
        found = get(row)
        return None if found is None else convert(found)

    return Metric(f"{NAMESPACE}{prefix}{name}{counted}", kind, base.unit, in_base_units(figure.help), value, labels)


def in_base_units(text: str) -> str:
    """Return a figure's help with the units of its metric.

    >>> in_base_units("Milliseconds that calls waited.")
    'Seconds that calls waited.'
    """
    for word, base in _WORDS:
        text = text.replace(word, base).replace(word.lower(), base.lower())
    return text


def of_figures(prefix: str, figures: Iterable[Figure[T]]) -> tuple[Metric[T], ...]:
    """Return the metrics of figures."""
    return tuple(of_figure(prefix, figure) for figure in figures)


def info(name: str, text: str, words: Mapping[str, Callable[[T], Any]]) -> Metric[T]:
    """Return the metric whose number is 1 and whose labels are words of a row."""

    def facts(row: T) -> Labels:
        return {label: text for label, get in words.items() if (text := _word(get(row)))}

    return Metric(f"{NAMESPACE}{name}_info", MetricKind.INFO, "", text, lambda _: 1, facts=facts, words=tuple(words))


def _word(value: Any) -> str:
    if isinstance(value, Enum):
        return value.name.lower()
    return "" if value is None else str(value)


class Subject(Struct, Generic[T], frozen=True):
    """The subject of some metrics: its rows in an observation, the labels that distinguish them, and the metrics.

    `title` is its name in the documentation.
    """

    title: str
    labels: Mapping[str, Callable[[T], str]]
    rows: Callable[[Any], Iterable[T]]
    metrics: tuple[Metric[T], ...]

    def labelled(self, observation: Any, common: Labels) -> list[tuple[T, Labels]]:
        """Return the rows with their labels, which follow the `common` ones; only the first row of equal labels."""
        found: dict[tuple[str, ...], tuple[T, Labels]] = {}
        for row in self.rows(observation):
            values = tuple(get(row) for get in self.labels.values())
            # OpenMetrics allows each series only once on a page.
            if values not in found:
                labels = {name: value for name, value in zip(self.labels, values, strict=True) if value}
                found[values] = row, {**common, **labels}
        return list(found.values())


def samples(subject: Subject[T], observation: Any, common: Labels) -> Iterator[tuple[Metric[T], list[MetricSample]]]:
    """Yield each metric of a subject with its series in an observation."""
    rows = subject.labelled(observation, common)
    for metric in subject.metrics:
        yield metric, [sample for row, labels in rows if (sample := _sample(metric, row, labels)) is not None]


def _sample(metric: Metric[T], row: T, labels: Labels) -> MetricSample | None:
    value = metric.value(row)
    if value is None:
        return None
    if metric.labels or metric.facts is not None:
        labels = {**labels, **metric.labels, **(metric.facts(row) if metric.facts is not None else {})}
    if isinstance(value, Distribution):
        return MetricSample(labels, value)
    try:
        number = float(value)
    except OverflowError:  # an integer of a database that no float can hold
        return None
    return MetricSample(labels, number) if isfinite(number) else None
