from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from presman.base.release import SUPPORTED, Release
from presman.base.secret import Secret
from presman.config import credentials
from presman.config.doctor import ASSUMPTIONS, check, doctor, open_modes
from presman.config.grants import AccountKind, grants_script
from presman.config.target import Target
from presman.config.target_text import parse_target
from presman.rows.instance_rows import Pdb
from presman.rows.queries import Scope, load
from presman.sources import SourceError
from presman.sources.oracle.settings import ConnectSettings
from presman.sources.oracle.thin_connection import connect_arguments
from presman.sources.simulator_source import SimulatorSource
from tests.oracle_server import OracleServer
from tests.oracle_server.faults import Ora, Stage
from tests.oracle_server.simulated import simulated_server
from tests.scenarios import with_short_past
from tests.thorough import some


def examined(server: OracleServer, scope: Scope = Scope.CLUSTER, packs: tuple[str, ...] = ()) -> list[str]:
    target = parse_target(f"presman/presman@{server.dsn}")
    return list(doctor(target, scope=scope, packs=packs))


@pytest.fixture
def serve() -> Callable[..., OracleServer]:
    servers: list[OracleServer] = []

    def make(scenario: str, release: Release) -> OracleServer:
        source = SimulatorSource(with_short_past(scenario), release=release, clock=lambda: 0.0)
        source.open()
        servers.append(simulated_server(source, release).start())
        return servers[-1]

    yield make  # type: ignore[misc]
    for server in servers:
        server.stop()


@pytest.mark.parametrize("release", some([Release(23)], [Release(12, 1), Release(19)]), ids=str)
def test_all_is_well(serve: Callable[..., OracleServer], release: Release) -> None:
    lines = examined(serve("pdb", release))
    text = "\n".join(lines)
    assert any(line.startswith("Nothing is missing: ") for line in lines)
    assert "container   CDB$ROOT" in lines
    assert "kind        CDB root" in lines
    assert "scope       cluster (GV$: every instance)" in lines
    assert f"(queries for {release.major}" in text
    for query in load(release).values():
        assert any(line.startswith(f"{query.name} ") and query.view in line for line in lines), query.name
    assert "presman/presman" not in text


def test_containers_are_listed_with_their_open_mode_per_instance() -> None:
    modes = {(1, "P1"): "READ WRITE", (2, "P1"): "READ WRITE", (1, "P2"): "MOUNTED", (2, "P2"): "READ ONLY"}
    rows = [Pdb(inst_id, 3, name, mode) for (inst_id, name), mode in modes.items()]
    assert list(open_modes(rows)) == ["P1 READ WRITE", "P2 MOUNTED on 1 and READ ONLY on 2"]


@pytest.mark.parametrize("release", some([Release(12, 1)], [Release(19)]), ids=str)
def test_the_group_that_presman_is_in_and_what_may_happen_to_it_there(
    serve: Callable[..., OracleServer], release: Release
) -> None:
    lines = examined(serve("rac", release))
    place = lines.index("group       OTHER_GROUPS under CLUSTER_PLAN")
    assert lines[place + 1].strip() == (
        "warning: when CPU is short it may be throttled: the plan gives its group 10 at level 2"
    )
    assert lines[place + 2].strip().startswith("put presman's user into a group that comes before the others")


def test_missing_grants_are_the_sql_to_run(serve: Callable[..., OracleServer]) -> None:
    server = serve("rac", Release(19))
    for view in ("v$session\n", "v$px_session", "dba_rsrc_plans"):
        server.faults.add(Stage.STATEMENT, Ora(942, "table or view does not exist"), view, times=-1)
    lines = examined(server, Scope.INSTANCE)
    start = lines.index("What would help:")
    assert sorted(lines[start + 1 : start + 4]) == [
        "  GRANT READ ON SYS.DBA_RSRC_PLANS TO PRESMAN;",
        "  GRANT READ ON SYS.V_$PX_SESSION TO PRESMAN;",
        "  GRANT READ ON SYS.V_$SESSION TO PRESMAN;",
    ]
    assert "instances   1 (RAC): " in "\n".join(lines)
    assert any(line.startswith("session ") and "ORA-00942 table or view does not exist" in line for line in lines)


def test_a_database_without_containers_is_not_asked_about_them(serve: Callable[..., OracleServer]) -> None:
    server = serve("rac", Release(19))
    server.faults.add(Stage.STATEMENT, Ora(942, "table or view does not exist"), "rsrc_pdb")
    server.faults.add(Stage.STATEMENT, Ora(942, "table or view does not exist"), "dba_cdb")
    lines = examined(server)
    assert any(line.startswith("Nothing is missing: ") for line in lines)
    skipped = [line.split()[0] for line in lines if line.endswith("not run: only a container database has rows")]
    assert skipped == ["cdb_plan_directive", "pdb_metric", "pdb_metric_history", "rsrc_pdb"]


@pytest.mark.parametrize("scope", some([Scope.INSTANCE], [Scope.CLUSTER]))
def test_assumptions_are_asked_with_selects_alone(serve: Callable[..., OracleServer], scope: Scope) -> None:
    server = serve("rac", Release(23, 26))
    list(doctor(parse_target(f"presman/presman@{server.dsn}")))
    known = set(server.counters.statements())
    lines = list(check(parse_target(f"presman/presman@{server.dsn}"), scope=scope))
    sent = set(server.counters.statements()) - known
    assert len(sent) == sum(bool(each.sql) for each in ASSUMPTIONS)
    assert all(text.startswith("SELECT ") for text in sent)
    assert not [line for line in lines if line.startswith(("  → not known", "  → does NOT"))]


