"""Whether a file exists: yes, no, or the reason why it cannot be known."""

from __future__ import annotations

from pathlib import Path

import pytest

from presman.base.private_files import exists, is_file, is_folder


def answers(path: Path) -> list[bool]:
    return [question(path) for question in (exists, is_file, is_folder)]


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "to a file").symlink_to("a")
    (tmp_path / "to a folder").symlink_to(tmp_path)
    assert answers(tmp_path / "to a file") == answers(tmp_path / "a") == [True, True, False]
    assert answers(tmp_path / "to a folder") == answers(tmp_path) == [True, False, True]
    assert answers(Path("/dev/null")) == [True, False, False]


@pytest.mark.parametrize("name", ["none", "a/below a file", "to nothing", "to itself", "a zero \0 byte"])
def test_a_path_to_nothing_does_not_exist(tmp_path: Path, name: str) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "to nothing").symlink_to("none")
    (tmp_path / "to itself").symlink_to("to itself")
    assert answers(tmp_path / name) == [False, False, False]


@pytest.mark.parametrize("question", [exists, is_file, is_folder])
def test_a_path_that_cannot_be_checked_is_an_error(tmp_path: Path, question: object) -> None:
    with pytest.raises(OSError, match="File name too long"):
        question(tmp_path / ("a" * 5000))  # type: ignore[operator]
