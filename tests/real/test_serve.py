"""`presman serve` in Chromium: what a viewer sees, does and gets. Run by `make test-real`.

PRESMAN_PICTURES=FOLDER keeps what the windows showed.
"""

from __future__ import annotations

import asyncio
import csv
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Concatenate, ParamSpec

import psutil
import pytest
from aiohttp import web

from presman.services.serve.viewer_site import monitor_page, static_files
from tests.cli.run import command, environment
from tests.real.chromium import CHROMIUM, Chromium, chromium

pytestmark = [
    pytest.mark.skipif(not os.environ.get("PRESMAN_REAL"), reason="needs a real browser: make test-real"),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH"),
]

Arguments = ParamSpec("Arguments")


class Server:
    """`presman serve` on a free port; `lines` are what it printed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []

    @property
    def url(self) -> str:
        return next(line.rpartition(" ")[2] for line in self.lines if line.startswith("presman: open "))

    def monitors(self) -> list[psutil.Process]:
        """The processes that run for viewers."""
        return psutil.Process(self.process.pid).children(recursive=True)

    async def listen(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            self.lines.append(line.decode().rstrip())

    async def wait_for_line(self, text: str) -> None:
        await eventually(lambda: any(text in line for line in self.lines), f"{text!r} in {self.lines}")


async def eventually(true: Callable[[], object], what: str) -> None:
    try:
        async with asyncio.timeout(60):
            while not true():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"never: {what}") from None


@asynccontextmanager
async def serving(folder: Path, *arguments: str) -> AsyncIterator[Server]:
    process = await asyncio.create_subprocess_exec(
        *command("serve", "demo:storm?seed=3", "--listen", "127.0.0.1:0", "--refresh", "0.5", *arguments),
        cwd=folder, env=environment(XDG_STATE_HOME=str(folder / "state")), stderr=subprocess.PIPE,
    )  # fmt: skip
    server = Server(process)
    listening = asyncio.create_task(server.listen())
    try:
        await server.wait_for_line("presman: open ")
        yield server
        if process.returncode is not None:
            return
        left = server.monitors()
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 128 + signal.SIGTERM
        assert psutil.wait_procs(left, timeout=10)[1] == [], "no monitor outlives the server"
    finally:
        if process.returncode is None:
            process.kill()
        await listening


def in_chromium(
    test: Callable[Concatenate[Chromium, Path, Arguments], Awaitable[None]],
) -> Callable[Concatenate[Path, Arguments], None]:
    @wraps(test)
    def run(tmp_path: Path, *args: Arguments.args, **named: Arguments.kwargs) -> None:
        async def inside() -> None:
            async with chromium(tmp_path) as browser:
                await test(browser, tmp_path, *args, **named)

        asyncio.run(inside())

    asked = [Parameter("tmp_path", Parameter.KEYWORD_ONLY), *list(signature(test).parameters.values())[2:]]
    del run.__wrapped__  # type: ignore[attr-defined]
    run.__signature__ = Signature(  # type: ignore[attr-defined]  # what pytest reads
        [each.replace(kind=Parameter.KEYWORD_ONLY) for each in asked]
    )
    return run


def picture(name: str, folder: Path) -> Path:
    kept = os.environ.get("PRESMAN_PICTURES")
    return (Path(kept) if kept else folder) / f"{name}.png"


@in_chromium
async def test_first_data_keys_clicks_and_the_size_of_the_window(browser: Chromium, folder: Path) -> None:
    async with serving(folder) as server:
        page = await browser.open(server.url, 1400, 800)
        await page.shows("● LIVE", "BATCH", "Top waits")
        before = page.cells
        assert before[0] > 120
        assert (await page.picture(picture("first-data", folder)))[:4] == b"\x89PNG"
        inks = await page.evaluate(
            "(() => { const seen = new Set(); for (const c of document.querySelectorAll('.xterm-screen canvas')) {"
            " const t = c.getContext('2d'); if (!t) continue;"
            " const d = t.getImageData(0, 0, c.width, c.height).data;"
            " for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); }"
            " return seen.size })()"
        )
        assert inks > 20, "it is painted"

        await page.press("4")
        await page.shows("[4 Parallel]", "Queued")
        await page.press("5")
        await page.shows("[5 Sessions]")
        await page.click(" User ")
        await page.shows("User▲")
        await page.click("User▲")
        await page.shows("User▼")
        await page.picture(picture("sorted", folder))

        await page.resize(900, 500)
        await page.until(lambda: page.cells[0] < before[0] and page.cells[1] < before[1], "smaller")
        await page.shows("[5 Sessions]", "User")
        await page.picture(picture("small", folder))
        assert page.complaints == []
        assert {url.split("/")[2] for url in page.requests} == {server.url.split("/")[2]}


@in_chromium
async def test_a_csv_file_is_downloaded(browser: Chromium, folder: Path) -> None:
    async with serving(folder) as server:
        page = await browser.open(server.url)
        await page.shows("● LIVE")
        await page.press("e")
        await page.shows("Recording cpu")
        waited = re.search(r"head \d+:\d\d", page.screen)
        assert waited is not None
        await page.until(lambda: waited[0] not in page.screen, "another poll")
        await page.press("e")
        await page.shows("CSV export ended")
        await eventually(lambda: list(browser.downloads.glob("*.csv")), "a download")
        (file,) = browser.downloads.glob("*.csv")
        assert re.fullmatch(r"presman-[\w-]+-cpu-\d{8}-\d{6}\.csv", file.name), file.name
        with file.open(encoding="utf-8", newline="") as text:
            rows = list(csv.DictReader(text, strict=True))
        assert len({row["time"] for row in rows}) > 1
        assert {"BATCH", "ETL"} <= {row["consumer_group"] for row in rows}
        assert [path.name for path in folder.rglob("*.csv")] == [file.name], "nothing stays where presman runs"
        assert page.complaints == []


@in_chromium
async def test_a_killed_monitor_is_reported_and_restarted(browser: Chromium, folder: Path) -> None:
    async with serving(folder) as server:
        page = await browser.open(server.url)
        await page.shows("● LIVE")
        (monitor,) = server.monitors()
        monitor.kill()
        await page.wait_for_text("The monitor ended by itself")
        await page.picture(picture("killed", folder))
        await server.wait_for_line("viewer 1 has left; the monitor was killed by SIGKILL")
        await page.evaluate("document.getElementById('again').click()")
        await page.until(lambda: page.sockets == 2, "another websocket")
        await server.wait_for_line("viewer 2 came")
        await page.shows("● LIVE")
        (again,) = server.monitors()
        assert again.pid != monitor.pid

        await page.press("q")
        await page.wait_for_text("You have quit.")
        await eventually(lambda: not server.monitors(), "no monitor")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@in_chromium
async def test_a_page_comes_back_when_the_server_does(browser: Chromium, folder: Path, how: signal.Signals) -> None:
    async with serving(folder) as server:
        page = await browser.open(server.url)
        await page.shows("● LIVE")
        port = server.url.rstrip("/").rpartition(":")[2]
        if how is signal.SIGKILL:
            server.process.kill()
            await server.process.wait()
    await page.wait_for_text(
        "The page comes back as soon as it can."
    )  # a browser that is slow may miss with which code it ended
    before = page.sockets
    async with serving(folder, "--listen", f"127.0.0.1:{port}"):
        await page.until(lambda: page.sockets > before, "another websocket")
        await page.shows("● LIVE")


class Ending:
    """A server in place of presman's, which ends each websocket in a way and counts them; `status` is what it answers.

    A code of 0 breaks the line, -1 refuses the websocket, None ends it with no code.
    """

    def __init__(self, code: int | None) -> None:
        self._code = code
        self.sockets = 0
        self.asked = 0
        self.status = 204

    async def answer(self, request: web.Request) -> web.StreamResponse:
        name = request.path.rpartition("/")[2]
        if name == "alive":
            self.asked += 1
            return web.Response(status=self.status)
        if name != "ws":
            kind, content = static_files().get(name, ("text/html", monitor_page("somewhere").encode()))
            return web.Response(body=content, content_type=kind)
        self.sockets += 1
        if self._code == -1:
            return web.Response(status=403)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        assert request.transport is not None
        if self._code == 0:
            request.transport.abort()
        elif self._code is None:
            request.transport.write(b"\x88\0")
        else:
            await socket.close(code=self._code)
        return socket


@asynccontextmanager
async def ending(code: int | None) -> AsyncIterator[tuple[Ending, str]]:
    server = Ending(code)
    app = web.Application()
    app.router.add_get("/{name:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield server, f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


@in_chromium
async def test_a_page_comes_back_after_every_unintended_end(browser: Chromium, folder: Path) -> None:
    async def comes_back(code: int | None) -> None:
        async with ending(code) as (server, url):
            server.status = 502  # a reverse proxy answers, presman does not
            page = await browser.open(url)
            await page.wait_for_text("The page comes back as soon as it can.")
            await page.until(lambda: server.asked > 1, f"asked again after {code}")
            assert server.sockets == 1, code
            server.status = 204
            await page.until(lambda: server.sockets > 1, f"another websocket after {code}")

    await asyncio.gather(*map(comes_back, (0, None, 1000, 1001, 1006, 1008, 1009, 1011, 1012, 3000)))


@in_chromium
async def test_a_page_stays_after_an_end_that_was_decided(browser: Chromium, folder: Path) -> None:
    async def stays(code: int) -> None:
        async with ending(code) as (server, url):
            page = await browser.open(url)
            await page.until(lambda: server.sockets == 1, f"a websocket that ends with {code}")
            await page.evaluate("new Promise((done) => setTimeout(done, 2500))")
            assert (server.sockets, server.asked) == (1, 0), code
            assert "comes back" not in await page.evaluate("document.body.innerText")

    await asyncio.gather(*map(stays, (1013, 4000, 4001)))


@in_chromium
async def test_a_page_that_is_refused_tries_a_few_times(browser: Chromium, folder: Path) -> None:
    async with ending(-1) as (server, url):
        page = await browser.open(url)
        await page.wait_for_text(
            "presman cannot be reached, or did not let this page in. The page comes back as soon as it can."
        )
        await page.until(lambda: server.sockets == 6, "five returns")
        await page.evaluate("new Promise((done) => setTimeout(done, 2500))")
        assert server.sockets == 6
        assert "comes back" not in await page.evaluate("document.body.innerText")


@in_chromium
async def test_a_server_that_is_killed_leaves_no_monitor(browser: Chromium, folder: Path) -> None:
    async with serving(folder) as server:
        page = await browser.open(server.url)
        await page.shows("● LIVE")
        left = server.monitors()
        server.process.kill()
        await page.wait_for_text("The connection to presman was lost.")
        assert len(left) == 1
        assert psutil.wait_procs(left, timeout=10)[1] == []


@in_chromium
async def test_two_viewers_are_independent_and_a_third_is_refused(browser: Chromium, folder: Path) -> None:
    async with serving(folder, "--viewers", "2") as server:
        one, two = await browser.open(server.url), await browser.open(server.url, 1000, 600)
        for each in (one, two):
            await each.shows("● LIVE")
        await one.press("4")
        await one.shows("[4 Parallel]")
        assert "[1 Overview]" in two.screen
        assert one.cells != two.cells
        assert len(server.monitors()) == 2

        three = await browser.open(server.url)
        await three.wait_for_text("All viewer places are taken.")
        assert len(server.monitors()) == 2

        await two.close()
        await eventually(lambda: len(server.monitors()) == 1, "the end of the second one's monitor")
        await three.evaluate("document.getElementById('again').click()")
        await three.shows("● LIVE")
        assert "[4 Parallel]" in one.screen


@in_chromium
async def test_a_token_is_asked_for_and_kept(browser: Chromium, folder: Path) -> None:
    async with serving(folder, "--token") as server:
        place, _, token = server.url.partition("?token=")
        page = await browser.open(place)
        await page.wait_for_text("The token that presman serve printed")
        await page.picture(picture("token", folder))
        await page.evaluate("document.getElementById('token').value = 'wrong'; document.forms[0].submit()")
        await page.wait_for_text("That is not the token.")
        await page.evaluate(f"document.getElementById('token').value = '{token}'; document.forms[0].submit()")
        await page.shows("● LIVE")

        other = await browser.open(server.url)
        await other.shows("● LIVE")
        assert await other.evaluate("location.href") == place, "the token does not stay in sight"
        assert await other.evaluate("document.cookie") == "", "no script sees the cookie"
        assert not any(token in line for line in server.lines if "open" not in line)


@in_chromium
async def test_copied_text_goes_to_the_browser(browser: Chromium, folder: Path) -> None:
    async with serving(folder) as server:
        page = await browser.open(server.url)
        await page.shows("● LIVE")
        await page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text }")
        await page.press("c")
        await page.shows("to the browser's clipboard")
        assert "Group: " in str(await page.evaluate("window.copied"))
        await page.press("a")
        await page.shows("Actions are not possible in a browser.")
        await page.press("R")
        await page.shows("A recording would be written where presman runs.")
        assert not list(folder.rglob("copied.txt"))
        assert not list(folder.rglob("*.presman"))