def test_packs_are_shown_and_change_no_query_yet(serve: Callable[..., OracleServer]) -> None:
    server = serve("quiet", Release(19))
    assert "packs       none allowed: no view of a pack is read" in examined(server)
    asked = set(server.counters.statements())
    server.counters.reset()
    assert "packs       allowed: diagnostics, tuning" in examined(server, packs=("diagnostics", "tuning"))
    assert set(server.counters.statements()) == asked


def test_session_is_closed_when_it_breaks(serve: Callable[..., OracleServer]) -> None:
    server = serve("quiet", Release(19))
    server.faults.add(Stage.STATEMENT, Ora(3113, "end-of-file"), "v$sysstat")
    with pytest.raises(SourceError, match="ORA-03113"):
        examined(server)
    assert server.counters.most_sessions == 1


@pytest.mark.parametrize("release", SUPPORTED, ids=str)
def test_grants_cover_every_query_with_the_lesser_right_there_is(release: Release) -> None:
    right = "SELECT" if release == Release(11, 2) else "READ"
    script = grants_script(release)
    for query in load(release).values():
        assert f"GRANT {right} ON SYS.{query.grant} TO PRESMAN;" in script
        if query.grant.startswith("GV_$"):
            assert f"GRANT {right} ON SYS.{query.grant[1:]} TO PRESMAN;" in script
    statements = [line for line in script.splitlines() if line.startswith("GRANT")]
    assert len(statements) == len(set(statements))
    assert {line.split(" TO ")[0].split()[1] for line in statements} == {right, "CREATE"}
    assert ("12.1.0.1 knows no READ" in script) is (release == Release(12, 1))


def test_grants_for_containers() -> None:
    common = grants_script(Release(19), AccountKind.COMMON)
    assert 'CREATE USER C##PRESMAN IDENTIFIED BY "&presman_password" CONTAINER = ALL;' in common
    assert common.rstrip().endswith("ALTER USER C##PRESMAN SET CONTAINER_DATA = ALL CONTAINER = CURRENT;")
    pluggable = grants_script(Release(12, 1), AccountKind.PDB, user="Mon Itor", pdb="orclpdb1")
    assert "ALTER SESSION SET CONTAINER = ORCLPDB1;" in pluggable
    assert 'GRANT CREATE SESSION TO "Mon Itor";' in pluggable
    with pytest.raises(ValueError, match="no pluggable databases"):
        grants_script(Release(11, 2), AccountKind.COMMON)
    with pytest.raises(ValueError, match="cannot be the name"):
        grants_script(Release(19), user='x"; DROP USER y; --')


# -- arguments of the driver ------------------------------------------------------------------------------------------


def test_everything_a_connection_can_need() -> None:
    settings = ConnectSettings(
        "tcps://adb.example.com:1522/svc", "proxy[app]", Secret("s"), "sysdg", "/wallet", Secret("w"), "/tns",
        https_proxy="proxy.example.com", https_proxy_port=3128,
    )  # fmt: skip
    arguments = connect_arguments(settings, 3.0)
    import oracledb

    params = oracledb.ConnectParams(**{name: value for name, value in arguments.items() if name != "dsn"})
    params.parse_connect_string(arguments["dsn"])
    assert (params.user, params.proxy_user) == ("proxy", "app")
    assert params.mode == oracledb.AUTH_MODE_SYSDGD
    assert (params.wallet_location, params.config_dir) == ("/wallet", "/tns")
    assert (params.https_proxy, params.https_proxy_port, params.tcp_connect_timeout) == ("proxy.example.com", 3128, 3.0)
    assert params.protocol == "tcps"


def test_without_a_user_the_database_authenticates_by_other_means() -> None:
    assert connect_arguments(ConnectSettings("db/orcl"), 1.0)["externalauth"] is True


def keyring_with(passwords: dict[tuple[str, str], str]) -> SimpleNamespace:
    return SimpleNamespace(get_password=lambda service, account: passwords.get((service, account)))


def test_password_from_the_keyring_before_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", keyring_with({("presman", "scott@db/pdb"): "tiger"}))  # type: ignore[misc]
    target = credentials.with_password(parse_target("scott@db/pdb"), lambda _prompt: "asked")
    assert password(target) == "tiger"
    other = credentials.with_password(parse_target("mary@db/pdb"), lambda prompt: f"{prompt}!")
    assert password(other) == "Password for mary@db/pdb: !"
    assert credentials.with_password(parse_target("mary@db/pdb")).needs_password


def test_broken_keyring_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(_service: str, _account: str) -> str:
        raise RuntimeError("locked")

    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_password=locked))  # type: ignore[misc]
    assert credentials.of_keyring("scott@db/pdb") is None
    monkeypatch.setitem(sys.modules, "keyring", None)  # type: ignore[misc]
    assert credentials.of_keyring("scott@db/pdb") is None


def password(target: Target) -> str:
    assert target.connect is not None
    assert target.connect.password is not None
    return target.connect.password.reveal()
