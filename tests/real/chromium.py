"""Chromium for tests: headless, by its DevTools protocol; gives the terminal of a page as text."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pyte

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

PATIENCE = 60.0
"""Seconds that nothing takes."""

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--no-first-run",
    "--remote-debugging-port=0",
)  # fmt: skip
"""Without a sandbox because tests may run as root; with WebGL in software."""


class Chromium:
    """A browser and the line to it."""

    def __init__(self, line: aiohttp.ClientWebSocketResponse, folder: Path) -> None:
        self._line = line
        self.downloads = folder / "downloads"
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.pages: dict[str, Page] = {}

    async def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Have the browser do something, and return what it answers."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters}
        await self._line.send_json(message | ({"sessionId": session} if session else {}))
        async with asyncio.timeout(PATIENCE):
            return await answer

    async def listen(self) -> None:
        """Take answers and events until the browser is gone."""
        async for message in self._line:
            data = json.loads(message.data)
            if "id" in data:
                answer = self._answers.pop(data["id"])
                if answer.done():  # the caller no longer waits
                    continue
                if "error" in data:
                    answer.set_exception(RuntimeError(data["error"]["message"]))
                else:
                    answer.set_result(data["result"])
            elif (page := self.pages.get(data.get("sessionId", ""))) is not None:
                page.take(data["method"], data["params"])

    async def open(self, url: str, width: int = 1400, height: int = 800) -> Page:
        """Open a page in a window of its own, which knows nothing of the others' cookies."""
        context = (await self.call("Target.createBrowserContext"))["browserContextId"]
        await self.call(
            "Browser.setDownloadBehavior", behavior="allow", browserContextId=context,
            downloadPath=str(self.downloads), eventsEnabled=True,
        )  # fmt: skip
        target = (await self.call("Target.createTarget", url="about:blank", browserContextId=context))["targetId"]
        session = (await self.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        page = self.pages[session] = Page(self, session, target)
        for domain in ("Page", "Network", "Runtime", "Log"):
            await page.call(f"{domain}.enable")
        await page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        await page.resize(width, height)
        await page.call("Page.navigate", url=url)
        return page


class Page:
    """A page with a terminal: `screen` is what was painted on it, `requests` and `complaints` what it did."""

    def __init__(self, browser: Chromium, session: str, target: str) -> None:
        self._browser = browser
        self._session = session
        self._target = target
        self._screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self._screen)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.sockets = 0

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Have the page do something."""
        return await self._browser.call(method, self._session, **parameters)

    def take(self, event: str, parameters: dict[str, Any]) -> None:
        """Take an event."""
        match event:
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Network.webSocketCreated":
                self.sockets += 1
                self._screen.reset()  # another page, another terminal
            case "Network.webSocketFrameSent":
                kind, *rest = json.loads(parameters["response"]["payloadData"])
                if kind == "resize":
                    self._screen.resize(rest[0]["height"], rest[0]["width"])
            case "Network.webSocketFrameReceived" if parameters["response"]["opcode"] == 2:
                self._stream.feed(base64.b64decode(parameters["response"]["payloadData"]))
            case "Runtime.consoleAPICalled" if parameters["type"] in {"error", "warning"}:
                self.complaints.append(str(parameters["args"]))
            case "Runtime.exceptionThrown":
                self.complaints.append(str(parameters["exceptionDetails"]))
            case "Log.entryAdded":
                self.complaints.append(str(parameters["entry"]["text"]))

    @property
    def screen(self) -> str:
        """The lines of the terminal."""
        return "\n".join(self._screen.display)

    @property
    def cells(self) -> tuple[int, int]:
        """Columns and rows of the terminal."""
        return self._screen.columns, self._screen.lines

    async def shows(self, *texts: str) -> str:
        """Wait until the terminal shows some texts, and return all of it."""
        await self.until(lambda: all(text in self.screen for text in texts), f"{texts} in\n{self.screen}")
        return self.screen

    async def until(self, true: Callable[[], bool], what: str = "") -> None:
        """Wait until something is so."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not true():
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"never: {what}; the terminal:\n{self.screen}\n{self.complaints}") from None

    async def wait_for_text(self, text: str) -> None:
        """Wait until the page itself shows a text, outside the terminal."""
        try:
            async with asyncio.timeout(PATIENCE):
                while text not in await self._text():
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"never shown: {text}") from None

    async def _text(self) -> str:
        """Return the text of the page, "" while the browser goes to another one."""
        try:
            return str(await self.evaluate("document.body && document.body.innerText"))
        except RuntimeError as error:
            if "navigated" not in str(error):
                raise
            return ""

    async def evaluate(self, script: str) -> Any:
        """Return what a script in the page gives."""
        answer = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value")

    async def press(self, key: str) -> None:
        """Press a key that writes a character, or one with a name, such as Enter."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Escape": 27}.get(key, 0)
        await self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    async def click(self, text: str) -> None:
        """Click on the first place in the terminal where a text stands."""
        row = next(number for number, line in enumerate(self._screen.display) if text in line)
        column = self._screen.display[row].index(text) + len(text) // 2
        box = await self.evaluate(
            "(() => { const b = document.querySelector('.xterm-screen').getBoundingClientRect();"
            " return [b.x, b.y, b.width, b.height] })()"
        )
        columns, rows = self.cells
        x, y = box[0] + (column + 0.5) * box[2] / columns, box[1] + (row + 0.5) * box[3] / rows
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    async def resize(self, width: int, height: int) -> None:
        """Make the window as large as that, in pixels."""
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    async def picture(self, path: Path) -> bytes:
        """Write what the window shows as PNG, and return it."""
        content = base64.b64decode((await self.call("Page.captureScreenshot"))["data"])
        path.write_bytes(content)
        return content

    async def close(self) -> None:
        """Close it, as a user closes a tab."""
        await self._browser.call("Target.closeTarget", targetId=self._target)


@asynccontextmanager
async def chromium(folder: Path) -> AsyncIterator[Chromium]:
    """Run a Chromium whose files are in `folder`."""
    assert CHROMIUM is not None
    process = await asyncio.create_subprocess_exec(
        CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL, limit=1 << 20,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        async with asyncio.timeout(PATIENCE):
            while b"DevTools listening on " not in (line := await process.stderr.readline()):
                assert line, "chromium ended"
        drain = asyncio.create_task(process.stderr.read())
        url = line.decode().partition("listening on ")[2].strip()
        async with aiohttp.ClientSession() as session, session.ws_connect(url, max_msg_size=0) as line_to:
            browser = Chromium(line_to, folder)
            listening = asyncio.create_task(browser.listen())
            yield browser
            await browser.call("Browser.close")
            await listening
        await drain
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
