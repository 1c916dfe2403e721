"""Pages of recordings with hostile text in every column, in Chromium: no script runs, no request is sent.

Each page is opened as it is, and without its policy, so that the escaping alone has to hold. Run by `make test-real`.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from presman.base import markup
from tests.real.chromium import CHROMIUM, Chromium, chromium
from tests.reports.report.planted import (
    EVERY,
    HARMLESS,
    RAN,
    PlantedPage,
    attack,
    label,
    pages_of_round,
    pages_of_tables,
    rounds,
    text_columns,
)

pytestmark = [
    pytest.mark.skipif(not os.environ.get("PRESMAN_REAL"), reason="needs a real browser: make test-real"),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH"),
    pytest.mark.timeout(600),
]

POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*/>')

LOOK = """(() => {
    const parts = new Set();
    for (const each of document.querySelectorAll('*')) {
        parts.add(each.localName);
        for (const own of each.attributes) parts.add(each.localName + ' ' + own.name);
        for (const kind of ['mouseover', 'focus', 'click', 'load', 'error', 'toggle', 'animationstart'])
            each.dispatchEvent(new Event(kind));
    }
    const nodes = document.createTreeWalker(document, NodeFilter.SHOW_COMMENT | NodeFilter.SHOW_CDATA_SECTION);
    if (nodes.nextNode()) parts.add('a comment');
    return {parts: [...parts], text: document.documentElement.textContent, ran: String(window.RAN)};
})()""".replace("RAN", RAN)
"""The elements and text of a page, and whether a script in a text ran, after all that a reader could do."""


class Bait:
    """A server on loopback that no page should request; `asked` are the paths requested."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        self.asked += line.decode("latin-1").split()[1:2]
        writer.write(b"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: 0\r\n\r\n")
        writer.close()


@asynccontextmanager
async def listening() -> AsyncIterator[Bait]:
    bait = Bait()
    server = await asyncio.start_server(bait.answer, "127.0.0.1", 0)
    bait.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with server:
        yield bait


class Seen(NamedTuple):
    """What Chromium made of a page."""

    parts: set[str]
    text: str
    ran: bool
    requests: list[str]
    complaints: list[str]


async def seen(browser: Chromium, folder: Path, text: str) -> Seen:
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    page = await browser.open(path.as_uri())
    found: dict[str, Any] = {}
    while await page.evaluate("location.protocol + document.readyState") != "file:complete":
        await asyncio.sleep(0.01)
    found = await page.evaluate(LOOK)
    # Events of what the page has begun come before this answer.
    await page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)))")
    ran = found["ran"] != "undefined" or await page.evaluate(f"String(window.{RAN})") != "undefined"
    await page.close()
    others = [each for each in page.requests if each != path.as_uri()]
    return Seen(set(found["parts"]), found["text"], ran, others, page.complaints)


def every_page(text: str, folder: Path) -> Iterable[PlantedPage]:
    return chain(pages_of_tables(text, folder), *(pages_of_round(number, text, folder) for number in rounds()))


def in_chromium(test: Callable[[Chromium, Bait, Path], Any], folder: Path) -> None:
    async def inside() -> None:
        async with listening() as bait, chromium(folder) as browser:
            await test(browser, bait, folder)

    asyncio.run(inside())


def test_no_text_of_any_column_runs_or_makes_a_request(tmp_path: Path) -> None:
    in_chromium(_nothing_runs, tmp_path)


async def _nothing_runs(browser: Chromium, bait: Bait, folder: Path) -> None:
    all_text = ""
    harmless = iter(every_page(HARMLESS, folder))
    for each in every_page(attack(bait.url), folder):
        own = (await seen(browser, folder, next(harmless).text)).parts
        for text in (each.text, POLICY.sub("", each.text)):
            found = await seen(browser, folder, text)
            assert found.parts <= own, each.name
            assert (found.ran, found.requests, found.complaints) == (False, [], []), each.name
            assert f'<svg onload="{RAN}=1' in found.text, f"{each.name}: the text was cut before the attack"
        all_text += found.text
    assert bait.asked == []
    shown = {label(*each) for each in text_columns() if label(*each) in all_text}
    assert shown >= {"[ConsumerGroup.name]", "[Session.username]", "[SqlText.sql_text]", "[PlanDirective.comments]"}


def test_texts_that_are_not_escaped_would_run_and_the_policy_alone_would_hold_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(markup, "escape", lambda text, quote: text)
    in_chromium(_policy_holds, tmp_path)


async def _policy_holds(browser: Chromium, bait: Bait, folder: Path) -> None:
    for each in pages_of_round(EVERY, attack(bait.url), folder):
        found = await seen(browser, folder, each.text)
        assert not found.ran
        assert found.complaints, "the policy reports what it refused"
        assert bait.asked == [], each.name
    without = await seen(browser, folder, POLICY.sub("", each.text))
    assert without.ran
    assert any(each.startswith(bait.url) for each in without.requests)
    assert bait.asked
