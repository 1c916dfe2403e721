"""The examples of CONTRIBUTING.md, carried out in a copy of the project, with their tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("presman", "queries", "tests", "docs")
FILES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "config.ini", "pyproject.toml")
BLOCK = re.compile(r"`(?P<path>[\w./]+)`[^`\n]*(?:\n[^`\n]+)*:\n\n```(?:sql|python|text)\n(?P<text>.*?)```", re.DOTALL)

INSIDE = {"presman/figures/session_figures.py": '        Session("state", "RM state"'}
"""What stands behind the place of a text that does not stand at the end of its file."""

VIEW, COLUMN = "A view", "A column of sessions"
MOST_FILES, MOST_LINES = 4, 60


def example(heading: str) -> dict[str, str]:
    """Return the files of the example, by path."""
    whole = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = whole.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return {found["path"]: found["text"] for found in BLOCK.finditer(section)}


def write(folder: Path, heading: str) -> None:
    """Write the files of the example into a folder, those that the project has with what is added to them."""
    for path, text in example(heading).items():
        file, own = folder / path, ROOT / path
        before = own.read_text(encoding="utf-8") if own.exists() else ""
        place = before.rindex(INSIDE[path]) if path in INSIDE else len(before)
        if "BYTES" in text:
            place += len("BYTES, ")
            before = before.replace("import COUNT,", "import BYTES, COUNT,")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(before[:place] + text + before[place:], encoding="utf-8")


def written(files: dict[str, str]) -> int:
    """Return the lines to write, without blank ones."""
    return sum(1 for text in files.values() for line in text.splitlines() if line.strip())


def copy(folder: Path) -> None:
    """Copy what the tests need, with what Python has compiled of it: most is as it was."""
    subprocess.run(["cp", "-Rp", *FOLDERS, *FILES, str(folder)], cwd=ROOT, check=True)


def run(folder: Path, *command: str, **environment: str) -> str:
    """Run a module of Python there and return its output; it must succeed.

    Its tests are no part of those that run here: they share nothing with the other workers.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**own, "PYTHONPATH": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("heading", [VIEW, COLUMN])
def test_a_view_costs_four_files_and_sixty_lines(heading: str) -> None:
    files = example(heading)
    assert len(files) == MOST_FILES
    assert written(files) < MOST_LINES, "and one for what is imported"


@pytest.mark.parametrize("heading", [VIEW, COLUMN])
def test_the_example_is_written_as_make_check_wants_it(heading: str, tmp_path: Path) -> None:
    write(tmp_path, heading)
    code = [each for each in example(heading) if each.endswith(".py")]
    config = (f"--config={ROOT / 'pyproject.toml'}", "--config=lint.isort.known-first-party=['presman', 'tests']")
    run(tmp_path, "ruff", "format", "--diff", *config, *code)
    run(tmp_path, "ruff", "check", *config, *code)


real = pytest.mark.skipif(
    not os.environ.get("PRESMAN_REAL"), reason="make test-real runs it: it tests a copy of the project"
)


@real
def test_the_column_works_in_a_copy_of_the_project(tmp_path: Path) -> None:
    copy(tmp_path)
    write(tmp_path, COLUMN)
    run(tmp_path, "docs.make")
    assert "GV_$SQL_WORKAREA_ACTIVE" in (tmp_path / "docs/reference/views.md").read_text(encoding="utf-8")
    assert "| Memory | bytes |" in (tmp_path / "docs/tabs/sessions.md").read_text(encoding="utf-8")
    tests = (
        "tests/queries",
        "tests/output/test_figures.py",
        "tests/output/test_work_areas.py",
        "tests/sources/simulator/test_source.py",
        "tests/sources/simulator/test_unchanged.py",
        "tests/recording/test_exactness.py",
        "tests/recording/test_redaction.py",
        "tests/tui/test_every_tab.py",
        "tests/tui/test_row_pages.py",
        "tests/tui/test_screens.py",
        "tests/docs/test_written.py",
    )
    output = run(tmp_path, "pytest", "-n0", *tests, "-k", "not some_scenario", PRESMAN_UPDATE_GOLDEN="1")
    assert int(re.findall(r"(\d+) passed", output)[-1]) > 100
    granted = run(tmp_path, "presman", "grants")
    assert "GV_$SQL_WORKAREA_ACTIVE" in granted
    printed = run(tmp_path, "presman", "once", "demo:storm", "--format", "csv", "--measure", "sessions")
    assert "work_area,work_area_bytes,temp_bytes" in printed


@real
def test_the_view_works_in_a_copy_of_the_project(tmp_path: Path) -> None:
    copy(tmp_path)
    write(tmp_path, VIEW)
    run(tmp_path, "docs.make")
    assert "`0` Limits" in (tmp_path / "docs/tabs/keys.md").read_text(encoding="utf-8")
    assert "| Resource | text |" in (tmp_path / "docs/tabs/limits.md").read_text(encoding="utf-8")
    tests = (
        "tests/queries",
        "tests/output/test_figures.py",
        "tests/tui/test_every_tab.py",
        "tests/tui/test_limits_tab.py",
        "tests/tui/test_screens.py",
        "tests/docs/test_written.py",
    )
    chosen = "(limits or resource or reader or the_frame or each_width or own) and not some_scenario"
    output = run(tmp_path, "pytest", "-n0", *tests, "-k", chosen, PRESMAN_UPDATE_GOLDEN="1")
    assert int(re.findall(r"(\d+) passed", output)[-1]) > 11, "the query's tests, every tab's, its own"
    golden = ROOT / "tests/tui/golden"
    changed = [
        path.name for path in golden.iterdir() if path.read_text() != (tmp_path / path.relative_to(ROOT)).read_text()
    ]
    assert changed == ["frame.txt"], "the line of tabs is all that is new on other tabs"
    assert "0 Limits" in (tmp_path / "tests/tui/golden/frame.txt").read_text(encoding="utf-8")
    printed = run(tmp_path, "presman", "once", "demo:quiet", "--format", "text")
    assert "Limited resources" in printed
