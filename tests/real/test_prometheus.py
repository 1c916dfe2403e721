"""A real Prometheus scrapes a real `presman metrics`, over TLS and with a password, and answers by the rules and the
dashboard of contrib/. Run by `make test-real`."""

from __future__ import annotations

import os
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.run import command, environment
from tests.contrib import RULES, annotations, panels, recorded
from tests.oracle.test_login import Authority
from tests.patience import until
from tests.real.prometheus import PROMETHEUS, PROMTOOL, SECURELY, PrometheusServer, promtool

pytestmark = [
    pytest.mark.skipif(not os.environ.get("PRESMAN_REAL"), reason="make test-real runs it: it starts Prometheus"),
    pytest.mark.skipif(PROMETHEUS is None or PROMTOOL is None, reason="no prometheus or promtool on the PATH"),
]

PASSWORD = "geheim"
SECTIONS = ("storm", "containers", "cluster", "dead")
CONFIG = f"""\
[presman]
metrics_user = prometheus
metrics_password = {PASSWORD}
[storm]
connection_string = demo:storm?speed=30
[containers]
connection_string = demo:pdb?speed=30
[cluster]
connection_string = demo:rac?speed=30
[dead]
connection_string = somebody/tiger@127.0.0.1:1/nowhere
"""

MAYBE_EMPTY = {"Waits: 99 of 100 took less", "Failures to connect", "Mean time in the queue"}
"""Panels of what need not have happened."""


class Scraped(NamedTuple):
    """Prometheus, and the presman that it scrapes."""

    prometheus: PrometheusServer
    presman: subprocess.Popen[str]
    url: str
    context: ssl.SSLContext

    def page(self) -> str:
        request = urllib.request.Request(self.url)
        request.add_header("Authorization", "Basic cHJvbWV0aGV1czpnZWhlaW0=")
        with urllib.request.urlopen(request, context=self.context, timeout=30) as response:
            return str(response.read().decode())


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraped]:
    folder = tmp_path_factory.mktemp("prometheus")
    authority = Authority("presman test authority")
    (folder / "ca.pem").write_bytes(authority.pem())
    chain = authority.issue(folder / "server.pem", "localhost")
    (folder / "config.ini").write_text(CONFIG)
    (folder / "config.ini").chmod(0o600)
    words = ("--config", "config.ini", "--listen", "127.0.0.1:0", "--interval", "1", "--certificate", str(chain))
    presman = subprocess.Popen(
        command("metrics", *SECTIONS, *words), cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    assert presman.stderr is not None
    line = presman.stderr.readline()
    url = line.partition(" at ")[2].partition(";")[0]
    assert url.startswith("https://"), line
    address = url.removeprefix("https://").removesuffix("/metrics")
    access = SECURELY.format(authority=folder / "ca.pem", password=PASSWORD)
    server = PrometheusServer(folder, [address], access)
    yield Scraped(server, presman, url, ssl.create_default_context(cafile=str(folder / "ca.pem")))
    server.stop()
    presman.kill()
    presman.wait()
    presman.stderr.close()


def test_every_rule_and_every_panel_has_an_answer(scraped: Scraped) -> None:
    server = scraped.prometheus
    until(lambda: len(server.query("presman_up == 1")) == 3, "three databases are up")
    (target,) = server.ask("targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")
    until(lambda: all(server.query(name) for name in recorded()), "every recording rule has an answer")
    rules = [rule for group in server.ask("rules")["groups"] for rule in group["rules"]]
    assert [rule["name"] for rule in rules if rule["health"] != "ok" or rule.get("lastError")] == []
    answers = {title: [server.query(each) for each in asked] for title, asked in panels().items()}
    assert {title for title, found in answers.items() if not all(found)} <= MAYBE_EMPTY
    for expression in annotations():
        server.query(expression)


def test_the_figures_are_those_of_the_page(scraped: Scraped) -> None:
    server = scraped.prometheus
    until(lambda: server.query('presman_group_px_servers_limit{target="storm"}'), "the limits of storm")
    lines = dict(line.rpartition(" ")[::2] for line in scraped.page().splitlines() if not line.startswith("#"))
    for found in server.query('presman_group_px_servers_limit{target="storm"}'):
        name = f'consumer_group="{found["metric"]["consumer_group"]}",target="storm"'
        assert float(lines[f"presman_group_px_servers_limit{{{name}}}"]) == float(found["value"][1])
    assert {each["metric"]["target"] for each in server.query("presman_group_cpu_seconds_total")} == set(SECTIONS[:3])
    assert len(server.query("count by (inst_id) (presman_instance_cpus{target='cluster'})")) > 1
    (metadata,) = server.ask("metadata", metric="presman_group_cpu_seconds")["presman_group_cpu_seconds"]
    assert (metadata["type"], metadata["unit"]) == ("counter", "seconds")  # as OpenMetrics names it


def test_labels_are_few_and_hold_no_secret(scraped: Scraped) -> None:
    server = scraped.prometheus
    until(lambda: server.query("presman_alert"), "an alert of storm")
    found = server.ask("series", **{"match[]": '{__name__=~"presman_.+"}'})
    assert {name for series in found for name in series} <= {
        "__name__", "instance", "job", "target", "inst_id", "container", "consumer_group", "wait_class", "event",
        "statistic", "rule", "severity", "subject", "view", "query", "size", "direction", "le", "version", "database",
        "role", "instance_name", "host", "plan", "cpu_managed", "caging", "px_managed", "verdict", "state", "cause",
        "reason", "goal", "io_verdict", "alertname", "alertstate",
    }  # fmt: skip
    assert "tiger" not in str(found)
    assert "somebody" not in str(found)
    assert PASSWORD not in str(found)


def test_a_dead_database_is_down_and_an_alert_comes_of_it(scraped: Scraped) -> None:
    server = scraped.prometheus
    until(lambda: server.query('presman_up{target="dead"} == 0'), "the dead one is known to be")
    assert [each["metric"]["__name__"] for each in server.query('{target="dead", __name__=~"presman_group.+"}')] == []

    def pending() -> bool:
        return any(
            each["labels"]["alertname"] == "PresmanDatabaseDown" and each["labels"]["target"] == "dead"
            for each in server.ask("alerts")["alerts"]
        )

    until(pending, "the alert of the dead database")
    until(lambda: server.query('ALERTS{alertname="PresmanAlert", target="storm"}'), "an alert of presman's own rules")


def test_promtool_finds_nothing(scraped: Scraped, tmp_path: Path) -> None:
    assert promtool("check", "rules", str(RULES)) == ""
    assert promtool("check", "config", str(scraped.prometheus.configuration)) == ""
    assert promtool("check", "config", str(RULES.with_name("prometheus.yml"))) == ""
    assert promtool("check", "metrics", given=scraped.page()) == ""
    assert "use base unit" in promtool("check", "metrics", given="# TYPE x_milliseconds gauge\nx_milliseconds 1\n")
    tests = (Path(__file__).parent / "presman.rules.test.yml").read_text(encoding="utf-8")
    (tmp_path / "test.yml").write_text(tests.replace("RULES", str(RULES), 1), encoding="utf-8")
    assert promtool("test", "rules", str(tmp_path / "test.yml")) == ""


def test_a_presman_that_is_gone_is_seen(scraped: Scraped) -> None:
    scraped.presman.kill()
    until(lambda: scraped.prometheus.query('up{job="presman"} == 0'), "the scrape that fails")
    until(lambda: not scraped.prometheus.query("presman_up"), "its series end")
