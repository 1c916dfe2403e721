"""Redaction: names and texts are removed, all else remains."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.recording.redaction import KEPT, Redactor, lasting_key
from presman.rows.group_rows import ConsumerGroup
from presman.rows.queries import Focus, by_query, field_types
from presman.rows.session_rows import Session
from presman.rows.snapshot import REMEMBERED, SHOWN, Section, Snapshot
from tests.recording.recorded import polled, record


def test_every_name_kept_is_a_text_field() -> None:
    records = (*by_query().values(), *SHOWN, *REMEMBERED)
    assert {name for each in records for name, (kind, _) in field_types(each).items() if kind is str} >= KEPT


def test_a_text_that_no_list_names_is_renamed() -> None:
    class Banner(NamedTuple):
        inst_id: int
        network_banner: str
        value: str

    (snapshot, _), *_ = polled("queueing", 1)
    original = replace(snapshot, sections={Banner: Section((Banner(1, "our host", "our own"), Banner(2, "", "")))})
    first, second = Redactor()(original).rows(Banner)
    assert re.fullmatch(r"NETWORK_BANNER_\w{8} VALUE_\w{8}", f"{first.network_banner} {first.value}")
    assert second == Banner(2, "", "")


def _secrets(snapshots: list[Snapshot]) -> set[str]:
    """Return the words that must not remain: names and statements."""
    found: set[str] = set()
    for snapshot in snapshots:
        for each in snapshot.rows(Session):
            found |= {
                each.username,
                each.osuser,
                each.machine,
                each.program.partition(" (P")[0],
                each.module,
                each.client_identifier,
            }
        for records, name in ((snapshot.sections, "sql_text"), (snapshot.sections, "host_name")):
            found |= {getattr(row, name) for section in records.values() for row in section.rows if hasattr(row, name)}
    groups = {row.name for snapshot in snapshots for row in snapshot.rows(ConsumerGroup)}
    return {word for word in found - groups if len(word) > 2 and word.upper() not in {"SYS", "SYSTEM"}}


def test_a_redacted_file_has_no_names(tmp_path: Path) -> None:
    for scenario in ("mixed", "pdb"):
        snapshots = [snapshot for snapshot, _ in polled(scenario, 3, focus=Focus(1, 1))]
        redactor = Redactor()
        redacted = [redactor(snapshot) for snapshot in snapshots]
        path = tmp_path / f"{scenario}.presman"
        pairs = zip([None, *redacted], redacted, strict=False)
        record(path, [(now, analyse(before, now)) for before, now in pairs])
        plain = repr(redacted)
        content = path.read_bytes().decode("latin-1")
        for word in _secrets(snapshots):
            assert f"'{word}'" not in plain
            if len(word) > 5:
                assert word not in content, word


def test_redacted_names_are_stable_for_one_user_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (snapshot, _), *_ = polled("queueing", 1)
    first, again, other = Redactor(lasting_key()), Redactor(lasting_key()), Redactor()
    assert first(snapshot).sections == again(snapshot).sections
    named = [{row.username for row in each(snapshot).rows(Session)} - {"SYS"} for each in (first, other)]
    assert named[0]
    assert not named[0] & named[1]
    path = tmp_path / "presman" / "redaction.key"
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"cut short")
    assert len(lasting_key()) == 32


def test_redaction_does_not_change_figures(tmp_path: Path) -> None:
    moments = list(polled("queueing", 6))
    redactor = Redactor()
    redacted = [redactor(snapshot) for snapshot, _ in moments]
    for (before, now), (_, reading) in zip(zip([None, *redacted], redacted, strict=False), moments, strict=True):
        other = analyse(before, now)
        assert [(each.used, each.verdict, each.px_queued) for each in other.groups] == [
            (each.used, each.verdict, each.px_queued) for each in reading.groups
        ]
        assert [(each.position, each.sql_id, each.requested, each.wants) for each in other.queue] == [
            (each.position, each.sql_id, each.requested, each.wants) for each in reading.queue
        ]
        assert [(head.cause, head.sentence) for head in other.heads] == [
            (head.cause, head.sentence) for head in reading.heads
        ]
        names = [(each.user, other_one.user) for each, other_one in zip(reading.queue, other.queue, strict=True)]
        assert len(set(names)) == len({name for name, _ in names})
