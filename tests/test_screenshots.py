"""The program that makes the pictures works with the monitor as it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

from screenshots.make import FOLDER, SHOTS, Shot, picture


def test_a_picture_is_made() -> None:
    shot = Shot("statement", "storm", ("4", "d"), polls=1, size=(80, 24))
    assert "Queued&#160;statement&#160;7k36sd695fszu" in asyncio.run(picture(shot))


def test_the_folder_has_every_picture_and_no_other() -> None:
    assert {Path(file).stem for file in FOLDER.glob("*.svg")} == {shot.name for shot in SHOTS}
    assert {Path(file).stem for file in FOLDER.glob("*.png")} == {shot.name for shot in SHOTS}
