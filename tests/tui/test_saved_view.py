"""Settings saved for each database; going to names, columns, another target, the bell."""

from __future__ import annotations

import json
import os
from pathlib import Path
from unittest import mock

import pytest
from msgspec.structs import replace

from presman.analysis.alerts.judge import AlertChanges
from presman.analysis.readings.reading import Alert, Reading, Severity
from presman.tabs.go_to import goal
from presman.tui import saved_view
from presman.tui.saved_view import SavedView, ViewSaver
from tests.tui.drive import acted, stage
from tests.tui.readings import busy, queued
from tests.tui.test_live import playing


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "presman" / "view.json"


def view_file(state: Path, text: str) -> Path:
    assert saved_view.path() == state
    state.parent.mkdir(parents=True, mode=0o700)
    state.write_text(text)
    return state


@acted
async def test_settings_except_filters_are_restored_at_the_next_start(state: Path) -> None:
    async with stage(busy(), size=(120, 30)) as acting:
        acting.app.view_saver = ViewSaver()
        acting.app.restore_view()
        assert saved_view.SAVED not in await acting.press("5", "9"), (
            "a tab that is opened has tables, and nothing is saved"
        )
        assert not state.exists()
        assert saved_view.SAVED in await acting.press("t"), "the notice says that it holds for all databases"
        assert saved_view.SAVED not in await acting.press("plus")
        await acting.keys("5", "s", "S", "u", "O", "space", "down", "space", "enter")
        theme, shown = acting.app.theme, acting.screen.splitlines()[4:11]
        assert " Session " not in shown[1]
        assert acting.screen != await acting.press("slash", *"app", "enter")
        assert "filter: app" in acting.screen
    assert "app" not in saved_view.path().read_text()
    assert saved_view.path().stat().st_mode & 0o077 == 0
    async with stage(size=(120, 30)) as acting:
        acting.app.view_saver = ViewSaver()
        acting.app.restore_view()
        await acting.show(busy())
        await acting.keys("5")
        assert acting.screen.splitlines()[4:11] == shown, "all rows: the filter is not restored"
        assert acting.app.theme == theme
        assert (acting.app.monitor.choices.refresh, acting.feed.requests[-1]) == (3.0, 3.0)
        assert acting.app.monitor.choices.unfolded
        await acting.keys("O", "r")
        assert " Session " in acting.screen.splitlines()[5]
    assert saved_view.load()[0].columns == {}


@acted
async def test_forgetting_saved_settings_leaves_the_screen_unchanged(state: Path) -> None:
    async with stage(busy(), size=(120, 30)) as acting:
        acting.app.view_saver = ViewSaver()
        acting.app.restore_view()
        await acting.keys("5", "S")
        assert state.exists()
        offered = {each.title: each.callback for each in acting.app.get_system_commands(acting.app.screen)}
        before, notices = acting.app.panels.grid.rows.descending, []
        for _ in range(2):
            offered["forget the saved settings"]()
            await acting.settle()
            notices += [each.message for each in acting.app._notifications]
        assert notices == ["Settings are forgotten: the next start uses config.ini.", "Nothing was saved."]
        assert acting.app.panels.grid.rows.descending is before
        assert (acting.app.panels.saved, acting.app.view_saver.choices) == (SavedView(), {})
    assert not state.exists()


@acted
async def test_the_interval_of_a_recording_is_not_saved() -> None:
    async with stage(busy(), size=(120, 30)) as acting:
        acting.app.replayed = mock.Mock
        acting.app.view_saver = ViewSaver(["refresh"])
        acting.app.restore_view()
        acting.app.monitor.choose(refresh=60.0)  # as a replay does when it has read its first poll
        await acting.keys("s")
    kept = json.loads(saved_view.path().read_text())
    assert kept["sorts"]
    assert "refresh" not in kept


@acted
async def test_a_reversed_unsorted_order_is_not_saved() -> None:
    async with stage(busy()) as acting:
        acting.app.view_saver = ViewSaver()
        acting.app.restore_view()
        await acting.keys("1", "S")
        assert "last row first" in acting.screen
    assert not any(name.startswith("overview/") for name in saved_view.load()[0].sorts)


