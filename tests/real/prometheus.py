"""Prometheus for tests: a private server on loopback that scrapes given targets and answers queries."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from tests.contrib import RULES
from tests.patience import until

PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")

CONFIGURATION = """\
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: presman
    static_configs: [{{targets: {targets}}}]
"""

SECURELY = """\
    scheme: https
    tls_config: {{ca_file: "{authority}"}}
    basic_auth: {{username: prometheus, password: "{password}"}}
"""
"""What is added to that where presman has a certificate and a password."""


class PrometheusServer:
    """Prometheus with an empty store in a folder, which scrapes HOST:PORTs."""

    def __init__(self, folder: Path, targets: Sequence[str], access: str = "") -> None:
        self.configuration = folder / "prometheus.yml"
        self.configuration.write_text(CONFIGURATION.format(rules=RULES, targets=json.dumps(targets)) + access)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        self.url = f"http://{address}"
        self._log = (folder / "prometheus.log").open("wb")
        assert PROMETHEUS is not None
        self._process = subprocess.Popen(
            [PROMETHEUS, f"--config.file={self.configuration}", f"--storage.tsdb.path={folder / 'data'}",
             f"--web.listen-address={address}", "--log.level=warn"],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
        )  # fmt: skip
        until(self._is_ready, "Prometheus is ready")

    def _is_ready(self) -> bool:
        try:
            with urlopen(f"{self.url}/-/ready", timeout=10) as response:
                return bool(response.status == 200)
        except (URLError, OSError):
            return False

    def ask(self, path: str, **parameters: str) -> Any:
        """Return the answer of the API. Raises AssertionError with its complaint."""
        try:
            with urlopen(f"{self.url}/api/v1/{path}?{urlencode(parameters)}", timeout=30) as response:
                answer = json.load(response)
        except HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from None
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression: str) -> list[Any]:
        """Return the series of an expression now."""
        found: list[Any] = self.ask("query", query=expression)["result"]
        return found

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(30)
        self._log.close()


def promtool(*arguments: str, given: str = "") -> str:
    """Run promtool; return what it complains of, "" for nothing."""
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, *arguments], input=given, capture_output=True, text=True, timeout=60, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr
