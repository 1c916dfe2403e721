"""The processes that share the tests: all that they tell comes through, and one that dies is told of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.run import ROOT, environment

TESTS = {
    "passes": "import pytest\n@pytest.fixture(scope='session')\ndef end(): yield; print('torn down')\n"
    "def test_one(tmp_path, end): pass\ndef test_two(): pytest.skip('not here')\n",
    "fails": "def test_three():\n    print('what it printed')\n    assert 1 == 2\n",
    "dies": "import os\ndef test_four(): os._exit(3)\ndef test_five(): pass\n",
}


def test_all_is_told_of_whoever_ran_it_also_of_one_that_died(tmp_path: Path) -> None:
    for name, text in TESTS.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    words = (
        "-n3",
        "-q",
        "-rs",
        "-c",
        "/dev/null",
        "-p",
        "tests.workers",
        "-p",
        "no:xdist",
        "-p",
        "no:hypothesispytest",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(tmp_path)],
        cwd=ROOT, env=environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("2 failed, 1 passed, 1 skipped in "), done.stdout + done.stderr
    for text in ("what it printed", "assert 1 == 2", "the process of the tests ended here", "not here"):
        assert text in done.stdout