@acted
async def test_settings_saved_by_another_presman_are_kept() -> None:
    async with stage(busy()) as acting:
        acting.app.view_saver = ViewSaver()
        acting.app.restore_view()
        saved_view.save(SavedView(theme="nord", sorts={"fleet": ("target", True)}))
        await acting.keys("w", "5", "S")
    kept = saved_view.load()[0]
    assert (kept.theme, kept.window, kept.sorts["fleet"]) == ("nord", 60, ("target", True))
    assert set(kept.sorts) == {"fleet", "sessions/sessions"}


@acted
async def test_options_override_saved_settings_and_are_not_saved() -> None:
    saved_view.save(SavedView(refresh=10.0, theme="nord"))
    async with stage(busy()) as acting:
        acting.app.view_saver = ViewSaver(["refresh"])
        acting.app.restore_view()
        await acting.keys("w")
        assert (acting.app.monitor.choices.refresh, acting.app.theme) == (2.0, "nord")
    assert saved_view.load()[0] == SavedView(refresh=10.0, theme="nord", window=60)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"), ("{", "not JSON"), ("[" * 50_000, "not JSON"), ("[]", "no object"),
        ('{"refresh": true}', "refresh"),
        ('{"refresh": 1e999}', "refresh"), ('{"refresh": -1}', "refresh"), ('{"theme": 3}', "theme"),
        ('{"sorts": {"cpu\\u001b[2J": ["group", true]}}', "sorts"), ('{"fleet_refresh": "x"}', "fleet_refresh"),
        ('{"sorts": {"cpu/cpu": "x"}}', "sorts"), ('{"columns": {"cpu/cpu": [{}]}}', "columns"),
        ("x" * 70_000, "bytes"),
    ],
)  # fmt: skip
def test_an_invalid_file_is_reported_in_one_line(state: Path, text: str, why: str) -> None:
    view_file(state, text)
    view, reason = saved_view.load()
    assert view == SavedView()
    assert why in reason
    assert reason.isprintable()


def test_links_pipes_and_hard_linked_files_are_not_read(state: Path, tmp_path: Path) -> None:
    path = view_file(state, "{}")
    path.unlink()
    (tmp_path / "aim").write_text('{"theme": "nord"}')
    path.symlink_to(tmp_path / "aim")
    assert "it is a link" in saved_view.load()[1]
    path.unlink()
    os.mkfifo(path)
    assert "it is not a file" in saved_view.load()[1]
    path.unlink()
    path.hardlink_to(tmp_path / "aim")
    assert "it has a second hard link" in saved_view.load()[1]


@acted
async def test_unknown_names_in_the_file_do_no_harm(state: Path) -> None:
    names = {"x/y": ["a", True], "sessions/sessions": ["nothing", True]}
    columns = {"sessions/sessions": ["nothing"], "cpu/cpu": ["group", "used_cpus", "group", "nothing"]}
    view_file(state, json.dumps({"sorts": names, "columns": columns, "theme": "no such", "of a later version": 1}))
    async with stage(busy(), size=(120, 30)) as acting:
        acting.app.view_saver = ViewSaver()
        acting.app.restore_view()
        assert acting.app.view_saver.trouble == ""
        await acting.keys("5")
        assert acting.app.panels.grid.rows.sort_key == "used_cpus"
        assert "1:100,11" in acting.screen


@acted
async def test_a_name_leads_anywhere() -> None:
    async with playing("rac", (120, 30)) as (acting, polls):
        await polls(2)
        for text, seen in (
            ("4", "[4 Parallel]"), ("lat", "[7 Latency]"), ("shop", " › SHOP   "), ("instance 2", " › instance 2   "),
            ("zork", "zork: no tab, group"), ("", "Nothing: no tab"),
        ):  # fmt: skip
            assert seen in await acting.press("colon", *text, "enter"), text
        row = acting.app.monitor.reading.sessions[0]
        page = await acting.press("colon", *f"{row.inst_id}:{row.sid}", "enter")
        assert f"Session {row.inst_id}:{row.sid},{row.serial} of " in page
        running = acting.app.monitor.reading.running[0]
        assert f" › {running.sql_id}\n" in await acting.press("colon", *running.sql_id, "enter")
        before = acting.screen
        assert before == await acting.press("colon", "x", "escape")


