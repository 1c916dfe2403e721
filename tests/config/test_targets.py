from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from presman.base.release import Release
from presman.base.secret import Secret
from presman.config.config_file import Config, Settings
from presman.config.target import Target, TargetError, named_recording, parse_zone, scenarios
from presman.config.target_text import FORMS, parse_target
from presman.sources import SourceRecipe
from presman.sources.oracle.settings import ConnectSettings

SPOOL = Path(__file__).parents[1] / "data" / "queueing_12102"


@pytest.fixture(autouse=True)
def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRESMAN_PASSWORD", raising=False)
    monkeypatch.delenv("TNS_ADMIN", raising=False)
    monkeypatch.setattr("presman.config.target.scenarios", lambda: ("mixed", "queueing", "storm"))


def connect(text: str, config: Config | None = None) -> ConnectSettings:
    target = parse_target(text, config)
    assert target.kind == "oracle"
    assert target.connect is not None
    return target.connect


@pytest.mark.parametrize(
    ("text", "user", "password", "dsn"),
    [
        ("anna/tiger@host/svc", "anna", "tiger", "host/svc"),
        ("anna/ti@g/er@host:1521/svc", "anna", "ti@g/er", "host:1521/svc"),
        ("anna@host/svc", "anna", None, "host/svc"),
        ("anna@PROD", "anna", None, "PROD"),
        ("anna/tiger@PROD", "anna", "tiger", "PROD"),
        ("proxy[anna]/tiger@host/svc", "proxy[anna]", "tiger", "host/svc"),
        ("host:1521/svc", None, None, "host:1521/svc"),
        ("//host/svc", None, None, "//host/svc"),
        ("tcps://host:2484/svc?wallet_location=/w", None, None, "tcps://host:2484/svc?wallet_location=/w"),
        ("anna@tcps://host/svc", "anna", None, "tcps://host/svc"),
        ("(DESCRIPTION=(ADDRESS=(HOST=h)))", None, None, "(DESCRIPTION=(ADDRESS=(HOST=h)))"),
        ("anna/tiger@(DESCRIPTION=(ADDRESS=(HOST=h)))", "anna", "tiger", "(DESCRIPTION=(ADDRESS=(HOST=h)))"),
    ],
)
def test_connect_strings(text: str, user: str | None, password: str | None, dsn: str) -> None:
    found = connect(text)
    assert (found.user, found.dsn) == (user, dsn)
    assert found.password == (Secret(password) if password else None)


def test_a_password_never_shows_and_is_warned_of_on_the_command_line() -> None:
    target = parse_target("anna/tiger@host/svc")
    assert target.name == "anna@host/svc"
    assert len(target.warnings) == 1
    assert "tiger" not in repr(target)
    assert "tiger" not in target.warnings[0]
    assert parse_target("anna@host/svc").warnings == ()


def test_a_descriptor_with_a_wallet_password_is_masked() -> None:
    assert connect("(DESCRIPTION=(SECURITY=(wallet_password=tiger)))").name == (
        "(DESCRIPTION=(SECURITY=(wallet_password=***)))"
    )


def test_targets_have_settings_of_their_section_and_of_presman() -> None:
    config = Config(
        sections={
            "presman": Settings(connection=Secret("x@y/z"), measure="queue", call_timeout=5.0),
            "prod": Settings(connection=Secret("host/svc"), user="anna", password=Secret("tiger"), mode="sysdba"),
            "play": Settings(connection=Secret("demo:storm?seed=3")),
            "empty": Settings(user="anna"),
        }
    )
    prod = parse_target("prod", config)
    assert (prod.name, prod.kind, prod.settings.measure) == ("prod", "oracle", "queue")
    assert prod.connect == ConnectSettings("host/svc", "anna", Secret("tiger"), "sysdba", call_timeout=5.0)
    assert prod.warnings == ()
    assert not prod.needs_password
    assert parse_target("presman", config).needs_password
    assert parse_target("play", config).kind == "simulator"
    with pytest.raises(TargetError, match=r"\[empty\]: it has no connection_string"):
        parse_target("empty", config)


def test_a_password_that_was_asked_for() -> None:
    target = parse_target("anna@host/svc")
    assert target.needs_password
    asked = target.with_password(Secret("tiger"))
    assert not asked.needs_password
    assert asked.connect == ConnectSettings("host/svc", "anna", Secret("tiger"))
    assert "tiger" not in repr(asked)
    assert not parse_target("@host/svc").needs_password


def test_a_password_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRESMAN_PASSWORD", "tiger")
    assert connect("anna@host/svc").password == Secret("tiger")
    assert connect("anna/other@host/svc").password == Secret("other")


def test_the_thick_driver() -> None:
    found = parse_target("anna@host/svc").with_thick("/opt/ic").connect
    assert found is not None
    assert (found.thick, found.lib_dir) == (True, "/opt/ic")


def test_aliases_of_tnsnames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tnsnames.ora").write_text("# x\nPROD, prod.world =\n  (DESCRIPTION = (ADDRESS = (HOST = h)))\n")
    with pytest.raises(TargetError):
        parse_target("prod")
    monkeypatch.setenv("TNS_ADMIN", str(tmp_path))
    assert connect("prod").dsn == "prod"
    assert connect("prod.world").dsn == "prod.world"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("demo", "demo:mixed"),
        ("demo:", "demo:mixed"),
        ("demo:storm", "demo:storm"),
        ("demo:storm?seed=4&speed=2.5&release=12.1", "demo:storm?seed=4&speed=2.5&release=12.1"),
        ("demo:?seed=4", "demo:mixed?seed=4"),
        (f"spool:{SPOOL}", f"spool:{SPOOL}"),
    ],
)
def test_names(text: str, name: str) -> None:
    assert parse_target(text).name == name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("demo:stom", "no scenario 'stom', did you mean 'storm'?"),
        ("demo:storm?sed=4", "demo: unknown option 'sed', did you mean 'seed'?"),
        ("demo:storm?seed=x", "seed=x is not a number"),
        ("demo:storm?speed=0", "demo: speed=0 is not above 0 and at most 3600"),
        ("demo:storm?speed=nan", "demo: speed=nan is not above 0 and at most 3600"),
        ("demo:storm?release=ten", "release=ten is not a release such as 19 or 12.2"),
        ("demo:storm?release=10.2", "release=10.2 is older than 11.2, the oldest presman reads"),
        ("demo:./none.toml", "no such scenario file: ./none.toml"),
        ("spool:/no/where", "spool: no such folder: /no/where"),
        (f"spool:{SPOOL.parent}/quing", f"spool: no such folder: {SPOOL.parent}/quing, did you mean '{SPOOL}'?"),
        ("spool:", "spool: no such folder: (none named)"),
        (f"spool:{SPOOL}?zone=Atlantis", "zone=Atlantis is neither an offset (+02:00) nor a region (Europe/Vienna)"),
        ("pord", "no target 'pord', did you mean 'prod'?"),
        (
            "night",
            "no target 'night': neither a section of config.ini nor a file; `presman connect night` adds a section",
        ),
        ("stor", "no target 'stor', did you mean 'demo:storm'?"),
        ("???", "no target '???': neither a section of config.ini nor user@host/service, demo:SCENARIO, spool:FOLDER"),
        ("anna@", f"not a connect string: write {FORMS}"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    config = Config(sections={"prod": Settings(connection=Secret("anna@host/svc"))})
    with pytest.raises(TargetError) as caught:
        parse_target(text, config)
    assert str(caught.value) == message


def test_a_file_at_a_time_is_no_alias_of_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """presman asked for the folder of tnsnames.ora, and took a path for a password."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.presman").touch()
    how = "'03:12' is a time, not a database: write FILE.presman --at '03:12'"
    for text, message in (
        ("b.presman@03:12", f"no such recording: b.presman; {how}"),
        ("a.presman@03:12", how),
        ("folder/b@03:12", how),
    ):
        with pytest.raises(TargetError, match=re.escape(message)):
            parse_target(text)


def test_a_mistyped_recording_is_offered_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("storm-night.presman").touch()
    config = Config(sections={"prod": Settings(connection=Secret("anna@host/svc"))})
    for text in ("strom-nigt", "recording:strom-nigt", "strom-nigt.presman", f"recording:{tmp_path}/strom-night"):
        with pytest.raises(TargetError, match=r"did you mean '[^']*storm-night\.presman'"):
            parse_target(text, config)
    assert [named_recording(text, config) for text in ("nowhere", "prdo", "a@b/c", "scott/tiger")] == [
        "recording:nowhere", "prdo", "a@b/c", "scott/tiger",
    ], "what cannot be anything else is a recording; what may be a section is left to be offered"  # fmt: skip


def test_a_file_of_another_kind_is_named_in_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("n1.log").touch()
    with pytest.raises(
        TargetError, match=r"no target 'n1.log': a file of another name than \*.presman is recording:n1.log"
    ):
        parse_target("n1.log", Config())
    Path("logs").mkdir()
    for text, words in (
        ("./n1.log", "recording:./n1.log"),
        ("./logs", "spool:./logs"),
        ("/dev/null", "not a regular file"),
    ):
        with pytest.raises(TargetError, match=rf"^no target '{text}': .*{words}"):
            parse_target(text, Config())


@pytest.mark.parametrize(
    "text", ["anna/tiger", "anna/ti:ger", "anna/ti/ger", "/tiger", "db.example.com/svc", "a b/tiger"]
)
def test_a_possible_password_is_neither_used_nor_shown(text: str) -> None:
    for settings in (Settings(), Settings(user="anna")):
        with pytest.raises(TargetError, match=r"^a TARGET with / and without @ may be") as caught:
            parse_target(text, Config(sections={"presman": settings}))
        assert text.partition("/")[2] not in str(caught.value).replace(FORMS, "")


def test_a_section_without_a_user_is_checked_for_passwords() -> None:
    for settings, careful in (
        (Settings(connection=Secret("a/tiger")), True),
        (Settings(connection=Secret("a/b"), user="u"), False),
    ):
        config = Config(Path("c.ini"), {"x": settings})
        if careful:
            with pytest.raises(TargetError, match=r"^c.ini, \[x\]: a TARGET with / and without @") as caught:
                parse_target("x", config)
            assert "tiger" not in str(caught.value)
        else:
            assert connect("x", config).dsn == "a/b"


@pytest.mark.parametrize(
    "text", ["//host/svc", "host:1521/svc", "tcps://host/svc", "(DESCRIPTION=(X=a/b))", "@host/svc"]
)
def test_a_target_without_a_user_uses_external_authentication(text: str) -> None:
    found = connect(text)
    assert (found.user, found.dsn) == (None, text.lstrip("@"))


def test_a_mistake_in_a_section_says_where() -> None:
    config = Config(Path("c.ini"), {"x": Settings(connection=Secret("demo:stom"))})
    with pytest.raises(TargetError, match=r"^c.ini, \[x\]: no scenario 'stom'"):
        parse_target("x", config)


@pytest.mark.parametrize(
    ("text", "hours"), [("+02:00", 2), (" 02:00", 2), ("-0530", -5.5), ("UTC", 0), ("Asia/Tokyo", 9)]
)
def test_zones(text: str, hours: float) -> None:
    assert datetime(2026, 11, 21, tzinfo=parse_zone(text)).utcoffset() == timedelta(hours=hours)


def test_a_spool_is_made_with_its_options() -> None:
    target: Target = parse_target(f"spool:{SPOOL}?zone=+02:00&release=19")
    source = target.make_source()
    assert (source.kind, source.name) == ("spool", f"spool:{SPOOL}")
    assert source.open() == Release(12, 1)
    source.close()


def test_parsing_a_target_imports_nothing_heavy() -> None:
    code = (
        "import sys; from presman.config.target_text import parse_target; parse_target('anna@host/svc');"
        "print([name for name in ('sqlalchemy', 'oracledb', 'textual', 'plotext') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_scenarios_are_found_by_name() -> None:
    assert all(name == name.strip() and "." not in name for name in scenarios())


@pytest.mark.parametrize("scheme", ["postgresql+psycopg", "postgresql", "postgres"])
def test_a_url_of_postgresql_is_a_recording(scheme: str) -> None:
    target = parse_target(f"{scheme}://anna:geheim@host:5433/presman?database=prod&sslmode=require")
    assert target.kind == "recording"
    assert target.recorded is not None
    assert (target.recorded.location, target.recorded.database) == (
        f"{scheme}://anna:geheim@host:5433/presman?sslmode=require",
        "prod",
    )
    assert target.name == f"recording:{scheme}://anna@host:5433/presman?database=prod"
    assert "geheim" not in repr(target)


def test_a_recording_may_be_any_existing_file_or_folder(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    config = Config(sections={"prod": Settings()})
    for text in ("prod", "demo:mixed", "x.presman", "recording:y"):
        assert named_recording(text, config) == text
    for text in (str(tmp_path), str(tmp_path / "a.db")):
        assert named_recording(text, config) == f"recording:{text}"


@pytest.mark.parametrize("text", ["speed=3600", "speed=0.001", "size=100", "size=0.1", "seed=0"])
def test_the_bounds_of_a_demos_options_are_allowed(text: str) -> None:
    assert parse_target(f"demo:storm?{text}").kind == "simulator"


@pytest.mark.parametrize("text", ["speed=3600.5", "speed=-1", "size=100.5", "size=0"])
def test_beyond_them_is_refused(text: str) -> None:
    name, _, value = text.partition("=")
    with pytest.raises(TargetError, match=rf"^demo: {name}={value} is not above 0 and at most "):
        parse_target(f"demo:storm?{text}")


def test_a_demo_is_made_with_its_options(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.touch()
    for text, given in (
        ("demo:storm", {"scenario": "storm", "seed": None, "speed": 1.0, "size": None, "release": None}),
        (
            "demo:storm?seed=4&speed=2.5&size=3&release=12.1",
            {"scenario": "storm", "seed": 4, "speed": 2.5, "size": 3.0, "release": Release(12, 1)},
        ),
        (f"demo:{path}", {"scenario": path, "seed": None, "speed": 1.0, "size": None, "release": None}),
    ):
        factory = parse_target(text).factory
        assert isinstance(factory, SourceRecipe)
        assert factory.arguments == given


@pytest.mark.parametrize(("text", "minutes"), [("+14:00", 840), ("-14:00", -840), ("+13:59", 839), ("-0:30", -30)])
def test_offsets_go_to_fourteen_hours(text: str, minutes: int) -> None:
    assert datetime(2026, 11, 21, tzinfo=parse_zone(text)).utcoffset() == timedelta(minutes=minutes)


@pytest.mark.parametrize("text", ["+14:01", "-15:00", "+01:60", "+99"])
def test_other_offsets_are_refused(text: str) -> None:
    with pytest.raises(TargetError, match=r"is not an offset: the largest is 14:00"):
        parse_zone(text)


def test_options_narrow_a_recording_and_never_widen_it() -> None:
    target = parse_target("postgresql://host/p?at=03:12&from=first&database=a")
    assert target.recorded is not None
    assert (target.recorded.at, target.recorded.start, target.recorded.end) == ("03:12", "first", "")
    assert target.within(None, None, None) is target
    found = target.within(None, "02:00", "last").recorded
    assert found is not None
    assert (found.at, found.start, found.end) == ("03:12", "02:00", "last")
    from_there, at = target.beginning_at()
    assert (at, from_there.recorded.at if from_there.recorded else None) == ("03:12", "")
    assert from_there.beginning_at() == (from_there, "")
    assert target.of_database("b").name == "recording:postgresql://host/p?database=b"
    database = parse_target("anna@host/svc")
    with pytest.raises(TargetError, match="want a time"):
        target.within("", None, None)
    with pytest.raises(TargetError, match="is not one"):
        database.within("03:12", None, None)
    for act in (database.recording, lambda: database.of_database("x")):
        with pytest.raises(TargetError, match="anna@host/svc is not a recording"):
            act()
    assert database.beginning_at() == (database, "")


def test_only_databases_take_a_password_and_a_driver() -> None:
    demo = parse_target("demo:storm")
    assert demo.with_password(Secret("x")) is demo
    assert demo.with_thick(None) is demo
    thick = parse_target("anna@host/svc").with_thick("/a").with_thick(None).connect
    assert thick is not None
    assert thick.lib_dir == "/a"
