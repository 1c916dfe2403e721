"""`presman why` of a recording: what a statement waited for since it arrived."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from presman.cli import look_command
from presman.output.json_document import plain
from tests.cli.run import Run
from tests.recording.recorded import polled, record
from tests.scenarios import without


def test_an_unknown_reason_is_no_answer(inside: Run, tmp_path: Path) -> None:
    """The view that shows which servers a limit counts does not answer, so presman only sees that it is queued."""
    without(tmp_path, "rac", "V$RSRC_CONSUMER_GROUP")
    document = json.loads(inside("once", "demo:rac.toml", "--format", "json").stdout)
    found = document["heads"][0]["statement"]
    done = inside("why", "demo:rac.toml", f"{found['inst_id']}:{found['sid']}", "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["statement"]["reason"]) == (3, "unknown")


def test_a_wait_longer_than_forecasts_look_back(inside: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reasons begin at the poll at which it was first seen, or at the next poll that is read."""
    monkeypatch.setattr(look_command, "LEADING_POLLS", 10)
    moments = list(polled("holders", 36))
    record(tmp_path / "a.presman", moments)
    row = max(moments[-1][1].queue, key=lambda each: each.waited or 0.0)
    seen = [reading.at for _, reading in moments if row.executing() in {each.executing() for each in reading.queue}]
    asked = f"{row.inst_id}:{row.sid},{row.serial}"
    for most, apart in ((200, 1), (7, 15)):
        assert len(seen) > 10 + apart
        monkeypatch.setattr(look_command, "_MOST_BEFORE", most)
        found = json.loads(inside("why", "a.presman", asked, "--format", "json").stdout)
        assert [plain(each) for each in seen].index(found["reasons"][0]["since"]) in range(apart)
    assert "one poll in" in inside("why", "a.presman", asked).stdout, "of those before it that are read"