@acted
async def test_a_name_leads_away_from_a_database_that_does_not_answer() -> None:
    async with stage() as acting:
        acting.app.targets = ("DWPROD", "storm")
        assert "DWPROD is already shown." in await acting.press("colon", *"DWPROD", "enter")
        assert acting.app.switch_to == ""
        await acting.keys("colon", *"storm", "enter")
        assert acting.app.switch_to == "storm"


def test_ambiguous_names_are_not_guessed() -> None:
    reading = replace(busy(), queue=(queued(1),))
    assert goal("sess", reading, (), ()).tab == "sessions"
    assert "may be" in goal("p", reading, ("pdbs",), ("prod",)).trouble
    assert goal("prod", reading, (), ("prod", "prod2")).target == "prod"
    assert goal(queued(1).sql_id.upper(), reading, (), ()).scope.sql_id == queued(1).sql_id
    assert goal("batch", reading, (), ()).scope.group == "BATCH"


def test_an_unambiguous_prefix_of_a_sql_id_is_enough() -> None:
    ids = ("7k36sd695fszu", "7k99sd695fszu")
    reading = replace(busy(), queue=tuple(replace(queued(1), sql_id=sql_id) for sql_id in ids))
    assert goal("7K36", reading, (), ()).scope.sql_id == ids[0]
    assert goal("7k", reading, (), ()).trouble == f"7k may be {ids[0]} or {ids[1]}."
    assert "no tab, group" in goal("7k37", reading, (), ()).trouble


@acted
async def test_another_target_is_chosen_from_config_ini() -> None:
    async with stage(busy(), size=(120, 30)) as acting:
        assert "config.ini has no other target" in await acting.press("D")
        acting.app.targets = ("DWPROD", "TEST")
        screen = await acting.press("D")
        assert "DWPROD" in screen
        assert "on the screen" in screen
        await acting.keys("down", "enter")
        assert acting.app.switch_to == "TEST"


@acted
async def test_the_bell_rings_when_an_alert_begins_or_gets_worse() -> None:
    """Alerts of the first readings do not ring: the first has no rates and may lack alerts."""

    def found(seconds: int, *alerts: tuple[Severity, str, str]) -> Reading:
        listed = tuple(Alert(state, "▲", text, text, "queue_waits", group) for state, group, text in alerts)
        return replace(busy(seconds), alerts=listed, stale=0.0)

    one, other = ("warn", "BATCH", "2 queued"), ("warn", "ETL", "1 queued")
    async with stage(None, size=(120, 30)) as acting:
        acting.app.news, rung = AlertChanges(None), []
        with mock.patch.object(type(acting.app), "bell") as bell:
            for reading in (
                replace(found(0), interval=None), found(2, one), found(4, ("warn", "BATCH", "12 queued")),
                found(6, one, other), found(8, ("bad", "BATCH", "3 queued"), other), found(10), found(12, one),
            ):  # fmt: skip
                await acting.show(reading)
                rung.append(bell.call_count)
    assert rung == [0, 0, 0, 1, 2, 2, 2]


@acted
async def test_all_signs_come_back_including_the_state() -> None:
    async with stage(busy(), size=(120, 30), painted=True) as acting:
        assert "● LIVE" in acting.screen
        assert "* LIVE" in await acting.press("T") or "o LIVE" in acting.screen
        assert "● LIVE" in await acting.press("T")


@acted
async def test_the_pdbs_tab_appears_once_pdbs_are_known() -> None:
    async with stage(None, size=(120, 30)) as acting:
        assert "8 PDBs" not in acting.screen
