"""A colour is a group's name: on all tabs, in charts and tables, from poll to poll, and in the report."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.theme import BUILTIN_THEMES

from presman.analysis.readings.session_readings import CLASSES
from presman.analysis.trends import Watch
from presman.analysis.trends.series import Series
from presman.base.colours import CLASS_STYLES, GROUP_HUES, GROUP_STYLES, HUES, ColourKey, GroupColours
from presman.figures.drawing.lines import plain
from presman.recording.reader import Recording
from presman.reports.report.incident import gather
from presman.reports.report.incident_page import incident_page
from presman.tabs import tab_names
from presman.tabs.charts import chart_data
from presman.tabs.parts import Moment
from presman.tui.widgets.gantt import GanttData, gantt
from presman.tui.widgets.line_api import AREAS, DEFAULT_THEMES, palette_of
from tests.analysis.test_simulated import SCENARIOS
from tests.recording.recorded import START, polled, record
from tests.thorough import THOROUGH, some
from tests.tui.drive import Stage, acted
from tests.tui.test_colours import SIGHT, apart, ink
from tests.tui.test_live import playing
from tests.yardstick import cost

GROUPED = ["adb", "pdb", "rac", "unclear_rac"]
"""Scenarios with services, containers, instances, and views that show what is not so."""

Names = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ABCDEFGHIJKL")), unique=True, max_size=12)


@given(Names, Names)
def test_groups_have_distinct_and_stable_colours(first: list[ColourKey], later: list[ColourKey]) -> None:
    colours = GroupColours(first)
    before = {key: colours.style(key[1], key[0]) for key in first}
    colours.add(later)
    styles = {key: colours.style(key[1], key[0]) for key in {*first, *later}}
    assert all(styles[key] == style for key, style in before.items())
    given_ones = [style for style in styles.values() if style]
    assert len(given_ones) == len(set(given_ones)) == min(len(GROUP_STYLES), len(styles))


@given(Names)
def test_the_order_of_groups_does_not_change_colours(groups: list[ColourKey]) -> None:
    one, other = GroupColours(groups), GroupColours(reversed(groups))
    assert all(one.style(name, con_id) == other.style(name, con_id) for con_id, name in groups)


def test_the_name_says_which_colour() -> None:
    """The check value of CRC-32 is 0xCBF43926 for "123456789": by 8 that leaves 6. Groups of users choose first."""
    name = "123456789"
    alone = GroupColours([(0, name)])
    assert alone.style(name) == GROUP_STYLES[6]
    assert GroupColours([(0, "SYS_GROUP"), (0, name), (0, "OTHER_GROUPS")]).style(name) == GROUP_STYLES[6]
    assert alone.style("WEB") == ""
    two = GroupColours([(3, name), (4, name)])
    assert (two.style(name, 3), two.style(name, 4)) == (GROUP_STYLES[6], GROUP_STYLES[7])
    assert two.style(name) == "", "which of them is not known"


@pytest.mark.parametrize("scenario", some(GROUPED, sorted({*SCENARIOS} - {*GROUPED})))
def test_every_group_of_a_scenario_has_one_colour_in_charts_and_report(scenario: str) -> None:
    """A screen that assigned colours poll by poll has those computed from all polls at once."""
    watch, series = Watch(), Series()
    everybody: set[ColourKey] = set()
    found: dict[ColourKey, set[str]] = defaultdict(set)
    readings = [reading for _, reading in polled(scenario, 300 if THOROUGH else 12)]
    for reading in readings:
        series.add(reading)
        watch.add(reading)
        moment = Moment(reading, watch=watch, series=series)
        everybody |= {(group.con_id, group.name) for group in reading.groups}
        for measure in ("used", "waiting", "io"):
            areas = [each for each in chart_data(moment, measure, measure, None).areas if each.keys]
            drawn = [each.style for each in areas if any(each.values)]
            assert len(drawn) == len(set(drawn)), "no colour stands for two groups on one chart"
            for area in areas:
                found[area.keys[0]].add(area.style)
        for key in everybody:
            found[key].add(moment.colours.style(key[1], key[0]))
    assert {len(styles) for styles in found.values()} == {1}, "no group has two colours"
    assert len(everybody) <= len(GROUP_STYLES)
    of_report = GroupColours(everybody)
    assert found == {key: {of_report.style(key[1], key[0])} for key in everybody}
    assert len({of_report.style(name, con_id) for con_id, name in everybody}) == len(everybody)


def painted(acting: Stage) -> Iterator[tuple[str, str]]:
    """Yield each text painted in the colour of a group or wait class; a mark belongs to the text after it."""
    palette = palette_of(acting.app.current_theme)
    styles = {palette[style].color: style for style in HUES}
    for strip in acting.app.screen._compositor.render_strips():
        segments = list(strip)
        for place, segment in enumerate(segments):
            style = styles.get(segment.style.color) if segment.style else None
            if style is None or segment.style is None or style == "others":
                continue
            text = segment.text.strip()
            if text == "■":
                after = segments[place + 1].text
                yield re.split(r"  | +[\d-]", after.strip())[0].strip(), style
            elif re.fullmatch(r"[\w$/ ]{3,}…?", text) and segment.style.bgcolor == palette[""].bgcolor:
                yield text, style


@pytest.mark.parametrize("scenario", some(["pdb", "storm"], sorted({*SCENARIOS} - {"pdb", "storm"})))
@pytest.mark.parametrize("size", some([(120, 35)], [(80, 24), (200, 50)]))
@acted
async def test_no_two_groups_share_a_colour_on_any_screen(scenario: str, size: tuple[int, int]) -> None:
    async with playing(scenario, size) as (acting, polls):
        acting.app.theme = DEFAULT_THEMES[0]  # of sixteen colours titles and states have some, too
        whole: dict[str, set[str]] = defaultdict(set)
        for _ in range(30 if THOROUGH else 1):
            await polls(3)
            watch = acting.app.monitor.timeline.watch
            for name in tab_names():
                if name.name == "pdbs":
                    continue  # its areas are containers
                await acting.keys(name.key)
                on_screen: dict[str, set[str]] = defaultdict(set)
                for text, style in painted(acting):
                    on_screen[style].add(text.rstrip("…").split(" (")[0])
                    whole[text].add(style)
                for style, texts in on_screen.items():
                    shortest = min(texts, key=len)
                    assert all(text.startswith(shortest) for text in texts), (name.name, style, texts)
        styles = {name: {style for (_, own), style in watch.colours._styles.items() if own == name} for name in whole}
        assert {name for name, own in styles.items() if own and not whole[name] <= own} == set()
        alone = [name for name, own in styles.items() if len(own) == 1]
        assert len(alone) > 1 or scenario in {"tenants", "noplan"}, "groups of one name, or one group"
        assert all(len(whole[name]) == 1 for name in alone), "no group has two colours"


@acted
async def test_wait_classes_have_the_colours_of_the_field_in_chart_and_table() -> None:
    async with playing("storm", (160, 45)) as (acting, polls):
        acting.app.theme = DEFAULT_THEMES[0]
        await polls(12)
        await acting.keys("9")
        found: dict[str, list[str]] = defaultdict(list)
        for text, style in painted(acting):
            if text in CLASS_STYLES:
                found[text].append(style)
        assert {"on CPU", "Scheduler"} <= found.keys()
        assert all(set(styles) == {CLASS_STYLES[name]} for name, styles in found.items())
        assert sum(len(styles) >= 2 for styles in found.values()) >= 2, "in the legend and in the table"


def hue(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return red, green, blue


def test_the_habit_of_the_field() -> None:
    """CPU green, User I/O blue, System I/O a lighter blue, Scheduler a lighter green, Commit orange, reds, brown."""
    page = {name: hue(HUES[style].page) for name, style in CLASS_STYLES.items()}
    assert set(page) == set(CLASSES)
    most = {name: "rgb"[rgb.index(max(rgb))] for name, rgb in page.items()}
    wanted = {"on CPU": "g", "Scheduler": "g", "User I/O": "b", "System I/O": "b", "Commit": "r", "Concurrency": "r",
              "Application": "r", "Configuration": "r"}  # fmt: skip
    assert {name: most[name] for name in wanted} == wanted
    assert sum(page["System I/O"]) > sum(page["User I/O"])
    assert sum(page["Scheduler"]) > sum(page["on CPU"])
    assert sum(page["Concurrency"]) < sum(page["Application"])
    assert page["Commit"][0] > page["Commit"][1] > page["Commit"][2]


def pairs(styles: Iterable[str]) -> Iterator[tuple[str, str]]:
    return combinations(styles, 2)


@pytest.mark.parametrize("name", DEFAULT_THEMES)
def test_all_colours_can_be_distinguished(name: str) -> None:
    """2.3 can just be noticed; groups differ by five times that for everybody, and by ten times for most."""
    palette = palette_of(BUILTIN_THEMES[name])
    for one, other in pairs(AREAS):
        assert min(apart(ink(palette, one), ink(palette, other), sight) for sight in SIGHT) > 11, (one, other)
        assert apart(ink(palette, one), ink(palette, other), "all cones") > 23, (one, other)
    for one, other in pairs(CLASS_STYLES.values()):
        assert apart(ink(palette, one), ink(palette, other), "all cones") > 10, (one, other)


def test_sixteen_colours_are_enough() -> None:
    assert len({each.ansi for each in GROUP_HUES}) == len(GROUP_HUES)
    assert len({HUES[style].ansi for style in CLASS_STYLES.values()}) == len(CLASS_STYLES)
    assert len({each.page for each in GROUP_HUES}) == len(GROUP_HUES)


def test_bars_of_the_gantt_have_the_colour_of_their_group() -> None:
    watch = Watch()
    readings = [reading for _, reading in polled("storm", 12)]
    for reading in readings:
        watch.add(reading)
        watch.colours.add((group.con_id, group.name) for group in reading.groups)
    end = readings[-1].at
    data = GanttData(watch.runs.within(START, end), end, 300.0, (), None, colours=watch.colours)
    seen: dict[str, set[str]] = defaultdict(set)
    for line in gantt(data, 120, 40)[1:-4]:
        name = plain(line).split()[0] if plain(line).strip() else ""
        styles = {style for text, style in line if set(text) & set("▁▂▃▄▅▆▇█")}
        seen[name] |= styles | ({line[0][1]} - {"", "dim"})
    assert {"BATCH", "REPORTS"} <= seen.keys()
    assert all(styles == {watch.colours.style(name)} for name, styles in seen.items() if styles)


def test_a_report_has_the_colours_of_the_screens(tmp_path: Path) -> None:
    moments = list(polled("pdb", 20))
    record(tmp_path / "a.presman", moments)
    with Recording(str(tmp_path / "a.presman")) as recording:
        playback = recording.playback()
        text = incident_page(gather(recording, playback, playback.indexes()), START)
    watch = Watch()
    on_screen = Moment(moments[-1][1], watch=watch).colours
    marks = set(re.findall(r'<b class="(group\d)">■</b> ([\w$]+)', text))
    marks |= set(re.findall(r'<b class="(group\d)">■\xa0</b><span>([\w$]+)</span>', text))
    names = {name for _, name in marks}
    assert {"ONLINE", "PAYROLL", "REPORTING"} <= names
    for name in ("ONLINE", "PAYROLL", "REPORTING"):
        assert {style for style, group in marks if group == name} == {on_screen.style(name)}


def test_groups_without_number_are_coloured_in_no_time() -> None:
    """Of each the colours of all others were looked through: 50,000 took half a minute."""
    made: list[GroupColours] = []
    took = cost(lambda: made.append(GroupColours((0, f"G{number}") for number in range(30_000))))
    assert took < 50
    colours = made[0]
    assert sum(bool(colours.style(f"G{number}", 0)) for number in range(30_000)) == len(GROUP_STYLES)
