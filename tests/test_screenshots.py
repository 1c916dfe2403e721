"""The program that makes the pictures works with the current monitor; the animation is small and has no script."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from rich.segment import Segment
from rich.style import Style

from screenshots.drawing import HIGH, NO_BREAK, WIDE, Scene, svg
from screenshots.make import FILM, FOLDER, SHOTS, Shot, Step, film, picture

RED = Style(color="#ff0000", bgcolor="#000000")


def test_a_picture_is_made() -> None:
    shot = Shot("statement", "storm", ("4", "d"), polls=1, size=(80, 24))
    assert "Queued statement 7k36sd695fszu" in asyncio.run(picture(shot)).replace(NO_BREAK, " ")


def test_bars_are_rectangles_on_whole_pixels_and_words_stand_where_they_belong() -> None:
    """Six cells of 10 x 20 pixels: a word, a blank, two full blocks as one, one of three eighths from below."""
    made = svg([Scene([[Segment("ab ██▃", RED)]], "title")])
    blocks = re.findall(r'<rect x="(\d+)" width="(\d+)" y="([\d.]+)" height="([\d.]+)" fill="#ff0000"/>', made)
    assert blocks == [(str(3 * WIDE), str(2 * WIDE), "0", str(HIGH)), (str(5 * WIDE), str(WIDE), "12.5", "7.5")]
    assert f'<rect x="0" width="{6 * WIDE}" height="{HIGH}" fill="#000000"/>' in made
    assert re.findall(r'<text x="0" y="15" textLength="20" fill="#ff0000">(\w+)</text>', made) == ["ab"]


def test_a_film_shows_each_scene_in_its_time_and_unchanged_lines_once() -> None:
    scenes = [Scene([[Segment("same")], [Segment(word)]], word, 2.0) for word in ("one", "two", "two")]
    made = svg(scenes)
    assert len(re.findall(r'<g id="l\d+">', made)) == 3, "same, one and two"
    assert "@keyframes k0{0.00%{visibility:visible}33.33%{visibility:hidden}}" in made
    assert "@keyframes k2{0%{visibility:hidden}66.67%{visibility:visible}}" in made
    assert "animation:k1 6s step-end infinite" in made
    assert "prefers-reduced-motion" in made


def test_the_film_is_of_the_monitor() -> None:
    steps = (Step((), 0, "first", 1.0), Step(("4",), 1, "then", 1.0))
    made = asyncio.run(film(Shot("film", "quiet", polls=1, size=(80, 24)), steps)).replace(NO_BREAK, " ")
    assert "[1 Overview]" in made
    assert "[4 Parallel]" in made


def test_the_film_that_is_shown_is_small_and_has_no_script() -> None:
    made = (FOLDER / f"{FILM}.svg").read_text(encoding="utf-8")
    assert len(made.encode()) < 600_000
    assert "<script" not in made
    assert "http" not in made.replace("http://www.w3.org/2000/svg", "")
    seconds = {float(each) for each in re.findall(r"animation:k\d+ ([\d.]+)s", made)}
    assert len(seconds) == 1
    assert 18 <= seconds.pop() <= 25


def test_the_folder_has_exactly_the_pictures() -> None:
    names = {shot.name for shot in SHOTS}
    assert {Path(file).stem for file in FOLDER.glob("*.svg")} == {*names, FILM}
    assert {Path(file).stem for file in FOLDER.glob("*.png")} == names
