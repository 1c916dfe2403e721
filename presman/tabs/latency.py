"""Tab 7 Latency: is it slow storage, or is it the plan? Wait histograms, now and over time."""

from collections.abc import Sequence

from presman.analysis.latency import histograms
from presman.analysis.latency.histograms import EventLatency, Latency
from presman.figures.histogram_figures import BUCKETS, EVENTS, FACTS, HISTOGRAMS, span_text
from presman.rows.queries import DetailLevel
from presman.tabs.parts import Key, Moment, Rows, Tab


def events(moment: Moment) -> Sequence[EventLatency]:
    """Return the events with a histogram."""
    return histograms.events(moment.reading, by_instance=moment.by_instance)


def alike(moment: Moment) -> set[str]:
    """Return the columns to hide if all instances are shown together."""
    return set() if moment.by_instance else {"inst_id"}


def over(moment: Moment) -> str:
    """Return the time that the rates of events cover."""
    return "" if moment.reading.interval is None else f"in the last {span_text(moment.reading.interval)}"


def latencies(moment: Moment) -> list[Latency]:
    """Return the latency of each histogram in the last interval, if there is one, and since startup."""
    found = histograms.summaries(moment.reading)
    return [each for one in found for each in (one.now, one.startup) if each is not None]


TAB = Tab(
    parts=(
        Rows(EVENTS, events, alike, over, in_text=0),
        Rows(FACTS, lambda _: (), filterable=False),
        Rows(BUCKETS, lambda _: (), filterable=False),
    ),
    for_text=(Rows(HISTOGRAMS, latencies),),
    notes=(
        "The heat maps have a column per poll and a row per bucket, the longest waits on top; the shades span four "
        "powers of ten. Histograms are read at each poll while this tab is open or its CSV file is written, else "
        "once a minute: then a column is a minute. Frequency is waits per second, intensity seconds waited per "
        "second, estimated at 0.75 of the bucket's bound. Below them, on the same time axis, the CPUs waited for "
        "(throttled): full height is all CPUs, or more. Long waits without throttling mean slow storage; with "
        "throttling the plan may cause them. ┆ marks where a plan was activated, by which window.",
        "m shows the maps on the whole tab. In a map ↑ and ↓ choose the bucket, ← and → the poll. b changes the "
        "period of the buckets; on a small screen it switches between figures and buckets, in place of the maps. "
        "o asks for I/O outliers.",
    ),
    keys=(
        Key("maps", "m", "m", "maps", "Show the heat maps on the whole tab, and back."),
        Key("next_span", "b", "b", "buckets", "Buckets of the window, since startup, or now."),
        Key("outliers", "o", "o", "outliers", "Ask for the I/O outliers (V$IO_OUTLIER, V$LGWRIO_OUTLIER), once."),
    ),
    panel="presman.tui.panels.latency_panel:LatencyPanel",
    over_time=True,
    detail_level=DetailLevel.HISTOGRAMS,
    measure="latency",
)
