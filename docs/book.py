"""`make book`: the pages collected in one folder, with pictures and navigation, and built into site/.

The sources link to each other as GitHub shows them; here links are changed to the pages' paths in the book. The build
is strict, and its result loads nothing from another host: a DBA reads it without a network.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from os.path import relpath
from pathlib import Path, PurePosixPath

from docs.contents import FROM_ELSEWHERE, ROOT, chapters, label, place_of, places, source, title_and_description
from docs.markdown import relinked, with_front_matter

BUILD, SITE = ROOT / "build" / "book", ROOT / "site"
SETTINGS = ROOT / "docs" / "book.toml"

_ELSEWHERE = r"""["']?(?:https?:)?//"""
_LOADED = re.compile(
    rf"""<(?:script|img|iframe|source)\b[^>]*\bsrc={_ELSEWHERE}"""
    rf"""|<link\b[^>]*rel=["']?(?:stylesheet|preconnect|preload)\b[^>]*href={_ELSEWHERE}"""
    rf"""|@import|url\({_ELSEWHERE}"""
)
"""Whatever makes a browser ask another host while it shows a page; a link that the reader follows does not."""


def page_text(place: str) -> str:
    """Return a page of the book: with a title and a description, and with links to paths in the book."""
    path = source(place)
    text = relinked(path.read_text(encoding="utf-8"), lambda target: target_in_book(place, path, target))
    if place not in FROM_ELSEWHERE:
        return text
    return f"{with_front_matter(*title_and_description(place))}\n\n{text}"


def target_in_book(place: str, path: Path, target: str) -> str:
    """Return the target of a page's link in the book."""
    file, mark, anchor = target.partition("#")
    if "://" in target or not file:
        return target
    found = (path.parent / file).resolve()
    where = f"screenshots/{found.name}" if found.parent == ROOT / "screenshots" else place_of(found)
    if not where:
        return target  # the build reports that there is no such page
    return relpath(where, PurePosixPath(place).parent) + mark + anchor


def navigation() -> str:
    """Return the navigation as a line of TOML."""
    parts = (f"{{{json.dumps(each.title)} = [{', '.join(map(_entry, each.pages))}]}}" for each in chapters())
    return f"nav = [{', '.join(parts)}]\n"


def _entry(place: str) -> str:
    return f"{{{json.dumps(label(place), ensure_ascii=False)} = {json.dumps(place)}}}"


def assemble(folder: Path) -> None:
    """Put all sources of the book into an empty folder."""
    for place in places():
        path = folder / "pages" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page_text(place), encoding="utf-8")
    pictures = folder / "pages" / "screenshots"
    pictures.mkdir()
    for picture in (ROOT / "screenshots").glob("*.svg"):
        shutil.copy(picture, pictures)
    shutil.copytree(ROOT / "docs" / "theme", folder / "pages" / "theme")
    settings = SETTINGS.read_text(encoding="utf-8").replace("nav = []\n", navigation())
    (folder / "zensical.toml").write_text(settings, encoding="utf-8")


def loaded_from_elsewhere(site: Path) -> list[str]:
    """Return the pages and style sheets that would load something from another host."""
    files = (path for path in sorted(site.rglob("*")) if path.suffix in {".html", ".css", ".svg"})
    return [str(path.relative_to(site)) for path in files if _LOADED.search(path.read_text(encoding="utf-8"))]


def main() -> str:
    """Build the book; return what is wrong with it, "" if nothing is."""
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    assemble(BUILD)
    import zensical  # of the dependency group docs, which generating and testing the pages do not need

    try:
        zensical.build(str(BUILD / "zensical.toml"), {"clean": True, "strict": True})
    except RuntimeError as error:  # zensical has printed its warnings
        return str(error)
    (BUILD / "site").rename(SITE)
    elsewhere = loaded_from_elsewhere(SITE)
    return f"loaded from other hosts: {', '.join(elsewhere)}" if elsewhere else ""


if __name__ == "__main__":
    sys.exit(main() or None)
